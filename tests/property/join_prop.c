/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Random small worlds. After each step the invariants of the join are checked.
 * - Pods come, go, end and are followed by others of the same name.
 * - The kubelet's List and checkpoint lag behind, are short, dated or missing.
 * - Statuses of pods, claims, annotations and processes say anything, and may contradict the
 *   kubelet.
 * - Devices are whole, shared or cut, vanish and come back.
 * - Agents are silent or never were.
 *
 * Then a controller starts anew while two nodes may report the same device, in random order and at
 * random times. The seed of a failing world is printed; PROP_SEED in the environment runs that one
 * alone.
 *
 * A line on the standard output is a digest of all decisions in the worlds, for sim/same_decisions.sh.
 */

#include "lib/build_world.h"
#include "lib/rewording.h"
#include "lib/test_main.h"

#include <stdlib.h>

#include "base/limits.h"
#include "base/prng.h"
#include "base/sbuf.h"
#include "controller/gather.h"
#include "join/facts.h"
#include "model/device_id.h"
#include "schema/attribution_doc.h"

#ifndef N_WORLDS /* hack/mutate makes do with fewer */
#define N_WORLDS 1500
#endif
#define N_STEPS 8
#define N_NAMES 6
#define N_DEVICES 3
#define N_CONTAINERS 2
#define STATIC_NAME 5 /* pods of that name are static: the kubelet has another UID for them */

static const char *const containers[N_CONTAINERS] = {"main", "side"};

/* What is so, which no book need say. */
struct truth {
	struct prng prng;
	struct build_world world;
	unsigned generations[N_NAMES]; /* how many pods of that name there have been */
	char uids[N_NAMES][32];
	bool is_there[N_NAMES];
	bool is_over[N_NAMES];
	uint64_t seed;
};

static struct truth truth;
static uint64_t digest = REWORDING_DIGEST; /* of all decisions */

static unsigned draw(unsigned n)
{
	return (unsigned)prng_between(&truth.prng, 0, n - 1);
}

static bool chance(unsigned percent)
{
	return draw(100) < percent;
}

static struct view copy(const char *text)
{
	return build_world_text(&truth.world, "%s", text);
}

/* The UID that the kubelet has for the pod that the API server has under that UID. */
static struct view kubelet_uid(unsigned n, const char *uid)
{
	return n == STATIC_NAME ? build_world_text(&truth.world, "hash-%s", uid) : copy(uid);
}

static struct view draw_id(void);

static const char *draw_annotation(void)
{
	static const char *const annotations[] = {
		"GPU-00000000-0000-4000-8000-0123456789ab,NVIDIA,1,1:;",
		";GPU-00000001-0000-4000-8000-0123456789ab,NVIDIA,1,1:;",
		("GPU-00000002-0000-4000-8000-0123456789ab[1],NVIDIA,1,1:"
		 "GPU-00000000-0000-4000-8000-0123456789ab,NVIDIA,1,1:;"),
		"GPU-00000009-0000-4000-8000-0123456789ab,NVIDIA,1,1:;",
		"nonsense",
	};
	return chance(25) ? annotations[draw(ARRAY_SIZE(annotations))] : "";
}

static const char *draw_group(void)
{
	return chance(25) ? (chance(70) ? "group-0" : "group-1") : "";
}

static void put_pod(unsigned n, bool over)
{
	enum pod_container_kind kind = (enum pod_container_kind)draw(3);
	struct view told[BUILD_WORLD_MAX_TOLD] = {0};
	char name[16];
	for (unsigned i = 0; i < 2 && chance(35); i++)
		told[i] = draw_id();
	snprintf(name, sizeof(name), "pod-%u", n);
	truth.is_over[n] = over;
	build_world_pod(&truth.world,
			(struct build_pod){
				.name = copy(name).ptr,
				.uid = copy(truth.uids[n]).ptr,
				.hash = n == STATIC_NAME ? kubelet_uid(n, truth.uids[n]).ptr : NULL,
				.container = containers[draw(N_CONTAINERS)],
				.kind = kind,
				.second = kind == POD_CONTAINER_MAIN ? NULL : "work",
				.state = (enum pod_container_state)(1 + draw(3)),
				.is_unseen = chance(20),
				.phase = over ? POD_PHASE_FAILED : POD_PHASE_RUNNING,
				.deleting = chance(20),
				.wants_no_gpu = chance(10),
				.system = n == 0,
				.told = {told[0], told[1]},
				.hami = draw_annotation(),
				.kai_group = draw_group(),
				.reservation = n == 1 && chance(50),
				.kai_device = n == 1 && chance(50)
						      ? "GPU-00000001-0000-4000-8000-0123456789ab"
						      : "",
			});
}

static void change_pod(unsigned n)
{
	if (!truth.is_there[n]) {
		/* The same name, another UID. */
		snprintf(truth.uids[n], sizeof(truth.uids[n]), "uid-%u-%u", n,
			 ++truth.generations[n]);
		truth.is_there[n] = true;
		put_pod(n, false);
	} else if (chance(40)) {
		build_world_remove_pod(&truth.world, truth.uids[n]);
		truth.is_there[n] = false;
		if (chance(70) && truth.world.input.n_ended < BUILD_WORLD_MAX)
			build_world_end(&truth.world, kubelet_uid(n, truth.uids[n]).ptr);
	} else {
		put_pod(n, chance(20));
	}
}

static struct view draw_id(void)
{
	unsigned device = draw(N_DEVICES + 3); /* more than there are */
	switch (device) {
	case 0:
		return build_world_uuid(&truth.world, 0);
	case 1:
		return build_world_replica(&truth.world, 1, draw(4));
	case 2:
		return build_world_mig(&truth.world, 2, draw(3));
	case 3:
		return build_world_text(&truth.world, "GPU-00000000-0000-4000-8000-0123456789ab-%u",
					draw(2));
	case 4:
		return build_world_text(&truth.world, "GPU-00000001-0000-4000-8000-0123456789ab#%u",
					draw(2));
	default:
		return copy("no-device");
	}
}

/* An entry about a pod that is, was, or never became known. */
static void add_entry(void)
{
	struct build_world *world = &truth.world;
	unsigned n = draw(N_NAMES);
	const char *container = containers[draw(N_CONTAINERS)];
	struct view id = draw_id();
	char name[16], uid[48];

	snprintf(name, sizeof(name), "pod-%u", n);
	snprintf(uid, sizeof(uid), "%s", truth.uids[n]);
	if (chance(10))
		snprintf(uid, sizeof(uid), "uid-%u-%u", n, truth.generations[n] + 1);
	else if (chance(10) && truth.generations[n] > 0)
		snprintf(uid, sizeof(uid), "uid-%u-%u", n, truth.generations[n] - 1);
	if (chance(75))
		build_world_list(world, copy(name).ptr, container, id);
	if (chance(75) && uid[0])
		build_world_book(world, kubelet_uid(n, uid).ptr, container, id)->mps = chance(10);
	if (chance(5))
		build_world_book(world, "uid-0-away", container, id);
}

static void rewrite_books(void)
{
	build_world_list_nothing(&truth.world);
	build_world_book_nothing(&truth.world);
	for (unsigned n = draw(8); n > 0; n--)
		add_entry();
}

static void rewrite_claims(void)
{
	struct build_world *world = &truth.world;
	world->n_granted = 0;
	for (unsigned i = draw(4); i > 0; i--) {
		unsigned n = draw(N_NAMES), device = draw(N_DEVICES);
		struct grant *grant = build_world_grant(world, copy(truth.uids[n]).ptr,
							     containers[draw(N_CONTAINERS)], device);
		grant->is_admin = chance(20);
		if (device == 2) {
			unsigned part = 3 + draw(3); /* none of the plugin's */
			grant->partition = build_world_mig(world, 2, part);
			grant->device = build_world_text(world, "pool/gpu-2-mig-%u", part);
		}
		if (chance(15))
			grant->uuid = (struct view){0};
	}
	world->input.n_slice_devices = 0;
	for (unsigned i = 0; i < N_DEVICES + 1; i++) {
		if (chance(30))
			build_world_slice(world, i);
	}
	build_world_regrant(world);
}

/* The number of a device that is reported. */
static unsigned draw_reported(void)
{
	const struct build_world *world = &truth.world;
	unsigned number;
	assert_int_equal(sscanf(world->devices[draw(world->report.devices.count)].uuid.ptr,
				"GPU-%8x", &number), 1);
	return number;
}

static void rewrite_processes(void)
{
	static const int states[] = {REPORT_SOURCE_OK, REPORT_SOURCE_OK, REPORT_SOURCE_ERROR,
				     REPORT_SOURCE_ABSENT, REPORT_SOURCE_UNKNOWN};
	struct build_world *world = &truth.world;
	build_world_see_no_processes(world);
	for (unsigned i = draw(6); i > 0; i--) {
		unsigned n = draw(N_NAMES), generation = 1 + draw(truth.generations[n] + 1);
		bool is_host = chance(20), is_server = n == 4;
		char uid[48];
		snprintf(uid, sizeof(uid), "uid-%u-%u", n, generation);
		/* A process is one pod's; several lists may have it. */
		struct report_process *process = build_world_process(
			world, draw_reported(), 1 + n + generation * 10 + is_host * 1000,
			is_host ? "" : kubelet_uid(n, uid).ptr);
		process->memory_mib = draw(100);
		if (is_server)
			process->command = VIEW("nvidia-cuda-mps");
		else
			process->kind = (int)(1 + draw(3));
	}
	for (unsigned i = 0; i < N_DEVICES; i++)
		world->devices[i].compute_mode = chance(80) ? REPORT_COMPUTE_DEFAULT
							    : REPORT_COMPUTE_EXCLUSIVE_PROCESS;
	world->report.sources.processes.state = states[draw(ARRAY_SIZE(states))];
}

static int draw_source_state(void)
{
	return chance(80) ? REPORT_SOURCE_OK : REPORT_SOURCE_ERROR;
}

static void change_sources(void)
{
	struct report *report = &truth.world.report;
	report->sources.pod_resources.state = draw_source_state();
	report->sources.checkpoint.state = draw_source_state();
	report->sources.nvml.state = draw_source_state();
	report->pod_resources.present = chance(90);
	report->checkpoint.present = chance(90);
	report->allocatable.present = chance(90);
	report->checkpoint.registered.present = chance(90);
	report->devices.present = chance(90);
	/* What is not there has nothing in it. */
	report->pod_resources.count *= report->pod_resources.present;
	report->allocatable.count = report->allocatable.present;
	report->checkpoint.entries.count *= report->checkpoint.present;
	report->checkpoint.registered.count =
		report->checkpoint.present && report->checkpoint.registered.present;
	report->devices.count = report->devices.present ? N_DEVICES - (chance(10) ? 1 : 0) : 0;
	report->kubelet_restarted_at = chance(20) ? report->observed_at - 1000 : 0;
}

/* Another node's agent reports a device too, or its object says that it is over there. */
static void change_claims(void)
{
	struct build_world *world = &truth.world;
	if (world->input.n_previous == 0)
		return;
	struct join_previous *previous = &world->previous[draw((unsigned)world->input.n_previous)];
	previous->claimed_age_ms = chance(50) ? -1 : (int64_t)draw(200000);
	previous->claimed_for_ms = (int64_t)draw(20000);
	previous->is_named_elsewhere = chance(50);
	if (chance(30)) {
		struct attribution *object = arena_alloc(&world->arena, 1, sizeof(*object));
		assert_non_null(object);
		*object = *previous->object;
		object->status.node_name = VIEW("gpu-b");
		previous->object = object;
	}
}

/* A person deletes an object; another node may have spoken of its device more recently. */
static void delete_object(void)
{
	static struct view contested;
	struct join_input *input = &truth.world.input;
	input->contested = &contested;
	input->n_contested = 0;
	if (input->n_previous == 0 || !chance(15))
		return;
	struct join_previous *previous = &truth.world.previous[draw((unsigned)input->n_previous)];
	contested = previous->object->uuid;
	input->n_contested = chance(30);
	*previous = truth.world.previous[--input->n_previous];
}

static void change_node(void)
{
	truth.world.input.node = chance(90) ? &truth.world.node : NULL;
	truth.world.input.node_gone_for_ms = truth.world.input.node ? 0 : draw(700000);
}

static void make_devices(void)
{
	build_world_exclusive(&truth.world, 0);
	build_world_shared(&truth.world, 1, 4);
	build_world_cut(&truth.world, 2, 3);
}

static void step(void)
{
	struct build_world *world = &truth.world;
	for (unsigned n = draw(3); n > 0; n--)
		change_pod(draw(N_NAMES));
	if (chance(60))
		rewrite_books();
	if (chance(30))
		rewrite_claims();
	world->input.grants_unknown = chance(15);
	if (chance(60))
		change_sources();
	if (chance(40) && world->report.devices.count > 0)
		rewrite_processes();
	if (chance(20))
		build_world_event(world, build_world_uuid(world, draw(N_DEVICES)),
				  chance(50) ? 79 : 31, BUILD_WORLD_NOW + draw(1000));
	if (chance(10))
		change_claims();
	if (chance(20))
		change_node();
	delete_object();
	build_world_wait(world, draw(chance(15) ? 300000 : 30000));
	if (chance(70))
		world->input.report_age_ms = draw(1000);
	if (chance(40))
		world->input.report_held_ms = world->input.report_age_ms;
	world->input.report = chance(90) ? &world->report : NULL;
	if (!world->input.report)
		world->input.report_held_ms = 0;
}

/* Invariants */

static bool is_alive_here(struct view uid)
{
	for (unsigned n = 0; n < N_NAMES; n++) {
		if (truth.is_there[n] && !truth.is_over[n] &&
		    view_equal(uid, view_from(truth.uids[n])))
			return true;
	}
	return false;
}

static bool is_unknown(const struct attribution_tenant *tenant)
{
	return tenant->phase == ATTRIBUTION_PHASE_PENDING ||
	       tenant->phase == ATTRIBUTION_PHASE_UNRESOLVED;
}

/* The name that a UID of this test belongs to. */
static void check_name(const struct attribution_tenant *tenant)
{
	unsigned n, generation;
	char text[32], name[16];
	snprintf(text, sizeof(text), "%.*s", VIEW_ARG(tenant->pod_uid));
	assert_int_equal(sscanf(text, "uid-%u-%u", &n, &generation), 2);
	snprintf(name, sizeof(name), "pod-%u", n);
	assert_true(view_equal(tenant->pod_name, view_from(name)));
}

static unsigned witnesses_of(const struct attribution_tenant *tenant)
{
	unsigned witnesses = 0;
	for (uint32_t i = 0; i < tenant->witnesses.count; i++) {
		const struct array one = {ARRAY_AT(tenant->witnesses, struct view, i), 1, true};
		unsigned witness = wording_witnesses_of(one);
		assert_true(witness > witnesses); /* each once, in the fixed order */
		witnesses |= witness;
	}
	return witnesses;
}

/* What confirms. */
static void check_witnesses(const struct attribution_tenant *tenant)
{
	unsigned witnesses = witnesses_of(tenant);
	unsigned by_uid = WITNESS_CHECKPOINT | WITNESS_POD_STATUS | WITNESS_RESOURCE_CLAIM;
	unsigned by_text = WITNESS_HAMI | WITNESS_KAI;
	if (tenant->confidence == ATTRIBUTION_CONFIDENCE_CONFIRMED)
		assert_true((witnesses & by_uid) ||
			    ((witnesses & by_text) && (witnesses & WITNESS_PROCESSES)));
	if (tenant->confidence == ATTRIBUTION_CONFIDENCE_ANNOTATED)
		assert_true((witnesses & by_text) && !(witnesses & by_uid));
	if (tenant->confidence == ATTRIBUTION_CONFIDENCE_NAME_ONLY)
		assert_int_equal(witnesses & ~(unsigned)WITNESS_PROCESSES, WITNESS_POD_RESOURCES);
	if (view_equal(tenant->placeholder, VIEW("HAMi")))
		assert_int_not_equal(tenant->confidence, ATTRIBUTION_CONFIDENCE_CONFIRMED);
}

static void check_tenant(const struct attribution_tenant *tenant)
{
	assert_true(tenant->slots >= 0);
	assert_true(tenant->start_time > 0 && tenant->start_time <= truth.world.input.now_wall_ms);
	/* Who was carried over while all that could be asked denied him has none. */
	if (tenant->witnesses.count == 0)
		assert_true(tenant->confidence == ATTRIBUTION_CONFIDENCE_UNCONFIRMED ||
			    tenant->confidence == ATTRIBUTION_CONFIDENCE_DISPUTED);
	assert_false(view_equal(tenant->pod_uid, VIEW("uid-0-away")));
	if (is_unknown(tenant)) {
		assert_int_equal(tenant->confidence, ATTRIBUTION_CONFIDENCE_UNCONFIRMED);
		assert_int_equal(tenant->pod_name.len, 0);
		return;
	}
	assert_true(is_alive_here(tenant->pod_uid));
	check_name(tenant);
	check_witnesses(tenant);
}

static const struct attribution_disagreement *find_disagreement(
	const struct attribution_status *status, const struct attribution_tenant *tenant)
{
	for (uint32_t i = 0; i < status->source_disagreements.count; i++) {
		const struct attribution_disagreement *d = ARRAY_AT(
			status->source_disagreements, struct attribution_disagreement, i);
		if (view_equal(d->pod_uid, tenant->pod_uid) &&
		    view_equal(d->container, tenant->container))
			return d;
	}
	return NULL;
}

/* Who is disputed is said, and what is said is about tenants. */
static void check_disagreements(const struct attribution_status *status)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < status->tenants.count; i++) {
		const struct attribution_tenant *t =
			ARRAY_AT(status->tenants, struct attribution_tenant, i);
		const struct attribution_disagreement *d = find_disagreement(status, t);
		assert_int_equal(d != NULL, t->confidence == ATTRIBUTION_CONFIDENCE_DISPUTED);
		n += d != NULL;
	}
	assert_int_equal(n, status->source_disagreements.count);
}

static void check_users(const struct attribution_status *status)
{
	for (uint32_t i = 0; i < status->unallocated_users.count; i++) {
		const struct attribution_user *u =
			ARRAY_AT(status->unallocated_users, struct attribution_user, i);
		assert_true(u->command.len > 0 && u->pid >= 0 && u->start_time > 0);
		if (i == 0)
			continue;
		int order = view_compare(u[-1].pod_uid, u->pod_uid);
		assert_true(order < 0 ||
			    (order == 0 && u[-1].pid < u->pid));
	}
}

/* Nothing that cannot be told hides behind a condition that says all is well. */
static void check_attributed(const struct attribution_status *status)
{
	bool is_all_known = status->source_disagreements.count == 0 &&
			    status->unplaced_tenants.count == 0;
	for (uint32_t i = 0; i < status->tenants.count; i++) {
		const struct attribution_tenant *t =
			ARRAY_AT(status->tenants, struct attribution_tenant, i);
		is_all_known &= !is_unknown(t) && (t->placeholder.len == 0 || !attribution_is_counted(t));
	}
	const struct condition *attributed =
		attribution_find_condition(status, VIEW("Attributed"));
	if (attributed->status == CONDITION_TRUE)
		assert_true(is_all_known);
}

static void check_count(const struct attribution_status *status)
{
	int64_t n = 0;
	for (uint32_t i = 0; i < status->tenants.count; i++)
		n += attribution_is_counted(ARRAY_AT(status->tenants, struct attribution_tenant, i));
	assert_true(status->tenant_count == n || (status->tenant_count == -1 && n == 0));
}

static void check_order(const struct array tenants)
{
	for (uint32_t i = 1; i < tenants.count; i++) {
		const struct attribution_tenant *a =
			ARRAY_AT(tenants, struct attribution_tenant, i - 1);
		const struct attribution_tenant *b =
			ARRAY_AT(tenants, struct attribution_tenant, i);
		int order = view_compare(a->pod_uid, b->pod_uid);
		assert_true(order < 0 ||
			    (order == 0 && view_compare(a->container, b->container) < 0));
	}
}

static void check_status(const struct attribution_status *status)
{
	assert_true(status->tenants.count <= LIMIT_TENANTS);
	assert_true(status->recent_tenants.count <= LIMIT_RECENT_TENANTS);
	assert_true(status->health.events.count <= LIMIT_HEALTH_EVENTS);
	assert_true(status->sharing.evidence.count <= LIMIT_EVIDENCE);
	assert_true(status->source_disagreements.count <= LIMIT_SOURCE_DISAGREEMENT);
	assert_true(status->unplaced_tenants.count <= LIMIT_UNPLACED_TENANTS);
	assert_true(status->unallocated_users.count <= LIMIT_UNALLOCATED_USERS);
	assert_true(status->slots.total < 0 || status->slots.allocated <= status->slots.total);
	assert_int_equal(status->conditions.count, 5);
	check_order(status->tenants);
	if (!view_equal(status->node_name, VIEW("gpu-a")))
		return; /* kept for another node, of whose pods nothing is known here */
	for (uint32_t i = 0; i < status->tenants.count; i++)
		check_tenant(ARRAY_AT(status->tenants, struct attribution_tenant, i));
	check_disagreements(status);
	check_users(status);
	check_count(status);
	if (truth.world.input.report) /* without one the conditions are those of the last */
		check_attributed(status);
}

static bool has_tenant(const struct attribution_status *status, struct view uid,
		       struct view container)
{
	return attribution_find_tenant(status, uid, container) != NULL;
}

/* Whoever was published is there, has left, or was never known: to the API server, or to be here. */
static void check_nobody_vanishes(const struct attribution_status *before,
				  const struct attribution_status *after)
{
	for (uint32_t i = 0; i < before->tenants.count; i++) {
		const struct attribution_tenant *t =
			ARRAY_AT(before->tenants, struct attribution_tenant, i);
		bool found = is_unknown(t) || view_equal(t->placeholder, VIEW("HAMi")) ||
			     has_tenant(after, t->pod_uid, t->container);
		for (uint32_t j = 0; !found && j < after->recent_tenants.count; j++) {
			const struct attribution_past_tenant *past = ARRAY_AT(
				after->recent_tenants, struct attribution_past_tenant, j);
			found = view_equal(past->pod_uid, t->pod_uid) &&
				view_equal(past->container, t->container);
		}
		assert_true(found);
	}
}

/* Who spoke long ago, or before another node did, creates nothing. */
static void check_creation(const struct join_device *device)
{
	const struct join_input *input = &truth.world.input;
	assert_int_equal(device->action, JOIN_WRITE);
	assert_true(input->report ? input->report_age_ms < input->limits->report_stale_ms
				  : input->report_age_ms >= input->limits->agentless_ms);
	assert_false(input->n_contested > 0 && view_equal(input->contested[0], device->uuid));
}

/* It is left to another node, which reports it: what is published is that node's business. */
static bool is_left_to_others(const struct join_device *device)
{
	const struct build_world *world = &truth.world;
	for (size_t i = 0; i < world->input.n_previous; i++) {
		const struct join_previous *previous = &world->previous[i];
		if (previous->object == device->previous)
			return device->action == JOIN_KEEP && previous->claimed_age_ms >= 0;
	}
	return false;
}

/* An annotation says something only of a container to which the kubelet gave IDs of HAMi's. */

static bool has_hami_id(struct array ids)
{
	for (uint32_t i = 0; i < ids.count; i++) {
		if (device_id_parse(*ARRAY_AT(ids, struct view, i)).is_hami)
			return true;
	}
	return false;
}

static const struct pod *pod_of(const struct attribution_tenant *tenant)
{
	const struct join_input *input = &truth.world.input;
	for (size_t i = 0; i < input->n_pods; i++) {
		if (view_equal(pod_uid(input->pods[i]), tenant->pod_uid))
			return input->pods[i];
	}
	fail_msg("%.*s is no pod", VIEW_ARG(tenant->pod_uid));
	return NULL;
}

static bool is_told_hami(const struct attribution_tenant *tenant, const struct pod *pod)
{
	const struct pod_allocation *told = pod_gpu(pod)->allocations.items;
	const uint32_t n = pod_gpu(pod)->allocations.count;
	for (uint32_t i = 0; i < n; i++) {
		if (view_equal(told[i].container, tenant->container) &&
		    device_id_parse(told[i].id).is_hami)
			return true;
	}
	return false;
}

static bool is_booked_hami(const struct attribution_tenant *tenant, const struct pod *pod)
{
	const struct array booked = truth.world.report.checkpoint.entries;
	for (uint32_t i = 0; i < booked.count; i++) {
		const struct report_checkpoint_entry *said =
			ARRAY_AT(booked, struct report_checkpoint_entry, i);
		if ((view_equal(said->pod_uid, pod_uid(pod)) ||
		     view_equal(said->pod_uid, pod_config_hash(pod))) &&
		    view_equal(said->container, tenant->container) &&
		    has_hami_id(said->device_ids))
			return true;
	}
	return false;
}

static bool is_listed_hami(const struct attribution_tenant *tenant, const struct pod *pod)
{
	const struct array listed = truth.world.report.pod_resources;
	for (uint32_t i = 0; i < listed.count; i++) {
		const struct report_pod_resource *said =
			ARRAY_AT(listed, struct report_pod_resource, i);
		if (view_equal(said->name, pod_name(pod)) &&
		    view_equal(said->container, tenant->container) &&
		    has_hami_id(said->device_ids))
			return true;
	}
	return false;
}

static void check_hami(const struct attribution_status *before,
		       const struct attribution_status *after)
{
	for (uint32_t i = 0; i < after->tenants.count; i++) {
		const struct attribution_tenant *t =
			ARRAY_AT(after->tenants, struct attribution_tenant, i);
		const struct attribution_tenant *was =
			before ? attribution_find_tenant(before, t->pod_uid, t->container) : NULL;
		if (!(witnesses_of(t) & WITNESS_HAMI) || (was && witnesses_of(was) & WITNESS_HAMI))
			continue;
		const struct pod *pod = pod_of(t);
		bool is_given = is_told_hami(t, pod);
		if (truth.world.input.report)
			is_given |= is_booked_hami(t, pod) || is_listed_hami(t, pod);
		assert_true(is_given && pod_gpu(pod)->hami_devices.len > 0);
	}
}

/* Who may be on a device without a slot of it; that those said so once may be all that is left. */
static void check_slotless(const struct attribution_status *before,
			   const struct attribution_status *after)
{
	for (uint32_t i = 0; i < after->tenants.count; i++) {
		const struct attribution_tenant *t =
			ARRAY_AT(after->tenants, struct attribution_tenant, i);
		const struct attribution_tenant *was =
			before ? attribution_find_tenant(before, t->pod_uid, t->container) : NULL;
		if (t->slots == 0 && (!was || was->slots > 0))
			assert_true(witnesses_of(t) & (WITNESS_KAI | WITNESS_RESOURCE_CLAIM));
	}
}

static void check_news(const struct attribution_status *before,
		       const struct attribution_status *after)
{
	check_hami(before, after);
	check_slotless(before, after);
}

static void check_before_and_after(void)
{
	const struct join_result *result = &truth.world.result;
	for (size_t i = 0; i < result->n_devices; i++) {
		const struct join_device *device = &result->devices[i];
		if (device->action == JOIN_DELETE || is_left_to_others(device))
			continue;
		check_status(&device->status);
		if (view_equal(device->status.node_name, VIEW("gpu-a")))
			check_news(device->previous ? &device->previous->status : NULL,
				   &device->status);
		if (!device->previous) {
			check_creation(device);
			continue;
		}
		check_nobody_vanishes(&device->previous->status, &device->status);
		assert_int_equal(device->action == JOIN_KEEP,
				 attribution_doc_is_same(&device->previous->status, &device->status));
	}
}

/* What has been published needs no second write, now or as long as time changes nothing. */
static void check_rest(void)
{
	struct build_world *world = &truth.world;
	const struct join_input before = world->input;
	struct join_previous previous[4 * N_DEVICES];
	assert_true(before.n_previous <= ARRAY_SIZE(previous));
	memcpy(previous, world->previous, before.n_previous * sizeof(previous[0]));
	assert_int_equal(build_world_count_writes(world), 0);
	struct debounce_seen debounced[DEBOUNCE_MAX];
	size_t n_debounced = world->input.n_debounced;
	memcpy(debounced, world->debounced, n_debounced * sizeof(debounced[0]));
	int64_t again = world->result.again_in_ms;
	assert_true(again != 0);
	build_world_wait(world, again > 0 ? again - 1 : 86400000);
	assert_int_equal(build_world_count_writes(world), 0);
	world->input = before;
	world->input.n_debounced = n_debounced;
	memcpy(world->debounced, debounced, n_debounced * sizeof(debounced[0]));
	memcpy(world->previous, previous, before.n_previous * sizeof(previous[0]));
}

static void shuffle(void *items, size_t n, size_t size)
{
	char *bytes = items, spare[512];
	assert_true(size <= sizeof(spare));
	for (size_t i = n; i > 1; i--) {
		size_t j = draw((unsigned)i);
		memcpy(spare, bytes + (i - 1) * size, size);
		memcpy(bytes + (i - 1) * size, bytes + j * size, size);
		memcpy(bytes + j * size, spare, size);
	}
}

static void check_order_does_not_matter(void)
{
	struct build_world *world = &truth.world;
	const struct join_result first = *build_world_join(world);
	shuffle(world->pods, world->input.n_pods, sizeof(world->pods[0]));
	shuffle(world->devices, world->report.devices.count, sizeof(world->devices[0]));
	shuffle(world->listed, world->report.pod_resources.count, sizeof(world->listed[0]));
	shuffle(world->booked, world->report.checkpoint.entries.count, sizeof(world->booked[0]));
	shuffle(world->previous, world->input.n_previous, sizeof(world->previous[0]));
	shuffle(world->offered, world->allocatable.device_ids.count, sizeof(struct view));
	shuffle(world->registered_ids, world->registered.device_ids.count, sizeof(struct view));
	shuffle(world->grants, world->input.n_grants, sizeof(world->grants[0]));
	shuffle(world->slices, world->input.n_slice_devices, sizeof(world->slices[0]));
	for (uint32_t i = 0; i < world->report.devices.count; i++)
		shuffle(world->devices[i].processes.items, world->devices[i].processes.count,
			sizeof(struct report_process));
	const struct join_result *second = build_world_join(world);
	assert_int_equal(first.n_devices, second->n_devices);
	assert_int_equal(first.recall.n_ended, second->recall.n_ended);
	assert_int_equal(first.refused.ids, second->refused.ids);
	assert_true(first.again_in_ms == second->again_in_ms);
	for (size_t i = 0; i < first.n_devices; i++) {
		assert_true(view_equal(first.devices[i].name, second->devices[i].name));
		assert_int_equal(first.devices[i].action, second->devices[i].action);
		assert_true(attribution_doc_is_same(&first.devices[i].status, &second->devices[i].status));
	}
}

static const struct attribution_status *status_in(const struct join_result *result,
						  struct view uuid)
{
	for (size_t i = 0; i < result->n_devices; i++) {
		if (view_equal(result->devices[i].uuid, uuid))
			return &result->devices[i].status;
	}
	fail_msg("%.*s is gone", VIEW_ARG(uuid));
	return NULL;
}

/* A shorter List takes away no tenant that the checkpoint confirms. */
static void check_short_list_takes_nobody(void)
{
	struct build_world *world = &truth.world;
	const struct join_result full = *build_world_join(world);
	uint32_t n = world->report.pod_resources.count;
	if (n == 0 || !world->input.report)
		return;
	world->report.pod_resources.count = draw(n);
	const struct join_result *cut = build_world_join(world);
	world->report.pod_resources.count = n;
	for (size_t i = 0; i < full.n_devices; i++) {
		const struct array tenants = full.devices[i].status.tenants;
		for (uint32_t j = 0; j < tenants.count; j++) {
			const struct attribution_tenant *t =
				ARRAY_AT(tenants, struct attribution_tenant, j);
			bool is_booked = false;
			for (uint32_t k = 0; k < t->witnesses.count; k++)
				is_booked |= view_equal(*ARRAY_AT(t->witnesses, struct view, k),
							VIEW("Checkpoint"));
			if (!is_unknown(t) && is_booked)
				assert_true(has_tenant(status_in(cut, full.devices[i].uuid),
						       t->pod_uid, t->container));
		}
	}
}

static void digest_number(int64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld,", (long long)number);
	digest = rewording_digest(digest, view_from(text));
}

static void digest_device(const struct join_device *device)
{
	const struct attribution object = {
		.name = device->name,
		.uuid = device->uuid,
		.uid = VIEW("uid"),
		.resource_version = VIEW("1"),
	};
	struct sbuf buf;

	digest_number(device->action);
	digest_number(device->is_by_names);
	sbuf_init(&buf, LIMIT_OBJECT_BYTES);
	attribution_doc_encode_status(&object, &device->status, &buf);
	digest = rewording_digest(digest, sbuf_view(&buf));
	sbuf_deinit(&buf);
}

static void digest_decisions(const struct join_result *result)
{
	digest_number(result->again_in_ms);
	digest_number(result->events_until);
	digest_number((int64_t)result->recall.n_ended);
	digest_number((int64_t)result->refused.ids);
	for (size_t i = 0; i < result->n_devices; i++)
		digest_device(&result->devices[i]);
}

static void run_world(uint64_t seed)
{
	memset(&truth, 0, sizeof(truth));
	truth.seed = seed;
	prng_init(&truth.prng, seed);
	build_world_init(&truth.world);
	make_devices();
	build_world_govern(&truth.world, "ml");
	build_world_move_away(&truth.world, "uid-0-away");
	for (unsigned i = 0; i < N_STEPS; i++) {
		step();
		check_order_does_not_matter();
		check_short_list_takes_nobody();
		build_world_join(&truth.world);
		check_before_and_after();
		digest_decisions(&truth.world.result);
		build_world_publish(&truth.world);
		check_rest();
	}
	build_world_deinit(&truth.world);
}

/* A controller starts anew while two nodes may report the same device */

#define START_MS 1000u
#define N_MOMENTS 12

static const char *const rivals[] = {"gpu-a", "gpu-b"};

struct rivalry {
	struct inventory *inventory;
	struct arena arena;
	struct report_device device;
	struct report reports[ARRAY_SIZE(rivals)];
	uint64_t heard_at[ARRAY_SIZE(rivals)]; /* START_MS: not yet */
	bool is_heard[ARRAY_SIZE(rivals)], names[ARRAY_SIZE(rivals)];
	uint64_t now;
};

static void release_nothing(void *owner)
{
	(void)owner;
}

static void put_rival_object(struct rivalry *rivalry, const char *node)
{
	struct arena arena;
	struct error err;
	const struct attribution object = {
		.name = VIEW("gpu-00000000-0000-4000-8000-0123456789ab"),
		.uuid = rivalry->device.uuid,
		.status.node_name = view_from(node),
	};
	arena_init(&arena, 4096);
	assert_int_equal(inventory_put_attribution(rivalry->inventory, &object, &arena,
						   STORE_UPSERT, 1, &err), 0);
	arena_deinit(&arena);
}

static void let_rival_report(struct rivalry *rivalry, unsigned n)
{
	struct error err;
	struct report *report = arena_alloc(&rivalry->arena, 1, sizeof(*report));
	assert_non_null(report);
	rivalry->names[n] = n == 0 || chance(60);
	*report = (struct report){
		.version = REPORT_VERSION,
		.node = view_from(rivals[n]),
		.sources.nvml.state = REPORT_SOURCE_OK,
		.devices = {&rivalry->device, rivalry->names[n], true},
	};
	rivalry->is_heard[n] = true;
	rivalry->heard_at[n] = rivalry->now;
	assert_int_equal(inventory_node_state_put_report(rivalry->inventory, report,
							 release_nothing, NULL, rivalry->now, &err),
			 0);
}

/* What the node would do with the object; JOIN_KEEP also for nothing at all. */
static enum join_action join_rival(struct rivalry *rivalry, unsigned n)
{
	static const struct join_limits limits = {.report_stale_ms = 120000, .pending_ms = 60000,
						  .settling_ms = 300000, .node_gone_ms = 600000,
						  .agentless_ms = 30000, .disagreement_ms = 10000,
						  .user_grace_ms = 30000,
						  .quiet_ms = 600000};
	struct join_input input;
	struct join_result result;
	struct error err;
	const struct inventory_parts parts = inventory_parts(rivalry->inventory);
	assert_int_equal(gather_node(&parts, view_from(rivals[n]), rivalry->now, &rivalry->arena,
				     &input, &err), 0);
	input.limits = &limits;
	input.now_wall_ms = BUILD_WORLD_NOW;
	input.is_same = attribution_doc_is_same;
	assert_int_equal(join_node(&input, &rivalry->arena, &result, &err), 0);
	return result.n_devices > 0 ? result.devices[0].action : JOIN_KEEP;
}

static bool is_silent(const struct rivalry *rivalry, unsigned n)
{
	return rivalry->now - rivalry->heard_at[n] >= 120000;
}

/* The device is gpu-b's, by its object, or there is no object. */
static void run_rivalry(uint64_t seed, bool has_object)
{
	struct rivalry rivalry = {.now = START_MS, .heard_at = {START_MS, START_MS}};
	struct error err;
	truth.seed = seed;
	prng_init(&truth.prng, seed);
	arena_init(&rivalry.arena, 16 * LIMIT_MIB);
	rivalry.device.uuid = VIEW("GPU-00000000-0000-4000-8000-0123456789ab");
	assert_int_equal(inventory_new(rivalry.now, &rivalry.inventory, &err), 0);
	if (has_object)
		put_rival_object(&rivalry, "gpu-b");
	for (unsigned i = 0; i < N_MOMENTS; i++) {
		rivalry.now += draw(chance(20) ? 200000 : 20000);
		unsigned n = draw(3);
		if (n < ARRAY_SIZE(rivals))
			let_rival_report(&rivalry, n);
		bool a_writes = join_rival(&rivalry, 0) == JOIN_WRITE;
		bool b_has_let_go = rivalry.is_heard[1] && !rivalry.names[1];
		if (a_writes)
			assert_true(rivalry.is_heard[0] && !is_silent(&rivalry, 0));
		if (a_writes && has_object)
			assert_true(b_has_let_go || is_silent(&rivalry, 1));
		if (has_object)
			continue;
		bool b_writes = join_rival(&rivalry, 1) == JOIN_WRITE;
		if (b_writes)
			assert_true(rivalry.names[1] && !is_silent(&rivalry, 1));
		assert_true(!a_writes || !b_writes || rivalry.heard_at[0] == rivalry.heard_at[1]);
	}
	inventory_free(rivalry.inventory);
	arena_deinit(&rivalry.arena);
}

static void a_restart_moves_no_device_that_its_node_still_has(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= N_WORLDS; seed++)
		run_rivalry(seed, seed % 2);
	truth.seed = 0;
}

static void print_seed(void)
{
	if (truth.seed)
		fprintf(stderr, "PROP_SEED=%llu\n", (unsigned long long)truth.seed);
}

static void invariants_hold_in_random_worlds(void **state)
{
	(void)state;
	const char *only = getenv("PROP_SEED");
	atexit(print_seed);
	for (uint64_t seed = 1; !only && seed <= N_WORLDS; seed++)
		run_world(seed);
	if (only)
		run_world(strtoull(only, NULL, 10));
	truth.seed = 0;
	printf("digest %016llx\n", (unsigned long long)digest);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(invariants_hold_in_random_worlds),
	cmocka_unit_test(a_restart_moves_no_device_that_its_node_still_has),
};

TEST_MAIN(tests)
