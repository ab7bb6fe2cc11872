/* SPDX-License-Identifier: Apache-2.0 */

/*
 * agent/nvml_process.h without a process: what the child would answer is made in the agent's turn and
 * decoded as the agent does it. In virtual time no call takes any.
 */

#include "agent/nvml_process.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/limits.h"
#include "schema/report_doc.h"
#include "sim/check.h"

struct nvml_process {
	struct nvml_child child;
	struct loop_timer *timer;
	nvml_process_fn answered;
	void *owner;
	unsigned wanted; /* enum nvml_child_request, a bit each */
	int64_t events_since;
};

static void answer(struct nvml_process *process, enum nvml_child_request request)
{
	struct sbuf body;
	struct arena arena;
	struct error err;
	struct nvml_process_answer given = {
		.outcome = request == NVML_CHILD_READING ? NVML_PROCESS_READING
							 : NVML_PROCESS_EVENTS,
		.arena = &arena,
		.asked_wall = clock_wall_ms(),
		.asked_boot = clock_boot_ms(),
	};

	sbuf_init(&body, LIMIT_READING_BYTES);
	arena_init(&arena, LIMIT_READING_ARENA);
	check(nvml_child_answer(&process->child, request, &body, &err) == 0);
	check(report_doc_decode_reading(sbuf_view(&body), &arena, &given.reading, &err) == 0);
	process->events_since = given.reading.events_since;
	process->answered(process->owner, &given);
	arena_deinit(&arena);
	sbuf_deinit(&body);
}

static void on_time(void *owner)
{
	struct nvml_process *process = owner;
	unsigned wanted = process->wanted;

	process->wanted = 0;
	answer(process, wanted & NVML_CHILD_READING ? NVML_CHILD_READING : NVML_CHILD_EVENTS);
}

int nvml_process_new(struct loop *loop, const struct nvml_process_config *config,
		     nvml_process_fn answered, void *owner, struct nvml_process **ret_process,
		     struct error *err)
{
	struct nvml_process *process = calloc(1, sizeof(*process));

	check(process != NULL);
	process->answered = answered;
	process->owner = owner;
	check(nvml_child_init(&process->child, &config->child, err) == 0);
	check(loop_timer_new(loop, on_time, process, &process->timer, err) == 0);
	*ret_process = process;
	return 0;
}

void nvml_process_free(struct nvml_process *process)
{
	if (!process)
		return;
	nvml_child_deinit(&process->child);
	loop_timer_free(process->timer);
	free(process);
}

bool nvml_process_ask(struct nvml_process *process, enum nvml_child_request request)
{
	process->wanted |= request;
	loop_timer_set(process->timer, 0);
	return true;
}

int64_t nvml_process_events_since(const struct nvml_process *process)
{
	return process->events_since;
}
