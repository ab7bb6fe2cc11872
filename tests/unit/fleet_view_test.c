/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kubectl/fleet_view.h"

#include "lib/gpu_world.h"

typedef void (*view_fn)(struct page *page, const struct attribution *const *devices, size_t n);

static void assert_view(view_fn view, enum page_form form, bool has_headers, const char *screen)
{
	CLEANUP(catalogue_deinit) struct catalogue catalogue;
	CLEANUP(page_deinit) struct page page;
	gpu_world_devices(&catalogue);
	page_init(&page, form, GPU_WORLD_NOW);
	page.has_headers = has_headers;
	view(&page, catalogue.devices, catalogue.n_devices);
	gpu_world_assert_screen(&page, screen);
}

static void devices_are_a_line_each_and_what_is_not_current_is_marked(void **state)
{
	(void)state;
	assert_view(fleet_view, PAGE_TABLE, true, "fleet");
}

static void wide_shows_every_tenant_and_the_hardware(void **state)
{
	(void)state;
	assert_view(fleet_view, PAGE_WIDE, false, "fleet_wide");
}

static void names_are_those_that_kubectl_takes(void **state)
{
	(void)state;
	assert_view(fleet_view_names, PAGE_NAME, true, "fleet_names");
}

static void json_has_null_for_what_is_not_known(void **state)
{
	(void)state;
	assert_view(fleet_view_json, PAGE_JSON, true, "fleet_json");
}

/* The cell TENANTS of a status, from a table without headers. */
static void assert_tenants(const struct attribution_status *status, const char *expected)
{
	CLEANUP(page_deinit) struct page page;
	struct attribution device = {.uuid = VIEW("U"), .status = *status};
	const struct attribution *devices[] = {&device};
	page_init(&page, PAGE_TABLE, GPU_WORLD_NOW);
	page.has_headers = false;
	fleet_view(&page, devices, 1);
	if (!strstr(sbuf_text(&page.body), expected))
		fail_msg("no \"%s\" in %s", expected, page.body.ptr);
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
	CLEANUP(page_deinit) struct page page;
	struct attribution device = {.uuid = VIEW("U"), .status = {.tenants_left_out = 7}};
	const struct attribution *devices[] = {&device};
	page_init(&page, PAGE_JSON, GPU_WORLD_NOW);
	fleet_view_json(&page, devices, 1);
	assert_non_null(strstr(sbuf_text(&page.body), "\"tenantsLeftOut\": 7"));
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
