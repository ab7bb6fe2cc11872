/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "lib/golden.h"
#include "schema/pod_doc.h"

#define assert_text(view_, text_) assert_true(view_equal(view_, view_from(text_)))

static const char *const golden_names[] = {
	"pod_gpu.pb", "pod_plain.pb", "pod_static.pb", "pod_failed.pb",
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
	for (uint32_t i = 0; i < fields->n_containers; i++) {
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
		bool wants_gpu;
	} rows[] = {
		{"main", POD_CONTAINER_MAIN, POD_CONTAINER_RUNNING, true},
		{"metrics", POD_CONTAINER_MAIN, POD_CONTAINER_WAITING, false},
		{"fetch", POD_CONTAINER_INIT, POD_CONTAINER_TERMINATED, false},
		{"warm", POD_CONTAINER_INIT, POD_CONTAINER_TERMINATED, true},
		{"shipper", POD_CONTAINER_SIDECAR, POD_CONTAINER_RUNNING, false},
	};
	struct view message = golden_read("pod_gpu.pb");
	struct pod_fields fields = decode(message);

	assert_text(fields.name, "train-0");
	assert_text(fields.namespace, "ml");
	assert_text(fields.node, "gpu-a");
	assert_int_equal(fields.uid.len, 36);
	assert_text(fields.owner_kind, "StatefulSet");
	assert_text(fields.owner_name, "train");
	assert_int_equal(fields.phase, POD_PHASE_RUNNING);
	assert_true(fields.wants_gpu);
	assert_false(fields.deleting || fields.admission_failed || fields.system);
	assert_false(fields.containers_terminated);
	assert_int_equal(fields.n_containers, ARRAY_SIZE(rows));
	assert_int_equal(fields.containers_left_out, 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct pod_container *container = find(&fields, rows[i].name);
		assert_int_equal(container->kind, rows[i].kind);
		assert_int_equal(container->state, rows[i].state);
		assert_int_equal(container->wants_gpu, rows[i].wants_gpu);
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
	assert_int_equal(fields.phase, POD_PHASE_RUNNING);
	assert_false(fields.wants_gpu);
	assert_false(fields.containers_terminated);
	assert_int_equal(fields.n_containers, 0);
	golden_free(message);
}

static void a_mirror_pod_gives_the_hash_that_the_kubelet_uses_as_uid(void **state)
{
	(void)state;
	struct view message = golden_read("pod_static.pb");
	struct pod_fields fields = decode(message);

	assert_text(fields.config_hash, "0123456789abcdef0123456789abcdef");
	assert_text(fields.owner_kind, "Node");
	assert_int_equal(fields.phase, POD_PHASE_PENDING);
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

	assert_int_equal(fields.phase, POD_PHASE_FAILED);
	assert_true(fields.admission_failed);
	assert_true(fields.deleting);
	assert_true(fields.system);
	assert_true(fields.wants_gpu);
	assert_true(fields.containers_terminated);
	golden_free(message);
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
			struct pod_fields fields, before;
			struct error err;
			memset(&fields, 0xa5, sizeof(fields));
			memset(&before, 0xa5, sizeof(before));
			if (pod_doc_decode(cut, &fields, &err) != 0) {
				assert_int_equal(err.kind, ERROR_REJECTED);
				assert_memory_equal(&fields, &before, sizeof(fields));
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
				assert_true(fields.n_containers <= POD_MAX_CONTAINERS);
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
	assert_int_equal(fields.n_containers, POD_MAX_CONTAINERS);
	assert_int_equal(fields.containers_left_out, 0);
	fields = decode(pod_with_containers(POD_MAX_CONTAINERS + 3));
	assert_int_equal(fields.n_containers, POD_MAX_CONTAINERS);
	assert_int_equal(fields.containers_left_out, 3);
	assert_true(fields.wants_gpu);
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
		assert_text(fields.owner_kind, "K");
		assert_text(fields.owner_name, "o");
	}
}

static void all_containers_are_terminated_only_if_each_is(void **state)
{
	(void)state;
	static const struct {
		struct view message;
		bool terminated;
	} rows[] = {
		{VIEW_INIT(HEAD "\x12\x19" GPU_CONTAINER), true},
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
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(decode(rows[i].message).containers_terminated, rows[i].terminated);
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
		VIEW_INIT(HEAD "\x1a\x02\x0a\x05"),                         /* status */
		VIEW_INIT(HEAD "\x12\x19" GPU_CONTAINER
			       "\x1a\x04\x42\x02\x0a\x05"), /* a container's status */
		VIEW_INIT(HEAD "\x12\x19" GPU_CONTAINER
			       "\x1a\x06\x42\x04\x12\x02\x0a\x05"), /* its state */
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
	assert_int_equal(fields.phase, POD_PHASE_UNKNOWN);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_gpu_pod_gives_every_fact_that_is_kept),
	cmocka_unit_test(a_pod_without_gpu_gives_identity_node_and_phase_only),
	cmocka_unit_test(a_mirror_pod_gives_the_hash_that_the_kubelet_uses_as_uid),
	cmocka_unit_test(a_hash_on_a_pod_that_is_no_mirror_is_not_believed),
	cmocka_unit_test(failed_admission_deletion_and_the_operators_own_pods_are_seen),
	cmocka_unit_test(a_message_cut_anywhere_is_refused_or_lacks_parts),
	cmocka_unit_test(any_changed_byte_is_survived),
	cmocka_unit_test(containers_beyond_the_bound_are_counted),
	cmocka_unit_test(only_restart_policy_always_makes_a_sidecar),
	cmocka_unit_test(the_owner_is_the_controlling_one_wherever_it_stands),
	cmocka_unit_test(all_containers_are_terminated_only_if_each_is),
	cmocka_unit_test(a_malformed_part_at_any_depth_is_refused),
	cmocka_unit_test(a_pod_without_name_or_uid_is_refused),
	cmocka_unit_test(fields_of_another_wire_type_are_skipped),
};

TEST_MAIN(tests)
