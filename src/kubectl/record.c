/* SPDX-License-Identifier: Apache-2.0 */

#include "kubectl/record.h"

#include "kubectl/neighbours.h"
#include "kubectl/standing.h"
#include "kubectl/words.h"
#include "wire/jout.h"
#include "wire/rfc3339.h"

void record_begin(struct jout *out, const char *kind)
{
	jout_object(out);
	jout_member_text(out, "apiVersion", VIEW(RECORD_API_VERSION));
	jout_member_text(out, "kind", view_from(kind));
}

void record_text(struct jout *out, const char *key, struct view text)
{
	jout_key(out, key);
	if (text.len > 0)
		jout_text(out, text);
	else
		jout_null(out);
}

/* Negative: not known. */
static void record_number(struct jout *out, const char *key, int64_t number)
{
	jout_key(out, key);
	if (number >= 0)
		jout_i64(out, number);
	else
		jout_null(out);
}

void record_instant(struct jout *out, const char *key, int64_t instant)
{
	char text[RFC3339_SIZE];
	rfc3339_seconds(instant, text);
	record_text(out, key, instant ? view_from(text) : (struct view){0});
}

/* A word of words.h, which has "?" for what is not known. */
static void record_word(struct jout *out, const char *key, struct view word)
{
	record_text(out, key, view_equal(word, VIEW("?")) ? (struct view){0} : word);
}

static void record_standing(struct jout *out, const struct attribution_status *status)
{
	struct standing standing = standing_of(status);
	jout_key(out, "status");
	jout_object(out);
	jout_member_bool(out, "current", standing.is_current);
	jout_member_bool(out, "fresh", standing.is_fresh);
	record_text(out, "reason", standing.reason);
	record_text(out, "message", standing.message);
	record_instant(out, "since", standing.since);
	jout_object_end(out);
}

static void record_partitions(struct jout *out, const struct attribution_status *status,
			      struct array uuids)
{
	jout_key(out, "partitions");
	jout_array(out);
	for (uint32_t i = 0; i < uuids.count; i++) {
		struct view uuid = *ARRAY_AT(uuids, struct view, i);
		jout_object(out);
		jout_member_text(out, "uuid", uuid);
		record_text(out, "profile", words_profile(status, uuid));
		jout_object_end(out);
	}
	jout_array_end(out);
}

static void record_texts(struct jout *out, const char *key, struct array texts)
{
	jout_key(out, key);
	jout_array(out);
	for (uint32_t i = 0; i < texts.count; i++)
		jout_text(out, *ARRAY_AT(texts, struct view, i));
	jout_array_end(out);
}

void record_tenant(struct jout *out, const struct attribution_status *status,
		   const struct attribution_tenant *tenant)
{
	record_text(out, "namespace", tenant->pod_namespace);
	record_text(out, "pod", tenant->pod_name);
	record_text(out, "podUID", tenant->pod_uid);
	record_text(out, "container", tenant->container);
	record_text(out, "resource", tenant->resource);
	record_number(out, "slots", tenant->slots);
	record_partitions(out, status, tenant->partitions);
	record_word(out, "phase", words_phase(tenant->phase));
	record_word(out, "confidence", words_confidence(tenant->confidence));
	record_texts(out, "witnesses", tenant->witnesses);
	record_number(out, "sharedWith", neighbours_count(status, tenant));
	record_text(out, "placeholder", tenant->placeholder);
	record_word(out, "role", words_role(tenant->role));
	record_instant(out, "since", tenant->start_time);
}

static void record_tenants(struct jout *out, const struct attribution_status *status)
{
	record_number(out, "tenantCount", status->tenant_count);
	record_number(out, "tenantsLeftOut", status->tenants_left_out);
	jout_key(out, "tenants");
	jout_array(out);
	for (uint32_t i = 0; i < status->tenants.count; i++) {
		jout_object(out);
		record_tenant(out, status, ARRAY_AT(status->tenants, struct attribution_tenant, i));
		jout_object_end(out);
	}
	jout_array_end(out);
}

void record_device(struct jout *out, const struct attribution *device, bool with_tenants)
{
	const struct attribution_status *status = &device->status;
	jout_object(out);
	jout_member_text(out, "uuid", device->uuid);
	jout_member_text(out, "name", device->name);
	record_text(out, "node", status->node_name);
	record_number(out, "index", status->device.index);
	record_text(out, "model", status->device.model);
	record_word(out, "mode", words_mode(status->sharing.mode));
	record_number(out, "slotsAllocated", status->slots.allocated);
	record_number(out, "slotsTotal", status->slots.total);
	record_word(out, "health", words_health(status->health.state));
	record_word(out, "intent", words_intent(status->intent.state));
	record_standing(out, status);
	if (with_tenants)
		record_tenants(out, status);
	jout_object_end(out);
}
