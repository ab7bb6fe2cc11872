/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/reviewer.h"

#include <assert.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/log.h"
#include "controller/front.h"
#include "schema/access_review_doc.h"
#include "schema/token_review_doc.h"

#define TOKENS_PATH "/apis/authentication.k8s.io/v1/tokenreviews"
#define ACCESS_PATH "/apis/authorization.k8s.io/v1/subjectaccessreviews"

struct review {
	struct list link;
	struct reviewer *reviewer;
	struct apiclient_request *request;
	uint64_t ticket;
	bool is_reader; /* of /metrics; else an agent */
};

struct reviewer {
	struct reviewer_config config;
	struct list reviews; /* struct review, under way; the oldest in front */
};

int reviewer_new(const struct reviewer_config *config, struct reviewer **ret_reviewer,
		 struct error *err)
{
	struct reviewer *reviewer = calloc(1, sizeof(*reviewer));

	assert(config->max_agents > 0 && config->max_readers > 0);
	if (!reviewer)
		return error_no_memory(err);
	reviewer->config = *config;
	list_init(&reviewer->reviews);
	*ret_reviewer = reviewer;
	return 0;
}

static void review_free(struct review *review)
{
	list_remove(&review->link);
	apiclient_cancel(review->request);
	free(review);
}

void reviewer_free(struct reviewer *reviewer)
{
	struct list *link;

	if (!reviewer)
		return;
	while ((link = list_first(&reviewer->reviews)))
		review_free(CONTAINER_OF(link, struct review, link));
	free(reviewer);
}

/* Without room for the answer the front lets the request end by its own time limit. */
static void say_untold(const struct error *error)
{
	LOG_WARN("TokenReview result not passed to the front thread", LOG_ERROR_FIELD(error));
}

static void tell_agent(const struct review *review, const struct token_review *verdict)
{
	struct error error = {0};

	if (front_answer_review(review->reviewer->config.front, review->ticket, verdict, &error) < 0)
		say_untold(&error);
}

static void tell_reader(const struct review *review, const struct identity *verdict)
{
	struct error error = {0};

	if (front_answer_reader(review->reviewer->config.front, review->ticket, verdict, &error) < 0)
		say_untold(&error);
}

static void tell_nothing(const struct review *review)
{
	if (review->is_reader)
		tell_reader(review, NULL);
	else
		tell_agent(review, NULL);
}

static void say_trouble(const struct error *error)
{
	LOG_WARN("TokenReview failed", LOG_ERROR_FIELD(error),
		 LOG_TEXT("advice", error->kind == ERROR_DENIED
					    ? VIEW("grant the verb create on tokenreviews")
					    : VIEW("check the connection to the API server")));
}

static void say_access_trouble(const struct error *error)
{
	LOG_WARN("SubjectAccessReview failed", LOG_ERROR_FIELD(error),
		 LOG_TEXT("advice", error->kind == ERROR_DENIED
					    ? VIEW("grant the verb create on subjectaccessreviews")
					    : VIEW("check the connection to the API server")));
}

static int post(struct review *review, const char *path, const struct sbuf *body,
		apiclient_answer_fn answered, struct error *err)
{
	const struct apiclient_call call = {
		.method = "POST",
		.path = path,
		.content_type = "application/json",
		.body = sbuf_view(body),
		/* Anybody may ask to read /metrics, with tokens that take an authenticator long. */
		.is_aside = review->is_reader,
	};

	if (sbuf_check(body, "review", err) < 0)
		return -1;
	return apiclient_send(review->reviewer->config.client, &call, answered, review,
			      &review->request, err);
}

static void on_access(void *owner, int status, struct view body, const struct error *error)
{
	CLEANUP(arena_deinit) struct arena arena = {0};
	struct review *review = owner;
	struct identity verdict = {.outcome = IDENTITY_ACCEPTED, .reason = ""};
	struct error failure = {0};
	bool allowed = false;

	(void)status;
	review->request = NULL;
	arena_init(&arena, LIMIT_OBJECT_BYTES);
	if (error)
		failure = *error;
	if (error || access_review_doc_decode(body, &arena, &allowed, &failure) < 0) {
		say_access_trouble(&failure);
		tell_reader(review, NULL);
	} else {
		if (!allowed)
			verdict = (struct identity){
				.outcome = IDENTITY_FORBIDDEN,
				.reason = "the token's user lacks the verb get on the nonResourceURL "
					  "/metrics: bind the ClusterRole "
					  "gpu-attribution-metrics-reader",
			};
		tell_reader(review, &verdict);
	}
	review_free(review);
}

/* Takes the review over. */
static void ask_access(struct review *review, const struct token_review *user)
{
	static const struct access_review_request read_metrics = {
		VIEW_INIT("/metrics"),
		VIEW_INIT("get"),
	};
	CLEANUP(sbuf_deinit) struct sbuf body = {0};
	struct error error = {0};

	sbuf_init(&body, LIMIT_OBJECT_BYTES);
	access_review_doc_encode(user, &read_metrics, &body);
	if (post(review, ACCESS_PATH, &body, on_access, &error) == 0)
		return;
	say_access_trouble(&error);
	tell_reader(review, NULL);
	review_free(review);
}

static void refuse_reader(struct review *review)
{
	static const struct identity unknown = {
		.outcome = IDENTITY_UNAUTHENTICATED,
		.reason = "the API server does not know the token",
	};

	tell_reader(review, &unknown);
	review_free(review);
}

static void on_token(void *owner, int status, struct view body, const struct error *error)
{
	CLEANUP(arena_deinit) struct arena arena = {0};
	struct review *review = owner;
	struct token_review verdict;
	struct error failure = {0};

	(void)status;
	review->request = NULL;
	arena_init(&arena, LIMIT_OBJECT_BYTES);
	if (error)
		failure = *error;
	if (error || token_review_doc_decode(body, &arena, &verdict, &failure) < 0) {
		say_trouble(&failure);
		tell_nothing(review);
	} else if (!review->is_reader) {
		tell_agent(review, &verdict);
	} else if (verdict.authenticated) {
		ask_access(review, &verdict);
		return;
	} else {
		refuse_reader(review);
		return;
	}
	review_free(review);
}

static int ask_token(struct review *review, struct view token, struct error *err)
{
	CLEANUP(sbuf_deinit) struct sbuf body = {0};
	/* Of no audience of ours: whoever reads /metrics has a token for the API server. */
	const char *audience = review->is_reader ? "" : review->reviewer->config.audience;

	sbuf_init_secret(&body, 4 * LIMIT_TOKEN_BYTES);
	token_review_doc_encode(token, view_from(audience), &body);
	return post(review, TOKENS_PATH, &body, on_token, err);
}

/* Ends the oldest review of those of its kind, if they are as many as there may be. */
static void make_room(struct reviewer *reviewer, bool is_reader)
{
	const uint32_t max = is_reader ? reviewer->config.max_readers : reviewer->config.max_agents;
	const struct list *head = &reviewer->reviews;
	struct review *oldest = NULL;
	uint32_t n = 0;

	for (struct list *link = head->next; link != head; link = link->next) {
		struct review *review = CONTAINER_OF(link, struct review, link);

		if (review->is_reader != is_reader)
			continue;
		oldest = oldest ? oldest : review;
		n++;
	}
	if (n < max)
		return;
	assert(oldest);
	tell_nothing(oldest);
	review_free(oldest);
}

static void begin(struct reviewer *reviewer, uint64_t ticket, struct view token, bool is_reader)
{
	struct review failed = {.reviewer = reviewer, .ticket = ticket, .is_reader = is_reader};
	struct review *review = malloc(sizeof(*review));
	struct error error = {0};

	make_room(reviewer, is_reader);
	if (!review) {
		tell_nothing(&failed);
		return;
	}
	*review = failed;
	list_init(&review->link);
	list_append(&reviewer->reviews, &review->link);
	if (ask_token(review, token, &error) == 0)
		return;
	say_trouble(&error);
	tell_nothing(review);
	review_free(review);
}

void reviewer_review(struct reviewer *reviewer, uint64_t ticket, struct view token)
{
	begin(reviewer, ticket, token, false);
}

void reviewer_review_reader(struct reviewer *reviewer, uint64_t ticket, struct view token)
{
	begin(reviewer, ticket, token, true);
}
