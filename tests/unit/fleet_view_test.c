/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kubectl/fleet_view.h"

#include "lib/gpu_world.h"

typedef void (*view_fn)(struct output *output, const struct attribution *const *devices, size_t n);

static void assert_view(view_fn view, enum output_form form, bool has_headers, const char *screen)
{
	CLEANUP(device_list_deinit) struct device_list list;
	CLEANUP(output_deinit) struct output output;
	gpu_world_devices(&list);
	output_init(&output, form, GPU_WORLD_NOW);
	output.uuids = gpu_world_uuids();
	output.has_headers = has_headers;
	view(&output, list.devices, list.n_devices);
	gpu_world_assert_screen(&output, screen);
}

static void devices_are_a_line_each_and_what_is_not_current_is_marked(void **state)
{
	(void)state;
	assert_view(fleet_view, OUTPUT_TABLE, true, "fleet");
}

static void wide_shows_every_tenant_and_the_hardware(void **state)
{
	(void)state;
	assert_view(fleet_view, OUTPUT_WIDE, false, "fleet_wide");
}

static void names_are_those_that_kubectl_takes(void **state)
{
	(void)state;
	assert_view(fleet_view_names, OUTPUT_NAME, true, "fleet_names");
}

static void json_has_null_for_what_is_not_known(void **state)
{
	(void)state;
	assert_view(fleet_view_json, OUTPUT_JSON, true, "fleet_json");
}

/* The cell TENANTS of a status, from a table without headers. */
static void assert_tenants(const struct attribution_status *status, const char *expected)
{
	CLEANUP(output_deinit) struct output output;
	struct attribution device = {.uuid = VIEW("U"), .status = *status};
	const struct attribution *devices[] = {&device};
	output_init(&output, OUTPUT_TABLE, GPU_WORLD_NOW);
	output.uuids = gpu_world_uuids();
	output.has_headers = false;
	fleet_view(&output, devices, 1);
	if (!strstr(sbuf_text(&output.body), expected))
		fail_msg("no \"%s\" in %s", expected, output.body.ptr);
}

static void nobody_is_only_where_the_status_says_so(void **state)
{
	(void)state;
	struct attribution_tenant tenants[] = {
		{.pod_uid = VIEW("1"), .pod_namespace = VIEW("a"), .pod_name = VIEW("p")},
		{.pod_uid = VIEW("2"), .role = ATTRIBUTION_ROLE_VALIDATION, .pod_name = VIEW("validator")},
	};
	struct attribution_status status = {.tenant_count = 0, .device.index = -1};
	assert_tenants(&status, "   <none>   ");
	status.tenant_count = -1;
	assert_tenants(&status, "0/0     ?         ?");
	status.tenant_count = 3; /* and none is listed */
	assert_tenants(&status, "0/0     ?         ?");
	status.tenants = (struct array){tenants, 2, true};
	status.tenant_count = -1;
	assert_tenants(&status, "   a/p +?   ");
	status.tenant_count = 8;
	status.tenants_left_out = 7;
	assert_tenants(&status, "   a/p +7   ");
	status.tenants = (struct array){&tenants[1], 1, true};
	status.tenants_left_out = 0;
	status.tenant_count = 0;
	assert_tenants(&status, "   <none>   ");
}

static void json_says_how_many_tenants_are_not_listed(void **state)
{
	(void)state;
	CLEANUP(output_deinit) struct output output;
	struct attribution device = {.uuid = VIEW("U"), .status = {.tenants_left_out = 7}};
	const struct attribution *devices[] = {&device};
	output_init(&output, OUTPUT_JSON, GPU_WORLD_NOW);
	output.uuids = gpu_world_uuids();
	fleet_view_json(&output, devices, 1);
	assert_non_null(strstr(sbuf_text(&output.body), "\"tenantsLeftOut\": 7"));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(devices_are_a_line_each_and_what_is_not_current_is_marked),
	cmocka_unit_test(wide_shows_every_tenant_and_the_hardware),
	cmocka_unit_test(names_are_those_that_kubectl_takes),
	cmocka_unit_test(json_has_null_for_what_is_not_known),
	cmocka_unit_test(json_says_how_many_tenants_are_not_listed),
	cmocka_unit_test(nobody_is_only_where_the_status_says_so),
};
TEST_MAIN(tests)
