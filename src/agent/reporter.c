/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The connection is kept between reports while all is well. After anything but a 200 it is closed, and
 * the next report gets a new one: behind a Service that may reach the replica that leads. (libcurl does not
 * reuse a connection that was made under other authorities.) Where a connection cannot be watched, the
 * next heartbeat finds out.
 */

#include "agent/reporter.h"

#include <assert.h>
#include <stdlib.h>

#include "base/limits.h"
#include "io/file.h"
#include "wire/jmap.h"
#include "wire/jmap_decode.h"

#define ANSWER_CAP (64u * LIMIT_KIB)
#define ANSWER_DEPTH 8u
#define REFUSAL_CAP 128u
/*
 * A controller's pod that has just gone leaves an address behind that swallows what is sent to it,
 * until the Service knows. Only a new attempt reaches the new pod.
 */
#define CONNECT_TIMEOUT_MS 3000u

struct reporter {
	struct fetcher *fetcher;
	struct reporter_config config;
	struct reporter_handler handler;
	struct fetch *fetch; /* NULL: none under way */
	struct fetch_watch *watch; /* of the connection between two reports; NULL: none */
	struct sbuf answer;
};

/* What a report's answer may hold. */
struct answer_body {
	int64_t heartbeat_s;
	int64_t acknowledged_events;
	struct view error;
};

static const struct jmap_row answer_rows[] = {
	{"heartbeatSeconds", JMAP_I64, 0, JMAP_AT(answer_body, heartbeat_s)},
	{"acknowledgedEvents", JMAP_I64, JMAP_OR_MINUS_ONE,
	 JMAP_AT(answer_body, acknowledged_events)},
	{"error", JMAP_TEXT, 0, JMAP_AT(answer_body, error), .limit = ANSWER_CAP},
	{0},
};

/* What is not JSON, or not ours, says nothing: the status alone then counts. */
static struct answer_body read_body(struct view json, struct arena *arena)
{
	struct answer_body body = {0};
	struct error ignored;
	if (jmap_decode(json, ANSWER_DEPTH, answer_rows, arena, &body, sizeof(body), &ignored) < 0)
		return (struct answer_body){.acknowledged_events = -1};
	return body;
}

static void explain_refusal(const struct fetch_result *result, struct view reason,
			    struct error *err)
{
	enum error_kind kind = result->status == 401 || result->status == 403 ? ERROR_DENIED
										: ERROR_RETRY;
	if (reason.len > REFUSAL_CAP)
		reason.len = REFUSAL_CAP;
	error_set(err, kind, 0, "HTTP status %d%s%.*s", result->status, reason.len ? ": " : "",
		  VIEW_ARG(reason));
}

static void on_disconnected(void *owner)
{
	struct reporter *reporter = owner;
	fetch_watch_free(TAKE(reporter->watch));
	reporter->handler.disconnected(reporter->handler.owner);
}

static void watch_connection(struct reporter *reporter)
{
	struct error ignored;
	if (fetch_watch_new(reporter->fetch, on_disconnected, reporter, &reporter->watch, &ignored) < 0)
		reporter->watch = NULL;
}

static void finish(void *owner, const struct fetch_result *result)
{
	struct reporter *reporter = owner;
	CLEANUP(arena_deinit) struct arena arena;
	arena_init(&arena, 2 * ANSWER_CAP);
	struct answer_body body = read_body(sbuf_view(&reporter->answer), &arena);
	struct reporter_answer answer = {.acknowledged_events = -1};
	if (result->failed) {
		answer.error = result->error;
	} else {
		answer.delivery.status = result->status;
		answer.delivery.retry_after_ms = result->retry_after_ms;
		answer.delivery.is_new_connection = result->is_new_connection;
	}
	if (answer.delivery.status == 200) {
		watch_connection(reporter);
		answer.delivery.heartbeat_s = body.heartbeat_s;
		answer.acknowledged_events = body.acknowledged_events;
	} else if (!result->failed) {
		explain_refusal(result, body.error, &answer.error);
	}
	reporter->fetch = NULL;
	reporter->handler.answered(reporter->handler.owner, &answer);
}

static void see_head(void *owner, const struct fetch_result *head)
{
	struct reporter *reporter = owner;
	if (head->status != 200)
		fetch_forbid_reuse(reporter->fetch);
}

static int take_body(void *owner, struct view bytes, struct error *err)
{
	struct reporter *reporter = owner;
	sbuf_append(&reporter->answer, bytes);
	return sbuf_check(&reporter->answer, "the controller's answer", err);
}

static void freep(struct reporter **reporter)
{
	reporter_free(*reporter);
}

int reporter_new(struct fetcher *fetcher, const struct reporter_config *config,
		 const struct reporter_handler *handler, struct reporter **ret_reporter,
		 struct error *err)
{
	CLEANUP(freep) struct reporter *reporter = calloc(1, sizeof(*reporter));
	if (!reporter)
		return error_no_memory(err);
	reporter->fetcher = fetcher;
	reporter->config = *config;
	reporter->handler = *handler;
	sbuf_init(&reporter->answer, ANSWER_CAP);
	*ret_reporter = TAKE(reporter);
	return 0;
}

void reporter_free(struct reporter *reporter)
{
	if (!reporter)
		return;
	fetch_cancel(reporter->fetch);
	fetch_watch_free(reporter->watch);
	sbuf_deinit(&reporter->answer);
	free(reporter);
}

/* "Authorization: Bearer ..." with the token as it is in its file now. */
static int read_token(const struct reporter *reporter, struct sbuf *header, struct error *err)
{
	CLEANUP(sbuf_deinit) struct sbuf token;
	sbuf_init_secret(&token, LIMIT_TOKEN_BYTES);
	if (file_read(reporter->config.token_file, &token, err) < 0)
		return error_wrap(err, "token");
	struct view text = view_trim(sbuf_view(&token));
	if (text.len == 0)
		return error_set(err, ERROR_DENIED, 0,
				 "token file %s is empty: mount a projected service account token",
				 reporter->config.token_file);
	sbuf_append(header, VIEW("Authorization: Bearer "));
	sbuf_append(header, text);
	sbuf_append_char(header, '\0');
	return sbuf_check(header, "token", err);
}

static int read_authorities(const struct reporter *reporter, struct sbuf *pem, struct error *err)
{
	if (!reporter->config.ca_file[0])
		return 0;
	if (file_read(reporter->config.ca_file, pem, err) < 0)
		return error_wrap(err, "authorities");
	if (pem->len == 0)
		return error_set(err, ERROR_REJECTED, 0, "CA file %s is empty: mount the controller's CA certificate",
				 reporter->config.ca_file);
	return 0;
}

static int start(struct reporter *reporter, const char *authorization, struct view pem,
		 struct view body, struct error *err)
{
	CLEANUP(sbuf_deinit) struct sbuf url;
	sbuf_init(&url, LIMIT_URL);
	sbuf_printf(&url, "%s/v1/report", reporter->config.controller);
	const char *url_text = sbuf_text(&url);
	if (!url_text)
		return sbuf_check(&url, "URL", err);
	const char *const headers[] = {"Content-Type: application/json", authorization, NULL};
	const char *server_name = reporter->config.server_name;
	const struct fetch_request request = {
		.method = "POST",
		.url = url_text,
		.connect_to = reporter->config.address,
		.headers = headers,
		.body = body,
		.protocol = FETCH_HTTP1,
		.connect_timeout_ms = CONNECT_TIMEOUT_MS,
		.total_timeout_ms = reporter->config.timeout_ms,
		.ca_pem = pem,
		.server_name = server_name[0] ? server_name : NULL,
	};
	const struct fetch_handler handler = {reporter, see_head, take_body, finish};
	sbuf_clear(&reporter->answer);
	return fetch_start(reporter->fetcher, &request, &handler, &reporter->fetch, err);
}

int reporter_post(struct reporter *reporter, struct view body, struct error *err)
{
	assert(!reporter->fetch);
	CLEANUP(sbuf_deinit) struct sbuf authorization;
	CLEANUP(sbuf_deinit) struct sbuf pem;
	sbuf_init_secret(&authorization, LIMIT_TOKEN_BYTES + 64);
	sbuf_init(&pem, LIMIT_FILE_BYTES);
	if (read_token(reporter, &authorization, err) < 0 ||
	    read_authorities(reporter, &pem, err) < 0)
		return -1;
	fetch_watch_free(TAKE(reporter->watch));
	return start(reporter, authorization.ptr, sbuf_view(&pem), body, err);
}
