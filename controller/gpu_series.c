/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/gpu_series.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/utf8.h"

static struct view key_of(const struct table_node *node)
{
	const struct gpu_series *series = CONTAINER_OF(node, struct gpu_series, link);

	return (struct view){series->key, series->key_len};
}

int gpu_series_init(struct gpu_series_set *set, size_t max_series, struct error *err)
{
	assert(max_series > 0);
	*set = (struct gpu_series_set){.max_series = max_series};
	table_init(&set->table, key_of);
	list_init(&set->unused);
	set->places = calloc(max_series, sizeof(set->places[0]));
	return set->places ? 0 : error_no_memory(err);
}

void gpu_series_deinit(struct gpu_series_set *set)
{
	for (size_t i = 0; i < set->n_places; i++)
		free(set->places[i]);
	free(set->places);
	table_deinit(&set->table);
}

/* The one that has been without a tenant for longest; NULL: all have some. */
static struct gpu_series *drop_oldest(struct gpu_series_set *set)
{
	struct list *link = list_first(&set->unused);
	struct gpu_series *oldest = link ? CONTAINER_OF(link, struct gpu_series, unused) : NULL;

	if (!oldest)
		return NULL;
	list_remove(&oldest->unused);
	table_remove(&set->table, &oldest->link);
	set->dropped++;
	return oldest;
}

/* NULL and no error: there is no room. */
static struct gpu_series *add_series(struct gpu_series_set *set, struct view key, size_t namespace_len,
				 int mode, struct error *err)
{
	struct gpu_series *series = calloc(1, sizeof(*series) + key.len), *oldest = NULL;
	int failed;

	if (!series || table_reserve(&set->table, err) < 0) {
		free(series);
		error_no_memory(err);
		return NULL;
	}
	if (set->n_places == set->max_series && !(oldest = drop_oldest(set))) {
		free(series);
		return NULL;
	}
	series->place = oldest ? oldest->place : set->n_places++;
	free(oldest);
	series->mode = mode;
	series->namespace_len = namespace_len;
	series->key_len = key.len;
	memcpy(series->key, key.ptr, key.len);
	list_init(&series->unused);
	set->places[series->place] = series;
	failed = table_add(&set->table, &series->link, err);
	assert(!failed); /* there is room for it */
	(void)failed;
	return series;
}

int gpu_series_join(struct gpu_series_set *set, struct view namespace, struct view model, int mode,
		    struct gpu_series **ret_series, struct error *err)
{
	char key[2 + LIMIT_TEXT_LABEL + LIMIT_TEXT_MODEL];
	struct table_node *found;
	struct gpu_series *series;

	namespace = utf8_truncate(namespace, LIMIT_TEXT_LABEL);
	model = utf8_truncate(model, LIMIT_TEXT_MODEL);
	const struct view whole = {key, 2 + namespace.len + model.len};
	key[0] = (char)mode;
	view_copy(namespace, key + 1);
	key[1 + namespace.len] = '\0';
	view_copy(model, key + 2 + namespace.len);
	found = table_find(&set->table, whole);
	err->kind = ERROR_NONE;
	series = found ? CONTAINER_OF(found, struct gpu_series, link)
		       : add_series(set, whole, namespace.len, mode, err);
	*ret_series = series;
	if (!series)
		return err->kind == ERROR_NONE ? 0 : -1;
	list_remove(&series->unused);
	series->n_tenants++;
	return 0;
}

void gpu_series_leave(struct gpu_series_set *set, struct gpu_series *series)
{
	if (series && --series->n_tenants == 0)
		list_append(&set->unused, &series->unused);
}

void gpu_series_run(struct gpu_series_line *line, double slots, double from)
{
	line->rate += slots;
	line->base -= slots * from;
}

void gpu_series_settle(struct gpu_series_line *line, double slots, double ms)
{
	line->base += slots * ms;
}

void gpu_series_halt(struct gpu_series_line *line)
{
	*line = (struct gpu_series_line){.base = (double)line->shown, .shown = line->shown};
}

uint64_t gpu_series_read(struct gpu_series_line *line, double now)
{
	const double value = line->base + line->rate * now + 0.5;

	if (value > (double)line->shown && value < 1e18)
		line->shown = (uint64_t)value;
	return line->shown;
}

struct view gpu_series_namespace(const struct gpu_series *series)
{
	return (struct view){series->key + 1, series->namespace_len};
}

struct view gpu_series_model(const struct gpu_series *series)
{
	const size_t at = 2 + series->namespace_len;

	return (struct view){series->key + at, series->key_len - at};
}
