/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A token has a credit of its own, beside that of its address: who sends bad tokens from there, behind
 * the same translation of addresses, cannot use it up.
 */

#include "controller/known_readers.h"

#include <string.h>

static const struct credit_rate rate = {KNOWN_READERS_REVIEWS_PER_SECOND, 4};

static bool is_in_use(const struct known_readers_entry *entry, uint64_t now_ms)
{
	return entry->allowed_at_ms > 0 && now_ms - entry->allowed_at_ms < KNOWN_READERS_FOR_MS;
}

static struct known_readers_entry *find_token(struct known_readers *readers,
					      const unsigned char *digest)
{
	for (unsigned i = 0; i < KNOWN_READERS_MAX; i++) {
		struct known_readers_entry *entry = &readers->entries[i];
		if (entry->allowed_at_ms > 0 &&
		    memcmp(entry->digest, digest, sizeof(entry->digest)) == 0)
			return entry;
	}
	return NULL;
}

static struct known_readers_entry *find_address(struct known_readers *readers, struct view peer,
						uint64_t now_ms)
{
	for (unsigned i = 0; i < KNOWN_READERS_MAX; i++) {
		struct known_readers_entry *entry = &readers->entries[i];
		if (is_in_use(entry, now_ms) && entry->peer[0] &&
		    view_equal(view_from(entry->peer), peer))
			return entry;
	}
	return NULL;
}

static struct known_readers_entry *find_oldest(struct known_readers *readers)
{
	struct known_readers_entry *oldest = &readers->entries[0];
	for (unsigned i = 1; i < KNOWN_READERS_MAX; i++)
		if (readers->entries[i].allowed_at_ms < oldest->allowed_at_ms)
			oldest = &readers->entries[i];
	return oldest;
}

void known_readers_add(struct known_readers *readers,
		       const unsigned char digest[static TLS_DIGEST_SIZE], struct view peer,
		       uint64_t now_ms)
{
	struct known_readers_entry *entry = find_token(readers, digest);
	if (!entry) {
		entry = find_oldest(readers);
		*entry = (struct known_readers_entry){.token = credit_full(rate, now_ms),
						      .address = credit_full(rate, now_ms)};
		memcpy(entry->digest, digest, sizeof(entry->digest));
	}
	entry->allowed_at_ms = now_ms > 0 ? now_ms : 1;
	memset(entry->peer, 0, sizeof(entry->peer));
	if (peer.len < sizeof(entry->peer))
		view_copy(peer, entry->peer);
}

void known_readers_remove(struct known_readers *readers,
			  const unsigned char digest[static TLS_DIGEST_SIZE])
{
	struct known_readers_entry *entry = find_token(readers, digest);
	if (entry)
		*entry = (struct known_readers_entry){0};
}

bool known_readers_draw(struct known_readers *readers,
			const unsigned char digest[static TLS_DIGEST_SIZE],
			struct view peer, uint64_t now_ms, bool *ret_may_begin)
{
	struct known_readers_entry *entry = find_token(readers, digest);
	struct credit *credit = NULL;
	if (entry && is_in_use(entry, now_ms))
		credit = &entry->token;
	else if ((entry = find_address(readers, peer, now_ms)))
		credit = &entry->address;
	if (!credit)
		return false;
	*ret_may_begin = credit_draw(credit, rate, 1, now_ms);
	return true;
}
