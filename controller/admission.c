/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Few reviews are under way, and all have the same time to live. So a list in the order of their
 * start is also the order in which they expire, and is short enough to be searched.
 *
 * Telling a request may bring the next one of its connection, which may ask here again. So a review
 * leaves the list before its requests are told, and its own list of them is consumed from the
 * front.
 */

#include "controller/admission.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"

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
	unsigned char digest[TLS_DIGEST_SIZE];
};

struct admission {
	struct admission_config config;
	struct identity_cache *cache;
	struct list reviews;
	size_t n_reviews;
	size_t n_waiting;
	uint64_t last_ticket;
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
	*admission = (struct admission){.config = *config, .cache = cache};
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

static void remove_review(struct admission *admission, struct review *review)
{
	list_remove(&review->link);
	admission->n_reviews--;
}

static void end_review(struct admission *admission, struct review *review,
		       const struct identity *identity)
{
	remove_review(admission, review);
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
		remove_review(admission, review);
		for (struct waiter *waiter = take_waiter(admission, review); waiter;
		     waiter = take_waiter(admission, review))
			free(waiter);
		free(review);
	}
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

static struct review *start_review(struct admission *admission, struct view token,
				   const unsigned char *digest, uint64_t now_ms)
{
	const struct admission_config *config = &admission->config;
	if (admission->n_reviews >= config->max_reviews)
		return NULL;
	struct review *review = malloc(sizeof(*review));
	if (!review)
		return NULL;
	*review = (struct review){
		.ticket = admission->last_ticket + 1,
		.deadline_ms = now_ms + config->timeout_ms,
		.token_end = INT64_MAX,
	};
	(void)identity_token_end(token, &review->token_end);
	memcpy(review->digest, digest, sizeof(review->digest));
	if (!config->review(config->owner, review->ticket, token)) {
		free(review);
		return NULL;
	}
	admission->last_ticket++;
	list_init(&review->link);
	list_init(&review->waiters);
	list_append(&admission->reviews, &review->link);
	admission->n_reviews++;
	return review;
}

enum admission_step admission_ask(struct admission *admission, struct view token, void *request,
				  uint64_t now_ms, const struct identity **ret_identity)
{
	unsigned char digest[TLS_DIGEST_SIZE];
	tls_digest(token, digest);
	const struct identity *identity = identity_cache_find(admission->cache, digest, now_ms);
	if (identity) {
		*ret_identity = identity;
		return ADMISSION_KNOWN;
	}
	struct waiter *waiter = NULL;
	if (admission->n_waiting < admission->config.max_waiting)
		waiter = malloc(sizeof(*waiter));
	if (!waiter)
		return ADMISSION_BUSY;
	struct review *review = find_by_digest(admission, digest);
	if (!review)
		review = start_review(admission, token, digest, now_ms);
	if (!review) {
		free(waiter);
		return ADMISSION_BUSY;
	}
	waiter->request = request;
	list_init(&waiter->link);
	list_append(&review->waiters, &waiter->link);
	admission->n_waiting++;
	return ADMISSION_WAIT;
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

size_t admission_count(const struct admission *admission)
{
	return identity_cache_count(admission->cache);
}
