/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/record_events.h"
#include "lib/test_main.h"
#include "lib/touches.h"

#include "model/node.h"

static struct node_state_set node_states;
static struct record_set set;

static int set_up(void **state)
{
	(void)state;
	node_state_set_init(&node_states);
	node_set_init(&set, &node_states);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	record_set_deinit(&set);
	node_state_set_deinit(&node_states);
	return 0;
}

static void start_anew(void)
{
	tear_down(NULL);
	set_up(NULL);
}

static int put(const char *boot_id, uint64_t version, struct error *err)
{
	const struct node fields = {.name = VIEW("gpu-a"), .boot_id = view_from(boot_id)};

	return record_set_put_copy(&set, &fields, UPSERT(version), err);
}

static void assert_boot_id(const char *boot_id)
{
	const struct node_state *node_state = node_state_find(&node_states, VIEW("gpu-a"));

	assert_non_null(node_state);
	assert_true(view_equal(node_state->node->boot_id, view_from(boot_id)));
}

TEST(a_node_state_outlives_its_node_only_if_something_else_hangs_on_it)
{
	struct list object;
	struct error err;

	assert_int_equal(put("b1", 1, &err), 0);
	remove_record(&set, VIEW("gpu-a"), 5000);
	assert_null(node_state_find(&node_states, VIEW("gpu-a")));
	assert_int_equal(put("b1", 2, &err), 0);
	struct node_state *node_state = node_state_find(&node_states, VIEW("gpu-a"));
	list_init(&object);
	list_append(&node_state->attributions, &object);
	remove_record(&set, VIEW("gpu-a"), 6000);
	assert_ptr_equal(node_state_find(&node_states, VIEW("gpu-a")), node_state);
	assert_null(node_state->node);
	assert_int_equal(node_state->gone_at, 6000);
	list_remove(&object);
	node_state_release(&node_states, node_state);
}

static unsigned n_boots;

static void on_boot(void *owner, struct view node_name)
{
	(void)owner;
	(void)node_name;
	n_boots++;
}

TEST(a_node_that_comes_changes_or_goes_touches_its_node_state)
{
	struct list object;
	struct error err;
	struct node_state *node_state = node_state_ensure(&node_states, VIEW("gpu-a"), &err);
	struct node fields = {.name = VIEW("gpu-a"), .boot_id = VIEW("b1")};

	assert_non_null(node_state);
	list_init(&object);
	list_append(&node_state->attributions, &object);
	listen_to_touches(&node_states);
	node_states.boot = on_boot;
	put_record(&set, &fields, LISTED_FIRST(1));
	assert_string_equal(touched, "gpu-a? ");
	assert_int_equal(put("b1", 2, &err), 0);
	assert_string_equal(touched, "gpu-a? ");
	assert_int_equal(put("b2", 3, &err), 0);
	assert_string_equal(touched, "gpu-a? gpu-a ");
	assert_int_equal(n_boots, 2);
	fields = (struct node){.name = VIEW("gpu-a"), .boot_id = VIEW("b2"), .uid = VIEW("u")};
	put_record(&set, &fields, UPSERT(4));
	assert_string_equal(touched, "gpu-a? gpu-a gpu-a ");
	assert_int_equal(n_boots, 2);
	assert_int_equal(node_state->node_changes, 1);
	remove_record(&set, VIEW("gpu-a"), 0);
	assert_string_equal(touched, "gpu-a? gpu-a gpu-a gpu-a ");
	assert_int_equal(node_state->node_changes, 2);
	list_remove(&object);
	node_state_release(&node_states, node_state);
}

static const struct node *present(void)
{
	return node_state_find(&node_states, VIEW("gpu-a"))->node;
}

/* Each step changes one fact; the labels are the views from the first offset on. */
TEST(each_fact_of_a_node_makes_a_difference)
{
	struct node_deploy deploys[] = {{VIEW("dcgm"), VIEW("true")}, {VIEW("dcgm"), VIEW("false")}};
	struct node_mig_count counts[] = {{VIEW("1g.5gb"), VIEW("2")}, {VIEW("1g.5gb"), VIEW("3")}};
	struct node_resource resources[] = {{VIEW("nvidia.com/gpu"), 1}, {VIEW("nvidia.com/gpu"), 2}};
	const size_t first = offsetof(struct node, sharing_strategy),
		     n_labels = (offsetof(struct node, deploys) - first) / sizeof(struct view);
	const struct node *before = NULL;
	struct node node = {.name = VIEW("gpu-a")};
	uint64_t version = 0;

	for (size_t i = 0; i < n_labels + 9; i++) {
		if (i < n_labels)
			*(struct view *)(void *)((char *)&node + first + i * sizeof(struct view)) = VIEW("x");
		else if (i < n_labels + 2)
			node.deploys = array_of(&deploys[i - n_labels], 1);
		else if (i < n_labels + 4)
			node.mig_counts = array_of(&counts[i - n_labels - 2], 1);
		else if (i < n_labels + 6)
			node.allocatable = array_of(&resources[i - n_labels - 4], 1);
		else if (i == n_labels + 6)
			node.boot_id = VIEW("b1");
		else if (i == n_labels + 7)
			node.uid = VIEW("u");
		else
			node.is_found_by_nfd = true;
		for (int is_same = 0; is_same < 2; is_same++) {
			put_record(&set, &node, UPSERT(++version));
			assert_int_equal(present() == before, is_same); /* what says the same is not copied again */
			before = present();
		}
	}
	assert_true(view_equal(before->sharing_strategy, VIEW("x")));
	assert_true(view_equal(before->boot_id, VIEW("b1")));
	assert_true(view_equal(before->uid, VIEW("u")));
	assert_true(before->is_found_by_nfd);
}

TEST(without_memory_a_new_node_leaves_nothing_and_a_present_one_stays)
{
	struct error err;
	bool failed = true;

	for (unsigned k = 1; failed; k++) {
		start_anew();
		failing_malloc_at(k);
		int result = put("b1", 1, &err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
		assert_int_equal(set.store.table.count + node_states.by_name.count, failed ? 0 : 2);
	}
	failing_malloc_at(1);
	assert_int_equal(put("b2", 2, &err), -1);
	assert_true(failing_malloc_off());
	assert_boot_id("b1");
	assert_int_equal(put("b2", 2, &err), 0);
	assert_boot_id("b2");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_set_up(each_fact_of_a_node_makes_a_difference),
	cmocka_unit_test_set_up(a_node_that_comes_changes_or_goes_touches_its_node_state),
	cmocka_unit_test_set_up(a_node_state_outlives_its_node_only_if_something_else_hangs_on_it),
	cmocka_unit_test_set_up(without_memory_a_new_node_leaves_nothing_and_a_present_one_stays),
};

TEST_MAIN(tests)
