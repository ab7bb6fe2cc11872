/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Most reports repeat the one before, so there are two ways through. The short one
 * (controller/body_digest.h) knows a body again by its digest and reads only the sequence number. The
 * long one decodes and compares; a report that differs only in its times of reading, or in figures of
 * the moment, is unchanged too. Either way the loop learns only that the node was heard of, and not
 * more often than it can tell apart.
 *
 * So the times in the loop's copy of a report are those of its first arrival. What depends on how long
 * ago something was read must count from there by the controller's clock. Two things are sent with the
 * refresh. The time of the last List says which pods the names in it can mean. The figures of the
 * devices are for /metrics: they cause no join and no write. What a heartbeat costs is in
 * controller/README.md.
 *
 * Between head and body of a request, its node's record is only a pointer in the request. The
 * record does not make room while a body of its node is being read (controller/senders.h).
 */

#include "controller/receiver.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/sbuf.h"
#include "controller/agent_series.h"
#include "controller/senders.h"
#include "controller/shared_report.h"
#include "schema/report_doc.h"
#include "wire/jout.h"

/* Decoded, a report is larger than its text: each short entry becomes a struct. */
#define ARENA_CAP (16u * LIMIT_MIB)
#define RETRY_AFTER_S 5u
#define MEMORY_RETRY_AFTER_S 10u /* what is kept of others does not go at once */
#define ERROR_TEXT 512u

struct receiver {
	struct loop *loop;
	struct receiver_config config;
	struct admission *admission;
	struct loop_timer *review_timer;
	struct senders senders;
	struct memory_account *bodies;  /* memory of bodies being read, */
	struct memory_account *reports; /* of decoded reports, wherever they are */
	uint32_t heartbeat_s;
	bool leads;
	char trouble[256];
};

static void count(const struct receiver *receiver, enum receiver_outcome outcome)
{
	if (receiver->config.metrics)
		metric_increment(receiver->config.metrics, receiver->config.metric, outcome);
}

/* How a report is refused. */
struct refusal {
	enum receiver_outcome outcome;
	int status;
	uint32_t retry_after_s;
	const char *allow;
	struct view reason;
};

/*
 * Whose answer waits: that of a node which asks too often, or whose report was read for nothing. Else it
 * could take all of the front's time.
 */
static bool is_delayed(enum receiver_outcome outcome, struct view node)
{
	return node.len > 0 && (outcome == RECEIVER_THROTTLED || outcome == RECEIVER_MALFORMED);
}

static void refuse(struct receiver *receiver, struct server_request *request, struct view node,
		   const struct refusal *refusal)
{
	CLEANUP(sbuf_deinit) struct sbuf body;
	struct jout out;
	sbuf_init(&body, 8 * ERROR_TEXT);
	jout_init(&out, &body);
	jout_object(&out);
	jout_member_text(&out, "error", refusal->reason);
	jout_object_end(&out);
	count(receiver, refusal->outcome);
	LOG_WARN("Report refused", LOG_I64("status", refusal->status),
		 LOG_TEXT("reason", refusal->reason), LOG_TEXT("node", node),
		 LOG_TEXT("peer", server_request_peer(request)));
	server_answer(request, &(struct server_answer){
				       .status = refusal->status,
				       .content_type = "application/json",
				       .body = sbuf_view(&body),
				       .retry_after_s = refusal->retry_after_s,
				       .allow = refusal->allow,
				       .is_delayed = is_delayed(refusal->outcome, node),
			       });
}

static void refuse_unavailable(struct receiver *receiver, struct server_request *request,
			       struct view node, const char *reason)
{
	refuse(receiver, request, node,
	       &(struct refusal){RECEIVER_UNAVAILABLE, 503, RETRY_AFTER_S, NULL, view_from(reason)});
}

static void refuse_throttled(struct receiver *receiver, struct server_request *request,
			     struct view node, const char *reason)
{
	refuse(receiver, request, node,
	       &(struct refusal){RECEIVER_THROTTLED, 429, 1, NULL, view_from(reason)});
}

static void refuse_text(struct receiver *receiver, struct server_request *request,
			struct view node, enum receiver_outcome outcome, int status,
			const char *reason)
{
	refuse(receiver, request, node,
	       &(struct refusal){outcome, status, 0, NULL, view_from(reason)});
}

/* The head */

static bool is_json(struct view content_type)
{
	struct view type, parameters;
	view_cut(content_type, VIEW(";"), &type, &parameters);
	return view_equal_ignoring_case(view_trim(type), VIEW("application/json"));
}

/* False when it was refused. */
static bool check_form(struct receiver *receiver, struct server_request *request,
		       const struct server_head *head)
{
	const struct view none = {NULL, 0};
	if (!view_equal(head->path, VIEW("/v1/report")))
		refuse_text(receiver, request, none, RECEIVER_NOT_FOUND, 404,
			    "unknown path: reports go to POST /v1/report");
	else if (!view_equal(head->method, VIEW("POST")))
		refuse(receiver, request, none,
		       &(struct refusal){RECEIVER_NOT_FOUND, 405, 0, "POST",
					 VIEW("only POST is allowed")});
	else if (!is_json(head->content_type))
		refuse_text(receiver, request, none, RECEIVER_MEDIA_TYPE, 415,
			    "the Content-Type must be application/json");
	else if (head->content_length < 0)
		refuse_text(receiver, request, none, RECEIVER_NO_LENGTH, 411,
			    "a Content-Length is required");
	else
		return true;
	return false;
}

static void admit_body(struct receiver *receiver, struct server_request *request,
		       struct sender *sender)
{
	struct view node = senders_name(sender);
	switch (senders_admit(sender, server_request_body_size(request),
			      loop_now_ms(receiver->loop))) {
	case SENDERS_ADMITTED:
		server_request_set_data(request, sender);
		server_proceed(request);
		break;
	case SENDERS_TOO_OFTEN:
		refuse_throttled(receiver, request, node, "this node reports too often");
		break;
	case SENDERS_TOO_MUCH:
		refuse_throttled(receiver, request, node, "too many bytes of this node are being read");
		break;
	case SENDERS_FULL:
		refuse_throttled(receiver, request, node, "no memory for a body of this size");
		break;
	}
}

static void admit(struct receiver *receiver, struct server_request *request,
		  const struct identity *identity)
{
	uint64_t now_ms = loop_now_ms(receiver->loop);
	struct view node = identity_node(identity);
	if (identity->outcome == IDENTITY_UNAUTHENTICATED) {
		refuse_text(receiver, request, node, RECEIVER_UNAUTHENTICATED, 401,
			    identity->reason);
		return;
	}
	if (identity->outcome == IDENTITY_FORBIDDEN) {
		refuse_text(receiver, request, node, RECEIVER_FORBIDDEN, 403, identity->reason);
		return;
	}
	if (!server_vouch(request, node)) {
		refuse_throttled(receiver, request, node, "this node has too many connections in use");
		return;
	}
	struct sender *sender = senders_use(&receiver->senders, node, now_ms);
	if (sender)
		admit_body(receiver, request, sender);
	else
		refuse_unavailable(receiver, request, node, "node limit of the controller reached");
}

static bool on_review(void *owner, uint64_t ticket, struct view token)
{
	struct receiver *receiver = owner;
	return receiver->config.admission.review(receiver->config.owner, ticket, token);
}

/* A request need wait no longer for the review of its token. */
static void on_decided(void *owner, void *request, const struct identity *identity)
{
	struct receiver *receiver = owner;
	const struct view none = {NULL, 0};
	if (identity)
		admit(receiver, request, identity);
	else
		refuse_unavailable(receiver, request, none,
				   "the token could not be reviewed: the API server does not answer");
}

static void set_review_timer(struct receiver *receiver, uint64_t next_ms, uint64_t now_ms)
{
	if (next_ms == UINT64_MAX)
		loop_timer_clear(receiver->review_timer);
	else
		loop_timer_set(receiver->review_timer, next_ms > now_ms ? next_ms - now_ms : 0);
}

static void on_review_timer(void *owner)
{
	struct receiver *receiver = owner;
	uint64_t now_ms = loop_now_ms(receiver->loop);
	set_review_timer(receiver, admission_expire(receiver->admission, now_ms), now_ms);
}

static void ask(struct receiver *receiver, struct server_request *request,
		const struct admission_question *question)
{
	const struct view none = {NULL, 0};
	const struct identity *identity;
	switch (admission_ask(receiver->admission, question, &identity)) {
	case ADMISSION_KNOWN:
		admit(receiver, request, identity);
		break;
	case ADMISSION_TOO_OFTEN:
		refuse_throttled(receiver, request, none, "too many new tokens from this address");
		break;
	case ADMISSION_CROWDED:
		refuse_throttled(receiver, request, none,
				 "too many new tokens from addresses that no good one came from");
		break;
	case ADMISSION_BUSY:
		refuse_unavailable(receiver, request, none, "too many tokens are being reviewed");
		break;
	case ADMISSION_WAIT:
		if (!loop_timer_is_set(receiver->review_timer))
			loop_timer_set(receiver->review_timer,
				       receiver->config.admission.timeout_ms);
		break;
	}
}

static void on_head(void *owner, struct server_request *request, const struct server_head *head)
{
	struct receiver *receiver = owner;
	const struct view none = {NULL, 0};
	struct view token;
	if (!check_form(receiver, request, head))
		return;
	if (!identity_parse_bearer(head->authorization, &token)) {
		refuse_text(receiver, request, none, RECEIVER_UNAUTHENTICATED, 401,
			    "a bearer token is required");
		return;
	}
	if (receiver->trouble[0]) {
		refuse_unavailable(receiver, request, none, receiver->trouble);
		return;
	}
	ask(receiver, request, &(struct admission_question){
		.token = token,
		.network = head->network,
		.is_known = head->is_known,
		.request = request,
		.now_ms = loop_now_ms(receiver->loop),
		.now_wall_ms = clock_wall_ms(),
	});
}

/* The body */

/*
 * A replica that does not lead keeps the report and says nothing. The agent goes on sending events until
 * the one that writes them has taken them over, and keeps the heartbeat that the leader set.
 */
static void answer_accepted(const struct receiver *receiver, struct server_request *request,
			    const struct sender *sender)
{
	char body[96] = "{}";
	int len = 2;
	if (receiver->leads)
		len = snprintf(body, sizeof(body),
			       "{\"heartbeatSeconds\":%u,\"acknowledgedEvents\":%lld}",
			       receiver->heartbeat_s, (long long)sender->acknowledged);
	assert(len > 0 && (size_t)len < sizeof(body));
	if (receiver->config.metrics)
		metric_observe(receiver->config.metrics, receiver->config.durations, 0,
			       server_request_seconds(request));
	server_answer(request, &(struct server_answer){.status = 200,
						       .content_type = "application/json",
						       .body = {body, (size_t)len},
						       .idle_long = true});
}

/* Says that the node was heard of. What finds no room is said with the next heartbeat. */
static void refresh(struct receiver *receiver, struct sender *sender, uint64_t now_ms)
{
	const struct receiver_refresh told = {
		.node = senders_name(sender),
		.listed_at = sender->listed_at,
		.of = sender->last,
		.figures = sender->figures,
	};

	if (!receiver->config.refresh(receiver->config.owner, &told))
		return;
	sender->figures = NULL;
	sender->refreshed_at_ms = now_ms;
}

static void accept_unchanged(struct receiver *receiver, struct server_request *request,
			     struct sender *sender)
{
	uint64_t now_ms = loop_now_ms(receiver->loop);

	if (now_ms - sender->refreshed_at_ms >= receiver->config.refresh_ms)
		refresh(receiver, sender, now_ms);
	count(receiver, RECEIVER_UNCHANGED);
	answer_accepted(receiver, request, sender);
}

static void refuse_stale(struct receiver *receiver, struct server_request *request,
			 const struct sender *sender, const struct report_order_mark *mark)
{
	char reason[ERROR_TEXT];
	snprintf(reason, sizeof(reason),
		 "older than the last report: instance %lld, sequence %lld of this boot is newer",
		 (long long)sender->order.instance, (long long)sender->order.sequence);
	if (!report_order_is_instance(&sender->order, mark->boot_id, sender->order.instance))
		snprintf(reason, sizeof(reason), "older than the last report: the node has booted since");
	refuse_text(receiver, request, senders_name(sender), RECEIVER_STALE, 409, reason);
}

static void receive_alike(struct receiver *receiver, struct server_request *request,
			  struct sender *sender, int64_t sequence)
{
	const struct report_order_mark mark = {
		.boot_id = {sender->order.boot.id, sender->order.boot.len},
		.instance = sender->order.instance,
		.sequence = sequence,
		.observed_at = sender->order.observed_at, /* not read: it was not before */
	};
	if (!report_order_is_new(&sender->order, &mark)) {
		refuse_stale(receiver, request, sender, &mark);
		return;
	}
	report_order_accept(&sender->order, &mark);
	accept_unchanged(receiver, request, sender);
}

static struct shared_report *decode(struct view body, struct error *err)
{
	CLEANUP(shared_report_unrefp) struct shared_report *report = shared_report_new(ARENA_CAP, err);
	if (!report || report_doc_decode(body, &report->arena, &report->report, err) != 0)
		return NULL;
	return TAKE(report);
}

/* Takes the report's place in the order; a new agent process numbers its events anew. */
static void accept_order(struct sender *sender, const struct report_order_mark *mark)
{
	if (!report_order_is_instance(&sender->order, mark->boot_id, mark->instance))
		sender->acknowledged = 0;
	report_order_accept(&sender->order, mark);
}

static void refuse_memory(struct receiver *receiver, struct server_request *request,
			  struct view node)
{
	refuse(receiver, request, node,
	       &(struct refusal){RECEIVER_THROTTLED, 429, MEMORY_RETRY_AFTER_S, NULL,
				 VIEW("no memory for a report of this size")});
}

/* A report that says something new. False: there was no room for it, and the request was answered. */
static bool hand_over(struct receiver *receiver, struct server_request *request,
		      struct sender *sender, struct shared_report *report)
{
	if (!shared_report_charge(report, sender->reports, sender->last_charged)) {
		refuse_memory(receiver, request, senders_name(sender));
		return false;
	}
	if (!receiver->config.hand_over(receiver->config.owner, shared_report_ref(report))) {
		shared_report_unref(report);
		refuse_unavailable(receiver, request, senders_name(sender),
				   "too many reports are waiting");
		return false;
	}
	senders_keep_report(sender, report);
	sender->refreshed_at_ms = loop_now_ms(receiver->loop);
	return true;
}

static void receive_decoded(struct receiver *receiver, struct server_request *request,
			    struct sender *sender, struct shared_report *received,
			    struct view body)
{
	const struct report *report = &received->report;
	const struct report_order_mark mark = {report->boot_id, report->instance, report->sequence,
					       report->observed_at};
	struct error err;
	if (!view_equal(report->node, senders_name(sender))) {
		refuse_text(receiver, request, senders_name(sender), RECEIVER_FORBIDDEN, 403,
			    "the token is bound to another node than the one in the report");
		return;
	}
	if (!report_order_is_new(&sender->order, &mark)) {
		refuse_stale(receiver, request, sender, &mark);
		return;
	}
	bool same = sender->last && report_doc_same_evidence(&sender->last->report, report);
	if (same && senders_keep_figures(sender, report, &err) < 0) {
		refuse_unavailable(receiver, request, senders_name(sender), err.text);
		return;
	}
	if (!same && !hand_over(receiver, request, sender, received))
		return;
	accept_order(sender, &mark);
	body_digest_learn(&sender->body_digest, body, report->sequence);
	sender->listed_at = report->sources.pod_resources.observed_at;
	sender->counts = agent_counts_of(report);
	if (same) {
		accept_unchanged(receiver, request, sender);
		return;
	}
	count(receiver, RECEIVER_ACCEPTED);
	answer_accepted(receiver, request, sender);
}

static void on_request(void *owner, struct server_request *request, const struct server_head *head,
		       struct view body)
{
	(void)head;
	struct receiver *receiver = owner;
	struct sender *sender = server_request_data(request);
	struct error err;
	int64_t sequence;
	if (sender->last && body_digest_match(&sender->body_digest, body, &sequence)) {
		receive_alike(receiver, request, sender, sequence);
		return;
	}
	if (!senders_admit_change(&receiver->senders, sender, loop_now_ms(receiver->loop))) {
		refuse_throttled(receiver, request, senders_name(sender),
				 "this node reports changes too often");
		return;
	}
	CLEANUP(shared_report_unrefp) struct shared_report *report = decode(body, &err);
	if (report)
		receive_decoded(receiver, request, sender, report, body);
	else if (err.kind == ERROR_NO_MEMORY)
		refuse_unavailable(receiver, request, senders_name(sender), err.text);
	else
		refuse_text(receiver, request, senders_name(sender), RECEIVER_MALFORMED, 400,
			    err.text);
}

static void on_done(void *owner, struct server_request *request)
{
	(void)owner;
	senders_release(server_request_data(request), server_request_body_size(request));
}

/* The receiver */

static void receiver_freep(struct receiver **receiver)
{
	receiver_free(*receiver);
}

static int make_senders(struct receiver *receiver, struct error *err)
{
	const struct receiver_config *config = &receiver->config;

	receiver->bodies = memory_account_new(config->max_body_bytes, err);
	receiver->reports = receiver->bodies ? memory_account_new(config->max_report_bytes, err)
					     : NULL;
	if (!receiver->reports)
		return -1;
	senders_init(&receiver->senders,
		     &(struct senders_config){
			     .cap = config->max_nodes,
			     .changes_per_second = config->reports_per_second,
			     .bodies = receiver->bodies,
			     .reports = receiver->reports,
		     });
	return 0;
}

int receiver_new(struct loop *loop, const struct receiver_config *config,
		 struct receiver **ret_receiver, struct error *err)
{
	CLEANUP(receiver_freep) struct receiver *receiver = calloc(1, sizeof(*receiver));
	if (!receiver)
		return error_no_memory(err);
	receiver->loop = loop;
	receiver->config = *config;
	receiver_set_trouble(receiver, VIEW("starting"));
	struct admission_config admission = config->admission;
	admission.review = on_review;
	admission.decided = on_decided;
	admission.owner = receiver;
	if (make_senders(receiver, err) != 0 ||
	    admission_new(&admission, &receiver->admission, err) != 0 ||
	    loop_timer_new(loop, on_review_timer, receiver, &receiver->review_timer, err) != 0)
		return -1;
	*ret_receiver = TAKE(receiver);
	return 0;
}

void receiver_free(struct receiver *receiver)
{
	if (!receiver)
		return;
	admission_free(receiver->admission);
	loop_timer_free(receiver->review_timer);
	if (receiver->reports)
		senders_deinit(&receiver->senders);
	memory_account_unref(receiver->bodies);
	memory_account_unref(receiver->reports);
	free(receiver);
}

struct server_handler receiver_handler(struct receiver *receiver)
{
	return (struct server_handler){receiver, on_head, on_request, on_done};
}

void receiver_set_trouble(struct receiver *receiver, struct view trouble)
{
	size_t len = trouble.len < sizeof(receiver->trouble) ? trouble.len
							      : sizeof(receiver->trouble) - 1;
	memcpy(receiver->trouble, trouble.ptr ? trouble.ptr : "", len);
	receiver->trouble[len] = '\0';
}

void receiver_set_heartbeat(struct receiver *receiver, uint32_t seconds)
{
	receiver->heartbeat_s = seconds;
}

void receiver_set_leads(struct receiver *receiver, bool leads)
{
	receiver->leads = leads;
}

void receiver_answer_review(struct receiver *receiver, uint64_t ticket,
			    const struct identity *identity)
{
	admission_answer(receiver->admission, ticket, identity, loop_now_ms(receiver->loop),
			 clock_wall_ms());
}

void receiver_forget(struct receiver *receiver, struct view node)
{
	if (node.len == 0) {
		senders_forget_reports(&receiver->senders);
		return;
	}
	struct sender *sender = senders_find(&receiver->senders, node);
	if (sender)
		senders_forget_report(sender);
}

void receiver_set_order(struct receiver *receiver, const struct receiver_order *order)
{
	bool has_mark = order->last.boot_id.len > 0;
	struct sender *sender = has_mark ? senders_use(&receiver->senders, order->node,
						       loop_now_ms(receiver->loop))
					 : senders_find(&receiver->senders, order->node);
	if (!sender)
		return;
	report_order_set_named(&sender->order, order->named_boot);
	if (has_mark)
		report_order_restore(&sender->order, &order->last);
}

void receiver_acknowledge(struct receiver *receiver,
			  const struct receiver_acknowledgement *acknowledgement)
{
	struct sender *sender = senders_find(&receiver->senders, acknowledgement->node);
	if (sender &&
	    report_order_is_instance(&sender->order, acknowledgement->boot_id,
				     acknowledgement->instance) &&
	    acknowledgement->sequence > sender->acknowledged)
		sender->acknowledged = acknowledgement->sequence;
}

size_t receiver_nodes(const struct receiver *receiver)
{
	return receiver->senders.table.count;
}

struct memory_account_state receiver_body_memory(const struct receiver *receiver)
{
	return memory_account_state(receiver->bodies);
}

struct memory_account_state receiver_report_memory(const struct receiver *receiver)
{
	return memory_account_state(receiver->reports);
}

struct admission_counters receiver_admissions(const struct receiver *receiver)
{
	return admission_counters(receiver->admission);
}

size_t receiver_tokens(const struct receiver *receiver)
{
	return admission_count(receiver->admission);
}

void receiver_render_agents(const struct receiver *receiver, struct sbuf *buf)
{
	agent_series_render(&receiver->senders, loop_now_ms(receiver->loop), buf);
}
