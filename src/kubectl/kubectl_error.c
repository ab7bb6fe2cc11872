/* SPDX-License-Identifier: Apache-2.0 */

/* The texts are those of kubectl and of Kubernetes' API machinery; none is translated. */

#include "kubectl/kubectl_error.h"

static const struct view starts[] = {VIEW_INIT("Error from server"), VIEW_INIT("error: ")};

void kubectl_error_init(struct kubectl_error *said)
{
	*said = (struct kubectl_error){0};
	sbuf_init(&said->held, KUBECTL_ERROR_BYTES);
	sbuf_init(&said->start, 64);
}

void kubectl_error_deinit(struct kubectl_error *said)
{
	sbuf_deinit(&said->held);
	sbuf_deinit(&said->start);
}

/* What the beginning of a line says of the whole of it. */
static enum kubectl_error_line judge(struct view start)
{
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
		if (view_starts_with(start, starts[i]))
			return KUBECTL_ERROR_HELD;
		if (view_starts_with(starts[i], start))
			return KUBECTL_ERROR_START;
	}
	return KUBECTL_ERROR_FORWARDED;
}

static void feed_char(struct kubectl_error *said, char c, struct sbuf *forward)
{
	struct sbuf *to = said->line == KUBECTL_ERROR_HELD ? &said->held : forward;
	if (said->line == KUBECTL_ERROR_START) {
		sbuf_append_char(&said->start, c);
		said->line = judge(sbuf_view(&said->start));
		if (said->line == KUBECTL_ERROR_START)
			return;
		to = said->line == KUBECTL_ERROR_HELD ? &said->held : forward;
		sbuf_append(to, sbuf_view(&said->start));
		sbuf_clear(&said->start);
	} else {
		sbuf_append_char(to, c);
	}
	if (c == '\n')
		said->line = KUBECTL_ERROR_START;
}

void kubectl_error_feed(struct kubectl_error *said, struct view bytes, struct sbuf *forward)
{
	for (size_t i = 0; i < bytes.len; i++)
		feed_char(said, bytes.ptr[i], forward);
}

void kubectl_error_finish(struct kubectl_error *said, struct sbuf *forward)
{
	sbuf_append(forward, sbuf_view(&said->start));
	sbuf_clear(&said->start);
}

static bool contains(struct view text, struct view part)
{
	struct view left, right;
	return view_cut(text, part, &left, &right);
}

enum kubectl_error_cause kubectl_error_cause(struct view held)
{
	static const struct {
		struct view part;
		enum kubectl_error_cause cause;
	} rows[] = {
		{VIEW_INIT("doesn't have a resource type"), KUBECTL_ERROR_NOT_INSTALLED},
		{VIEW_INIT("could not find the requested resource"), KUBECTL_ERROR_NOT_INSTALLED},
		{VIEW_INIT("(Forbidden)"), KUBECTL_ERROR_FORBIDDEN},
		{VIEW_INIT("field label not supported"), KUBECTL_ERROR_FIELD_NOT_SELECTABLE},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (contains(held, rows[i].part))
			return rows[i].cause;
	}
	return KUBECTL_ERROR_OTHER;
}
