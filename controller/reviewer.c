/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/reviewer.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/log.h"
#include "controller/front.h"
#include "schema/token_review_doc.h"

#define PATH "/apis/authentication.k8s.io/v1/tokenreviews"

struct review {
	struct list link;
	struct reviewer *reviewer;
	struct apiclient_request *request;
	uint64_t ticket;
};

struct reviewer {
	struct apiclient *client;
	struct front *front;
	const char *audience;
	struct list reviews; /* struct review, under way */
};

int reviewer_new(struct apiclient *client, struct front *front, const char *audience,
		 struct reviewer **ret_reviewer, struct error *err)
{
	struct reviewer *reviewer = calloc(1, sizeof(*reviewer));

	if (!reviewer)
		return error_no_memory(err);
	reviewer->client = client;
	reviewer->front = front;
	reviewer->audience = audience;
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
static void tell_front(struct reviewer *reviewer, uint64_t ticket,
		       const struct token_review *verdict)
{
	struct error error = {0};

	if (front_answer_review(reviewer->front, ticket, verdict, &error) < 0)
		LOG_WARN("TokenReview result not passed to the front thread", LOG_ERROR_FIELD(&error));
}

static void say_trouble(const struct error *error)
{
	LOG_WARN("TokenReview failed", LOG_ERROR_FIELD(error),
		 LOG_TEXT("advice", error->kind == ERROR_DENIED
					    ? VIEW("grant the verb create on tokenreviews")
					    : VIEW("check the connection to the API server")));
}

static void answered(void *owner, int status, struct view body, const struct error *error)
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
		tell_front(review->reviewer, review->ticket, NULL);
	} else {
		tell_front(review->reviewer, review->ticket, &verdict);
	}
	review_free(review);
}

static int send_review(struct review *review, struct view token, struct error *err)
{
	CLEANUP(sbuf_deinit) struct sbuf body = {0};
	struct reviewer *reviewer = review->reviewer;
	struct apiclient_call call = {
		.method = "POST",
		.path = PATH,
		.content_type = "application/json",
	};

	sbuf_init(&body, 4 * LIMIT_TOKEN_BYTES);
	token_review_doc_encode(token, view_from(reviewer->audience), &body);
	if (sbuf_check(&body, "TokenReview", err) < 0)
		return -1;
	call.body = sbuf_view(&body);
	return apiclient_send(reviewer->client, &call, answered, review, &review->request, err);
}

void reviewer_review(struct reviewer *reviewer, uint64_t ticket, struct view token)
{
	struct review *review = calloc(1, sizeof(*review));
	struct error error = {0};

	if (!review) {
		tell_front(reviewer, ticket, NULL);
		return;
	}
	review->reviewer = reviewer;
	review->ticket = ticket;
	list_init(&review->link);
	list_append(&reviewer->reviews, &review->link);
	if (send_review(review, token, &error) == 0)
		return;
	say_trouble(&error);
	tell_front(reviewer, ticket, NULL);
	review_free(review);
}
