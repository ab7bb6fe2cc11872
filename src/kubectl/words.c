/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The words of enumerations are looked up in the rows by which documents are decoded, so that there
 * is one list of them. Durations are written as kubectl writes ages: by the rules of
 * k8s.io/apimachinery/pkg/util/duration.
 */

#include "kubectl/words.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "schema/attribution_doc.h"
#include "wire/jmap.h"
#include "wire/rfc3339.h"

#define UID_SHOWN 8 /* bytes, as in tenantSummary */
#define UNKNOWN VIEW("?")
#define PATH(...) ((const char *const[]){__VA_ARGS__, NULL})

static const struct jmap_row *find_row(const char *const *path)
{
	const struct jmap_row *rows = attribution_doc_rows();
	for (;; path++, rows = rows->rows) {
		while (rows->key && strcmp(rows->key, *path) != 0)
			rows++;
		assert(rows->key);
		if (!path[1])
			return rows;
	}
}

static struct view word(const char *const *path, int value)
{
	return value == 0 ? UNKNOWN : view_from(find_row(path)->names[value]);
}

struct view words_mode(int mode)
{
	return word(PATH("status", "sharing", "mode"), mode);
}

struct view words_phase(int phase)
{
	return word(PATH("status", "tenants", "phase"), phase);
}

struct view words_confidence(int confidence)
{
	return word(PATH("status", "tenants", "confidence"), confidence);
}

struct view words_role(int role)
{
	return word(PATH("status", "tenants", "role"), role);
}

struct view words_health(int state)
{
	return word(PATH("status", "health", "state"), state);
}

struct view words_recovery(int action)
{
	return word(PATH("status", "health", "recoveryAction"), action);
}

struct view words_activity(int state)
{
	return word(PATH("status", "activity", "state"), state);
}

struct view words_intent(int state)
{
	return word(PATH("status", "intent", "state"), state);
}

struct view words_severity(int severity)
{
	return word(PATH("status", "intent", "drifts", "severity"), severity);
}

struct view words_condition(int status)
{
	return word(PATH("status", "conditions", "status"), status);
}

struct view words_report_state(int state)
{
	return word(PATH("status", "reportState"), state);
}

struct view words_known(struct view text)
{
	return text.len > 0 ? text : UNKNOWN;
}

struct view words_profile(const struct attribution_status *status, struct view uuid)
{
	for (uint32_t i = 0; i < status->partitions.count; i++) {
		const struct attribution_partition *partition =
			ARRAY_AT(status->partitions, struct attribution_partition, i);
		if (view_equal(partition->uuid, uuid))
			return partition->profile;
	}
	return (struct view){0};
}

void words_number(struct sbuf *buf, int64_t number)
{
	if (number < 0)
		sbuf_append(buf, UNKNOWN);
	else
		sbuf_printf(buf, "%" PRId64, number);
}

void words_share(struct sbuf *buf, int64_t part, int64_t whole)
{
	words_number(buf, part);
	sbuf_append_char(buf, '/');
	words_number(buf, whole);
}

enum { SECOND = 1, MINUTE = 60, HOUR = 3600, DAY = 86400, YEAR = 365 * DAY };

void words_duration(struct sbuf *buf, int64_t ms)
{
	/* Below `end` seconds: whole units, and, if asked for, what is left in smaller ones. */
	static const struct {
		int64_t end, unit, rest_unit;
		const char *name, *rest_name;
	} rows[] = {
		{2 * MINUTE, SECOND, 0, "s", ""},   {10 * MINUTE, MINUTE, SECOND, "m", "s"},
		{3 * HOUR, MINUTE, 0, "m", ""},     {8 * HOUR, HOUR, MINUTE, "h", "m"},
		{2 * DAY, HOUR, 0, "h", ""},        {8 * DAY, DAY, HOUR, "d", "h"},
		{2LL * YEAR, DAY, 0, "d", ""},      {8LL * YEAR, YEAR, DAY, "y", "d"},
		{INT64_MAX, YEAR, 0, "y", ""},
	};
	int64_t seconds = ms > 0 ? ms / 1000 : 0;
	size_t i = 0;
	while (seconds >= rows[i].end)
		i++;
	int64_t rest = rows[i].rest_unit ? seconds % rows[i].unit / rows[i].rest_unit : 0;
	sbuf_printf(buf, "%" PRId64 "%s", seconds / rows[i].unit, rows[i].name);
	if (rest > 0)
		sbuf_printf(buf, "%" PRId64 "%s", rest, rows[i].rest_name);
}

static void append_instant(struct sbuf *buf, int64_t instant)
{
	char text[RFC3339_SIZE];
	rfc3339_seconds(instant, text);
	sbuf_append(buf, view_from(text));
}

void words_age(struct sbuf *buf, int64_t instant, int64_t now)
{
	if (instant == 0)
		sbuf_append(buf, UNKNOWN);
	else if (now == WORDS_NO_NOW)
		append_instant(buf, instant);
	else
		words_duration(buf, now - instant);
}

void words_since(struct sbuf *buf, int64_t instant, int64_t now)
{
	if (instant == 0)
		return;
	sbuf_append(buf, now == WORDS_NO_NOW ? VIEW(" since ") : VIEW(" for "));
	words_age(buf, instant, now);
}

void words_instant(struct sbuf *buf, int64_t instant, int64_t now)
{
	if (instant == 0) {
		sbuf_append(buf, UNKNOWN);
		return;
	}
	append_instant(buf, instant);
	if (now == WORDS_NO_NOW)
		return;
	sbuf_append(buf, VIEW(" ("));
	words_duration(buf, now - instant);
	sbuf_append(buf, VIEW(" ago)"));
}

void words_pod(struct sbuf *buf, struct view namespace, struct view name, struct view uid)
{
	if (name.len > 0) {
		sbuf_append(buf, namespace);
		sbuf_append_char(buf, '/');
		sbuf_append(buf, name);
		return;
	}
	sbuf_append(buf, VIEW("uid/"));
	sbuf_append(buf, uid.len > UID_SHOWN ? (struct view){uid.ptr, UID_SHOWN} : uid);
}

void words_partitions(struct sbuf *buf, const struct attribution_status *status,
		      struct array uuids)
{
	for (uint32_t i = 0; i < uuids.count; i++) {
		struct view uuid = *ARRAY_AT(uuids, struct view, i);
		struct view profile = words_profile(status, uuid);
		if (i > 0)
			sbuf_append_char(buf, ',');
		sbuf_append(buf, profile.len > 0 ? profile : uuid);
	}
}

void words_list(struct sbuf *buf, struct array texts)
{
	for (uint32_t i = 0; i < texts.count; i++) {
		if (i > 0)
			sbuf_append_char(buf, ',');
		sbuf_append(buf, *ARRAY_AT(texts, struct view, i));
	}
}

void words_process(struct sbuf *buf, const struct attribution_user *user)
{
	sbuf_append(buf, words_known(user->command));
	sbuf_printf(buf, "[%" PRId64 "]", user->pid);
}
