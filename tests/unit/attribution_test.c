/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "model/attribution.h"

static struct condition conditions[] = {
	{.type = VIEW_INIT("Attributed")}, {.type = VIEW_INIT("Ready")},
	{.type = VIEW_INIT("ReportFresh")},
};

static struct attribution_tenant tenants[] = {
	{.pod_uid = VIEW_INIT("u1"), .container = VIEW_INIT("main")},
	{.pod_uid = VIEW_INIT("u1"), .container = VIEW_INIT("side")},
	{.pod_uid = VIEW_INIT("u2"), .container = VIEW_INIT("main")},
};

static const struct attribution_status status = {
	.conditions = {conditions, ARRAY_SIZE(conditions), true},
	.tenants = {tenants, ARRAY_SIZE(tenants), true},
};

static const struct attribution_status empty = {0};

static void a_condition_is_found_by_its_whole_type(void **state)
{
	(void)state;
	static const struct {
		const char *type;
		const struct condition *condition;
	} rows[] = {
		{"Attributed", &conditions[0]}, {"Ready", &conditions[1]},
		{"ReportFresh", &conditions[2]}, {"Read", NULL}, {"ready", NULL}, {"", NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_ptr_equal(attribution_find_condition(&status, view_from(rows[i].type)),
				 rows[i].condition);
		assert_null(attribution_find_condition(&empty, view_from(rows[i].type)));
	}
}

static void a_tenant_is_found_by_pod_and_container(void **state)
{
	(void)state;
	static const struct {
		const char *uid;
		const char *container;
		const struct attribution_tenant *tenant;
	} rows[] = {
		{"u1", "main", &tenants[0]}, {"u1", "side", &tenants[1]},
		{"u2", "main", &tenants[2]}, {"u2", "side", NULL}, {"u3", "main", NULL},
		{"u1", "", NULL}, {"", "main", NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct view uid = view_from(rows[i].uid), container = view_from(rows[i].container);

		assert_ptr_equal(attribution_find_tenant(&status, uid, container), rows[i].tenant);
		assert_null(attribution_find_tenant(&empty, uid, container));
	}
}

static void an_unplaced_tenant_is_found_by_pod_and_container(void **state)
{
	(void)state;
	static struct attribution_unplaced unplaced[] = {
		{.pod_uid = VIEW_INIT("u1"), .container = VIEW_INIT("main")},
		{.pod_uid = VIEW_INIT("u2"), .container = VIEW_INIT("side")},
	};
	static const struct attribution_status with = {
		.unplaced_tenants = {unplaced, ARRAY_SIZE(unplaced), true}};
	static const struct {
		const char *uid, *container;
		bool is_there;
	} rows[] = {
		{"u1", "main", true}, {"u2", "side", true}, {"u1", "side", false},
		{"u2", "main", false}, {"", "", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct view uid = view_from(rows[i].uid), container = view_from(rows[i].container);

		assert_int_equal(attribution_is_unplaced(&with, uid, container), rows[i].is_there);
		assert_false(attribution_is_unplaced(&empty, uid, container));
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_condition_is_found_by_its_whole_type),
	cmocka_unit_test(a_tenant_is_found_by_pod_and_container),
	cmocka_unit_test(an_unplaced_tenant_is_found_by_pod_and_container),
};

TEST_MAIN(tests)
