/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/dcgm_text.h"

static void render_row(const char *name, const struct dcgm_text_row *row, const char *value,
		       struct dcgm_text_form form, struct sbuf *out)
{
	if (!value)
		return;
	sbuf_printf(out, "%s{gpu=\"0\",UUID=\"%s\",pci_bus_id=\"00000000:3B:00.0\","
		    "device=\"nvidia0\",modelName=\"NVIDIA A100-SXM4-40GB\"", name, row->uuid);
	if (row->instance)
		sbuf_printf(out, ",GPU_I_PROFILE=\"1g.5gb\",GPU_I_ID=\"%s\"", row->instance);
	if (form.hostname)
		sbuf_printf(out, ",%s=\"%s\"", form.since_4_6 ? "hostname" : "Hostname",
			    form.hostname);
	/* As it is rendered there: what is in the name is not escaped. */
	if (row->pod)
		sbuf_printf(out, ",container=\"main\",namespace=\"lab\",pod=\"%s\"", row->pod);
	sbuf_printf(out, "} %s\n", value);
}

static void begin_metric(const char *name, const char *help, struct sbuf *out)
{
	sbuf_printf(out, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
}

void dcgm_text_render(const struct dcgm_text_row *rows, size_t n, struct dcgm_text_form form,
		      struct sbuf *out)
{
	begin_metric("DCGM_FI_DEV_SM_CLOCK", "SM clock frequency (in MHz).", out);
	for (size_t i = 0; i < n; i++)
		render_row("DCGM_FI_DEV_SM_CLOCK", &rows[i], "1410", form, out);
	begin_metric("DCGM_FI_DEV_GPU_UTIL", "GPU utilization (in %).", out);
	for (size_t i = 0; i < n; i++)
		render_row("DCGM_FI_DEV_GPU_UTIL", &rows[i], rows[i].utilization, form, out);
	begin_metric("DCGM_FI_DEV_XID_ERRORS", "Value of the last XID error encountered.", out);
	for (size_t i = 0; i < n; i++)
		render_row("DCGM_FI_DEV_XID_ERRORS", &rows[i], "79", form, out);
	begin_metric("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "Ratio of time the graphics engine is active.",
		     out);
	for (size_t i = 0; i < n; i++)
		render_row("DCGM_FI_PROF_GR_ENGINE_ACTIVE", &rows[i], rows[i].active, form, out);
}
