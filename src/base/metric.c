/* SPDX-License-Identifier: Apache-2.0 */

/*
 * One block of 64-bit cells, one for each label set: an integer of a counter, the bits of a double
 * of a gauge or real counter. A histogram has one for each bound and, at last, one for the sum. Where
 * the cells of a row begin is worked out once.
 *
 * How many values a histogram has counted is added up from its buckets. So a rendering in the midst of
 * updates never shows a bucket with more than all.
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

/* One double, set as a whole. */
static bool is_real(const struct metric_row *row)
{
	return row->type == METRIC_GAUGE || row->type == METRIC_COUNTER_REAL;
}

/* Cells of one series. */
static size_t width(const struct metric_row *row)
{
	return row->type == METRIC_HISTOGRAM ? histogram_size(row->buckets) + 1 : 1;
}

static size_t count_labels(const struct metric_row *row)
{
	size_t n = 0;
	while (row->labels && row->labels[n])
		n++;
	return n ? n : 1;
}

static size_t count_cells(const struct metric_row *row)
{
	return count_labels(row) * width(row);
}

/* Mistakes in a table show up when the program starts. */
static void check_row(const struct metric_row *row)
{
	struct view name = view_from(row->name);
	struct view unit = view_from(row->unit);
	assert(name.len > 0 && row->help[0] != '\0');
	assert(!view_ends_with(name, VIEW("_total")) && !view_ends_with(name, VIEW("_info")));
	assert((row->type == METRIC_HISTOGRAM) == (row->buckets != NULL));
	assert(unit.len == 0 || (view_ends_with(name, unit) && name.len > unit.len &&
				 name.ptr[name.len - unit.len - 1] == '_'));
}

int metric_registry_new(const struct metric_row *rows, size_t n_rows,
			struct metric_registry **ret_registry, struct error *err)
{
	size_t n_cells = 0;
	for (size_t i = 0; i < n_rows; i++) {
		check_row(&rows[i]);
		n_cells += count_cells(&rows[i]);
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
		registry->first[i] = registry->first[i - 1] + count_cells(&rows[i - 1]);
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
	assert(label < count_labels(&registry->rows[id]));
	return registry->first[id] + label * width(&registry->rows[id]);
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

static void store(struct metric_registry *registry, size_t cell, uint64_t value)
{
	atomic_store_explicit(&registry->cells[cell], value, memory_order_relaxed);
}

static void add_real(struct metric_registry *registry, size_t cell, double value)
{
	uint64_t before = load(registry, cell);
	while (!atomic_compare_exchange_weak_explicit(&registry->cells[cell], &before,
						      bits_of(double_of(before) + value),
						      memory_order_relaxed, memory_order_relaxed))
		;
}

void metric_observe(struct metric_registry *registry, size_t id, size_t label, double value)
{
	const struct metric_row *row = &registry->rows[id];
	size_t first = series(registry, id, label);
	assert(row->type == METRIC_HISTOGRAM);
	size_t cell = first + histogram_place(row->buckets, value);
	atomic_fetch_add_explicit(&registry->cells[cell], 1, memory_order_relaxed);
	add_real(registry, first + width(row) - 1, value);
}

void metric_set_histogram(struct metric_registry *registry, size_t id, size_t label,
			  const struct histogram *histogram)
{
	const struct metric_row *row = &registry->rows[id];
	size_t first = series(registry, id, label), size = width(row) - 1;
	assert(row->type == METRIC_HISTOGRAM && row->buckets == histogram->bounds);
	for (size_t i = 0; i < size; i++)
		store(registry, first + i, histogram->counts[i]);
	store(registry, first + size, bits_of(histogram->sum));
}

static uint64_t count_values(const struct metric_registry *registry, size_t id, size_t first)
{
	uint64_t n = 0;
	for (size_t i = 0; i + 1 < width(&registry->rows[id]); i++)
		n += load(registry, first + i);
	return n;
}

double metric_value(const struct metric_registry *registry, size_t id, size_t label)
{
	size_t first = series(registry, id, label);
	uint64_t cell = load(registry, first);

	if (registry->rows[id].type == METRIC_HISTOGRAM)
		return (double)count_values(registry, id, first);
	return is_real(&registry->rows[id]) ? double_of(cell) : (double)cell;
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

static const struct {
	const char *name;
	const char *suffix; /* of its samples */
} types[] = {
	[METRIC_COUNTER] = {"counter", "_total"},
	[METRIC_COUNTER_REAL] = {"counter", "_total"},
	[METRIC_GAUGE] = {"gauge", ""},
	[METRIC_HISTOGRAM] = {"histogram", ""},
	[METRIC_INFO] = {"info", "_info"},
};

/* A bound of 1 is written as 1.0, that of everything as +Inf. */
static void write_bound(struct sbuf *buf, double bound)
{
	write_number(buf, bound);
	if (!isinf(bound) && !(floor(bound) < bound))
		sbuf_append(buf, VIEW(".0"));
}

static void write_histogram(struct sbuf *buf, const struct metric_registry *registry,
			    const struct metric_row *row, const char *labels, size_t first)
{
	size_t size = width(row) - 1;
	uint64_t n = 0;
	const char *own = labels ? labels : "";
	for (size_t i = 0; i < size; i++) {
		n += load(registry, first + i);
		sbuf_printf(buf, "%s_bucket{%s%sle=\"", row->name, own, labels ? "," : "");
		write_bound(buf, row->buckets[i]);
		sbuf_printf(buf, "\"} %llu\n", (unsigned long long)n);
	}
	const char *open = labels ? "{" : "", *close = labels ? "}" : "";
	sbuf_printf(buf, "%s_count%s%s%s %llu\n", row->name, open, own, close,
		    (unsigned long long)n);
	sbuf_printf(buf, "%s_sum%s%s%s ", row->name, open, own, close);
	write_number(buf, double_of(load(registry, first + size)));
	sbuf_append_char(buf, '\n');
}

static void write_series(struct sbuf *buf, const struct metric_row *row, const char *labels,
			 uint64_t cell)
{
	sbuf_printf(buf, "%s%s", row->name, types[row->type].suffix);
	if (labels)
		sbuf_printf(buf, "{%s}", labels);
	sbuf_append_char(buf, ' ');
	if (row->type == METRIC_INFO)
		sbuf_append_char(buf, '1');
	else if (is_real(row))
		write_number(buf, double_of(cell));
	else
		sbuf_printf(buf, "%llu", (unsigned long long)cell);
	sbuf_append_char(buf, '\n');
}

static void write_row(struct sbuf *buf, const struct metric_registry *registry, size_t id)
{
	const struct metric_row *row = &registry->rows[id];
	sbuf_printf(buf, "# TYPE %s %s\n", row->name, types[row->type].name);
	if (row->unit[0])
		sbuf_printf(buf, "# UNIT %s %s\n", row->name, row->unit);
	sbuf_printf(buf, "# HELP %s %s\n", row->name, row->help);
	for (size_t i = 0; i < count_labels(row); i++) {
		const char *labels = row->labels ? row->labels[i] : NULL;
		size_t first = series(registry, id, i);
		if (row->type == METRIC_HISTOGRAM)
			write_histogram(buf, registry, row, labels, first);
		else
			write_series(buf, row, labels, load(registry, first));
	}
}

void metric_render(const struct metric_registry *registry, struct sbuf *buf)
{
	for (size_t id = 0; id < registry->n_rows; id++)
		write_row(buf, registry, id);
	sbuf_append(buf, VIEW("# EOF\n"));
}
