/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The order of a sample matters: first the driver, then the checkpoint, then the List if it is
 * asked for (agent/schedule.h). The kubelet writes the checkpoint before it lets a pod start, and
 * its List has the pods that it has admitted. So a List requested after the checkpoint was read has
 * every living pod that the checkpoint names. A pod in the checkpoint but not in the List has
 * therefore ended. In the other order, such a pod could also have just begun. The driver comes
 * first because it may take long, and no time should pass between the other two.
 *
 * dcgm-exporter is scraped beside all that, and its answer counts from the next sample on: it may be
 * slow, and who holds what must not wait for it. Only the sample of --once waits, as there is no next
 * one.
 */

#include "agent/sampler.h"

#include <assert.h>
#include <stdlib.h>

#include "agent/checkpoint.h"
#include "agent/dcgm.h"
#include "agent/hardware.h"
#include "agent/podres.h"
#include "agent/schedule.h"
#include "base/clock.h"

struct sampler {
	sampler_fn finished;
	void *owner;
	struct checkpoint checkpoint;
	struct podres *podres;
	struct hardware hardware;
	struct dcgm *dcgm;
	bool waits_for_dcgm;
	bool dcgm_is_news; /* the scrape that ended last, not told yet */
	struct event_queue queue;
	struct loop_timer *later; /* ends a sample without a List */
	bool is_busy;
	bool has_list; /* of the sample under way: its part but for dcgm-exporter has ended */
	struct sampler_outcome outcome; /* of the sample under way */
};

static bool is_checkpoint_good(const struct sampler *sampler)
{
	struct report report = {0};
	checkpoint_tell(&sampler->checkpoint, &report);
	return report.sources.checkpoint.state == REPORT_SOURCE_OK;
}

/* Ends the sample under way if nothing of it is awaited any more. */
static void finish(struct sampler *sampler)
{
	if (!sampler->has_list || (sampler->waits_for_dcgm && dcgm_is_busy(sampler->dcgm)))
		return;
	struct sampler_outcome outcome = sampler->outcome;
	outcome.is_news |= sampler->dcgm_is_news;
	sampler->dcgm_is_news = false;
	sampler->has_list = false;
	sampler->is_busy = false;
	sampler->finished(sampler->owner, &outcome);
}

static void take_list(void *owner, const struct podres_outcome *podres)
{
	struct sampler *sampler = owner;
	struct sampler_outcome *outcome = &sampler->outcome;
	outcome->is_news |= podres->is_news;
	/* Where the checkpoint says who holds what, nothing hangs on whom a name means. */
	outcome->is_news |= podres->is_repeat && !is_checkpoint_good(sampler);
	outcome->throttled = podres->throttled;
	sampler->has_list = true;
	finish(sampler);
}

static void take_figures(void *owner, bool is_news)
{
	struct sampler *sampler = owner;
	sampler->dcgm_is_news |= is_news;
	finish(sampler);
}

static void finish_without_list(void *owner)
{
	take_list(owner, &(struct podres_outcome){0});
}

void sampler_start(struct sampler *sampler, unsigned parts, uint64_t now_ms)
{
	assert(!sampler->is_busy && (parts & SCHEDULE_CHECKPOINT));
	bool restarted = podres_socket_changed(sampler->podres);
	sampler->is_busy = true;
	sampler->outcome = (struct sampler_outcome){
		.is_news = restarted,
		.restarted = restarted,
		.was_called = (parts & SCHEDULE_LIST) != 0,
	};
	if (parts & SCHEDULE_HARDWARE) {
		const struct processes_time now = {clock_wall_ms(), clock_boot_ms()};
		sampler->outcome.is_news |= hardware_read(&sampler->hardware, now);
		sampler->outcome.is_news |= sampler_read_events(sampler);
		dcgm_scrape(sampler->dcgm, now_ms);
	}
	sampler->outcome.is_news |= checkpoint_read(&sampler->checkpoint, clock_wall_ms());
	if (parts & SCHEDULE_LIST)
		podres_read(sampler->podres, (parts & SCHEDULE_ADVERTISED) != 0, now_ms);
	else
		loop_timer_set(sampler->later, 0);
}

bool sampler_is_busy(const struct sampler *sampler)
{
	return sampler->is_busy;
}

bool sampler_read_events(struct sampler *sampler)
{
	return hardware_read_events(&sampler->hardware, clock_wall_ms(), &sampler->queue);
}

void sampler_acknowledge(struct sampler *sampler, int64_t sequence)
{
	event_queue_acknowledge(&sampler->queue, sequence);
}

void sampler_tell(struct sampler *sampler, struct report *report)
{
	checkpoint_tell(&sampler->checkpoint, report);
	podres_tell(sampler->podres, report);
	hardware_tell(&sampler->hardware, report);
	dcgm_tell(sampler->dcgm, report);
	report->events = event_queue_events(&sampler->queue);
	report->events_dropped = sampler->queue.dropped;
}

static void freep(struct sampler **sampler)
{
	sampler_free(*sampler);
}

int sampler_new(struct loop *loop, struct fetcher *fetcher, const struct sampler_config *config,
		sampler_fn finished, void *owner, struct sampler **ret_sampler, struct error *err)
{
	CLEANUP(freep) struct sampler *sampler = calloc(1, sizeof(*sampler));
	if (!sampler)
		return error_no_memory(err);
	sampler->finished = finished;
	sampler->owner = owner;
	sampler->waits_for_dcgm = config->waits_for_dcgm;
	event_queue_init(&sampler->queue, config->last_event);
	checkpoint_init(&sampler->checkpoint, config->checkpoint_file);
	const struct podres_config podres = {
		.socket = config->pod_resources_socket,
		.timeout_ms = config->kubelet_timeout_ms,
	};
	const struct hardware_config hardware = {
		.library_name = config->nvml_library,
		.processes = config->processes,
		.proc_path = config->proc_path,
		.activity = config->activity,
	};
	const struct dcgm_config dcgm = {
		.url = config->dcgm_url,
		.timeout_ms = LIMIT_DCGM_TIME_MS,
		.devices = &sampler->hardware.reading.devices,
	};
	if (podres_new(loop, fetcher, &podres, take_list, sampler, &sampler->podres, err) < 0 ||
	    dcgm_new(loop, fetcher, &dcgm, take_figures, sampler, &sampler->dcgm, err) < 0 ||
	    loop_timer_new(loop, finish_without_list, sampler, &sampler->later, err) < 0 ||
	    hardware_init(&sampler->hardware, &hardware, err) < 0)
		return -1;
	/* The socket that is there now is the one to compare with. */
	podres_socket_changed(sampler->podres);
	*ret_sampler = TAKE(sampler);
	return 0;
}

void sampler_free(struct sampler *sampler)
{
	if (!sampler)
		return;
	podres_free(sampler->podres);
	dcgm_free(sampler->dcgm);
	loop_timer_free(sampler->later);
	hardware_deinit(&sampler->hardware);
	checkpoint_deinit(&sampler->checkpoint);
	free(sampler);
}
