/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Each process is a tenant's, somebody's who will be one or was one (waiting), or a user's. MPS'
 * own server is neither: it works for all clients of the device.
 *
 * The memory of tenants and users is as of the last change: it moves all the time, and that alone
 * is no reason to write.
 */

#include "core/user.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"

struct finder {
	const struct holdings *holdings;
	const struct roster_device *device;
	const struct attribution_status *published; /* NULL: none */
	struct tenants *tenants;
	struct arena *arena;
	struct attribution_user *found;
	size_t n_found;
	int64_t again_in_ms;
};

static void wait_for(struct finder *finder, int64_t ms)
{
	if (finder->again_in_ms < 0 || ms < finder->again_in_ms)
		finder->again_in_ms = ms;
}

/*
 * Anybody may call a process so; but a device in this mode takes one process, which the clients of
 * MPS then work through, and it is named once: where there is a server, it is this one. The kernel
 * keeps 15 bytes of the name.
 */
static bool is_server(const struct finder *finder, const struct report_process *process)
{
	return finder->device->reported->compute_mode == REPORT_COMPUTE_EXCLUSIVE_PROCESS &&
	       process->kind != REPORT_PROCESS_MPS &&
	       view_starts_with(process->command, VIEW("nvidia-cuda-mps"));
}

/* Tenants */

/* A process is one of all the pod's containers that are on the device: which one is not told. */
static bool credit_tenant(struct finder *finder, struct view uid,
			  const struct report_process *process)
{
	bool is_credited = false;
	for (uint32_t i = 0; i < finder->tenants->listed.count; i++) {
		struct attribution_tenant *tenant = ARRAY_AT(finder->tenants->listed,
							     struct attribution_tenant, i);
		if (!view_equal(tenant->pod_uid, uid))
			continue;
		if (!is_credited) {
			tenant->processes++;
			tenant->memory_mib += process->memory_mib;
		}
		is_credited = true;
	}
	return is_credited;
}

static bool is_witnessed(const struct attribution_tenant *tenant)
{
	for (uint32_t i = 0; i < tenant->witnesses.count; i++) {
		if (holding_witness_of(*ARRAY_AT(tenant->witnesses, struct view, i)) ==
		    HOLDING_PROCESSES)
			return true;
	}
	return false;
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
	texts[n] = holding_witness_name(HOLDING_N_WITNESSES - 1);
	tenant->witnesses = (struct array){texts, n + 1, true};
	return 0;
}

static int witness_tenants(struct finder *finder, struct error *err)
{
	for (uint32_t i = 0; i < finder->tenants->listed.count; i++) {
		struct attribution_tenant *tenant = ARRAY_AT(finder->tenants->listed,
							     struct attribution_tenant, i);
		if (tenant->processes > 0 && witness(finder, tenant, err) < 0)
			return -1;
	}
	return 0;
}

/* Users */

/* When it stopped being a tenant's: 0, it never was. */
static int64_t ended_at(const struct finder *finder, struct view uid)
{
	const struct array recent = finder->tenants->recent;
	int64_t until = 0;
	for (uint32_t i = 0; i < recent.count; i++) {
		const struct attribution_past_tenant *past = ARRAY_AT(
			recent, struct attribution_past_tenant, i);
		if (view_equal(past->pod_uid, uid) && past->until > until)
			until = past->until;
	}
	return until;
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

/* How long the process must still be waited for; 0: it is a user's. */
static int64_t waits_for(const struct finder *finder, const struct attribution_user *user)
{
	const struct join_input *input = finder->holdings->input;
	int64_t seen_at = input->now_wall_ms - input->report_age_ms;
	int64_t until = ended_at(finder, user->pod_uid);
	int64_t left = input->limits->disagreement_ms - input->report_held_ms;

	if (find_published(finder, user))
		return 0;
	if (user->pod_uid.len > 0 && until > 0)
		left = until + input->limits->user_grace_ms - seen_at;
	return left > 0 ? left : 0;
}

static int name_process(struct finder *finder, const struct report_process *process,
			struct view *ret, struct error *err)
{
	char text[LIMIT_TEXT_PROCESS];
	int len = snprintf(text, sizeof(text), "%.*s[%" PRId64 "]",
			   (int)(process->command.len < 64 ? process->command.len : 64),
			   process->command.ptr ? process->command.ptr : "", process->pid);
	assert(len > 0 && (size_t)len < sizeof(text));
	return arena_copy(finder->arena, (struct view){text, (size_t)len}, ret)
		       ? 0
		       : error_no_memory(err);
}

static int add_user(struct finder *finder, const struct report_process *process,
		    const struct pod *pod, struct error *err)
{
	struct attribution_user user = {
		.pod_uid = pod ? pod_uid(pod) : process->pod_uid,
		.pod_namespace = pod ? pod_namespace(pod) : (struct view){0},
		.pod_name = pod ? pod_name(pod) : (struct view){0},
		.memory_mib = process->memory_mib,
		.since = finder->holdings->input->now_wall_ms,
	};
	const struct attribution_user *before;
	int64_t left;

	if (name_process(finder, process, &user.process, err) < 0)
		return -1;
	left = waits_for(finder, &user);
	if (left > 0) {
		wait_for(finder, left);
		return 0;
	}
	before = find_published(finder, &user);
	if (before)
		user.since = before->since;
	if (user.pod_name.len == 0 && before) {
		user.pod_namespace = before->pod_namespace;
		user.pod_name = before->pod_name;
	}
	finder->found[finder->n_found++] = user;
	return 0;
}

static int judge(struct finder *finder, const struct report_process *process, struct error *err)
{
	const struct pod *pod = process->pod_uid.len > 0
					? census_find_uid(&finder->holdings->census,
							  process->pod_uid)
					: NULL;
	if (is_server(finder, process))
		return 0;
	if (process->pod_uid.len > 0 &&
	    credit_tenant(finder, pod ? pod_uid(pod) : process->pod_uid, process))
		return 0;
	return add_user(finder, process, pod, err);
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
		struct attribution_tenant *tenant = ARRAY_AT(finder->tenants->listed,
							     struct attribution_tenant, i);
		tenant->processes = 0;
		tenant->memory_mib = 0;
	}
	for (uint32_t i = 0; i < processes.count; i++) {
		if (!is_repeated(processes, i) &&
		    judge(finder, ARRAY_AT(processes, struct report_process, i), err) < 0)
			return -1;
	}
	return witness_tenants(finder, err);
}

static void carry(const struct finder *finder, struct users *users)
{
	if (!finder->published)
		return;
	for (uint32_t i = 0; i < finder->tenants->listed.count; i++) {
		struct attribution_tenant *tenant = ARRAY_AT(finder->tenants->listed,
							     struct attribution_tenant, i);
		const struct attribution_tenant *before = attribution_find_tenant(
			finder->published, tenant->pod_uid, tenant->container);
		tenant->processes = before ? before->processes : 0;
		tenant->memory_mib = before ? before->memory_mib : 0;
	}
	users->listed = finder->published->unallocated_users;
	users->left_out = finder->published->unallocated_users_left_out;
}

static bool can_tell(const struct finder *finder)
{
	const struct report *report = finder->holdings->input->report;
	return report && report->sources.processes.state == REPORT_SOURCE_OK &&
	       finder->device->reported && finder->device->reported->processes.present &&
	       finder->holdings->roster->nvml == ROSTER_NVML_OK;
}

/* Whoever grants the agent no sight of processes any more wants no users listed for ever. */
static bool is_switched_off(const struct finder *finder)
{
	const struct report *report = finder->holdings->input->report;
	return report && report->sources.processes.state == REPORT_SOURCE_ABSENT;
}

int user_find(const struct holdings *holdings, size_t device, struct tenants *tenants,
	      struct arena *arena, struct users *ret_users, struct error *err)
{
	const struct roster_device *roster_device = &holdings->roster->devices[device];
	struct users users = {.again_in_ms = -1};
	struct finder finder = {
		.holdings = holdings,
		.device = roster_device,
		.published = roster_published(roster_device),
		.tenants = tenants,
		.arena = arena,
		.again_in_ms = -1,
	};
	struct array processes;

	if (!can_tell(&finder)) {
		if (!is_switched_off(&finder))
			carry(&finder, &users);
		*ret_users = users;
		return 0;
	}
	processes = roster_device->reported->processes;
	finder.found = arena_alloc(arena, processes.count, sizeof(*finder.found));
	if (!finder.found)
		return error_no_memory(err);
	if (find(&finder, processes, err) < 0)
		return -1;
	size_t n = fold(finder.found, finder.n_found);
	size_t n_listed = n < LIMIT_UNALLOCATED_USERS ? n : LIMIT_UNALLOCATED_USERS;
	users.listed = (struct array){n > 0 ? finder.found : NULL, (uint32_t)n_listed, true};
	users.left_out = (int64_t)(n - n_listed);
	users.again_in_ms = finder.again_in_ms;
	*ret_users = users;
	return 0;
}
