/* SPDX-License-Identifier: Apache-2.0 */

/* The texts are those of kubectl and of Kubernetes' API machinery; none is translated. */

#include "kubectl/complaint.h"

static const struct view starts[] = {VIEW_INIT("Error from server"), VIEW_INIT("error: ")};

void complaint_init(struct complaint *complaint)
{
	*complaint = (struct complaint){0};
	sbuf_init(&complaint->held, COMPLAINT_BYTES);
	sbuf_init(&complaint->start, 64);
}

void complaint_deinit(struct complaint *complaint)
{
	sbuf_deinit(&complaint->held);
	sbuf_deinit(&complaint->start);
}

/* What the beginning of a line says of the whole of it. */
static enum complaint_line judge(struct view start)
{
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
		if (view_starts_with(start, starts[i]))
			return COMPLAINT_HELD;
		if (view_starts_with(starts[i], start))
			return COMPLAINT_START;
	}
	return COMPLAINT_FORWARDED;
}

static void feed_char(struct complaint *complaint, char c, struct sbuf *forward)
{
	struct sbuf *to = complaint->line == COMPLAINT_HELD ? &complaint->held : forward;
	if (complaint->line == COMPLAINT_START) {
		sbuf_append_char(&complaint->start, c);
		complaint->line = judge(sbuf_view(&complaint->start));
		if (complaint->line == COMPLAINT_START)
			return;
		to = complaint->line == COMPLAINT_HELD ? &complaint->held : forward;
		sbuf_append(to, sbuf_view(&complaint->start));
		sbuf_clear(&complaint->start);
	} else {
		sbuf_append_char(to, c);
	}
	if (c == '\n')
		complaint->line = COMPLAINT_START;
}

void complaint_feed(struct complaint *complaint, struct view bytes, struct sbuf *forward)
{
	for (size_t i = 0; i < bytes.len; i++)
		feed_char(complaint, bytes.ptr[i], forward);
}

void complaint_finish(struct complaint *complaint, struct sbuf *forward)
{
	sbuf_append(forward, sbuf_view(&complaint->start));
	sbuf_clear(&complaint->start);
}

static bool contains(struct view text, struct view part)
{
	struct view left, right;
	return view_cut(text, part, &left, &right);
}

enum complaint_cause complaint_cause(struct view held)
{
	static const struct {
		struct view part;
		enum complaint_cause cause;
	} rows[] = {
		{VIEW_INIT("doesn't have a resource type"), COMPLAINT_NOT_INSTALLED},
		{VIEW_INIT("could not find the requested resource"), COMPLAINT_NOT_INSTALLED},
		{VIEW_INIT("(Forbidden)"), COMPLAINT_FORBIDDEN},
		{VIEW_INIT("field label not supported"), COMPLAINT_FIELD_NOT_SELECTABLE},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (contains(held, rows[i].part))
			return rows[i].cause;
	}
	return COMPLAINT_OTHER;
}
