/* SPDX-License-Identifier: Apache-2.0 */

/* Everything lies in one arena that lives as long as the world, results of earlier joins too. */

#include "lib/build_world.h"

#include <stdarg.h>

#include "lib/test_main.h"

#include "schema/attribution_doc.h"

#define ARENA_CAP (256u * 1024 * 1024)

static void *make(struct build_world *world, size_t n, size_t size)
{
	void *memory = arena_alloc(&world->arena, n, size);
	assert_non_null(memory);
	return memory;
}

static void describe_report(struct build_world *world)
{
	static const struct report_source ok = {.state = REPORT_SOURCE_OK,
						.observed_at = BUILD_WORLD_NOW - 1000};
	world->allocatable = (struct report_resource_devices){
		.resource = VIEW("nvidia.com/gpu"), .device_ids = {world->offered, 0, true}};
	world->registered = (struct report_resource_devices){
		.resource = VIEW("nvidia.com/gpu"), .device_ids = {world->registered_ids, 0, true}};
	world->report = (struct report){
		.version = REPORT_VERSION,
		.node = VIEW("gpu-a"),
		.observed_at = BUILD_WORLD_NOW - 1000,
		.driver_version = VIEW("580.65.06"),
		.cuda_version = VIEW("13.0"),
		.sources = {.pod_resources = ok, .checkpoint = ok, .nvml = ok},
		.devices = {world->devices, 0, true},
		.pod_resources = {world->listed, 0, true},
		.allocatable = {&world->allocatable, 1, true},
		.checkpoint = {.present = true,
			       .entries = {world->booked, 0, true},
			       .registered = {&world->registered, 1, true}},
		.events = {world->events, 0, true},
	};
}

void build_world_init(struct build_world *world)
{
	memset(world, 0, sizeof(*world));
	arena_init(&world->arena, ARENA_CAP);
	describe_report(world);
	world->node = (struct node){.name = VIEW("gpu-a")};
	world->intent = (struct intent){.known = true};
	world->limits = (struct join_limits){
		.report_stale_ms = 120000,
		.pending_ms = 60000,
		.settling_ms = 300000,
		.node_gone_ms = 600000,
		.agentless_ms = 30000,
		.disagreement_ms = 10000,
		.user_grace_ms = 30000,
		.quiet_ms = 600000,
	};
	world->input = (struct join_input){
		.node_name = VIEW("gpu-a"),
		.node = &world->node,
		.pods = (const struct pod *const *)world->pods,
		.report = &world->report,
		.report_age_ms = 1000,
		.report_held_ms = 1000,
		.listed_at = BUILD_WORLD_NOW - 1000,
		.ended = world->ended,
		.elsewhere = world->elsewhere,
		.previous = world->previous,
		.grants = world->grants,
		.awaiting = world->awaiting,
		.slice_devices = world->slices,
		.intent = &world->intent,
		.limits = &world->limits,
		.now_wall_ms = BUILD_WORLD_NOW,
		.is_same = attribution_doc_is_same,
	};
}

void build_world_deinit(struct build_world *world)
{
	for (size_t i = 0; i < world->input.n_pods; i++)
		pod_free(world->pods[i]);
	for (size_t i = 0; i < world->n_retired; i++)
		pod_free(world->retired[i]);
	arena_deinit(&world->arena);
}

struct view build_world_text(struct build_world *world, const char *format, ...)
{
	char text[512];
	struct view copy;
	va_list args;
	va_start(args, format);
	int len = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	assert_true(len >= 0 && (size_t)len < sizeof(text));
	assert_true(arena_copy(&world->arena, (struct view){text, (size_t)len}, &copy));
	return copy;
}

struct view build_world_uuid(struct build_world *world, unsigned n)
{
	return build_world_text(world, "GPU-%08x-0000-4000-8000-0123456789ab", n);
}

struct view build_world_replica(struct build_world *world, unsigned n, unsigned replica)
{
	return build_world_text(world, "GPU-%08x-0000-4000-8000-0123456789ab::%u", n, replica);
}

struct view build_world_mig(struct build_world *world, unsigned n, unsigned partition)
{
	return build_world_text(world, "MIG-%08x-0000-4000-8000-%012x", n, partition);
}

struct report_device *build_world_device(struct build_world *world, unsigned n)
{
	assert_true(world->report.devices.count < BUILD_WORLD_MAX_DEVICES);
	struct report_device *device = &world->devices[world->report.devices.count++];
	*device = (struct report_device){
		.uuid = build_world_uuid(world, n),
		.index = n,
		.minor = n,
		.pci_bus_id = build_world_text(world, "00000000:%02X:00.0", n),
		.pci_device_id = VIEW("0x20B010DE"),
		.model = VIEW("NVIDIA A100-SXM4-40GB"),
		.memory_mib = 40960,
		.serial = VIEW("1322620012345"),
		.compute_capability = VIEW("8.0"),
		.compute_mode = REPORT_COMPUTE_DEFAULT,
		.partitions = {.present = true},
		.processes = {.present = true},
	};
	return device;
}

void build_world_offer(struct build_world *world, struct view id)
{
	assert_true(world->allocatable.device_ids.count < BUILD_WORLD_MAX_IDS);
	world->offered[world->allocatable.device_ids.count++] = id;
	world->registered_ids[world->registered.device_ids.count++] = id;
}

void build_world_offer_nothing(struct build_world *world)
{
	world->allocatable.device_ids.count = 0;
	world->registered.device_ids.count = 0;
}

void build_world_lose_plugin(struct build_world *world)
{
	world->allocatable.device_ids.count = 0;
}

struct report_device *build_world_exclusive(struct build_world *world, unsigned n)
{
	build_world_offer(world, build_world_uuid(world, n));
	return build_world_device(world, n);
}

struct report_device *build_world_shared(struct build_world *world, unsigned n, unsigned replicas)
{
	for (unsigned i = 0; i < replicas; i++)
		build_world_offer(world, build_world_replica(world, n, i));
	return build_world_device(world, n);
}

struct report_device *build_world_cut(struct build_world *world, unsigned n, unsigned partitions)
{
	struct report_device *device = build_world_device(world, n);
	struct report_partition *items = make(world, partitions, sizeof(*items));
	for (unsigned i = 0; i < partitions; i++) {
		items[i] = (struct report_partition){
			.uuid = build_world_mig(world, n, i),
			.profile = VIEW("1g.5gb"),
			.gpu_instance_id = 7 + i,
			.compute_instance_id = 0,
			.memory_mib = 4864,
		};
		build_world_offer(world, items[i].uuid);
	}
	device->partitions = (struct array){items, partitions, true};
	device->mig = (struct report_mig){.present = true, .current = true, .pending = true};
	return device;
}

static struct view text_or(const char *text, const char *otherwise)
{
	return view_from(text ? text : otherwise);
}

static struct pod_container container_of(const struct build_pod *pod)
{
	struct pod_container container = {
		.name = text_or(pod->container, "main"),
		.kind = pod->kind,
		.state = pod->state ? pod->state : POD_CONTAINER_RUNNING,
		.wants_gpu = true,
		.id = text_or(pod->id, ""),
	};
	if (pod->is_unseen)
		container.state = POD_CONTAINER_UNKNOWN;
	return container;
}

/* Main containers come first, as in a document. */
static void put_containers(const struct build_pod *pod, struct pod_fields *fields)
{
	const struct pod_container second = {
		.name = text_or(pod->second, ""),
		.state = POD_CONTAINER_RUNNING,
		.wants_gpu = true,
		.id = text_or(pod->second_id, ""),
	};
	if (pod->wants_no_gpu)
		return;
	if (second.name.len > 0 && pod->kind != POD_CONTAINER_MAIN)
		fields->containers[fields->gpu.containers.count++] = second;
	fields->containers[fields->gpu.containers.count++] = container_of(pod);
	if (second.name.len > 0 && pod->kind == POD_CONTAINER_MAIN)
		fields->containers[fields->gpu.containers.count++] = second;
	if (text_or(pod->init, "").len > 0)
		fields->containers[fields->gpu.containers.count++] =
			(struct pod_container){.name = view_from(pod->init),
					       .kind = POD_CONTAINER_INIT,
					       .state = POD_CONTAINER_TERMINATED};
}

static void put_allocations(struct view container, const struct view *ids, bool are_unhealthy,
			    struct pod_fields *fields)
{
	for (size_t i = 0; i < BUILD_WORLD_MAX_TOLD && ids[i].len > 0; i++)
		fields->allocations[fields->gpu.allocations.count++] =
			(struct pod_allocation){container, VIEW("nvidia.com/gpu"), ids[i],
						are_unhealthy};
}

static bool awaits_grant(const struct build_world *world, const struct pod *pod)
{
	const struct pod_claim *claims = pod_gpu(pod)->claims.items;
	const uint32_t n_claims = pod_gpu(pod)->claims.count;
	size_t n_awaited = 0, n_granted = 0;

	for (uint32_t i = 0; i < n_claims; i++)
		n_awaited += !view_equal(claims[i].claim, VIEW(BUILD_WORLD_NIC));
	for (size_t i = 0; i < world->input.n_grants; i++)
		n_granted += world->grants[i].pod == pod;
	return n_awaited > n_granted && !pod_is_over(pod);
}

static void find_awaiting(struct build_world *world)
{
	world->input.n_awaiting = 0;
	for (size_t i = 0; i < world->input.n_pods; i++) {
		if (awaits_grant(world, world->pods[i]))
			world->awaiting[world->input.n_awaiting++] = world->pods[i];
	}
}

/* Claims are gathered for pods that are there. */
void build_world_regrant(struct build_world *world)
{
	world->input.n_grants = 0;
	for (size_t g = 0; g < world->n_granted; g++) {
		for (size_t i = 0; i < world->input.n_pods; i++) {
			if (!view_equal(pod_uid(world->pods[i]), world->granted[g].uid))
				continue;
			struct grant *grant = &world->grants[world->input.n_grants++];
			*grant = world->granted[g].grant;
			grant->pod = world->pods[i];
		}
	}
	find_awaiting(world);
}

static void forget_pod(struct build_world *world, struct view uid)
{
	for (size_t i = 0; i < world->input.n_pods; i++) {
		if (!view_equal(pod_uid(world->pods[i]), uid))
			continue;
		assert_true(world->n_retired < BUILD_WORLD_MAX);
		world->retired[world->n_retired++] = world->pods[i];
		world->pods[i] = world->pods[--world->input.n_pods];
		return;
	}
}

static bool is_terminal(enum pod_phase phase)
{
	return phase == POD_PHASE_SUCCEEDED || phase == POD_PHASE_FAILED;
}

const struct pod *build_world_pod(struct build_world *world, struct build_pod pod)
{
	const char *name = pod.name ? pod.name : "pod";
	struct pod_fields fields = {
		.namespace = text_or(pod.namespace, "ml"),
		.name = view_from(name),
		.uid = pod.uid ? view_from(pod.uid) : build_world_text(world, "uid-%s", name),
		.node = VIEW("gpu-a"),
		.config_hash = text_or(pod.hash, ""),
		.gpu.workload = {text_or(pod.owner ? "batch" : "", ""),
			     text_or(pod.owner ? "Job" : "", ""), text_or(pod.owner, "")},
		.state.phase = (uint8_t)(pod.phase ? pod.phase : POD_PHASE_RUNNING),
		.state.deleting = pod.deleting,
		.state.admission_failed = pod.admission_failed || pod.was_refused,
		.state.wants_gpu = !pod.wants_no_gpu,
		.state.no_container_runs = is_terminal(pod.phase),
		.state.system = pod.system,
		.state.is_reservation = pod.reservation,
		.state.operand = (uint8_t)pod.operand,
		.state.is_ready = pod.is_ready,
		.gpu.created_at = pod.was_refused ? world->input.now_wall_ms : 0,
		.gpu.started_at = pod.started_at ? pod.started_at
			      : pod.is_unseen ? 0
					      : BUILD_WORLD_NOW - 3600000,
		.gpu.hami_devices = text_or(pod.hami, ""),
		.gpu.kai_group = text_or(pod.kai_group, ""),
		.gpu.kai_device = text_or(pod.kai_device, ""),
		.gpu.kai_container = text_or(pod.kai_container, ""),
		.gpu.refused_resource = text_or(pod.was_refused ? "nvidia.com/gpu" : NULL, ""),
		.gpu.allocations_left_out = pod.is_cut,
		.gpu.containers_left_out = pod.has_more,
		.gpu.ephemeral_left_out = pod.has_more_ephemeral,
	};
	struct error err;

	for (; fields.gpu.kai_groups.count < POD_MAX_KAI_GROUPS && pod.kai_groups[fields.gpu.kai_groups.count];
	     fields.gpu.kai_groups.count++)
		fields.kai_groups[fields.gpu.kai_groups.count] =
			view_from(pod.kai_groups[fields.gpu.kai_groups.count]);
	if (pod.claim)
		fields.claims[fields.gpu.claims.count++] = (struct pod_claim){
			text_or(pod.container, "main"), view_from(pod.claim), VIEW("")};
	if (pod.second_claim)
		fields.claims[fields.gpu.claims.count++] = (struct pod_claim){
			text_or(pod.container, "main"), view_from(pod.second_claim), VIEW("")};
	put_containers(&pod, &fields);
	put_allocations(text_or(pod.container, "main"), pod.told, pod.told_unhealthy, &fields);
	put_allocations(text_or(pod.second, ""), pod.told_of_second, pod.told_unhealthy,
			&fields);
	forget_pod(world, fields.uid);
	assert_true(world->input.n_pods < BUILD_WORLD_MAX);
	struct pod **slot = &world->pods[world->input.n_pods++];
	assert_int_equal(pod_new(&fields, slot, &err), 0);
	build_world_regrant(world);
	return *slot;
}

void build_world_remove_pod(struct build_world *world, const char *uid)
{
	forget_pod(world, view_from(uid));
	build_world_regrant(world);
}

static struct array one_id(struct build_world *world, struct view id)
{
	struct view *ids = make(world, 1, sizeof(*ids));
	*ids = id;
	return (struct array){ids, 1, true};
}

struct report_pod_resource *build_world_list(struct build_world *world, const char *name,
					     const char *container, struct view id)
{
	assert_true(world->report.pod_resources.count < BUILD_WORLD_MAX);
	struct report_pod_resource *entry =
		&world->listed[world->report.pod_resources.count++];
	*entry = (struct report_pod_resource){
		.namespace = VIEW("ml"),
		.name = view_from(name),
		.container = view_from(container),
		.resource = VIEW("nvidia.com/gpu"),
		.device_ids = one_id(world, id),
	};
	return entry;
}

struct report_checkpoint_entry *build_world_book(struct build_world *world, const char *uid,
						 const char *container, struct view id)
{
	assert_true(world->report.checkpoint.entries.count < BUILD_WORLD_MAX);
	struct report_checkpoint_entry *entry =
		&world->booked[world->report.checkpoint.entries.count++];
	*entry = (struct report_checkpoint_entry){
		.pod_uid = view_from(uid),
		.container = view_from(container),
		.resource = VIEW("nvidia.com/gpu"),
		.device_ids = one_id(world, id),
	};
	return entry;
}

const struct pod *build_world_run(struct build_world *world, struct build_pod fields,
				  struct view id)
{
	const struct pod *pod = build_world_pod(world, fields);
	const char *container = fields.container ? fields.container : "main";
	struct view uid = fields.hash ? view_from(fields.hash) : pod_uid(pod);
	if (fields.kind != POD_CONTAINER_INIT)
		build_world_list(world, fields.name ? fields.name : "pod", container, id);
	build_world_book(world, "", container, id)->pod_uid =
		build_world_text(world, "%.*s", VIEW_ARG(uid));
	return pod;
}

void build_world_list_nothing(struct build_world *world)
{
	world->report.pod_resources.count = 0;
}

void build_world_book_nothing(struct build_world *world)
{
	world->report.checkpoint.entries.count = 0;
}

void build_world_event(struct build_world *world, struct view uuid, int64_t code, int64_t time)
{
	uint32_t n = world->report.events.count++;
	assert_true(n < BUILD_WORLD_MAX);
	world->events[n] = (struct report_event){
		.sequence = n + 1,
		.time = time,
		.uuid = uuid,
		.type = REPORT_EVENT_XID,
		.code = code,
		.gpu_instance_id = -1,
		.compute_instance_id = -1,
	};
}

void build_world_end(struct build_world *world, const char *uid)
{
	world->ended[world->input.n_ended++] = view_from(uid);
	world->input.n_ended = view_sort(world->ended, world->input.n_ended);
}

void build_world_move_away(struct build_world *world, const char *uid)
{
	world->elsewhere[world->input.n_elsewhere++] = view_from(uid);
	world->input.n_elsewhere = view_sort(world->elsewhere, world->input.n_elsewhere);
}

struct grant *build_world_grant(struct build_world *world, const char *uid,
				     const char *container, unsigned n)
{
	assert_true(world->n_granted < BUILD_WORLD_MAX_DEVICES);
	struct build_grant *granted = &world->granted[world->n_granted++];
	*granted = (struct build_grant){
		.uid = view_from(uid),
		.grant = {.container = view_from(container),
			  .uuid = build_world_uuid(world, n),
			  .device = build_world_text(world, "pool/gpu-%u", n)},
	};
	build_world_regrant(world);
	return &granted->grant;
}

struct slice_device *build_world_slice(struct build_world *world, unsigned n)
{
	assert_true(world->input.n_slice_devices < BUILD_WORLD_MAX_DEVICES);
	struct slice_device *slice = &world->slices[world->input.n_slice_devices++];
	*slice = (struct slice_device){
		.uuid = build_world_uuid(world, n),
		.model = VIEW("NVIDIA A100-SXM4-40GB"),
		.compute_capability = VIEW("8.0.0"),
		.driver_version = VIEW("580.65.6"),
		.cuda_version = VIEW("13.0.0"),
		.pci_bus_id = build_world_text(world, "0000:%02x:00.0", n),
		.memory_mib = 40960,
		.minor = -1,
	};
	return slice;
}

static struct report_device *find_reported(struct build_world *world, unsigned n)
{
	struct view uuid = build_world_uuid(world, n);
	for (uint32_t i = 0; i < world->report.devices.count; i++) {
		if (view_equal(world->devices[i].uuid, uuid))
			return &world->devices[i];
	}
	fail_msg("device %u is not reported", n);
	return NULL;
}

struct report_process *build_world_process(struct build_world *world, unsigned n, int64_t pid,
					   const char *uid)
{
	struct array *processes = &find_reported(world, n)->processes;
	if (!processes->items)
		processes->items = make(world, BUILD_WORLD_MAX_PROCESSES,
					sizeof(struct report_process));
	assert_true(processes->count < BUILD_WORLD_MAX_PROCESSES);
	struct report_process *process = (struct report_process *)processes->items +
					 processes->count++;
	*process = (struct report_process){
		.pid = pid,
		.kind = REPORT_PROCESS_COMPUTE,
		.memory_mib = 100,
		.pod_uid = view_from(uid),
		.command = VIEW("python3"),
	};
	world->report.sources.processes.state = REPORT_SOURCE_OK;
	return process;
}

void build_world_see_no_processes(struct build_world *world)
{
	for (uint32_t i = 0; i < world->report.devices.count; i++)
		world->devices[i].processes.count = 0;
	world->report.sources.processes.state = REPORT_SOURCE_OK;
}

void build_world_restart(struct build_world *world)
{
	world->input.report = NULL;
	world->input.report_age_ms = 0;
	world->input.report_held_ms = 0;
	world->input.n_debounced = 0;
	world->input.settled_restart = 0;
	world->input.offered_since = 0;
}

void build_world_without_agent(struct build_world *world)
{
	build_world_restart(world);
	world->input.report_age_ms = world->limits.agentless_ms;
}

void build_world_report(struct build_world *world)
{
	world->input.report = &world->report;
	world->input.report_age_ms = 0;
	world->input.report_held_ms = 0;
}

void build_world_govern(struct build_world *world, const char *namespace)
{
	world->policy = (struct policy){
		.name = VIEW("cluster-policy"),
		.namespace = view_from(namespace),
	};
	world->intent = (struct intent){.known = true, .n_policies = 1, .policy = &world->policy};
}

void build_world_fail_list(struct build_world *world)
{
	world->report.sources.pod_resources.state = REPORT_SOURCE_ERROR;
	world->report.pod_resources = (struct array){0};
	world->report.allocatable = (struct array){0};
}

void build_world_fail_book(struct build_world *world)
{
	world->report.sources.checkpoint.state = REPORT_SOURCE_ERROR;
	world->report.checkpoint = (struct report_checkpoint){0};
}

void build_world_fail_nvml(struct build_world *world)
{
	world->report.sources.nvml.state = REPORT_SOURCE_ERROR;
	world->report.devices = (struct array){0};
}

const struct join_result *build_world_join(struct build_world *world)
{
	struct error err = {0};
	if (join_node(&world->input, &world->arena, &world->result, &err) < 0)
		fail_msg("join: %s", err.text);
	assert_true(world->result.recall.n_debounced <= DEBOUNCE_MAX);
	for (size_t i = 0; i < world->result.recall.n_debounced; i++)
		world->debounced[i] = world->result.recall.debounced[i];
	world->input.debounced = world->debounced;
	world->input.n_debounced = world->result.recall.n_debounced;
	world->input.settled_restart = world->result.recall.settled_restart;
	world->input.offered_since = world->result.recall.offered_since;
	return &world->result;
}

void build_world_wait(struct build_world *world, int64_t ms)
{
	build_world_join(world);
	world->input.now_wall_ms += ms;
	world->input.report_age_ms += ms;
	if (world->input.report)
		world->input.report_held_ms += ms;
	if (!world->input.node)
		world->input.node_gone_for_ms += ms;
	for (size_t i = 0; i < world->input.n_debounced; i++)
		world->debounced[i].age_ms += ms;
	for (size_t i = 0; i < world->input.n_previous; i++) {
		if (world->previous[i].claimed_age_ms >= 0)
			world->previous[i].claimed_age_ms += ms;
	}
}

static struct join_previous *find_previous(struct build_world *world, struct view uuid)
{
	for (size_t i = 0; i < world->input.n_previous; i++) {
		if (view_equal(world->previous[i].object->uuid, uuid))
			return &world->previous[i];
	}
	return NULL;
}

static void put_object(struct build_world *world, const struct join_device *joined)
{
	struct join_previous *previous = find_previous(world, joined->uuid);
	struct attribution *object = make(world, 1, sizeof(*object));

	if (!previous) {
		assert_true(world->input.n_previous < BUILD_WORLD_MAX);
		previous = &world->previous[world->input.n_previous++];
		previous->claimed_age_ms = -1;
		previous->claimed_for_ms = INT64_MAX / 2; /* when it is: for ever */
	} else {
		*object = *previous->object;
	}
	object->name = joined->name;
	object->uuid = joined->uuid;
	object->generation = object->generation ? object->generation : 1;
	object->resource_version = build_world_text(world, "%lld",
						    (long long)world->input.now_wall_ms);
	object->status = joined->status;
	previous->object = object;
}

static void drop_object(struct build_world *world, struct view uuid)
{
	struct join_previous *previous = find_previous(world, uuid);
	assert_non_null(previous);
	*previous = world->previous[--world->input.n_previous];
}

const struct join_result *build_world_publish(struct build_world *world)
{
	const struct join_result *result = build_world_join(world);
	assert_true(result->recall.n_ended <= BUILD_WORLD_MAX);
	if (result->recall.n_ended > 0)
		memmove(world->ended, result->recall.ended, result->recall.n_ended * sizeof(*result->recall.ended));
	world->input.n_ended = result->recall.n_ended;
	for (size_t i = 0; i < result->n_devices; i++) {
		if (result->devices[i].action == JOIN_WRITE)
			put_object(world, &result->devices[i]);
		else if (result->devices[i].action == JOIN_DELETE)
			drop_object(world, result->devices[i].uuid);
	}
	return result;
}

const struct join_device *build_world_joined(struct build_world *world, unsigned n)
{
	struct view uuid = build_world_uuid(world, n);
	for (size_t i = 0; i < world->result.n_devices; i++) {
		if (view_equal(world->result.devices[i].uuid, uuid))
			return &world->result.devices[i];
	}
	return NULL;
}

const struct attribution_status *build_world_status(struct build_world *world, unsigned n)
{
	const struct join_device *joined = build_world_joined(world, n);
	assert_non_null(joined);
	return &joined->status;
}

unsigned build_world_count_writes(struct build_world *world)
{
	const struct join_result *result = build_world_join(world);
	unsigned n = 0;
	for (size_t i = 0; i < result->n_devices; i++)
		n += result->devices[i].action != JOIN_KEEP;
	return n;
}

struct join_previous *build_world_previous(struct build_world *world, unsigned n)
{
	return find_previous(world, build_world_uuid(world, n));
}
