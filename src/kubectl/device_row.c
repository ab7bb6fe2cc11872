/* SPDX-License-Identifier: Apache-2.0 */

#include "kubectl/device_row.h"

#include "kubectl/words.h"

void device_row_pod(const struct attribution_status *status, struct view uid, struct sbuf *cell)
{
	for (uint32_t i = 0; i < status->tenants.count; i++) {
		const struct attribution_tenant *tenant =
			ARRAY_AT(status->tenants, struct attribution_tenant, i);
		if (view_equal(tenant->pod_uid, uid)) {
			words_pod(cell, tenant->pod_namespace, tenant->pod_name, uid);
			return;
		}
	}
	for (uint32_t i = 0; i < status->recent_tenants.count; i++) {
		const struct attribution_past_tenant *past =
			ARRAY_AT(status->recent_tenants, struct attribution_past_tenant, i);
		if (view_equal(past->pod_uid, uid)) {
			words_pod(cell, past->pod_namespace, past->pod_name, uid);
			sbuf_append(cell, VIEW(" (left)"));
			return;
		}
	}
	sbuf_append(cell, VIEW("uid/"));
	sbuf_append(cell, uid);
}
