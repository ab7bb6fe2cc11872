/* SPDX-License-Identifier: Apache-2.0 */

/* The JSON is read value by value, and each becomes an event for libyaml's emitter. */

#include "kubectl/yaml_output.h"

#include <yaml.h>

#include "wire/jlex.h"

#define MAX_DEPTH 100u
#define MAX_WIDTH 1000 /* of a line, before the emitter folds a quoted text */

struct writer {
	yaml_emitter_t emitter;
	struct jlex lex;
	struct sbuf text; /* the scalar being written */
	struct sbuf *buf;
};

static int append(void *context, unsigned char *bytes, size_t n)
{
	struct writer *writer = context;
	sbuf_append(writer->buf, (struct view){(const char *)bytes, n});
	return writer->buf->failure == ERROR_NONE;
}

static bool emit(struct writer *writer, yaml_event_t *event, int made)
{
	return made && yaml_emitter_emit(&writer->emitter, event);
}

/* Would YAML 1.1 or 1.2 read the bare text as the text that it is? */
static bool is_plain(struct view text)
{
	static const struct view words[] = {
		VIEW_INIT("null"), VIEW_INIT("true"), VIEW_INIT("false"), VIEW_INIT("yes"),
		VIEW_INIT("no"),   VIEW_INIT("on"),   VIEW_INIT("off"),   VIEW_INIT("y"),
		VIEW_INIT("n"),
	};
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (view_equal_ignoring_case(text, words[i]))
			return false;
	}
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];
		bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
		bool may_follow = (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' ||
				  c == '/' || (c == ' ' && i + 1 < text.len);
		if (!is_letter && (i == 0 || !may_follow))
			return false;
	}
	return text.len > 0;
}

static bool write_scalar(struct writer *writer, struct view text, bool is_text)
{
	yaml_event_t event;
	bool plain = !is_text || is_plain(text);
	return emit(writer, &event,
		    yaml_scalar_event_initialize(
			    &event, NULL, NULL,
			    (const yaml_char_t *)(text.len > 0 ? text.ptr : ""), (int)text.len, plain,
			    !plain, plain ? YAML_PLAIN_SCALAR_STYLE : YAML_DOUBLE_QUOTED_SCALAR_STYLE));
}

static bool write_text(struct writer *writer, struct jlex_string string)
{
	size_t len;
	if (!string.has_escapes)
		return write_scalar(writer, string.raw, true);
	sbuf_clear(&writer->text);
	char *to = sbuf_reserve(&writer->text, string.raw.len);
	return to && jlex_unescape(string, to, &len) &&
	       write_scalar(writer, (struct view){to, len}, true);
}

static bool write_value(struct writer *writer);

/* The members of an object, or the elements of an array. */
static bool write_members(struct writer *writer, char open, char close)
{
	struct jlex_string key;
	if (jlex_enter(&writer->lex, open) != 0)
		return false;
	bool more = jlex_peek(&writer->lex) != close;
	while (more) {
		if (open == '{' &&
		    (jlex_key(&writer->lex, &key) != 0 || !write_text(writer, key)))
			return false;
		if (!write_value(writer))
			return false;
		more = jlex_take(&writer->lex, ',');
	}
	return jlex_leave(&writer->lex, close) == 0;
}

static bool write_value(struct writer *writer)
{
	yaml_event_t event;
	struct jlex_string string;
	switch (jlex_peek(&writer->lex)) {
	case '{':
		return emit(writer, &event,
			    yaml_mapping_start_event_initialize(&event, NULL, NULL, 1,
								YAML_ANY_MAPPING_STYLE)) &&
		       write_members(writer, '{', '}') &&
		       emit(writer, &event, yaml_mapping_end_event_initialize(&event));
	case '[':
		return emit(writer, &event,
			    yaml_sequence_start_event_initialize(&event, NULL, NULL, 1,
								 YAML_ANY_SEQUENCE_STYLE)) &&
		       write_members(writer, '[', ']') &&
		       emit(writer, &event, yaml_sequence_end_event_initialize(&event));
	case '"':
		return jlex_string(&writer->lex, &string) == 0 && write_text(writer, string);
	default:
		break;
	}
	const char *start = writer->lex.at; /* a number or a word: it reads the same in YAML */
	return jlex_skip(&writer->lex) == 0 &&
	       write_scalar(writer, (struct view){start, (size_t)(writer->lex.at - start)}, false);
}

static bool write_document(struct writer *writer)
{
	yaml_event_t event;
	return emit(writer, &event,
		    yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING)) &&
	       emit(writer, &event,
		    yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1)) &&
	       write_value(writer) &&
	       emit(writer, &event, yaml_document_end_event_initialize(&event, 1)) &&
	       emit(writer, &event, yaml_stream_end_event_initialize(&event)) &&
	       yaml_emitter_flush(&writer->emitter);
}

void yaml_output(struct view json, struct sbuf *buf)
{
	struct writer writer = {.buf = buf};
	struct error err;
	if (!yaml_emitter_initialize(&writer.emitter)) {
		buf->failure = ERROR_NO_MEMORY;
		return;
	}
	yaml_emitter_set_output(&writer.emitter, append, &writer);
	yaml_emitter_set_unicode(&writer.emitter, 1);
	yaml_emitter_set_width(&writer.emitter, MAX_WIDTH);
	sbuf_init(&writer.text, json.len + 1);
	jlex_init(&writer.lex, json, MAX_DEPTH, &err);
	if (!write_document(&writer) && buf->failure == ERROR_NONE)
		buf->failure = ERROR_NO_MEMORY;
	sbuf_deinit(&writer.text);
	yaml_emitter_delete(&writer.emitter);
}
