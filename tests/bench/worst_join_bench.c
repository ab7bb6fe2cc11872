/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What the worst reports cost that the limits allow. A join is on the loop thread, for which every
 * node waits: one node's report must not hold the others up. Each shape is made as large as a
 * report may be and half as large. If a shape does not fit in full at either size, that is printed.
 *
 * Each shape meets each world: what is published, and what pods and claims say. There are as many claims
 * and ended pods as the report is large, so that pairs of both are seen to grow.
 *
 * Prints the milliseconds of CPU of a join, the best of several. Fails when one is over BUDGET_MS.
 * Fails too when one grew by more than MAX_GROWTH for twice the size: what is quadratic grows by 4.
 */

#include "lib/build_world.h"
#include "lib/test_main.h"

#include <stdlib.h>
#include <time.h>

#include "base/limits.h"
#include "base/sbuf.h"
#include "schema/report_doc.h"

#define BUDGET_MS 20.0
#define MAX_GROWTH 3.2
#define SMALL_MS 10.0 /* below it growth is noise */
#define ARENA_CAP (48u * LIMIT_MIB) /* memory_limit_join() of the limit in the manifests */
#define N_RUNS 9
#define N_PODS 250u
#define N_RESERVATIONS 64u /* of the pods of KAI's world */
#define N_GROUPS_EACH 8u   /* of each of the others */
#define N_GRANTS_EACH 16u  /* of a pod */
#define N_GRANTS (N_PODS * N_GRANTS_EACH)
#define N_PARTS (LIMIT_REPORT_ALL_IDS / LIMIT_REPORT_DEVICES) /* that reports can have named of a device */
#define N_ENDS 1024u       /* as many as are remembered of a node (model/node_state.c) */
#define N_OBJECTS 128u
#define UUID "GPU-%08x-0000-4000-8000-0123456789ab"
#define MIG_UUID "MIG-%08x-0000-4000-8000-%012x" /* device, and 64 times the place on it more */
#define RESOURCE "\"resource\":\"nvidia.com/gpu\",\"deviceIDs\":["

static struct build_world world;
static struct sbuf json;
static size_t end; /* of the report that is being written */
static size_t n_ids; /* that may still be written */
static size_t n_processes; /* the same */

/* Writing reports */

static bool has_room(void)
{
	return json.len + 4096 < end && n_ids > 0;
}

/* Each of the two books may have half of the IDs. */
static void allow_ids(void)
{
	n_ids = (size_t)LIMIT_REPORT_ALL_IDS * end / LIMIT_REPORT_BYTES / 2;
}

/* The states of the kubelet's sources and of NVML. */
static void begin_with(const char *kubelet, const char *nvml)
{
	sbuf_printf(&json,
		    "{\"version\":1,\"node\":\"gpu-a\",\"bootID\":\"b\",\"instance\":1,"
		    "\"sequence\":1,\"observedAt\":\"2026-01-02T03:04:05Z\",\"sources\":{"
		    "\"podResources\":{\"state\":\"%s\"},\"checkpoint\":{\"state\":\"%s\"},"
		    "\"nvml\":{\"state\":\"%s\"},\"processes\":{\"state\":\"ok\"}}",
		    kubelet, kubelet, nvml);
}

static void begin(const char *nvml)
{
	begin_with("ok", nvml);
}

/* Separates the elements of an array. */
static void next(unsigned i)
{
	if (i > 0)
		sbuf_append_char(&json, ',');
}

static void put_devices(unsigned n, unsigned n_partitions)
{
	sbuf_printf(&json, ",\"devices\":[");
	for (unsigned d = 0; d < n; d++) {
		next(d);
		sbuf_printf(&json, "{\"uuid\":\"" UUID "\",\"minor\":%u,\"partitions\":[", d, d);
		for (unsigned i = 0; i < n_partitions; i++) {
			next(i);
			sbuf_printf(&json,
				    "{\"uuid\":\"MIG-%08x-0000-4000-8000-0123456789ab\","
				    "\"gpuInstanceID\":%u}",
				    d * 1000 + i, i);
		}
		sbuf_printf(&json, "]}");
	}
	sbuf_printf(&json, "]");
}

static void put_listed(unsigned pod, unsigned container)
{
	sbuf_printf(&json, "{\"namespace\":\"ml\",\"name\":\"p%u\",\"container\":\"c%u\"," RESOURCE,
		    pod, container);
}

static void put_booked(unsigned pod, unsigned container)
{
	sbuf_printf(&json, "{\"podUID\":\"uid-p%u\",\"container\":\"c%u\"," RESOURCE, pod,
		    container);
}

/* IDs of a form, of which each gets its number, until the report has that many bytes. */
static unsigned put_ids(const char *format, unsigned first, unsigned max, size_t until)
{
	unsigned n = 0;
	for (; n < max && n_ids > 0 && json.len < until; n++, n_ids--) {
		char id[128];
		int len = snprintf(id, sizeof(id), format, (first + n) % 64, first + n);
		next(n);
		sbuf_append_char(&json, '"');
		sbuf_append(&json, (struct view){id, (size_t)len});
		sbuf_append_char(&json, '"');
	}
	return n;
}

static void open_list(void)
{
	allow_ids();
	sbuf_printf(&json, ",\"podResources\":[");
}

static void open_book(void)
{
	allow_ids();
	sbuf_printf(&json, "],\"checkpoint\":{\"entries\":[");
}

static void close_book(void)
{
	sbuf_printf(&json, "]}}");
}

/* Both books, an entry for each ID, in turn of that many pods; more than there are: of unknown. */
static void put_entries(unsigned n_pods, unsigned n_containers, const char *format)
{
	size_t half = json.len + (end - json.len) / 2;
	open_list();
	for (unsigned i = 0; i < LIMIT_REPORT_HOLDINGS && json.len + 200 < half; i++) {
		next(i);
		put_listed(i % n_pods, i % n_containers);
		put_ids(format, i, 1, end);
		sbuf_printf(&json, "]}");
	}
	open_book();
	for (unsigned i = 0; i < LIMIT_REPORT_HOLDINGS && has_room(); i++) {
		next(i);
		put_booked(i % n_pods, i % n_containers);
		put_ids(format, i, 1, end);
		sbuf_printf(&json, "]}");
	}
	close_book();
}

/* Both books, entries as long as they may be. */
static void put_long(unsigned n_pods, const char *format)
{
	size_t half = json.len + (end - json.len) / 2;
	unsigned n = 0;
	open_list();
	for (unsigned i = 0; json.len + 4096 < half && n_ids > 0; i++) {
		next(i);
		put_listed(i % n_pods, 0);
		n += put_ids(format, n, LIMIT_REPORT_DEVICE_IDS, half - 1024);
		sbuf_printf(&json, "]}");
	}
	open_book();
	n = 0;
	for (unsigned i = 0; has_room(); i++) {
		next(i);
		put_booked(i % n_pods, 0);
		n += put_ids(format, n, LIMIT_REPORT_DEVICE_IDS, end - 2048);
		sbuf_printf(&json, "]}");
	}
	close_book();
}

/* The shapes */

static void one_id_over_and_over(void)
{
	begin("ok");
	put_long(1, "x");
}

static void one_id_in_entries_of_unknown_pods(void)
{
	begin("ok");
	put_entries(100000, 1, "x");
}

static void one_id_in_entries_of_known_pods(void)
{
	begin("ok");
	put_entries(N_PODS, 1, "x");
}

static void one_known_id_in_entries_of_known_pods(void)
{
	begin("ok");
	put_devices(64, 0);
	put_entries(N_PODS, 8192, "nvidia0");
}

static void one_device_in_entries_of_unknown_pods(void)
{
	begin("ok");
	put_devices(64, 0);
	put_entries(100000, 1, "nvidia%u");
}

/* Each device might have them. */
static void one_id_of_unknown_pods_beside_devices(void)
{
	begin("ok");
	put_devices(64, 0);
	put_entries(100000, 1, "x");
}

/* Only the List names them, so their names are compared with those of the published tenants. */
static void names_that_are_not_published(void)
{
	unsigned n = 0;
	begin("ok");
	put_devices(64, 0);
	open_list();
	n_ids *= 2;
	for (unsigned i = 0; i < LIMIT_REPORT_HOLDINGS && has_room(); i++) {
		next(i);
		sbuf_printf(&json, "{\"namespace\":\"ml\",\"name\":\"old-%u-x%02x\",\"container\":\"c0\"," RESOURCE,
			    i % 64, i / 64);
		n += put_ids("nvidia%u", n, 4, end);
		sbuf_printf(&json, "]}");
	}
	open_book();
	close_book();
}

static void many_ids_of_no_form(void)
{
	begin("ok");
	put_devices(64, 0);
	put_long(1, "%u%x");
}

static void many_replicas_by_minor(void)
{
	begin("ok");
	put_devices(64, 0);
	put_long(1, "nvidia%u::%u");
}

static void many_replicas_of_no_device(void)
{
	begin("ok");
	put_devices(64, 0);
	put_long(1, "nvidia9%u::%u");
}

static void many_replicas_by_uuid(void)
{
	begin("ok");
	put_devices(64, 0);
	put_long(N_PODS, UUID "::%u");
}

static void many_uuids_without_nvml(void)
{
	begin("error");
	put_long(N_PODS, UUID "::%u");
}

/* One has more than are read. */
static void many_ids_of_hamis(void)
{
	begin("ok");
	put_devices(64, 0);
	put_long(2, UUID "-%u");
}

/* Each pod has as many as are read. */
static void hami_entries(unsigned n_pods, void (*put)(unsigned pod, unsigned container))
{
	for (unsigned i = 0; i < n_pods && has_room(); i++) {
		next(i);
		put(i, 0);
		put_ids(UUID "-%u", i * LIMIT_HAMI_IDS / 2, LIMIT_HAMI_IDS / 2, end);
		sbuf_printf(&json, "]}");
	}
}

static void annotated_ids_of_hamis(void)
{
	const size_t half = end / 2;
	const unsigned n_pods = (unsigned)(LIMIT_REPORT_ALL_IDS / LIMIT_HAMI_IDS * end / LIMIT_REPORT_BYTES);
	begin("ok");
	put_devices(64, 0);
	open_list();
	end = half;
	hami_entries(n_pods, put_listed);
	end = 2 * half;
	open_book();
	hami_entries(n_pods, put_booked);
	close_book();
}

static void many_migs(void)
{
	begin("ok");
	put_devices(64, 56);
	put_long(1, "MIG-%08x-0000-4000-8000-0123456789ab::%u");
}

/* Of that many devices, in the bytes that are left until then; of that many pods in turn. */
static void put_processes_of(const char *format, unsigned n_pods, unsigned n_devices, size_t until_all)
{
	size_t share = (until_all - json.len) / n_devices - 100;
	n_processes = (size_t)LIMIT_REPORT_ALL_PROCESSES * end / LIMIT_REPORT_BYTES;
	sbuf_printf(&json, ",\"devices\":[");
	for (unsigned d = 0; d < n_devices; d++) {
		size_t until = json.len + share;
		next(d);
		sbuf_printf(&json, "{\"uuid\":\"" UUID "\",\"minor\":%u,\"processes\":[", d, d);
		for (unsigned i = 0; i < LIMIT_REPORT_PROCESSES && n_processes > 0 && json.len < until;
		     i++, n_processes--) {
			char text[128];
			int len = snprintf(text, sizeof(text), format, i + 1, i % n_pods);
			next(i);
			sbuf_append(&json, (struct view){text, (size_t)len});
		}
		sbuf_printf(&json, "]}");
	}
	sbuf_printf(&json, "]");
}

static void put_processes(const char *format, unsigned n_devices, size_t until_all)
{
	put_processes_of(format, LIMIT_REPORT_PROCESSES, n_devices, until_all);
}

/* As many processes on each device, of one pod, in turn on all its partitions. */
static void put_used_partitions(unsigned n_devices, unsigned n_partitions, size_t until_all)
{
	size_t share = (until_all - json.len) / n_devices - 100;
	n_processes = (size_t)LIMIT_REPORT_ALL_PROCESSES * end / LIMIT_REPORT_BYTES;
	sbuf_printf(&json, ",\"devices\":[");
	for (unsigned d = 0; d < n_devices; d++) {
		size_t until = json.len + share;
		next(d);
		sbuf_printf(&json, "{\"uuid\":\"" UUID "\",\"minor\":%u,\"mig\":{\"current\":true},"
			    "\"partitions\":[", d, d);
		for (unsigned i = 0; i < n_partitions; i++) {
			next(i);
			sbuf_printf(&json, "{\"uuid\":\"" MIG_UUID "\",\"gpuInstanceID\":%u}", d,
				    i * 64 + d, i);
		}
		sbuf_printf(&json, "],\"processes\":[");
		for (unsigned i = 0; i < LIMIT_REPORT_PROCESSES && n_processes > 0 && json.len < until;
		     i++, n_processes--) {
			next(i);
			sbuf_printf(&json,
				    "{\"pid\":%u,\"podUID\":\"uid-p0\",\"partition\":\"" MIG_UUID "\"}",
				    i + 1, d, i % n_partitions * 64 + d);
		}
		sbuf_printf(&json, "]}");
	}
	sbuf_printf(&json, "]");
}

static void many_processes(void)
{
	begin("ok");
	put_processes("{\"pid\":%u}", 64, end);
	sbuf_printf(&json, "}");
}

static void many_processes_of_pods(void)
{
	begin("ok");
	put_processes("{\"pid\":%u,\"podUID\":\"u%u\"}", 64, end);
	sbuf_printf(&json, "}");
}

static void many_processes_of_known_pods(void)
{
	begin("ok");
	put_processes_of("{\"pid\":%u,\"podUID\":\"uid-p%u\"}", N_PODS, 64, end);
	sbuf_printf(&json, "}");
}

/* A pod has 256 containers on each device. */
static void many_processes_of_a_pod(void)
{
	begin("ok");
	put_processes("{\"pid\":%u,\"podUID\":\"uid-p0\"}", 16, end / 4 * 3);
	open_list();
	open_book();
	for (unsigned i = 0; i < 256 && has_room(); i++) {
		next(i);
		put_booked(0, i);
		put_ids("nvidia%u", 0, 16, end);
		sbuf_printf(&json, "]}");
	}
	close_book();
}

/* The pod has 112 containers, each with a partition of each device, and processes are on all of these. */
static void many_processes_on_partitions_of_a_pod(void)
{
	begin("ok");
	put_used_partitions(16, 56, end / 4 * 3);
	open_list();
	open_book();
	n_ids *= 2;
	for (unsigned i = 0; i < 112 && has_room(); i++) {
		next(i);
		put_booked(0, i);
		put_ids(MIG_UUID, i % 56 * 64, 16, end); /* one of each device */
		sbuf_printf(&json, "]}");
	}
	close_book();
}

static void many_processes_of_other_pods(void)
{
	begin("ok");
	put_processes("{\"pid\":%u,\"podUID\":\"u%u\"}", 16, end / 2);
	put_long(N_PODS, "nvidia%u::%u");
}

static void published_tenants_that_stay(void)
{
	begin_with("error", "ok");
	put_devices(64, 0);
	sbuf_printf(&json, "}");
}

static void processes_of_tenants_that_stay(void)
{
	begin_with("error", "ok");
	put_processes("{\"pid\":%u,\"podUID\":\"old-1-001\"}", 8, end);
	sbuf_printf(&json, "}");
}

/* The checkpoint gives each container of a pod a slot of each device, the List other ones. */
static void disagreements_about_all_tenants(void)
{
	const unsigned n = LIMIT_REPORT_ALL_IDS / 128 / (end == LIMIT_REPORT_BYTES ? 1 : 2);
	begin("ok");
	put_devices(64, 0);
	open_list();
	for (unsigned i = 0; i < n; i++) {
		next(i);
		put_listed(0, i);
		put_ids("nvidia%u::1", 0, 64, end);
		sbuf_printf(&json, "]}");
	}
	open_book();
	for (unsigned i = 0; i < n; i++) {
		next(i);
		put_booked(0, i);
		put_ids("nvidia%u", 0, 64, end);
		sbuf_printf(&json, "]}");
	}
	close_book();
}

/* The List speaks of 8192 others, and the pod is named last. */
static void tenants_that_the_list_is_silent_of(void)
{
	begin("ok");
	put_devices(64, 0);
	open_list();
	for (unsigned i = 0; i < LIMIT_REPORT_HOLDINGS && json.len + 300000 < end; i++) {
		next(i);
		put_listed(100000 + i, 0);
		sbuf_printf(&json, "]}");
	}
	open_book();
	n_ids *= 2;
	for (unsigned i = 0; i < 256 && has_room(); i++) {
		next(i);
		put_booked(0, i);
		put_ids("nvidia%u", 0, 64, end);
		sbuf_printf(&json, "]}");
	}
	close_book();
}

static void put_events(unsigned n_devices)
{
	sbuf_printf(&json, ",\"events\":[");
	for (unsigned i = 0; i < LIMIT_REPORT_EVENTS; i++) {
		next(i);
		sbuf_printf(&json,
			    "{\"sequence\":%u,\"uuid\":\"" UUID "\",\"type\":\"XID\",\"code\":%u,"
			    "\"time\":\"2026-01-02T03:04:05Z\"}",
			    i, i % n_devices, i);
	}
	sbuf_printf(&json, "]");
}

static void many_events(void)
{
	begin("ok");
	put_devices(64, 0);
	put_events(64);
	sbuf_printf(&json, "}");
}

/* The device has as many tenants as it may. */
static void many_events_of_a_device(void)
{
	begin("ok");
	put_devices(64, 0);
	put_events(1);
	open_list();
	open_book();
	for (unsigned i = 0; i < 2000 && has_room(); i++) {
		next(i);
		put_booked(i % N_PODS, i);
		put_ids("nvidia0", 0, 1, end);
		sbuf_printf(&json, "]}");
	}
	close_book();
}

static const struct {
	const char *name;
	void (*write)(void);
} shapes[] = {
	{"one ID over and over", one_id_over_and_over},
	{"one ID in entries of unknown pods", one_id_in_entries_of_unknown_pods},
	{"one ID in entries of known pods", one_id_in_entries_of_known_pods},
	{"one slot in entries of known pods", one_known_id_in_entries_of_known_pods},
	{"few slots in entries of unknown pods", one_device_in_entries_of_unknown_pods},
	{"one ID of unknown pods beside devices", one_id_of_unknown_pods_beside_devices},
	{"names that are not published", names_that_are_not_published},
	{"many IDs of no form", many_ids_of_no_form},
	{"many replicas by minor number", many_replicas_by_minor},
	{"many replicas of no device's number", many_replicas_of_no_device},
	{"many replicas by UUID", many_replicas_by_uuid},
	{"many UUIDs without NVML", many_uuids_without_nvml},
	{"more IDs of HAMi's than are read", many_ids_of_hamis},
	{"many IDs of HAMi's, annotated pods", annotated_ids_of_hamis},
	{"many MIG devices", many_migs},
	{"many processes", many_processes},
	{"many processes of pods", many_processes_of_pods},
	{"many processes of known pods", many_processes_of_known_pods},
	{"many processes of a pod", many_processes_of_a_pod},
	{"many processes on partitions of a pod", many_processes_on_partitions_of_a_pod},
	{"many processes of other pods", many_processes_of_other_pods},
	{"disagreements about all tenants", disagreements_about_all_tenants},
	{"tenants that the List is silent of", tenants_that_the_list_is_silent_of},
	{"many events", many_events},
	{"many events of a device", many_events_of_a_device},
	{"published tenants that stay", published_tenants_that_stay},
	{"processes of tenants that stay", processes_of_tenants_that_stay},
};

/* The worlds around the report */

struct kind {
	const char *name;
	size_t n_objects;
	int phase;       /* of the published tenants */
	bool is_by_claim; /* they are pods that are there, and have grants */
	bool is_of_kai;  /* pods are in groups, and some hold devices for these */
};

static const struct kind kinds[] = {
	{"new", 0, 0, false, false},
	{"128 objects", N_OBJECTS, ATTRIBUTION_PHASE_RUNNING, false, false},
	{"128 of nobody", N_OBJECTS, ATTRIBUTION_PHASE_UNRESOLVED, false, false},
	{"16 by claims", 16, ATTRIBUTION_PHASE_RUNNING, true, false},
	{"128 beside KAI", N_OBJECTS, ATTRIBUTION_PHASE_RUNNING, false, true},
};

static struct attribution objects[N_OBJECTS];
static struct attribution_tenant tenants[N_OBJECTS][LIMIT_TENANTS];
static struct attribution_past_tenant past[N_OBJECTS][LIMIT_RECENT_TENANTS];
static struct attribution_user users[N_OBJECTS][LIMIT_UNALLOCATED_USERS];
static struct view parts[LIMIT_TENANTS]; /* of the tenants of each */
static struct grant grants[N_GRANTS];
static struct join_end ends[N_ENDS];

static void make_pods(bool is_of_kai)
{
	struct sbuf hami;
	sbuf_init(&hami, LIMIT_MIB);
	for (unsigned i = 0; i < 64; i++)
		sbuf_printf(&hami, UUID ",NVIDIA,1,1:", i);
	for (unsigned i = 0; i < N_PODS; i++) {
		const bool is_reservation = is_of_kai && i < N_RESERVATIONS;
		struct build_pod pod = {
			.name = build_world_text(&world, "p%u", i).ptr,
			.container = "c0",
			.namespace = is_reservation ? "kai-resource-reservation" : "ml",
			.hami = i < 64 && !is_of_kai ? sbuf_text(&hami) : "",
			.reservation = is_reservation,
		};
		if (is_of_kai)
			pod.kai_group = build_world_text(&world, "group-%02u", i % N_RESERVATIONS).ptr;
		for (unsigned k = 0; is_of_kai && !is_reservation && k < N_GROUPS_EACH; k++)
			pod.kai_groups[k] = build_world_text(&world, "group-%02u", (i + k) % N_RESERVATIONS).ptr;
		build_world_pod(&world, pod);
	}
	/* The pods' records have copies. */
	sbuf_deinit(&hami);
}

/* One in two is on a device, in the order of the devices. Slices tell of no other. */
static void make_grants(void)
{
	for (unsigned i = 0; i < N_GRANTS; i++)
		grants[i] = (struct grant){
			.pod = world.pods[i % N_PODS],
			.container = VIEW("c0"),
			.uuid = i % 2 ? build_world_text(&world, UUID, i % 64) : VIEW(""),
			.device = build_world_text(&world, "pool/gpu-%u", i),
		};
	world.input.grants = grants;
}

static void make_ends(void)
{
	for (unsigned i = 0; i < N_ENDS; i++)
		ends[i] = (struct join_end){build_world_text(&world, "end-%u-%03u", i % 64, i / 64), 1000};
	world.input.ends = ends;
}

static struct attribution_tenant make_tenant(const struct kind *kind, unsigned device, unsigned i)
{
	static struct view claim = VIEW_INIT("ResourceClaim");
	struct attribution_tenant tenant = {
		.pod_uid = build_world_text(&world, "old-%u-%03u", device, i),
		.pod_namespace = VIEW("ml"),
		.pod_name = build_world_text(&world, "old-%u-%03u", device, i),
		.container = VIEW("c0"),
		.phase = kind->phase,
		.slots = 1,
		.partitions = {&parts[i], i < N_PARTS, true},
	};
	if (kind->is_by_claim) {
		tenant.pod_uid = pod_uid(world.pods[(device + i) % N_PODS]);
		tenant.pod_name = pod_name(world.pods[(device + i) % N_PODS]);
		tenant.resource = VIEW("gpu.nvidia.com");
		tenant.witnesses = array_of(&claim, 1);
	}
	return tenant;
}

static void make_object(const struct kind *kind, unsigned d)
{
	for (unsigned i = 0; i < LIMIT_TENANTS; i++)
		tenants[d][i] = make_tenant(kind, d, i);
	for (unsigned i = 0; i < LIMIT_RECENT_TENANTS; i++)
		past[d][i] = (struct attribution_past_tenant){
			.pod_uid = build_world_text(&world, "older-%u-%03u", d, i),
			.container = VIEW("c0"),
		};
	for (unsigned i = 0; i < LIMIT_UNALLOCATED_USERS; i++)
		users[d][i] = (struct attribution_user){
			.pod_uid = build_world_text(&world, "u%u", i),
			.pid = LIMIT_NUMBER_PID,
		};
	objects[d] = (struct attribution){
		.name = build_world_text(&world, "gpu-%08x-0000-4000-8000-0123456789ab", d),
		.uuid = build_world_text(&world, UUID, d),
		.status = {.node_name = VIEW("gpu-a"),
			   .sharing = {.mode = ATTRIBUTION_MODE_MIG},
			   .tenants = {tenants[d], LIMIT_TENANTS, true},
			   .recent_tenants = {past[d], LIMIT_RECENT_TENANTS, true},
			   .unallocated_users = {users[d], LIMIT_UNALLOCATED_USERS, true}},
	};
	world.previous[d] = (struct join_previous){&objects[d], -1};
}

/*
 * As full as they get: all that was published in the past of pods that nobody knows. They are gone if they
 * were known then. Whoever was not known stays while the kubelet's sources cannot be read.
 */
static void make_world(const struct kind *kind)
{
	build_world_init(&world);
	make_pods(kind->is_of_kai);
	make_grants();
	make_ends();
	for (unsigned i = 0; i < LIMIT_TENANTS; i++)
		parts[i] = build_world_text(&world, "MIG-%08x-0001-4000-8000-0123456789ab", i);
	for (unsigned d = 0; d < N_OBJECTS; d++)
		make_object(kind, d);
	world.input.report_held_ms = 60000;
	world.input.previous = world.previous;
	world.input.n_previous = kind->n_objects;
	world.input.told_later = world.input.lacking = world.input.pods;
}

/* As much as a report of that many bytes may meet. */
static void set_size(const struct kind *kind, size_t size)
{
	world.input.n_grants = kind->is_by_claim ? N_GRANTS * size / LIMIT_REPORT_BYTES : 0;
	world.input.n_lacking = kind->is_by_claim ? N_PODS * size / LIMIT_REPORT_BYTES : 0;
	world.input.n_told_later = kind->is_of_kai ? N_PODS * size / LIMIT_REPORT_BYTES : 0;
	world.input.n_ends = N_ENDS * size / LIMIT_REPORT_BYTES;
}

static double cpu_ms(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static double time_join(void)
{
	CLEANUP(arena_deinit) struct arena arena;
	struct join_result result;
	struct error err = {0};
	double best = 1e9;

	arena_init(&arena, ARENA_CAP);
	for (unsigned i = 0; i < N_RUNS; i++) {
		arena_reset(&arena);
		double started = cpu_ms();
		if (join_node(&world.input, &arena, &result, &err) < 0) {
			printf("FAIL: %s\n", err.text);
			exit(1);
		}
		double took = cpu_ms() - started;
		if (took < best)
			best = took;
	}
	return best;
}

static double measure(const struct kind *kind, void (*write)(void), size_t size)
{
	CLEANUP(arena_deinit) struct arena arena;
	struct report report;
	struct error err = {0};

	arena_init(&arena, ARENA_CAP);
	sbuf_clear(&json);
	end = size;
	write();
	if (report_doc_decode(sbuf_view(&json), &arena, &report, &err) < 0) {
		printf("FAIL: %s\n", err.text);
		exit(1);
	}
	world.input.report = &report;
	set_size(kind, size);
	return time_join();
}

/* False: it takes too long. */
static bool run(const struct kind *kind, const char *name, void (*write)(void))
{
	double half = measure(kind, write, LIMIT_REPORT_BYTES / 2);
	double full = measure(kind, write, LIMIT_REPORT_BYTES);
	bool grows = full > SMALL_MS && full > half * MAX_GROWTH;
	bool is_good = full <= BUDGET_MS && !grows;

	printf("%-38s %-14s %7zu bytes %8.1f ms, half %8.1f ms%s\n", name, kind->name, json.len, full, half,
	       is_good ? ""
	       : grows ? "  GROWS"
		       : "  TOO LONG");
	fflush(stdout);
	return is_good;
}

/* With words it tries only shapes and worlds whose names have the first and the second. */
int main(int argc, char **argv)
{
	bool is_good = true;

	sbuf_init(&json, 2 * LIMIT_REPORT_BYTES);
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		if (argc > 2 && !strstr(kinds[k].name, argv[2]))
			continue;
		make_world(&kinds[k]);
		for (size_t i = 0; i < ARRAY_SIZE(shapes); i++)
			if (argc < 2 || strstr(shapes[i].name, argv[1]))
				is_good &= run(&kinds[k], shapes[i].name, shapes[i].write);
		build_world_deinit(&world);
	}
	sbuf_deinit(&json);
	return !is_good;
}
