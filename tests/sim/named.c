/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The driver, the kubelet's records and the API server are read at different instants, and what one
 * of them said stays published while it is silent. So what is written is compared with the past. A
 * user must have been on the device without a slot at some moment. A former tenant must have held
 * it, and a witness must have been there. At rest it must be so now.
 */

#include "sim/named.h"

#include <stdio.h>
#include <string.h>

#include "sim/device_manager.h"
#include "sim/claims.h"
#include "sim/clockwork.h"
#include "sim/oracle.h"
#include "sim/rest.h"
#include "sim/sharers.h"
#include "sim/usage.h"

#define SHOWN_MS 60000u   /* a process that has been there for so long is known of */
#define PENDING_MS 20000u /* the controller's --pending-timeout */
#define FETCHED_MS 1500u  /* FAKE_NVML_PROCESS_NOTICE_MS, and what a reading takes */
#define STARTED_MS 2000   /* the start of a pod is told in seconds; and how long a reading takes */
#define SYNC_MS 2000u     /* a controller that starts is told of pods, and then of all else */
#define NEAR_MS 2500u     /* what is so close together may be told as one moment */

static const struct world_pod *find_pod(struct view uid)
{
	for (int i = 0; i < world.n_pods; i++)
		if (view_equal(view_from(world.pods[i].uid), uid))
			return &world.pods[i];
	return NULL;
}

static int find_container(const struct world_pod *pod, struct view name)
{
	for (int i = 0; i < pod->n_containers; i++)
		if (view_equal(view_from(pod->containers[i].name), name))
			return i;
	return -1;
}

bool named_is_by_process(const struct attribution_tenant *tenant)
{
	for (uint32_t i = 0; i < tenant->witnesses.count; i++)
		if (view_equal(*ARRAY_AT(tenant->witnesses, struct view, i), VIEW("Processes")))
			return true;
	return false;
}

static bool has_slot(const struct world_slot *slots, int n, int gpu, int partition)
{
	for (int i = 0; i < n; i++)
		if (slots[i].gpu == gpu &&
		    (partition < 0 || slots[i].partition < 0 || slots[i].partition == partition))
			return true;
	return false;
}

/* Now, or by the names that its devices had before. partition: -1, any. */
static bool is_on(const struct world_container *container, int gpu, int partition)
{
	return has_slot(container->slots, container->n_slots, gpu, partition) ||
	       has_slot(container->old_slots, container->n_old_slots, gpu, partition);
}

/* Times in which a pod held the device */

/* A pod of a group has what the group's reservations hold. */
static bool is_reservation_of(const struct world_pod *reservation, const struct world_pod *pod)
{
	return pod->group >= 0 && reservation->is_reservation && reservation->group == pod->group &&
	       reservation->node == pod->node;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* It held the device, and that partition of it, at that moment and up to the returned one. */
static uint64_t holds_until(const struct world_container *container,
			    const struct world_process *process, uint64_t at)
{
	const uint64_t until = container->held_until, renumbered_at = container->renumbered_at;

	if (container->held_from > at || until <= at)
		return at;
	if (at < renumbered_at)
		return has_slot(container->old_slots, container->n_old_slots, process->gpu,
				process->partition)
			       ? earlier(until, renumbered_at)
			       : at;
	return has_slot(container->slots, container->n_slots, process->gpu, process->partition)
		       ? until
		       : at;
}

/* It held them at some moment from then on, up to the second. */
static bool held_by_between(const struct world_container *container,
			    const struct world_process *process, uint64_t from, uint64_t to)
{
	return from <= to && is_on(container, process->gpu, process->partition) &&
	       container->held_from <= to && container->held_until > from;
}

static uint64_t is_covered_until(const struct world_process *process, uint64_t at)
{
	const struct world_pod *pod = &world.pods[process->pod];
	uint64_t until = holds_until(&pod->containers[process->container], process, at);

	for (int i = 0; i < world.n_pods; i++)
		if (is_reservation_of(&world.pods[i], pod)) {
			uint64_t end = holds_until(&world.pods[i].containers[0], process, at);

			until = end > until ? end : until;
		}
	return until;
}

static bool is_covered(const struct world_process *process, uint64_t to)
{
	for (uint64_t at = process->from; at < to;) {
		uint64_t until = is_covered_until(process, at);

		if (until == at)
			return false;
		at = until;
	}
	return true;
}

/* partition: -1, any. */
static bool held_between(const struct world_pod *pod, int gpu, int partition, uint64_t from,
			 uint64_t to)
{
	for (int i = 0; i < world.n_pods; i++) {
		const struct world_pod *other = &world.pods[i];
		bool is_its = other == world_holder(pod) || is_reservation_of(other, pod);

		for (int c = 0; is_its && c < other->n_containers; c++)
			if (is_on(&other->containers[c], gpu, partition) &&
			    other->containers[c].held_from <= to &&
			    other->containers[c].held_until >= from)
				return true;
	}
	return false;
}

static bool held_throughout(const struct world_pod *pod, int gpu, int partition, uint64_t from,
			    uint64_t to)
{
	const struct world_pod *holder = world_holder(pod);

	for (int c = 0; c < holder->n_containers; c++)
		if (is_on(&holder->containers[c], gpu, partition) &&
		    holder->containers[c].held_from <= from &&
		    holder->containers[c].held_until > to)
			return true;
	return false;
}

/* Whoever only pretends to be of a group may have devices of the kubelet's as well. */
static bool has_own(const struct world_pod *pod)
{
	for (int c = 0; c < pod->n_containers; c++)
		if (pod->containers[c].n_slots > 0)
			return true;
	return false;
}

/* What it holds nobody can know any more; see AT_REST. */
static bool is_beyond_proof(const struct world_pod *pod)
{
	if (!pod)
		return false;
	if (pod->is_hami_spoilt)
		return true;
	if (sharers_reservation(pod))
		return !device_manager_has(sharers_reservation(pod));
	if (pod->group >= 0 && !has_own(pod))
		return false;
	return pod->claim >= 0 ? !claims_has(pod) : !device_manager_has(world_holder(pod));
}

/* At some moment from then on, up to the second, it was on what its pod held. */
static bool was_covered(const struct world_process *process, uint64_t from, uint64_t to)
{
	uint64_t at = process->from > from ? process->from : from;
	uint64_t end = process->until < to ? process->until : to;
	const struct world_pod *pod = &world.pods[process->pod];

	if (held_by_between(&pod->containers[process->container], process, at, end))
		return true;
	for (int i = 0; i < world.n_pods; i++)
		if (is_reservation_of(&world.pods[i], pod) &&
		    held_by_between(&world.pods[i].containers[0], process, at, end))
			return true;
	return false;
}

/*
 * The processes of the container on what it holds of the device, at some moment between. They began
 * before the end and had not ended at the start; the start may be later than the end.
 */
static int count_processes(const struct world_pod *pod, int container, int gpu, uint64_t from,
			   uint64_t to)
{
	int n = 0;

	for (int i = 0; i < world.n_processes; i++) {
		const struct world_process *process = &world.processes[i];

		n += process->kind == WORLD_OF_CONTAINER && process->gpu == gpu &&
		     process->pod == world_index(world_holder(pod)) &&
		     process->container == container && process->from <= to &&
		     process->until > from && was_covered(process, from < to ? from : to, to);
	}
	return n;
}

/* Tenants and those that were */

/* It was on what the container held, which may have ended before; or on what may be its. */
static bool has_begun(const struct world_pod *pod, int container, int gpu, uint64_t sent_at)
{
	const struct world_pod *holder = world_holder(pod);
	const struct world_container *held = &holder->containers[container];

	for (int i = 0; i < world.n_processes; i++) {
		const struct world_process *process = &world.processes[i];

		if (process->kind == WORLD_OF_CONTAINER && process->gpu == gpu &&
		    process->pod == world_index(holder) && process->container == container &&
		    process->from <= sent_at && process->until > held->held_from &&
		    (pod->is_hami_spoilt || is_on(held, gpu, process->partition)))
			return true;
	}
	return false;
}

/* Whose claim is gone may stay a tenant, and its processes may begin, as long as nobody can know. */
static bool was_seen(const struct world_pod *pod, int container, int gpu, uint64_t sent_at)
{
	return count_processes(pod, container, gpu, 0, sent_at) > 0 ||
	       (is_beyond_proof(pod) && has_begun(pod, container, gpu, sent_at));
}

static void judge_witness(const struct attribution_tenant *tenant, int gpu, uint64_t sent_at)
{
	const struct world_pod *pod = find_pod(tenant->pod_uid);
	int container = pod ? find_container(pod, tenant->container) : -1;

	if (!named_is_by_process(tenant))
		return;
	if (container < 0 || !was_seen(pod, container, gpu, sent_at))
		oracle_accuse(ORACLE_FALSE_TENANT,
			      "%s lists %.*s (%.*s) by a process, and %.*s had none there",
			      world.gpus[gpu].uuid, VIEW_ARG(tenant->pod_uid),
			      VIEW_ARG(tenant->pod_name), VIEW_ARG(tenant->container));
}

static bool was_tenant(const struct attribution_past_tenant *past, int gpu, uint64_t sent_at)
{
	const struct world_pod *pod = find_pod(past->pod_uid);
	int container = pod ? find_container(pod, past->container) : -1;

	if (container < 0)
		return false;
	return pod->is_hami_spoilt || sharers_is_said_on(pod, gpu) ||
	       (pod->containers[container].was_on >> gpu & 1) ||
	       held_between(pod, gpu, -1, 0, sent_at);
}

static bool has_past(const struct attribution_status *status,
		     const struct attribution_past_tenant *past)
{
	for (uint32_t i = 0; status && i < status->recent_tenants.count; i++) {
		const struct attribution_past_tenant *p = ARRAY_AT(
			status->recent_tenants, struct attribution_past_tenant, i);

		if (view_equal(p->pod_uid, past->pod_uid) &&
		    view_equal(p->container, past->container))
			return true;
	}
	return false;
}

static void judge_past(const struct attribution_status *status,
		       const struct attribution_status *before, int gpu, uint64_t sent_at)
{
	for (uint32_t i = 0; i < status->recent_tenants.count; i++) {
		const struct attribution_past_tenant *past = ARRAY_AT(
			status->recent_tenants, struct attribution_past_tenant, i);

		if (!has_past(before, past) && !was_tenant(past, gpu, sent_at))
			oracle_accuse(ORACLE_FALSE_TENANT,
				      "%s remembers %.*s (%.*s), which never held the device",
				      world.gpus[gpu].uuid, VIEW_ARG(past->pod_uid),
				      VIEW_ARG(past->pod_name));
	}
}

/* Users */

/* Whose it is as far as anybody can tell: nobody's pod; or the MPS daemon's, which is not here. */
static bool is_by(const struct world_process *process, struct view pod_uid)
{
	const struct world_pod *pod = find_pod(pod_uid);

	if (process->kind == WORLD_MPS_SERVER)
		return view_equal(pod_uid, VIEW(USAGE_MPS_POD));
	if (process->kind != WORLD_OF_CONTAINER)
		return pod_uid.len == 0;
	return pod && process->pod == world_index(world_holder(pod));
}

static bool is_user(const struct world_process *process, const struct attribution_user *user,
		    int gpu)
{
	return process->gpu == gpu && user->pid == process->pid &&
	       view_equal(user->command, view_from(process->command)) &&
	       is_by(process, user->pod_uid);
}

static bool is_over(const struct world_pod *pod, uint64_t at)
{
	return pod->hash[0] ? !world_mirror(pod) : pod->over_at <= at;
}

/* As with tenants that are Unresolved: the controller has waited to be told of the pod, in vain. */
static bool is_unresolved(const struct world_process *process, uint64_t sent_at)
{
	return world.pods[process->pod].known_at >= sent_at &&
	       process->from + PENDING_MS <= sent_at;
}

/*
 * It was on the device at a moment at which it had no slot of it. Its kubelet says so, or the API
 * server, which may know sooner that the pod is gone.
 */
static bool was_without_slot(const struct world_process *process, uint64_t sent_at)
{
	uint64_t until = process->until > process->repeated_at ? process->until
							       : process->repeated_at;
	uint64_t to = until < sent_at ? until : sent_at;
	const struct world_pod *pod;

	if (process->from > sent_at || process->kind != WORLD_OF_CONTAINER)
		return process->from <= sent_at;
	pod = &world.pods[process->pod];
	return is_beyond_proof(pod) || is_over(pod, to) || is_unresolved(process, sent_at) ||
	       !is_covered(process, to);
}

static void judge_user(const struct attribution_user *user, int gpu, uint64_t sent_at)
{
	bool is_there = false;

	for (int i = 0; i < world.n_processes; i++) {
		const struct world_process *process = &world.processes[i];

		if (!is_user(process, user, gpu))
			continue;
		is_there = true;
		if (was_without_slot(process, sent_at))
			return;
	}
	oracle_accuse(ORACLE_FALSE_USER, "%s: process %lld of %.*s (%.*s) is a user, and %s",
		      world.gpus[gpu].uuid, (long long)user->pid, VIEW_ARG(user->pod_uid),
		      VIEW_ARG(user->pod_name),
		      is_there ? "always had a slot" : "never was on the device");
}

/* Error events */

static const struct attribution_health_event *find_event(
	const struct attribution_status *status, const struct attribution_health_event *event)
{
	for (uint32_t i = 0; status && i < status->health.events.count; i++) {
		const struct attribution_health_event *e = ARRAY_AT(
			status->health.events, struct attribution_health_event, i);

		if (e->event_time == event->event_time && e->xid == event->xid)
			return e;
	}
	return NULL;
}

static bool names(const struct attribution_health_event *event, struct view uid)
{
	for (uint32_t i = 0; event && i < event->tenants.count; i++)
		if (view_equal(ARRAY_AT(event->tenants, struct attribution_event_tenant, i)->pod_uid,
			       uid))
			return true;
	return false;
}

static const struct world_error *find_error(const struct attribution_health_event *event, int gpu)
{
	const struct world_gpu *g = &world.gpus[gpu];

	for (unsigned i = 0; i < g->n_errors; i++)
		if (g->errors[i].code == event->xid && g->errors[i].told_at == event->event_time &&
		    g->errors[i].fetched_at != WORLD_NEVER)
			return &g->errors[i];
	return NULL;
}

/*
 * Where the clocks of the node and the controller differ nobody can tell what was first. Who had it
 * before, and whose end the present controller was not told of before the event, may have left
 * before or after it: that cannot be known either.
 */
static void judge_blamed(const struct world_error *error, struct view uid, int gpu, int partition)
{
	const struct world_pod *pod = find_pod(uid);
	int node = world.gpus[gpu].node;

	if (node >= 0 && clockwork_wall(node) != clockwork_wall(CLOCKWORK_CONTROLLER))
		return;
	if (pod &&
	    (pod->is_hami_spoilt || sharers_is_said_on(pod, gpu) ||
	     held_between(pod, gpu, partition, error->raised_at - NEAR_MS,
			  error->fetched_at + NEAR_MS)))
		return;
	if (pod && pod->end_known_at >= error->raised_at - NEAR_MS - SYNC_MS &&
	    held_between(pod, gpu, partition, 0, error->raised_at))
		return;
	oracle_accuse(ORACLE_FALSE_EVENT,
		      "%s: XID %d of %.3f s names %.*s, which did not hold the "
		      "device then",
		      world.gpus[gpu].uuid, error->code,
		      (double)(error->raised_at - CLOCKWORK_START_MS) / 1000, VIEW_ARG(uid));
}

/*
 * Who was published with the device when it failed, and had it, is named. By when the agent is told, the
 * error may have ended the pod.
 */
static void judge_unblamed(const struct attribution_health_event *event,
			   const struct world_error *error, const struct attribution_tenant *tenant,
			   int gpu)
{
	const struct world_pod *pod = find_pod(tenant->pod_uid);

	if (!pod || tenant->pod_name.len == 0 || tenant->placeholder.len > 0 ||
	    pod->is_hami_spoilt || tenant->start_time > error->told_at ||
	    names(event, tenant->pod_uid))
		return;
	/* Started, or over, by what the API server tells: its claim may be older, its records newer. */
	if (pod->started_at == 0 || pod->started_at + STARTED_MS > error->told_at ||
	    pod->end_known_at <= error->raised_at)
		return;
	if (held_throughout(pod, gpu, error->partition, error->raised_at - NEAR_MS,
			    error->raised_at))
		oracle_accuse(ORACLE_FALSE_EVENT,
			      "%s: XID %d of %.3f s does not name %.*s, which held the device",
			      world.gpus[gpu].uuid, error->code,
			      (double)(error->raised_at - CLOCKWORK_START_MS) / 1000,
			      VIEW_ARG(tenant->pod_uid));
}

static void judge_all_blamed(const struct attribution_health_event *event,
			     const struct world_error *error,
			     const struct attribution_status *before, int gpu)
{
	int node = world.gpus[gpu].node;

	if (node < 0 || clockwork_wall(node) != clockwork_wall(CLOCKWORK_CONTROLLER) ||
	    error->fetched_at - error->raised_at > FETCHED_MS || event->tenants_left_out > 0)
		return;
	for (uint32_t i = 0; i < before->tenants.count; i++)
		judge_unblamed(event, error,
			       ARRAY_AT(before->tenants, struct attribution_tenant, i), gpu);
}

static bool has_partition(const struct attribution_status *status, const char *uuid)
{
	for (uint32_t i = 0; status && i < status->partitions.count; i++)
		if (view_equal(ARRAY_AT(status->partitions, struct attribution_partition, i)->uuid,
			       view_from(uuid)))
			return true;
	return false;
}

/* All that the pod has of the device are MIG devices that were published. */
static bool is_place_known(const struct attribution_status *before, const struct world_pod *pod, int gpu)
{
	for (int c = 0; pod && c < pod->n_containers; c++)
		for (int i = 0; i < pod->containers[c].n_slots; i++) {
			const struct world_slot *slot = &pod->containers[c].slots[i];

			if (slot->gpu == gpu &&
			    (slot->partition < 0 ||
			     !has_partition(before, world.gpus[gpu].partitions[slot->partition].uuid)))
				return false;
		}
	return true;
}

/*
 * The instance of an error is always told. So nobody else is named than who had that MIG device, or one
 * of which the instance was not known.
 */
static int partition_of(const struct attribution_health_event *event, const struct world_error *error,
			const struct attribution_status *before, struct view uid, int gpu)
{
	return event->partition.len > 0 || is_place_known(before, find_pod(uid), gpu) ? error->partition : -1;
}

static void judge_event(const struct attribution_health_event *event,
			const struct attribution_status *status_before, int gpu)
{
	const struct attribution_health_event *before = find_event(status_before, event);
	const struct world_error *error = find_error(event, gpu);

	if (!error) {
		oracle_accuse(ORACLE_FALSE_EVENT, "%s: there was no such XID %lld",
			      world.gpus[gpu].uuid, (long long)event->xid);
		return;
	}
	for (uint32_t i = 0; i < event->tenants.count; i++) {
		const struct attribution_event_tenant *accused =
			ARRAY_AT(event->tenants, struct attribution_event_tenant, i);
		struct view uid = accused->pod_uid;

		if (!names(before, uid))
			judge_blamed(error, uid, gpu,
				     partition_of(event, error, status_before, uid, gpu));
	}
	if (status_before && !before)
		judge_all_blamed(event, error, status_before, gpu);
}

void named_judge(const struct attribution_status *status, const struct attribution_status *before,
		 int gpu, uint64_t sent_at)
{
	const struct array events = status->health.events;

	for (uint32_t i = 0; i < status->tenants.count; i++)
		judge_witness(ARRAY_AT(status->tenants, struct attribution_tenant, i), gpu,
			      sent_at);
	judge_past(status, before, gpu, sent_at);
	for (uint32_t i = 0; i < status->unallocated_users.count; i++)
		judge_user(ARRAY_AT(status->unallocated_users, struct attribution_user, i), gpu,
			   sent_at);
	for (uint32_t i = 0; i < events.count; i++) {
		const struct attribution_health_event *event = ARRAY_AT(
			events, struct attribution_health_event, i);

		judge_event(event, before, gpu);
	}
}

/* At rest */

static bool is_alive(const struct world_process *process)
{
	return process->until > clockwork_now();
}

/* A tenant's, or one of MPS, which works for all tenants. */
static bool is_allocated(const struct world_process *process, int gpu)
{
	const struct world_pod *pod = process->pod >= 0 ? &world.pods[process->pod] : NULL;
	const struct world_pod *shown = pod && pod->hash[0] ? world_mirror(pod) : pod;

	if (process->kind == WORLD_MPS_SERVER)
		return true;
	return process->kind == WORLD_OF_CONTAINER && shown &&
	       rest_is_tenant(shown, process->container, gpu) &&
	       is_covered_until(process, clockwork_now()) > clockwork_now();
}

static bool may_be_user(const struct world_process *process, int gpu)
{
	const struct world_pod *pod = process->pod >= 0 ? &world.pods[process->pod] : NULL;

	if (process->kind == WORLD_MPS_SERVER)
		return rest_mode(gpu) != ATTRIBUTION_MODE_MPS;
	return !is_allocated(process, gpu) ||
	       (process->kind == WORLD_OF_CONTAINER && is_beyond_proof(pod));
}

static const struct attribution_user *find_user(const struct attribution_status *status,
						const struct world_process *process, int gpu)
{
	for (uint32_t i = 0; i < status->unallocated_users.count; i++) {
		const struct attribution_user *user = ARRAY_AT(status->unallocated_users,
							       struct attribution_user, i);

		if (is_user(process, user, gpu))
			return user;
	}
	return NULL;
}

static bool has_gone_partition(const struct world_container *container)
{
	for (int i = 0; i < container->n_slots; i++) {
		const struct world_slot *slot = &container->slots[i];

		if (slot->partition >= 0 &&
		    !world.gpus[slot->gpu].partitions[slot->partition].exists)
			return true;
	}
	return false;
}

/* It holds a MIG device that is gone, and the status says that it holds one of no known device. */
static bool is_unplaced(const struct attribution_status *status, const struct world_pod *pod)
{
	const struct world_pod *shown = pod->hash[0] ? world_mirror(pod) : pod;

	for (int c = 0; shown && c < pod->n_containers; c++)
		if (has_gone_partition(&pod->containers[c]) &&
		    attribution_is_unplaced(status, view_from(shown->uid),
					    view_from(pod->containers[c].name)))
			return true;
	return false;
}

static void judge_shown(const struct attribution_status *status,
			const struct world_process *process, int gpu)
{
	const struct world_pod *pod = process->pod >= 0 ? &world.pods[process->pod] : NULL;

	if (is_allocated(process, gpu) || find_user(status, process, gpu))
		return;
	if (process->kind == WORLD_OF_CONTAINER && world_is_active(pod) &&
	    (is_beyond_proof(pod) || is_unplaced(status, pod)))
		return;
	oracle_accuse(ORACLE_AT_REST, "%s: %s[%u] of %s is on it without a slot, and is no user",
		      world.gpus[gpu].uuid, process->command, process->pid,
		      process->kind == WORLD_OF_CONTAINER ? pod->name : "nobody");
}

static void judge_still(const struct attribution_user *user, int gpu)
{
	for (int i = 0; i < world.n_processes; i++)
		if (is_user(&world.processes[i], user, gpu) && is_alive(&world.processes[i]) &&
		    may_be_user(&world.processes[i], gpu))
			return;
	oracle_accuse(ORACLE_AT_REST, "%s: process %lld of %.*s (%.*s) is still a user",
		      world.gpus[gpu].uuid, (long long)user->pid, VIEW_ARG(user->pod_uid),
		      VIEW_ARG(user->pod_name));
}

void named_judge_users(const struct attribution_status *status, int gpu)
{
	bool is_told = world.nodes[world.gpus[gpu].node].sees_processes;

	for (int i = 0; is_told && i < world.n_processes; i++)
		if (world.processes[i].gpu == gpu && is_alive(&world.processes[i]))
			judge_shown(status, &world.processes[i], gpu);
	for (uint32_t i = 0; i < status->unallocated_users.count; i++)
		judge_still(ARRAY_AT(status->unallocated_users, struct attribution_user, i), gpu);
	if (!is_told && status->unallocated_users.count > 0)
		oracle_accuse(ORACLE_AT_REST, "%s: it has users, and nobody can see them",
			      world.gpus[gpu].uuid);
}

void named_judge_processes(const struct attribution_tenant *tenant, const struct world_pod *pod,
			   int container, int gpu)
{
	bool is_told = world.nodes[pod->node].sees_processes;
	uint64_t now = clockwork_now();
	int n = is_told ? count_processes(pod, container, gpu, now, now) : 0;
	int n_old = is_told ? count_processes(pod, container, gpu, now, now - SHOWN_MS) : 0;

	/* How many they are is as of the last change of another kind. */
	if ((tenant->processes > 0) != (n > 0))
		oracle_accuse(ORACLE_AT_REST, "%s: %s of %s has %d processes, not %lld",
			      world.gpus[gpu].uuid, pod->containers[container].name, pod->name, n,
			      (long long)tenant->processes);
	if (n_old > 0 && !named_is_by_process(tenant))
		oracle_accuse(ORACLE_AT_REST, "%s: Processes is no witness of %s",
			      world.gpus[gpu].uuid, pod->name);
	if (!is_told && named_is_by_process(tenant))
		oracle_accuse(ORACLE_AT_REST, "%s: Processes is a witness of %s, and sees nothing",
			      world.gpus[gpu].uuid, pod->name);
}
