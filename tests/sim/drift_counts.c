/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/drift_counts.h"

#include <string.h>

#include "assess/drift.def"
#include "base/compiler.h"

static const struct view words[] = {
#define DRIFT_WORD(name, word, ...) VIEW_INIT(word),
	DRIFT_TABLE(DRIFT_WORD)
};

#define N_TYPES ARRAY_SIZE(words)

static bool is_seen[N_TYPES]; /* in this history */
static unsigned counts[N_TYPES];

void drift_counts_begin(void)
{
	memset(is_seen, 0, sizeof(is_seen));
}

void drift_counts_end(bool is_clean)
{
	for (size_t i = 0; is_clean && i < N_TYPES; i++)
		counts[i] += is_seen[i];
}

void drift_counts_wrote(const struct attribution_status *status)
{
	const struct array drifts = status->intent.drifts;

	for (uint32_t k = 0; k < drifts.count; k++)
		for (size_t i = 0; i < N_TYPES; i++)
			is_seen[i] |= view_equal(ARRAY_AT(drifts, struct attribution_drift, k)->type,
						 words[i]);
}

int drift_counts_print(FILE *file)
{
	int n = 0;

	fprintf(file, "\n%-32s %13s\n", "types of drift", "published");
	for (size_t i = 0; i < N_TYPES; i++)
		fprintf(file, "%-32.*s %13u\n", VIEW_ARG(words[i]), counts[i]);
	for (size_t i = 0; i < N_TYPES; i++) {
		if (counts[i] > 0)
			continue;
		fprintf(file, "types of drift: %.*s is in no history\n", VIEW_ARG(words[i]));
		n++;
	}
	return n;
}
