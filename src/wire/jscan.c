/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A state per place between tokens of the outer object and the items array; inside a value only
 * nesting and strings are followed. A value that lies whole in the input is yielded in place;
 * one that the end of the input cuts is gathered in `held`. So a list in large pieces is hardly
 * copied, and none of it is looked at twice.
 */

#include "wire/jscan.h"

#include <assert.h>

#define MAX_KEY 256
#define MAX_DEPTH 64

enum state {
	START,
	FIRST_KEY,    /* behind '{': a key or '}' */
	NEXT_KEY,     /* behind ',': a key */
	KEY,          /* in a key */
	COLON,
	BEFORE_VALUE,
	VALUE,        /* in a member's value */
	AFTER_VALUE,  /* ',' or '}' */
	FIRST_ITEM,   /* behind '[': an item or ']' */
	NEXT_ITEM,    /* behind ',': an item */
	ITEM,         /* in an item */
	AFTER_ITEM,   /* ',' or ']' */
	ENDED,
	BROKEN,
};

void jscan_init(struct jscan *scan, size_t cap)
{
	*scan = (struct jscan){.state = START};
	sbuf_init(&scan->held, cap);
	sbuf_init(&scan->key, MAX_KEY);
}

void jscan_deinit(struct jscan *scan)
{
	sbuf_deinit(&scan->held);
	sbuf_deinit(&scan->key);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static enum jscan_step malformed(struct jscan *scan, const char *expected, struct error *err)
{
	scan->state = BROKEN;
	error_set(err, ERROR_REJECTED, 0, "malformed list: %s expected", expected);
	return JSCAN_FAILED;
}

static void begin_value(struct jscan *scan, enum state state)
{
	scan->state = (int)state;
	scan->in_string = false;
	scan->escaped = false;
	scan->in_scalar = false;
	scan->depth = 0;
}

/* Goes on in a string; gives the number of bytes up to and including its closing quote. */
static size_t skip_string(struct jscan *scan, const char *p, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (scan->escaped) {
			scan->escaped = false;
		} else if (p[i] == '\\') {
			scan->escaped = true;
		} else if (p[i] == '"') {
			scan->in_string = false;
			return i + 1;
		}
	}
	return len;
}

enum progress {
	INSIDE,
	COMPLETE,
	IMPOSSIBLE,
};

/* Takes one byte outside of strings. *ret_taken is false for a byte behind a bare number or word. */
static enum progress take_byte(struct jscan *scan, char c, bool *ret_taken)
{
	*ret_taken = true;
	switch (c) {
	case '"':
		scan->in_string = true;
		return scan->in_scalar ? IMPOSSIBLE : INSIDE;
	case '{':
	case '[':
		return scan->in_scalar || ++scan->depth > MAX_DEPTH ? IMPOSSIBLE : INSIDE;
	case '}':
	case ']':
	case ',':
	case ' ':
	case '\n':
	case '\r':
	case '\t':
		break;
	default:
		if (scan->depth == 0)
			scan->in_scalar = true;
		return INSIDE;
	}
	if (scan->in_scalar) {
		*ret_taken = false;
		return COMPLETE;
	}
	if (scan->depth == 0)
		return IMPOSSIBLE;
	if (c == '}' || c == ']')
		return --scan->depth == 0 ? COMPLETE : INSIDE;
	return INSIDE;
}

/* Goes on in a value; *ret_len is how much of the input belongs to it. */
static enum progress scan_value(struct jscan *scan, struct view input, size_t *ret_len)
{
	enum progress progress = INSIDE;
	size_t i = 0;
	while (progress == INSIDE && i < input.len) {
		if (scan->in_string) {
			i += skip_string(scan, input.ptr + i, input.len - i);
			if (!scan->in_string && scan->depth == 0)
				progress = COMPLETE;
			continue;
		}
		bool taken;
		progress = take_byte(scan, input.ptr[i], &taken);
		i += taken;
	}
	*ret_len = i;
	return progress;
}

static enum jscan_step fail_held(struct jscan *scan, struct error *err)
{
	scan->state = BROKEN;
	if (sbuf_check(&scan->held, "value in a list", err) != 0)
		return JSCAN_FAILED;
	error_set(err, ERROR_LIMIT, 0, "value in a list: larger than %zu bytes", scan->held.cap);
	return JSCAN_FAILED;
}

/* In an item or a member's value: JSCAN_ITEM says that *ret_value is complete. */
static enum jscan_step continue_value(struct jscan *scan, struct view *input,
				      struct view *ret_value, struct error *err)
{
	size_t len;
	enum progress progress = scan_value(scan, *input, &len);
	if (progress == IMPOSSIBLE)
		return malformed(scan, "a value nested at most 64 deep", err);
	struct view part = {input->ptr, len};
	*input = view_from_offset(*input, len);
	if (progress == COMPLETE && scan->held.len == 0) {
		*ret_value = part;
		return part.len <= scan->held.cap ? JSCAN_ITEM : fail_held(scan, err);
	}
	sbuf_append(&scan->held, part);
	if (scan->held.failure != ERROR_NONE)
		return fail_held(scan, err);
	if (progress == INSIDE)
		return JSCAN_MORE;
	*ret_value = sbuf_view(&scan->held);
	scan->spent = true;
	return JSCAN_ITEM;
}

static bool in_items(const struct jscan *scan)
{
	return view_equal(sbuf_view(&scan->key), VIEW("items"));
}

static enum jscan_step continue_key(struct jscan *scan, struct view *input, struct error *err)
{
	size_t len = skip_string(scan, input->ptr, input->len);
	bool complete = !scan->in_string;
	sbuf_append(&scan->key, (struct view){input->ptr, len - complete});
	*input = view_from_offset(*input, len);
	if (sbuf_check(&scan->key, "key in a list", err) != 0) {
		scan->state = BROKEN;
		return JSCAN_FAILED;
	}
	if (complete)
		scan->state = COLON;
	return JSCAN_MORE;
}

static enum jscan_step member_ended(struct jscan *scan, struct view value, struct error *err)
{
	scan->state = AFTER_VALUE;
	if (!in_items(scan))
		return JSCAN_MEMBER;
	/* What is no array: Go writes null for a list without items. */
	if (!view_equal(value, VIEW("null")))
		return malformed(scan, "an array of items", err);
	sbuf_clear(&scan->held);
	scan->spent = false;
	return JSCAN_MORE;
}

/* Starts a key at a quote, of which *input is one behind. */
static void begin_key(struct jscan *scan)
{
	sbuf_clear(&scan->key);
	scan->in_string = true;
	scan->escaped = false;
	scan->state = KEY;
}

/* Leaves the byte to the value that starts with it. */
static enum jscan_step begin_member(struct jscan *scan, struct view *input, char c,
				    struct error *err)
{
	if (!in_items(scan)) {
		begin_value(scan, VALUE);
		return JSCAN_MORE;
	}
	if (scan->listed)
		return malformed(scan, "one member \"items\"", err);
	scan->listed = true;
	if (c == '[') {
		*input = view_from_offset(*input, 1);
		scan->state = FIRST_ITEM;
	} else {
		begin_value(scan, VALUE);
	}
	return JSCAN_MORE;
}

/* What may follow in the states that look at one byte, which is taken if it is the one wanted. */
static bool accept(struct jscan *scan, struct view *input, char wanted, enum state next)
{
	if (input->ptr[0] != wanted)
		return false;
	*input = view_from_offset(*input, 1);
	scan->state = (int)next;
	return true;
}

/* The states between tokens; *input starts with a byte that is not blank. */
static enum jscan_step between_tokens(struct jscan *scan, struct view *input, struct error *err)
{
	switch ((enum state)scan->state) {
	case START:
		return accept(scan, input, '{', FIRST_KEY) ? JSCAN_MORE : malformed(scan, "'{'", err);
	case FIRST_KEY:
		if (accept(scan, input, '}', ENDED))
			return JSCAN_END;
		/* fall through */
	case NEXT_KEY:
		if (!accept(scan, input, '"', KEY))
			return malformed(scan, "a key", err);
		begin_key(scan);
		return JSCAN_MORE;
	case COLON:
		return accept(scan, input, ':', BEFORE_VALUE) ? JSCAN_MORE
							       : malformed(scan, "':'", err);
	case BEFORE_VALUE:
		return begin_member(scan, input, input->ptr[0], err);
	case AFTER_VALUE:
		if (accept(scan, input, '}', ENDED))
			return JSCAN_END;
		return accept(scan, input, ',', NEXT_KEY) ? JSCAN_MORE
							   : malformed(scan, "',' or '}'", err);
	case FIRST_ITEM:
		if (accept(scan, input, ']', AFTER_VALUE))
			return JSCAN_MORE;
		/* fall through */
	case NEXT_ITEM:
		begin_value(scan, ITEM);
		return JSCAN_MORE;
	case AFTER_ITEM:
		if (accept(scan, input, ']', AFTER_VALUE))
			return JSCAN_MORE;
		return accept(scan, input, ',', NEXT_ITEM) ? JSCAN_MORE
							    : malformed(scan, "',' or ']'", err);
	case ENDED:
		return malformed(scan, "nothing behind the list", err);
	case KEY:
	case VALUE:
	case ITEM:
	case BROKEN:
		break;
	}
	return malformed(scan, "an unbroken list", err);
}

static void skip_blanks(struct view *input)
{
	size_t n = 0;
	while (n < input->len && is_blank(input->ptr[n]))
		n++;
	*input = view_from_offset(*input, n);
}

enum jscan_step jscan_next(struct jscan *scan, struct view *input, struct view *ret_key,
			   struct view *ret_value, struct error *err)
{
	if (scan->spent)
		sbuf_clear(&scan->held);
	scan->spent = false;
	enum jscan_step step = JSCAN_MORE;
	while (step == JSCAN_MORE && input->len > 0) {
		if (scan->state == KEY) {
			step = continue_key(scan, input, err);
		} else if (scan->state == VALUE || scan->state == ITEM) {
			step = continue_value(scan, input, ret_value, err);
			if (step == JSCAN_ITEM && scan->state == VALUE)
				step = member_ended(scan, *ret_value, err);
			else if (step == JSCAN_ITEM)
				scan->state = AFTER_ITEM;
		} else {
			skip_blanks(input);
			if (input->len > 0)
				step = between_tokens(scan, input, err);
		}
	}
	if (step == JSCAN_MEMBER)
		*ret_key = sbuf_view(&scan->key);
	return step;
}
