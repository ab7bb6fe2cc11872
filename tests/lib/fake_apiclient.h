/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * fake_apiclient - kube/apiclient.h without a network: requests are kept until the test answers
 * them. One source file of a test program includes lib/fake_apiclient.inc, whose symbols then take
 * the place of the real ones at the link.
 *
 * Threads: the test's.
 */

#include "kube/apiclient.h"

#ifndef FAKE_APICLIENT_MAX /* a test may have more, which includes the .inc first */
#define FAKE_APICLIENT_MAX 64
#endif
#ifndef FAKE_APICLIENT_MAX_REFLECTORS
#define FAKE_APICLIENT_MAX_REFLECTORS 16
#endif

struct apiclient_request {
	char method[8];
	char path[256];
	const char *content_type;
	bool is_aside;
	bool is_apart;
	uint32_t timeout_ms;
	uint64_t send_before;
	char body[16384];
	apiclient_answer_fn answer;
	void *owner;
	bool open;
};

extern struct apiclient_request fake_requests[FAKE_APICLIENT_MAX];
extern unsigned n_fake_requests; /* since the last reset */
extern enum error_kind fake_apiclient_refusal; /* of every call to come; ERROR_NONE: none */

/* What apiclient_run() was given; the test asks and feeds them. NULL: stopped. */
extern struct reflector *fake_reflectors[FAKE_APICLIENT_MAX_REFLECTORS];
extern unsigned n_fake_reflectors; /* since the last reset */

/* What apiclient_may_share() denies; those that share connections are run as any other. */
extern bool fake_apiclient_is_http1;

/* Forgets all requests and reflectors. */
void fake_apiclient_reset(void);
/* Answers the i-th request with 2xx and a body. */
void fake_apiclient_answer(unsigned i, const char *body);
/* Answers the i-th request with an error of this kind. */
void fake_apiclient_fail(unsigned i, enum error_kind kind);
/* The same with that HTTP status, error and body. */
void fake_apiclient_refuse(unsigned i, int status, const struct error *error, const char *body);
/* What apiclient_is_away() says; who asked to be told is told of a change. */
void fake_apiclient_set_away(bool is_away);
/* The same for apiclient_is_doubtful(), which is true in any case while it is away. */
void fake_apiclient_set_doubtful(bool is_doubtful);
