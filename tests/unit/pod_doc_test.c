/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "base/limits.h"
#include "lib/golden.h"
#include "lib/kube_bytes.h"
#include "schema/pod_doc.h"

#define assert_text(view_, text_) assert_true(view_equal(view_, view_from(text_)))

static const char *const golden_names[] = {
	"pod_gpu.pb", "pod_plain.pb", "pod_static.pb", "pod_failed.pb", "pod_sharing.pb",
	"pod_debugged.pb",
};

static struct pod_fields decode(struct view message)
{
	struct pod_fields fields;
	struct error err;
	if (pod_doc_decode(message, &fields, &err) != 0)
		fail_msg("%s", err.text);
	return fields;
}

static const struct pod_container *find(const struct pod_fields *fields, const char *name)
{
	for (uint32_t i = 0; i < fields->gpu.containers.count; i++) {
		if (view_equal(fields->containers[i].name, view_from(name)))
			return &fields->containers[i];
	}
	fail_msg("no container %s", name);
	return NULL;
}

static void a_gpu_pod_gives_every_fact_that_is_kept(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		enum pod_container_kind kind;
		enum pod_container_state state;
		const char *resource;
	} rows[] = {
		{"main", POD_CONTAINER_MAIN, POD_CONTAINER_RUNNING, "nvidia.com/gpu"},
		{"metrics", POD_CONTAINER_MAIN, POD_CONTAINER_WAITING, ""},
		{"fetch", POD_CONTAINER_INIT, POD_CONTAINER_TERMINATED, ""},
		{"warm", POD_CONTAINER_INIT, POD_CONTAINER_TERMINATED, "nvidia.com/gpu"},
		{"shipper", POD_CONTAINER_SIDECAR, POD_CONTAINER_RUNNING, ""},
	};
	struct view message = golden_read("pod_gpu.pb");
	struct pod_fields fields = decode(message);

	assert_text(fields.name, "train-0");
	assert_text(fields.namespace, "ml");
	assert_text(fields.node, "gpu-a");
	assert_int_equal(fields.uid.len, 36);
	assert_text(fields.gpu.workload.group, "apps");
	assert_text(fields.gpu.workload.kind, "StatefulSet");
	assert_text(fields.gpu.workload.name, "train");
	assert_int_equal(fields.state.phase, POD_PHASE_RUNNING);
	assert_true(fields.state.wants_gpu);
	assert_false(fields.state.deleting || fields.state.admission_failed || fields.state.system);
	assert_false(fields.state.no_container_runs);
	assert_int_equal(fields.gpu.containers.count, ARRAY_SIZE(rows));
	assert_int_equal(fields.gpu.containers_left_out, 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct pod_container *container = find(&fields, rows[i].name);
		assert_int_equal(container->kind, rows[i].kind);
		assert_int_equal(container->state, rows[i].state);
		assert_int_equal(container->wants_gpu, rows[i].resource[0] != '\0');
		assert_text(container->resource, rows[i].resource);
	}
	golden_free(message);
}

static void a_pod_without_gpu_gives_identity_node_and_phase_only(void **state)
{
	(void)state;
	struct view message = golden_read("pod_plain.pb");
	struct pod_fields fields = decode(message);

	assert_text(fields.name, "web-7d9c5b8f6-x2x4z");
	assert_text(fields.namespace, "default");
	assert_text(fields.node, "cpu-1");
	assert_int_equal(fields.state.phase, POD_PHASE_RUNNING);
	assert_false(fields.state.wants_gpu);
	assert_false(fields.state.no_container_runs);
	assert_int_equal(fields.gpu.containers.count, 0);
	golden_free(message);
}

static void a_mirror_pod_gives_the_hash_that_the_kubelet_uses_as_uid(void **state)
{
	(void)state;
	struct view message = golden_read("pod_static.pb");
	struct pod_fields fields = decode(message);

	assert_text(fields.config_hash, "0123456789abcdef0123456789abcdef");
	assert_text(fields.gpu.workload.kind, "Node");
	assert_int_equal(fields.state.phase, POD_PHASE_PENDING);
	assert_true(find(&fields, "burn")->wants_gpu);
	assert_int_equal(find(&fields, "burn")->state, POD_CONTAINER_UNKNOWN);
	golden_free(message);
}

static void a_hash_on_a_pod_that_is_no_mirror_is_not_believed(void **state)
{
	(void)state;
	/* objects.yaml gives train-0 the annotation config.hash, and not config.mirror. */
	struct view message = golden_read("pod_gpu.pb");
	assert_int_equal(decode(message).config_hash.len, 0);
	golden_free(message);
}

static void failed_admission_deletion_and_the_operators_own_pods_are_seen(void **state)
{
	(void)state;
	struct view message = golden_read("pod_failed.pb");
	struct pod_fields fields = decode(message);

	assert_int_equal(fields.state.phase, POD_PHASE_FAILED);
	assert_true(fields.state.admission_failed);
	assert_true(fields.state.deleting);
	assert_true(fields.state.system);
	assert_true(fields.state.wants_gpu);
	assert_true(fields.state.no_container_runs);
	assert_true(view_equal(fields.gpu.refused_resource, VIEW("nvidia.com/gpu")));
	assert_int_equal(fields.state.operand, POD_NO_OPERAND);
	golden_free(message);
}

static void an_ephemeral_container_has_its_name_state_and_id(void **state)
{
	(void)state;
	/* In the order of the record, where they are the last. */
	static const struct {
		const char *name, *id;
		enum pod_container_kind kind;
		enum pod_container_state state;
	} rows[] = {
		{"main", "67d1ffe98d13", POD_CONTAINER_MAIN, POD_CONTAINER_RUNNING},
		{"warm", "0a0a", POD_CONTAINER_INIT, POD_CONTAINER_TERMINATED},
		{"debugger-7k2xp", "de6de6de6de6", POD_CONTAINER_EPHEMERAL, POD_CONTAINER_RUNNING},
		{"debugger-q9w4d", "0b50b50b50b5", POD_CONTAINER_EPHEMERAL,
		 POD_CONTAINER_TERMINATED},
		{"debugger-unmade", "", POD_CONTAINER_EPHEMERAL, POD_CONTAINER_UNKNOWN},
	};
	struct view message = golden_read("pod_debugged.pb");
	struct pod_fields fields = decode(message);

	assert_int_equal(fields.gpu.containers.count, ARRAY_SIZE(rows));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_text(fields.containers[i].name, rows[i].name);
		assert_text(fields.containers[i].id, rows[i].id);
		assert_int_equal(fields.containers[i].kind, rows[i].kind);
		assert_int_equal(fields.containers[i].state, rows[i].state);
		assert_int_equal(fields.containers[i].wants_gpu, i == 0);
	}
	assert_int_equal(fields.gpu.ephemeral_left_out, 0);
	golden_free(message);
}

static void uses_of_claims_name_the_object_and_the_container(void **state)
{
	(void)state;
	/* In the order of the document. "unmade" has no object yet. */
	static const struct {
		const char *container, *claim, *request;
	} rows[] = {
		{"main", "sharing-0-own-x7k2p", ""},
		{"main", "team-gpus", "main"},
		{"side", "team-gpus", ""},
		{"warm", "team-gpus", "watch"},
		{"side", "sharing-0-extended-resources-9wq4d", "container-1-request-0"},
	};
	struct view message = golden_read("pod_sharing.pb");
	struct pod_fields fields = decode(message);

	assert_int_equal(fields.gpu.claims.count, ARRAY_SIZE(rows));
	assert_int_equal(fields.gpu.claims_left_out, 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_text(fields.claims[i].container, rows[i].container);
		assert_text(fields.claims[i].claim, rows[i].claim);
		assert_text(fields.claims[i].request, rows[i].request);
	}
	golden_free(message);
}

static void allocated_gpus_name_the_container_and_the_resource(void **state)
{
	(void)state;
	static const struct {
		const char *name, *container, *ids[2];
	} rows[] = {
		/* Beside these there are devices of a claim and of another vendor. */
		{"pod_sharing.pb", "side",
		 {"GPU-6e027708-5f1c-4f27-a2b9-0b5d3c2f7a10::1",
		  "GPU-6e027708-5f1c-4f27-a2b9-0b5d3c2f7a10::2"}},
		{"pod_gpu.pb", "main", {"GPU-11ba558d-3437-2335-2fd8-a78c8502f87f::3"}},
		{"pod_static.pb", "", {NULL}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct view message = golden_read(rows[i].name);
		struct pod_fields fields = decode(message);
		uint32_t n = 0;

		for (; n < 2 && rows[i].ids[n]; n++) {
			assert_true(n < fields.gpu.allocations.count);
			assert_text(fields.allocations[n].container, rows[i].container);
			assert_text(fields.allocations[n].resource, "nvidia.com/gpu");
			assert_text(fields.allocations[n].id, rows[i].ids[n]);
		}
		assert_int_equal(fields.gpu.allocations.count, n);
		assert_int_equal(fields.gpu.allocations_left_out, 0);
		golden_free(message);
	}
}

static void what_hami_and_kai_write_on_a_pod_is_kept(void **state)
{
	(void)state;
	struct view message = golden_read("pod_sharing.pb");
	struct pod_fields fields = decode(message);

	assert_text(fields.gpu.hami_devices, "GPU-11ba558d-3437-2335-2fd8-a78c8502f87f,NVIDIA,3000,30:;");
	assert_text(fields.gpu.kai_group, "5f0c3f1e-7b0a-4a52-9a35-0c1c5a1f6d11");
	assert_int_equal(fields.gpu.kai_device.len, 0);
	assert_false(fields.state.is_reservation);
	golden_free(message);
}

/* A pod of a namespace with labels and annotations, under an account. Ends with {NULL}. */
struct text_pair {
	const char *key, *value;
};

static struct view pod_of(const char *namespace, const char *account,
			  const struct text_pair *labels, const struct text_pair *annotations)
{
	static char bytes[2 * POD_MAX_HAMI_TEXT];
	const struct text_pair *const maps[] = {labels, annotations};
	struct sbuf metadata, entry, pod;

	sbuf_init(&metadata, sizeof(bytes));
	sbuf_init(&entry, sizeof(bytes));
	sbuf_init(&pod, sizeof(bytes));
	kube_bytes_field(&metadata, 1, VIEW("n"));
	kube_bytes_field(&metadata, 3, view_from(namespace));
	kube_bytes_field(&metadata, 5, VIEW("u"));
	for (uint32_t k = 0; k < ARRAY_SIZE(maps); k++)
		for (const struct text_pair *pair = maps[k]; pair->key; pair++) {
			sbuf_clear(&entry);
			kube_bytes_field(&entry, 1, view_from(pair->key));
			kube_bytes_field(&entry, 2, view_from(pair->value));
			kube_bytes_field(&metadata, 11 + k, sbuf_view(&entry));
		}
	kube_bytes_field(&pod, 1, sbuf_view(&metadata));
	sbuf_clear(&entry);
	kube_bytes_field(&entry, 8, view_from(account));
	kube_bytes_field(&pod, 2, sbuf_view(&entry));
	struct view message = {bytes, sbuf_view(&pod).len};
	memcpy(bytes, sbuf_view(&pod).ptr, message.len);
	sbuf_deinit(&metadata);
	sbuf_deinit(&entry);
	sbuf_deinit(&pod);
	return message;
}

static void a_reservation_of_kais_has_its_namespace_and_its_group(void **state)
{
	(void)state;
	static const struct text_pair group[] = {{"runai-gpu-group", "g"}, {NULL, NULL}};
	static const struct text_pair device[] = {{"run.ai/reserve_for_gpu_index", "GPU-1"},
						  {NULL, NULL}};
	static const struct text_pair none[] = {{NULL, NULL}};
	static const struct {
		const char *namespace;
		const struct text_pair *labels, *annotations;
		bool is_reservation, wants_gpu;
	} rows[] = {
		{"kai-resource-reservation", group, device, true, true},
		{"runai-reservation", group, device, true, true},
		{"kai-resource-reservation-2", group, device, false, true},
		{"ml", group, device, false, true},
		{"kai-resource-reservation", group, none, true, true},
		{"kai-resource-reservation", none, device, false, false},
		{"kai-resource-reservation", none, none, false, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pod_fields fields = decode(pod_of(rows[i].namespace, "default",
							 rows[i].labels, rows[i].annotations));

		if (fields.state.is_reservation != rows[i].is_reservation ||
		    fields.state.wants_gpu != rows[i].wants_gpu)
			fail_msg("row %zu", i);
		assert_int_equal(fields.gpu.kai_device.len, rows[i].annotations == device ? 5 : 0);
	}
}

static void who_shares_several_gpus_by_kai_has_a_label_of_each(void **state)
{
	(void)state;
	static const struct text_pair none[] = {{NULL, NULL}};
	static const struct text_pair labels[] = {{"runai-gpu-group/g1", "g1"},
						  {"runai-gpu-group/g2", "g2"},
						  {"runai-gpu-group/", ""},
						  {"runai-gpu-groups", "g3"},
						  {"x/runai-gpu-group", "g4"},
						  {NULL, NULL}};
	struct pod_fields fields = decode(pod_of("ml", "default", labels, none));

	assert_int_equal(fields.gpu.kai_groups.count, 2);
	assert_text(fields.kai_groups[0], "g1");
	assert_text(fields.kai_groups[1], "g2");
	assert_int_equal(fields.gpu.kai_groups_left_out, 0);
	assert_int_equal(fields.gpu.kai_group.len, 0);
	assert_true(fields.state.wants_gpu);
	fields = decode(pod_of("ml", "default", labels + 2, none));
	assert_int_equal(fields.gpu.kai_groups.count, 0);
	assert_false(fields.state.wants_gpu);
	/* A reservation holds one device, and has its label. */
	fields = decode(pod_of("kai-resource-reservation", "default", labels, none));
	assert_false(fields.state.is_reservation);
}

static void groups_of_kais_beyond_the_bound_are_counted(void **state)
{
	(void)state;
	static const struct text_pair none[] = {{NULL, NULL}};
	struct text_pair labels[POD_MAX_KAI_GROUPS + 3] = {{NULL, NULL}};

	for (size_t i = 0; i < ARRAY_SIZE(labels) - 1; i++)
		labels[i] = (struct text_pair){"runai-gpu-group/g", "g"};
	struct pod_fields fields = decode(pod_of("ml", "default", labels, none));
	assert_int_equal(fields.gpu.kai_groups.count, POD_MAX_KAI_GROUPS);
	assert_int_equal(fields.gpu.kai_groups_left_out, 2);
	labels[POD_MAX_KAI_GROUPS] = (struct text_pair){NULL, NULL};
	assert_int_equal(decode(pod_of("ml", "default", labels, none)).gpu.kai_groups_left_out, 0);
}

static void which_container_shares_a_gpu_by_kai_is_told_by_an_annotation(void **state)
{
	(void)state;
	static const char *const names[] = {
		"train", "", "a23456789012345678901234567890123456789012345678901234567890123",
		"a234567890123456789012345678901234567890123456789012345678901234"};
	static const struct text_pair group[] = {{"runai-gpu-group", "g"}, {NULL, NULL}};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct text_pair named[] = {{"gpu-fraction-container-name", names[i]},
						  {"gpu-fraction", "0.5"},
						  {NULL, NULL}};
		struct pod_fields fields = decode(pod_of("ml", "default", group, named));
		bool is_kept = strlen(names[i]) <= LIMIT_TEXT_LABEL;
		assert_text(fields.gpu.kai_container, is_kept ? names[i] : "");
	}
}

static void a_note_of_hamis_that_is_too_long_is_left_out_and_that_is_said(void **state)
{
	(void)state;
	static char devices[POD_MAX_HAMI_TEXT + 2];
	memset(devices, ':', POD_MAX_HAMI_TEXT);
	for (int is_longer = 0; is_longer < 2; is_longer++) {
		/* The label makes the pod want a GPU. */
		const struct text_pair labels[] = {{"runai-gpu-group", "g"}, {0}};
		const struct text_pair hami[] = {{"hami.io/vgpu-devices-allocated", devices}, {0}};
		struct pod_fields fields = decode(pod_of("ml", "default", labels, hami));
		assert_int_equal(fields.gpu.hami_left_out, is_longer);
		assert_int_equal(fields.gpu.hami_devices.len, is_longer ? 0 : POD_MAX_HAMI_TEXT);
		devices[POD_MAX_HAMI_TEXT] = ':';
	}
}

static void an_annotation_of_hamis_alone_makes_no_pod_want_a_gpu(void **state)
{
	(void)state;
	static const struct text_pair none[] = {{NULL, NULL}};
	static const struct text_pair hami[] = {{"hami.io/vgpu-devices-allocated", "GPU-1,:"},
						{NULL, NULL}};

	struct pod_fields fields = decode(pod_of("ml", "default", none, hami));
	assert_false(fields.state.wants_gpu);
	assert_int_equal(fields.gpu.hami_devices.len, 0);
}

static void a_hash_counts_only_as_a_kubelet_writes_it(void **state)
{
	(void)state;
	static const struct text_pair none[] = {{NULL, NULL}};
	static const struct text_pair other[] = {{"kubernetes.io/config.hash", "0123"},
						 {"kubernetes.io/config.mirror", "4567"},
						 {NULL, NULL}};
	static const struct text_pair same[] = {{"kubernetes.io/config.hash", "0123"},
						{"kubernetes.io/config.mirror", "0123"},
						{NULL, NULL}};

	/* The pod that the golden file has differs from the last one by its owner, a Node. */
	assert_int_equal(decode(pod_of("ml", "default", none, other)).config_hash.len, 0);
	assert_int_equal(decode(pod_of("ml", "default", none, same)).config_hash.len, 0);
}

static void a_pod_is_the_operators_only_with_its_label_and_its_account(void **state)
{
	(void)state;
	static const struct text_pair none[] = {{NULL, NULL}};
	static const struct {
		const char *app, *account;
		bool system;
	} rows[] = {
		{"nvidia-device-plugin-validator", "nvidia-operator-validator", true},
		{"nvidia-cuda-validator", "nvidia-operator-validator", true},
		{"nvidia-device-plugin-validator", "default", false},
		{"nvidia-device-plugin-validator", "", false},
		{"train", "nvidia-operator-validator", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct text_pair labels[] = {{"app", rows[i].app}, {NULL, NULL}};

		assert_int_equal(decode(pod_of("x", rows[i].account, labels, none)).state.system,
				 rows[i].system);
	}
}

/* Every prefix of a message is malformed, or is a message with less in it; never a crash. */
static void a_message_cut_anywhere_is_refused_or_lacks_parts(void **state)
{
	(void)state;
	for (size_t g = 0; g < ARRAY_SIZE(golden_names); g++) {
		struct view message = golden_read(golden_names[g]);
		size_t n_refused = 0;
		for (size_t len = 0; len < message.len; len++) {
			struct view cut = golden_copy((struct view){message.ptr, len});
			struct pod_fields fields;
			struct error err;
			if (pod_doc_decode(cut, &fields, &err) != 0) {
				assert_int_equal(err.kind, ERROR_REJECTED);
				n_refused++;
			}
			golden_free(cut);
		}
		/* Whole are at most: metadata; metadata and spec. */
		assert_true(n_refused >= message.len - 2);
		golden_free(message);
	}
}

static void any_changed_byte_is_survived(void **state)
{
	(void)state;
	static const unsigned char masks[] = {0x01, 0x07, 0x80, 0xff};
	struct view message = golden_read("pod_failed.pb");
	char *bytes = (char *)(uintptr_t)message.ptr;
	for (size_t i = 0; i < message.len; i++) {
		for (size_t m = 0; m < ARRAY_SIZE(masks); m++) {
			struct pod_fields fields;
			struct error err;
			bytes[i] = (char)(bytes[i] ^ (char)masks[m]);
			if (pod_doc_decode(message, &fields, &err) == 0)
				assert_true(fields.gpu.containers.count <= POD_MAX_CONTAINERS);
			bytes[i] = (char)(bytes[i] ^ (char)masks[m]);
		}
	}
	golden_free(message);
}

/* A message {1: {1: name, 5: "u"}, 2: {2: container, ...}} with n containers named c that want GPUs. */
static struct view pod_with_containers(unsigned n)
{
	static const char metadata[] = "\x0a\x06\x0a\x01n\x2a\x01u";
	static const char container[] =
		"\x12\x17\x0a\x01"
		"c\x42\x12\x0a\x10\x0a\x0envidia.com/gpu";
	static char bytes[8192];
	size_t len = n * (sizeof(container) - 1), at = 0;
	memcpy(bytes, metadata, sizeof(metadata) - 1);
	at = sizeof(metadata) - 1;
	bytes[at++] = 0x12;
	bytes[at++] = (char)(0x80 | (len & 0x7f));
	bytes[at++] = (char)(len >> 7);
	for (unsigned i = 0; i < n; i++, at += sizeof(container) - 1)
		memcpy(&bytes[at], container, sizeof(container) - 1);
	return (struct view){bytes, at};
}

static void containers_beyond_the_bound_are_counted(void **state)
{
	(void)state;
	struct pod_fields fields = decode(pod_with_containers(POD_MAX_CONTAINERS));
	assert_int_equal(fields.gpu.containers.count, POD_MAX_CONTAINERS);
	assert_int_equal(fields.gpu.containers_left_out, 0);
	fields = decode(pod_with_containers(POD_MAX_CONTAINERS + 3));
	assert_int_equal(fields.gpu.containers.count, POD_MAX_CONTAINERS);
	assert_int_equal(fields.gpu.containers_left_out, 3);
	assert_true(fields.state.wants_gpu);
}

/* A pod of n_ephemeral ephemeral containers, which come first, and n that want GPUs. */
static struct view debugged_pod(unsigned n_ephemeral, unsigned n)
{
	static char bytes[8192];
	struct sbuf spec, pod;

	sbuf_init(&spec, sizeof(bytes));
	sbuf_init(&pod, sizeof(bytes));
	for (unsigned i = 0; i < n_ephemeral; i++)
		kube_bytes_field(&spec, 34, VIEW("\x0a\x03\x0a\x01" "e"));
	for (unsigned i = 0; i < n; i++)
		kube_bytes_field(&spec, 2, VIEW("\x0a\x01" "c\x42\x12\x0a\x10\x0a\x0envidia.com/gpu"));
	sbuf_append(&pod, VIEW("\x0a\x06\x0a\x01n\x2a\x01u"));
	kube_bytes_field(&pod, 2, sbuf_view(&spec));
	struct view message = {bytes, sbuf_view(&pod).len};
	memcpy(bytes, sbuf_view(&pod).ptr, message.len);
	sbuf_deinit(&spec);
	sbuf_deinit(&pod);
	return message;
}

static void where_there_is_no_room_ephemeral_containers_are_left_out_first(void **state)
{
	(void)state;
	static const struct {
		unsigned n_ephemeral, n, ephemeral_left_out, left_out;
	} rows[] = {
		{3, POD_MAX_CONTAINERS - 3, 0, 0}, {3, POD_MAX_CONTAINERS - 2, 1, 0},
		{3, POD_MAX_CONTAINERS, 3, 0},     {3, POD_MAX_CONTAINERS + 2, 3, 2},
		{POD_MAX_CONTAINERS, 1, 1, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pod_fields fields = decode(debugged_pod(rows[i].n_ephemeral, rows[i].n));
		unsigned n_kept = 0;

		for (uint32_t j = 0; j < fields.gpu.containers.count; j++)
			n_kept += fields.containers[j].kind == POD_CONTAINER_MAIN;
		assert_int_equal(fields.gpu.containers.count, POD_MAX_CONTAINERS);
		assert_int_equal(n_kept, rows[i].n - rows[i].left_out);
		assert_int_equal(fields.gpu.ephemeral_left_out, rows[i].ephemeral_left_out);
		assert_int_equal(fields.gpu.containers_left_out, rows[i].left_out);
	}
}

static void of_a_pod_without_gpu_no_ephemeral_container_is_kept_or_counted(void **state)
{
	(void)state;
	struct pod_fields fields = decode(debugged_pod(POD_MAX_CONTAINERS + 1, 0));

	assert_int_equal(fields.gpu.containers.count + fields.gpu.ephemeral_left_out, 0);
}

/*
 * A pod whose container c has a limit of each resource, with "," between them. An amount is given
 * unless it is NULL. If "mapped" is not NULL, a claim "o" of the scheduler's serves "served" to the container
 * "mapped".
 */
static struct view pod_of_limit(const char *resource, const char *amount, const char *mapped,
				const char *served)
{
	static char bytes[LIMIT_KIB];
	struct view left, rest = view_from(resource);
	struct sbuf parts[6];

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		sbuf_init(&parts[i], sizeof(bytes));
	kube_bytes_field(&parts[0], 1, view_from(amount ? amount : "")); /* quantity */
	for (bool is_more = true; is_more;) {
		is_more = view_cut(rest, VIEW(","), &left, &rest);
		sbuf_clear(&parts[1]);
		kube_bytes_field(&parts[1], 1, left); /* limit */
		if (amount)
			kube_bytes_field(&parts[1], 2, sbuf_view(&parts[0]));
		kube_bytes_field(&parts[2], 1, sbuf_view(&parts[1])); /* resources, before the name */
	}
	kube_bytes_field(&parts[3], 8, sbuf_view(&parts[2])); /* the container */
	kube_bytes_field(&parts[3], 1, VIEW("c"));
	kube_bytes_field(&parts[4], 2, sbuf_view(&parts[3])); /* spec */
	sbuf_append(&parts[5], VIEW("\x0a\x06\x0a\x01n\x2a\x01u"));
	kube_bytes_field(&parts[5], 2, sbuf_view(&parts[4]));
	for (size_t i = 0; i < 4; i++)
		sbuf_clear(&parts[i]);
	kube_bytes_field(&parts[0], 1, view_from(mapped ? mapped : "")); /* mapping */
	kube_bytes_field(&parts[0], 2, view_from(served));
	kube_bytes_field(&parts[0], 3, VIEW("r"));
	kube_bytes_field(&parts[1], 1, sbuf_view(&parts[0])); /* the claim's status */
	kube_bytes_field(&parts[1], 2, VIEW("o"));
	kube_bytes_field(&parts[2], 18, sbuf_view(&parts[1])); /* status */
	if (mapped)
		kube_bytes_field(&parts[5], 3, sbuf_view(&parts[2]));
	struct view message = {bytes, sbuf_view(&parts[5]).len};
	memcpy(bytes, sbuf_view(&parts[5]).ptr, message.len);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		sbuf_deinit(&parts[i]);
	return message;
}

static void a_limit_of_none_is_no_wish_for_a_gpu(void **state)
{
	(void)state;
	static const struct {
		const char *resource, *amount;
		bool wants_gpu;
	} rows[] = {
		{"nvidia.com/gpu", "0", false}, {"nvidia.com/gpu", "1", true},
		{"nvidia.com/gpu", "8", true},  {"nvidia.com/gpu", "1k", true},
		{"nvidia.com/gpu", "?", true},  {"nvidia.com/gpu", "", true},
		{"nvidia.com/gpu", NULL, true}, {"cpu", "1", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pod_fields fields = decode(
			pod_of_limit(rows[i].resource, rows[i].amount, NULL, ""));

		if (fields.state.wants_gpu != rows[i].wants_gpu)
			fail_msg("row %zu", i);
		assert_int_equal(fields.gpu.containers.count, rows[i].wants_gpu);
	}
}

static void a_container_that_wants_several_resources_names_none(void **state)
{
	(void)state;
	static const struct {
		const char *resources, *named;
	} rows[] = {
		{"nvidia.com/gpu", "nvidia.com/gpu"},
		{"cpu,nvidia.com/mig-1g.5gb,memory", "nvidia.com/mig-1g.5gb"},
		{"nvidia.com/gpu,nvidia.com/mig-1g.5gb", ""},
		{"nvidia.com/gpu,nvidia.com/mig-1g.5gb,nvidia.com/mig-2g.10gb", ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pod_fields fields = decode(pod_of_limit(rows[i].resources, "1", NULL, ""));

		assert_true(find(&fields, "c")->wants_gpu);
		assert_text(find(&fields, "c")->resource, rows[i].named);
	}
}

static void what_the_schedulers_claim_serves_may_be_a_gpu_by_any_name(void **state)
{
	(void)state;
	static const char *const resources[] = {
		"nvidia.com/gpu", "deviceclass.resource.kubernetes.io/gpu.nvidia.com",
		"example.com/a100"};

	for (size_t i = 0; i < ARRAY_SIZE(resources); i++) {
		struct pod_fields fields =
			decode(pod_of_limit(resources[i], "1", "c", resources[i]));

		assert_true(fields.state.wants_gpu);
		assert_int_equal(fields.gpu.claims.count, 1);
		assert_text(fields.claims[0].container, "c");
		assert_text(fields.claims[0].claim, "o");
		assert_text(fields.claims[0].request, "r");
		assert_int_equal(fields.gpu.containers.count, 1);
		/* The kubelet's plugin gives it nothing. */
		assert_false(find(&fields, "c")->wants_gpu);
	}
}

static void a_container_wants_of_the_kubelet_what_no_claim_serves(void **state)
{
	(void)state;
	static const struct {
		const char *mapped, *served;
		bool wants_gpu;
	} rows[] = {
		{NULL, "", true},
		{"c", "nvidia.com/gpu", false},
		{"c", "nvidia.com/mig-1g.5gb", true},
		{"d", "nvidia.com/gpu", true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pod_fields fields = decode(
			pod_of_limit("nvidia.com/gpu", "1", rows[i].mapped, rows[i].served));

		assert_true(fields.state.wants_gpu);
		assert_int_equal(find(&fields, "c")->wants_gpu, rows[i].wants_gpu);
	}
}

/*
 * A pod whose container c uses the claim "x" of object "o" n_claims times. It was given so many
 * devices of a resource: the first has the ID "first", the others another ID or (empty) none.
 */
static const char *health_of_first; /* NULL: not told */

static struct view pod_with(unsigned n_claims, unsigned n_devices, const char *resource,
			    const char *id)
{
	static char bytes[64 * LIMIT_KIB];
	struct sbuf parts[5];

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		sbuf_init(&parts[i], sizeof(bytes));
	for (unsigned i = 0; i < n_claims; i++) /* resources */
		kube_bytes_field(&parts[0], 3, VIEW("\x0a\x01x"));
	if (n_devices > 0)
		kube_bytes_field(&parts[0], 1, VIEW("\x0a\x0envidia.com/gpu"));
	kube_bytes_field(&parts[1], 1, VIEW("c")); /* the container */
	kube_bytes_field(&parts[1], 8, sbuf_view(&parts[0]));
	kube_bytes_field(&parts[2], 2, sbuf_view(&parts[1])); /* spec */
	kube_bytes_field(&parts[2], 39, VIEW("\x0a\x01x\x1a\x01o"));
	sbuf_clear(&parts[0]);
	sbuf_clear(&parts[1]);
	kube_bytes_field(&parts[0], 1, view_from(resource)); /* allocatedResourcesStatus */
	for (unsigned i = 0; i < n_devices; i++) {
		sbuf_clear(&parts[3]);
		if (i == 0 || id[0])
			kube_bytes_field(&parts[3], 1, view_from(i == 0 ? "first" : id));
		if (i == 0 && health_of_first)
			kube_bytes_field(&parts[3], 2, view_from(health_of_first));
		kube_bytes_field(&parts[0], 2, sbuf_view(&parts[3]));
	}
	kube_bytes_field(&parts[1], 1, VIEW("c")); /* the container's status */
	kube_bytes_field(&parts[1], 14, sbuf_view(&parts[0]));
	sbuf_clear(&parts[3]);
	kube_bytes_field(&parts[3], 8, sbuf_view(&parts[1])); /* status */
	sbuf_append(&parts[4], VIEW("\x0a\x06\x0a\x01n\x2a\x01u"));
	kube_bytes_field(&parts[4], 2, sbuf_view(&parts[2]));
	kube_bytes_field(&parts[4], 3, sbuf_view(&parts[3]));
	struct view message = {bytes, sbuf_view(&parts[4]).len};
	memcpy(bytes, sbuf_view(&parts[4]).ptr, message.len);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		sbuf_deinit(&parts[i]);
	return message;
}

static void a_device_is_unhealthy_when_its_status_says_so(void **state)
{
	(void)state;
	static const struct {
		const char *health;
		bool is_unhealthy;
	} rows[] = {{NULL, false}, {"Healthy", false}, {"Unknown", false}, {"unhealthy", false},
		    {"", false}, {"Unhealthy", true}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		health_of_first = rows[i].health;
		struct pod_fields fields = decode(pod_with(0, 2, "nvidia.com/gpu", "second"));
		assert_int_equal(fields.allocations[0].is_unhealthy, rows[i].is_unhealthy);
		assert_false(fields.allocations[1].is_unhealthy);
	}
	health_of_first = NULL;
}

static void claims_and_devices_beyond_the_bounds_are_counted(void **state)
{
	(void)state;
	for (unsigned more = 0; more < 3; more += 2) {
		struct pod_fields fields = decode(pod_with(POD_MAX_CLAIMS + more,
							   POD_MAX_ALLOCATIONS + more,
							   "nvidia.com/gpu", "id"));

		assert_int_equal(fields.gpu.claims.count, POD_MAX_CLAIMS);
		assert_int_equal(fields.gpu.claims_left_out, more);
		assert_text(fields.claims[POD_MAX_CLAIMS - 1].container, "c");
		assert_text(fields.claims[POD_MAX_CLAIMS - 1].claim, "o");
		assert_int_equal(fields.gpu.allocations.count, POD_MAX_ALLOCATIONS);
		assert_int_equal(fields.gpu.allocations_left_out, more);
	}
}

static void a_device_whose_id_no_status_could_show_is_left_out_and_counted(void **state)
{
	(void)state;
	static char id[LIMIT_TEXT_DEVICE_ID + 2];
	memset(id, 'x', LIMIT_TEXT_DEVICE_ID);
	for (unsigned is_longer = 0; is_longer < 2; is_longer++) {
		struct pod_fields fields = decode(pod_with(1, 2, "nvidia.com/gpu", id));
		assert_int_equal(fields.gpu.allocations.count, 2 - is_longer);
		assert_int_equal(fields.gpu.allocations_left_out, is_longer);
		id[LIMIT_TEXT_DEVICE_ID] = 'x';
	}
}

static void devices_of_other_resources_are_not_counted_as_left_out(void **state)
{
	(void)state;
	struct pod_fields fields = decode(pod_with(1, POD_MAX_ALLOCATIONS + 2, "x.io/y", "id"));

	assert_int_equal(fields.gpu.allocations.count, 0);
	assert_int_equal(fields.gpu.allocations_left_out, 0);
}

/* A pod of one container that wants a GPU, whose status says that ID of it. */
static struct view pod_with_container_id(const char *id)
{
	static char bytes[LIMIT_KIB];
	struct sbuf parts[2];

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		sbuf_init(&parts[i], sizeof(bytes));
	kube_bytes_field(&parts[0], 1, VIEW("c")); /* the container's status */
	kube_bytes_field(&parts[0], 8, view_from(id));
	kube_bytes_field(&parts[1], 8, sbuf_view(&parts[0]));
	sbuf_clear(&parts[0]);
	sbuf_append(&parts[0], VIEW("\x0a\x06\x0a\x01n\x2a\x01u"
				    "\x12\x19\x12\x17\x0a\x01"
				    "c\x42\x12\x0a\x10\x0a\x0envidia.com/gpu"));
	kube_bytes_field(&parts[0], 3, sbuf_view(&parts[1]));
	struct view message = {bytes, sbuf_view(&parts[0]).len};
	memcpy(bytes, sbuf_view(&parts[0]).ptr, message.len);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		sbuf_deinit(&parts[i]);
	return message;
}

static void a_containers_id_is_kept_without_the_runtimes_name(void **state)
{
	(void)state;
	static char long_id[LIMIT_TEXT_UID + 2];
	memset(long_id, 'a', LIMIT_TEXT_UID + 1);
	const struct {
		const char *text, *id;
	} rows[] = {{"containerd://0123", "0123"}, {"cri-o://a://b", "a://b"}, {"0123", "0123"},
		    {"", ""}, {"://", ""}, {long_id, ""}, {long_id + 1, long_id + 1}};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pod_fields fields = decode(pod_with_container_id(rows[i].text));
		assert_int_equal(fields.gpu.containers.count, 1);
		assert_text(fields.containers[0].id, rows[i].id);
	}
}

static void a_pod_that_uses_a_claim_wants_a_gpu_without_a_limit(void **state)
{
	(void)state;
	struct pod_fields fields = decode(pod_with(1, 0, "", ""));

	assert_true(fields.state.wants_gpu);
	assert_int_equal(fields.gpu.claims.count, 1);
	assert_int_equal(fields.gpu.containers.count, 1);
	assert_false(decode(pod_with(0, 0, "", "")).state.wants_gpu);
}

static void devices_of_other_resources_are_no_gpus(void **state)
{
	(void)state;
	static const char *const resources[] = {"claim:own", "example.com/nic", ""};

	for (size_t i = 0; i < ARRAY_SIZE(resources); i++)
		assert_int_equal(decode(pod_with(0, 3, resources[i], "id")).gpu.allocations.count, 0);
	assert_int_equal(decode(pod_with(0, 3, "nvidia.com/gpu", "id")).gpu.allocations.count, 3);
}

static void a_device_without_an_id_is_left_out(void **state)
{
	(void)state;
	struct pod_fields fields = decode(pod_with(0, 3, "nvidia.com/gpu", ""));

	assert_int_equal(fields.gpu.allocations.count, 1);
	assert_text(fields.allocations[0].id, "first");
}

/* Rows of hand-made pods: metadata, then what is of interest. */
#define HEAD "\x0a\x06\x0a\x01n\x2a\x01u"
#define GPU_LIMIT "\x42\x12\x0a\x10\x0a\x0envidia.com/gpu"
#define GPU_CONTAINER "\x12\x17\x0a\x01" "a" GPU_LIMIT

static void only_restart_policy_always_makes_a_sidecar(void **state)
{
	(void)state;
	/* Init containers b, Always, and c, Never. */
	struct pod_fields fields = decode(
		VIEW(HEAD "\x12\x36" GPU_CONTAINER "\xa2\x01\x0c\x0a\x01"
			  "b\xc2\x01\x06"
			  "Always\xa2\x01\x0b\x0a\x01"
			  "c\xc2\x01\x05Never"));
	assert_int_equal(find(&fields, "a")->kind, POD_CONTAINER_MAIN);
	assert_int_equal(find(&fields, "b")->kind, POD_CONTAINER_SIDECAR);
	assert_int_equal(find(&fields, "c")->kind, POD_CONTAINER_INIT);
}

/* Kubernetes takes no resources of one, and no plugin gives it any. */
static void an_ephemeral_container_wants_holds_and_uses_nothing(void **state)
{
	(void)state;
	static const struct {
		struct view message;
		unsigned n_containers;
	} rows[] = {
		/* b alone has a limit; uses a claim. */
		{VIEW_INIT(HEAD "\x12\x1c\x92\x02\x19\x0a\x17\x0a\x01" "b" GPU_LIMIT), 0},
		{VIEW_INIT(HEAD "\x12\x18\x92\x02\x0c\x0a\x0a\x0a\x01" "b\x42\x05\x1a\x03\x0a\x01x"
				"\xba\x02\x06\x0a\x01x\x1a\x01o"), 0},
		/* Beside a it has a limit, and was given a device. */
		{VIEW_INIT(HEAD "\x12\x35" GPU_CONTAINER "\x92\x02\x19\x0a\x17\x0a\x01" "b" GPU_LIMIT
				"\x1a\x1e\x6a\x1c\x0a\x01" "b\x72\x17\x0a\x0envidia.com/gpu"
				"\x12\x05\x0a\x03id0"), 2},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pod_fields fields = decode(rows[i].message);
		bool is_there = rows[i].n_containers > 0;

		assert_int_equal(fields.state.wants_gpu, is_there);
		assert_int_equal(fields.gpu.containers.count, rows[i].n_containers);
		assert_int_equal(fields.gpu.claims.count + fields.gpu.allocations.count, 0);
		if (is_there)
			assert_false(find(&fields, "b")->wants_gpu);
	}
}

static void a_main_container_that_restarts_always_is_no_sidecar(void **state)
{
	(void)state;
	struct pod_fields fields = decode(VIEW(HEAD "\x12\x22\x12\x20\x0a\x01"
						    "a" GPU_LIMIT "\xc2\x01\x06"
						    "Always"));
	assert_int_equal(find(&fields, "a")->kind, POD_CONTAINER_MAIN);
}

/* The pod's container c uses what the pod calls x. */
#define CLAIM_CONTAINER "\x12\x0a\x0a\x01" "c\x42\x05\x1a\x03\x0a\x01x"

static void what_a_claim_is_called_by_the_pod_is_no_name_of_an_object(void **state)
{
	(void)state;
	/* x is the object y, and y is the object z. */
	struct pod_fields fields = decode(VIEW(HEAD "\x12\x1e" CLAIM_CONTAINER
						    "\xba\x02\x06\x0a\x01x\x1a\x01y"
						    "\xba\x02\x06\x0a\x01y\x1a\x01z"));
	assert_int_equal(fields.gpu.claims.count, 1);
	assert_text(fields.claims[0].claim, "y");
}

static void what_hami_writes_on_a_pod_that_only_claims_counts_for_nothing(void **state)
{
	(void)state;
	struct pod_fields fields = decode(
		VIEW("\x0a\x32\x0a\x01n\x2a\x01u\x62\x2a\x0a\x1ehami.io/vgpu-devices-allocated"
		     "\x12\x08GPU-1,:;\x12\x15" CLAIM_CONTAINER "\xba\x02\x06\x0a\x01x\x1a\x01y"));
	assert_true(fields.state.wants_gpu);
	assert_int_equal(fields.gpu.claims.count, 1);
	assert_int_equal(fields.gpu.hami_devices.len, 0);
}

static void a_claim_of_the_schedulers_that_has_no_object_yet_gives_nothing(void **state)
{
	(void)state;
	struct pod_fields fields = decode(VIEW(HEAD "\x12\x19" GPU_CONTAINER
						    "\x1a\x0b\x92\x01\x08\x0a\x06\x0a\x01"
						    "a\x1a\x01r"));
	assert_true(fields.state.wants_gpu);
	assert_int_equal(fields.gpu.claims.count, 0);
}

/* A pod n with the label app, and the status. */
static struct pod_fields decode_with(const char *app, struct view status, struct sbuf *bytes)
{
	CLEANUP(sbuf_deinit) struct sbuf label, metadata;

	sbuf_init(&label, LIMIT_KIB);
	sbuf_init(&metadata, LIMIT_KIB);
	sbuf_init(bytes, LIMIT_KIB);
	kube_bytes_field(&label, 1, VIEW("app"));
	kube_bytes_field(&label, 2, view_from(app));
	kube_bytes_field(&metadata, 1, VIEW("n"));
	kube_bytes_field(&metadata, 5, VIEW("u"));
	kube_bytes_field(&metadata, 11, sbuf_view(&label));
	kube_bytes_field(bytes, 1, sbuf_view(&metadata));
	kube_bytes_field(bytes, 3, status);
	return decode(sbuf_view(bytes));
}

#define READY(status_, len_, total_) "\x12" total_ "\x0a\x05" "Ready\x12" len_ status_

static void an_operand_is_known_by_its_label_and_ready_by_its_condition(void **state)
{
	(void)state;
	static const struct {
		const char *app;
		enum pod_operand operand;
	} apps[] = {
		{"nvidia-driver-daemonset", POD_OPERAND_DRIVER},
		{"nvidia-container-toolkit-daemonset", POD_OPERAND_TOOLKIT},
		{"nvidia-device-plugin-daemonset", POD_OPERAND_DEVICE_PLUGIN},
		{"nvidia-device-plugin-mps-control-daemon", POD_OPERAND_MPS_DAEMON},
		{"gpu-feature-discovery", POD_OPERAND_GFD},
		{"nvidia-dcgm", POD_OPERAND_DCGM},
		{"nvidia-dcgm-exporter", POD_OPERAND_DCGM_EXPORTER},
		{"nvidia-mig-manager", POD_OPERAND_MIG_MANAGER},
		{"nvidia-operator-validator", POD_NO_OPERAND},
		{"web", POD_NO_OPERAND},
		{"", POD_NO_OPERAND},
	};
	static const struct {
		struct view status;
		bool is_ready;
	} statuses[] = {
		{VIEW_INIT(READY("True", "\x04", "\x0d")), true},
		{VIEW_INIT(READY("False", "\x05", "\x0e")), false},
		{VIEW_INIT("\x12\x17\x0a\x0f" "ContainersReady\x12\x04True"), false},
		{VIEW_INIT("\x12\x07\x0a\x05Ready"), false},
		{VIEW_INIT(""), false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(apps); i++)
		for (size_t k = 0; k < ARRAY_SIZE(statuses); k++) {
			CLEANUP(sbuf_deinit) struct sbuf bytes;
			struct pod_fields fields =
				decode_with(apps[i].app, statuses[k].status, &bytes);

			assert_int_equal(fields.state.operand, apps[i].operand);
			assert_int_equal(fields.state.is_ready,
					 apps[i].operand && statuses[k].is_ready);
			assert_false(fields.state.wants_gpu);
		}
}

static void only_a_refusal_for_want_of_gpus_is_one(void **state)
{
	(void)state;
	static const struct {
		const char *reason, *message;
		const char *resource;
	} rows[] = {
		{"UnexpectedAdmissionError",
		 "Allocate failed due to requested number of devices unavailable for nvidia.com/gpu. "
		 "Requested: 1, Available: 0, which is unexpected", "nvidia.com/gpu"},
		{"UnexpectedAdmissionError",
		 "devices unavailable for nvidia.com/mig-1g.5gb. Requested: 2, Available: 0",
		 "nvidia.com/mig-1g.5gb"},
		{"UnexpectedAdmissionError",
		 "devices unavailable for nvidia.com/gpu. Requested: 2, Available: 1", ""},
		{"UnexpectedAdmissionError",
		 "devices unavailable for nvidia.com/gpu. Requested: 2, Available: 01", ""},
		{"UnexpectedAdmissionError",
		 "devices unavailable for example.com/nic. Requested: 2, Available: 0", ""},
		{"UnexpectedAdmissionError",
		 "devices unavailable for nvidia.com/gpu, Available: 0. Requested: 2", ""},
		{"UnexpectedAdmissionError", "nvidia.com/gpu. Requested: 1, Available: 0", ""},
		{"UnexpectedAdmissionError", "", ""},
		{"Evicted", "devices unavailable for nvidia.com/gpu. Requested: 1, Available: 0",
		 ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(sbuf_deinit) struct sbuf bytes, status;

		sbuf_init(&status, LIMIT_KIB);
		kube_bytes_field(&status, 3, view_from(rows[i].message));
		kube_bytes_field(&status, 4, view_from(rows[i].reason));
		assert_true(view_equal(
			decode_with("x", sbuf_view(&status), &bytes).gpu.refused_resource,
			view_from(rows[i].resource)));
	}
}

/* Behind the end of the year 9999 there is no time. */
static void a_pod_tells_when_it_was_made_as_far_as_that_is_a_time(void **state)
{
	(void)state;
	static const struct {
		uint64_t seconds;
		int64_t created_at;
	} rows[] = {
		{1767225600, INT64_C(1767225600000)},
		{UINT64_C(253402300799), INT64_C(253402300799000)},
		{UINT64_C(253402300800), 0},
		{UINT64_MAX, 0},
		{0, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(sbuf_deinit) struct sbuf time, metadata, bytes;

		sbuf_init(&time, LIMIT_KIB);
		sbuf_init(&metadata, LIMIT_KIB);
		sbuf_init(&bytes, LIMIT_KIB);
		kube_bytes_number(&time, 1, rows[i].seconds);
		kube_bytes_field(&metadata, 1, VIEW("n"));
		kube_bytes_field(&metadata, 5, VIEW("u"));
		kube_bytes_field(&metadata, 8, sbuf_view(&time));
		kube_bytes_field(&bytes, 1, sbuf_view(&metadata));
		assert_int_equal(decode(sbuf_view(&bytes)).gpu.created_at, rows[i].created_at);
	}
}

static void no_other_reason_is_a_failed_admission(void **state)
{
	(void)state;
	assert_false(decode(VIEW(HEAD "\x1a\x09\x22\x07" "Evicted")).state.admission_failed);
}

static void of_a_pod_that_wants_no_gpu_no_container_is_left_out(void **state)
{
	(void)state;
	CLEANUP(sbuf_deinit) struct sbuf spec;
	CLEANUP(sbuf_deinit) struct sbuf pod;
	sbuf_init(&spec, LIMIT_KIB);
	sbuf_init(&pod, LIMIT_KIB);
	for (unsigned i = 0; i < POD_MAX_CONTAINERS + 3; i++)
		kube_bytes_field(&spec, 2, VIEW("\x0a\x01x"));
	sbuf_append(&pod, VIEW(HEAD));
	kube_bytes_field(&pod, 2, sbuf_view(&spec));
	struct pod_fields fields = decode(sbuf_view(&pod));
	assert_int_equal(fields.gpu.containers.count, 0);
	assert_int_equal(fields.gpu.containers_left_out, 0);
}

static void the_owner_is_the_controlling_one_wherever_it_stands(void **state)
{
	(void)state;
	static const struct view rows[] = {
		VIEW_INIT("\x0a\x1a\x0a\x01n\x2a\x01u\x6a\x08\x0a\x01K\x1a\x01o\x30\x01"
			  "\x6a\x08\x0a\x01X\x1a\x01x\x30\x00"),
		VIEW_INIT("\x0a\x1a\x0a\x01n\x2a\x01u\x6a\x08\x0a\x01X\x1a\x01x\x30\x00"
			  "\x6a\x08\x0a\x01K\x1a\x01o\x30\x01"),
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pod_fields fields = decode(rows[i]);
		assert_text(fields.gpu.workload.kind, "K");
		assert_text(fields.gpu.workload.name, "o");
	}
}

/* A metadata message of a pod with that owner and, if it is not empty, that pod-template-hash. */
static struct view of_owner(struct sbuf *pod, const char *api_version, const char *kind,
			    const char *name, const char *hash)
{
	CLEANUP(sbuf_deinit) struct sbuf meta, owner, label;
	sbuf_init(pod, 4096);
	sbuf_init(&meta, 4096);
	sbuf_init(&owner, 4096);
	sbuf_init(&label, 4096);
	kube_bytes_field(&meta, 1, VIEW("n"));
	kube_bytes_field(&meta, 5, VIEW("u"));
	kube_bytes_field(&meta, 8, VIEW("\x08\x80\xcc\x88\xd2\x06")); /* 29712000 min */
	kube_bytes_field(&owner, 1, view_from(kind));
	kube_bytes_field(&owner, 3, view_from(name));
	kube_bytes_field(&owner, 5, view_from(api_version));
	sbuf_append(&owner, VIEW("\x30\x01"));
	kube_bytes_field(&meta, 13, sbuf_view(&owner));
	kube_bytes_field(&label, 1, VIEW("pod-template-hash"));
	kube_bytes_field(&label, 2, view_from(hash));
	if (hash[0])
		kube_bytes_field(&meta, 11, sbuf_view(&label));
	kube_bytes_field(pod, 1, sbuf_view(&meta));
	return sbuf_view(pod);
}

static void the_workload_is_what_people_made_where_a_name_tells_it(void **state)
{
	(void)state;
	static const struct {
		const char *api_version, *kind, *name, *hash, *shown;
	} rows[] = {
		{"apps/v1", "ReplicaSet", "web-6d4cf56db6", "6d4cf56db6", "apps Deployment web"},
		{"apps/v1", "ReplicaSet", "a-b-6d4cf56db6", "6d4cf56db6", "apps Deployment a-b"},
		/* A hash that is not in the name; none; and another API's kind of that name. */
		{"apps/v1", "ReplicaSet", "web-x", "6d4cf56db6", "apps ReplicaSet web-x"},
		{"apps/v1", "ReplicaSet", "web-6d4cf56db6", "", "apps ReplicaSet web-6d4cf56db6"},
		{"apps/v1", "ReplicaSet", "-6d4cf56db6", "6d4cf56db6", "apps ReplicaSet -6d4cf56db6"},
		{"x.io/v1", "ReplicaSet", "web-6d4", "6d4", "x.io ReplicaSet web-6d4"},
		{"batch/v1", "Job", "nightly-29712000", "", "batch CronJob nightly"},
		{"batch/v1", "Job", "nightly-29711940", "", "batch CronJob nightly"},
		/* Due long before the pod was made, and long after. */
		{"batch/v1", "Job", "nightly-29700000", "", "batch Job nightly-29700000"},
		{"batch/v1", "Job", "nightly-29724000", "", "batch Job nightly-29724000"},
		/* A date, too few digits, no digits, nothing before them. */
		{"batch/v1", "Job", "train-20261123", "", "batch Job train-20261123"},
		{"batch/v1", "Job", "train-2971200", "", "batch Job train-2971200"},
		{"batch/v1", "Job", "train-abcdefgh", "", "batch Job train-abcdefgh"},
		{"batch/v1", "Job", "-29712000", "", "batch Job -29712000"},
		{"batch/v1", "Job", "29712000", "", "batch Job 29712000"},
		{"v1", "ReplicationController", "rc", "", " ReplicationController rc"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(sbuf_deinit) struct sbuf pod;
		char shown[128];
		struct pod_fields fields = decode(of_owner(&pod, rows[i].api_version, rows[i].kind,
							   rows[i].name, rows[i].hash));
		snprintf(shown, sizeof(shown), "%.*s %.*s %.*s", VIEW_ARG(fields.gpu.workload.group),
			 VIEW_ARG(fields.gpu.workload.kind), VIEW_ARG(fields.gpu.workload.name));
		assert_string_equal(shown, rows[i].shown);
	}
}

static void no_container_runs_while_each_waits_or_has_ended(void **state)
{
	(void)state;
	static const struct {
		struct view message;
		bool stands_still;
	} rows[] = {
		{VIEW_INIT(HEAD "\x12\x19" GPU_CONTAINER), true},
		/* a waits, as it does for ever where an init container b has failed; or is told of
		 * without a state; or waits beside one that runs. */
		{VIEW_INIT(HEAD "\x12\x19" GPU_CONTAINER "\x1a\x12\x42\x07\x0a\x01"
				"a\x12\x02\x0a\x00\x52\x07\x0a\x01"
				"b\x12\x02\x1a\x00"),
		 true},
		{VIEW_INIT(HEAD "\x12\x19" GPU_CONTAINER "\x1a\x05\x42\x03\x0a\x01"
				"a"),
		 true},
		{VIEW_INIT(HEAD "\x12\x19" GPU_CONTAINER "\x1a\x12\x42\x07\x0a\x01"
				"a\x12\x02\x0a\x00\x52\x07\x0a\x01"
				"b\x12\x02\x12\x00"),
		 false},
		/* a running, b terminated; the other way round; both terminated */
		{VIEW_INIT(HEAD "\x12\x19" GPU_CONTAINER "\x1a\x12\x42\x07\x0a\x01"
				"a\x12\x02\x12\x00\x42\x07\x0a\x01"
				"b\x12\x02\x1a\x00"),
		 false},
		{VIEW_INIT(HEAD "\x12\x19" GPU_CONTAINER "\x1a\x12\x42\x07\x0a\x01"
				"a\x12\x02\x1a\x00\x42\x07\x0a\x01"
				"b\x12\x02\x12\x00"),
		 false},
		{VIEW_INIT(HEAD "\x12\x19" GPU_CONTAINER "\x1a\x12\x42\x07\x0a\x01"
				"a\x12\x02\x1a\x00\x42\x07\x0a\x01"
				"b\x12\x02\x1a\x00"),
		 true},
		/* An ephemeral one that runs changes nothing, nor does one that has ended. */
		{VIEW_INIT(HEAD "\x12\x19" GPU_CONTAINER "\x1a\x12\x42\x07\x0a\x01"
				"a\x12\x02\x1a\x00\x6a\x07\x0a\x01"
				"b\x12\x02\x12\x00"),
		 true},
		{VIEW_INIT(HEAD "\x12\x19" GPU_CONTAINER "\x1a\x12\x42\x07\x0a\x01"
				"a\x12\x02\x12\x00\x6a\x07\x0a\x01"
				"b\x12\x02\x1a\x00"),
		 false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(decode(rows[i].message).state.no_container_runs, rows[i].stands_still);
}

static void the_start_of_a_pod_that_wants_a_gpu_is_told_in_milliseconds(void **state)
{
	(void)state;
	static const struct {
		struct view message;
		int64_t started_at;
	} rows[] = {
		{VIEW_INIT(HEAD "\x12\x19" GPU_CONTAINER), 0},
		{VIEW_INIT(HEAD "\x12\x19" GPU_CONTAINER "\x1a\x02\x3a\x00"), 0},
		{VIEW_INIT(HEAD "\x12\x19" GPU_CONTAINER
				"\x1a\x08\x3a\x06\x08\x80\xe2\xcf\xaa\x06"), 1700000000000},
		/* Nanoseconds behind it, which nobody sets. */
		{VIEW_INIT(HEAD "\x12\x19" GPU_CONTAINER
				"\x1a\x06\x3a\x04\x08\x07\x10\x09"), 7000},
		/* The last second of the year 9999, and the one after. */
		{VIEW_INIT(HEAD "\x12\x19" GPU_CONTAINER
				"\x1a\x09\x3a\x07\x08\xff\x82\xd1\xff\xaf\x07"),
		 INT64_C(253402300799000)},
		{VIEW_INIT(HEAD "\x12\x19" GPU_CONTAINER
				"\x1a\x09\x3a\x07\x08\x80\x83\xd1\xff\xaf\x07"), 0},
		/* Before 1970. */
		{VIEW_INIT(HEAD "\x12\x19" GPU_CONTAINER
				"\x1a\x0d\x3a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), 0},
		{VIEW_INIT(HEAD "\x1a\x04\x3a\x02\x08\x07"), 0},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(decode(rows[i].message).gpu.started_at, rows[i].started_at);
}

/* "\x0a\x05" announces five bytes where none are left. */
static void a_malformed_part_at_any_depth_is_refused(void **state)
{
	(void)state;
	static const struct view rows[] = {
		VIEW_INIT("\x0a\x08\x0a\x01n\x2a\x01u\x0a\x05"),         /* metadata */
		VIEW_INIT("\x0a\x0a\x0a\x01n\x2a\x01u\x5a\x02\x0a\x05"), /* a label */
		VIEW_INIT("\x0a\x0a\x0a\x01n\x2a\x01u\x62\x02\x0a\x05"), /* an annotation */
		VIEW_INIT("\x0a\x0a\x0a\x01n\x2a\x01u\x6a\x02\x0a\x05"), /* an owner */
		VIEW_INIT(HEAD "\x12\x02\x0a\x05"),                         /* spec */
		VIEW_INIT(HEAD "\x12\x04\x12\x02\x0a\x05"),                 /* a container */
		VIEW_INIT(HEAD "\x12\x05\xa2\x01\x02\x0a\x05"),             /* an init container */
		VIEW_INIT(HEAD "\x12\x06\x12\x04\x42\x02\x0a\x05"),         /* its resources */
		VIEW_INIT(HEAD "\x12\x08\x12\x06\x42\x04\x0a\x02\x0a\x05"), /* a limit */
		VIEW_INIT(HEAD "\x12\x1e" GPU_CONTAINER
			       "\x92\x02\x02\x0a\x05"), /* an ephemeral container */
		VIEW_INIT(HEAD "\x12\x20" GPU_CONTAINER
			       "\x92\x02\x04\x0a\x02\x0a\x05"), /* what it has as any container */
		VIEW_INIT(HEAD "\x12\x19" GPU_CONTAINER
			       "\x1a\x04\x6a\x02\x0a\x05"), /* its status */
		VIEW_INIT(HEAD "\x1a\x02\x0a\x05"),                         /* status */
		VIEW_INIT(HEAD "\x12\x19" GPU_CONTAINER
			       "\x1a\x04\x42\x02\x0a\x05"), /* a container's status */
		VIEW_INIT(HEAD "\x12\x19" GPU_CONTAINER
			       "\x1a\x04\x3a\x02\x0a\x05"), /* the time of its start */
		VIEW_INIT(HEAD "\x12\x19" GPU_CONTAINER
			       "\x1a\x06\x42\x04\x12\x02\x0a\x05"), /* its state */
		VIEW_INIT(HEAD "\x12\x19" GPU_CONTAINER
			       "\x1a\x06\x42\x04\x72\x02\x0a\x05"), /* what it was given */
		VIEW_INIT(HEAD "\x12\x19" GPU_CONTAINER
			       "\x1a\x08\x42\x06\x72\x04\x12\x02\x0a\x05"), /* a device of it */
		VIEW_INIT(HEAD "\x12\x08\x12\x06\x42\x04\x1a\x02\x0a\x05"), /* a use of a claim */
		VIEW_INIT(HEAD "\x12\x1a\x12\x18\x42\x16\x0a\x14\x0a\x0envidia.com/gpu"
			       "\x12\x02\x0a\x05"), /* the amount of a limit */
		VIEW_INIT(HEAD "\x1a\x05\x92\x01\x02\x0a\x05"), /* the scheduler's claim alone */
		VIEW_INIT(HEAD "\x12\x10\x12\x09\x42\x07\x1a\x05\x0a\x01x\x12\x00"
			       "\xba\x02\x02\x0a\x05"), /* a claim, with a use of it */
		VIEW_INIT(HEAD "\x12\x19" GPU_CONTAINER
			       "\x1a\x04\x7a\x02\x0a\x05"), /* the object of a claim */
		VIEW_INIT(HEAD "\x12\x19" GPU_CONTAINER
			       "\x1a\x05\x92\x01\x02\x0a\x05"), /* the scheduler's claim */
		VIEW_INIT(HEAD "\x12\x19" GPU_CONTAINER
			       "\x1a\x07\x92\x01\x04\x0a\x02\x0a\x05"), /* a request of it */
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pod_fields fields;
		struct error err;
		if (pod_doc_decode(rows[i], &fields, &err) == 0)
			fail_msg("row %zu is accepted", i);
		assert_int_equal(err.kind, ERROR_REJECTED);
	}
}

static void a_pod_without_name_or_uid_is_refused(void **state)
{
	(void)state;
	static const struct view rows[] = {
		VIEW_INIT(""),
		VIEW_INIT("\x0a\x03\x0a\x01n"),
		VIEW_INIT("\x0a\x03\x2a\x01u"),
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pod_fields fields;
		struct error err;
		assert_int_equal(pod_doc_decode(rows[i], &fields, &err), -1);
		assert_int_equal(err.kind, ERROR_REJECTED);
	}
}

static void fields_of_another_wire_type_are_skipped(void **state)
{
	(void)state;
	/* metadata {name n, uid u}, then phase, spec and status as numbers. */
	struct pod_fields fields = decode(VIEW("\x0a\x06\x0a\x01n\x2a\x01u\x10\x05\x18\x07"));
	assert_text(fields.name, "n");
	assert_int_equal(fields.state.phase, POD_PHASE_UNKNOWN);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_hash_counts_only_as_a_kubelet_writes_it),
	cmocka_unit_test(a_gpu_pod_gives_every_fact_that_is_kept),
	cmocka_unit_test(a_pod_without_gpu_gives_identity_node_and_phase_only),
	cmocka_unit_test(a_mirror_pod_gives_the_hash_that_the_kubelet_uses_as_uid),
	cmocka_unit_test(a_hash_on_a_pod_that_is_no_mirror_is_not_believed),
	cmocka_unit_test(failed_admission_deletion_and_the_operators_own_pods_are_seen),
	cmocka_unit_test(an_ephemeral_container_has_its_name_state_and_id),
	cmocka_unit_test(where_there_is_no_room_ephemeral_containers_are_left_out_first),
	cmocka_unit_test(of_a_pod_without_gpu_no_ephemeral_container_is_kept_or_counted),
	cmocka_unit_test(an_ephemeral_container_wants_holds_and_uses_nothing),
	cmocka_unit_test(uses_of_claims_name_the_object_and_the_container),
	cmocka_unit_test(allocated_gpus_name_the_container_and_the_resource),
	cmocka_unit_test(what_hami_and_kai_write_on_a_pod_is_kept),
	cmocka_unit_test(a_reservation_of_kais_has_its_namespace_and_its_group),
	cmocka_unit_test(who_shares_several_gpus_by_kai_has_a_label_of_each),
	cmocka_unit_test(groups_of_kais_beyond_the_bound_are_counted),
	cmocka_unit_test(which_container_shares_a_gpu_by_kai_is_told_by_an_annotation),
	cmocka_unit_test(a_note_of_hamis_that_is_too_long_is_left_out_and_that_is_said),
	cmocka_unit_test(a_device_whose_id_no_status_could_show_is_left_out_and_counted),
	cmocka_unit_test(an_annotation_of_hamis_alone_makes_no_pod_want_a_gpu),
	cmocka_unit_test(a_pod_is_the_operators_only_with_its_label_and_its_account),
	cmocka_unit_test(a_limit_of_none_is_no_wish_for_a_gpu),
	cmocka_unit_test(a_container_that_wants_several_resources_names_none),
	cmocka_unit_test(what_the_schedulers_claim_serves_may_be_a_gpu_by_any_name),
	cmocka_unit_test(a_container_wants_of_the_kubelet_what_no_claim_serves),
	cmocka_unit_test(a_device_is_unhealthy_when_its_status_says_so),
	cmocka_unit_test(claims_and_devices_beyond_the_bounds_are_counted),
	cmocka_unit_test(a_pod_that_uses_a_claim_wants_a_gpu_without_a_limit),
	cmocka_unit_test(devices_of_other_resources_are_no_gpus),
	cmocka_unit_test(a_device_without_an_id_is_left_out),
	cmocka_unit_test(devices_of_other_resources_are_not_counted_as_left_out),
	cmocka_unit_test(a_containers_id_is_kept_without_the_runtimes_name),
	cmocka_unit_test(a_message_cut_anywhere_is_refused_or_lacks_parts),
	cmocka_unit_test(any_changed_byte_is_survived),
	cmocka_unit_test(containers_beyond_the_bound_are_counted),
	cmocka_unit_test(only_restart_policy_always_makes_a_sidecar),
	cmocka_unit_test(a_main_container_that_restarts_always_is_no_sidecar),
	cmocka_unit_test(what_a_claim_is_called_by_the_pod_is_no_name_of_an_object),
	cmocka_unit_test(what_hami_writes_on_a_pod_that_only_claims_counts_for_nothing),
	cmocka_unit_test(a_claim_of_the_schedulers_that_has_no_object_yet_gives_nothing),
	cmocka_unit_test(an_operand_is_known_by_its_label_and_ready_by_its_condition),
	cmocka_unit_test(only_a_refusal_for_want_of_gpus_is_one),
	cmocka_unit_test(a_pod_tells_when_it_was_made_as_far_as_that_is_a_time),
	cmocka_unit_test(no_other_reason_is_a_failed_admission),
	cmocka_unit_test(of_a_pod_that_wants_no_gpu_no_container_is_left_out),
	cmocka_unit_test(the_owner_is_the_controlling_one_wherever_it_stands),
	cmocka_unit_test(the_workload_is_what_people_made_where_a_name_tells_it),
	cmocka_unit_test(no_container_runs_while_each_waits_or_has_ended),
	cmocka_unit_test(the_start_of_a_pod_that_wants_a_gpu_is_told_in_milliseconds),
	cmocka_unit_test(a_malformed_part_at_any_depth_is_refused),
	cmocka_unit_test(a_pod_without_name_or_uid_is_refused),
	cmocka_unit_test(fields_of_another_wire_type_are_skipped),
};

TEST_MAIN(tests)
