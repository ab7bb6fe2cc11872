/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The first slice copies the names of all objects, for objects come and go between slices. Each step
 * after it writes one device, and its node if that was not written yet, or one namespace's series.
 */

#include "controller/exposition.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/table.h"
#include "controller/exposition_device.h"
#include "controller/gpu_time.h"
#include "schema/attribution_doc.h"

#define SLICE_MS 2u
#define NAMES_CAP (64u * LIMIT_MIB)

/* A node that has been written. */
struct written_node {
	struct table_node link; /* by name */
	struct view name;
};

enum stage {
	STAGE_NONE, /* nobody asks */
	STAGE_NAMES,
	STAGE_DEVICES,
	STAGE_NAMESPACES,
};

#define NO_TERM (-1)

struct exposition {
	struct exposition_config config;
	struct gpu_time *gpu_time;
	struct xid_counts *xids;
	struct loop_timer *timer;
	enum stage stage;
	struct exposition_text *text;
	struct exposition_lines lines;
	struct arena arena; /* of the names and nodes */
	struct view *names;
	size_t n_names;
	size_t at; /* the next name, or the next place of a series */
	struct table nodes; /* struct written_node */
	size_t n_tenants;
	bool has_led;  /* when we looked last */
	int64_t term;  /* in which this replica led last; NO_TERM: it never did */
	bool is_shown; /* else the text has no series */
};

/* Counting */

static struct gpu_time_now now(const struct exposition *exposition)
{
	return (struct gpu_time_now){loop_now_ms(exposition->config.loop), clock_wall_ms()};
}

static void changed(void *owner, const struct attribution *before, const struct attribution *object)
{
	struct exposition *exposition = owner;
	struct error error = {0};

	if (!object) {
		gpu_time_forget(exposition->gpu_time, before->name, now(exposition));
		return;
	}
	if (gpu_time_publish(exposition->gpu_time, object, now(exposition), &error) < 0)
		LOG_ERROR("GPU time of a device could not be counted",
			  LOG_TEXT("object", object->name), LOG_ERROR_FIELD(&error));
	if (xid_counts_publish(exposition->xids, before, object, &error) < 0)
		LOG_ERROR("XID errors of a device could not be counted",
			  LOG_TEXT("object", object->name), LOG_ERROR_FIELD(&error));
}

void exposition_leader_changed(struct exposition *exposition)
{
	const bool leads = !exposition->config.leads ||
			   exposition->config.leads(exposition->config.owner);
	int64_t term = exposition->term;

	if (leads && !exposition->has_led) {
		term = exposition->config.term(exposition->config.owner);
		if (term != exposition->term)
			gpu_time_resume(exposition->gpu_time, now(exposition));
	}
	if (!leads && exposition->has_led)
		gpu_time_pause(exposition->gpu_time, now(exposition));
	exposition->has_led = leads;
	exposition->term = term;
}

/* Writing */

static struct view node_key(const struct table_node *node)
{
	return CONTAINER_OF(node, struct written_node, link)->name;
}

static int begin(struct exposition *exposition, struct error *err)
{
	if (exposition_text_new(EXPOSITION_LINES_N, &exposition->text, err) < 0)
		return -1;
	exposition_lines_init(&exposition->lines, exposition->text);
	exposition_lines_describe(&exposition->lines);
	arena_init(&exposition->arena, NAMES_CAP);
	table_init(&exposition->nodes, node_key);
	exposition->n_names = 0;
	exposition->n_tenants = 0;
	exposition->at = 0;
	exposition_leader_changed(exposition);
	exposition->is_shown = exposition->has_led;
	return 0;
}

static int copy_names(struct exposition *exposition, struct error *err)
{
	const struct inventory *inventory = exposition->config.inventory;
	const struct attribution *object = NULL;

	exposition->names = arena_alloc(&exposition->arena,
					inventory_count(inventory, INVENTORY_ATTRIBUTIONS),
					sizeof(*exposition->names));
	if (!exposition->names)
		return error_no_memory(err);
	while ((object = inventory_next_attribution(inventory, object)))
		if (!arena_copy(&exposition->arena, object->name,
				&exposition->names[exposition->n_names++]))
			return error_no_memory(err);
	return 0;
}

/* Frees all that a text was written with, but the text. */
static void end(struct exposition *exposition)
{
	exposition_lines_deinit(&exposition->lines);
	table_deinit(&exposition->nodes);
	arena_deinit(&exposition->arena);
	exposition->stage = STAGE_NONE;
}

static void fail(struct exposition *exposition, const struct error *error)
{
	LOG_WARN("Metrics of devices could not be written", LOG_ERROR_FIELD(error));
	end(exposition);
	exposition_text_unref(TAKE(exposition->text));
	exposition->config.done(exposition->config.owner, NULL, error->kind);
}

/* Of a node that was heard of by an earlier controller only: it has been silent for as long at least. */
static bool find_age(const struct exposition *exposition, const struct attribution_status *status,
		     const struct node_state *node_state, uint64_t *ret_ms)
{
	const uint64_t now_ms = loop_now_ms(exposition->config.loop);
	uint64_t heard_at;

	if (node_state && node_state->report)
		heard_at = node_state->report_at;
	else if (status->report.boot_id.len > 0)
		heard_at = inventory_parts(exposition->config.inventory).started_at;
	else
		return false;
	*ret_ms = now_ms > heard_at ? now_ms - heard_at : 0;
	return true;
}

static int write_node(struct exposition *exposition, const struct attribution_status *status,
		      bool is_known, uint64_t age_ms, struct error *err)
{
	struct written_node *node;

	if (!is_known || table_find(&exposition->nodes, status->node_name))
		return 0;
	node = arena_alloc(&exposition->arena, 1, sizeof(*node));
	if (!node || !arena_copy(&exposition->arena, status->node_name, &node->name))
		return error_no_memory(err);
	if (table_add(&exposition->nodes, &node->link, err) < 0)
		return -1;
	exposition_lines_begin(&exposition->lines, EXPOSITION_LINES_REPORT_AGE);
	exposition_lines_label(&exposition->lines, VIEW("node"), status->node_name);
	exposition_lines_end_milli(&exposition->lines, age_ms);
	return 0;
}

/* A device of a report, as its last heartbeat has it. */
struct reported {
	struct report_device device;
	struct report_partition partitions[LIMIT_REPORT_PARTITIONS];
};

static bool find_reported(const struct node_state *node_state, struct view uuid,
			  struct reported *ret)
{
	const struct array devices = node_state->report->devices;
	uint32_t n = 0;

	while (n < devices.count &&
	       !view_equal(ARRAY_AT(devices, struct report_device, n)->uuid, uuid))
		n++;
	if (n == devices.count)
		return false;
	ret->device = *ARRAY_AT(devices, struct report_device, n);
	if (node_state->figures)
		figures_apply(node_state->figures, n, &ret->device, ret->partitions);
	return true;
}

/* While NVML fails the report has the last figures that were read. */
static bool has_young_figures(const struct exposition *exposition,
			      const struct node_state *node_state)
{
	return node_state && node_state->report &&
	       node_state->report->sources.nvml.state != REPORT_SOURCE_ERROR &&
	       loop_now_ms(exposition->config.loop) - node_state->report_at <=
		       exposition->config.stale_ms;
}

/* SIZE_MAX: of all families. */
static size_t count_samples(const struct exposition *exposition, size_t family)
{
	return exposition_text_samples(exposition->text, family);
}

static int write_device(struct exposition *exposition, const struct attribution *object,
			struct error *err)
{
	const struct exposition_config *config = &exposition->config;
	const struct node_state *node_state = inventory_node_state_find(config->inventory,
									object->status.node_name);
	struct exposition_device device = {.object = object, .now_wall_ms = clock_wall_ms()};
	struct reported reported;
	uint64_t age_ms = 0;
	bool is_known = find_age(exposition, &object->status, node_state, &age_ms);

	if (config->with_devices) {
		if (has_young_figures(exposition, node_state) &&
		    find_reported(node_state, object->uuid, &reported))
			device.reported = &reported.device;
		device.xids = xid_counts_of(exposition->xids, object->name, &device.n_xids);
		device.with_tenants =
			count_samples(exposition, EXPOSITION_LINES_TENANT_INFO) +
				count_samples(exposition, EXPOSITION_LINES_TENANT_PARTITION) <
			config->max_series;
		exposition->n_tenants += exposition_device_write(&exposition->lines, &device);
	}
	return write_node(exposition, &object->status, is_known, age_ms, err);
}

static void write_namespace_family(struct exposition *exposition,
				   enum exposition_lines_family family,
				   const struct gpu_time_series *series, uint64_t ms)
{
	struct exposition_lines *lines = &exposition->lines;
	const char *mode = attribution_doc_words(ATTRIBUTION_DOC_MODES)[series->mode];

	exposition_lines_begin(lines, family);
	exposition_lines_label(lines, VIEW("namespace"), series->namespace);
	exposition_lines_label(lines, VIEW("model"), series->model);
	exposition_lines_label(lines, VIEW("mode"), view_from(mode));
	exposition_lines_end_milli(lines, ms);
}

static void write_namespace(struct exposition *exposition, size_t place)
{
	struct gpu_time_series series;

	if (!gpu_time_at(exposition->gpu_time, place, loop_now_ms(exposition->config.loop),
			 &series))
		return;
	write_namespace_family(exposition, EXPOSITION_LINES_NAMESPACE_SLOTS, &series,
			       series.held_ms);
	write_namespace_family(exposition, EXPOSITION_LINES_NAMESPACE_IDLE, &series,
			       series.idle_ms);
}

static void write_number(struct exposition *exposition, enum exposition_lines_family family,
			 uint64_t number)
{
	exposition_lines_begin(&exposition->lines, family);
	exposition_lines_end_u64(&exposition->lines, number);
}

/* Reports decide which nodes these are, so only a few are shown. */
static void write_held(struct exposition *exposition)
{
	const struct exposition_config *config = &exposition->config;
	const struct write_budget *writes = config->writes && exposition->is_shown
						    ? config->writes(config->owner)
						    : NULL;
	struct write_budget_held_node nodes[LIMIT_HELD_NODE_SERIES];
	const size_t n = writes ? write_budget_list_held(writes, ARRAY_SIZE(nodes), nodes) : 0;

	for (size_t i = 0; i < n; i++) {
		exposition_lines_begin(&exposition->lines, EXPOSITION_LINES_NODE_WRITES_HELD);
		exposition_lines_label(&exposition->lines, VIEW("node"), nodes[i].name);
		exposition_lines_end_u64(&exposition->lines, nodes[i].n_objects);
	}
}

/* Cuts a family to that room, and returns what then is left of it. */
static size_t cut(struct exposition *exposition, enum exposition_lines_family family, size_t room)
{
	const size_t n_written = count_samples(exposition, family);
	const size_t n_kept = n_written < room ? n_written : room;

	exposition_text_cut(exposition->text, family, n_kept);
	return room - n_kept;
}

/* Tenants have the room that everything else leaves, and their partitions come before them. */
static void cut_tenants(struct exposition *exposition)
{
	const size_t n_others = count_samples(exposition, SIZE_MAX) -
				count_samples(exposition, EXPOSITION_LINES_TENANT_INFO) -
				count_samples(exposition, EXPOSITION_LINES_TENANT_PARTITION);
	size_t room = exposition->config.max_series > n_others
			      ? exposition->config.max_series - n_others
			      : 0;

	room = cut(exposition, EXPOSITION_LINES_TENANT_PARTITION, room);
	(void)cut(exposition, EXPOSITION_LINES_TENANT_INFO, room);
	write_number(exposition, EXPOSITION_LINES_TENANTS_LEFT_OUT,
		     exposition->n_tenants -
			     count_samples(exposition, EXPOSITION_LINES_TENANT_INFO));
}

static int finish(struct exposition *exposition, struct error *err)
{
	const struct gpu_time_counters counters = gpu_time_counters(exposition->gpu_time);

	write_number(exposition, EXPOSITION_LINES_SERIES_DROPPED, counters.dropped);
	write_number(exposition, EXPOSITION_LINES_TENANCIES_UNCOUNTED, counters.refused);
	write_held(exposition);
	if (exposition->config.with_devices)
		cut_tenants(exposition);
	if (exposition_text_seal(exposition->text, err) < 0)
		return -1;
	end(exposition);
	exposition->config.done(exposition->config.owner, TAKE(exposition->text), ERROR_NONE);
	return 0;
}

/* One step of the stage; the last of a stage leads to the next. */
static int take_step(struct exposition *exposition, struct error *err)
{
	const struct attribution *object;

	switch (exposition->stage) {
	case STAGE_NAMES:
		exposition->stage = STAGE_DEVICES;
		return exposition->is_shown ? copy_names(exposition, err) : 0;
	case STAGE_DEVICES:
		if (exposition->at == exposition->n_names) {
			exposition->stage = STAGE_NAMESPACES;
			exposition->at = 0;
			return 0;
		}
		object = inventory_find_attribution(exposition->config.inventory,
						    exposition->names[exposition->at++]);
		return object ? write_device(exposition, object, err) : 0;
	case STAGE_NAMESPACES:
		if (exposition->is_shown && exposition->at < gpu_time_places(exposition->gpu_time)) {
			write_namespace(exposition, exposition->at++);
			return 0;
		}
		return finish(exposition, err);
	case STAGE_NONE:
		break;
	}
	return 0;
}

static void work(void *owner)
{
	struct exposition *exposition = owner;
	const uint64_t started = clock_monotonic_ms();
	struct error error = {0};

	while (exposition->stage != STAGE_NONE) {
		if (take_step(exposition, &error) < 0) {
			fail(exposition, &error);
			return;
		}
		if (clock_monotonic_ms() - started >= SLICE_MS)
			break;
	}
	if (exposition->stage != STAGE_NONE)
		loop_timer_set(exposition->timer, 0);
}

void exposition_write(struct exposition *exposition)
{
	struct error error = {0};

	if (exposition->stage != STAGE_NONE)
		return;
	if (begin(exposition, &error) < 0) {
		LOG_WARN("Metrics of devices could not be begun", LOG_ERROR_FIELD(&error));
		exposition->config.done(exposition->config.owner, NULL, error.kind);
		return;
	}
	exposition->stage = STAGE_NAMES;
	loop_timer_set(exposition->timer, 0);
}

static void exposition_freep(struct exposition **exposition)
{
	exposition_free(*exposition);
}

int exposition_new(const struct exposition_config *config, struct exposition **ret_exposition,
		   struct error *err)
{
	CLEANUP(exposition_freep) struct exposition *exposition = calloc(1, sizeof(*exposition));

	if (!exposition)
		return error_no_memory(err);
	exposition->config = *config;
	exposition->has_led = !config->leads;
	exposition->term = NO_TERM;
	if (gpu_time_new(LIMIT_GPU_TIME_SERIES, &exposition->gpu_time, err) < 0 ||
	    xid_counts_new(LIMIT_XID_DEVICES, &exposition->xids, err) < 0 ||
	    loop_timer_new(config->loop, work, exposition, &exposition->timer, err) < 0)
		return -1;
	inventory_on_attribution(config->inventory, changed, exposition);
	*ret_exposition = TAKE(exposition);
	return 0;
}

void exposition_free(struct exposition *exposition)
{
	if (!exposition)
		return;
	inventory_off_attribution(exposition->config.inventory, exposition);
	if (exposition->stage != STAGE_NONE)
		end(exposition);
	exposition_text_unref(exposition->text);
	loop_timer_free(exposition->timer);
	gpu_time_free(exposition->gpu_time);
	xid_counts_free(exposition->xids);
	free(exposition);
}
