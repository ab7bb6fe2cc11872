/* SPDX-License-Identifier: Apache-2.0 */

/*
 * "Too large resource version" means that the server has not yet seen the version we ask for. Three
 * signs tell it from other time-outs: the reason of a cause (since 1.19), the message of a cause
 * (1.17 and 1.18), or the message itself (older). All three mean: ask for the newest state instead.
 *
 * Field numbers are those of k8s.io/apimachinery/pkg/apis/meta/v1/generated.proto.
 */

#include "kube/answer.h"

#include <assert.h>
#include <stddef.h>

#include "base/limits.h"
#include "wire/jmap.h"
#include "wire/jmap_decode.h"
#include "wire/pbscan.h"

#define MAX_DEPTH 16u
#define MAX_MESSAGE (64u * LIMIT_KIB)
#define MAX_CAUSES 1024u

struct cause {
	struct view reason;
	struct view message;
	struct view field; /* of the object, as "status.device.model"; empty: none is named */
};

struct details {
	struct array causes;
	int64_t retry_after_s;
};

struct status {
	struct view kind;
	struct view message;
	struct view reason;
	int64_t code;
	struct details details;
	bool version_too_large;
	struct cause wrong_field; /* the first one that is named */
	uint32_t n_wrong_fields;
};

static const struct jmap_row cause_rows[] = {
	{.key = "reason", .type = JMAP_TEXT, .offset = offsetof(struct cause, reason),
	 .limit = MAX_MESSAGE},
	{.key = "message", .type = JMAP_TEXT, .offset = offsetof(struct cause, message),
	 .limit = MAX_MESSAGE},
	{.key = "field", .type = JMAP_TEXT, .offset = offsetof(struct cause, field),
	 .limit = MAX_MESSAGE},
	{.key = NULL},
};

static const struct jmap_row details_rows[] = {
	{.key = "causes", .type = JMAP_ARRAY, .offset = offsetof(struct details, causes),
	 .limit = MAX_CAUSES, .rows = cause_rows, .element_size = sizeof(struct cause)},
	{.key = "retryAfterSeconds", .type = JMAP_I64,
	 .offset = offsetof(struct details, retry_after_s)},
	{.key = NULL},
};

static const struct jmap_row status_rows[] = {
	{.key = "kind", .type = JMAP_TEXT, .offset = offsetof(struct status, kind),
	 .limit = MAX_MESSAGE},
	{.key = "message", .type = JMAP_TEXT, .offset = offsetof(struct status, message),
	 .limit = MAX_MESSAGE},
	{.key = "reason", .type = JMAP_TEXT, .offset = offsetof(struct status, reason),
	 .limit = MAX_MESSAGE},
	{.key = "code", .type = JMAP_I64, .offset = offsetof(struct status, code)},
	{.key = "details", .type = JMAP_OBJECT, .offset = offsetof(struct status, details),
	 .rows = details_rows},
	{.key = NULL},
};

static const struct view too_large_message = VIEW_INIT("Too large resource version");

static bool contains(struct view text, struct view part)
{
	struct view before, after;
	return view_cut(text, part, &before, &after);
}

static void look_at_cause(struct status *status, const struct cause *cause)
{
	if (view_equal(cause->reason, VIEW("ResourceVersionTooLarge")) ||
	    view_equal(cause->message, too_large_message))
		status->version_too_large = true;
	/* Of a CustomResource it says, too, that rules were not evaluated, and names no field. */
	if (cause->field.len > 0 && !view_equal(cause->field, VIEW("<nil>")) &&
	    status->n_wrong_fields++ == 0)
		status->wrong_field = *cause;
}

static bool read_json(struct view body, struct arena *arena, struct status *status)
{
	struct error err;
	if (jmap_decode(body, MAX_DEPTH, status_rows, arena, status, sizeof(*status), &err) != 0)
		return false;
	ARRAY_EACH(const struct cause, cause, status->details.causes)
		look_at_cause(status, cause);
	return true;
}

static bool read_cause(struct view message, struct status *status)
{
	enum { REASON = 1, MESSAGE = 2, FIELD = 3 };
	struct cause cause = {0};
	struct pbscan scan;
	struct pbscan_field field;
	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.number == REASON)
			cause.reason = field.bytes;
		else if (field.number == MESSAGE)
			cause.message = field.bytes;
		else if (field.number == FIELD)
			cause.field = field.bytes;
	}
	look_at_cause(status, &cause);
	return !scan.failed;
}

static bool read_details(struct view message, struct status *status)
{
	enum { CAUSES = 4, RETRY_AFTER = 5 };
	struct pbscan scan;
	struct pbscan_field field;
	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.number == CAUSES && !read_cause(field.bytes, status))
			return false;
		if (field.number == RETRY_AFTER)
			status->details.retry_after_s = (int64_t)(field.value & INT32_MAX);
	}
	return !scan.failed;
}

static bool read_protobuf(struct view message, struct status *status)
{
	enum { MESSAGE = 3, REASON = 4, DETAILS = 5, CODE = 6 };
	struct pbscan scan;
	struct pbscan_field field;
	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.number == MESSAGE)
			status->message = field.bytes;
		else if (field.number == REASON)
			status->reason = field.bytes;
		else if (field.number == CODE)
			status->code = (int64_t)(field.value & INT32_MAX);
		else if (field.number == DETAILS && !read_details(field.bytes, status))
			return false;
	}
	return !scan.failed;
}

/* The Status in an envelope, as bodies have it; false for an envelope of anything else. */
static bool read_envelope(struct view body, struct status *status)
{
	enum { TYPE = 1, RAW = 2, KIND = 2 };
	struct view raw = {NULL, 0}, kind = {NULL, 0};
	struct pbscan scan, type;
	struct pbscan_field field, part;
	pbscan_init(&scan, body);
	while (pbscan_next(&scan, &field)) {
		if (field.number == RAW)
			raw = field.bytes;
		if (field.number != TYPE)
			continue;
		pbscan_init(&type, field.bytes);
		while (pbscan_next(&type, &part)) {
			if (part.number == KIND)
				kind = part.bytes;
		}
	}
	return !scan.failed && view_equal(kind, VIEW("Status")) && read_protobuf(raw, status);
}

static bool read_body(struct view body, struct arena *arena, struct status *status)
{
	const struct view magic = VIEW("k8s\0");
	if (view_starts_with(body, magic))
		return read_envelope(view_from_offset(body, magic.len), status);
	return view_starts_with(view_trim(body), VIEW("{")) && read_json(body, arena, status) &&
	       view_equal(status->kind, VIEW("Status"));
}

static enum error_kind kind_of(const struct status *status, uint32_t retry_after_ms)
{
	switch (status->code) {
	case 401:
	case 403:
		return ERROR_DENIED;
	case 404:
		return ERROR_NOT_FOUND;
	case 409:
		return ERROR_CONFLICT;
	case 410:
		return ERROR_EXPIRED;
	case 429:
		return ERROR_THROTTLED;
	default:
		break;
	}
	if (status->code == 504 &&
	    (status->version_too_large || contains(status->message, too_large_message)))
		return ERROR_EXPIRED;
	if (status->code >= 300 && status->code < 500)
		return ERROR_REJECTED;
	return retry_after_ms > 0 ? ERROR_THROTTLED : ERROR_RETRY;
}

/* The server's own message names the object at length before it comes to the field. */
static void name_wrong_field(const struct status *status, struct error *err)
{
	const struct cause *cause = &status->wrong_field;
	if (status->n_wrong_fields > 1)
		error_set(err, ERROR_REJECTED, 0, "%.*s (and %u more): %.*s", VIEW_ARG(cause->field),
			  status->n_wrong_fields - 1, VIEW_ARG(cause->message));
	else
		error_set(err, ERROR_REJECTED, 0, "%.*s: %.*s", VIEW_ARG(cause->field),
			  VIEW_ARG(cause->message));
}

static void judge(const struct status *status, uint32_t retry_after_ms, struct error *err)
{
	if (retry_after_ms == 0 && status->details.retry_after_s > 0) {
		/* An hour at most: nobody means more, and it must fit. */
		int64_t s = status->details.retry_after_s;
		retry_after_ms = (uint32_t)(s < 3600 ? s : 3600) * 1000;
	}
	enum error_kind kind = kind_of(status, retry_after_ms);
	assert(kind != ERROR_NONE); /* whoever asks has no use for the answer */
	if (kind == ERROR_REJECTED && status->n_wrong_fields > 0)
		name_wrong_field(status, err);
	else if (status->message.len > 0)
		error_set(err, kind, 0, "%.*s", VIEW_ARG(status->message));
	else if (status->code >= 300 && status->code < 400)
		error_set(err, kind, 0, "HTTP %d: redirects are not followed", (int)status->code);
	else
		error_set(err, kind, 0, "HTTP %d %.*s", (int)status->code,
			  VIEW_ARG(status->reason));
	if (kind == ERROR_THROTTLED)
		err->retry_after_ms = retry_after_ms;
	assert(err->kind == kind);
}

void answer_judge(const struct answer *answer, struct error *err)
{
	CLEANUP(arena_deinit) struct arena arena = {0};
	struct status status = {0};
	arena_init(&arena, LIMIT_MIB);
	if (!read_body(answer->body, &arena, &status))
		status = (struct status){0};
	status.code = answer->status;
	judge(&status, answer->retry_after_ms, err);
}

void answer_judge_status(enum resource_encoding encoding, struct view object, struct error *err)
{
	CLEANUP(arena_deinit) struct arena arena = {0};
	struct status status = {0};
	arena_init(&arena, LIMIT_MIB);
	bool readable = encoding == RESOURCE_PROTOBUF ? read_protobuf(object, &status)
						      : read_json(object, &arena, &status);
	if (readable)
		judge(&status, 0, err);
	else
		error_set(err, ERROR_RETRY, 0, "an ERROR event that cannot be decoded");
}
