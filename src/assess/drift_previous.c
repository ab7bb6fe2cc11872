/* SPDX-License-Identifier: Apache-2.0 */
#include "assess/drift_previous.h"

#include <assert.h>

#include "assess/drift.h"
#include "assess/drift_settling.h"

static void read_drifts(struct drift_previous *previous, struct array drifts)
{
	for (uint32_t i = 0; i < drifts.count; i++) {
		const struct attribution_drift *d = ARRAY_AT(drifts, struct attribution_drift, i);
		const enum drift_type type = drift_type_of(d->type);

		if (type != N_DRIFT_TYPES && !previous->drifts[type])
			previous->drifts[type] = d;
	}
}

/* Among what is pending are words of types, and of kinds of settling. */
static void read_pending(struct drift_previous *previous, struct array pending)
{
	for (uint32_t i = 0; i < pending.count; i++) {
		const struct attribution_pending_drift *p =
			ARRAY_AT(pending, struct attribution_pending_drift, i);
		const enum drift_type type = drift_type_of(p->type);
		const enum drift_settling kind = drift_settling_of(p->type);

		if (type != N_DRIFT_TYPES && previous->pending_since[type] == 0) {
			previous->pending_since[type] = p->start_time;
			previous->pending_hashes[type] = p->intent_hash;
		}
		if (kind != N_DRIFT_SETTLING && previous->work_since[kind] == 0) {
			previous->work_since[kind] = p->start_time;
			previous->work_steps[kind] = p->intent_hash;
		}
	}
}

struct drift_previous drift_previous_read(const struct attribution_intent_state *published)
{
	struct drift_previous previous = {0};

	read_drifts(&previous, published->drifts);
	read_pending(&previous, published->pending);
	return previous;
}

bool drift_previous_has(const struct drift_previous *previous, enum drift_type type)
{
	assert(type < N_DRIFT_TYPES);
	return previous->drifts[type] || previous->pending_since[type] != 0;
}
