/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What is known is one version of the object, and when it was first seen. Whoever holds it renews it,
 * the others watch its age.
 *
 * The proof that two never lead: let a renewal start at s and reach the API server at c. Its replica
 * leads until s + renew_deadline at most. Another one sees that version at o, which is not before c. It
 * takes over by a PUT of that very version at o + duration or later. If the first has renewed meanwhile,
 * the PUT fails. If it has not, its lead has ended: s + renew_deadline is before o + duration.
 *
 * After a PUT whose outcome is not known, and after any conflict, comes a GET. A Lease that names us is
 * ours only with the renewTime of a PUT of ours: otherwise somebody edited it, and who led may still lead.
 */

#include "kube/lease.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "kube/lease_record.h"

#define BODY_CAP (2u * LEASE_RECORD_BYTES)

enum request {
	REQUEST_NONE,
	REQUEST_GET,
	REQUEST_PUT,
};

struct lease {
	struct lease_config config; /* its texts lie in `texts` */
	struct arena texts;
	struct sbuf path;
	struct sbuf body;
	struct lease_record known; /* the last one that was seen */
	bool is_there;       /* one was seen, and has not gone since */
	bool must_look;      /* a GET comes before the next PUT */
	bool is_ours;        /* we wrote it */
	uint64_t changed_at; /* ms; when its version was first seen */
	uint64_t heard_at;   /* ms; when anything was heard of the Lease */
	enum request under_way;
	uint64_t started_at; /* ms; of the request under way or the last one */
	uint64_t put_at;     /* ms; of the last PUT */
	uint64_t not_before; /* ms; the next request */
	char written[LEASE_RECORD_TIME_SIZE]; /* renewTime of the last PUT that was answered well; "" */
	char sent[LEASE_RECORD_TIME_SIZE];    /* and of the last one that was sent */
	uint64_t leads_until;
	bool is_releasing;
	struct error failure; /* the last one; kind ERROR_NONE: there was none since */
};

/* Making */

static int init(struct lease *lease, const struct lease_config *config, struct error *err)
{
	lease->config = *config;
	arena_init(&lease->texts, 4u * LIMIT_URL);
	sbuf_init(&lease->path, LIMIT_URL);
	sbuf_init(&lease->body, BODY_CAP);
	if (!arena_copy(&lease->texts, config->identity, &lease->config.identity))
		return error_no_memory(err);
	sbuf_printf(&lease->path, "/apis/coordination.k8s.io/v1/namespaces/%.*s/leases/%.*s",
		    VIEW_ARG(config->namespace), VIEW_ARG(config->name));
	lease->config.namespace = lease->config.name = (struct view){NULL, 0}; /* in the path */
	lease->must_look = true;
	return sbuf_check(&lease->path, "path of the Lease", err);
}

int lease_new(const struct lease_config *config, struct lease **ret_lease, struct error *err)
{
	struct lease *lease = calloc(1, sizeof(*lease));

	assert(config->identity.len > 0 && config->retry_ms > 0);
	assert(config->retry_ms < config->renew_deadline_ms);
	assert(config->renew_deadline_ms < config->duration_ms);
	if (!lease)
		return error_no_memory(err);
	if (init(lease, config, err) < 0) {
		lease_free(lease);
		return -1;
	}
	*ret_lease = lease;
	return 0;
}

void lease_free(struct lease *lease)
{
	if (!lease)
		return;
	lease_record_deinit(&lease->known);
	sbuf_deinit(&lease->body);
	sbuf_deinit(&lease->path);
	arena_deinit(&lease->texts);
	free(lease);
}

/* What to do */

/* Whose clock is right does not matter: it is how long the holder itself counts on. */
static uint64_t expires_at(const struct lease *lease)
{
	uint64_t duration_ms = (uint64_t)lease->known.duration_s * 1000;

	if (lease_record_is_released(&lease->known))
		return 0;
	if (duration_ms > LEASE_MAX_DURATION_MS)
		duration_ms = LEASE_MAX_DURATION_MS;
	if (duration_ms < lease->config.duration_ms)
		duration_ms = lease->config.duration_ms;
	return lease->changed_at + duration_ms;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Two that fight for the Lease, or an editor in a loop, must not make us a third. */
static uint64_t put_due_at(const struct lease *lease)
{
	uint64_t spaced = lease->put_at == 0 ? 0 : lease->put_at + lease->config.retry_ms / 8;

	if (lease->is_releasing)
		return 0;
	return later(spaced, lease->is_ours ? lease->put_at + lease->config.retry_ms
					    : expires_at(lease));
}

/* A watch that tells of each renewal spares us this: it comes when one is overdue. */
static uint64_t get_due_at(const struct lease *lease)
{
	return lease->heard_at + lease->config.retry_ms + lease->config.retry_ms / 8;
}

/* The time for a second try is kept. */
static void fill_request(struct lease *lease, const char *method, uint64_t now,
			 struct lease_request *ret)
{
	*ret = (struct lease_request){
		.method = method,
		.path = sbuf_text(&lease->path),
		.timeout_ms = lease->config.renew_deadline_ms / 2,
	};
	lease->started_at = now;
}

static enum lease_step get(struct lease *lease, uint64_t now, struct lease_request *ret)
{
	fill_request(lease, "GET", now, ret);
	lease->under_way = REQUEST_GET;
	return LEASE_REQUEST;
}

static enum lease_step wait_until(uint64_t until, struct lease_request *ret)
{
	*ret = (struct lease_request){.wait_until = until};
	return LEASE_WAIT;
}

static void fail(struct lease *lease, const struct error *error, uint64_t now);

static void write_body(struct lease *lease, int64_t now_wall_ms)
{
	struct lease_record_change change = {
		.holder = lease->is_releasing ? VIEW("") : lease->config.identity,
		.duration_s = ((int64_t)lease->config.duration_ms + 999) / 1000,
	};

	lease_record_time(&lease->known, now_wall_ms, lease->sent);
	change.time = view_from(lease->sent);
	sbuf_clear(&lease->body);
	lease_record_write(&lease->known, &change, &lease->body);
}

static enum lease_step put(struct lease *lease, uint64_t now, int64_t now_wall_ms,
			   struct lease_request *ret)
{
	struct error error;

	fill_request(lease, "PUT", now, ret);
	lease->put_at = now;
	write_body(lease, now_wall_ms);
	if (sbuf_check(&lease->body, "Lease", &error) < 0) {
		fail(lease, &error, now);
		return wait_until(lease->not_before, ret);
	}
	ret->body = sbuf_view(&lease->body);
	lease->under_way = REQUEST_PUT;
	return LEASE_REQUEST;
}

/* A GET changes nothing, so it is not waited for. */
static bool is_finished(const struct lease *lease)
{
	return lease->is_releasing && lease->under_way != REQUEST_PUT &&
	       (lease->put_at == 0 || (!lease->must_look && !lease->is_ours));
}

enum lease_step lease_next(struct lease *lease, uint64_t now, int64_t now_wall_ms,
			   struct lease_request *ret_request)
{
	uint64_t put_at, get_at;

	if (is_finished(lease))
		return LEASE_FINISHED;
	if (lease->under_way != REQUEST_NONE)
		return wait_until(UINT64_MAX, ret_request);
	if (now < lease->not_before)
		return wait_until(lease->not_before, ret_request);
	if (lease->must_look)
		return get(lease, now, ret_request);
	put_at = put_due_at(lease);
	get_at = lease->is_ours ? UINT64_MAX : get_due_at(lease);
	if (now >= put_at)
		return put(lease, now, now_wall_ms, ret_request);
	if (now >= get_at)
		return get(lease, now, ret_request);
	return wait_until(put_at < get_at ? put_at : get_at, ret_request);
}

/* What came */

static bool is_written_by_us(const struct lease *lease, const struct lease_record *record)
{
	return view_equal(record->holder, lease->config.identity) && record->renewed.len > 0 &&
	       (view_equal(record->renewed, view_from(lease->written)) ||
		view_equal(record->renewed, view_from(lease->sent)));
}

/* Takes the record over. What somebody else holds we do not lead. */
static void know(struct lease *lease, struct lease_record *take_record, uint64_t now)
{
	if (!lease->is_there || !view_equal(lease->known.version, take_record->version))
		lease->changed_at = now;
	lease->heard_at = now;
	lease->is_there = true;
	lease->must_look = false;
	lease->is_ours = is_written_by_us(lease, take_record);
	lease_record_deinit(&lease->known);
	lease->known = *take_record;
	*take_record = (struct lease_record){0};
	if (!lease->is_ours)
		lease->leads_until = 0;
}

static bool is_older(const struct lease *lease, const struct lease_record *record)
{
	return lease->is_there && record->number != 0 && record->number < lease->known.number;
}

static void lose(struct lease *lease)
{
	lease->is_there = false;
	lease->is_ours = false;
	lease->must_look = true;
}

static void fail(struct lease *lease, const struct error *error, uint64_t now)
{
	uint32_t pause_ms = lease->config.retry_ms;

	lease->must_look = true;
	lease->not_before = now;
	if (error->kind == ERROR_CONFLICT)
		return;
	lease->failure = *error;
	if (error->kind == ERROR_NOT_FOUND) {
		lose(lease);
		lease->leads_until = 0;
	}
	if (error->retry_after_ms > pause_ms)
		pause_ms = error->retry_after_ms < lease->config.duration_ms
				   ? error->retry_after_ms
				   : lease->config.duration_ms;
	lease->not_before = later(now, lease->started_at + pause_ms);
}

/* A watch may have told of a later one already. */
static void take_put(struct lease *lease, struct lease_record *record, uint64_t now)
{
	memcpy(lease->written, lease->sent, sizeof(lease->written));
	if (!is_older(lease, record))
		know(lease, record, now);
	if (lease->is_ours && !lease->is_releasing)
		lease->leads_until = lease->started_at + lease->config.renew_deadline_ms;
}

void lease_answered(struct lease *lease, struct view body, const struct error *error, uint64_t now)
{
	CLEANUP(lease_record_deinit) struct lease_record record = {0};
	enum request request = lease->under_way;
	struct error malformed;

	assert(request != REQUEST_NONE);
	lease->under_way = REQUEST_NONE;
	if (!error && lease_record_read(body, &record, &malformed) < 0)
		error = &malformed;
	if (error) {
		fail(lease, error, now);
		return;
	}
	error_clear(&lease->failure);
	lease->not_before = 0;
	if (request == REQUEST_PUT)
		take_put(lease, &record, now);
	else
		know(lease, &record, now);
}

void lease_observed(struct lease *lease, struct view object, uint64_t now)
{
	CLEANUP(lease_record_deinit) struct lease_record record = {0};
	struct error error;

	if (lease_record_read(object, &record, &error) < 0 || is_older(lease, &record))
		return;
	know(lease, &record, now);
	lease->not_before = 0;
}

void lease_is_gone(struct lease *lease)
{
	lose(lease);
	lease->not_before = 0;
}

void lease_release(struct lease *lease)
{
	lease->is_releasing = true;
	lease->leads_until = 0;
}

uint64_t lease_leads_until(const struct lease *lease)
{
	return lease->leads_until;
}

bool lease_leads(const struct lease *lease, uint64_t now)
{
	return now < lease->leads_until;
}

struct view lease_holder(const struct lease *lease)
{
	return lease->is_there ? lease->known.holder : (struct view){NULL, 0};
}

int64_t lease_transitions(const struct lease *lease)
{
	return lease->is_there ? lease->known.transitions : -1;
}

const struct error *lease_failure(const struct lease *lease)
{
	return &lease->failure;
}
