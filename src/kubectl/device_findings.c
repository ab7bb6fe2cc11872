/* SPDX-License-Identifier: Apache-2.0 */

/* Cells: each function is for one type of element, given by its name. */

#include "kubectl/device_findings.h"

#include <inttypes.h>

#include "kubectl/device_row.h"
#include "kubectl/output.h"
#include "kubectl/words.h"

static const struct attribution_health_event *event_of(const void *row)
{
	return ((const struct device_row *)row)->element;
}

static void event_time(const void *row, struct sbuf *cell)
{
	words_instant(cell, event_of(row)->event_time, ((const struct device_row *)row)->now);
}

static void event_xid(const void *row, struct sbuf *cell)
{
	words_number(cell, event_of(row)->xid);
}

static void event_meaning(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, event_of(row)->meaning);
}

static void event_tenants(const void *row, struct sbuf *cell)
{
	struct array tenants = event_of(row)->tenants;
	const struct attribution_event_tenant *tenant = tenants.items, *last = NULL;
	for (uint32_t i = 0; i < tenants.count; i++, tenant++) {
		if (last && view_equal(last->pod_uid, tenant->pod_uid))
			continue;
		if (last)
			sbuf_append(cell, VIEW(", "));
		words_pod(cell, tenant->pod_namespace, tenant->pod_name, tenant->pod_uid);
		if (!attribution_find_tenant(((const struct device_row *)row)->status, tenant->pod_uid,
					     tenant->container))
			sbuf_append(cell, VIEW(" (left)"));
		last = tenant;
	}
	if (event_of(row)->tenants_left_out > 0)
		sbuf_printf(cell, " +%" PRId64, event_of(row)->tenants_left_out);
	if (tenants.count == 0)
		sbuf_append(cell, VIEW("<none known>"));
}

const struct text_table_column device_findings_events[] = {
	{"TIME", 0, event_time},
	{"XID", 0, event_xid},
	{"MEANING", 0, event_meaning, .cut = true},
	{"ON IT AT THAT TIME", 0, event_tenants, .wrap = true},
	{0},
};

static const struct attribution_drift *drift_of(const void *row)
{
	return ((const struct device_row *)row)->element;
}

static void drift_type(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, drift_of(row)->type);
}

static void drift_severity(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, words_severity(drift_of(row)->severity));
}

static void drift_since(const void *row, struct sbuf *cell)
{
	words_age(cell, drift_of(row)->start_time, ((const struct device_row *)row)->now);
}

static void drift_intended(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, drift_of(row)->intended);
}

static void drift_observed(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, drift_of(row)->observed);
}

static void drift_message(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, drift_of(row)->message);
}

const struct text_table_column device_findings_drifts[] = {
	{"TYPE", 0, drift_type, .marked = OUTPUT_IF_NO_LEADER, .cut = true},
	{"SEVERITY", 0, drift_severity},
	{"SINCE", 0, drift_since},
	{"INTENDED", 0, drift_intended, .cut = true},
	{"OBSERVED", 0, drift_observed, .cut = true},
	{"MESSAGE", 0, drift_message, .below = "to do: "},
	{0},
};

static const struct attribution_pending_drift *pending_of(const void *row)
{
	return ((const struct device_row *)row)->element;
}

static void pending_type(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, pending_of(row)->type);
}

static void pending_since(const void *row, struct sbuf *cell)
{
	words_age(cell, pending_of(row)->start_time, ((const struct device_row *)row)->now);
}

const struct text_table_column device_findings_pending[] = {
	{"TYPE", 0, pending_type, .marked = OUTPUT_IF_NO_LEADER, .cut = true},
	{"SINCE", 0, pending_since},
	{0},
};

static const struct condition *condition_of(const void *row)
{
	return ((const struct device_row *)row)->element;
}

static void condition_type(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, condition_of(row)->type);
}

static void condition_status(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, words_condition(condition_of(row)->status));
}

static void condition_since(const void *row, struct sbuf *cell)
{
	words_age(cell, condition_of(row)->last_transition_time, ((const struct device_row *)row)->now);
}

static void condition_reason(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, condition_of(row)->reason);
}

static void condition_message(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, condition_of(row)->message);
}

const struct text_table_column device_findings_conditions[] = {
	{"TYPE", 0, condition_type, .cut = true},
	{"STATUS", 0, condition_status, .marked = OUTPUT_IF_NO_LEADER},
	{"SINCE", 0, condition_since},
	{"REASON", 0, condition_reason, .cut = true},
	{"MESSAGE", 0, condition_message, .wrap = true},
	{0},
};
