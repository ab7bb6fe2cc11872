/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The answer is read as it arrives. Its figures are taken over only when it has come whole: a cut text
 * may lack devices, or digits.
 *
 * Which node a figure is of is told by the UUID alone. The label Hostname (`hostname` since 4.6) holds
 * the node's name, the pod's, or that of a remote DCGM, according to how dcgm-exporter was set up. So
 * it is compared with nothing. The exporter of another node shows by devices that NVML does not list
 * here. These are ignored. If there are no others, that is an error, and its text has the label.
 *
 * libcurl's texts for the commonest failures contain milliseconds or bytes, which differ each time. A
 * failure must read the same as long as it is the same, or each scrape would be news. So these have
 * texts of their own.
 *
 * Each scrape has a connection of its own: behind a Service another pod may answer the next time.
 */

#include "agent/dcgm.h"

#include <stdlib.h>

#include "agent/source_state.h"
#include "base/clock.h"

#define OFF "switched off: --dcgm-url is empty"

struct dcgm {
	struct fetcher *fetcher;
	struct dcgm_config config;
	dcgm_fn finished;
	void *owner;
	struct loop_timer *later; /* a scrape that ended before it began is told from here */
	struct source_state source;
	struct dcgm_counts counts;
	uint64_t last_ms;   /* when the last scrape was begun, counted from boot */
	bool is_busy;
	struct fetch *fetch; /* of the scrape under way, with what follows */
	struct error error;  /* why it could not begin */
	int64_t asked_wall;
	uint64_t started_at; /* monotonic ms */
	int status;
	size_t n_bytes;
	struct promtext text;
	struct dcgm_figures fresh;
	struct dcgm_figures last; /* of the last good scrape */
	uint64_t good_ms;         /* when that was begun */
};

/* Taking in the answer. */

static int fail_by_status(int status, struct error *err)
{
	bool redirects = status >= 300 && status < 400;
	return error_set(err, ERROR_RETRY, 0, "HTTP status %d%s", status,
			 redirects ? ", and redirects are not followed" : "");
}

static void take_head(void *owner, const struct fetch_result *head)
{
	struct dcgm *dcgm = owner;
	dcgm->status = head->status;
}

static int read_samples(struct dcgm *dcgm, struct view bytes, struct error *err)
{
	struct promtext_sample sample;
	enum promtext_step step;
	while ((step = promtext_next(&dcgm->text, &bytes, &sample, err)) == PROMTEXT_SAMPLE) {
		if (dcgm_figures_add(&dcgm->fresh, &sample, *dcgm->config.devices, err) < 0)
			return -1;
	}
	return step == PROMTEXT_MORE ? 0 : -1;
}

static int take_body(void *owner, struct view bytes, struct error *err)
{
	struct dcgm *dcgm = owner;
	dcgm->n_bytes += bytes.len;
	if (dcgm->status != 200)
		return fail_by_status(dcgm->status, err);
	if (dcgm->n_bytes > LIMIT_DCGM_BYTES)
		return error_set(err, ERROR_LIMIT, 0, "the answer is longer than %u bytes",
				 LIMIT_DCGM_BYTES);
	return read_samples(dcgm, bytes, err);
}

/* Judging it. */

/* Fails for an answer that says nothing about this node's devices. */
static int check_figures(const struct dcgm_figures *figures, struct error *err)
{
	if (figures->n > 0 || figures->n_blank > 0)
		return 0;
	if (figures->n_foreign > 0)
		return error_set(err, ERROR_NOT_FOUND, 0,
				 "NVML lists none of its devices here: is it of another node%s%s?",
				 figures->hostname[0] ? ", " : "", figures->hostname);
	return error_set(err, ERROR_NOT_FOUND, 0,
			 "neither DCGM_FI_PROF_GR_ENGINE_ACTIVE nor DCGM_FI_DEV_GPU_UTIL is in it%s",
			 figures->n_rubbish > 0 ? " with a good value" : "");
}

static int explain_failure(const struct dcgm *dcgm, const struct error *why, struct error *err)
{
	const struct view text = view_from(why->text);
	const unsigned timeout_ms = dcgm->config.timeout_ms;
	if (why->kind == ERROR_RETRY && clock_monotonic_ms() - dcgm->started_at >= timeout_ms)
		return error_set(err, ERROR_RETRY, 0, "no answer within %u ms", timeout_ms);
	if (view_starts_with(text, VIEW("Failed to connect")))
		return error_set(err, ERROR_RETRY, why->os_errno, "no connection");
	if (view_starts_with(text, VIEW("transfer closed")))
		return error_set(err, ERROR_RETRY, 0, "the answer is cut short");
	*err = *why;
	return -1;
}

static int check(const struct dcgm *dcgm, const struct fetch_result *result, struct error *err)
{
	if (result->failed)
		return explain_failure(dcgm, &result->error, err);
	if (result->status != 200)
		return fail_by_status(result->status, err);
	return promtext_end(&dcgm->text, err) < 0 ? -1 : check_figures(&dcgm->fresh, err);
}

/* Made of what does not change from one scrape to the next, or each would be news. */
static struct view remark_on(const struct dcgm_figures *figures)
{
	if (figures->n_rubbish > 0)
		return VIEW("values out of range, or without a usable UUID or GPU_I_ID, are ignored");
	if (figures->n == 0)
		return VIEW("it has no figure of any device: all are blank");
	return VIEW("");
}

static bool adopt(struct dcgm *dcgm)
{
	dcgm_figures_deinit(&dcgm->last);
	dcgm->last = dcgm->fresh;
	dcgm->fresh = (struct dcgm_figures){0};
	dcgm->good_ms = dcgm->last_ms;
	return source_state_succeed(&dcgm->source, dcgm->asked_wall, remark_on(&dcgm->last));
}

static bool give_up(struct dcgm *dcgm, struct error *err)
{
	dcgm->counts.failures++;
	error_wrap(err, "%s", dcgm->config.url);
	return source_state_fail(&dcgm->source, err);
}

static void finish(void *owner, const struct fetch_result *result)
{
	struct dcgm *dcgm = owner;
	struct error err;
	dcgm->fetch = NULL;
	dcgm->is_busy = false;
	dcgm->counts.rubbish += dcgm->fresh.n_rubbish;
	bool is_news = check(dcgm, result, &err) < 0 ? give_up(dcgm, &err) : adopt(dcgm);
	dcgm_figures_deinit(&dcgm->fresh);
	promtext_deinit(&dcgm->text);
	dcgm->finished(dcgm->owner, is_news);
}

/* Asking. */

static void finish_later(void *owner)
{
	struct dcgm *dcgm = owner;
	finish(dcgm, &(struct fetch_result){.failed = true, .error = dcgm->error});
}

static int start(struct dcgm *dcgm, struct error *err)
{
	/* Without a wish for OpenMetrics; and no compression is asked for. */
	static const char *const headers[] = {"Accept: text/plain; version=0.0.4", NULL};
	const struct fetch_request request = {
		.method = "GET",
		.url = dcgm->config.url,
		.headers = headers,
		.protocol = FETCH_HTTP1,
		.fresh_connection = true,
		.connect_timeout_ms = dcgm->config.timeout_ms,
		.total_timeout_ms = dcgm->config.timeout_ms,
	};
	const struct fetch_handler handler = {
		.owner = dcgm,
		.head = take_head,
		.body = take_body,
		.done = finish,
	};
	return fetch_start(dcgm->fetcher, &request, &handler, &dcgm->fetch, err);
}

static bool is_due(const struct dcgm *dcgm, uint64_t now_ms)
{
	return dcgm->config.url[0] && !dcgm->is_busy &&
	       (dcgm->counts.scrapes == 0 || now_ms - dcgm->last_ms >= DCGM_INTERVAL_MS);
}

void dcgm_scrape(struct dcgm *dcgm, uint64_t now_ms)
{
	if (!is_due(dcgm, now_ms))
		return;
	dcgm->is_busy = true;
	dcgm->counts.scrapes++;
	dcgm->last_ms = now_ms;
	dcgm->asked_wall = clock_wall_ms();
	dcgm->started_at = clock_monotonic_ms();
	dcgm->status = 0;
	dcgm->n_bytes = 0;
	promtext_init(&dcgm->text, LIMIT_PROMTEXT_LINE);
	if (start(dcgm, &dcgm->error) < 0)
		loop_timer_set(dcgm->later, 0);
}

bool dcgm_is_busy(const struct dcgm *dcgm)
{
	return dcgm->is_busy;
}

static void freep(struct dcgm **dcgm)
{
	dcgm_free(*dcgm);
}

int dcgm_new(struct loop *loop, struct fetcher *fetcher, const struct dcgm_config *config,
	     dcgm_fn finished, void *owner, struct dcgm **ret_dcgm, struct error *err)
{
	CLEANUP(freep) struct dcgm *dcgm = calloc(1, sizeof(*dcgm));
	if (!dcgm)
		return error_no_memory(err);
	dcgm->fetcher = fetcher;
	dcgm->config = *config;
	dcgm->finished = finished;
	dcgm->owner = owner;
	if (!config->url[0])
		source_state_vanish(&dcgm->source, VIEW(OFF));
	if (loop_timer_new(loop, finish_later, dcgm, &dcgm->later, err) < 0)
		return -1;
	*ret_dcgm = TAKE(dcgm);
	return 0;
}

void dcgm_free(struct dcgm *dcgm)
{
	if (!dcgm)
		return;
	fetch_cancel(dcgm->fetch);
	loop_timer_free(dcgm->later);
	promtext_deinit(&dcgm->text);
	dcgm_figures_deinit(&dcgm->fresh);
	dcgm_figures_deinit(&dcgm->last);
	free(dcgm);
}

const struct dcgm_figure *dcgm_find(const struct dcgm *dcgm, struct view uuid,
				    int64_t gpu_instance_id, uint64_t *ret_asked_ms)
{
	const struct dcgm_figure *figure = dcgm_figures_find(&dcgm->last, uuid, gpu_instance_id);
	if (figure)
		*ret_asked_ms = dcgm->good_ms;
	return figure;
}

int64_t dcgm_percent(const struct dcgm *dcgm, struct view uuid, int64_t gpu_instance_id,
		     uint64_t now_ms)
{
	uint64_t asked_ms;
	const struct dcgm_figure *figure = dcgm_find(dcgm, uuid, gpu_instance_id, &asked_ms);
	/* A driver that answers late may have been asked before the scrape was begun. */
	if (!figure || now_ms > asked_ms + DCGM_FRESH_MS)
		return -1;
	double percent = figure->engine_active * 100;
	if (figure->utilization > percent)
		percent = figure->utilization;
	/* 0.29 is a little less than it says. */
	return (int64_t)(percent + 1e-6);
}

/* Without its GPU instance it would get the figure of the whole device. */
static int64_t percent_of_partition(const struct dcgm *dcgm, struct view uuid,
				    const struct report_partition *part, uint64_t now_ms)
{
	return part->gpu_instance_id < 0
		       ? -1
		       : dcgm_percent(dcgm, uuid, part->gpu_instance_id, now_ms);
}

void dcgm_offer(const struct dcgm *dcgm, uint64_t now_ms, struct array devices)
{
	if (!dcgm->config.url[0])
		return;
	for (uint32_t i = 0; i < devices.count; i++) {
		struct report_device *device = ARRAY_AT(devices, struct report_device, i);
		activity_windows_offer(&device->activity, REPORT_ACTIVITY_DCGM,
				       dcgm_percent(dcgm, device->uuid, -1, now_ms));
		for (uint32_t j = 0; j < device->partitions.count; j++) {
			struct report_partition *part =
				ARRAY_AT(device->partitions, struct report_partition, j);
			activity_windows_offer(&part->activity, REPORT_ACTIVITY_DCGM,
					       percent_of_partition(dcgm, device->uuid, part,
								    now_ms));
		}
	}
}

void dcgm_tell(const struct dcgm *dcgm, struct report *report)
{
	report->sources.dcgm = dcgm->source.said;
}

struct dcgm_counts dcgm_count(const struct dcgm *dcgm)
{
	return dcgm->counts;
}
