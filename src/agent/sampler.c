/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The order of a sample matters: first the driver, then the checkpoint, then the List if it is
 * asked for (agent/schedule.h). The kubelet writes the checkpoint before it lets a pod start, and
 * its List has the pods that it has admitted. So a List requested after the checkpoint was read has
 * every living pod that the checkpoint names. A pod in the checkpoint but not in the List has
 * therefore ended. In the other order, such a pod could also have just begun. The driver comes
 * first because it may take long, and no time should pass between the other two. If it takes too long
 * the other two are read without it. What it then says late asks for another sample of them, so that
 * a report has nothing of the driver that is newer than the checkpoint.
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
	sampler_surprise_fn surprised;
	void *owner;
	struct checkpoint checkpoint;
	struct podres *podres;
	struct hardware hardware;
	struct dcgm *dcgm;
	bool waits_for_dcgm;
	bool dcgm_is_news; /* the scrape that ended last, not told yet */
	struct event_queue queue;
	struct loop_timer *later;    /* ends a sample without a List */
	struct loop_timer *patience; /* ends the waiting for the driver */
	bool is_busy;
	bool is_waiting;    /* for the driver */
	bool has_late_news; /* that the driver told outside of a sample */
	unsigned parts;                 /* of the sample under way, and when it began: */
	uint64_t began_ms;
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

/* The second half of a sample: what the kubelet says, and beside it dcgm-exporter. */
static void read_books(struct sampler *sampler)
{
	sampler->is_waiting = false;
	loop_timer_clear(sampler->patience);
	sampler->outcome.is_news |= sampler->has_late_news;
	sampler->has_late_news = false;
	/* Its figures are looked up by the devices that the driver has told. */
	if (sampler->parts & SCHEDULE_HARDWARE)
		dcgm_scrape(sampler->dcgm, clock_boot_ms());
	sampler->outcome.is_news |= checkpoint_read(&sampler->checkpoint, clock_wall_ms());
	if (sampler->parts & SCHEDULE_LIST)
		podres_read(sampler->podres, (sampler->parts & SCHEDULE_ADVERTISED) != 0,
			    sampler->began_ms);
	else
		loop_timer_set(sampler->later, 0);
}

static void on_patience(void *owner)
{
	read_books(owner);
}

static bool has_heard_driver(const struct sampler *sampler)
{
	return sampler->hardware.source.said.state != REPORT_SOURCE_UNKNOWN;
}

/* False: there is nothing to wait for. */
static bool wait_for_driver(struct sampler *sampler)
{
	sampler->is_waiting = hardware_read(&sampler->hardware);
	if (sampler->is_waiting && has_heard_driver(sampler))
		loop_timer_set(sampler->patience, SAMPLER_PATIENCE_MS);
	return sampler->is_waiting;
}

static void offer_figures(void *owner, uint64_t now_boot, struct array devices)
{
	struct sampler *sampler = owner;
	dcgm_offer(sampler->dcgm, now_boot, devices);
}

static void take_hardware(struct sampler *sampler, unsigned changes)
{
	if (sampler->is_waiting) {
		sampler->outcome.is_news |= (changes & (HARDWARE_NEWS | HARDWARE_EVENTS)) != 0;
		if (changes & HARDWARE_READ)
			read_books(sampler);
		return;
	}
	sampler->has_late_news |= (changes & HARDWARE_NEWS) != 0;
	if (changes & HARDWARE_EVENTS)
		sampler->surprised(sampler->owner, SAMPLER_EVENTS);
	else if (changes & HARDWARE_NEWS)
		sampler->surprised(sampler->owner, SAMPLER_LATE);
}

/* That a reading would tell more is told last: it may lead to the next sample. */
static void on_hardware(void *owner, unsigned changes)
{
	struct sampler *sampler = owner;
	take_hardware(sampler, changes);
	if (changes & HARDWARE_STATE)
		sampler->surprised(sampler->owner, SAMPLER_STATE);
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
	sampler->parts = parts;
	sampler->began_ms = now_ms;
	if (!(parts & SCHEDULE_HARDWARE) || !wait_for_driver(sampler))
		read_books(sampler);
}

bool sampler_is_busy(const struct sampler *sampler)
{
	return sampler->is_busy;
}

void sampler_look(struct sampler *sampler)
{
	hardware_look(&sampler->hardware);
}

bool sampler_has_events(const struct sampler *sampler)
{
	return sampler->queue.count > 0;
}

void sampler_acknowledge(struct sampler *sampler, int64_t sequence)
{
	event_queue_acknowledge(&sampler->queue, sequence);
}

/* The controller never hears of it, so it is as if the watch began afterwards. */
static void tell_dropped(const struct event_queue *queue, struct report *report)
{
	if (report->events_since_uptime_ms == 0 ||
	    report->events_since_uptime_ms > queue->dropped_uptime_ms)
		return;
	report->events_since = queue->dropped_time + 1;
	report->events_since_uptime_ms = queue->dropped_uptime_ms + 1;
}

void sampler_tell(struct sampler *sampler, struct report *report)
{
	checkpoint_tell(&sampler->checkpoint, report);
	podres_tell(sampler->podres, report);
	hardware_tell(&sampler->hardware, report);
	dcgm_tell(sampler->dcgm, report);
	report->events = event_queue_events(&sampler->queue);
	report->events_dropped = sampler->queue.dropped;
	if (sampler->queue.dropped > 0)
		tell_dropped(&sampler->queue, report);
}

static void freep(struct sampler **sampler)
{
	sampler_free(*sampler);
}

static int open_dcgm(struct sampler *sampler, struct loop *loop, struct fetcher *fetcher,
		     const char *url, struct error *err)
{
	const struct dcgm_config config = {
		.url = url,
		.timeout_ms = LIMIT_DCGM_TIME_MS,
		.devices = &sampler->hardware.reading.devices,
	};
	return dcgm_new(loop, fetcher, &config, take_figures, sampler, &sampler->dcgm, err);
}

static int open_hardware(struct sampler *sampler, struct loop *loop,
			 const struct sampler_config *config, struct error *err)
{
	const struct hardware_config hardware = {
		.library_name = config->nvml_library,
		.nvml_timeout_ms = config->nvml_timeout_ms,
		.processes = config->processes,
		.proc_path = config->proc_path,
		.activity = config->activity,
		.history = config->history,
		.queue = &sampler->queue,
		.offer = offer_figures,
	};
	return hardware_init(&sampler->hardware, loop, &hardware, on_hardware, sampler, err);
}

int sampler_new(struct loop *loop, struct fetcher *fetcher, const struct sampler_config *config,
		sampler_fn finished, void *owner, struct sampler **ret_sampler, struct error *err)
{
	CLEANUP(freep) struct sampler *sampler = calloc(1, sizeof(*sampler));
	if (!sampler)
		return error_no_memory(err);
	sampler->finished = finished;
	sampler->surprised = config->surprised;
	sampler->owner = owner;
	sampler->waits_for_dcgm = config->waits_for_dcgm;
	event_queue_init(&sampler->queue, config->last_event);
	checkpoint_init(&sampler->checkpoint, config->checkpoint_file);
	const struct podres_config podres = {
		.socket = config->pod_resources_socket,
		.timeout_ms = config->kubelet_timeout_ms,
	};
	if (podres_new(loop, fetcher, &podres, take_list, sampler, &sampler->podres, err) < 0 ||
	    loop_timer_new(loop, finish_without_list, sampler, &sampler->later, err) < 0 ||
	    loop_timer_new(loop, on_patience, sampler, &sampler->patience, err) < 0 ||
	    open_dcgm(sampler, loop, fetcher, config->dcgm_url, err) < 0 ||
	    open_hardware(sampler, loop, config, err) < 0)
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
	loop_timer_free(sampler->patience);
	hardware_deinit(&sampler->hardware);
	checkpoint_deinit(&sampler->checkpoint);
	free(sampler);
}
