/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Four pods share a device by MPS, and dcgm-exporter labels the device's series with one of them, each
 * time with another. Its scrapes are replayed beside the join.
 */

#include "lib/dcgm_text.h"
#include "lib/world_fixture.h"
#include "agent/dcgm_figures.h"

#define N_SCRAPES 12u
#define N_PODS 4u

static const char *const pods[N_PODS] = {"mps-tenant-a", "mps-tenant-b", "mps-tenant-c",
					 "mps-tenant-d"};

static void share_by_mps(void)
{
	build_world_shared(&world, 0, N_PODS);
	for (unsigned i = 0; i < N_PODS; i++) {
		world_run(pods[i], build_world_replica(&world, 0, i));
		world.booked[i].mps = true;
	}
}

static void read_text(struct view input, struct dcgm_figures *figures)
{
	CLEANUP(promtext_deinit) struct promtext text;
	struct promtext_sample sample;
	struct error err;
	enum promtext_step step;
	promtext_init(&text, LIMIT_PROMTEXT_LINE);
	while ((step = promtext_next(&text, &input, &sample, &err)) == PROMTEXT_SAMPLE)
		assert_int_equal(dcgm_figures_add(figures, &sample, world.report.devices, &err), 0);
	assert_int_equal(step, PROMTEXT_MORE);
	assert_int_equal(promtext_end(&text, &err), 0);
}

/* The n-th scrape: one row with one pod's name, or, with virtual GPUs, one for each pod. */
static void scrape(unsigned n, bool is_virtual, struct dcgm_figures *figures)
{
	CLEANUP(sbuf_deinit) struct sbuf text;
	char uuid[64];
	struct dcgm_text_row rows[N_PODS];
	sbuf_init(&text, LIMIT_MIB);
	snprintf(uuid, sizeof(uuid), "%.*s", VIEW_ARG(build_world_uuid(&world, 0)));
	for (unsigned i = 0; i < N_PODS; i++)
		rows[i] = (struct dcgm_text_row){uuid, NULL, "0.380000", "38",
						 pods[(n + i) % N_PODS]};
	const struct dcgm_text_form form = {.since_4_6 = n % 2, .hostname = "gpu-a"};
	dcgm_text_render(rows, is_virtual ? N_PODS : 1, form, &text);
	read_text(sbuf_view(&text), figures);
}

TEST(twelve_scrapes_of_four_mps_tenants_are_four_tenants_and_one_figure_of_the_device)
{
	share_by_mps();
	build_world_publish(&world);
	for (unsigned n = 0; n < N_SCRAPES; n++) {
		CLEANUP(dcgm_figures_deinit) struct dcgm_figures figures = {0};
		scrape(n, n >= N_SCRAPES / 2, &figures);
		assert_int_equal(figures.n, 1);
		const struct dcgm_figure *figure =
			dcgm_figures_find(&figures, build_world_uuid(&world, 0), -1);
		assert_non_null(figure);
		assert_true(figure->utilization >= 38 && figure->utilization <= 38);
		assert_true(figure->engine_active >= 0.38 && figure->engine_active <= 0.38);

		const struct attribution_status *status = build_world_status(&world, 0);
		assert_int_equal(status->sharing.mode, ATTRIBUTION_MODE_MPS);
		expect_tenants(status, "uid-mps-tenant-a/main,uid-mps-tenant-b/main,"
				       "uid-mps-tenant-c/main,uid-mps-tenant-d/main");
		assert_int_equal(build_world_count_writes(&world), 0);
	}
}

TESTS(set_up, tear_down)
