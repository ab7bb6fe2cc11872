/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * review_quota - how many reviews of tokens one client may have, so that whoever sends bad tokens
 * cannot keep the others' tokens from being reviewed. A client is a network address
 * (server_head.network). Clients that nobody has vouched for (strangers) have limits for all together, too:
 * of reviews under way, and of those that accept no token. Where all agents are strangers, as after a
 * restart, they are let in as fast as the API server answers.
 *
 * Threads: owner. Pure: time is an argument.
 * Limits:  as configured. Of a client that was silent for a second nothing need be remembered.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/credit.h"
#include "base/list.h"
#include "base/table.h"

struct review_quota_client;

struct review_quota_limits {
	size_t max_clients;     /* remembered, above which strangers are refused; 0: no limit holds */
	uint32_t max_strangers; /* reviews under way of all clients that are not known */
	uint32_t max_of_client; /* reviews under way of one client */
	uint32_t per_second;    /* reviews of one client that begin, and as many at once */
	/* Reviews of all strangers that accept no token, and as many at once; 0: no limit. */
	uint32_t strangers_per_second;
};

struct review_quota {
	struct review_quota_limits limits;
	struct table table;
	struct list by_use; /* silent for longest in front */
	uint32_t strangers; /* reviews under way */
	struct credit strangers_credit;
};

/* Of a review that was let in. All zero: it needs none. */
struct review_quota_place {
	struct review_quota_client *client;
	bool is_stranger;
};

enum review_quota_step {
	REVIEW_QUOTA_ADMITTED,
	REVIEW_QUOTA_TOO_OFTEN, /* this client asks too often, or has too many reviews under way */
	REVIEW_QUOTA_CROWDED,   /* all strangers together ask too often */
	REVIEW_QUOTA_FULL,      /* all clients together have too many; or no memory */
};

/* Nothing is under way. Allocates nothing. */
void review_quota_init(struct review_quota *quota, const struct review_quota_limits *limits);
/* Places that were given out are gone. */
void review_quota_deinit(struct review_quota *quota);
/*
 * May a client have a review begun? network is copied, at most 16 bytes. When admitted, *ret_place is
 * to be given back by review_quota_leave(); else it is untouched.
 */
enum review_quota_step review_quota_enter(struct review_quota *quota, struct view network,
					  bool is_known, uint64_t now_ms,
					  struct review_quota_place *ret_place);
/* The review is over. is_good: it accepted the token, or never began. */
void review_quota_leave(struct review_quota *quota, struct review_quota_place place, bool is_good);
