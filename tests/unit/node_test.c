/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/test_main.h"

#include <stdlib.h>

#include "model/node.h"

static struct node_fields full(void)
{
	return (struct node_fields){
		.name = VIEW("gpu-a"), .uid = VIEW("n1"), .boot_id = VIEW("b1"),
		.kubelet_version = VIEW("v1.36.3"), .ready = NODE_READY_TRUE,
		.labels = {{VIEW("gpu.product"), VIEW("A100")}, {VIEW("gpu.count"), VIEW("8")}},
		.n_labels = 2,
		.resources = {{VIEW("nvidia.com/mig-1g.5gb"), 7, 6}, {VIEW("nvidia.com/gpu"), 8, 8}},
		.n_resources = 2,
	};
}

static struct node *make(const struct node_fields *fields)
{
	struct node *node = NULL;
	struct error err;

	assert_int_equal(node_new(fields, &node, &err), 0);
	return node;
}

static void a_node_keeps_its_own_copy_of_everything(void **state)
{
	(void)state;
	char name[] = "gpu-a", resource[] = "nvidia.com/gpu";
	struct node_fields fields = full();
	struct view value;

	fields.name = view_from(name);
	fields.resources[1].name = view_from(resource);
	struct node *node = make(&fields);
	memset(name, 'x', sizeof(name) - 1);
	memset(resource, 'x', sizeof(resource) - 1);
	memset(&fields, 0, sizeof(fields));
	assert_true(view_equal(node->name, VIEW("gpu-a")));
	assert_true(view_equal(node->uid, VIEW("n1")));
	assert_true(view_equal(node->boot_id, VIEW("b1")));
	assert_true(view_equal(node->kubelet_version, VIEW("v1.36.3")));
	assert_int_equal(node->ready, NODE_READY_TRUE);
	assert_true(node->labels.present && node->resources.present);
	assert_int_equal(node->labels.count, 2);
	assert_true(node_label(node, VIEW("gpu.count"), &value));
	assert_true(view_equal(value, VIEW("8")));
	assert_int_equal(node->resources.count, 2);
	assert_true(view_equal(ARRAY_AT(node->resources, struct node_resource, 0)->name,
			       VIEW("nvidia.com/gpu")));
	assert_int_equal(ARRAY_AT(node->resources, struct node_resource, 1)->capacity, 7);
	assert_int_equal(ARRAY_AT(node->resources, struct node_resource, 1)->allocatable, 6);
	free(node);
}

static void labels_and_resources_are_in_the_order_of_their_names(void **state)
{
	(void)state;
	const struct node_fields fields = full();
	struct node *node = make(&fields);

	assert_true(view_equal(ARRAY_AT(node->labels, struct node_label, 0)->key,
			       VIEW("gpu.count")));
	assert_true(view_equal(ARRAY_AT(node->resources, struct node_resource, 0)->name,
			       VIEW("nvidia.com/gpu")));
	free(node);
}

static void a_label_that_is_not_there_is_not_found(void **state)
{
	(void)state;
	const struct node_fields fields = full();
	struct node *node = make(&fields);
	struct view value = VIEW("before");

	assert_false(node_label(node, VIEW("gpu.coun"), &value));
	assert_false(node_label(node, VIEW(""), &value));
	assert_true(view_equal(value, VIEW("before")));
	free(node);
}

static void the_order_in_which_the_server_writes_makes_no_difference(void **state)
{
	(void)state;
	const struct node_fields fields = full();
	struct node_fields other = full();

	other.labels[0] = fields.labels[1];
	other.labels[1] = fields.labels[0];
	other.resources[0] = fields.resources[1];
	other.resources[1] = fields.resources[0];
	struct node *a = make(&fields), *b = make(&other);
	assert_true(node_equal(a, b));
	free(a);
	free(b);
}

static void change_name(struct node_fields *f) { f->name = VIEW("gpu-b"); }
static void change_uid(struct node_fields *f) { f->uid = VIEW("n2"); }
static void change_boot(struct node_fields *f) { f->boot_id = VIEW("b2"); }
static void change_kubelet(struct node_fields *f) { f->kubelet_version = VIEW("v1.37.0"); }
static void change_ready(struct node_fields *f) { f->ready = NODE_READY_FALSE; }
static void change_key(struct node_fields *f) { f->labels[0].key = VIEW("gpu.p"); }
static void change_value(struct node_fields *f) { f->labels[0].value = VIEW("H100"); }
static void change_first_value(struct node_fields *f) { f->labels[1].value = VIEW("4"); }
static void fewer_labels(struct node_fields *f) { f->n_labels = 1; }
static void no_labels(struct node_fields *f) { f->n_labels = 0; }
static void change_resource(struct node_fields *f) { f->resources[0].name = VIEW("nvidia.com/x"); }
static void change_capacity(struct node_fields *f) { f->resources[0].capacity = 9; }
static void change_allocatable(struct node_fields *f) { f->resources[0].allocatable = 9; }
static void change_first_resource(struct node_fields *f) { f->resources[1].capacity = 9; }
static void fewer_resources(struct node_fields *f) { f->n_resources = 1; }
static void no_resources(struct node_fields *f) { f->n_resources = 0; }

static void each_fact_makes_a_difference(void **state)
{
	(void)state;
	static void (*const changes[])(struct node_fields *) = {
		change_name, change_uid, change_boot, change_kubelet, change_ready, change_key,
		change_value, change_first_value, fewer_labels, no_labels, change_resource,
		change_capacity, change_allocatable, change_first_resource, fewer_resources,
		no_resources,
	};
	const struct node_fields fields = full();
	struct node *node = make(&fields);

	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		struct node_fields changed = full();

		changes[i](&changed);
		struct node *other = make(&changed);
		assert_false(node_equal(node, other));
		assert_false(node_equal(other, node));
		free(other);
	}
	free(node);
}

static void a_node_may_have_nothing_but_a_name_or_as_much_as_there_is_room_for(void **state)
{
	(void)state;
	static struct node_fields fields;
	static char keys[NODE_MAX_LABELS][8];
	struct view value;

	fields = (struct node_fields){.name = VIEW("gpu-a")};
	struct node *node = make(&fields);
	assert_int_equal(node->labels.count, 0);
	assert_int_equal(node->resources.count, 0);
	free(node);
	fields.n_labels = NODE_MAX_LABELS;
	fields.n_resources = NODE_MAX_RESOURCES;
	for (unsigned i = 0; i < NODE_MAX_LABELS; i++) {
		snprintf(keys[i], sizeof(keys[i]), "k%03u", (i * 37) % NODE_MAX_LABELS);
		fields.labels[i] = (struct node_label){view_from(keys[i]), view_from(keys[i])};
	}
	node = make(&fields);
	for (unsigned i = 0; i < NODE_MAX_LABELS; i++) {
		assert_true(node_label(node, view_from(keys[i]), &value));
		assert_true(view_equal(value, view_from(keys[i])));
	}
	free(node);
}

static void without_memory_there_is_no_node(void **state)
{
	(void)state;
	const struct node_fields fields = full();
	struct node *node = NULL;
	struct error err = {0};

	failing_malloc_at(1);
	assert_int_equal(node_new(&fields, &node, &err), -1);
	assert_true(failing_malloc_off());
	assert_int_equal(err.kind, ERROR_NO_MEMORY);
	assert_null(node);
	free(node);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_node_keeps_its_own_copy_of_everything),
	cmocka_unit_test(labels_and_resources_are_in_the_order_of_their_names),
	cmocka_unit_test(a_label_that_is_not_there_is_not_found),
	cmocka_unit_test(the_order_in_which_the_server_writes_makes_no_difference),
	cmocka_unit_test(each_fact_makes_a_difference),
	cmocka_unit_test(a_node_may_have_nothing_but_a_name_or_as_much_as_there_is_room_for),
	cmocka_unit_test(without_memory_there_is_no_node),
};

TEST_MAIN(tests)
