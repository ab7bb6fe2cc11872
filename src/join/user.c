/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Each process is a tenant's, somebody's who will be one or was one (waiting), or a user's. MPS'
 * own server is neither: it works for all clients of the device. Whose one is that the agent could
 * not look at is not known.
 *
 * The memory of tenants and users is as of the last change: it moves all the time, and that alone
 * is no reason to write.
 */

#include "join/user.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "join/candidate.h"

#define COMMAND_SHOWN 64u /* bytes */

struct finder {
	const struct facts *facts;
	const struct device *device;
	size_t index;                               /* of the device in the devices */
	const struct attribution_status *published; /* NULL: none */
	struct tenants *tenants;
	struct arena *arena;
	struct debounce *doubts;
	bool is_mps;     /* its server is on the device */
	bool *is_untold; /* a tenant: not all processes of its pod could be told apart */
	struct attribution_user *found;
	size_t n_found;
	int64_t n_waiting;
	int64_t n_unknown; /* that could not be looked at */
	uint32_t n_refused;
};

/* A process, and whose it is. */
struct suspect {
	const struct report_process *process;
	struct candidate who; /* without a UID: no pod's */
};

/*
 * The mode of the device or a client on it shows that MPS is in use, and so has a server. That the
 * compute mode is one that MPS needs shows nothing: anybody's process may be alone there.
 */
static bool has_server(const struct report_device *reported, int mode)
{
	for (uint32_t i = 0; i < reported->processes.count; i++) {
		if (ARRAY_AT(reported->processes, struct report_process, i)->kind ==
		    REPORT_PROCESS_MPS)
			return true;
	}
	return mode == ATTRIBUTION_MODE_MPS;
}

/* Anybody may call a process so, but where there is a server it is called so. The kernel keeps 15
 * bytes of the name. */
static bool is_server(const struct finder *finder, const struct report_process *process)
{
	return finder->is_mps && process->kind != REPORT_PROCESS_MPS &&
	       view_starts_with(process->command, VIEW("nvidia-cuda-mps"));
}

/* Tenants */

static struct attribution_tenant *tenant_at(const struct finder *finder, uint32_t i)
{
	assert(i < finder->tenants->listed.count);
	return ARRAY_AT(finder->tenants->listed, struct attribution_tenant, i);
}

/* The container of the pod's that the process is in; NULL: the pod's status does not tell. */
static const struct pod_container *find_container(const struct pod *pod,
						  const struct report_process *process)
{
	for (uint32_t i = 0; pod && i < pod_count_containers(pod); i++) {
		const struct pod_container *c = pod_container_at(pod, i);
		if (c->id.len > 0 && view_equal(c->id, process->container_id))
			return c;
	}
	return NULL;
}

static int by_text(const void *a, const void *b)
{
	return view_compare(*(const struct view *)a, *(const struct view *)b);
}

static struct suspect identify(struct finder *finder, const struct report_process *process)
{
	const struct pod *pod = node_pods_find_uid(&finder->facts->node_pods, process->pod_uid);
	if (!pod && node_pods_is_elsewhere(&finder->facts->node_pods, process->pod_uid)) {
		finder->n_refused++;
		return (struct suspect){.process = process};
	}
	return (struct suspect){
		.process = process,
		.who = {.pod_uid = pod ? pod_uid(pod) : process->pod_uid,
			.pod = pod,
			.container = find_container(pod, process)},
	};
}

/* Which partitions a tenant is on that holds one without a known UUID cannot be told. */
static bool has_unknown_partition(const struct finder *finder,
				  const struct attribution_tenant *tenant)
{
	size_t n_items;
	const struct fact *items = facts_of_holder(
		finder->facts, finder->index, tenant->pod_uid, tenant->container, &n_items);

	for (size_t i = 0; i < n_items; i++) {
		if (items[i].partition.len == 0)
			return true;
	}
	return tenant->partitions.count == 0;
}

static bool may_be_on(const struct finder *finder, const struct attribution_tenant *tenant,
		      struct view partition)
{
	for (uint32_t i = 0; i < tenant->partitions.count; i++) {
		if (view_equal(*ARRAY_AT(tenant->partitions, struct view, i), partition))
			return true;
	}
	return partition.len == 0 || has_unknown_partition(finder, tenant);
}

static bool may_be_of(const struct finder *finder, const struct attribution_tenant *tenant,
		      const struct suspect *suspect)
{
	return view_equal(tenant->pod_uid, suspect->who.pod_uid) &&
	       (!suspect->who.container ||
		view_equal(tenant->container, suspect->who.container->name)) &&
	       may_be_on(finder, tenant, suspect->process->partition);
}

static void credit(struct attribution_tenant *tenant, const struct report_process *process)
{
	tenant->processes++;
	tenant->memory_mib += process->memory_mib;
}

static bool has_begun(const struct pod_container *container)
{
	return container && (container->state == POD_CONTAINER_RUNNING ||
			     container->state == POD_CONTAINER_TERMINATED);
}

/* Its container is known to run, and is another: an ephemeral one may have been added since. */
static bool is_of_another(const struct pod_container *own, const struct report_process *process)
{
	return own && own->state == POD_CONTAINER_RUNNING && own->id.len > 0 &&
	       process->container_id.len > 0;
}

/*
 * Whose container the status does not tell may be in one that has begun since, and that holds
 * nothing: in one that is not shown to run, or, before the tenant's own has begun, in an init
 * container's next attempt. Or it is in an ephemeral one that is not kept.
 */
static bool may_be_elsewhere(const struct attribution_tenant *tenant, const struct suspect *suspect)
{
	const struct pod *pod = suspect->who.container ? NULL : suspect->who.pod;
	const struct pod_container *own = pod ? pod_find_container(pod, tenant->container) : NULL;

	if (pod && (pod_has_more_ephemeral(pod) || is_of_another(own, suspect->process)))
		return true;
	for (uint32_t i = 0; pod && i < pod_count_containers(pod); i++) {
		const struct pod_container *c = pod_container_at(pod, i);
		if (c == own || c->state == POD_CONTAINER_RUNNING)
			continue;
		if (!has_begun(c) || !has_begun(own))
			return true;
	}
	return false;
}

/* Of several of a pod's containers that it may be of, neither's number is known. */
static bool credit_tenant(struct finder *finder, const struct suspect *suspect)
{
	struct attribution_tenant *last = NULL;
	uint32_t n = 0;

	for (uint32_t i = 0; i < finder->tenants->listed.count; i++) {
		if (!may_be_of(finder, tenant_at(finder, i), suspect))
			continue;
		last = tenant_at(finder, i);
		n++;
	}
	assert(!last == (n == 0));
	bool is_told = n == 1 && !may_be_elsewhere(last, suspect);
	if (is_told)
		credit(last, suspect->process);
	for (uint32_t i = 0; !is_told && i < finder->tenants->listed.count; i++)
		finder->is_untold[i] |= may_be_of(finder, tenant_at(finder, i), suspect);
	return n > 0;
}

static int by_uid(const void *uid, const void *item)
{
	return view_compare(*(const struct view *)uid,
			    ((const struct fact *)item)->owner->pod_uid);
}

/* Who is beyond the bound of the list is a tenant all the same; who that is, the books know. */
static bool is_left_out(const struct finder *finder, const struct suspect *suspect)
{
	const struct facts *facts = finder->facts;
	struct view uid = suspect->who.pod_uid;
	size_t n_items;
	const struct fact *items;

	if (finder->tenants->left_out == 0 || uid.len == 0 || !candidate_can_hold(&suspect->who))
		return false;
	if (!facts_have_books(facts))
		return true;
	if (suspect->who.container)
		return facts_of_holder(facts, finder->index, uid, suspect->who.container->name,
					&n_items) != NULL;
	items = facts_of(facts, finder->index, &n_items);
	return bsearch(&uid, items, n_items, sizeof(*items), by_uid);
}

/* What cannot be told apart is not told at all. */
static void clear_untold(struct finder *finder)
{
	for (uint32_t i = 0; i < finder->tenants->listed.count; i++) {
		if (!finder->is_untold[i])
			continue;
		tenant_at(finder, i)->processes = 0;
		tenant_at(finder, i)->memory_mib = 0;
	}
}

static bool is_witnessed(const struct attribution_tenant *tenant)
{
	return wording_witnesses_of(tenant->witnesses) & WITNESS_PROCESSES;
}

/* It is the last of the witnesses, so it goes behind those that are there. */
static int witness(struct finder *finder, struct attribution_tenant *tenant, struct error *err)
{
	uint32_t n = tenant->witnesses.count;
	struct view *texts;

	if (tenant->confidence == ATTRIBUTION_CONFIDENCE_ANNOTATED)
		tenant->confidence = ATTRIBUTION_CONFIDENCE_CONFIRMED;
	if (is_witnessed(tenant))
		return 0;
	texts = arena_alloc(finder->arena, n + 1, sizeof(*texts));
	if (!texts)
		return error_no_memory(err);
	for (uint32_t i = 0; i < n; i++)
		texts[i] = *ARRAY_AT(tenant->witnesses, struct view, i);
	texts[n] = wording_witness(N_WITNESSES - 1);
	tenant->witnesses = (struct array){texts, n + 1, true};
	return 0;
}

/* Of a pod that the API server does not know all containers may be the process', not this one only. */
static bool is_witnessable(const struct attribution_tenant *tenant)
{
	return tenant->processes > 0 && tenant->phase != ATTRIBUTION_PHASE_PENDING &&
	       tenant->phase != ATTRIBUTION_PHASE_UNRESOLVED;
}

static int witness_tenants(struct finder *finder, struct error *err)
{
	for (uint32_t i = 0; i < finder->tenants->listed.count; i++) {
		struct attribution_tenant *tenant = tenant_at(finder, i);
		if (is_witnessable(tenant) && witness(finder, tenant, err) < 0)
			return -1;
	}
	return 0;
}

/* Users */

/* That the pod was a tenant of the device; NULL: it never was, that is known. */
static const struct attribution_past_tenant *find_past(const struct finder *finder, struct view uid)
{
	const struct array recent = finder->tenants->recent;
	for (uint32_t i = 0; i < recent.count; i++) {
		const struct attribution_past_tenant *past = ARRAY_AT(
			recent, struct attribution_past_tenant, i);
		if (view_equal(past->pod_uid, uid))
			return past;
	}
	return NULL;
}

static const struct attribution_user *find_published(const struct finder *finder,
						     const struct attribution_user *user)
{
	const struct array users = finder->published ? finder->published->unallocated_users
						     : (struct array){0};
	for (uint32_t i = 0; i < users.count; i++) {
		const struct attribution_user *u = ARRAY_AT(users, struct attribution_user, i);
		if (view_equal(u->pod_uid, user->pod_uid) && view_equal(u->process, user->process))
			return u;
	}
	return NULL;
}

static bool has_ended(const struct finder *finder, const struct suspect *suspect)
{
	const struct facts *facts = finder->facts;
	if (suspect->who.pod)
		return pod_is_over(suspect->who.pod);
	return bsearch(&suspect->who.pod_uid, facts->ended, facts->n_ended,
		       sizeof(struct view), by_text);
}

/* A pod that the API server has not told of yet may have the device by what is in no book that could
 * be matched with it: by a claim, in a group of KAI's, under a name that another pod had. */
static int64_t waits_ms(const struct finder *finder, const struct suspect *suspect)
{
	const struct join_limits *limits = finder->facts->input->limits;
	bool is_known = suspect->who.pod || suspect->who.pod_uid.len == 0;
	return is_known || limits->pending_ms < limits->disagreement_ms ? limits->disagreement_ms
									: limits->pending_ms;
}

/* Whose pod was a tenant or is over may end yet: the driver must still list it then. */
static bool counts(const struct finder *finder, const struct suspect *suspect,
		   const struct attribution_user *user)
{
	const struct join_limits *limits = finder->facts->input->limits;
	bool is_past = find_past(finder, user->pod_uid) || has_ended(finder, suspect);
	const struct debounce_subject fact = {
		.kind = DEBOUNCE_USER,
		.device = finder->device->uuid,
		.pod_uid = user->pod_uid,
		.subject = user->process,
		.waits_ms = is_past ? limits->user_grace_ms : waits_ms(finder, suspect),
		.is_to_be_heard = is_past,
		.is_published = find_published(finder, user) != NULL,
	};
	return debounce_counts(finder->doubts, &fact);
}

/* Of a pod that was a tenant, or is over, it is known that it holds nothing. */
static bool may_hold(const struct finder *finder, const struct suspect *suspect)
{
	return !find_past(finder, suspect->who.pod_uid) && !has_ended(finder, suspect) &&
	       candidate_may_hold(&suspect->who, finder->facts, finder->tenants->slots_nameless);
}

static int name_process(struct finder *finder, const struct report_process *process,
			struct view *ret, struct error *err)
{
	char text[LIMIT_TEXT_PROCESS];
	struct view command = process->command;
	int len;

	if (command.len > COMMAND_SHOWN)
		command.len = COMMAND_SHOWN;
	len = snprintf(text, sizeof(text), "%.*s[%" PRId64 "]", VIEW_ARG(command), process->pid);
	assert(len > 0 && (size_t)len < sizeof(text));
	return arena_copy(finder->arena, (struct view){text, (size_t)len}, ret)
		       ? 0
		       : error_no_memory(err);
}

/* The API server no longer knows the pod, but the status does. */
static void name_past_pod(const struct finder *finder, const struct attribution_user *before,
			  struct attribution_user *user)
{
	const struct attribution_past_tenant *past = find_past(finder, user->pod_uid);
	if (before) {
		user->pod_namespace = before->pod_namespace;
		user->pod_name = before->pod_name;
	} else if (past) {
		user->pod_namespace = past->pod_namespace;
		user->pod_name = past->pod_name;
	}
}

/* What was published while the API server had not told of the pod says nothing about its slots. */
static bool is_still_told(const struct attribution_user *before, const struct pod *pod)
{
	return before && (before->pod_name.len > 0 || !pod);
}

static int add_user(struct finder *finder, const struct suspect *suspect, struct error *err)
{
	const struct pod *pod = suspect->who.pod;
	struct attribution_user user = {
		.pod_uid = suspect->who.pod_uid,
		.pod_namespace = pod ? pod_namespace(pod) : (struct view){0},
		.pod_name = pod ? pod_name(pod) : (struct view){0},
		.container = suspect->who.container ? suspect->who.container->name
						    : (struct view){0},
		.memory_mib = suspect->process->memory_mib,
		.since = finder->facts->input->now_wall_ms,
	};
	const struct attribution_user *before;

	if (name_process(finder, suspect->process, &user.process, err) < 0)
		return -1;
	before = find_published(finder, &user);
	if ((!is_still_told(before, pod) && may_hold(finder, suspect)) ||
	    !counts(finder, suspect, &user)) {
		finder->n_waiting++;
		return 0;
	}
	if (before)
		user.since = before->since;
	if (before && user.container.len == 0)
		user.container = before->container;
	if (user.pod_name.len == 0)
		name_past_pod(finder, before, &user);
	finder->found[finder->n_found++] = user;
	return 0;
}

static int judge(struct finder *finder, const struct report_process *process, struct error *err)
{
	struct suspect suspect = identify(finder, process);
	/* The agent could not look at it: it has ended, or is too new, or one of too many. */
	if (suspect.who.pod_uid.len == 0 && process->command.len == 0) {
		finder->n_unknown++;
		return 0;
	}
	if (credit_tenant(finder, &suspect) || is_left_out(finder, &suspect) ||
	    is_server(finder, process))
		return 0;
	return add_user(finder, &suspect, err);
}

/* A good source that says something says what it lacks: not all have only ended, or are too new. */
static int64_t count_unknown(const struct finder *finder)
{
	const struct join_input *input = finder->facts->input;
	const struct debounce_subject fact = {
		.kind = DEBOUNCE_UNKNOWN,
		.device = finder->device->uuid,
		.waits_ms = input->limits->disagreement_ms,
		.is_published = finder->published && finder->published->unknown_processes > 0,
	};
	if (finder->n_unknown == 0 || input->report->sources.processes.message.len == 0)
		return 0;
	return debounce_counts(finder->doubts, &fact) ? finder->n_unknown : 0;
}

static int by_key(const void *a, const void *b)
{
	const struct attribution_user *x = a, *y = b;
	int order = view_compare(x->pod_uid, y->pod_uid);
	return order ? order : view_compare(x->process, y->process);
}

/* One process may be listed as several kinds. */
static size_t fold(struct attribution_user *users, size_t n_users)
{
	size_t n = 0;
	qsort(users, n_users, sizeof(*users), by_key);
	for (size_t i = 0; i < n_users; i++) {
		if (n == 0 || by_key(&users[n - 1], &users[i]) != 0)
			users[n++] = users[i];
	}
	return n;
}

static bool is_repeated(struct array processes, uint32_t index)
{
	const struct report_process *process = ARRAY_AT(processes, struct report_process, index);
	for (uint32_t i = 0; i < index; i++) {
		const struct report_process *other = ARRAY_AT(processes, struct report_process, i);
		if (other->pid == process->pid && view_equal(other->partition, process->partition))
			return true;
	}
	return false;
}

static int find(struct finder *finder, struct array processes, struct error *err)
{
	for (uint32_t i = 0; i < finder->tenants->listed.count; i++) {
		struct attribution_tenant *tenant = tenant_at(finder, i);
		tenant->processes = 0;
		tenant->memory_mib = 0;
	}
	for (uint32_t i = 0; i < processes.count; i++) {
		if (!is_repeated(processes, i) &&
		    judge(finder, ARRAY_AT(processes, struct report_process, i), err) < 0)
			return -1;
	}
	clear_untold(finder);
	return witness_tenants(finder, err);
}

/* Of whom the API server has told since, a report tells what it has. */
static int carry_users(const struct finder *finder, struct array *ret_listed)
{
	const struct array before = finder->published->unallocated_users;
	struct attribution_user *kept = arena_alloc(finder->arena, before.count, sizeof(*kept));
	uint32_t n = 0;

	if (!kept)
		return -1;
	for (uint32_t i = 0; i < before.count; i++) {
		kept[n] = *ARRAY_AT(before, struct attribution_user, i);
		n += is_still_told(&kept[n],
				   node_pods_find_uid(&finder->facts->node_pods, kept[n].pod_uid));
	}
	*ret_listed = (struct array){kept, n, before.present};
	return 0;
}

static int carry(const struct finder *finder, struct users *users, struct error *err)
{
	if (!finder->published)
		return 0;
	for (uint32_t i = 0; i < finder->tenants->listed.count; i++) {
		struct attribution_tenant *tenant = tenant_at(finder, i);
		const struct attribution_tenant *before = attribution_find_tenant(
			finder->published, tenant->pod_uid, tenant->container);
		tenant->processes = before ? before->processes : 0;
		tenant->memory_mib = before ? before->memory_mib : 0;
	}
	if (carry_users(finder, &users->listed) < 0)
		return error_no_memory(err);
	users->left_out = finder->published->unallocated_users_left_out;
	users->unknown = finder->published->unknown_processes;
	return 0;
}

static bool can_tell(const struct finder *finder)
{
	const struct report *report = finder->facts->input->report;
	return report && report->sources.processes.state == REPORT_SOURCE_OK &&
	       finder->device->reported && finder->device->reported->processes.present &&
	       finder->facts->devices->nvml == DEVICES_NVML_OK;
}

/* Whoever grants the agent no sight of processes any more wants no users listed for ever. */
static bool is_switched_off(const struct finder *finder)
{
	const struct report *report = finder->facts->input->report;
	return report && report->sources.processes.state == REPORT_SOURCE_ABSENT;
}

int user_find(const struct facts *facts, struct user_device device, struct tenants *tenants,
	      struct debounce *doubts, struct arena *arena, struct users *ret_users,
	      struct error *err)
{
	const struct device *its_device = &facts->devices->devices[device.index];
	struct users users = {0};
	struct finder finder = {
		.facts = facts,
		.device = its_device,
		.index = device.index,
		.published = devices_published(its_device),
		.tenants = tenants,
		.doubts = doubts,
		.arena = arena,
	};
	struct array processes;

	assert(device.index < facts->devices->n_devices);
	if (!can_tell(&finder)) {
		if (!is_switched_off(&finder) && carry(&finder, &users, err) < 0)
			return -1;
		*ret_users = users;
		return 0;
	}
	processes = its_device->reported->processes;
	finder.is_mps = has_server(its_device->reported, device.mode);
	finder.found = arena_alloc(arena, processes.count, sizeof(*finder.found));
	finder.is_untold = arena_alloc(arena, tenants->listed.count, sizeof(*finder.is_untold));
	if (!finder.found || !finder.is_untold)
		return error_no_memory(err);
	if (find(&finder, processes, err) < 0)
		return -1;
	assert(finder.n_found <= processes.count);
	size_t n = fold(finder.found, finder.n_found);
	assert(n <= finder.n_found);
	size_t n_listed = n < LIMIT_UNALLOCATED_USERS ? n : LIMIT_UNALLOCATED_USERS;
	users.listed = (struct array){finder.found, (uint32_t)n_listed, true};
	users.left_out = debounce_left_out(
		(int64_t)(n - n_listed), finder.n_waiting,
		finder.published ? finder.published->unallocated_users_left_out : 0);
	users.unknown = count_unknown(&finder);
	users.refused = finder.n_refused;
	*ret_users = users;
	return 0;
}
