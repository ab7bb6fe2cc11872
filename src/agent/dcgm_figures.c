/* SPDX-License-Identifier: Apache-2.0 */

/*
 * DCGM writes "blank" as a number far outside of any range, one set of numbers for each of its types
 * (dcgm_structs.h: 32 and 64 bits, float). dcgm-exporter once passed them on. They are no figure, and
 * no error. Anything else outside of the range is an error.
 *
 * With KUBERNETES_VIRTUAL_GPUS there is a copy of each row for each pod and replica. Newer exporters
 * write shares of the device into some of these, beside one row for the device. The largest of them
 * all is the device's.
 */

#include "agent/dcgm_figures.h"

#include <stdlib.h>
#include <string.h>

#define BLANK_32 2147483632.0           /* 0x7ffffff0, and the three above it */
#define BLANK_64 9223372036854775792.0  /* 0x7ffffffffffffff0; a double cannot tell the others */
#define BLANK_FLOAT 140737488355328.0   /* 2^47, and the three above it */
#define BLANKS_ABOVE 3.0

enum metric {
	NO_METRIC,
	ENGINE_ACTIVE,
	UTILIZATION,
};

void dcgm_figures_deinit(struct dcgm_figures *figures)
{
	free(figures->list);
	*figures = (struct dcgm_figures){0};
}

static enum metric metric_of(struct view name)
{
	if (view_equal(name, VIEW("DCGM_FI_PROF_GR_ENGINE_ACTIVE")))
		return ENGINE_ACTIVE;
	return view_equal(name, VIEW("DCGM_FI_DEV_GPU_UTIL")) ? UTILIZATION : NO_METRIC;
}

static bool is_blank(double value)
{
	static const double blanks[] = {BLANK_32, BLANK_64, BLANK_FLOAT};
	for (size_t i = 0; i < ARRAY_SIZE(blanks); i++) {
		if (value >= blanks[i] && value <= blanks[i] + BLANKS_ABOVE)
			return true;
	}
	return false;
}

/* Whose figure it is. */
struct subject {
	struct view uuid;
	int64_t gpu_instance_id; /* -1: the whole device */
};

/* False without a UUID, or for a GPU_I_ID that is none. */
static bool read_subject(const struct promtext_sample *sample, struct subject *ret)
{
	struct view text = promtext_label(sample, VIEW("GPU_I_ID"));
	uint64_t id;
	*ret = (struct subject){promtext_label(sample, VIEW("UUID")), -1};
	if (ret->uuid.len == 0 || ret->uuid.len > LIMIT_TEXT_GPU_UUID)
		return false;
	if (text.len == 0)
		return true;
	if (!view_parse_u64(text, &id) || id > LIMIT_NUMBER_INSTANCE)
		return false;
	ret->gpu_instance_id = (int64_t)id;
	return true;
}

static bool has_instance(const struct report_device *device, int64_t gpu_instance_id)
{
	for (uint32_t i = 0; i < device->partitions.count; i++) {
		if (ARRAY_AT(device->partitions, struct report_partition, i)->gpu_instance_id ==
		    gpu_instance_id)
			return true;
	}
	return false;
}

static bool is_listed(struct array devices, const struct subject *subject)
{
	for (uint32_t i = 0; i < devices.count; i++) {
		const struct report_device *device = ARRAY_AT(devices, struct report_device, i);
		if (view_equal(device->uuid, subject->uuid))
			return subject->gpu_instance_id < 0 ||
			       has_instance(device, subject->gpu_instance_id);
	}
	return false;
}

static struct dcgm_figure *find(const struct dcgm_figures *figures, struct view uuid,
				int64_t gpu_instance_id)
{
	for (uint32_t i = 0; i < figures->n; i++) {
		struct dcgm_figure *figure = &figures->list[i];
		if (figure->gpu_instance_id == gpu_instance_id &&
		    view_equal(view_from(figure->uuid), uuid))
			return figure;
	}
	return NULL;
}

static int make_room(struct dcgm_figures *figures, struct error *err)
{
	if (figures->n < figures->n_allocated)
		return 0;
	if (figures->n == LIMIT_DCGM_FIGURES)
		return error_set(err, ERROR_LIMIT, 0, "more than %u devices and MIG instances",
				 LIMIT_DCGM_FIGURES);
	uint32_t n = figures->n_allocated ? 2 * figures->n_allocated : 16;
	n = n > LIMIT_DCGM_FIGURES ? LIMIT_DCGM_FIGURES : n;
	struct dcgm_figure *list = reallocarray(figures->list, n, sizeof(*list));
	if (!list)
		return error_no_memory(err);
	figures->list = list;
	figures->n_allocated = n;
	return 0;
}

/* The entry of a device or instance, made if it is not there yet. */
static int obtain(struct dcgm_figures *figures, const struct subject *subject,
		  struct dcgm_figure **ret_figure, struct error *err)
{
	*ret_figure = find(figures, subject->uuid, subject->gpu_instance_id);
	if (*ret_figure)
		return 0;
	if (make_room(figures, err) < 0)
		return -1;
	struct dcgm_figure *figure = &figures->list[figures->n++];
	*figure = (struct dcgm_figure){
		.gpu_instance_id = subject->gpu_instance_id,
		.engine_active = -1,
		.utilization = -1,
	};
	memcpy(figure->uuid, subject->uuid.ptr, subject->uuid.len);
	*ret_figure = figure;
	return 0;
}

static void note_foreign(struct dcgm_figures *figures, const struct promtext_sample *sample)
{
	figures->n_foreign++;
	struct view name = promtext_label(sample, VIEW("Hostname"));
	if (name.len == 0)
		name = promtext_label(sample, VIEW("hostname")); /* since 4.6 */
	if (figures->hostname[0] || name.len == 0 || name.len >= sizeof(figures->hostname))
		return;
	memcpy(figures->hostname, name.ptr, name.len);
	figures->hostname[name.len] = '\0';
}

/* NaN compares with nothing, and so is in no range. */
static bool is_possible(enum metric metric, double value)
{
	return value >= 0 && value <= (metric == ENGINE_ACTIVE ? 1 : 100);
}

static int take(struct dcgm_figures *figures, const struct subject *subject, enum metric metric,
		double value, struct error *err)
{
	struct dcgm_figure *figure;
	if (obtain(figures, subject, &figure, err) < 0)
		return -1;
	double *place = metric == ENGINE_ACTIVE ? &figure->engine_active : &figure->utilization;
	if (value > *place)
		*place = value;
	return 0;
}

int dcgm_figures_add(struct dcgm_figures *figures, const struct promtext_sample *sample,
		     struct array devices, struct error *err)
{
	enum metric metric = metric_of(sample->name);
	struct subject subject;
	if (metric == NO_METRIC)
		return 0;
	if (!read_subject(sample, &subject))
		figures->n_rubbish++;
	else if (!is_listed(devices, &subject))
		note_foreign(figures, sample);
	else if (is_blank(sample->value))
		figures->n_blank++;
	else if (!is_possible(metric, sample->value))
		figures->n_rubbish++;
	else
		return take(figures, &subject, metric, sample->value, err);
	return 0;
}

const struct dcgm_figure *dcgm_figures_find(const struct dcgm_figures *figures, struct view uuid,
					    int64_t gpu_instance_id)
{
	return find(figures, uuid, gpu_instance_id);
}
