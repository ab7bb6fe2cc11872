/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/event_note.h"

#include <string.h>

#include "base/limits.h"
#include "base/utf8.h"
#include "wire/rfc3339.h"

/* A text of a status is added whole or not at all, so there is room for one beyond the limit. */
#define CAP (LIMIT_EVENT_NOTE + LIMIT_TEXT_CONDITION_MESSAGE)
#define CUT "…"
#define FNV_PRIME UINT64_C(0x100000001b3)

void event_note_init(struct event_note *note)
{
	sbuf_init(&note->text, CAP);
}

void event_note_deinit(struct event_note *note)
{
	sbuf_deinit(&note->text);
}

void event_note_add(struct event_note *note, struct view text)
{
	if (note->text.len <= LIMIT_EVENT_NOTE)
		sbuf_append(&note->text, text);
}

void event_note_next(struct event_note *note)
{
	if (note->text.len > 0)
		event_note_add(note, VIEW("; "));
}

void event_note_add_number(struct event_note *note, int64_t number)
{
	if (note->text.len <= LIMIT_EVENT_NOTE)
		sbuf_printf(&note->text, "%lld", (long long)number);
}

void event_note_add_time(struct event_note *note, int64_t ms)
{
	char text[RFC3339_SIZE];

	rfc3339_seconds(ms, text);
	event_note_add(note, view_from(text));
}

int event_note_take(struct event_note *note, struct arena *arena, struct view *ret,
		    struct error *err)
{
	struct view text;

	if (note->text.len > LIMIT_EVENT_NOTE) {
		text = utf8_truncate(sbuf_view(&note->text), LIMIT_EVENT_NOTE - strlen(CUT));
		sbuf_truncate(&note->text, text.len);
		sbuf_append(&note->text, VIEW(CUT));
	}
	if (sbuf_keep(&note->text, "note", arena, ret, err) < 0)
		return -1;
	sbuf_clear(&note->text);
	return 0;
}

/* FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv/); the length parts the texts. */

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t n)
{
	const unsigned char *byte = bytes;

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ byte[i]) * FNV_PRIME;
	return hash;
}

uint64_t event_note_hash_number(uint64_t hash, int64_t number)
{
	return hash_bytes(hash, &number, sizeof(number));
}

uint64_t event_note_hash_text(uint64_t hash, struct view text)
{
	return hash_bytes(event_note_hash_number(hash, (int64_t)text.len), text.ptr, text.len);
}
