/* SPDX-License-Identifier: Apache-2.0 */

#include "kubectl/page.h"

#include <stdarg.h>
#include <stdio.h>

#include "kubectl/printable.h"

#define NOTE_BYTES (64u * LIMIT_KIB)

void page_init(struct page *page, enum page_form form, int64_t now)
{
	*page = (struct page){.form = form, .has_headers = true, .now = now};
	sbuf_init(&page->body, PAGE_BYTES);
	sbuf_init(&page->notes, LIMIT_MIB * 8u);
	sbuf_init(&page->line, NOTE_BYTES);
}

void page_deinit(struct page *page)
{
	sbuf_deinit(&page->body);
	sbuf_deinit(&page->notes);
	sbuf_deinit(&page->line);
}

uint32_t page_flags(const struct page *page)
{
	return (page->form == PAGE_WIDE ? PAGE_IF_WIDE : 0u) |
	       (page->is_many ? PAGE_IF_MANY : 0u) |
	       (page->all_namespaces ? PAGE_IF_ALL_NAMESPACES : 0u);
}

struct sbuf *page_note(struct page *page)
{
	sbuf_clear(&page->line);
	return &page->line;
}

void page_note_end(struct page *page)
{
	if (page->line.len == 0 || ++page->n_notes > PAGE_NOTES)
		return;
	printable_append(&page->notes, sbuf_view(&page->line));
	sbuf_append_char(&page->notes, '\n');
}

void page_printf(struct page *page, const char *format, ...)
{
	struct sbuf *line = page_note(page);
	char text[512];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	sbuf_append(line, view_from(text));
	page_note_end(page);
}

int page_finish(struct page *page, struct error *err)
{
	if (page->n_notes > PAGE_NOTES)
		sbuf_printf(&page->notes, "and %zu more notes\n", page->n_notes - PAGE_NOTES);
	if (sbuf_check(&page->notes, "notes", err) != 0)
		return -1;
	return sbuf_check(&page->body, "what is to be printed", err);
}
