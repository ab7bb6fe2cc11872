/* SPDX-License-Identifier: Apache-2.0 */
#include "kubectl/leader.h"

#include <stddef.h>

#include "base/limits.h"
#include "kubectl/output.h"
#include "kubectl/words.h"
#include "wire/jmap_decode.h"
#include "wire/rfc3339.h"

#define DEPTH 64u
#define FUTURE_MS 1000 /* clocks differ by less */

struct spec {
	struct view holder;
	struct view renewed;
	int64_t duration_s;
};

static const struct jmap_row spec_rows[] = {
	{"holderIdentity", JMAP_TEXT, 0, JMAP_AT(spec, holder), .limit = LIMIT_URL},
	{"leaseDurationSeconds", JMAP_I64, 0, JMAP_AT(spec, duration_s), .limit = INT32_MAX},
	{"renewTime", JMAP_TEXT, 0, JMAP_AT(spec, renewed), .limit = LIMIT_TEXT_WORD},
	{0},
};

static const struct jmap_row rows[] = {
	{"spec", JMAP_OBJECT, 0, .offset = 0, .rows = spec_rows},
	{0},
};

int leader_read(struct view json, struct leader_lease *ret, struct error *err)
{
	CLEANUP(arena_deinit) struct arena arena;
	struct spec spec = {0};
	int64_t renewed_at = 0;

	arena_init(&arena, LIMIT_MIB);
	if (jmap_decode(json, DEPTH, rows, &arena, &spec, sizeof(spec), err) < 0)
		return -1;
	if (spec.renewed.len > 0 && !rfc3339_parse(spec.renewed, &renewed_at))
		return error_set(err, ERROR_REJECTED, 0, "spec.renewTime is no time");
	*ret = (struct leader_lease){
		.is_held = spec.holder.len > 0,
		.renewed_at = renewed_at,
		.lasts_ms = spec.duration_s * 1000,
	};
	return 0;
}

struct leader leader_judge(const struct leader_lease *lease, int64_t now)
{
	const int64_t ends_at = lease->renewed_at + lease->lasts_ms;

	if (!lease->is_held || lease->renewed_at == 0)
		return (struct leader){LEADER_NONE, lease->renewed_at};
	if (now > ends_at)
		return (struct leader){LEADER_NONE, ends_at};
	return (struct leader){.state = LEADER_PRESENT};
}

bool leader_is_doubtful(const struct leader_lease *lease, int64_t now)
{
	return lease->is_held && (leader_judge(lease, now).state == LEADER_NONE ||
				  lease->renewed_at > now + FUTURE_MS);
}

bool leader_is_missing(const struct leader *leader)
{
	return leader->state == LEADER_NONE;
}

void leader_note(const struct leader *leader, const char *namespace, struct output *output)
{
	struct sbuf *line;

	if (!leader_is_missing(leader))
		return;
	line = output_note(output);
	if (leader->ended_at != 0) {
		sbuf_append(line, VIEW("NO CONTROLLER LEADS since "));
		words_instant(line, leader->ended_at, output->now);
	} else {
		sbuf_append(line, VIEW("NO CONTROLLER LEADS, and none ever did"));
	}
	sbuf_printf(line, ": what is shown may be old%s; see kubectl -n %s get lease " LEADER_LEASE,
		    output_is_document(output) ? "" : ", and is marked with *", namespace);
	output_note_end(output);
}
