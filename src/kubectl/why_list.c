/* SPDX-License-Identifier: Apache-2.0 */

#include "kubectl/why_list.h"

#include <assert.h>

#include "base/limits.h"

void why_list_init(struct why_list *list, struct arena *arena)
{
	*list = (struct why_list){.arena = arena};
	list->end = &list->statements;
	sbuf_init(&list->text, LIMIT_MIB);
}

void why_list_deinit(struct why_list *list)
{
	sbuf_deinit(&list->text);
}

struct sbuf *why_list_text(struct why_list *list)
{
	return &list->text;
}

/* What was written, which is forgotten. */
static struct view take_text(struct why_list *list)
{
	struct view text = {0};
	if (list->text.failure || !arena_copy(list->arena, sbuf_view(&list->text), &text))
		list->has_failed = true;
	sbuf_clear(&list->text);
	return text;
}

void why_list_add(struct why_list *list, const char *section, int64_t since)
{
	struct why_statement *statement = arena_alloc(list->arena, 1, sizeof(*statement));
	struct view text = take_text(list);
	list->last = statement;
	if (!statement) {
		list->has_failed = true;
		return;
	}
	*statement = (struct why_statement){.section = section, .text = text, .since = since};
	statement->end = &statement->reasons;
	*list->end = statement;
	list->end = &statement->next;
}

/* Rows, remedies and notes are ours, and of no time. */
static bool is_told_by_others(enum why_kind kind)
{
	return kind == WHY_WITNESS || kind == WHY_EVIDENCE || kind == WHY_INTENDED ||
	       kind == WHY_OBSERVED;
}

static void add_reason(struct why_list *list, struct why_reason what)
{
	struct why_reason *reason = arena_alloc(list->arena, 1, sizeof(*reason));
	struct view text = take_text(list);
	assert(list->last || list->has_failed);
	if (!reason || !list->last) {
		list->has_failed = true;
		return;
	}
	*reason = what;
	reason->text = text;
	if (reason->time == 0 && is_told_by_others(reason->kind))
		reason->since = list->last->since;
	*list->last->end = reason;
	list->last->end = &reason->next;
}

void why_list_because(struct why_list *list, enum why_kind kind, struct view name, int64_t time)
{
	add_reason(list, (struct why_reason){.kind = kind, .name = name, .time = time});
}

void why_list_row(struct why_list *list, const char *table, unsigned row, struct view name)
{
	add_reason(list, (struct why_reason){
				 .kind = WHY_ROW, .name = name, .table = table, .row = row});
}

void why_list_say(struct why_list *list, enum why_kind kind, struct view name, struct view text)
{
	sbuf_append(&list->text, text);
	why_list_because(list, kind, name, 0);
}

int why_list_check(const struct why_list *list, struct error *err)
{
	return list->has_failed ? error_no_memory(err) : 0;
}
