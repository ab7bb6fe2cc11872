/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * gpu_series - the series of controller/gpu_time.h: by namespace, model and mode, for how long slots
 * were held, and were idle.
 *
 * It changes when a status does, not with the clock. Prometheus keeps the sums, so a restart of the
 * controller need not.
 *
 * A line in time is base + rate * now slot milliseconds, while `rate` slots are held. So a reading
 * costs the same however many tenants there are. Numbers are doubles: slot milliseconds are exact up
 * to 2^53, and hostile ones cannot overflow. An end is published after it happened, so a line may
 * fall a little: what is shown waits for it.
 *
 * Threads: owner; pure.
 * Limits:  max_series; the one without a tenant for longest makes room for a new one.
 */

#include "base/error.h"
#include "base/list.h"
#include "base/table.h"
#include "base/view.h"

struct gpu_series_line {
	double base, rate;
	uint64_t shown; /* the most that was ever said */
};

struct gpu_series {
	struct table_node link; /* by key */
	struct list unused;     /* in gpu_series_set.unused while it has no tenant */
	size_t n_tenants;
	size_t place;
	struct gpu_series_line held, idle;
	int mode; /* enum attribution_mode */
	size_t namespace_len, key_len;
	char key[]; /* mode, namespace, NUL, model */
};

struct gpu_series_set {
	struct table table;  /* struct gpu_series */
	struct list unused;  /* struct gpu_series; the one that is unused for longest comes first */
	struct gpu_series **places; /* room for max_series */
	size_t n_places, max_series;
	uint64_t dropped; /* those that made room */
};

/* No series. Fails with ERROR_NO_MEMORY; gpu_series_deinit() is allowed then, too. */
MUST_USE int gpu_series_init(struct gpu_series_set *set, size_t max_series, struct error *err);
/* Frees all of them. Accepts a set whose gpu_series_init() failed. */
void gpu_series_deinit(struct gpu_series_set *set);
/*
 * Finds or makes the series of a tenant, and counts the tenant in it. Texts are copied, and cut at
 * their limits. *ret_series is NULL if there is no room. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int gpu_series_join(struct gpu_series_set *set, struct view namespace, struct view model,
			     int mode, struct gpu_series **ret_series, struct error *err);
/* The tenant is no longer in it. Accepts NULL. */
void gpu_series_leave(struct gpu_series_set *set, struct gpu_series *series);

/* From then on so many slots more are held, or, with a negative number, as many were not. */
void gpu_series_run(struct gpu_series_line *line, double slots, double from);
/* So many slots were held for so long, once and for all. */
void gpu_series_settle(struct gpu_series_line *line, double slots, double ms);
/* Nothing is held any more, and what was never said is forgotten. */
void gpu_series_halt(struct gpu_series_line *line);
/* What the line says at that time; never less than before. */
uint64_t gpu_series_read(struct gpu_series_line *line, double now);
/* The namespace of a series; borrowed. */
struct view gpu_series_namespace(const struct gpu_series *series);
/* The model of a series; borrowed. */
struct view gpu_series_model(const struct gpu_series *series);
