/* SPDX-License-Identifier: Apache-2.0 */

/* A line that is too long goes on below its text, as in a table. */

#include "kubectl/why_view.h"

#include <string.h>

#include "kubectl/json_output.h"
#include "kubectl/output.h"
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

/* The rest of a line of the body, from column start on. It goes on behind as many blanks as indent says. */
static void write_text(struct output *output, struct view text, size_t start, size_t indent)
{
	output_wrap(output, text, start, indent, &output->body);
	sbuf_append_char(&output->body, '\n');
}

/* What the agent read has the time of its section. */
static void write_when(struct sbuf *line, const struct why_reason *reason, int64_t now)
{
	if ((reason->kind != WHY_WITNESS && reason->kind != WHY_EVIDENCE) || reason->time != 0)
		return;
	if (reason->since == 0) {
		sbuf_append(line, VIEW("; time not told"));
		return;
	}
	sbuf_append(line, VIEW("; the statement stands since "));
	words_instant(line, reason->since, now);
}

static void write_reason(struct output *output, const struct why_reason *reason)
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
	write_when(&line, reason, output->now);
	sbuf_printf(&output->body, "%*s%-*s", INDENT, "", LABEL, labels[reason->kind]);
	write_text(output, sbuf_view(&line), INDENT + LABEL, INDENT + LABEL);
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

static void write_statement(struct output *output, const struct why_statement *statement)
{
	CLEANUP(sbuf_deinit) struct sbuf line;
	sbuf_init(&line, LIMIT_MIB);
	sbuf_append(&line, statement->text);
	sbuf_append(&line, VIEW(", since "));
	write_time(&line, statement->since, output->now);
	if (leader_is_missing(&output->leader))
		sbuf_append_char(&line, '*');
	sbuf_append(&output->body, VIEW("  "));
	write_text(output, sbuf_view(&line), 2, INDENT);
	for (const struct why_reason *reason = statement->reasons; reason; reason = reason->next)
		write_reason(output, reason);
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
	if (leader_is_missing(&output->leader))
		sbuf_append(&line, VIEW(", and no controller leads*"));
	write_text(output, sbuf_view(&line), 0, 0);
	if (line.failure)
		output->body.failure = line.failure;
}

/*
 * Its title, and of when it is. What is intended, and some of what is observed, the API server says: of
 * that the status has the time since when the statement stands.
 */
static void write_section(struct output *output, const char *section, int64_t report_time)
{
	static const char *const titles[][3] = {
		{"tenancy", "Who holds it", ""},
		{"mode", "How it is shared", ""},
		{"health", "Whether it is well", ""},
		{"activity", "Whether it computes", ""},
		{"intent", "Whether it is as intended", ", or since the time of a statement"},
	};
	size_t i = 0;
	CLEANUP(sbuf_deinit) struct sbuf line;
	sbuf_init(&line, LIMIT_MIB);
	while (strcmp(titles[i][0], section) != 0)
		i++;
	sbuf_append(&line, view_from(titles[i][1]));
	if (report_time != 0) {
		sbuf_append(&line, VIEW(", as of the report of "));
		words_instant(&line, report_time, output->now);
		sbuf_append(&line, view_from(titles[i][2]));
	} else {
		sbuf_append(&line, VIEW(", without a report of the node's agent"));
	}
	sbuf_append_char(&line, ':');
	sbuf_append_char(&output->body, '\n');
	write_text(output, sbuf_view(&line), 0, 0);
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
		write_statement(output, s);
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
	json_output_instant(out, "since", reason->since);
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
