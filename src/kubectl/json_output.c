/* SPDX-License-Identifier: Apache-2.0 */

#include "kubectl/json_output.h"

#include "kubectl/leader.h"
#include "kubectl/output.h"
#include "kubectl/shared_with.h"
#include "kubectl/report_state.h"
#include "kubectl/words.h"
#include "kubectl/yaml_output.h"
#include "wire/jindent.h"
#include "wire/jout.h"
#include "wire/rfc3339.h"

void json_output_end(struct output *output, const struct sbuf *json)
{
	if (json->failure)
		output->body.failure = json->failure;
	else if (output->form == OUTPUT_YAML)
		yaml_output(sbuf_view(json), &output->body);
	else
		jindent(sbuf_view(json), &output->body);
}

void json_output_text(struct jout *out, const char *key, struct view text)
{
	jout_key(out, key);
	if (text.len > 0)
		jout_text(out, text);
	else
		jout_null(out);
}

/* Negative: not known. */
static void write_number(struct jout *out, const char *key, int64_t number)
{
	jout_key(out, key);
	if (number >= 0)
		jout_i64(out, number);
	else
		jout_null(out);
}

void json_output_instant(struct jout *out, const char *key, int64_t instant)
{
	char text[RFC3339_SIZE];
	rfc3339_seconds(instant, text);
	json_output_text(out, key, instant ? view_from(text) : (struct view){0});
}

void json_output_leader(struct jout *out, const struct leader *leader)
{
	jout_key(out, "leader");
	jout_object(out);
	if (leader->state == LEADER_UNKNOWN) {
		jout_key(out, "leads");
		jout_null(out);
	} else {
		jout_member_bool(out, "leads", leader->state == LEADER_PRESENT);
	}
	json_output_instant(out, "endedAt", leader->ended_at);
	jout_object_end(out);
}

void json_output_begin(struct jout *out, const struct output *output, const char *kind)
{
	jout_object(out);
	jout_member_text(out, "apiVersion", VIEW(JSON_OUTPUT_API_VERSION));
	jout_member_text(out, "kind", view_from(kind));
	json_output_leader(out, &output->leader);
}

void json_output_word(struct jout *out, const char *key, struct view word)
{
	json_output_text(out, key, view_equal(word, VIEW("?")) ? (struct view){0} : word);
}

static void write_state(struct jout *out, const struct attribution_status *status)
{
	struct report_state state = report_state_of(status);
	jout_key(out, "status");
	jout_object(out);
	jout_member_bool(out, "current", state.is_current);
	jout_member_bool(out, "fresh", state.is_fresh);
	json_output_word(out, "reportState", words_report_state(status->report_state));
	json_output_text(out, "reason", state.reason);
	json_output_text(out, "message", state.message);
	json_output_instant(out, "since", state.since);
	jout_object_end(out);
}

static void write_partitions(struct jout *out, const struct attribution_status *status,
			      struct array uuids)
{
	jout_key(out, "partitions");
	jout_array(out);
	for (uint32_t i = 0; i < uuids.count; i++) {
		struct view uuid = *ARRAY_AT(uuids, struct view, i);
		jout_object(out);
		jout_member_text(out, "uuid", uuid);
		json_output_text(out, "profile", words_profile(status, uuid));
		jout_object_end(out);
	}
	jout_array_end(out);
}

void json_output_texts(struct jout *out, const char *key, struct array texts)
{
	jout_key(out, key);
	jout_array(out);
	for (uint32_t i = 0; i < texts.count; i++)
		jout_text(out, *ARRAY_AT(texts, struct view, i));
	jout_array_end(out);
}

static void write_workload(struct jout *out, const struct attribution_workload *workload)
{
	jout_key(out, "workload");
	if (!workload->present) {
		jout_null(out);
		return;
	}
	jout_object(out);
	json_output_text(out, "group", workload->group);
	json_output_text(out, "kind", workload->kind);
	json_output_text(out, "name", workload->name);
	jout_object_end(out);
}

void json_output_tenant(struct jout *out, const struct attribution_status *status,
		   const struct attribution_tenant *tenant)
{
	json_output_text(out, "namespace", tenant->pod_namespace);
	json_output_text(out, "pod", tenant->pod_name);
	json_output_text(out, "podUID", tenant->pod_uid);
	json_output_text(out, "container", tenant->container);
	write_workload(out, &tenant->workload);
	json_output_text(out, "resource", tenant->resource);
	write_number(out, "slots", tenant->slots);
	write_partitions(out, status, tenant->partitions);
	json_output_word(out, "phase", words_phase(tenant->phase));
	json_output_word(out, "confidence", words_confidence(tenant->confidence));
	json_output_texts(out, "witnesses", tenant->witnesses);
	write_number(out, "sharedWith", shared_with_count(status, tenant));
	json_output_text(out, "placeholder", tenant->placeholder);
	json_output_word(out, "role", words_role(tenant->role));
	json_output_instant(out, "since", tenant->start_time);
}

static void write_tenants(struct jout *out, const struct attribution_status *status)
{
	write_number(out, "tenantCount", status->tenant_count);
	write_number(out, "tenantsLeftOut", status->tenants_left_out);
	jout_key(out, "tenants");
	jout_array(out);
	for (uint32_t i = 0; i < status->tenants.count; i++) {
		jout_object(out);
		json_output_tenant(out, status, ARRAY_AT(status->tenants, struct attribution_tenant, i));
		jout_object_end(out);
	}
	jout_array_end(out);
}

void json_output_device(struct jout *out, const struct attribution *device, bool with_tenants)
{
	const struct attribution_status *status = &device->status;
	jout_object(out);
	jout_member_text(out, "uuid", device->uuid);
	jout_member_text(out, "name", device->name);
	json_output_text(out, "node", status->node_name);
	write_number(out, "index", status->device.index);
	json_output_text(out, "model", status->device.model);
	json_output_word(out, "mode", words_mode(status->sharing.mode));
	write_number(out, "slotsAllocated", status->slots.allocated);
	write_number(out, "slotsTotal", status->slots.total);
	json_output_word(out, "health", words_health(status->health.state));
	json_output_word(out, "intent", words_intent(status->intent.state));
	write_state(out, status);
	if (with_tenants)
		write_tenants(out, status);
	jout_object_end(out);
}
