/* SPDX-License-Identifier: Apache-2.0 */

#include "kubectl/output.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "kubectl/printable.h"
#include "kubectl/text_table.h"
#include "kubectl/uuid_prefix.h"
#include "kubectl/words.h"

#define NOTE_BYTES (64u * LIMIT_KIB)
#define NOTE_INDENT 2u /* of the lines of a note but the first */

void output_init(struct output *output, enum output_form form, int64_t now)
{
	*output = (struct output){.form = form, .has_headers = true, .now = now};
	sbuf_init(&output->body, OUTPUT_BYTES);
	sbuf_init(&output->notes, LIMIT_MIB * 8u);
	sbuf_init(&output->line, NOTE_BYTES);
}

void output_deinit(struct output *output)
{
	sbuf_deinit(&output->body);
	sbuf_deinit(&output->notes);
	sbuf_deinit(&output->line);
}

bool output_is_document(const struct output *output)
{
	return output->form == OUTPUT_JSON || output->form == OUTPUT_YAML;
}

uint32_t output_flags(const struct output *output)
{
	return (output->form == OUTPUT_WIDE ? OUTPUT_IF_WIDE : 0u) |
	       (output->is_many ? OUTPUT_IF_MANY : 0u) |
	       (output->all_namespaces ? OUTPUT_IF_ALL_NAMESPACES : 0u) |
	       (leader_is_missing(&output->leader) ? OUTPUT_IF_NO_LEADER : 0u);
}

void output_uuid(const struct output *output, struct view uuid, struct sbuf *cell)
{
	if (output->uuids && output->form == OUTPUT_TABLE)
		uuid.len = uuid_prefix_len(output->uuids, uuid);
	sbuf_append(cell, uuid);
}

void output_model(const struct output *output, struct view model, struct sbuf *cell)
{
	if (output->form == OUTPUT_TABLE && view_starts_with(model, VIEW("NVIDIA-")))
		model = view_from_offset(model, VIEW("NVIDIA-").len);
	sbuf_append(cell, words_known(model));
}

void output_wrap(const struct output *output, struct view text, size_t start, size_t indent,
		 struct sbuf *buf)
{
	CLEANUP(sbuf_deinit) struct sbuf shown;
	size_t room = TEXT_TABLE_WIDTH - start;
	assert(start < TEXT_TABLE_WIDTH && indent < TEXT_TABLE_WIDTH);
	sbuf_init(&shown, LIMIT_MIB);
	printable_append(&shown, text);
	text = sbuf_view(&shown);
	while (output->form == OUTPUT_TABLE && printable_width(text) > room) {
		sbuf_append(buf, printable_take_line(&text, room));
		sbuf_printf(buf, "\n%*s", (int)indent, "");
		room = TEXT_TABLE_WIDTH - indent;
	}
	sbuf_append(buf, text);
	if (shown.failure)
		buf->failure = shown.failure;
}

struct sbuf *output_note(struct output *output)
{
	sbuf_clear(&output->line);
	return &output->line;
}

/* True when there is a note, and room for it. */
static bool takes_note(struct output *output)
{
	if (output->line.failure == ERROR_NO_MEMORY)
		output->notes.failure = ERROR_NO_MEMORY;
	return output->line.len > 0 && ++output->n_notes <= OUTPUT_NOTES;
}

void output_note_end(struct output *output)
{
	if (!takes_note(output))
		return;
	output_wrap(output, sbuf_view(&output->line), 0, NOTE_INDENT, &output->notes);
	sbuf_append_char(&output->notes, '\n');
}

void output_printf(struct output *output, const char *format, ...)
{
	struct sbuf *line = output_note(output);
	char text[512];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	sbuf_append(line, view_from(text));
	output_note_end(output);
}

int output_finish(struct output *output, struct error *err)
{
	if (output->n_notes > OUTPUT_NOTES)
		sbuf_printf(&output->notes, "and %zu more notes\n", output->n_notes - OUTPUT_NOTES);
	if (sbuf_check(&output->notes, "notes", err) != 0)
		return -1;
	return sbuf_check(&output->body, "what is to be printed", err);
}
