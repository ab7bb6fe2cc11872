/* SPDX-License-Identifier: Apache-2.0 */

/*
 * kubectl prints a list where it was asked for a kind or for several names, the bare object where
 * it was asked for one name, and nothing at all where that one is missing and was allowed to be.
 * Names are typed by people, so those answers are small and gathered whole.
 */

#include "kubectl/intake.h"

#include "wire/jlex.h"
#include "wire/jwalk.h"

#define ARRAY_DEPTH 100u

void intake_init(struct intake *intake, enum intake_form form, intake_take_fn take, void *context)
{
	*intake = (struct intake){.form = form, .take = take, .context = context};
	jscan_init(&intake->scan, LIMIT_OBJECT_BYTES);
	sbuf_init(&intake->whole, INTAKE_NAMED_BYTES);
}

void intake_deinit(struct intake *intake)
{
	jscan_deinit(&intake->scan);
	sbuf_deinit(&intake->whole);
}

static int feed_list(struct intake *intake, struct view bytes, struct error *err)
{
	struct view key, value;
	for (;;) {
		switch (jscan_next(&intake->scan, &bytes, &key, &value, err)) {
		case JSCAN_MORE:
			return 0;
		case JSCAN_ITEM:
			if (intake->take(intake->context, value, err) != 0)
				return -1;
			break;
		case JSCAN_MEMBER:
			break;
		case JSCAN_END:
			intake->complete = true;
			break;
		case JSCAN_FAILED:
			return error_wrap(err, "what kubectl printed");
		}
	}
}

int intake_feed(struct intake *intake, struct view bytes, struct error *err)
{
	if (intake->form == INTAKE_LIST)
		return feed_list(intake, bytes, err);
	sbuf_append(&intake->whole, bytes);
	return sbuf_check(&intake->whole, "what kubectl printed", err);
}

int intake_each(struct view array, intake_take_fn take, void *context, struct error *err)
{
	struct jlex lex;
	jlex_init(&lex, array, ARRAY_DEPTH, err);
	if (jlex_enter(&lex, '[') != 0)
		return -1;
	bool is_empty = jlex_peek(&lex) == ']';
	while (!is_empty) {
		jlex_peek(&lex); /* over the blanks before the element */
		const char *start = lex.at;
		if (jlex_skip(&lex) != 0 ||
		    take(context, (struct view){start, (size_t)(lex.at - start)}, err) != 0)
			return -1;
		if (!jlex_take(&lex, ','))
			break;
	}
	if (jlex_leave(&lex, ']') != 0)
		return -1;
	return jlex_finish(&lex);
}

static int take_named(struct intake *intake, struct error *err)
{
	struct view whole = view_trim(sbuf_view(&intake->whole)), key, value;
	struct jwalk walk;
	if (whole.len == 0)
		return 0;
	jwalk_init(&walk, whole);
	while (jwalk_next(&walk, &key, &value)) {
		if (view_equal(key, VIEW("items")))
			return intake_each(value, intake->take, intake->context, err);
	}
	if (jwalk_check(&walk, "what kubectl printed", err) != 0)
		return -1;
	return intake->take(intake->context, whole, err);
}

int intake_finish(struct intake *intake, struct error *err)
{
	if (intake->form == INTAKE_NAMED)
		return take_named(intake, err);
	if (!intake->complete)
		return error_set(err, ERROR_REJECTED, 0, "what kubectl printed is cut short");
	return 0;
}
