/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/refusals.h"

#include <stdio.h>

#include "base/log.h"
#include "base/sbuf.h"
#include "schema/attribution_doc.h"

void refusals_note_refused(struct refusals *refusals, const struct error *error, uint64_t now_ms)
{
	snprintf(refusals->refused, sizeof(refusals->refused), "%s", error->text);
	refusals->refused_at = now_ms;
	refusals->is_denied = error->kind == ERROR_DENIED;
}

static bool is_recent(uint64_t seen_at, uint64_t now_ms)
{
	return seen_at > 0 && now_ms - seen_at < REFUSALS_KEEP_MS;
}

bool refusals_note_kept(struct refusals *refusals, const struct attribution_status *sent,
			const struct attribution_status *kept, uint64_t now_ms)
{
	CLEANUP(sbuf_deinit) struct sbuf field;

	if (refusals->is_denied)
		refusals->refused_at = 0;
	refusals->is_denied = false;
	sbuf_init(&field, REFUSALS_TEXT);
	if (!attribution_doc_find_difference(sent, kept, &field))
		return false;
	refusals->n_dropped++;
	if (!is_recent(refusals->dropped_at, now_ms)) {
		snprintf(refusals->dropped, sizeof(refusals->dropped),
			 "the API server dropped %.*s: apply crds/gpuattributions.yaml of this release, "
			 "then restart the controller",
			 VIEW_ARG(sbuf_view(&field)));
		LOG_WARN("CustomResourceDefinition is older than the controller",
			 LOG_TEXT("field", sbuf_view(&field)));
	}
	refusals->dropped_at = now_ms;
	return true;
}

const char *refusals_trouble(const struct refusals *refusals, uint64_t now_ms)
{
	if (is_recent(refusals->refused_at, now_ms))
		return refusals->refused;
	return is_recent(refusals->dropped_at, now_ms) ? refusals->dropped : "";
}
