/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <stdlib.h>

#include "base/limits.h"
#include "lib/failing_malloc.h"
#include "lib/golden.h"
#include "schema/attribution_doc.h"
#include "wire/jmap.h"

#define assert_text(view_, text_) assert_true(view_equal(view_, view_from(text_)))

#define NAME "gpu-11ba558d-3437-2335-2fd8-a78c8502f87f"
#define UUID "GPU-11ba558d-3437-2335-2fd8-a78c8502f87f"
#define METADATA "\"metadata\":{\"name\":\"" NAME "\",\"uid\":\"u-1\",\"resourceVersion\":\"7\""
#define SPEC "\"spec\":{\"uuid\":\"" UUID "\"}"

/* A status with a value in every member. */
static struct attribution_status full_status(void)
{
	static struct attribution_health_event events[] = {
		{79,
		 1767323045000,
		 812999,
		 VIEW_INIT("fallen off the bus"),
		 ATTRIBUTION_EVENT_NEEDS_REBOOT,
		 VIEW_INIT("Restart the node."),
		 VIEW_INIT("MIG-1"),
		 {0},
		 11},
	};
	static struct attribution_event_tenant accused[] = {
		{VIEW_INIT("uid-a"), VIEW_INIT("ml"), VIEW_INIT("train-0"), VIEW_INIT("main")},
	};
	events[0].tenants = (struct array){accused, 1, true};
	static struct view evidence[] = {VIEW_INIT("device IDs end in a replica number")};
	static struct view witnesses[] = {VIEW_INIT("Checkpoint"), VIEW_INIT("PodResources")};
	static struct view uuids[] = {VIEW_INIT("MIG-5c89852c-d268-c3f3-1b07-005d5ae1dc3f")};
	static struct view reasons[] = {VIEW_INIT("XID79")};
	static struct attribution_partition partitions[] = {
		{VIEW_INIT("MIG-5c89852c-d268-c3f3-1b07-005d5ae1dc3f"),
		 VIEW_INIT("1g.5gb"),
		 7,
		 0,
		 4864,
		 1,
		 {ATTRIBUTION_ACTIVITY_IDLE, 1767323045000, VIEW_INIT("MIGNotMeasured")}},
	};
	static struct view measured[] = {VIEW_INIT("NVMLUtilization")};
	static struct attribution_tenant tenants[] = {
		{.pod_uid = VIEW_INIT("uid-a"),
		 .container = VIEW_INIT("main"),
		 .pod_namespace = VIEW_INIT("ml"),
		 .pod_name = VIEW_INIT("train-0"),
		 .workload = {true, VIEW_INIT("apps"), VIEW_INIT("StatefulSet"),
			      VIEW_INIT("train")},
		 .resource = VIEW_INIT("nvidia.com/gpu"),
		 .slots = 2,
		 .partitions_left_out = 11,
		 .phase = ATTRIBUTION_PHASE_RUNNING,
		 .confidence = ATTRIBUTION_CONFIDENCE_CONFIRMED,
		 .role = ATTRIBUTION_ROLE_RESERVATION,
		 .placeholder = VIEW_INIT("KAI"),
		 .start_time = 1767323045000,
		 .memory_mib = 2048,
		 .processes = 3},
	};
	tenants[0].partitions = (struct array){uuids, 1, true};
	tenants[0].witnesses = (struct array){witnesses, 2, true};
	static struct view stated[] = {VIEW_INIT("GPU-a::0"), VIEW_INIT("GPU-a::1")};
	static struct attribution_statement statements[] = {
		{VIEW_INIT("Checkpoint"), 2, {stated, 2, true}, 9},
		{VIEW_INIT("PodStatus"), 1, {stated, 1, true}, 10},
	};
	static struct attribution_disagreement disagreements[] = {
		{VIEW_INIT("uid-a"), VIEW_INIT("main"), {0}},
	};
	disagreements[0].says = (struct array){statements, 2, true};
	static struct view ids[] = {VIEW_INIT("GPU-new::form"), VIEW_INIT("7")};
	static struct attribution_unplaced unplaced[] = {
		{.pod_uid = VIEW_INIT("uid-d"),
		 .container = VIEW_INIT("main"),
		 .pod_namespace = VIEW_INIT("ml"),
		 .pod_name = VIEW_INIT("odd"),
		 .resource = VIEW_INIT("nvidia.com/gpu"),
		 .device_ids_left_out = 3},
	};
	unplaced[0].device_ids = (struct array){ids, 2, true};
	static struct attribution_user users[] = {
		{VIEW_INIT("uid-b"), VIEW_INIT("ml"), VIEW_INIT("stray"), VIEW_INIT("debug"),
		 VIEW_INIT("python3"), 4711, 512, 1767323045000},
	};
	static struct attribution_past_tenant past[] = {
		{VIEW_INIT("uid-c"), VIEW_INIT("ml"), VIEW_INIT("old"), VIEW_INIT("main"),
		 1767323045000, 1767323046000},
	};
	past[0].partitions = (struct array){uuids, 1, true};
	static struct attribution_drift drifts[] = {
		{VIEW_INIT("SharingMode"), ATTRIBUTION_SEVERITY_WARNING, VIEW_INIT("MPS"),
		 VIEW_INIT("TimeSliced"), 1767323045000,
		 VIEW_INIT("The plugin was not restarted."), 4294967295},
	};
	static struct attribution_pending_drift pending[] = {
		{VIEW_INIT("ExporterMissing"), 1767323046000, 17},
	};
	static struct condition conditions[] = {
		{VIEW_INIT("Ready"), CONDITION_TRUE, 1, 1767323045000, VIEW_INIT("Resolved"),
		 VIEW_INIT("")},
	};
	return (struct attribution_status){
		.observed_generation = 1,
		.node_name = VIEW_INIT("gpu-a"),
		.node_uid = VIEW_INIT("uid-node"),
		.report_state = ATTRIBUTION_REPORT_STALE,
		.report = {VIEW_INIT("1d0f5f7c-6d0e-4b36-9c1b-3f1d6e3d2a10"), 812345, 42,
			   1767323045000},
		.device = {0, 1, VIEW_INIT("00000000:3B:00.0"), VIEW_INIT("NVIDIA"),
			   VIEW_INIT("NVIDIA-A100-SXM4-40GB"), 40960, VIEW_INIT("1322620012345"),
			   VIEW_INIT("8.0"), VIEW_INIT("580.65.06"), VIEW_INIT("13.0")},
		.sharing = {ATTRIBUTION_MODE_MIG_TIME_SLICED, 4, {evidence, 1, true}},
		.slots = {4, 2, VIEW_INIT("2/4")},
		.partitions = {partitions, 1, true},
		.tenants = {tenants, 1, true},
		.tenant_count = 1,
		.tenants_left_out = 5,
		.tenant_summary = VIEW_INIT("ml/train-0"),
		.source_disagreements = {disagreements, 1, true},
		.source_disagreements_left_out = 6,
		.unplaced_tenants = {unplaced, 1, true},
		.unplaced_tenants_left_out = 7,
		.unallocated_users = {users, 1, true},
		.unallocated_users_left_out = 8,
		.unknown_processes = 12,
		.recent_tenants = {past, 1, true},
		.activity = {ATTRIBUTION_ACTIVITY_IDLE,
			     VIEW_INIT("NotMeasured"),
			     1767323045000,
			     1767323045000,
			     ATTRIBUTION_SCOPE_PARTITION,
			     {measured, 1, true}},
		.health = {ATTRIBUTION_HEALTH_DEGRADED,
			   ATTRIBUTION_RECOVERY_RECOVER_IMEX_DOMAIN,
			   {reasons, 1, true},
			   {events, 1, true},
			   1767323045000,
			   656667},
		.intent = {ATTRIBUTION_INTENT_DRIFTED,
			   VIEW_INIT("cluster-policy"),
			   {drifts, 1, true},
			   {pending, 1, true}},
		.conditions = {conditions, 1, true},
	};
}

struct fixture {
	struct arena arena;
	struct sbuf buf;
};

static int setup(void **state)
{
	static struct fixture fixture;
	arena_init(&fixture.arena, LIMIT_OBJECT_BYTES);
	sbuf_init(&fixture.buf, LIMIT_OBJECT_BYTES);
	*state = &fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;
	arena_deinit(&fixture->arena);
	sbuf_deinit(&fixture->buf);
	return 0;
}

static struct attribution decode(struct fixture *fixture, struct view json)
{
	struct attribution attribution;
	struct error err;
	if (attribution_doc_decode(json, &fixture->arena, &attribution, &err) != 0)
		fail_msg("%s", err.text);
	return attribution;
}

static const struct attribution object = {
	.name = VIEW_INIT(NAME),
	.uid = VIEW_INIT("u-1"),
	.resource_version = VIEW_INIT("7"),
	.uuid = VIEW_INIT(UUID),
};

/* In each member that is compared, and in each of which there is a row. */
static void assert_same_status(const struct attribution_status *a,
			       const struct attribution_status *b)
{
	const struct attribution x = {.status = *a}, y = {.status = *b};
	assert_true(attribution_doc_is_same(a, b));
	assert_true(jmap_equal(attribution_doc_rows(), &x, &y));
}

static void what_is_written_is_read_again(void **state)
{
	struct fixture *fixture = *state;
	struct attribution_status status = full_status();
	attribution_doc_encode_status(&object, &status, &fixture->buf);
	struct attribution read = decode(fixture, sbuf_view(&fixture->buf));

	assert_text(read.name, NAME);
	assert_text(read.uid, "u-1");
	assert_text(read.resource_version, "7");
	assert_text(read.uuid, UUID);
	assert_same_status(&read.status, &status);

	struct sbuf again;
	sbuf_init(&again, LIMIT_OBJECT_BYTES);
	attribution_doc_encode_status(&object, &read.status, &again);
	assert_true(view_equal(sbuf_view(&again), sbuf_view(&fixture->buf)));
	sbuf_deinit(&again);
}

static void an_object_of_a_real_api_server_is_read(void **state)
{
	struct attribution_status status = full_status();
	struct view json = golden_read("attribution.json");
	struct attribution read = decode(*state, json);
	golden_free(json);

	assert_text(read.name, NAME);
	assert_text(read.uuid, UUID);
	assert_int_equal(read.uid.len, 36);
	assert_int_equal(read.generation, 1);
	assert_true(read.resource_version.len > 0);
	assert_same_status(&read.status, &status);
}

static void running_out_of_memory_anywhere_changes_nothing(void **state)
{
	struct fixture *fixture = *state;
	struct view json = golden_read("attribution.json");
	bool failed = true;
	for (unsigned k = 1; failed; k++) {
		struct attribution read, before;
		struct error err;
		memset(&read, 0xa5, sizeof(read));
		memset(&before, 0xa5, sizeof(before));
		arena_deinit(&fixture->arena);
		failing_malloc_at(k);
		int result = attribution_doc_decode(json, &fixture->arena, &read, &err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
		if (failed) {
			assert_int_equal(err.kind, ERROR_NO_MEMORY);
			assert_memory_equal(&read, &before, sizeof(read));
		}
	}
	golden_free(json);
}

/* Counts the values of a struct that are those of an absent member. */
static int count_absent(const struct jmap_row *rows, const char *struct_)
{
	int n = 0;
	for (const struct jmap_row *row = rows; row->key; row++) {
		const void *value = struct_ + row->offset;
		const struct array *array = value;
		switch (row->type) {
		case JMAP_TEXT:
			n += ((const struct view *)value)->len == 0;
			break;
		case JMAP_I64:
		case JMAP_TIME:
			n += *(const int64_t *)value == (row->flags & JMAP_OR_MINUS_ONE ? -1 : 0);
			break;
		case JMAP_ENUM:
		case JMAP_TOGGLE:
			n += *(const int *)value == 0;
			break;
		case JMAP_BOOL:
			n += !*(const bool *)value;
			break;
		case JMAP_OBJECT:
			n += count_absent(row->rows, value);
			break;
		case JMAP_TEXTS:
			n += array->count == 0;
			break;
		case JMAP_ARRAY:
			n += array->count == 0;
			for (uint32_t i = 0; i < array->count; i++)
				n += count_absent(row->rows,
						  (char *)array->items + i * row->element_size);
			break;
		}
	}
	return n;
}

static void every_member_of_the_struct_travels(void **state)
{
	struct fixture *fixture = *state;
	struct attribution whole = object;
	whole.status = full_status();
	/* The one that is absent is the condition's empty message. */
	assert_int_equal(count_absent(attribution_doc_rows(), (char *)&whole), 1);
	attribution_doc_encode_status(&object, &whole.status, &fixture->buf);
	struct attribution read = decode(fixture, sbuf_view(&fixture->buf));
	assert_int_equal(count_absent(attribution_doc_rows(), (char *)&read), 1);
}

static void a_new_object_has_its_name_and_spec_only(void **state)
{
	struct fixture *fixture = *state;
	attribution_doc_encode_new(&object, &fixture->buf);
	assert_text(sbuf_view(&fixture->buf),
		    "{\"apiVersion\":\"gpuattribution.dev/v1alpha1\",\"kind\":\"GPUAttribution\","
		    "\"metadata\":{\"name\":\"" NAME "\"}," SPEC "}");
}

static void an_empty_status_is_written_without_inventions(void **state)
{
	struct fixture *fixture = *state;
	struct attribution_status status = {
		.device = {.index = -1, .minor = -1},
		.slots = {.total = -1, .allocated = -1},
		.tenant_count = -1,
	};
	attribution_doc_encode_status(&object, &status, &fixture->buf);
	assert_text(sbuf_view(&fixture->buf),
		    "{\"apiVersion\":\"gpuattribution.dev/v1alpha1\",\"kind\":\"GPUAttribution\","
		    "\"metadata\":{\"name\":\"" NAME
		    "\",\"uid\":\"u-1\",\"resourceVersion\":\"7\"}," SPEC "}");
	struct attribution read = decode(fixture, sbuf_view(&fixture->buf));
	assert_true(attribution_doc_is_same(&read.status, &status));
}

/* Elsewhere a zero is left out; of slots it is a statement. */
static void that_no_slot_is_held_is_written(void **state)
{
	struct fixture *fixture = *state;
	struct attribution_tenant tenant = {.pod_uid = VIEW("u"), .container = VIEW("c")};
	struct attribution_statement statement = {.witness = VIEW("PodStatus")};
	struct attribution_disagreement disagreement = {
		.pod_uid = VIEW("u"), .container = VIEW("c"), .says = {&statement, 1, true}};
	struct attribution_status status = {
		.device = {.index = -1, .minor = -1},
		.slots = {.total = -1, .allocated = -1},
		.tenants = {&tenant, 1, true},
		.tenant_count = -1,
		.source_disagreements = {&disagreement, 1, true},
	};
	attribution_doc_encode_status(&object, &status, &fixture->buf);
	assert_text(
		sbuf_view(&fixture->buf),
		"{\"apiVersion\":\"gpuattribution.dev/v1alpha1\",\"kind\":\"GPUAttribution\"," METADATA
		"}," SPEC ",\"status\":{\"tenants\":[{\"podUID\":\"u\",\"container\":"
		"\"c\",\"slots\":0}],\"sourceDisagreements\":[{\"podUID\":\"u\",\"container\":"
		"\"c\",\"says\":[{\"witness\":\"PodStatus\",\"slots\":0}]}]}}");
}

/* Their absence is read as the zero that it was written for, or each look would be a change. */
static void numbers_of_which_zero_says_nothing_are_left_out(void **state)
{
	struct fixture *fixture = *state;
	struct attribution_partition partition = {
		.uuid = VIEW("MIG-1"), .gpu_instance_id = -1, .compute_instance_id = -1};
	struct attribution_unplaced unplaced = {.container = VIEW("c")};
	struct attribution_user user = {.command = VIEW("p"), .pid = -1};
	struct attribution_past_tenant past = {.container = VIEW("c")};
	struct attribution_health_event event = {.meaning = VIEW("m")};
	struct attribution_status status = {
		.device = {.index = -1, .minor = -1, .model = VIEW("A100")},
		.sharing = {.mode = ATTRIBUTION_MODE_UNKNOWN},
		.slots = {.total = -1, .allocated = -1},
		.partitions = {&partition, 1, true},
		.tenant_count = -1,
		.unplaced_tenants = {&unplaced, 1, true},
		.unallocated_users = {&user, 1, true},
		.recent_tenants = {&past, 1, true},
		.activity = {.state = ATTRIBUTION_ACTIVITY_UNKNOWN},
		.health = {.events = {&event, 1, true}},
	};
	attribution_doc_encode_status(&object, &status, &fixture->buf);
	assert_text(
		sbuf_view(&fixture->buf),
		"{\"apiVersion\":\"gpuattribution.dev/v1alpha1\",\"kind\":\"GPUAttribution\"," METADATA
		"}," SPEC ",\"status\":{\"device\":{\"model\":\"A100\"},"
		"\"sharing\":{\"mode\":\"Unknown\"},\"partitions\":[{\"uuid\":\"MIG-1\"}],"
		"\"unplacedTenants\":[{\"container\":\"c\"}],"
		"\"unallocatedUsers\":[{\"command\":\"p\"}],"
		"\"recentTenants\":[{\"container\":\"c\"}],\"activity\":{\"state\":\"Unknown\"},"
		"\"health\":{\"events\":[{\"meaning\":\"m\"}]}}}");
	struct attribution read = decode(fixture, sbuf_view(&fixture->buf));
	assert_true(attribution_doc_is_same(&read.status, &status));
}

static void a_holder_of_whom_the_name_alone_is_known_has_no_uid(void **state)
{
	struct fixture *fixture = *state;
	struct attribution read = decode(
		fixture, VIEW("{" METADATA "}," SPEC ",\"status\":{\"unplacedTenants\":[{"
			      "\"podName\":\"p\",\"deviceIDs\":[\"x\"]}]}}"));
	assert_int_equal(read.status.unplaced_tenants.count, 1);
	const struct attribution_unplaced *unplaced = ARRAY_AT(read.status.unplaced_tenants,
							       struct attribution_unplaced, 0);
	assert_int_equal(unplaced->pod_uid.len, 0);
	assert_text(unplaced->pod_name, "p");
	sbuf_clear(&fixture->buf);
	attribution_doc_encode_status(&object, &read.status, &fixture->buf);
	assert_null(strstr(sbuf_text(&fixture->buf), "podUID"));
}

static void no_tenants_and_unknown_tenants_are_told_apart(void **state)
{
	struct fixture *fixture = *state;
	struct attribution none = decode(
		fixture, VIEW("{" METADATA "}," SPEC ",\"status\":{\"tenantCount\":0}}"));
	struct attribution unknown = decode(fixture,
					    VIEW("{" METADATA "}," SPEC ",\"status\":{}}"));
	assert_int_equal(none.status.tenant_count, 0);
	assert_int_equal(unknown.status.tenant_count, -1);
	assert_int_equal(unknown.status.slots.allocated, -1);
	assert_false(attribution_doc_is_same(&none.status, &unknown.status));
}

static void the_schemas_default_status_is_read(void **state)
{
	struct fixture *fixture = *state;
	struct attribution read = decode(
		fixture,
		VIEW("{" METADATA
		     ",\"generation\":1,\"labels\":{\"a\":\"b\"},\"managedFields\":[]}," SPEC
		     ",\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"Unknown\","
		     "\"reason\":\"Pending\",\"message\":\"\",\"lastTransitionTime\":"
		     "\"1970-01-01T00:00:00Z\"}]}}"));
	assert_int_equal(read.generation, 1);
	assert_false(read.deleting);
	assert_int_equal(read.status.conditions.count, 1);
	const struct condition *ready = ARRAY_AT(read.status.conditions, struct condition, 0);
	assert_int_equal(ready->status, CONDITION_UNKNOWN);
	assert_int_equal(ready->last_transition_time, 0);
}

static void an_object_that_is_being_deleted_says_so(void **state)
{
	struct attribution read = decode(
		*state,
		VIEW("{" METADATA ",\"deletionTimestamp\":\"2026-01-02T03:04:05Z\"}," SPEC "}"));
	assert_true(read.deleting);
}

static void words_and_members_of_a_newer_version_are_passed_over(void **state)
{
	struct attribution read = decode(
		*state,
		VIEW("{\"apiVersion\":\"gpuattribution.dev/v1alpha1\"," METADATA "},"
		     "\"spec\":{\"uuid\":\"" UUID "\",\"foreign\":{\"a\":[1,2]}},"
		     "\"status\":{\"sharing\":{\"mode\":\"Quantum\",\"new\":1},\"newer\":{},"
		     "\"tenants\":[{\"podUID\":\"u\",\"container\":\"c\",\"phase\":\"Odd\"}]}}"));
	assert_int_equal(read.status.sharing.mode, ATTRIBUTION_MODE_UNSET);
	assert_int_equal(read.status.tenants.count, 1);
}

/* Somebody kept an object of the first release. The first write has the names of today only. */
/* What crds/README.md ("Other releases") says is lost. */
static void assert_old_values_are_absent(const struct attribution_status *status)
{
	const struct attribution_tenant *tenant = status->tenants.items;
	const struct attribution_past_tenant *past = status->recent_tenants.items;
	const struct attribution_health_event *event = status->health.events.items;
	const struct attribution_drift *drift = status->intent.drifts.items;
	const struct attribution_user *user = status->unallocated_users.items;
	assert_int_equal(tenant->start_time, 0);
	assert_int_equal(tenant->role, 0);
	assert_int_equal(tenant->placeholder.len, 0);
	assert_int_equal(past->start_time, 0);
	assert_int_equal(past->end_time, 0);
	assert_int_equal(event->event_time, 0);
	assert_int_equal(event->tenants.count, 0);
	assert_int_equal(drift->start_time, 0);
	assert_int_equal(user->start_time, 0);
	assert_int_equal(user->command.len, 0);
	assert_int_equal(status->activity.last_transition_time, 0);
	assert_int_equal(status->activity.idle_since, 0);
	assert_int_equal(status->report.observation_time, 0);
	assert_int_equal(status->source_disagreements.count, 0);
	assert_int_equal(status->source_disagreements_left_out, 0);
}

/* Of each part something that had the same name before. */
static void assert_the_rest_is_kept(const struct attribution_status *status)
{
	const struct attribution_tenant *tenant = status->tenants.items;
	const struct attribution_past_tenant *past = status->recent_tenants.items;
	const struct attribution_health_event *event = status->health.events.items;
	const struct attribution_drift *drift = status->intent.drifts.items;
	const struct attribution_user *user = status->unallocated_users.items;
	assert_text(tenant->pod_uid, "uid-a");
	assert_text(tenant->container, "main");
	assert_text(tenant->workload.name, "train");
	assert_int_equal(tenant->slots, 2);
	assert_int_equal(tenant->witnesses.count, 2);
	assert_int_equal(tenant->phase, ATTRIBUTION_PHASE_RUNNING);
	assert_int_equal(tenant->confidence, ATTRIBUTION_CONFIDENCE_CONFIRMED);
	assert_text(past->pod_uid, "uid-c");
	assert_int_equal(event->xid, 79);
	assert_int_equal(event->tenants_left_out, 11);
	assert_text(drift->type, "SharingMode");
	assert_text(drift->observed, "TimeSliced");
	assert_text(user->pod_uid, "uid-b");
	assert_int_equal(status->activity.state, ATTRIBUTION_ACTIVITY_IDLE);
	assert_int_equal(status->health.state, ATTRIBUTION_HEALTH_DEGRADED);
	assert_int_equal(status->intent.state, ATTRIBUTION_INTENT_DRIFTED);
	assert_int_equal(status->sharing.mode, ATTRIBUTION_MODE_MIG_TIME_SLICED);
	assert_int_equal(status->slots.total, 4);
	assert_int_equal(status->report.sequence, 42);
	assert_int_equal(status->partitions.count, 1);
	assert_int_equal(status->unplaced_tenants.count, 1);
	assert_int_equal(status->unknown_processes, 12);
	assert_int_equal(status->conditions.count, 2);
}

static void an_object_with_old_names_is_read_without_them_and_written_with_new_ones(void **state)
{
	static const char *const old[] = {
		"since", "until", "time", "observedAt", "standIn", "system", "process",
		"sourceDisagreement", "sourceDisagreementLeftOut",
	};
	struct fixture *fixture = *state;
	struct view json = golden_read("attribution_old_names.json");
	struct attribution read = decode(fixture, json);

	for (size_t i = 0; i < ARRAY_SIZE(old); i++) {
		char key[32];
		snprintf(key, sizeof(key), "\"%s\":", old[i]);
		assert_non_null(memmem(json.ptr, json.len, key, strlen(key)));
	}
	attribution_doc_encode_status(&read, &read.status, &fixture->buf);
	for (size_t i = 0; i < ARRAY_SIZE(old); i++) {
		char key[32];
		snprintf(key, sizeof(key), "\"%s\":", old[i]);
		if (strstr(sbuf_text(&fixture->buf), key))
			fail_msg("%s was written", key);
	}
	golden_free(json);

	struct attribution again = decode(fixture, sbuf_view(&fixture->buf));
	assert_text(again.resource_version, "955");
	assert_int_equal(again.status.tenants.count, 1);
	assert_int_equal(again.status.recent_tenants.count, 1);
	assert_int_equal(again.status.health.events.count, 1);
	assert_int_equal(again.status.intent.drifts.count, 1);
	assert_int_equal(again.status.unallocated_users.count, 1);
	assert_old_values_are_absent(&again.status);
	assert_the_rest_is_kept(&again.status);
	const struct condition *drained = attribution_find_condition(&again.status, VIEW("Drained"));
	assert_non_null(drained);
	assert_text(drained->reason, "Busy");
	assert_text(drained->message, "work has not ended yet");
	assert_int_equal(drained->last_transition_time, 1767323045000);
}

/* Of a condition's status Kubernetes has three and no more. */
static void any_enumeration_may_get_words_that_are_not_known_yet(void **state)
{
	static const char *const members[] = {
		"\"sharing\":{\"mode\":\"Odd\"}",
		"\"tenants\":[{\"podUID\":\"u\",\"container\":\"c\",\"phase\":\"Odd\"}]",
		"\"tenants\":[{\"podUID\":\"u\",\"container\":\"c\",\"confidence\":\"Odd\"}]",
		"\"activity\":{\"state\":\"Odd\"}",
		"\"activity\":{\"scope\":\"Odd\"}",
		"\"health\":{\"state\":\"Odd\"}",
		"\"health\":{\"recoveryAction\":\"Odd\"}",
		"\"intent\":{\"state\":\"Odd\"}",
		"\"intent\":{\"drifts\":[{\"type\":\"t\",\"severity\":\"Odd\"}]}",
	};
	struct fixture *fixture = *state;
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		sbuf_clear(&fixture->buf);
		sbuf_printf(&fixture->buf,
			    "{" METADATA "}," SPEC ",\"status\":{\"nodeName\":\"n\",%s}}",
			    members[i]);
		assert_text(decode(fixture, sbuf_view(&fixture->buf)).status.node_name, "n");
	}
}

static void what_is_no_such_object_is_refused_and_changes_nothing(void **state)
{
	static const struct {
		struct view json;
		const char *message;
	} rows[] = {
		{VIEW_INIT("{" SPEC "}"), "metadata: missing"},
		{VIEW_INIT("{" METADATA "}}"), "spec: missing"},
		{VIEW_INIT("{" METADATA "},\"spec\":{}}"), "spec.uuid: missing"},
		{VIEW_INIT("{\"metadata\":{\"name\":\"x\",\"uid\":\"y\"}," SPEC "}"),
		 "metadata.resourceVersion: missing"},
		{VIEW_INIT("{" METADATA "}," SPEC
			   ",\"status\":{\"tenants\":[{\"container\":\"c\"}]}}"),
		 "status.tenants[0].podUID: missing"},
		{VIEW_INIT("{" METADATA "}," SPEC
			   ",\"status\":{\"sourceDisagreements\":[{\"podUID\":"
			   "\"u\",\"container\":\"c\",\"says\":[{\"slots\":1}]}]}}"),
		 "status.sourceDisagreements[0].says[0].witness: missing"},
		{VIEW_INIT("{" METADATA "}," SPEC ",\"status\":{\"slots\":{\"total\":\"1\"}}}"),
		 "status.slots.total: not an integer"},
		{VIEW_INIT("{" METADATA "}," SPEC ",\"status\":{\"slots\":{\"total\":-1}}}"),
		 "status.slots.total: out of range"},
		{VIEW_INIT("{\"apiVersion\":\"gpuattribution.dev/v2\"," METADATA "}," SPEC "}"),
		 "gpuattribution.dev/v2 : not a GPUAttribution of gpuattribution.dev/v1alpha1"},
		{VIEW_INIT("{\"kind\":\"Pod\"," METADATA "}," SPEC "}"),
		 " Pod: not a GPUAttribution of gpuattribution.dev/v1alpha1"},
	};
	struct fixture *fixture = *state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct attribution read, before;
		struct error err;
		memset(&read, 0xa5, sizeof(read));
		memset(&before, 0xa5, sizeof(before));
		assert_int_equal(attribution_doc_decode(rows[i].json, &fixture->arena, &read, &err),
				 -1);
		assert_int_equal(err.kind, ERROR_REJECTED);
		assert_string_equal(err.text, rows[i].message);
		assert_memory_equal(&read, &before, sizeof(read));
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(what_is_written_is_read_again, setup, teardown),
	cmocka_unit_test_setup_teardown(an_object_of_a_real_api_server_is_read, setup, teardown),
	cmocka_unit_test_setup_teardown(running_out_of_memory_anywhere_changes_nothing, setup,
					teardown),
	cmocka_unit_test_setup_teardown(every_member_of_the_struct_travels, setup, teardown),
	cmocka_unit_test_setup_teardown(a_new_object_has_its_name_and_spec_only, setup, teardown),
	cmocka_unit_test_setup_teardown(an_empty_status_is_written_without_inventions, setup,
					teardown),
	cmocka_unit_test_setup_teardown(that_no_slot_is_held_is_written, setup, teardown),
	cmocka_unit_test_setup_teardown(numbers_of_which_zero_says_nothing_are_left_out, setup,
					teardown),
	cmocka_unit_test_setup_teardown(a_holder_of_whom_the_name_alone_is_known_has_no_uid, setup,
					teardown),
	cmocka_unit_test_setup_teardown(no_tenants_and_unknown_tenants_are_told_apart, setup,
					teardown),
	cmocka_unit_test_setup_teardown(the_schemas_default_status_is_read, setup, teardown),
	cmocka_unit_test_setup_teardown(an_object_that_is_being_deleted_says_so, setup, teardown),
	cmocka_unit_test_setup_teardown(words_and_members_of_a_newer_version_are_passed_over, setup,
					teardown),
	cmocka_unit_test_setup_teardown(an_object_with_old_names_is_read_without_them_and_written_with_new_ones,
					setup, teardown),
	cmocka_unit_test_setup_teardown(any_enumeration_may_get_words_that_are_not_known_yet, setup,
					teardown),
	cmocka_unit_test_setup_teardown(what_is_no_such_object_is_refused_and_changes_nothing,
					setup, teardown),
};

TEST_MAIN(tests)
