/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/lease_record.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/limits.h"
#include "kube/object_meta.h"
#include "wire/jmap_decode.h"
#include "wire/jout.h"
#include "wire/jwalk.h"

#define DOCUMENT_DEPTH 64u
#define ARENA_CAP (4u * LEASE_RECORD_BYTES)
#define RELEASED_S 1 /* as client-go releases a Lease */

static const struct jmap_row spec_rows[] = {
	{"holderIdentity", JMAP_TEXT, 0, JMAP_AT(lease_record, holder), .limit = LIMIT_URL},
	{"leaseDurationSeconds", JMAP_I64, 0, JMAP_AT(lease_record, duration_s), .limit = INT32_MAX},
	{"acquireTime", JMAP_TEXT, 0, JMAP_AT(lease_record, acquired), .limit = LIMIT_TEXT_WORD},
	{"renewTime", JMAP_TEXT, 0, JMAP_AT(lease_record, renewed), .limit = LIMIT_TEXT_WORD},
	{"leaseTransitions", JMAP_I64, 0, JMAP_AT(lease_record, transitions), .limit = INT32_MAX},
	{0},
};

static const struct jmap_row rows[] = {
	{"spec", JMAP_OBJECT, 0, .offset = 0, .rows = spec_rows},
	{0},
};

static int find_metadata(struct view document, struct view *ret, struct error *err)
{
	struct jwalk walk;
	struct view key, value;

	jwalk_init(&walk, document);
	while (jwalk_next(&walk, &key, &value))
		if (view_equal(key, VIEW("metadata")))
			*ret = value;
	return jwalk_check(&walk, "Lease", err);
}

static int read_metadata(struct view document, struct lease_record *record, struct error *err)
{
	struct object_meta meta;
	struct view metadata = {NULL, 0};

	if (object_meta_read(RESOURCE_JSON, document, &meta, err) < 0 ||
	    find_metadata(document, &metadata, err) < 0)
		return -1;
	record->number = meta.version;
	if (!arena_copy(&record->arena, metadata, &record->metadata) ||
	    !arena_copy(&record->arena, meta.resource_version, &record->version))
		return error_no_memory(err);
	return 0;
}

/* What cannot be read is somebody's all the same. */
static int read_spec(struct view document, struct lease_record *record, struct error *err)
{
	struct lease_record spec = {0};
	struct error why;

	if (jmap_decode(document, DOCUMENT_DEPTH, rows, &record->arena, &spec, sizeof(spec), &why) <
	    0) {
		record->is_unreadable = true;
		return why.kind == ERROR_NO_MEMORY ? error_no_memory(err) : 0;
	}
	record->holder = spec.holder;
	record->acquired = spec.acquired;
	record->renewed = spec.renewed;
	record->duration_s = spec.duration_s;
	record->transitions = spec.transitions;
	return 0;
}

int lease_record_read(struct view document, struct lease_record *ret, struct error *err)
{
	CLEANUP(lease_record_deinit) struct lease_record record = {0};

	if (document.len > LEASE_RECORD_BYTES)
		return error_set(err, ERROR_LIMIT, 0, "a Lease of %zu bytes", document.len);
	arena_init(&record.arena, ARENA_CAP);
	if (read_metadata(document, &record, err) < 0 || read_spec(document, &record, err) < 0)
		return -1;
	*ret = record;
	record = (struct lease_record){0};
	return 0;
}

void lease_record_deinit(struct lease_record *record)
{
	arena_deinit(&record->arena);
	*record = (struct lease_record){0};
}

/* An editor may take out the holder's name, and a new Lease has none: their holder may still write. */
bool lease_record_is_released(const struct lease_record *record)
{
	return !record->is_unreadable && record->holder.len == 0 &&
	       record->duration_s == RELEASED_S && record->renewed.len > 0;
}

/* "2026-01-02T03:04:05.678000Z": metav1.MicroTime is read with six digits only. */
static void write_micro_time(int64_t ms, char ret[static LEASE_RECORD_TIME_SIZE])
{
	char text[RFC3339_SIZE];
	size_t len;

	rfc3339_millis(ms, text);
	len = strlen(text) - 1; /* without the Z */
	assert(len + sizeof("000Z") <= LEASE_RECORD_TIME_SIZE);
	memcpy(ret, text, len);
	memcpy(ret + len, "000Z", sizeof("000Z"));
}

void lease_record_time(const struct lease_record *record, int64_t now_wall_ms,
		       char ret[static LEASE_RECORD_TIME_SIZE])
{
	write_micro_time(now_wall_ms, ret);
	if (view_equal(record->renewed, view_from(ret)))
		write_micro_time(now_wall_ms + 1, ret);
}

static void write_spec(struct jout *out, const struct lease_record *record,
		       const struct lease_record_change *change)
{
	assert(change->time.len > 0);
	bool is_released = change->holder.len == 0;
	bool is_same = view_equal(record->holder, change->holder);
	bool is_taken = !is_released && !is_same && record->transitions < INT32_MAX;

	jout_member_text(out, "holderIdentity", change->holder);
	jout_key(out, "leaseDurationSeconds");
	jout_i64(out, is_released ? RELEASED_S : change->duration_s);
	jout_member_text(out, "acquireTime",
			 is_same && record->acquired.len > 0 ? record->acquired : change->time);
	jout_member_text(out, "renewTime", change->time);
	jout_key(out, "leaseTransitions");
	jout_i64(out, record->transitions + is_taken);
}

void lease_record_write(const struct lease_record *record, const struct lease_record_change *change,
			struct sbuf *body)
{
	struct jout out;

	jout_init(&out, body);
	jout_object(&out);
	jout_member_text(&out, "apiVersion", VIEW("coordination.k8s.io/v1"));
	jout_member_text(&out, "kind", VIEW("Lease"));
	jout_key(&out, "metadata");
	jout_raw(&out, record->metadata);
	jout_key(&out, "spec");
	jout_object(&out);
	write_spec(&out, record, change);
	jout_object_end(&out);
	jout_object_end(&out);
}
