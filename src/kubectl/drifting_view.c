/* SPDX-License-Identifier: Apache-2.0 */

/* Three long texts do not fit side by side: a table has them one behind the other, -o wide apart. */

#include "kubectl/drifting_view.h"

#include <inttypes.h>

#include "kubectl/fleet_view.h"
#include "kubectl/footnotes.h"
#include "kubectl/json_output.h"
#include "kubectl/output.h"
#include "kubectl/text_table.h"
#include "kubectl/words.h"
#include "wire/jout.h"

#define IF_NARROW OUTPUT_IF_MANY

struct line {
	const struct drifting_row *row;
	const struct output *output;
};

static const struct attribution_drift *drift_of(const void *row)
{
	return ((const struct line *)row)->row->drift;
}

static void write_node(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	sbuf_append(cell, words_known(line->row->devices[0]->status.node_name));
}

/* What is found once a node has the number of its devices that have it. */
static void write_gpu(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	if (line->row->is_of_node)
		sbuf_printf(cell, "(node, %zu %s)", line->row->n_devices,
			    line->row->n_devices == 1 ? "GPU" : "GPUs");
	else
		output_uuid(line->output, line->row->devices[0]->uuid, cell);
}

/* The mark is for what no agent reports now. */
static void write_type(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	sbuf_append(cell, drift_of(row)->type);
	if (line->row->is_last_known)
		sbuf_append_char(cell, '*');
}

static void write_severity(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	sbuf_append(cell, line->row->is_pending ? VIEW("(pending)")
						: words_severity(drift_of(row)->severity));
}

static void write_since(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	words_age(cell, drift_of(row)->start_time, line->output->now);
}

static void write_intended(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, drift_of(row)->intended);
}

static void write_observed(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, drift_of(row)->observed);
}

static void write_message(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, drift_of(row)->message);
}

static void write_part(const char *label, struct view text, struct sbuf *cell)
{
	if (text.len > 0)
		sbuf_printf(cell, "%s%s: %.*s", cell->len > 0 ? "; " : "", label, VIEW_ARG(text));
}

static void write_all(const void *row, struct sbuf *cell)
{
	const struct attribution_drift *drift = drift_of(row);
	write_part("intended", drift->intended, cell);
	write_part("observed", drift->observed, cell);
	write_part("to do", drift->message, cell);
}

static const struct text_table_column columns[] = {
	{"NODE", 0, write_node, .cut = true},
	{"GPU", 0, write_gpu},
	{"TYPE", 0, write_type, .marked = OUTPUT_IF_NO_LEADER, .cut = true},
	{"SEVERITY", 0, write_severity},
	{"SINCE", 0, write_since},
	{"INTENDED", OUTPUT_IF_WIDE, write_intended},
	{"OBSERVED", OUTPUT_IF_WIDE, write_observed},
	{"WHAT TO DO", OUTPUT_IF_WIDE, write_message},
	{"INTENDED, OBSERVED, WHAT TO DO", IF_NARROW, write_all, .wrap = true},
	{0},
};

void drifting_view(struct output *output, const struct drifting *drifting)
{
	CLEANUP(text_table_deinit) struct text_table table;
	const bool is_wide = output->form == OUTPUT_WIDE;
	const size_t n = is_wide ? drifting->n_rows : drifting->n_drifts;
	text_table_init(&table, columns, output_flags(output) | (is_wide ? 0 : IF_NARROW),
			OUTPUT_BYTES);
	for (size_t i = 0; i < n; i++)
		text_table_add(&table, &(struct line){&drifting->rows[i], output});
	if (n > 0)
		text_table_write(&table, output, 0);
	footnotes_add_states(output, drifting->silent, drifting->n_silent);
}

void drifting_view_names(struct output *output, const struct drifting *drifting)
{
	fleet_view_names(output, drifting->drifted, drifting->n_drifted);
}

static void write_item(struct jout *out, const struct drifting_row *row)
{
	const struct attribution_drift *drift = row->drift;
	jout_object(out);
	jout_member_text(out, "type", drift->type);
	json_output_word(out, "severity", words_severity(drift->severity));
	jout_member_bool(out, "pending", row->is_pending);
	jout_member_text(out, "scope", row->is_of_node ? VIEW("Node") : VIEW("Device"));
	json_output_text(out, "node", row->devices[0]->status.node_name);
	json_output_instant(out, "since", drift->start_time);
	json_output_text(out, "intended", drift->intended);
	json_output_text(out, "observed", drift->observed);
	json_output_text(out, "whatToDo", drift->message);
	jout_member_bool(out, "lastKnown", row->is_last_known);
	jout_key(out, "gpus");
	jout_array(out);
	for (size_t i = 0; i < row->n_devices; i++)
		json_output_device(out, row->devices[i], false);
	jout_array_end(out);
	jout_object_end(out);
}

void drifting_view_json(struct output *output, const struct drifting *drifting)
{
	CLEANUP(sbuf_deinit) struct sbuf json;
	struct jout out;
	sbuf_init(&json, OUTPUT_BYTES);
	jout_init(&out, &json);
	json_output_begin(&out, output, "Drifts");
	jout_key(&out, "notKnown");
	jout_i64(&out, (int64_t)drifting->n_unknown);
	jout_key(&out, "settling");
	jout_i64(&out, (int64_t)drifting->n_settling);
	jout_key(&out, "items");
	jout_array(&out);
	for (size_t i = 0; i < drifting->n_rows; i++)
		write_item(&out, &drifting->rows[i]);
	jout_array_end(&out);
	jout_object_end(&out);
	json_output_end(output, &json);
}
