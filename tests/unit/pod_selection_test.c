/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/test_main.h"

#include "controller/pod_selection.h"

static struct pod_selection selection;
static uint64_t now;
static struct error err;

static int set_up(void **state)
{
	(void)state;
	now = 1000;
	pod_selection_init(&selection, POD_SELECTION_AUTO, 50, 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	pod_selection_deinit(&selection);
	return 0;
}

static void see(unsigned first, unsigned n)
{
	for (unsigned i = first; i < first + n; i++) {
		char name[16];

		snprintf(name, sizeof(name), "n%u", i);
		assert_int_equal(pod_selection_see(&selection, view_from(name), now, &err), 0);
	}
}

static void look_if(size_t n_nodes, bool may_share)
{
	pod_selection_look(&selection, &(struct pod_selection_facts){n_nodes, may_share, now});
}

static void look(size_t n_nodes)
{
	look_if(n_nodes, true);
}

/* The figures stay as they are for long enough to count. */
static void settle(unsigned n_gpu, size_t n_nodes)
{
	see(0, n_gpu);
	look(n_nodes);
	now += POD_SELECTION_SETTLE_MS;
	see(0, n_gpu);
	look(n_nodes);
}

static void expect(enum pod_selection_form form)
{
	assert_int_equal(selection.form, form);
}

TEST(nothing_is_decided_before_the_first_look)
{
	expect(POD_SELECTION_UNDECIDED);
}

TEST(the_first_look_decides_at_once)
{
	see(0, 10);
	look(100);
	expect(POD_SELECTION_NODE);
}

TEST(a_small_cluster_is_read_whole)
{
	see(0, 1);
	look(99);
	expect(POD_SELECTION_CLUSTER);
}

TEST(at_first_the_threshold_itself_counts)
{
	see(0, 50);
	look(100);
	expect(POD_SELECTION_NODE);
	pod_selection_deinit(&selection);
	pod_selection_init(&selection, POD_SELECTION_AUTO, 50, 0);
	see(0, 51);
	look(100);
	expect(POD_SELECTION_CLUSTER);
}

TEST(the_form_changes_only_well_beyond_the_threshold)
{
	settle(50, 100);
	settle(55, 100);
	expect(POD_SELECTION_NODE);
	settle(56, 100);
	expect(POD_SELECTION_CLUSTER);
	now += POD_SELECTION_KEEP_MS + 1; /* the others are forgotten */
	settle(46, 100);
	expect(POD_SELECTION_CLUSTER);
	now += POD_SELECTION_KEEP_MS + 1;
	settle(45, 100);
	expect(POD_SELECTION_NODE);
}

TEST(the_form_changes_when_the_figures_ask_for_it_for_long_enough)
{
	see(0, 10);
	look(100);
	see(0, 90);
	look(100);
	now += POD_SELECTION_SETTLE_MS - 1;
	look(100);
	expect(POD_SELECTION_NODE);
	now++;
	look(100);
	expect(POD_SELECTION_CLUSTER);
}

TEST(figures_that_come_and_go_do_not_add_up)
{
	see(0, 60);
	look(200);
	for (unsigned i = 0; i < 20; i++) {
		now += POD_SELECTION_SETTLE_MS / 2;
		see(0, 60);
		look(i % 2 ? 200 : 100);
		expect(POD_SELECTION_NODE);
	}
}

TEST(a_cluster_that_shrinks_a_little_keeps_its_form)
{
	settle(10, 100);
	settle(10, 80);
	expect(POD_SELECTION_NODE);
	settle(10, 79);
	expect(POD_SELECTION_CLUSTER);
	settle(10, 99);
	expect(POD_SELECTION_CLUSTER);
	settle(10, 100);
	expect(POD_SELECTION_NODE);
}

TEST(where_connections_cannot_be_shared_the_cluster_is_read_at_once)
{
	see(0, 10);
	look(100);
	look_if(100, false);
	expect(POD_SELECTION_CLUSTER);
}

TEST(what_the_operator_wants_is_done)
{
	pod_selection_init(&selection, POD_SELECTION_ALWAYS_CLUSTER, 50, 0);
	settle(1, 1000);
	expect(POD_SELECTION_CLUSTER);
	pod_selection_deinit(&selection);
	pod_selection_init(&selection, POD_SELECTION_ALWAYS_NODE, 50, 0);
	settle(3, 3);
	expect(POD_SELECTION_NODE);
	look_if(3, false);
	expect(POD_SELECTION_CLUSTER);
}

TEST(a_node_that_loses_its_signs_is_wanted_for_a_while)
{
	see(0, 2);
	look(100);
	now += POD_SELECTION_KEEP_MS;
	see(1, 1);
	look(100);
	assert_true(pod_selection_wants(&selection, VIEW("n0")));
	now++;
	look(100);
	assert_false(pod_selection_wants(&selection, VIEW("n0")));
	assert_true(pod_selection_wants(&selection, VIEW("n1")));
	assert_int_equal(pod_selection_count(&selection), 1);
	assert_true(view_equal(pod_selection_next(&selection, NULL)->name, VIEW("n1")));
	assert_null(pod_selection_next(&selection, pod_selection_next(&selection, NULL)));
}

TEST(a_sign_that_comes_and_goes_each_second_changes_nothing)
{
	see(0, 1);
	look(100);
	for (unsigned i = 0; i < 1000; i++) {
		now += 1000;
		if (i % 2)
			see(0, 1);
		look(100);
		assert_true(pod_selection_wants(&selection, VIEW("n0")));
	}
}

TEST(with_too_many_nodes_the_cluster_is_read)
{
	see(0, POD_SELECTION_MAX);
	look(100000);
	expect(POD_SELECTION_NODE);
	see(0, POD_SELECTION_MAX + 3);
	look(100000);
	expect(POD_SELECTION_CLUSTER);
	assert_int_equal(selection.n_over, 3);
	assert_int_equal(pod_selection_count(&selection), POD_SELECTION_MAX);
}

TEST(fewer_nodes_may_be_too_many_where_connections_are_few)
{
	pod_selection_init(&selection, POD_SELECTION_AUTO, 50, 100);
	see(0, 100);
	look(1000);
	expect(POD_SELECTION_NODE);
	see(0, 101);
	look(1000);
	expect(POD_SELECTION_CLUSTER);
	assert_int_equal(pod_selection_count(&selection), 100);
}

TEST(without_memory_a_node_is_not_wanted)
{
	failing_malloc_at(1);
	assert_int_equal(pod_selection_see(&selection, VIEW("a"), now, &err), -1);
	assert_int_equal(err.kind, ERROR_NO_MEMORY);
	(void)failing_malloc_off();
	assert_false(pod_selection_wants(&selection, VIEW("a")));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_set_up(nothing_is_decided_before_the_first_look),
	cmocka_unit_test_set_up(the_first_look_decides_at_once),
	cmocka_unit_test_set_up(a_small_cluster_is_read_whole),
	cmocka_unit_test_set_up(at_first_the_threshold_itself_counts),
	cmocka_unit_test_set_up(the_form_changes_only_well_beyond_the_threshold),
	cmocka_unit_test_set_up(the_form_changes_when_the_figures_ask_for_it_for_long_enough),
	cmocka_unit_test_set_up(figures_that_come_and_go_do_not_add_up),
	cmocka_unit_test_set_up(a_cluster_that_shrinks_a_little_keeps_its_form),
	cmocka_unit_test_set_up(where_connections_cannot_be_shared_the_cluster_is_read_at_once),
	cmocka_unit_test_set_up(what_the_operator_wants_is_done),
	cmocka_unit_test_set_up(a_node_that_loses_its_signs_is_wanted_for_a_while),
	cmocka_unit_test_set_up(a_sign_that_comes_and_goes_each_second_changes_nothing),
	cmocka_unit_test_set_up(with_too_many_nodes_the_cluster_is_read),
	cmocka_unit_test_set_up(fewer_nodes_may_be_too_many_where_connections_are_few),
	cmocka_unit_test_set_up(without_memory_a_node_is_not_wanted),
};
TEST_MAIN(tests)
