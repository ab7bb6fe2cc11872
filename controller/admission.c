/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Few reviews are under way, and all have the same time to live. So a list in the order of their
 * start is also the order in which they expire, and is short enough to be searched.
 *
 * Telling a request may bring the next one of its connection, which may ask here again. So a review
 * leaves the list before its requests are told, and its own list of them is consumed from the
 * front.
 *
 * A token has expired for sure only if two clocks agree: ours, and that of the API server, which has
 * accepted a token that was issued later. One clock that is wrong refuses nobody.
 */

#include "controller/admission.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/sbuf.h"
#include "schema/token_claims.h"

/* Before its end a token is not believed unseen: clocks differ, and its review took a while. */
#define TOKEN_MARGIN_S 10

struct waiter {
	struct list link;
	void *request;
};

struct review {
	struct list link;
	struct list waiters;
	uint64_t ticket;
	uint64_t deadline_ms;
	int64_t token_end; /* seconds since 1970; INT64_MAX: the token does not say */
	int64_t token_begin;
	struct review_quota_place place;
	unsigned char digest[TLS_DIGEST_SIZE];
};

struct admission {
	struct admission_config config;
	struct identity_cache *cache;
	struct list reviews;
	size_t n_reviews;
	size_t n_waiting;
	uint64_t last_ticket;
	struct review_quota quota;
	struct admission_counters counters;
	int64_t last_begin;       /* of the tokens that were accepted the one that was issued last */
	struct identity foreseen; /* the last one */
};

int admission_new(const struct admission_config *config, struct admission **ret_admission,
		  struct error *err)
{
	struct identity_cache *cache;
	if (identity_cache_new(&config->cache, &cache, err) != 0)
		return -1;
	struct admission *admission = malloc(sizeof(*admission));
	if (!admission) {
		identity_cache_free(cache);
		return error_no_memory(err);
	}
	*admission = (struct admission){
		.config = *config, .cache = cache, .last_begin = INT64_MIN};
	review_quota_init(&admission->quota, &config->quota);
	list_init(&admission->reviews);
	*ret_admission = admission;
	return 0;
}

static struct waiter *take_waiter(struct admission *admission, struct review *review)
{
	struct list *link = list_first(&review->waiters);
	if (!link)
		return NULL;
	list_remove(link);
	admission->n_waiting--;
	return CONTAINER_OF(link, struct waiter, link);
}

static void remove_review(struct admission *admission, struct review *review,
			  const struct identity *identity)
{
	list_remove(&review->link);
	admission->n_reviews--;
	review_quota_leave(&admission->quota, review->place,
			   identity && identity->outcome == IDENTITY_ACCEPTED);
}

static void end_review(struct admission *admission, struct review *review,
		       const struct identity *identity)
{
	remove_review(admission, review, identity);
	for (struct waiter *waiter = take_waiter(admission, review); waiter;
	     waiter = take_waiter(admission, review)) {
		void *request = waiter->request;
		free(waiter);
		admission->config.decided(admission->config.owner, request, identity);
	}
	free(review);
}

void admission_free(struct admission *admission)
{
	if (!admission)
		return;
	for (struct list *link = list_first(&admission->reviews); link;
	     link = list_first(&admission->reviews)) {
		struct review *review = CONTAINER_OF(link, struct review, link);
		remove_review(admission, review, NULL);
		for (struct waiter *waiter = take_waiter(admission, review); waiter;
		     waiter = take_waiter(admission, review))
			free(waiter);
		free(review);
	}
	review_quota_deinit(&admission->quota);
	identity_cache_free(admission->cache);
	free(admission);
}

static struct review *find_by_digest(struct admission *admission, const unsigned char *digest)
{
	struct list *head = &admission->reviews;
	for (struct list *link = head->next; link != head; link = link->next) {
		struct review *review = CONTAINER_OF(link, struct review, link);
		if (memcmp(review->digest, digest, sizeof(review->digest)) == 0)
			return review;
	}
	return NULL;
}

static struct review *find_by_ticket(struct admission *admission, uint64_t ticket)
{
	struct list *head = &admission->reviews;
	for (struct list *link = head->next; link != head; link = link->next) {
		struct review *review = CONTAINER_OF(link, struct review, link);
		if (review->ticket == ticket)
			return review;
	}
	return NULL;
}

/* A token that is to be reviewed. */
struct candidate {
	const struct admission_question *question;
	struct token_claims claims;
	unsigned char digest[TLS_DIGEST_SIZE];
};

static bool begin(struct admission *admission, struct review *review, struct view token)
{
	const struct admission_config *config = &admission->config;
	if (!config->review(config->owner, review->ticket, token))
		return false;
	admission->last_ticket++;
	list_init(&review->link);
	list_init(&review->waiters);
	list_append(&admission->reviews, &review->link);
	admission->n_reviews++;
	admission->counters.reviewed++;
	return true;
}

/* NULL: there is no room. */
static struct review *start_review(struct admission *admission, const struct candidate *candidate,
				   struct review_quota_place place)
{
	struct review *review = malloc(sizeof(*review));
	if (!review)
		return NULL;
	*review = (struct review){
		.ticket = admission->last_ticket + 1,
		.deadline_ms = candidate->question->now_ms + admission->config.timeout_ms,
		.token_end = candidate->claims.end,
		.token_begin = candidate->claims.begin,
		.place = place,
	};
	memcpy(review->digest, candidate->digest, sizeof(review->digest));
	if (begin(admission, review, candidate->question->token))
		return review;
	free(review);
	return NULL;
}

static enum admission_step refusal_of(enum review_quota_step step)
{
	if (step == REVIEW_QUOTA_TOO_OFTEN)
		return ADMISSION_TOO_OFTEN;
	return step == REVIEW_QUOTA_CROWDED ? ADMISSION_CROWDED : ADMISSION_BUSY;
}

/* ADMISSION_WAIT and the review, or why there is none. */
static enum admission_step make_review(struct admission *admission,
				       const struct candidate *candidate,
				       struct review **ret_review)
{
	const struct admission_question *question = candidate->question;
	struct review_quota_place place = {0};
	enum review_quota_step step = REVIEW_QUOTA_ADMITTED;
	if (admission->n_reviews >= admission->config.max_reviews)
		return ADMISSION_BUSY;
	if (!identity_cache_knows(admission->cache, candidate->digest))
		step = review_quota_enter(&admission->quota, question->network,
					  question->is_known, question->now_ms, &place);
	if (step != REVIEW_QUOTA_ADMITTED)
		return refusal_of(step);
	*ret_review = start_review(admission, candidate, place);
	if (*ret_review)
		return ADMISSION_WAIT;
	review_quota_leave(&admission->quota, place, true);
	return ADMISSION_BUSY;
}

static enum admission_step wait_for_review(struct admission *admission,
					   const struct candidate *candidate)
{
	enum admission_step step = ADMISSION_WAIT;
	struct waiter *waiter = NULL;
	if (admission->n_waiting < admission->config.max_waiting)
		waiter = malloc(sizeof(*waiter));
	if (!waiter)
		return ADMISSION_BUSY;
	struct review *review = find_by_digest(admission, candidate->digest);
	if (!review)
		step = make_review(admission, candidate, &review);
	if (step != ADMISSION_WAIT) {
		free(waiter);
		return step;
	}
	assert(review);
	waiter->request = candidate->question->request;
	list_init(&waiter->link);
	list_append(&review->waiters, &waiter->link);
	admission->n_waiting++;
	return ADMISSION_WAIT;
}

/* True when what the token says of itself refuses it. Without memory it does not. */
static bool foresee(struct admission *admission, struct candidate *candidate)
{
	CLEANUP(sbuf_deinit) struct sbuf payload;
	const struct identity_rules *rules = admission->config.rules;
	const int64_t now = candidate->question->now_wall_ms / 1000;
	const bool is_read =
		token_claims_read(candidate->question->token, &payload, &candidate->claims);
	if (!rules || payload.failure != ERROR_NONE)
		return false;
	return identity_foresee(rules, is_read ? &candidate->claims : NULL,
				now < admission->last_begin ? now : admission->last_begin,
				&admission->foreseen);
}

enum admission_step admission_ask(struct admission *admission,
				  const struct admission_question *question,
				  const struct identity **ret_identity)
{
	struct candidate candidate = {.question = question,
				      .claims = {.end = INT64_MAX, .begin = INT64_MIN}};
	struct error ignored;
	if (tls_digest(question->token, candidate.digest, &ignored) < 0)
		return ADMISSION_BUSY;
	const struct identity *identity =
		identity_cache_find(admission->cache, candidate.digest, question->now_ms);
	if (!identity && foresee(admission, &candidate)) {
		admission->counters.foreseen++;
		identity = &admission->foreseen;
	}
	if (identity) {
		*ret_identity = identity;
		return ADMISSION_KNOWN;
	}
	enum admission_step step = wait_for_review(admission, &candidate);
	admission->counters.busy += step == ADMISSION_BUSY;
	admission->counters.too_often += step == ADMISSION_TOO_OFTEN;
	admission->counters.crowded += step == ADMISSION_CROWDED;
	return step;
}

/* How long a token may be believed by what it says of its end. */
static uint64_t validity(int64_t token_end, int64_t now_wall_ms)
{
	int64_t now = now_wall_ms / 1000;
	if (token_end == INT64_MAX)
		return UINT64_MAX;
	if (token_end <= now || token_end - now <= TOKEN_MARGIN_S)
		return 0;
	uint64_t seconds = (uint64_t)token_end - (uint64_t)now - TOKEN_MARGIN_S;
	return seconds < UINT64_MAX / 1000 ? seconds * 1000 : UINT64_MAX;
}

void admission_answer(struct admission *admission, uint64_t ticket, const struct identity *identity,
		      uint64_t now_ms, int64_t now_wall_ms)
{
	struct review *review = find_by_ticket(admission, ticket);
	if (!review)
		return;
	if (identity)
		identity_cache_put(admission->cache, review->digest, identity,
				   validity(review->token_end, now_wall_ms), now_ms);
	if (identity && identity->outcome == IDENTITY_ACCEPTED &&
	    review->token_begin > admission->last_begin)
		admission->last_begin = review->token_begin;
	end_review(admission, review, identity);
}

uint64_t admission_expire(struct admission *admission, uint64_t now_ms)
{
	for (struct list *link = list_first(&admission->reviews); link;
	     link = list_first(&admission->reviews)) {
		struct review *review = CONTAINER_OF(link, struct review, link);
		if (review->deadline_ms > now_ms)
			return review->deadline_ms;
		end_review(admission, review, NULL);
	}
	return UINT64_MAX;
}

struct admission_counters admission_counters(const struct admission *admission)
{
	return admission->counters;
}

size_t admission_count(const struct admission *admission)
{
	return identity_cache_count(admission->cache);
}
