/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/refusals.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/sbuf.h"
#include "schema/attribution_doc.h"

void refusals_note_refused(struct refusals *refusals, const struct error *error, uint64_t now_ms)
{
	snprintf(refusals->refused, sizeof(refusals->refused), "%s", error->text);
	refusals->refused_at = now_ms;
}

bool refusals_note_kept(struct refusals *refusals, const struct attribution_status *sent,
			const struct attribution_status *kept)
{
	CLEANUP(sbuf_deinit) struct sbuf field;
	char before[REFUSALS_TEXT];

	sbuf_init(&field, REFUSALS_TEXT);
	if (!attribution_doc_find_difference(sent, kept, &field)) {
		refusals->dropped[0] = '\0';
		return false;
	}
	refusals->n_dropped++;
	memcpy(before, refusals->dropped, sizeof(before));
	snprintf(refusals->dropped, sizeof(refusals->dropped),
		 "the API server dropped %.*s: apply crds/gpuattributions.yaml of this release",
		 VIEW_ARG(sbuf_view(&field)));
	if (strcmp(before, refusals->dropped) != 0)
		LOG_WARN("CustomResourceDefinition is older than the controller",
			 LOG_TEXT("field", sbuf_view(&field)));
	return true;
}

const char *refusals_trouble(const struct refusals *refusals, uint64_t now_ms)
{
	if (refusals->refused_at > 0 && now_ms - refusals->refused_at < REFUSALS_KEEP_MS)
		return refusals->refused;
	return refusals->dropped;
}
