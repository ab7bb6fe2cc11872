/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Processes that NVML lists, and the pods that their cgroups name. Each process is a tenant's, or a
 * user's, or that of somebody who will be or was a tenant and is waited for. The server of MPS is none
 * of these: it works for all clients of the device.
 *
 * A process is a tenant's unless it is in another container of the pod, or on a partition that the
 * tenant does not hold. Until the status of a pod with several containers tells the process'
 * container, it is neither a user nor a witness. Nor is a new one a user whose pod may hold the device.
 *
 * How long a user must have been seen says users.def. If there is no room for it, what is left out is a
 * lower bound. A process that names a pod of another node counts as one of no pod.
 *
 * Memory is as of the last change: it moves all the time, which alone is no reason to write.
 */

#include "join/subject.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "assess/process_set.h"
#include "assess/sharing.h"
#include "base/limits.h"
#include "join/arbitrate.h"
#include "join/from_resource_claim.h"
#include "join/users.def"

#define PID_SIZE 24u /* of a number as text */

/* A tenant. */
struct candidate {
	struct attribution_tenant *tenant;
	bool is_anywhere; /* it may be on any partition: which it holds is not known, or not listed */
	bool is_untold;   /* not all processes of its pod could be told apart */
	bool are_untold;  /* it is found first of a pod with several: so are all of them */
};

struct finder {
	struct subject *subject;
	bool has_server; /* of MPS */
	struct keyed seen; /* the processes looked at (assess/process_set.h) */
	struct candidate *candidates; /* of the tenants */
	struct keyed by_uid;          /* these, by pod UID */
	struct attribution_user *found;
	size_t n_found;
	int64_t n_waiting;
	int64_t n_unknown; /* that could not be looked at */
};

/* A process, and whose it is. */
struct suspect {
	const struct report_process *process;
	struct view pod_uid;                   /* empty: no pod's */
	const struct pod *pod;                 /* NULL: the API server does not know it */
	const struct pod_container *container; /* NULL: it may be any of the pod's */
	const struct attribution_past_tenant *past; /* its pod was this tenant; NULL: none */
	bool is_past;                               /* its pod was a tenant, or is over */
};

/* Where there is a server, it has this name, of which the kernel keeps 15 bytes. */
static bool is_server(const struct finder *finder, const struct report_process *process)
{
	return finder->has_server && process->kind != REPORT_PROCESS_MPS &&
	       view_starts_with(process->command, VIEW("nvidia-cuda-mps"));
}

/* Whose a process is */

/* That the pod was a tenant of the device; NULL: it never was, that is known. */
static const struct attribution_past_tenant *find_past(const struct finder *finder, struct view uid)
{
	ARRAY_EACH(const struct attribution_past_tenant, past, finder->subject->status->recent_tenants)
		if (view_equal(past->pod_uid, uid))
			return past;
	return NULL;
}

/* NULL: there is no such pod, or its status does not tell. */
static const struct pod_container *find_container(const struct pod *pod, struct view id)
{
	const struct array containers = pod ? pod_gpu(pod)->containers : (struct array){0};
	ARRAY_EACH(const struct pod_container, c, containers)
		if (c->id.len > 0 && view_equal(c->id, id))
			return c;
	return NULL;
}

static struct suspect identify(struct finder *finder, const struct report_process *process)
{
	const struct node_pods *node_pods = &finder->subject->facts->node_pods;
	const struct pod *pod = node_pods_find_uid(node_pods, process->pod_uid);
	struct view uid = pod ? pod_uid(pod) : process->pod_uid;
	if (!pod && node_pods_is_elsewhere(node_pods, uid)) {
		finder->subject->entries_refused++;
		return (struct suspect){.process = process};
	}
	const struct facts *facts = finder->subject->facts;
	const struct attribution_past_tenant *past = find_past(finder, uid);
	const bool has_ended = pod ? pod_is_over(pod) : view_is_found(uid, facts->ended, facts->n_ended);
	return (struct suspect){process, uid, pod, find_container(pod, process->container_id), past,
				past || has_ended};
}

/* The status of its pod, which has several containers, does not tell yet which of them it is in. */
static bool is_untold(const struct suspect *suspect)
{
	const struct pod *pod = suspect->pod;
	return pod && !suspect->container && suspect->process->container_id.len > 0 &&
	       (pod_gpu(pod)->containers.count > 1 || pod_gpu(pod)->containers_left_out > 0 ||
		pod_gpu(pod)->ephemeral_left_out > 0);
}

/* Tenants */

static bool is_anywhere(const struct finder *finder, const struct attribution_tenant *tenant)
{
	size_t n_facts;
	const struct fact *facts = facts_of_holder(finder->subject->facts, finder->subject->index,
						   tenant->pod_uid, tenant->container, &n_facts);
	for (size_t i = 0; i < n_facts; i++)
		if (facts[i].partition.len == 0)
			return true;
	return tenant->partitions.count == 0 || tenant->partitions_left_out > 0;
}

static bool may_be_of(const struct candidate *candidate, const struct suspect *suspect)
{
	const struct attribution_tenant *tenant = candidate->tenant;
	const struct view partition = suspect->process->partition;
	return (!suspect->container || view_equal(tenant->container, suspect->container->name)) &&
	       (partition.len == 0 || candidate->is_anywhere ||
		view_is_among(partition, tenant->partitions.items, tenant->partitions.count));
}

/* If it may be of several of the pod's containers, the number of none of them is known. */
static bool credit_tenant(struct finder *finder, const struct suspect *suspect)
{
	const bool is_any = is_untold(suspect);
	const bool is_anywhere = !suspect->container && suspect->process->partition.len == 0;
	const struct keyed_key key = KEYED_KEY(suspect->pod_uid);
	struct candidate *found = keyed_find(&finder->by_uid, key), *first = NULL;
	size_t n = 0;
	/* A report can name thousands of a pod with hundreds of tenants. */
	if (is_anywhere && found && found->are_untold)
		return true;
	KEYED_EACH(item, &finder->by_uid, key) {
		struct candidate *candidate = item->value;
		if (!may_be_of(candidate, suspect))
			continue;
		first = n++ == 0 ? candidate : first;
		candidate->is_untold |= n > 1 || is_any;
	}
	if (n > 1) {
		first->is_untold = true;
		found->are_untold |= is_anywhere;
	}
	if (n == 1 && !is_any) {
		first->tenant->processes++;
		first->tenant->memory_mib += suspect->process->memory_mib;
	}
	return n > 0;
}

/* It is the last of the witnesses, and has room behind those that are there. */
static void witness(struct attribution_tenant *tenant)
{
	struct view *texts = tenant->witnesses.items;
	tenant->confidence = arbitrate_bear_out(tenant->confidence);
	if (wording_witnesses_of(tenant->witnesses) & WITNESS_PROCESSES)
		return;
	assert(tenant->witnesses.count < N_WITNESSES);
	texts[tenant->witnesses.count++] = wording_witness(N_WITNESSES - 1);
}

/* Of a pod that the API server does not know, the process may be in any container. */
static void conclude_tenants(struct finder *finder)
{
	const struct candidate *candidate = finder->candidates;
	ARRAY_EACH(struct attribution_tenant, tenant, finder->subject->status->tenants) {
		if (candidate++->is_untold)
			tenant->processes = tenant->memory_mib = 0;
		if (tenant->processes > 0 && !attribution_is_unknown(tenant))
			witness(tenant);
	}
}

/* Users */

static int by_key(const void *a, const void *b)
{
	const struct attribution_user *x = a, *y = b;
	int order = view_compare(x->pod_uid, y->pod_uid);
	if (!order)
		order = (x->pid > y->pid) - (x->pid < y->pid);
	return order ? order : view_compare(x->command, y->command);
}

static const struct attribution_user *find_published(const struct finder *finder, const struct attribution_user *user)
{
	const struct attribution_status *published = finder->subject->published;
	const struct array listed = published ? published->unallocated_users : (struct array){0};
	ARRAY_EACH(const struct attribution_user, found, listed)
		if (by_key(found, user) == 0)
			return found;
	return NULL;
}

enum user_row {
#define USER_ROW(name, ...) USER_##name,
	USER_RULES(USER_ROW)
};

static enum user_row find_row(const struct suspect *suspect)
{
	if (suspect->is_past)
		return USER_PAST;
	if (suspect->pod_uid.len == 0)
		return USER_NO_POD;
	return suspect->pod ? USER_NO_SLOT : USER_UNKNOWN_POD;
}

/*
 * Whose pod was a tenant or is over may end yet: the driver must still list it after that time. A pod
 * that is not told of may hold by what names no UID: a claim, a KAI group, a reused name.
 */
static int64_t find_wait(const struct join_limits *limits, const struct suspect *suspect)
{
#define USER_WAIT(name, word, waits_ms, text) [USER_##name] = limits->waits_ms,
	const int64_t waits[] = {USER_RULES(USER_WAIT)};
	const int64_t wait = waits[find_row(suspect)];

	return suspect->is_past || wait > limits->disagreement_ms ? wait : limits->disagreement_ms;
}

static bool counts(const struct finder *finder, const struct suspect *suspect, bool is_published)
{
	char pid[PID_SIZE];
	int len = snprintf(pid, sizeof(pid), "%" PRId64, suspect->process->pid);
	const struct debounce_subject fact = {
		.kind = DEBOUNCE_USER,
		.device = finder->subject->device->uuid,
		.pod_uid = suspect->pod_uid,
		.subject = {pid, (size_t)len},
		.waits_ms = find_wait(finder->subject->facts->input->limits, suspect),
		.needs_report = suspect->is_past,
		.is_published = is_published,
	};
	return debounce_counts(finder->subject->debounce, &fact);
}

/*
 * True when the kubelet's sources would name it. The List names pods by name. That tells nothing of a
 * pod whose name is not known, or that has not started (join/from_pod_resources.c). It leaves out
 * ordinary init containers. Where there is no checkpoint, no plugin has given anything.
 */
static bool would_be_named(const struct facts *facts, const struct suspect *suspect)
{
	bool is_init = suspect->container && suspect->container->kind == POD_CONTAINER_INIT;
	bool has_started = suspect->pod && pod_gpu(suspect->pod)->started_at > 0;
	return source_is_good(facts->source.checkpoint) ||
	       facts->input->report->sources.checkpoint.state == REPORT_SOURCE_ABSENT ||
	       (has_started && !is_init && facts->source.pod_resources == SOURCE_COMPLETE);
}

/* Tenants that the list has no room for are not known by name here. */
static bool may_hold(const struct finder *finder, const struct suspect *suspect)
{
	const struct facts *facts = finder->subject->facts;
	if (suspect->pod_uid.len == 0 || suspect->is_past ||
	    (suspect->container && suspect->container->kind == POD_CONTAINER_EPHEMERAL))
		return false;
	return finder->subject->status->tenants_left_out > 0 || !would_be_named(facts, suspect) ||
	       from_resource_claim_is_unheard(facts, suspect->pod) ||
	       facts_have_unknown(facts, finder->subject->index, suspect->pod_uid);
}

/* Where the API server does not know the pod any more, what was published of it stays. */
static void add_user(struct finder *finder, const struct suspect *suspect)
{
	const struct attribution_past_tenant *past = suspect->past;
	struct attribution_user user = {
		.pod_uid = suspect->pod_uid,
		.pod_namespace = past ? past->pod_namespace : (struct view){0},
		.pod_name = past ? past->pod_name : (struct view){0},
		.command = suspect->process->command,
		.pid = suspect->process->pid,
		.start_time = finder->subject->facts->input->now_wall_ms,
	};
	const struct attribution_user *before = find_published(finder, &user);

	/* Who was one before its pod was told may be a tenant. */
	if (((!before || (suspect->pod && before->pod_name.len == 0)) && may_hold(finder, suspect)) ||
	    !counts(finder, suspect, before != NULL)) {
		finder->n_waiting++;
		return;
	}
	if (before)
		user = *before;
	user.memory_mib = suspect->process->memory_mib;
	if (suspect->container)
		user.container = suspect->container->name;
	if (suspect->pod) {
		user.pod_namespace = pod_namespace(suspect->pod);
		user.pod_name = pod_name(suspect->pod);
	}
	finder->found[finder->n_found++] = user;
}

static void judge(struct finder *finder, const struct report_process *process)
{
	struct suspect suspect = identify(finder, process);
	/* The agent could not look at it: it has ended, or is too new, or one of too many. */
	if (suspect.pod_uid.len == 0 && process->command.len == 0) {
		finder->n_unknown++;
		return;
	}
	if (!credit_tenant(finder, &suspect) && !is_server(finder, process))
		add_user(finder, &suspect);
}

/* The result */

/* Sorts the users, and lists a process once that is on several partitions. */
static void list_users(struct finder *finder)
{
	const struct attribution_status *published = finder->subject->published;
	struct attribution_user *found = finder->found;
	uint32_t n = 0, n_listed;
	qsort(found, finder->n_found, sizeof(*found), by_key);
	for (size_t i = 0; i < finder->n_found; i++)
		if (n == 0 || by_key(&found[n - 1], &found[i]) != 0)
			found[n++] = found[i];
	assert(n <= finder->n_found);
	n_listed = n < LIMIT_UNALLOCATED_USERS ? n : LIMIT_UNALLOCATED_USERS;
	finder->subject->status->unallocated_users = (struct array){found, n_listed, true};
	finder->subject->status->unallocated_users_left_out =
		debounce_left_out(n - n_listed, finder->n_waiting,
				  published ? published->unallocated_users_left_out : 0);
}

/*
 * If the source works and has a message, that says what it lacks. Some processes could then not be
 * looked at for another reason than that they ended or are too new.
 */
static int64_t count_unknown(const struct finder *finder)
{
	const struct join_input *input = finder->subject->facts->input;
	const struct debounce_subject fact = {
		.kind = DEBOUNCE_UNKNOWN,
		.device = finder->subject->device->uuid,
		.waits_ms = input->limits->disagreement_ms,
		.is_published = finder->subject->published && finder->subject->published->unknown_processes > 0,
	};
	if (finder->n_unknown == 0 || input->report->sources.processes.message.len == 0)
		return 0;
	return debounce_counts(finder->subject->debounce, &fact) ? finder->n_unknown : 0;
}

/* Each begins with no processes. */
static void index_tenants(struct finder *finder, bool has_processes)
{
	struct candidate *candidate = finder->candidates;
	ARRAY_EACH(struct attribution_tenant, tenant, finder->subject->status->tenants) {
		tenant->processes = tenant->memory_mib = 0;
		if (!has_processes)
			continue;
		*candidate = (struct candidate){.tenant = tenant, .is_anywhere = is_anywhere(finder, tenant)};
		keyed_add(&finder->by_uid, KEYED_KEY(tenant->pod_uid), candidate++);
	}
}

static int find(struct finder *finder, struct error *err)
{
	const struct report_process *processes = finder->subject->device->reported->processes.items;
	const uint32_t n_processes = finder->subject->device->reported->processes.count;
	struct arena *arena = finder->subject->arena;
	if (!ARENA_NEW(finder->found, arena, n_processes) ||
	    !ARENA_NEW(finder->candidates, arena, finder->subject->status->tenants.count))
		return error_no_memory(err);
	finder->seen.arena = finder->by_uid.arena = arena;
	index_tenants(finder, n_processes > 0);
	for (uint32_t i = 0; i < n_processes; i++)
		if (process_set_add(&finder->seen, &processes[i]))
			judge(finder, &processes[i]);
	assert(finder->n_found <= n_processes);
	conclude_tenants(finder);
	list_users(finder);
	finder->subject->status->unknown_processes = count_unknown(finder);
	return arena_check(arena, err);
}

/* As published. */
static void carry(const struct finder *finder)
{
	const struct attribution_status *published = finder->subject->published;
	const struct previous *previous = finder->subject->device->published;
	uint32_t next = 0; /* both are in one order, so most often it is this one */
	ARRAY_EACH(struct attribution_tenant, tenant, finder->subject->status->tenants) {
		const struct previous_tenant *was =
			previous_find_from(previous, &next, tenant->pod_uid, tenant->container);
		tenant->processes = was ? was->published->processes : 0;
		tenant->memory_mib = was ? was->published->memory_mib : 0;
	}
	finder->subject->status->unallocated_users = published->unallocated_users;
	finder->subject->status->unallocated_users_left_out = published->unallocated_users_left_out;
	finder->subject->status->unknown_processes = published->unknown_processes;
}

int users_find(struct subject *subject, struct error *err)
{
	const struct report *report = subject->facts->input->report;
	/* ABSENT: the agent may look at processes no more, and nobody wants old users. */
	int state = report ? (int)report->sources.processes.state : REPORT_SOURCE_UNKNOWN;
	const bool is_frozen = subject->facts->is_frozen;
	const struct report_device *reported = subject->device->reported;
	struct finder finder = {.subject = subject};

	if (state == REPORT_SOURCE_OK && !is_frozen &&
	    subject->facts->devices->nvml == REPORT_LIST_GOOD && reported &&
	    reported->processes.present) {
		/* That the compute mode is one that MPS needs shows no server: anybody may be alone there. */
		finder.has_server = subject->status->sharing.mode == ATTRIBUTION_MODE_MPS ||
				    sharing_has_mps_process(reported);
		return find(&finder, err);
	}
	if ((state != REPORT_SOURCE_ABSENT || is_frozen) && subject->published)
		carry(&finder);
	return 0;
}
