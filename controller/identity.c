/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Verdicts are kept in a hash table by digest. Two lists run through its entries, one of accepting
 * and one of refusing verdicts. The verdict that was asked for last is at the end of its list.
 *
 * The time of comparing digests depends on them. That tells an attacker nothing, for he cannot
 * choose a token by its digest.
 */

#include "controller/identity.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/table.h"
#include "schema/token_claims.h"
#include "schema/token_review_doc.h"

#define NO_NODE "the token names no node: it must be a pod's, of Kubernetes 1.30 or newer"

struct entry {
	struct table_node by_digest;
	struct list by_use;
	uint64_t expires_at_ms;
	unsigned char digest[TLS_DIGEST_SIZE];
	struct identity identity;
};

/* Entries of one kind, the one to go first in front. */
struct shelf {
	struct list entries;
	size_t count;
	size_t cap;
	uint32_t believed_ms;
};

struct identity_cache {
	struct table table;
	struct shelf accepted;
	struct shelf refused;
};

struct view identity_node(const struct identity *identity)
{
	return (struct view){identity->node, identity->node_len};
}

static struct identity refuse(enum identity_outcome outcome, const char *reason)
{
	return (struct identity){.outcome = outcome, .reason = reason};
}

static bool is_for_us(const struct token_review *review, struct view audience)
{
	for (uint32_t i = 0; i < review->audiences.count; i++) {
		if (view_equal(*ARRAY_AT(review->audiences, struct view, i), audience))
			return true;
	}
	return false;
}

/* "system:serviceaccount:<namespace>:<name>" */
static bool is_agent(struct view username, const struct identity_rules *rules)
{
	static const struct view prefix = VIEW_INIT("system:serviceaccount:");
	struct view namespace, name;
	return view_starts_with(username, prefix) &&
	       view_cut(view_from_offset(username, prefix.len), VIEW(":"), &namespace, &name) &&
	       view_equal(namespace, rules->namespace) &&
	       view_equal(name, rules->service_account);
}

struct identity identity_judge(const struct identity_rules *rules,
			       const struct token_review *review)
{
	if (!review->authenticated)
		return refuse(IDENTITY_UNAUTHENTICATED, "the token is not valid for --audience");
	if (!is_for_us(review, rules->audience))
		return refuse(IDENTITY_UNAUTHENTICATED, "the token is for another audience");
	if (!is_agent(review->username, rules))
		return refuse(IDENTITY_FORBIDDEN, "the token belongs to another service account");
	if (review->node_name.len == 0)
		return refuse(IDENTITY_FORBIDDEN, NO_NODE);
	if (review->node_name.len > LIMIT_TEXT_NAME)
		return refuse(IDENTITY_FORBIDDEN, "the token's node name is too long");
	struct identity identity = {.outcome = IDENTITY_ACCEPTED, .reason = ""};
	identity.node_len = (uint16_t)review->node_name.len;
	memcpy(identity.node, review->node_name.ptr, review->node_name.len);
	return identity;
}

/* b64token of RFC 6750: these, and '=' at the end. */
static bool is_token_char(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       (c != '\0' && strchr("-._~+/", c) != NULL);
}

bool identity_parse_bearer(struct view authorization, struct view *ret_token)
{
	struct view scheme, token;
	if (!view_cut(authorization, VIEW(" "), &scheme, &token) ||
	    !view_equal_ignoring_case(scheme, VIEW("Bearer")))
		return false;
	token = view_trim(token);
	size_t n = token.len;
	while (n > 0 && token.ptr[n - 1] == '=')
		n--;
	if (n == 0 || token.len > LIMIT_TOKEN_BYTES)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!is_token_char(token.ptr[i]))
			return false;
	}
	*ret_token = token;
	return true;
}

static bool is_other_account(const struct identity_rules *rules, struct view subject)
{
	char text[512];
	int len = snprintf(text, sizeof(text), "system:serviceaccount:%.*s:%.*s",
			   VIEW_ARG(rules->namespace), VIEW_ARG(rules->service_account));
	return len > 0 && (size_t)len < sizeof(text) &&
	       token_claims_excludes(subject, (struct view){text, (size_t)len});
}

static bool names_no_node(struct view node_name)
{
	return node_name.len == 0 || !token_claims_excludes(node_name, VIEW(""));
}

bool identity_foresee(const struct identity_rules *rules, const struct token_claims *claims,
		      int64_t past, struct identity *ret_identity)
{
	const char *reason = NULL;
	if (!claims)
		reason = "the token is no service account token";
	else if (token_claims_excludes(claims->audience, rules->audience))
		reason = "the token is for another audience";
	else if (is_other_account(rules, claims->subject))
		reason = "the token belongs to another service account";
	else if (names_no_node(claims->node_name))
		reason = NO_NODE;
	else if (claims->end <= past)
		reason = "the token has expired";
	if (reason)
		*ret_identity = refuse(IDENTITY_UNAUTHENTICATED, reason);
	return reason != NULL;
}

static struct view key_of(const struct table_node *node)
{
	const struct entry *entry = CONTAINER_OF(node, struct entry, by_digest);
	return (struct view){(const char *)entry->digest, sizeof(entry->digest)};
}

static struct entry *find(const struct identity_cache *cache, const unsigned char *digest)
{
	struct table_node *node =
		table_find(&cache->table, (struct view){(const char *)digest, TLS_DIGEST_SIZE});
	return node ? CONTAINER_OF(node, struct entry, by_digest) : NULL;
}

static struct shelf *shelf_of(struct identity_cache *cache, const struct identity *identity)
{
	return identity->outcome == IDENTITY_ACCEPTED ? &cache->accepted : &cache->refused;
}

static void forget(struct identity_cache *cache, struct entry *entry)
{
	table_remove(&cache->table, &entry->by_digest);
	list_remove(&entry->by_use);
	shelf_of(cache, &entry->identity)->count--;
	free(entry);
}

static void shelf_init(struct shelf *shelf, size_t cap, uint32_t believed_ms)
{
	assert(cap > 0);
	*shelf = (struct shelf){.cap = cap, .believed_ms = believed_ms};
	list_init(&shelf->entries);
}

int identity_cache_new(const struct identity_cache_config *config,
		       struct identity_cache **ret_cache, struct error *err)
{
	struct identity_cache *cache = malloc(sizeof(*cache));
	if (!cache)
		return error_no_memory(err);
	table_init(&cache->table, key_of);
	shelf_init(&cache->accepted, config->max_accepted, config->accepted_ms);
	shelf_init(&cache->refused, config->max_refused, config->refused_ms);
	*ret_cache = cache;
	return 0;
}

void identity_cache_clear(struct identity_cache *cache)
{
	struct table_node *next;
	for (struct table_node *node = table_next(&cache->table, NULL); node; node = next) {
		next = table_next(&cache->table, node);
		forget(cache, CONTAINER_OF(node, struct entry, by_digest));
	}
}

void identity_cache_free(struct identity_cache *cache)
{
	if (!cache)
		return;
	identity_cache_clear(cache);
	table_deinit(&cache->table);
	free(cache);
}

/* Nothing need be remembered of it. */
static bool is_over(const struct entry *entry, uint64_t now_ms)
{
	const bool accepted = entry->identity.outcome == IDENTITY_ACCEPTED;
	return now_ms >= entry->expires_at_ms + (accepted ? IDENTITY_KNOWN_MS : 0);
}

bool identity_cache_knows(const struct identity_cache *cache,
			  const unsigned char digest[static TLS_DIGEST_SIZE])
{
	const struct entry *entry = find(cache, digest);
	return entry && entry->identity.outcome == IDENTITY_ACCEPTED;
}

/* With each verdict two at most, so that old ones become fewer. */
static void forget_over(struct identity_cache *cache, struct shelf *shelf, uint64_t now_ms)
{
	for (int i = 0; i < 2; i++) {
		struct list *link = list_first(&shelf->entries);
		if (!link || !is_over(CONTAINER_OF(link, struct entry, by_use), now_ms))
			return;
		forget(cache, CONTAINER_OF(link, struct entry, by_use));
	}
}

const struct identity *identity_cache_find(struct identity_cache *cache,
					   const unsigned char digest[static TLS_DIGEST_SIZE],
					   uint64_t now_ms)
{
	struct entry *entry = find(cache, digest);
	if (!entry)
		return NULL;
	if (now_ms >= entry->expires_at_ms) {
		if (is_over(entry, now_ms))
			forget(cache, entry);
		return NULL;
	}
	list_remove(&entry->by_use);
	list_append(&shelf_of(cache, &entry->identity)->entries, &entry->by_use);
	return &entry->identity;
}

/* Up to a tenth less, by a byte of the digest: as good as chance, and the same each time. */
static uint64_t spread(uint32_t believed_ms, const unsigned char *digest)
{
	return believed_ms - (uint64_t)believed_ms * digest[TLS_DIGEST_SIZE - 1] / 2560;
}

void identity_cache_put(struct identity_cache *cache,
			const unsigned char digest[static TLS_DIGEST_SIZE],
			const struct identity *identity, uint64_t valid_ms, uint64_t now_ms)
{
	struct error err;
	struct shelf *shelf = shelf_of(cache, identity);
	struct entry *old = find(cache, digest);
	uint64_t believed_ms = spread(shelf->believed_ms, digest);
	if (old)
		forget(cache, old);
	if (identity->outcome == IDENTITY_ACCEPTED && valid_ms < believed_ms)
		believed_ms = valid_ms;
	forget_over(cache, shelf, now_ms);
	if (shelf->count >= shelf->cap)
		forget(cache, CONTAINER_OF(shelf->entries.next, struct entry, by_use));
	struct entry *entry = malloc(sizeof(*entry));
	if (!entry)
		return;
	*entry = (struct entry){.expires_at_ms = now_ms + believed_ms, .identity = *identity};
	memcpy(entry->digest, digest, sizeof(entry->digest));
	if (table_add(&cache->table, &entry->by_digest, &err) != 0) {
		free(entry);
		return;
	}
	list_init(&entry->by_use);
	list_append(&shelf->entries, &entry->by_use);
	shelf->count++;
}

size_t identity_cache_count(const struct identity_cache *cache)
{
	return cache->table.count;
}
