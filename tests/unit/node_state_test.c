/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/touches.h"

#include <stdlib.h>

#include "join/join.h"
#include "model/node.h"
#include "model/node_state.h"

#define MAX_ENDED 1024u /* as in model/node_state.c */

static struct node_state_set set;
static unsigned n_released;

static int set_up(void **state)
{
	(void)state;
	memset(&set, 0x55, sizeof(set));
	node_state_set_init(&set);
	listen_to_touches(&set);
	n_released = 0;
	return 0;
}

static int tear_down(void **state)
{
	struct table_node *node;

	(void)state;
	while ((node = table_next(&set.by_name, NULL))) {
		struct node_state *node_state = CONTAINER_OF(node, struct node_state, link);

		node_state_release_report(node_state);
		node_state_release(&set, node_state);
	}
	node_state_set_deinit(&set);
	return 0;
}

static struct node_state *ensure(const char *name)
{
	struct error err;
	struct node_state *node_state = node_state_ensure(&set, view_from(name), &err);

	assert_non_null(node_state);
	return node_state;
}

static void release_report(void *owner)
{
	assert_ptr_equal(owner, &set);
	n_released++;
}

static void set_report(struct node_state *node_state, const struct report *report)
{
	node_state->report = report;
	node_state->release = release_report;
	node_state->release_owner = &set;
}

TEST(a_node_state_is_made_once_and_found_by_its_name)
{
	char name[] = "gpu-a";

	assert_null(node_state_find(&set, VIEW("gpu-a")));
	struct node_state *node_state = ensure(name);
	name[4] = 'x';
	assert_ptr_equal(node_state_find(&set, VIEW("gpu-a")), node_state);
	assert_ptr_equal(ensure("gpu-a"), node_state);
	assert_null(node_state_find(&set, VIEW("gpu-b")));
	node_state_release(&set, node_state);
	assert_null(node_state_find(&set, VIEW("gpu-a")));
}

TEST(a_node_state_stays_while_anything_hangs_on_it)
{
	static const struct report report;
	static const struct node node;
	struct list pod, object, slice;
	struct node_state *node_state = ensure("gpu-a");

	list_init(&pod);
	list_init(&object);
	set_report(node_state, &report);
	node_state->node = &node;
	list_append(&node_state->pods, &pod);
	list_append(&node_state->attributions, &object);
	list_init(&slice);
	list_append(&node_state->slices, &slice);
	node_state_release(&set, node_state);
	assert_non_null(node_state_find(&set, VIEW("gpu-a")));
	node_state_release_report(node_state);
	node_state_release(&set, node_state);
	node_state->node = NULL;
	node_state_release(&set, node_state);
	list_remove(&pod);
	node_state_release(&set, node_state);
	assert_non_null(node_state_find(&set, VIEW("gpu-a")));
	list_remove(&object);
	node_state_release(&set, node_state);
	assert_non_null(node_state_find(&set, VIEW("gpu-a")));
	list_remove(&slice);
	node_state_release(&set, node_state);
	assert_null(node_state_find(&set, VIEW("gpu-a")));
	node_state_release(&set, NULL);
}

TEST(only_a_node_state_that_a_join_could_change_is_touched)
{
	static const struct report report;
	struct list object;
	struct node_state *a = ensure("gpu-a");

	node_state_touch(&set, a, false);
	node_state_touch(&set, NULL, false);
	assert_touched("");
	set_report(a, &report);
	node_state_touch(&set, a, false);
	assert_touched("gpu-a ");
	node_state_release_report(a);
	list_init(&object);
	list_append(&a->attributions, &object);
	node_state_touch(&set, a, true);
	assert_touched("gpu-a? ");
	a->n_told = 1;
	list_remove(&object);
	node_state_touch(&set, a, false);
	assert_touched("gpu-a ");
	a->n_told = 0;
	list_append(&a->attributions, &object);
	ensure("gpu-b");
	node_state_touch_all(&set, false, false);
	assert_touched("gpu-a ");
	list_remove(&object);
	node_state_touch(&set, a, false);
	assert_touched("");
	list_append(&a->slices, &object);
	node_state_touch(&set, a, false);
	assert_touched("gpu-a ");
	set.touch = NULL;
	node_state_touch(&set, a, false);
	list_remove(&object);
}

TEST(those_that_lack_claims_are_told_of_one)
{
	static const struct report report;
	struct node_state *a = ensure("gpu-a"), *b = ensure("gpu-b");

	set_report(a, &report);
	set_report(b, &report);
	node_state_touch_all(&set, true, false);
	assert_touched("");
	node_state_note_claims(&set, b, true);
	node_state_note_claims(&set, b, true);
	node_state_touch_all(&set, true, true);
	assert_touched("gpu-b? ");
	node_state_note_claims(&set, a, true);
	node_state_note_claims(&set, b, false);
	node_state_touch_all(&set, true, false);
	assert_touched("gpu-a ");
	node_state_note_claims(&set, b, true);
	assert_int_equal(set.n_lacking, 2);
	node_state_release_report(a);
	node_state_release(&set, a);
	assert_int_equal(set.n_lacking, 1);
	node_state_release_report(b);
	node_state_release(&set, b);
	assert_int_equal(set.n_lacking, 0);
}

TEST(a_report_is_given_back_once)
{
	static const struct report report;
	struct node_state *node_state = ensure("gpu-a");

	node_state_release_report(node_state);
	assert_int_equal(n_released, 0);
	set_report(node_state, &report);
	node_state_release_report(node_state);
	assert_null(node_state->report);
	node_state_release_report(node_state);
	assert_int_equal(n_released, 1);
}

static struct report_checkpoint_entry entries[] = {
	{.pod_uid = VIEW_INIT("u1")},
	{.pod_uid = VIEW_INIT("u2")},
};
static struct report_pod_resource holders[] = {
	{.namespace = VIEW_INIT("ml"), .name = VIEW_INIT("a")},
	{.namespace = VIEW_INIT("web"), .name = VIEW_INIT("b")},
};
static struct report_device devices[] = {
	{.uuid = VIEW_INIT("GPU-AB")},
	{.uuid = VIEW_INIT("GPU-CD")},
};

static const struct report full = {
	.checkpoint = {.present = true, .entries = {entries, 2, true}},
	.pod_resources = {holders, 2, true},
	.devices = {devices, 2, true},
};

TEST(it_is_known_what_the_report_names)
{
	struct node_state *node_state = ensure("gpu-a");

	assert_false(node_state_reports_uid(node_state, VIEW("u1")));
	assert_false(node_state_reports_name(node_state, VIEW("ml"), VIEW("a")));
	set_report(node_state, &full);
	assert_true(node_state_reports_uid(node_state, VIEW("u2")));
	assert_false(node_state_reports_uid(node_state, VIEW("u3")));
	assert_true(node_state_reports_name(node_state, VIEW("ml"), VIEW("a")));
	assert_true(node_state_reports_name(node_state, VIEW("web"), VIEW("b")));
	assert_false(node_state_reports_name(node_state, VIEW("ml"), VIEW("b")));
	assert_false(node_state_reports_name(node_state, VIEW("web"), VIEW("a")));
}

static void remember(struct node_state *node_state, const char *uid, uint64_t now)
{
	struct error err;

	assert_int_equal(node_state_remember_ended(node_state, view_from(uid), 0, now, &err), 0);
}

/* The UIDs that are remembered, in their order. */
static void assert_ended(const struct node_state *node_state, const char *uids)
{
	char text[64] = "";

	for (struct list *l = node_state->ended.next; l != &node_state->ended; l = l->next) {
		size_t len = strlen(text);

		snprintf(text + len, sizeof(text) - len, "%.*s ",
			 VIEW_ARG(CONTAINER_OF(l, struct node_state_ended, link)->uid));
	}
	assert_string_equal(text, uids);
}

TEST(an_ended_uid_that_is_named_again_is_the_youngest)
{
	struct node_state *node_state = ensure("gpu-a");

	remember(node_state, "u1", 1000);
	remember(node_state, "u2", 1001);
	remember(node_state, "u3", 1002);
	remember(node_state, "u1", 2000);
	assert_ended(node_state, "u2 u3 u1 ");
	assert_int_equal(node_state->n_ended, 3);
	node_state_forget_ended(node_state, 121001);
	assert_ended(node_state, "u2 u3 u1 ");
	node_state_forget_ended(node_state, 121002);
	assert_ended(node_state, "u3 u1 ");
	node_state_forget_ended(node_state, 122000);
	assert_ended(node_state, "u1 ");
	node_state_forget_ended(node_state, 122001);
	assert_ended(node_state, "");
	assert_int_equal(node_state->n_ended, 0);
}

TEST(a_pod_ended_when_that_is_said_and_else_when_it_was_first_named)
{
	/* What each naming says of it (0: that it is still named), and what is known then. */
	static const struct {
		uint64_t said, now, since;
	} rows[] = {
		{0, 1000, 1000}, {0, 2000, 1000}, {1, 3000, 1}, {0, 4000, 1}, {500, 5000, 500},
	};
	struct node_state *node_state = ensure("gpu-a");
	struct error err;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(node_state_remember_ended(node_state, VIEW("u1"), rows[i].said,
							   rows[i].now, &err),
				 0);
		const struct node_state_ended *ended = CONTAINER_OF(node_state->ended.next,
								    struct node_state_ended, link);
		assert_true(ended->since == rows[i].since);
		assert_true(ended->at == rows[i].now);
	}
	assert_int_equal(node_state->n_ended, 1);
	node_state_forget_ended(node_state, 200000);
}

TEST(of_too_many_ended_the_oldest_is_forgotten)
{
	struct node_state *node_state = ensure("gpu-a");
	char uid[16];

	for (unsigned i = 0; i < MAX_ENDED + 3; i++) {
		snprintf(uid, sizeof(uid), "u%u", i);
		remember(node_state, uid, 1000);
	}
	assert_int_equal(node_state->n_ended, MAX_ENDED);
	assert_true(
		view_equal(CONTAINER_OF(node_state->ended.next, struct node_state_ended, link)->uid,
			   VIEW("u3")));
}

TEST(without_memory_no_node_state_is_made_and_nothing_is_remembered)
{
	struct error err = {0};
	bool failed = true;

	for (unsigned k = 1; failed; k++) {
		node_state_set_deinit(&set);
		set_up(NULL);
		failing_malloc_at(k);
		struct node_state *node_state = node_state_ensure(&set, VIEW("gpu-a"), &err);
		failed = failing_malloc_off();
		assert_int_equal(node_state == NULL, failed);
		assert_int_equal(set.by_name.count, failed ? 0 : 1);
		assert_true(!failed || err.kind == ERROR_NO_MEMORY);
		node_state_release(&set, node_state);
	}
	struct node_state *node_state = ensure("gpu-a");
	for (unsigned k = 1; k <= 2; k++) {
		failing_malloc_at(k);
		assert_int_equal(node_state_remember_ended(node_state, VIEW("u1"), 0, 1, &err), -1);
		assert_true(failing_malloc_off());
		assert_ended(node_state, "");
		assert_false(node_state_has_ended(node_state, VIEW("u1")));
	}
}

TEST(the_doubts_of_a_join_take_the_place_of_those_before)
{
	static const struct debounce_seen debounced[] = {{.key = 7, .age_ms = 5}, {.key = 8}};
	struct error err = {0};
	struct node_state *node_state = ensure("gpu-a");

	assert_int_equal(node_state_replace_debounced(node_state, debounced, 2, 100, &err), 0);
	assert_int_equal(node_state->n_debounced, 2);
	assert_int_equal(node_state->debounced[0].key, 7);
	assert_int_equal(node_state->debounced[0].age_ms, 5);
	assert_int_equal(node_state->debounced[1].key, 8);
	assert_int_equal(node_state->debounced[1].age_ms, 0);
	assert_int_equal(node_state->debounced_at, 100);
	failing_malloc_at(1);
	assert_int_equal(node_state_replace_debounced(node_state, debounced, 1, 100, &err), -1);
	assert_true(failing_malloc_off());
	assert_int_equal(err.kind, ERROR_NO_MEMORY);
	assert_int_equal(node_state->n_debounced, 2);
	/* To have none takes no memory. */
	failing_malloc_at(1);
	assert_int_equal(node_state_replace_debounced(node_state, NULL, 0, 100, &err), 0);
	assert_false(failing_malloc_off());
	assert_int_equal(node_state->n_debounced, 0);
	assert_int_equal(node_state_replace_debounced(node_state, &debounced[1], 1, 200, &err), 0);
	assert_int_equal(node_state->debounced[0].key, 8);
}

TEST(what_was_refused_before_is_not_refused_anew)
{
	static const struct {
		struct node_state_refusals said, new;
	} rows[] = {
		{{2, 3, 1, 7, 0}, {2, 3, 1, 7, 0}},
		{{2, 3, 1, 7, 4}, {0, 0, 0, 0, 4}},
		{{1, 4, 2, 8, 6}, {0, 1, 1, 1, 2}},
		{{5, 4, 0, 0, 0}, {3, 0, 0, 0, 0}},
		{{0, 0, 6, 10, 6}, {0, 0, 4, 2, 0}},
	};
	struct node_state *node_state = ensure("gpu-a");

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct node_state_refusals new = node_state_note_refusals(node_state, rows[i].said);

		assert_int_equal(new.entries, rows[i].new.entries);
		assert_int_equal(new.ids, rows[i].new.ids);
		assert_int_equal(new.devices, rows[i].new.devices);
		assert_int_equal(new.objects, rows[i].new.objects);
		assert_int_equal(new.debounced, rows[i].new.debounced);
	}
}

static void do_nothing(void *owner)
{
	assert_ptr_equal(owner, &set);
}

/* What the driver counted at that time, as an instance of the agent that was started then reports it. */
struct told {
	struct report report;
	struct report_device device;
};

static void take_counts(struct node_state *node_state, struct told *told, const char *boot_id,
			int64_t instance, int64_t uptime_ms, int64_t uncorrected)
{
	*told = (struct told){
		.report = {.boot_id = view_from(boot_id),
			   .instance = instance,
			   .uptime_ms = uptime_ms,
			   .sources.nvml.state = REPORT_SOURCE_OK,
			   .devices = {&told->device, 1, true}},
		.device = {.uuid = VIEW("GPU-1"),
			   .condition = {.present = true,
					 .nvlinks = {uncorrected > 0, 18, 12},
					 .recovery = uncorrected ? REPORT_RECOVERY_RESET
								 : REPORT_RECOVERY_NONE,
					 .ecc_volatile.uncorrected = uncorrected}},
	};
	node_state_take_report(node_state, &told->report, do_nothing, &set, 1000);
}

TEST(a_reset_between_two_instances_of_an_agent_is_seen)
{
	struct told told[4];
	struct node_state *node_state = ensure("gpu-a"), *other = ensure("gpu-b");

	take_counts(node_state, &told[0], "b1", 10, 20000, 1);
	take_counts(node_state, &told[1], "b1", 10, 80000, 1);
	take_counts(node_state, &told[2], "b1", 90000, 91000, 0);
	assert_int_equal(boot_history_find(&node_state->history, VIEW("GPU-1")).reset_uptime_ms, 0);
	take_counts(node_state, &told[3], "b1", 90000, 106000, 0);
	assert_int_equal(boot_history_find(&node_state->history, VIEW("GPU-1")).reset_uptime_ms,
			 80000);
	assert_int_equal(boot_history_find(&node_state->history, VIEW("GPU-2")).reset_uptime_ms, 0);
	assert_int_equal(boot_history_find(&other->history, VIEW("GPU-1")).reset_uptime_ms, 0);
}

/* Readings of these boots, of which the first two have an error: only within one is a reset told. */
TEST(resets_and_links_are_those_of_the_boot)
{
	static const struct {
		const char *boots[5];
		int64_t resets[5]; /* what is known after each reading */
	} rows[] = {
		{{"b1", "b1", "b1", "b1", "b2"}, {0, 0, 0, 40000, 0}},
		{{"b1", "b1", "b2", "b2", "b2"}, {0}}, {{"b1", "b2", "b2", "b2", "b2"}, {0}},
		{{"b1", "b1", "b2", "b1", "b1"}, {0}}, {{"b1", "b1", "", "", ""}, {0}}, {{"", "", "", "", ""}, {0}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct told told[5];
		struct node_state *node_state = ensure("gpu-a");

		for (int k = 0; k < 5; k++) {
			take_counts(node_state, &told[k], rows[i].boots[k], 10, 20000 * (k + 1),
				    k < 2);
			const struct boot_history_told known = boot_history_find(
				&node_state->history, VIEW("GPU-1"));
			assert_int_equal(known.reset_uptime_ms, rows[i].resets[k]);
			if (i == 0)
				assert_int_equal(known.most_nvlinks, k < 4 ? 12 : 0);
		}
		node_state_release_report(node_state);
		node_state_release(&set, node_state);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_set_up(resets_and_links_are_those_of_the_boot),
	cmocka_unit_test_set_up(a_reset_between_two_instances_of_an_agent_is_seen),
	cmocka_unit_test_set_up(the_doubts_of_a_join_take_the_place_of_those_before),
	cmocka_unit_test_set_up(what_was_refused_before_is_not_refused_anew),
	cmocka_unit_test_set_up(those_that_lack_claims_are_told_of_one),
	cmocka_unit_test_set_up(a_node_state_is_made_once_and_found_by_its_name),
	cmocka_unit_test_set_up(a_node_state_stays_while_anything_hangs_on_it),
	cmocka_unit_test_set_up(only_a_node_state_that_a_join_could_change_is_touched),
	cmocka_unit_test_set_up(a_report_is_given_back_once),
	cmocka_unit_test_set_up(it_is_known_what_the_report_names),
	cmocka_unit_test_set_up(an_ended_uid_that_is_named_again_is_the_youngest),
	cmocka_unit_test_set_up(a_pod_ended_when_that_is_said_and_else_when_it_was_first_named),
	cmocka_unit_test_set_up(of_too_many_ended_the_oldest_is_forgotten),
	cmocka_unit_test_set_up(without_memory_no_node_state_is_made_and_nothing_is_remembered),
};

TEST_MAIN(tests)
