/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "base/sbuf.h"
#include "kubectl/tenant_cell.h"

static const struct view first = VIEW_INIT("MIG-1");
static const struct attribution_partition one = {.uuid = VIEW_INIT("MIG-1")},
					   two = {.uuid = VIEW_INIT("MIG-2")};
static const struct attribution_tenant tenants[] = {
	{.pod_uid = VIEW_INIT("1"), .pod_namespace = VIEW_INIT("a"), .pod_name = VIEW_INIT("p"),
	 .workload = {.present = true, .kind = VIEW_INIT("Job"), .name = VIEW_INIT("j")},
	 .partitions = {(void *)(uintptr_t)&first, 1, true}},
	{.pod_uid = VIEW_INIT("1"), .pod_namespace = VIEW_INIT("a"), .pod_name = VIEW_INIT("p"),
	 .container = VIEW_INIT("sidecar"), .partitions = {(void *)(uintptr_t)&first, 1, true}},
	{.pod_uid = VIEW_INIT("2"), .pod_namespace = VIEW_INIT("a"), .pod_name = VIEW_INIT("validator"),
	 .role = ATTRIBUTION_ROLE_VALIDATION},
	{.pod_uid = VIEW_INIT("0123456789")}, /* known by its UID only, and on no partition that is known */
};

static void assert_cell(const struct tenant_cell *what, const char *expected)
{
	CLEANUP(sbuf_deinit) struct sbuf cell;
	sbuf_init(&cell, 1000);
	tenant_cell_write(what, &cell);
	assert_string_equal(sbuf_text(&cell), expected);
}

static void holders_of_a_device_are_named_each_once_as_far_as_there_is_room(void **state)
{
	(void)state;
	struct attribution_status status = {.tenants = array_of(tenants, 4), .tenant_count = 2};
	struct tenant_cell what = {.status = &status, .room = 5};
	assert_cell(&what, "a/p,uid/01234567");
	what.room = 1;
	assert_cell(&what, "a/p +1");
	status.tenants_left_out = 7;
	assert_cell(&what, "a/p +8");
	status.tenant_count = -1;
	assert_cell(&what, "a/p +?");
	status.tenants.count = 0;
	assert_cell(&what, "?");
	status.tenant_count = 0;
	assert_cell(&what, "<none>");
}

static void holders_of_a_partition_are_those_that_are_listed_with_it(void **state)
{
	(void)state;
	struct attribution_status status = {.tenants = array_of(tenants, 3), .tenant_count = 1};
	assert_cell(&(struct tenant_cell){.status = &status, .partition = &one, .room = 5}, "a/p");
	assert_cell(&(struct tenant_cell){.status = &status, .partition = &two, .room = 5}, "<none>");
	assert_false(tenant_cell_may_be_held(&status, &two));
	status.tenants.count = 4; /* the last may hold any */
	assert_cell(&(struct tenant_cell){.status = &status, .partition = &one, .room = 5}, "a/p +?");
	assert_cell(&(struct tenant_cell){.status = &status, .partition = &two, .room = 5}, "?");
	assert_true(tenant_cell_may_be_held(&status, &two));
}

static void assert_workloads(const struct tenant_cell *what, const char *expected)
{
	CLEANUP(sbuf_deinit) struct sbuf cell;
	sbuf_init(&cell, 1000);
	tenant_cell_write_workloads(what, &cell);
	assert_string_equal(sbuf_text(&cell), expected);
}

static void workloads_are_named_each_once(void **state)
{
	(void)state;
	struct attribution_tenant owned[4];
	struct attribution_status status = {.tenants = array_of(owned, 4), .tenant_count = 4};
	struct tenant_cell what = {.status = &status, .room = 5};
	for (size_t i = 0; i < ARRAY_SIZE(owned); i++)
		owned[i] = tenants[0];
	assert_workloads(&what, "Job/j");
	owned[2].workload.name = VIEW("k");
	assert_workloads(&what, "Job/j,Job/k");
	owned[3].pod_namespace = VIEW("b"); /* the same name, and another one */
	assert_workloads(&what, "Job/j,Job/k,Job/j");
	what.room = 1;
	assert_workloads(&what, "Job/j +2");
	owned[3].workload.present = false;
	assert_workloads(&what, "Job/j +1");
	what.partition = &two;
	assert_workloads(&what, "");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(holders_of_a_device_are_named_each_once_as_far_as_there_is_room),
	cmocka_unit_test(holders_of_a_partition_are_those_that_are_listed_with_it),
	cmocka_unit_test(workloads_are_named_each_once),
};
TEST_MAIN(tests)
