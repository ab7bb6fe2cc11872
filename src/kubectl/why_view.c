/* SPDX-License-Identifier: Apache-2.0 */

/* A line that is too long goes on below its text, as in a table. */

#include "kubectl/why_view.h"

#include <string.h>

#include "kubectl/json_output.h"
#include "kubectl/output.h"
#include "kubectl/printable.h"
#include "kubectl/text_table.h"
#include "kubectl/why.h"
#include "kubectl/why_verdicts.h"
#include "kubectl/words.h"
#include "wire/jout.h"

#define LABEL 12 /* columns of what stands before a reason */
#define INDENT 4

static const char *const labels[WHY_N_KINDS] = {
	[WHY_WITNESS] = "said by",   [WHY_EVIDENCE] = "evidence", [WHY_ROW] = "decided by",
	[WHY_INTENDED] = "intended", [WHY_OBSERVED] = "observed", [WHY_REMEDY] = "to do",
	[WHY_NOTE] = "note",
};

static const char *const kinds[WHY_N_KINDS] = {
	[WHY_WITNESS] = "Witness",   [WHY_EVIDENCE] = "Evidence", [WHY_ROW] = "Row",
	[WHY_INTENDED] = "Intended", [WHY_OBSERVED] = "Observed", [WHY_REMEDY] = "Remedy",
	[WHY_NOTE] = "Note",
};

static int explain(const struct why_view_subject *subject, struct why_list *list, struct error *err)
{
	const struct attribution_status *status = &subject->device->status;
	why_tenancy(list, status, subject->pod_uid);
	why_mode(list, status);
	why_verdicts_health(list, status);
	why_activity(list, status);
	why_verdicts_intent(list, status);
	return why_list_check(list, err);
}

/* Text */

/* Writes the text from that column on, in lines of at most TEXT_TABLE_WIDTH that end between words. */
static void write_text(struct output *output, struct view text, size_t column)
{
	CLEANUP(sbuf_deinit) struct sbuf shown;
	const size_t room = TEXT_TABLE_WIDTH - column;
	sbuf_init(&shown, LIMIT_MIB);
	printable_append(&shown, text);
	text = sbuf_view(&shown);
	while (output->form != OUTPUT_WIDE && printable_width(text) > room) {
		size_t end = 0, at = 0;
		for (size_t i = 0; i < text.len && at <= room; i++) {
			if (text.ptr[i] == ' ')
				end = i;
			at += ((unsigned char)text.ptr[i] & 0xc0) != 0x80;
		}
		if (end == 0)
			break; /* one long word */
		sbuf_append(&output->body, (struct view){text.ptr, end});
		sbuf_printf(&output->body, "\n%*s", (int)column, "");
		text = view_from_offset(text, end + 1);
	}
	sbuf_append(&output->body, text);
	sbuf_append_char(&output->body, '\n');
	if (shown.failure)
		output->body.failure = shown.failure;
}

/* report_time: as the section says it; 0: it says that no time is told. */
static void write_reason(struct output *output, const struct why_reason *reason,
			 int64_t report_time)
{
	CLEANUP(sbuf_deinit) struct sbuf line;
	sbuf_init(&line, LIMIT_MIB);
	sbuf_append(&line, reason->name);
	if (reason->row > 0)
		sbuf_printf(&line, " (row %u of %s)", reason->row, reason->table);
	else if (reason->table)
		sbuf_printf(&line, " (%s)", reason->table);
	if (reason->name.len > 0 && reason->text.len > 0)
		sbuf_append(&line, VIEW(": "));
	sbuf_append(&line, reason->text);
	if ((reason->kind == WHY_WITNESS || reason->kind == WHY_EVIDENCE) && reason->time == 0 &&
	    report_time != 0)
		sbuf_append(&line, VIEW("; time not told"));
	sbuf_printf(&output->body, "%*s%-*s", INDENT, "", LABEL, labels[reason->kind]);
	write_text(output, sbuf_view(&line), INDENT + LABEL);
	if (line.failure)
		output->body.failure = line.failure;
}

static void write_time(struct sbuf *line, int64_t time, int64_t now)
{
	if (time != 0)
		words_instant(line, time, now);
	else
		sbuf_append(line, VIEW("a time not told"));
}

static void write_statement(struct output *output, const struct why_statement *statement,
			    int64_t report_time)
{
	CLEANUP(sbuf_deinit) struct sbuf line;
	sbuf_init(&line, LIMIT_MIB);
	sbuf_append(&line, statement->text);
	sbuf_append(&line, VIEW(", since "));
	write_time(&line, statement->since, output->now);
	sbuf_append(&output->body, VIEW("  "));
	write_text(output, sbuf_view(&line), INDENT);
	for (const struct why_reason *reason = statement->reasons; reason; reason = reason->next)
		write_reason(output, reason, report_time);
	if (line.failure)
		output->body.failure = line.failure;
}

/* Which device, and how recent what the node's agent said is. */
static void write_head(struct output *output, const struct attribution *device)
{
	CLEANUP(sbuf_deinit) struct sbuf line;
	const struct attribution_status *status = &device->status;
	sbuf_init(&line, LIMIT_MIB);
	sbuf_printf(&line, "%.*s on %.*s, index ", VIEW_ARG(device->uuid),
		    VIEW_ARG(words_known(status->node_name)));
	words_number(&line, status->device.index);
	sbuf_printf(&line, "; the node's report is %.*s",
		    VIEW_ARG(words_report_state(status->report_state)));
	write_text(output, sbuf_view(&line), 0);
	if (line.failure)
		output->body.failure = line.failure;
}

/* Its title, and of when it is. What is intended, and some of what is observed, the API server says. */
static void write_section(struct output *output, const char *section, int64_t report_time)
{
	static const char *const titles[][3] = {
		{"tenancy", "Who holds it", ""},
		{"mode", "How it is shared", ""},
		{"health", "Whether it is well", ""},
		{"activity", "Whether it computes", ""},
		{"intent", "Whether it is as intended", "; of the API server's part, time not told"},
	};
	size_t i = 0;
	CLEANUP(sbuf_deinit) struct sbuf line;
	sbuf_init(&line, LIMIT_MIB);
	while (strcmp(titles[i][0], section) != 0)
		i++;
	sbuf_printf(&line, "%s, as of %s", titles[i][1], report_time != 0 ? "the report of " : "");
	write_time(&line, report_time, output->now);
	sbuf_printf(&line, "%s:", report_time != 0 ? titles[i][2] : "");
	sbuf_append_char(&output->body, '\n');
	write_text(output, sbuf_view(&line), 0);
	if (line.failure)
		output->body.failure = line.failure;
}

static int write_device(struct output *output, const struct why_view_subject *subject,
			struct arena *arena, struct error *err)
{
	CLEANUP(why_list_deinit) struct why_list list;
	const char *section = "";
	const int64_t report_time = subject->device->status.report.observation_time;
	why_list_init(&list, arena);
	if (explain(subject, &list, err) < 0)
		return -1;
	write_head(output, subject->device);
	for (const struct why_statement *s = list.statements; s; s = s->next) {
		if (strcmp(s->section, section) != 0)
			write_section(output, s->section, report_time);
		section = s->section;
		write_statement(output, s, report_time);
	}
	return 0;
}

int why_view(struct output *output, const struct why_view_subject *subjects, size_t n_subjects,
	     struct arena *arena, struct error *err)
{
	for (size_t i = 0; i < n_subjects; i++) {
		if (i > 0)
			sbuf_append_char(&output->body, '\n');
		if (write_device(output, &subjects[i], arena, err) < 0)
			return -1;
	}
	return 0;
}

/* JSON */

static void write_json_reason(struct jout *out, const struct why_reason *reason)
{
	jout_object(out);
	jout_member_text(out, "kind", view_from(kinds[reason->kind]));
	json_output_text(out, "name", reason->name);
	json_output_text(out, "text", reason->text);
	json_output_text(out, "table", view_from(reason->table));
	jout_key(out, "row");
	if (reason->row > 0)
		jout_i64(out, reason->row);
	else
		jout_null(out);
	json_output_instant(out, "time", reason->time);
	jout_object_end(out);
}

static void write_json_statement(struct jout *out, const struct why_statement *statement)
{
	jout_object(out);
	jout_member_text(out, "section", view_from(statement->section));
	jout_member_text(out, "statement", statement->text);
	json_output_instant(out, "since", statement->since);
	jout_key(out, "because");
	jout_array(out);
	for (const struct why_reason *reason = statement->reasons; reason; reason = reason->next)
		write_json_reason(out, reason);
	jout_array_end(out);
	jout_object_end(out);
}

static int write_item(struct jout *out, const struct why_view_subject *subject,
		      struct arena *arena, struct error *err)
{
	CLEANUP(why_list_deinit) struct why_list list;
	why_list_init(&list, arena);
	if (explain(subject, &list, err) < 0)
		return -1;
	jout_object(out);
	jout_key(out, "gpu");
	json_output_device(out, subject->device, false);
	json_output_text(out, "podUID", subject->pod_uid);
	json_output_instant(out, "reportTime", subject->device->status.report.observation_time);
	jout_key(out, "statements");
	jout_array(out);
	for (const struct why_statement *s = list.statements; s; s = s->next)
		write_json_statement(out, s);
	jout_array_end(out);
	jout_object_end(out);
	return 0;
}

int why_view_json(struct output *output, const struct why_view_subject *subjects, size_t n_subjects,
		  struct arena *arena, struct error *err)
{
	CLEANUP(sbuf_deinit) struct sbuf json;
	struct jout out;
	sbuf_init(&json, OUTPUT_BYTES);
	jout_init(&out, &json);
	json_output_begin(&out, output, "Why");
	jout_key(&out, "items");
	jout_array(&out);
	for (size_t i = 0; i < n_subjects; i++)
		if (write_item(&out, &subjects[i], arena, err) < 0)
			return -1;
	jout_array_end(&out);
	jout_object_end(&out);
	json_output_end(output, &json);
	return 0;
}
