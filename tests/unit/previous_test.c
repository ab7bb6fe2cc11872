/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/world_fixture.h"
#include "join/previous.h"

static struct view uids[] = {VIEW_INIT("b"), VIEW_INIT("a"), VIEW_INIT("b")};

TEST(a_tenant_is_found_by_pod_and_container_in_whatever_order_they_are)
{
	struct attribution_tenant tenants[] = {
		{.pod_uid = uids[0], .container = VIEW("y")},
		{.pod_uid = uids[1], .container = VIEW("z")},
		{.pod_uid = uids[2], .container = VIEW("x"), .phase = ATTRIBUTION_PHASE_PENDING},
	};
	const struct attribution_status status = {.tenants = {tenants, ARRAY_SIZE(tenants), true}};
	const struct previous *previous;
	struct error err;
	assert_int_equal(previous_read(&status, &world.arena, &previous, &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(tenants); i++) {
		const struct previous_tenant *found =
			previous_find(previous, tenants[i].pod_uid, tenants[i].container);
		assert_non_null(found);
		assert_ptr_equal(found->published, &tenants[i]);
		assert_int_equal(found->is_unknown, i == 2);
	}
	assert_null(previous_find(previous, VIEW("a"), VIEW("x")));
	assert_null(previous_find(NULL, VIEW("a"), VIEW("z")));
}

TEST(who_asks_in_any_order_finds_the_same)
{
	struct attribution_tenant tenants[] = {
		{.pod_uid = VIEW("a"), .container = VIEW("x")},
		{.pod_uid = VIEW("a"), .container = VIEW("y")},
		{.pod_uid = VIEW("b"), .container = VIEW("x")},
	};
	static const struct {
		const char *uid, *container;
		int expected;
		uint32_t next;
	} asked[] = {
		{"a", "x", 0, 1}, {"b", "x", 2, 3}, {"b", "y", -1, 3}, {"a", "y", 1, 2}, {"b", "x", 2, 3},
		{"a", "x", 0, 1}, {"a", "z", -1, 1}, {"a", "y", 1, 2},
	};
	const struct attribution_status status = {.tenants = {tenants, ARRAY_SIZE(tenants), true}};
	const struct previous *previous;
	struct error err;
	uint32_t next = 0;
	assert_int_equal(previous_read(&status, &world.arena, &previous, &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
		const struct previous_tenant *found =
			previous_find_from(previous, &next, view_from(asked[i].uid), view_from(asked[i].container));
		assert_ptr_equal(found ? found->published : NULL,
				 asked[i].expected < 0 ? NULL : &tenants[asked[i].expected]);
		assert_int_equal(next, asked[i].next);
	}
	assert_null(previous_find_from(NULL, &next, VIEW("a"), VIEW("x")));
}

TEST(names_tell_who_was_a_tenant_but_not_by_an_id_of_hamis)
{
	struct attribution_past_tenant past[] = {
		{.pod_uid = VIEW("u0"), .pod_namespace = VIEW("ml"), .pod_name = VIEW("p"), .container = VIEW("c")},
	};
	struct attribution_tenant tenants[] = {
		{.pod_uid = VIEW("u1"), .pod_namespace = VIEW("ml"), .pod_name = VIEW("p"), .container = VIEW("c")},
		{.pod_uid = VIEW("u2"), .pod_namespace = VIEW("ml"), .pod_name = VIEW("q"), .container = VIEW("c"),
		 .placeholder = VIEW("HAMi")},
	};
	const struct attribution_status status = {.tenants = {tenants, ARRAY_SIZE(tenants), true},
						  .recent_tenants = {past, ARRAY_SIZE(past), true}};
	const struct previous *previous;
	struct keyed names = {.arena = &world.arena};
	struct error err;
	unsigned n = 0;
	assert_int_equal(previous_read(&status, &world.arena, &previous, &err), 0);
	previous_index_names(previous, &names);
	KEYED_EACH(item, &names, KEYED_KEY(VIEW("p"), VIEW("c"), VIEW("ml")))
		n += view_equal(*(const struct view *)item->value, VIEW("u0")) ||
		     view_equal(*(const struct view *)item->value, VIEW("u1"));
	assert_int_equal(n, 2);
	assert_null(keyed_find(&names, KEYED_KEY(VIEW("q"), VIEW("c"), VIEW("ml"))));
	assert_null(keyed_find(&names, KEYED_KEY(VIEW("p"), VIEW("c"), VIEW("default"))));
}

TEST(without_tenants_nobody_is_found)
{
	const struct attribution_status status = {.node_name = VIEW("gpu-a")};
	const struct previous *previous;
	struct error err;
	assert_int_equal(previous_read(&status, &world.arena, &previous, &err), 0);
	assert_null(previous_find(previous, VIEW(""), VIEW("")));
}

TESTS(set_up, tear_down)
