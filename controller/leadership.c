/* SPDX-License-Identifier: Apache-2.0 */

/*
 * One timer does it all: it asks the lease what to do next, and looks whether the lead has begun or ended.
 * The end comes by time alone, so the timer is set for that as well.
 */

#include "controller/leadership.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/prng.h"
#include "kube/lease.h"
#include "kube/reflector.h"

#define LOOK_SOON_MS 2000u
#define MAX_HOST_NAME 256
#define MAX_WAIT_MS 60000u

struct leadership {
	struct leadership_config config;
	char namespace[LIMIT_TEXT_LABEL + 1];
	char name[LIMIT_TEXT_NAME + 1];
	char selector[LIMIT_TEXT_NAME + 16];
	char trouble[LIMIT_URL];
	char identity[MAX_HOST_NAME + 32];
	struct resource resource;
	struct lease *lease;
	struct reflector *watch;
	bool is_listed; /* the Lease was in the list under way */
	struct apiclient_request *request;
	struct loop_timer *timer;
	bool runs;        /* for the lead, or gives the Lease up */
	bool leads;       /* as was told */
	bool is_released; /* likewise */
	struct leadership_counters counters;
};

static void wake(struct leadership *leadership)
{
	loop_timer_set(leadership->timer, 0);
}

/* Telling */

static void note_lead(struct leadership *leadership, bool leads)
{
	leadership->leads = leads;
	leadership->counters.taken += leads;
	leadership->counters.lost += !leads;
	if (leads)
		LOG_INFO("This replica leads and writes",
			 LOG_TEXT("lease", view_from(leadership->name)));
	else
		LOG_WARN("This replica lost the lead and writes nothing",
			 LOG_TEXT("lease", view_from(leadership->name)),
			 LOG_TEXT("holder", leadership_holder(leadership)),
			 LOG_TEXT("reason", view_from(lease_failure(leadership->lease)->text)));
	leadership->config.changed(leadership->config.owner);
}

static void note_finished(struct leadership *leadership)
{
	if (leadership->is_released)
		return;
	leadership->is_released = true;
	leadership->config.released(leadership->config.owner);
}

/* Requests */

static void answered(void *owner, int status, struct view body, const struct error *error)
{
	struct leadership *leadership = owner;

	(void)status;
	leadership->request = NULL;
	/* A lead that has ended and that this answer renews is another one: its start is told. */
	if (leadership->leads && !leadership_leads(leadership))
		note_lead(leadership, false);
	lease_answered(leadership->lease, body, error, clock_boot_ms());
	wake(leadership);
}

static void send(struct leadership *leadership, const struct lease_request *request)
{
	const struct apiclient_call call = {
		.method = request->method,
		.path = request->path,
		.content_type = request->body.len > 0 ? "application/json" : NULL,
		.body = request->body,
		.timeout_ms = request->timeout_ms,
		.is_apart = true,
	};
	struct error error;

	if (apiclient_send(leadership->config.client, &call, answered, leadership,
			   &leadership->request, &error) == 0)
		return;
	leadership->request = NULL;
	lease_answered(leadership->lease, (struct view){NULL, 0}, &error, clock_boot_ms());
}

/* Until the lease has something to do, or the lead ends. */
static void set_timer(struct leadership *leadership, uint64_t until, uint64_t now)
{
	uint64_t end = lease_leads_until(leadership->lease);

	if (leadership->leads && end > now && end < until)
		until = end;
	if (until > now + MAX_WAIT_MS)
		until = now + MAX_WAIT_MS;
	loop_timer_set(leadership->timer, until > now ? until - now : 0);
}

/* The Lease is part of the manifests, so that the right to create Leases is not needed. */
static void note_trouble(struct leadership *leadership)
{
	const struct error *failure = lease_failure(leadership->lease);
	char *trouble = leadership->trouble;

	if (failure->kind == ERROR_NOT_FOUND)
		snprintf(trouble, LIMIT_URL, "no Lease %s/%s: apply manifests/controller/lease.yaml",
			 leadership->namespace, leadership->name);
	else if (failure->kind == ERROR_DENIED)
		snprintf(trouble, LIMIT_URL, "apply manifests/controller/rbac.yaml: %s",
			 failure->text);
	else
		snprintf(trouble, LIMIT_URL, "%s", failure->text);
}

static void on_timer(void *owner)
{
	struct leadership *leadership = owner;
	const uint64_t now = clock_boot_ms();
	struct lease_request request = {.wait_until = now};

	if (!leadership->runs)
		return;
	switch (lease_next(leadership->lease, now, clock_wall_ms(), &request)) {
	case LEASE_REQUEST:
		send(leadership, &request);
		break;
	case LEASE_FINISHED:
		note_finished(leadership);
		return;
	case LEASE_WAIT:
		break;
	}
	note_trouble(leadership);
	if (leadership->leads != leadership_leads(leadership))
		note_lead(leadership, !leadership->leads);
	set_timer(leadership, request.wait_until, now);
}

/* The watch */

static void begin_replace(void *owner)
{
	((struct leadership *)owner)->is_listed = false;
}

static void end_replace(void *owner)
{
	struct leadership *leadership = owner;

	if (!leadership->is_listed)
		lease_is_gone(leadership->lease);
	wake(leadership);
}

static int take_object(void *owner, enum reflector_change change, const struct object_meta *meta,
		       struct view document, struct error *err)
{
	struct leadership *leadership = owner;

	(void)err;
	if (!view_equal(meta->name, view_from(leadership->name)))
		return 0;
	leadership->is_listed = true;
	if (change == REFLECTOR_DELETE)
		lease_is_gone(leadership->lease);
	else
		lease_observed(leadership->lease, document, clock_boot_ms());
	wake(leadership);
	return 0;
}

static int start_watch(struct leadership *leadership, struct error *err)
{
	const struct reflector_sink sink = {
		.owner = leadership,
		.replace_begin = begin_replace,
		.replace_end = end_replace,
		.object = take_object,
	};
	const struct reflector_config config = {
		.resource = &leadership->resource,
		.initial = REFLECTOR_LIST,
		.absent_retry_ms = LOOK_SOON_MS,
		.seed = leadership->config.seed,
	};

	snprintf(leadership->selector, sizeof(leadership->selector), "metadata.name=%s",
		 leadership->name);
	leadership->resource = (struct resource){
		.group = "coordination.k8s.io",
		.version = "v1",
		.plural = "leases",
		.kind = "Lease",
		.encoding = RESOURCE_JSON,
		.field_selector = leadership->selector,
		.namespace = leadership->namespace,
	};
	if (reflector_new(&config, &sink, &leadership->watch, err) < 0)
		return -1;
	return apiclient_run(leadership->config.client, leadership->watch, err);
}

/* Making */

/* In a pod the host's name is the pod's. A restarted container has the same, hence the rest. */
static int make_lease(struct leadership *leadership, struct error *err)
{
	char host[MAX_HOST_NAME] = "";
	const struct leadership_config *config = &leadership->config;

	if (gethostname(host, sizeof(host) - 1) != 0)
		host[0] = '\0';
	snprintf(leadership->identity, sizeof(leadership->identity), "%s_%016llx", host,
		 (unsigned long long)config->seed);
	const struct lease_config lease = {
		.namespace = view_from(leadership->namespace),
		.name = view_from(leadership->name),
		.identity = view_from(leadership->identity),
		.duration_ms = config->duration_ms,
		.renew_deadline_ms = config->renew_deadline_ms,
		.retry_ms = config->retry_ms,
	};
	return lease_new(&lease, &leadership->lease, err);
}

static int copy_name(const char *from, char *to, size_t size, struct error *err)
{
	if ((size_t)snprintf(to, size, "%s", from) >= size)
		return error_set(err, ERROR_LIMIT, 0, "--leader-elect-lease-name or --namespace is too long");
	return 0;
}

static void leadership_freep(struct leadership **leadership)
{
	leadership_free(*leadership);
}

int leadership_new(const struct leadership_config *config, struct leadership **ret_leadership,
		   struct error *err)
{
	CLEANUP(leadership_freep) struct leadership *leadership = calloc(1, sizeof(*leadership));

	if (!leadership)
		return error_no_memory(err);
	leadership->config = *config;
	if (copy_name(config->namespace, leadership->namespace, sizeof(leadership->namespace), err) <
		    0 ||
	    copy_name(config->name, leadership->name, sizeof(leadership->name), err) < 0 ||
	    make_lease(leadership, err) < 0 ||
	    loop_timer_new(config->loop, on_timer, leadership, &leadership->timer, err) < 0 ||
	    start_watch(leadership, err) < 0)
		return -1;
	*ret_leadership = TAKE(leadership);
	return 0;
}

void leadership_run(struct leadership *leadership)
{
	if (!leadership || leadership->runs)
		return;
	leadership->runs = true;
	LOG_INFO("Leader election started", LOG_TEXT("lease", view_from(leadership->name)),
		 LOG_TEXT("identity", view_from(leadership->identity)));
	wake(leadership);
}

void leadership_free(struct leadership *leadership)
{
	if (!leadership)
		return;
	loop_timer_free(leadership->timer);
	reflector_free(leadership->watch);
	lease_free(leadership->lease);
	free(leadership);
}

/* Asking */

uint64_t leadership_leads_until(const struct leadership *leadership)
{
	uint64_t until;

	if (!leadership)
		return UINT64_MAX;
	until = lease_leads_until(leadership->lease);
	return until > clock_boot_ms() ? until : 0;
}

bool leadership_leads(const struct leadership *leadership)
{
	return leadership_leads_until(leadership) > 0;
}

void leadership_release(struct leadership *leadership)
{
	leadership->runs = true;
	leadership->leads = false;
	lease_release(leadership->lease);
	wake(leadership);
}

struct view leadership_holder(const struct leadership *leadership)
{
	return leadership ? lease_holder(leadership->lease) : VIEW("");
}

int64_t leadership_term(const struct leadership *leadership)
{
	const int64_t transitions = leadership ? lease_transitions(leadership->lease) : 0;

	return transitions > 0 ? transitions : 0;
}

const char *leadership_trouble(const struct leadership *leadership)
{
	return leadership ? leadership->trouble : "";
}

struct leadership_counters leadership_counters(const struct leadership *leadership)
{
	return leadership ? leadership->counters : (struct leadership_counters){0};
}
