/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What a dcgm-exporter answers: its text (wire/promtext.h), and the figures that are made of it.
 *
 * The first byte says how long the pieces are: however a text is cut, the same comes out. What comes
 * out is written down and read again, which must give the same. Each row of the two metrics is taken
 * or counted once, and the largest one that is taken is the figure.
 */

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/dcgm_figures.h"

#define MAX_LINE 512u

/* The devices that NVML lists here. */
static struct report_partition partitions[] = {
	{.gpu_instance_id = 7},
	{.gpu_instance_id = 9, .compute_instance_id = 0},
	{.gpu_instance_id = 9, .compute_instance_id = 1},
};
static struct report_device devices[] = {
	{.uuid = VIEW_INIT("GPU-11ba558d-3437-2335-2fd8-a78c8502f87f"),
	 .partitions = {partitions, ARRAY_SIZE(partitions), true}},
	{.uuid = VIEW_INIT("GPU-22ba558d-3437-2335-2fd8-a78c8502f87f")},
};
static const struct {
	size_t device;
	int64_t gpu_instance_id;
} subjects[] = {{0, -1}, {0, 7}, {0, 9}, {1, -1}};
#define N_SUBJECTS ARRAY_SIZE(subjects)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_value(struct view value, struct sbuf *out)
{
	for (size_t i = 0; i < value.len; i++) {
		char c = value.ptr[i];
		if (c == '\\' || c == '"' || c == '\n')
			sbuf_append_char(out, '\\');
		sbuf_append_char(out, c == '\n' ? 'n' : c);
	}
}

static void write_sample(const struct promtext_sample *sample, struct sbuf *out)
{
	assert(sample->name.len > 0 && sample->n_labels <= LIMIT_PROMTEXT_LABELS);
	sbuf_append(out, sample->name);
	sbuf_append_char(out, '{');
	for (size_t i = 0; i < sample->n_labels; i++) {
		const struct promtext_label *label = &sample->labels[i];
		/* The first of a name is found: no name stands twice. */
		assert(promtext_label(sample, label->name).ptr == label->value.ptr);
		sbuf_append(out, label->name);
		sbuf_append(out, VIEW("=\""));
		write_value(label->value, out);
		sbuf_append(out, VIEW("\","));
	}
	sbuf_append(out, VIEW("} "));
	if (isfinite(sample->value))
		sbuf_printf(out, "%.17g\n", sample->value);
	else
		sbuf_append(out, isnan(sample->value) ? VIEW("NaN\n")
				 : sample->value > 0  ? VIEW("+Inf\n")
						      : VIEW("-Inf\n"));
}

static bool is_same(double a, double b)
{
	return a >= b && a <= b;
}

/* The figures of that one; -1 where there is none. */
static void read_figures(const struct dcgm_figures *figures, size_t subject, double ret[static 2])
{
	const struct dcgm_figure *figure =
		dcgm_figures_find(figures, devices[subjects[subject].device].uuid,
				  subjects[subject].gpu_instance_id);
	ret[0] = figure ? figure->engine_active : -1;
	ret[1] = figure ? figure->utilization : -1;
	assert(is_same(ret[0], -1) || (ret[0] >= 0 && ret[0] <= 1));
	assert(is_same(ret[1], -1) || (ret[1] >= 0 && ret[1] <= 100));
}

static uint32_t count_refused(const struct dcgm_figures *figures)
{
	return figures->n_foreign + figures->n_blank + figures->n_rubbish;
}

/* True when the row is of that one, by what its labels are as texts. */
static bool is_of(const struct promtext_sample *sample, size_t subject)
{
	char number[32] = "";
	if (subjects[subject].gpu_instance_id >= 0)
		snprintf(number, sizeof(number), "%d", (int)subjects[subject].gpu_instance_id);
	return view_equal(promtext_label(sample, VIEW("UUID")),
			  devices[subjects[subject].device].uuid) &&
	       view_equal(promtext_label(sample, VIEW("GPU_I_ID")), view_from(number));
}

/* The row changes one figure at most, and that one to its own value. */
static void judge(const struct promtext_sample *sample, int metric, double before[][2],
		  double after[][2], uint32_t n_refused)
{
	const double greatest = metric == 0 ? 1 : 100;
	unsigned n_changed = 0;
	for (size_t i = 0; i < N_SUBJECTS; i++)
		for (int of = 0; of < 2; of++) {
			if (is_same(before[i][of], after[i][of]))
				continue;
			n_changed++;
			assert(of == metric && after[i][of] > before[i][of]);
			assert(is_same(after[i][of], sample->value));
		}
	assert(n_changed <= 1 && n_refused <= (metric >= 0) && !(n_changed && n_refused));
	for (size_t i = 0; metric >= 0 && i < N_SUBJECTS; i++)
		if (is_of(sample, i) && sample->value >= 0 && sample->value <= greatest)
			assert(n_refused == 0 && after[i][metric] >= sample->value);
		else if (is_of(sample, i))
			assert(n_refused == 1);
}

static void add(struct dcgm_figures *figures, const struct promtext_sample *sample)
{
	static const struct array listed = {devices, ARRAY_SIZE(devices), true};
	double before[N_SUBJECTS][2], after[N_SUBJECTS][2];
	const uint32_t n_before = count_refused(figures);
	struct error err;
	int metric = view_equal(sample->name, VIEW("DCGM_FI_PROF_GR_ENGINE_ACTIVE")) ? 0
		     : view_equal(sample->name, VIEW("DCGM_FI_DEV_GPU_UTIL"))	     ? 1
										     : -1;
	for (size_t i = 0; i < N_SUBJECTS; i++)
		read_figures(figures, i, before[i]);
	int result = dcgm_figures_add(figures, sample, listed, &err);
	assert(result == 0); /* the limit is far beyond what is listed */
	for (size_t i = 0; i < N_SUBJECTS; i++)
		read_figures(figures, i, after[i]);
	judge(sample, metric, before, after, count_refused(figures) - n_before);
}

static void compare_figures(const struct dcgm_figures *a, const struct dcgm_figures *b)
{
	assert(a->n == b->n && a->n <= N_SUBJECTS);
	for (size_t i = 0; i < N_SUBJECTS; i++) {
		double of_a[2], of_b[2];
		read_figures(a, i, of_a);
		read_figures(b, i, of_b);
		assert(is_same(of_a[0], of_b[0]) && is_same(of_a[1], of_b[1]));
	}
	assert(a->n_foreign == b->n_foreign && a->n_blank == b->n_blank &&
	       a->n_rubbish == b->n_rubbish);
	assert(view_equal(view_from(a->hostname), view_from(b->hostname)));
}

/* Reads pieces of this size. True if the text is good to its end. */
static bool trace(struct view bytes, size_t piece, size_t max_line, struct sbuf *out,
		  struct dcgm_figures *figures)
{
	CLEANUP(promtext_deinit) struct promtext text;
	struct error err;
	enum promtext_step step = PROMTEXT_MORE;
	promtext_init(&text, max_line);
	while (bytes.len > 0 && step == PROMTEXT_MORE) {
		size_t n = piece < bytes.len ? piece : bytes.len;
		/* Of just that size, so that a sanitizer sees a step beyond it. */
		char *copy = malloc(n);
		assert(copy);
		for (size_t i = 0; i < n; i++)
			copy[i] = bytes.ptr[i];
		struct view input = {copy, n};
		struct promtext_sample sample;
		while ((step = promtext_next(&text, &input, &sample, &err)) == PROMTEXT_SAMPLE) {
			write_sample(&sample, out);
			add(figures, &sample);
		}
		free(copy);
		bytes = view_from_offset(bytes, n);
	}
	return step == PROMTEXT_MORE && promtext_end(&text, &err) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	CLEANUP(sbuf_deinit) struct sbuf whole;
	CLEANUP(sbuf_deinit) struct sbuf pieces;
	CLEANUP(sbuf_deinit) struct sbuf again;
	CLEANUP(dcgm_figures_deinit) struct dcgm_figures of_whole = {0};
	CLEANUP(dcgm_figures_deinit) struct dcgm_figures of_pieces = {0};
	CLEANUP(dcgm_figures_deinit) struct dcgm_figures of_again = {0};
	struct view bytes = {(const char *)data + 1, size - 1};
	sbuf_init(&whole, 1u << 26);
	sbuf_init(&pieces, 1u << 26);
	sbuf_init(&again, 1u << 26);
	bool is_good = trace(bytes, bytes.len, MAX_LINE, &whole, &of_whole);
	bool is_good_in_pieces = trace(bytes, 1u + data[0], MAX_LINE, &pieces, &of_pieces);
	assert(is_good_in_pieces == is_good);
	assert(view_equal(sbuf_view(&whole), sbuf_view(&pieces)));
	compare_figures(&of_whole, &of_pieces);
	/* Numbers and escapes may be longer than they were. */
	is_good = trace(sbuf_view(&whole), whole.len + 1, 32 * MAX_LINE, &again, &of_again);
	assert(is_good);
	assert(view_equal(sbuf_view(&whole), sbuf_view(&again)));
	compare_figures(&of_whole, &of_again);
	return 0;
}
