/* SPDX-License-Identifier: Apache-2.0 */

/*
 * One block of 64-bit cells: a counter has one per label set (an integer), a gauge or real counter one
 * (a double's bits), a histogram one per bucket, one for +Inf, and one for the sum (a double's bits). Where the
 * cells of a row begin is worked out once. Histogram buckets are counted apart and summed up when
 * written, so that an observation touches two cells.
 */

#include "base/metric.h"

#include <assert.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct metric_registry {
	const struct metric_row *rows;
	size_t n_rows;
	size_t *first; /* n_rows: the row's first cell */
	_Atomic uint64_t cells[];
};

static bool is_counter(const struct metric_row *row)
{
	return row->type == METRIC_COUNTER || row->type == METRIC_COUNTER_REAL;
}

/* One double, set as a whole. */
static bool is_real(const struct metric_row *row)
{
	return row->type == METRIC_GAUGE || row->type == METRIC_COUNTER_REAL;
}

static size_t count_labels(const struct metric_row *row)
{
	size_t n = 0;
	while (row->labels && row->labels[n])
		n++;
	return n ? n : 1;
}

static size_t count_buckets(const struct metric_row *row)
{
	size_t n = 0;
	while (row->buckets && row->buckets[n] > 0)
		n++;
	return n;
}

/* Cells of one series of a row. */
static size_t cells_per_series(const struct metric_row *row)
{
	return row->type == METRIC_HISTOGRAM ? count_buckets(row) + 2 : 1;
}

/* Mistakes in a table show up when the program starts. */
static void check_row(const struct metric_row *row)
{
	struct view name = view_from(row->name);
	struct view unit = view_from(row->unit);
	assert(name.len > 0 && row->help[0] != '\0');
	assert(!view_ends_with(name, VIEW("_total")));
	assert(unit.len == 0 || (view_ends_with(name, unit) && name.len > unit.len &&
				 name.ptr[name.len - unit.len - 1] == '_'));
	assert((row->type == METRIC_HISTOGRAM) == (count_buckets(row) > 0));
	for (size_t i = 1; i < count_buckets(row); i++)
		assert(row->buckets[i - 1] < row->buckets[i]);
}

int metric_registry_new(const struct metric_row *rows, size_t n_rows,
			struct metric_registry **ret_registry, struct error *err)
{
	size_t n_cells = 0;
	for (size_t i = 0; i < n_rows; i++) {
		check_row(&rows[i]);
		n_cells += count_labels(&rows[i]) * cells_per_series(&rows[i]);
	}
	CLEANUP(metric_registry_freep) struct metric_registry *registry =
		calloc(1, sizeof(*registry) + n_cells * sizeof(registry->cells[0]));
	if (!registry)
		return error_no_memory(err);
	registry->rows = rows;
	registry->n_rows = n_rows;
	registry->first = calloc(n_rows ? n_rows : 1, sizeof(registry->first[0]));
	if (!registry->first)
		return error_no_memory(err);
	for (size_t i = 1; i < n_rows; i++)
		registry->first[i] = registry->first[i - 1] +
				     count_labels(&rows[i - 1]) * cells_per_series(&rows[i - 1]);
	*ret_registry = TAKE(registry);
	return 0;
}

void metric_registry_free(struct metric_registry *registry)
{
	if (!registry)
		return;
	free(registry->first);
	free(registry);
}

void metric_registry_freep(struct metric_registry **registry)
{
	metric_registry_free(*registry);
}

/* The index of the first cell of a series. */
static size_t series(const struct metric_registry *registry, size_t id, size_t label)
{
	assert(id < registry->n_rows);
	const struct metric_row *row = &registry->rows[id];
	assert(label < count_labels(row));
	return registry->first[id] + label * cells_per_series(row);
}

static uint64_t load(const struct metric_registry *registry, size_t cell)
{
	return atomic_load_explicit(&registry->cells[cell], memory_order_relaxed);
}

static uint64_t bits_of(double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static double double_of(uint64_t bits)
{
	double value;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

void metric_add(struct metric_registry *registry, size_t id, size_t label, uint64_t n)
{
	size_t cell = series(registry, id, label);
	assert(registry->rows[id].type == METRIC_COUNTER);
	atomic_fetch_add_explicit(&registry->cells[cell], n, memory_order_relaxed);
}

void metric_set_total(struct metric_registry *registry, size_t id, size_t label, uint64_t total)
{
	size_t cell = series(registry, id, label);
	assert(registry->rows[id].type == METRIC_COUNTER);
	atomic_store_explicit(&registry->cells[cell], total, memory_order_relaxed);
}

void metric_increment(struct metric_registry *registry, size_t id, size_t label)
{
	metric_add(registry, id, label, 1);
}

void metric_set(struct metric_registry *registry, size_t id, size_t label, double value)
{
	size_t cell = series(registry, id, label);
	assert(is_real(&registry->rows[id]));
	atomic_store_explicit(&registry->cells[cell], bits_of(value), memory_order_relaxed);
}

static void add_to_sum(_Atomic uint64_t *cell, double value)
{
	uint64_t old = atomic_load_explicit(cell, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(cell, &old, bits_of(double_of(old) + value),
						      memory_order_relaxed, memory_order_relaxed))
		;
}

void metric_observe(struct metric_registry *registry, size_t id, size_t label, double value)
{
	size_t cell = series(registry, id, label);
	const struct metric_row *row = &registry->rows[id];
	size_t n_buckets = count_buckets(row);
	assert(row->type == METRIC_HISTOGRAM);
	size_t bucket = 0;
	while (bucket < n_buckets && !(value <= row->buckets[bucket]))
		bucket++;
	atomic_fetch_add_explicit(&registry->cells[cell + bucket], 1, memory_order_relaxed);
	add_to_sum(&registry->cells[cell + n_buckets + 1], value);
}

double metric_value(const struct metric_registry *registry, size_t id, size_t label)
{
	size_t cell = series(registry, id, label);
	const struct metric_row *row = &registry->rows[id];
	if (is_real(row))
		return double_of(load(registry, cell));
	uint64_t count = 0;
	for (size_t i = 0; i < (row->type == METRIC_COUNTER ? 1 : count_buckets(row) + 1); i++)
		count += load(registry, cell + i);
	return (double)count;
}

/* The shortest of the usual forms that reads back as the same number. */
static void write_number(struct sbuf *buf, double value)
{
	if (isnan(value) || isinf(value)) {
		sbuf_append(buf, isnan(value) ? VIEW("NaN") : value > 0 ? VIEW("+Inf") : VIEW("-Inf"));
		return;
	}
	char text[40];
	for (int digits = 6; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (!(strtod(text, NULL) < value) && !(strtod(text, NULL) > value))
			break;
	}
	sbuf_append(buf, view_from(text));
}

/* "{a="b",le="0.5"}"; nothing where there is neither. */
static void write_labels(struct sbuf *buf, const char *labels, const char *bound)
{
	if (!labels && !bound)
		return;
	sbuf_printf(buf, "{%s%s", labels ? labels : "", labels && bound ? "," : "");
	if (bound)
		sbuf_printf(buf, "le=\"%s\"", bound);
	sbuf_append_char(buf, '}');
}

static void write_count(struct sbuf *buf, const char *name, const char *suffix, const char *labels,
			uint64_t value)
{
	sbuf_printf(buf, "%s%s", name, suffix);
	write_labels(buf, labels, NULL);
	sbuf_printf(buf, " %llu\n", (unsigned long long)value);
}

static void write_double(struct sbuf *buf, const char *name, const char *suffix, const char *labels,
			 double value)
{
	sbuf_printf(buf, "%s%s", name, suffix);
	write_labels(buf, labels, NULL);
	sbuf_append_char(buf, ' ');
	write_number(buf, value);
	sbuf_append_char(buf, '\n');
}

/* OpenMetrics wants bounds as floats: "1.0", not "1". */
static void format_bound(double bound, char to[static 32])
{
	int len = snprintf(to, 32, "%g", bound);
	if (!strpbrk(to, ".e"))
		snprintf(to + len, 32 - (size_t)len, ".0");
}

static void write_histogram(struct sbuf *buf, const struct metric_registry *registry, size_t cell,
			    const struct metric_row *row, const char *labels)
{
	size_t n_buckets = count_buckets(row);
	uint64_t count = 0;
	for (size_t i = 0; i <= n_buckets; i++) {
		char bound[32] = "+Inf";
		if (i < n_buckets)
			format_bound(row->buckets[i], bound);
		count += load(registry, cell + i);
		sbuf_printf(buf, "%s_bucket", row->name);
		write_labels(buf, labels, bound);
		sbuf_printf(buf, " %llu\n", (unsigned long long)count);
	}
	write_count(buf, row->name, "_count", labels, count);
	write_double(buf, row->name, "_sum", labels, double_of(load(registry, cell + n_buckets + 1)));
}

static const char *const type_names[] = {
	[METRIC_COUNTER] = "counter",
	[METRIC_COUNTER_REAL] = "counter",
	[METRIC_GAUGE] = "gauge",
	[METRIC_HISTOGRAM] = "histogram",
};

static void write_row(struct sbuf *buf, const struct metric_registry *registry, size_t id)
{
	const struct metric_row *row = &registry->rows[id];
	sbuf_printf(buf, "# TYPE %s %s\n", row->name, type_names[row->type]);
	if (row->unit[0])
		sbuf_printf(buf, "# UNIT %s %s\n", row->name, row->unit);
	sbuf_printf(buf, "# HELP %s %s\n", row->name, row->help);
	for (size_t i = 0; i < count_labels(row); i++) {
		const char *labels = row->labels ? row->labels[i] : NULL;
		size_t cell = series(registry, id, i);
		if (row->type == METRIC_COUNTER)
			write_count(buf, row->name, "_total", labels, load(registry, cell));
		else if (is_real(row))
			write_double(buf, row->name, row->type == METRIC_GAUGE ? "" : "_total", labels,
				     double_of(load(registry, cell)));
		else
			write_histogram(buf, registry, cell, row, labels);
	}
}

void metric_render(const struct metric_registry *registry, struct sbuf *buf)
{
	for (size_t id = 0; id < registry->n_rows; id++)
		write_row(buf, registry, id);
	sbuf_append(buf, VIEW("# EOF\n"));
}

void metric_render_markdown(const struct metric_row *rows, size_t n_rows, struct sbuf *buf)
{
	sbuf_append(buf, VIEW("| metric | type | meaning |\n|---|---|---|\n"));
	for (size_t i = 0; i < n_rows; i++)
		sbuf_printf(buf, "| `%s%s` | %s | %s |\n", rows[i].name,
			    is_counter(&rows[i]) ? "_total" : "", type_names[rows[i].type],
			    rows[i].help);
}
