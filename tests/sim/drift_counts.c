/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/drift_counts.h"

#include <string.h>

#include "assess/drift.def"
#include "base/compiler.h"

/* Types of drift, and the other reasons of the condition InSync. */
static const struct word {
	bool is_reason;
	struct view text;
} words[] = {
#define TYPE(name, word, ...) {false, VIEW_INIT(word)},
#define SETTLING(name, word, ...) {true, VIEW_INIT(word)},
#define REASON(name, word) {true, VIEW_INIT(word)},
	DRIFT_TABLE(TYPE)
	DRIFT_SETTLING_TABLE(SETTLING)
	DRIFT_REASON_TABLE(REASON)
};

#define N_WORDS ARRAY_SIZE(words)

static bool is_seen[N_WORDS]; /* in this history */
static unsigned counts[N_WORDS];

void drift_counts_begin(void)
{
	memset(is_seen, 0, sizeof(is_seen));
}

void drift_counts_end(bool is_clean)
{
	for (size_t i = 0; is_clean && i < N_WORDS; i++)
		counts[i] += is_seen[i];
}

static void see(bool is_reason, struct view text)
{
	for (size_t i = 0; i < N_WORDS; i++)
		is_seen[i] |= words[i].is_reason == is_reason && view_equal(text, words[i].text);
}

void drift_counts_wrote(const struct attribution_status *status)
{
	const struct condition *condition = attribution_find_condition(status, VIEW("InSync"));
	const struct array drifts = status->intent.drifts;

	for (uint32_t i = 0; i < drifts.count; i++)
		see(false, ARRAY_AT(drifts, struct attribution_drift, i)->type);
	if (condition)
		see(true, condition->reason);
}

static void print(const char *title, bool is_reason, FILE *file)
{
	fprintf(file, "\n%-32s %13s\n", title, "published");
	for (size_t i = 0; i < N_WORDS; i++)
		if (words[i].is_reason == is_reason)
			fprintf(file, "%-32.*s %13u\n", VIEW_ARG(words[i].text), counts[i]);
}

int drift_counts_print(FILE *file)
{
	int n = 0;

	print("types of drift", false, file);
	print("other reasons of InSync", true, file);
	for (size_t i = 0; i < N_WORDS; i++) {
		if (counts[i] > 0)
			continue;
		fprintf(file, "%.*s is in no history\n", VIEW_ARG(words[i].text));
		n++;
	}
	return n;
}
