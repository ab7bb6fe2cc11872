/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "base/limits.h"
#include "lib/failing_malloc.h"
#include "lib/golden.h"
#include "lib/kube_bytes.h"
#include "schema/node_doc.h"

#define assert_text(view_, text_) assert_true(view_equal(view_, view_from(text_)))

static struct arena arena;

static int set_up(void **state)
{
	(void)state;
	arena_init(&arena, LIMIT_MIB);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_deinit(&arena);
	return 0;
}

static struct node decode(struct view message)
{
	struct node node;
	struct error err;
	if (node_doc_decode(message, &arena, &node, &err) != 0)
		fail_msg("%s", err.text);
	return node;
}

static void a_gpu_node_gives_every_fact_that_is_kept(void **state)
{
	(void)state;
	struct view message = golden_read("node_gpu.pb");
	struct node node = decode(message);

	assert_text(node.name, "gpu-a");
	assert_int_equal(node.uid.len, 36);
	assert_text(node.boot_id, "1d0f5f7c-6d0e-4b36-9c1b-3f1d6e3d2a10");
	assert_text(node.sharing_strategy, "time-slicing");
	assert_text(node.gpu_present, "true");
	assert_text(node.gpu_count, "8");
	assert_text(node.gpu_product, "NVIDIA-A100-SXM4-40GB-SHARED");
	assert_text(node.gpu_replicas, "4");
	assert_text(node.mig_capable, "true");
	assert_text(node.mig_config, "");
	assert_int_equal(node.deploys.count, 1);
	assert_text(ARRAY_AT(node.deploys, struct node_deploy, 0)->operand, "device-plugin");
	assert_text(ARRAY_AT(node.deploys, struct node_deploy, 0)->value, "true");
	golden_free(message);
}

/* Of the node in objects.yaml, which also has cpu, memory, pods and example.com/nic. */
static void of_what_is_allocatable_the_gpus_are_kept_by_name(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		int64_t count;
	} rows[] = {
		{"nvidia.com/gpu", 28}, {"nvidia.com/gpu.shared", 1000}, {"nvidia.com/mig-1g.5gb", 7}};
	struct view message = golden_read("node_gpu.pb");
	struct node node = decode(message);

	assert_int_equal(node.allocatable.count, ARRAY_SIZE(rows));
	for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct node_resource *resource =
			ARRAY_AT(node.allocatable, struct node_resource, i);

		assert_text(resource->name, rows[i].name);
		assert_int_equal(resource->count, rows[i].count);
	}
	golden_free(message);
}

struct pair {
	const char *key, *value;
};

/* A node of that name with labels, or with resources, each of a key and a value. */
static struct view make_node(struct sbuf *out, uint32_t part, uint32_t number,
			     const struct pair *entries, size_t n)
{
	struct sbuf name, message, entry, quantity;

	sbuf_init(out, LIMIT_MIB);
	sbuf_init(&name, LIMIT_KIB);
	sbuf_init(&message, LIMIT_MIB);
	kube_bytes_field(part == 1 ? &message : &name, 1, VIEW("n"));
	for (size_t i = 0; i < n; i++) {
		sbuf_init(&entry, LIMIT_KIB);
		sbuf_init(&quantity, LIMIT_KIB);
		kube_bytes_field(&quantity, 1, view_from(entries[i].value));
		kube_bytes_field(&entry, 1, view_from(entries[i].key));
		kube_bytes_field(&entry, 2,
				 part == 1 ? view_from(entries[i].value) : sbuf_view(&quantity));
		kube_bytes_field(&message, number, sbuf_view(&entry));
		sbuf_deinit(&entry);
		sbuf_deinit(&quantity);
	}
	if (part != 1)
		kube_bytes_field(out, 1, sbuf_view(&name));
	kube_bytes_field(out, part, sbuf_view(&message));
	sbuf_deinit(&name);
	sbuf_deinit(&message);
	return sbuf_view(out);
}

static const struct {
	const char *key;
	size_t offset;
} known_labels[] = {
	{"nvidia.com/gpu.sharing-strategy", offsetof(struct node, sharing_strategy)},
	{"nvidia.com/gpu.present", offsetof(struct node, gpu_present)},
	{"nvidia.com/gpu.count", offsetof(struct node, gpu_count)},
	{"nvidia.com/gpu.product", offsetof(struct node, gpu_product)},
	{"nvidia.com/gpu.replicas", offsetof(struct node, gpu_replicas)},
	{"nvidia.com/mig.capable", offsetof(struct node, mig_capable)},
	{"nvidia.com/mig.strategy", offsetof(struct node, mig_strategy)},
	{"nvidia.com/mig.config", offsetof(struct node, mig_config)},
	{"nvidia.com/mig.config.state", offsetof(struct node, mig_config_state)},
	{"nvidia.com/device-plugin.config", offsetof(struct node, plugin_config)},
	{"nvidia.com/gpu-driver-upgrade-state", offsetof(struct node, driver_upgrade)},
	{"nvidia.com/gpu.workload.config", offsetof(struct node, workload_config)},
};

static void each_label_has_its_member_and_no_other(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(known_labels); i++) {
		CLEANUP(sbuf_deinit) struct sbuf bytes;
		const struct pair entries[] = {{"example.com/gpu.count", "9"},
						  {known_labels[i].key, "value"}};
		struct node node = decode(make_node(&bytes, 1, 11, entries, 2));

		for (size_t k = 0; k < ARRAY_SIZE(known_labels); k++)
			assert_text(*(const struct view *)(const void *)((const char *)&node +
								       known_labels[k].offset),
				    k == i ? "value" : "");
		assert_int_equal(node.deploys.count, 0);
	}
}

static void a_label_of_node_feature_discovery_tells_of_a_gpu(void **state)
{
	(void)state;
	static const struct {
		struct pair label;
		bool is_found;
	} rows[] = {
		{{"feature.node.kubernetes.io/pci-10de.present", "true"}, true},
		{{"feature.node.kubernetes.io/pci-0302_10de.present", "true"}, true},
		{{"feature.node.kubernetes.io/pci-0300_10de.present", "true"}, true},
		{{"feature.node.kubernetes.io/pci-10de.present", "false"}, false},
		{{"feature.node.kubernetes.io/pci-10de.present", ""}, false},
		{{"feature.node.kubernetes.io/pci-0200_15b3.present", "true"}, false},
		{{"feature.node.kubernetes.io/pci-10de.sriov.capable", "true"}, false},
		{{"nvidia.com/pci-10de.present", "true"}, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(sbuf_deinit) struct sbuf bytes;
		const struct pair entries[] = {
			rows[i].label,
			{"feature.node.kubernetes.io/pci-0300_10de.present", "no"},
		};
		struct node node = decode(make_node(&bytes, 1, 11, entries, ARRAY_SIZE(entries)));

		if (node.is_found_by_nfd != rows[i].is_found)
			fail_msg("row %zu", i);
	}
}

static void the_labels_of_operands_are_kept_by_name(void **state)
{
	(void)state;
	static const struct pair entries[] = {
		{"nvidia.com/gpu.deploy.operands", "false"},
		{"nvidia.com/gpu.deploy.dcgm", "paused-for-mig-change"},
		{"nvidia.com/gpu.deployed", "x"},
	};
	CLEANUP(sbuf_deinit) struct sbuf bytes;
	struct node node = decode(make_node(&bytes, 1, 11, entries, ARRAY_SIZE(entries)));
	const struct node_deploy *deploys = node.deploys.items;

	assert_int_equal(node.deploys.count, 2);
	assert_text(deploys[0].operand, "dcgm");
	assert_text(deploys[0].value, "paused-for-mig-change");
	assert_text(deploys[1].operand, "operands");
	assert_text(deploys[1].value, "false");
}

static void the_counts_of_mig_devices_are_kept_by_profile(void **state)
{
	(void)state;
	static const struct pair entries[] = {
		{"nvidia.com/mig-2g.20gb.count", "3"},
		{"nvidia.com/mig-1g.10gb.me.count", "two"},
		{"nvidia.com/mig-1g.10gb.product", "A100"},
		{"nvidia.com/mig-.count", "x"},
		{"nvidia.com/gpu.count", "4"},
		{"nvidia.com/mig-1g.10gb.counts", "x"},
		{"example.com/mig-1g.10gb.count", "x"},
	};
	CLEANUP(sbuf_deinit) struct sbuf bytes;
	struct node node = decode(make_node(&bytes, 1, 11, entries, ARRAY_SIZE(entries)));
	const struct node_mig_count *counts = node.mig_counts.items;

	assert_int_equal(node.mig_counts.count, 2);
	assert_text(counts[0].profile, "1g.10gb.me");
	assert_text(counts[0].value, "two");
	assert_text(counts[1].profile, "2g.20gb");
	assert_text(counts[1].value, "3");
}

static void an_amount_that_is_no_whole_number_is_left_out(void **state)
{
	(void)state;
	static const struct pair entries[] = {
		{"nvidia.com/b", "0"}, {"nvidia.com/a", "1.5"}, {"nvidia.com/c", "many"}};
	CLEANUP(sbuf_deinit) struct sbuf bytes;
	struct node node = decode(make_node(&bytes, 3, 2, entries, ARRAY_SIZE(entries)));

	assert_int_equal(node.allocatable.count, 1);
	assert_text(ARRAY_AT(node.allocatable, struct node_resource, 0)->name, "nvidia.com/b");
	assert_int_equal(ARRAY_AT(node.allocatable, struct node_resource, 0)->count, 0);
}

static void what_a_node_has_beyond_the_limits_is_left_out(void **state)
{
	(void)state;
	static struct pair labels[LIMIT_NODE_DEPLOYS + 3];
	static struct pair counts[LIMIT_NODE_MIG_COUNTS + 3];
	static struct pair resources[LIMIT_NODE_RESOURCES + 3];
	CLEANUP(sbuf_deinit) struct sbuf bytes, count_bytes, more_bytes;

	for (size_t i = 0; i < ARRAY_SIZE(labels); i++)
		labels[i] = (struct pair){"nvidia.com/gpu.deploy.x", "true"};
	for (size_t i = 0; i < ARRAY_SIZE(resources); i++)
		resources[i] = (struct pair){"nvidia.com/x", "1"};
	struct node node = decode(make_node(&bytes, 1, 11, labels, ARRAY_SIZE(labels)));
	assert_int_equal(node.deploys.count, LIMIT_NODE_DEPLOYS);
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		counts[i] = (struct pair){"nvidia.com/mig-x.count", "1"};
	node = decode(make_node(&count_bytes, 1, 11, counts, ARRAY_SIZE(counts)));
	assert_int_equal(node.mig_counts.count, LIMIT_NODE_MIG_COUNTS);
	node = decode(make_node(&more_bytes, 3, 2, resources, ARRAY_SIZE(resources)));
	assert_int_equal(node.allocatable.count, LIMIT_NODE_RESOURCES);
}

static void without_memory_nothing_is_said_of_the_node(void **state)
{
	(void)state;
	struct view message = golden_read("node_gpu.pb");
	bool failed = true;

	for (unsigned k = 1; failed; k++) {
		CLEANUP(arena_deinit) struct arena own = {0};
		struct error err = {0};
		struct node node;

		arena_init(&own, LIMIT_MIB);
		failing_malloc_at(k);
		int result = node_doc_decode(message, &own, &node, &err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
		assert_int_equal(err.kind == ERROR_NO_MEMORY, failed);
	}
	golden_free(message);
}

static void a_message_cut_anywhere_is_refused_or_lacks_parts(void **state)
{
	(void)state;
	struct view message = golden_read("node_gpu.pb");
	size_t n_refused = 0;
	for (size_t len = 0; len < message.len; len++) {
		arena_reset(&arena);
		struct view cut = golden_copy((struct view){message.ptr, len});
		struct node node, before;
		struct error err;
		memset(&node, 0xa5, sizeof(node));
		memset(&before, 0xa5, sizeof(before));
		if (node_doc_decode(cut, &arena, &node, &err) != 0) {
			assert_int_equal(err.kind, ERROR_REJECTED);
			assert_memory_equal(&node, &before, sizeof(node));
			n_refused++;
		}
		golden_free(cut);
	}
	assert_true(n_refused >= message.len - 2);
	golden_free(message);
}

static void any_changed_byte_is_survived(void **state)
{
	(void)state;
	static const unsigned char masks[] = {0x01, 0x07, 0x80, 0xff};
	struct view message = golden_read("node_gpu.pb");
	char *bytes = (char *)(uintptr_t)message.ptr;
	for (size_t i = 0; i < message.len; i++) {
		for (size_t m = 0; m < ARRAY_SIZE(masks); m++) {
			struct node node;
			struct error err;
			arena_reset(&arena);
			bytes[i] = (char)(bytes[i] ^ (char)masks[m]);
			if (node_doc_decode(message, &arena, &node, &err) == 0)
				assert_true(node.name.len > 0);
			bytes[i] = (char)(bytes[i] ^ (char)masks[m]);
		}
	}
	golden_free(message);
}

/* "\x0a\x05" announces five bytes where none are left. */
static void a_malformed_part_at_any_depth_is_refused(void **state)
{
	(void)state;
	static const struct view rows[] = {
		VIEW_INIT("\x0a\x05\x0a\x01n\x0a\x05"),                     /* metadata */
		VIEW_INIT("\x0a\x07\x0a\x01n\x5a\x02\x0a\x05"),             /* a label */
		VIEW_INIT("\x0a\x03\x0a\x01n\x1a\x02\x0a\x05"),             /* status */
		VIEW_INIT("\x0a\x03\x0a\x01n\x1a\x04\x3a\x02\x0a\x05"),     /* nodeInfo */
		VIEW_INIT("\x0a\x03\x0a\x01n\x1a\x04\x12\x02\x0a\x05"),     /* allocatable */
		VIEW_INIT("\x0a\x03\x0a\x01n\x1a\x13\x12\x11\x0a\x0bnvidia.com/"
			  "\x12\x02\x0a\x05"),                             /* an amount */
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct node node;
		struct error err;
		if (node_doc_decode(rows[i], &arena, &node, &err) == 0)
			fail_msg("row %zu is accepted", i);
		assert_int_equal(err.kind, ERROR_REJECTED);
	}
}

static void a_node_without_name_is_refused(void **state)
{
	(void)state;
	struct node node;
	struct error err;
	assert_int_equal(node_doc_decode(VIEW(""), &arena, &node, &err), -1);
	assert_int_equal(err.kind, ERROR_REJECTED);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(a_gpu_node_gives_every_fact_that_is_kept, set_up, tear_down),
	cmocka_unit_test_setup_teardown(of_what_is_allocatable_the_gpus_are_kept_by_name, set_up, tear_down),
	cmocka_unit_test_setup_teardown(each_label_has_its_member_and_no_other, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_label_of_node_feature_discovery_tells_of_a_gpu, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(the_labels_of_operands_are_kept_by_name, set_up, tear_down),
	cmocka_unit_test_setup_teardown(the_counts_of_mig_devices_are_kept_by_profile, set_up, tear_down),
	cmocka_unit_test_setup_teardown(an_amount_that_is_no_whole_number_is_left_out, set_up, tear_down),
	cmocka_unit_test_setup_teardown(what_a_node_has_beyond_the_limits_is_left_out, set_up, tear_down),
	cmocka_unit_test_setup_teardown(without_memory_nothing_is_said_of_the_node, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_message_cut_anywhere_is_refused_or_lacks_parts, set_up, tear_down),
	cmocka_unit_test_setup_teardown(any_changed_byte_is_survived, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_malformed_part_at_any_depth_is_refused, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_node_without_name_is_refused, set_up, tear_down),
};

TEST_MAIN(tests)
