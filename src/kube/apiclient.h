/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * apiclient - the API server over the network: addresses, credentials, TLS and the wiring of
 * reflectors and single requests to io/fetch. It, its parts and runner do the I/O of kube/.
 *
 * Credentials are read again from time to time, and after a 401. Each watch has a connection of its
 * own, but for those that share connections (apiclient_run_shared()); single requests use kept
 * connections, so that none waits for another. Those that are apart (leader election) do not even
 * share connections, lookups of names and TLS sessions with the others.
 *
 * There is one opinion of whether the server answers (kube/reachability.h). While it does not, watches
 * wait, a probe asks for /readyz, and the first answer to anything lets all of them go ahead, within
 * REACHABILITY_JITTER_MS. Single requests are sent all the same: whether they are worth it is their
 * sender's to know (apiclient_is_away()).
 *
 * Threads: the loop's.
 * Limits:  an answer to a single request is at most LIMIT_ANSWER_BYTES.
 */

#include "base/error.h"
#include "io/loop.h"
#include "kube/kubeconfig.h"
#include "kube/reflector.h"
#include "kube/request_counts.h"

/* That have a connection each. */
#define APICLIENT_MAX_REFLECTORS 16u

struct apiclient;

/*
 * config is taken over, also on failure: its files are read now and from time to time. user_agent
 * goes with every request. Fails with ERROR_REJECTED or as file_read() does when a file that config
 * names cannot be used.
 */
MUST_USE int apiclient_new(struct loop *loop, struct kubeconfig *take_config, const char *user_agent,
			   struct apiclient **ret_client, struct error *err);
/* Cancels all that is under way; not from a callback of it. Accepts NULL. */
void apiclient_free(struct apiclient *client);

/*
 * Runs a reflector over the network until the client ends; the reflector stays the caller's. Fails
 * with ERROR_NO_MEMORY, or ERROR_LIMIT when the client runs APICLIENT_MAX_REFLECTORS.
 */
MUST_USE int apiclient_run(struct apiclient *client, struct reflector *reflector,
			   struct error *err);

/*
 * The same, for thousands. The requests of these reflectors are streams of a few HTTP/2 connections,
 * which no others use (kube/apiclient_shared.h). Each has APICLIENT_SHARED_STREAMS, or more where there
 * would be more connections than apiclient_spread() says. It never has more than 100, or than the server
 * allows. At most 16 begin at a time. Fails with ERROR_NO_MEMORY, or ERROR_LIMIT when 8192 are run so.
 */
MUST_USE int apiclient_run_shared(struct apiclient *client, struct reflector *reflector,
				  struct error *err);
/*
 * They are spread over so many connections, if each can have 100 streams then. At first, and at most, that
 * is APICLIENT_SHARED_CONNECTIONS. At least 1; before the first is run.
 */
void apiclient_spread(struct apiclient *client, uint32_t n_connections);
/*
 * False once the server has answered such a request by HTTP/1.1. None of them begins then, for good;
 * who is told of the state (apiclient_on_state()) is told.
 */
bool apiclient_may_share(const struct apiclient *client);

/*
 * Ends what is under way for the reflector, and runs it no longer; it may be freed then. Not from a
 * callback of a sink or of the client's state. One that is not run is left alone.
 */
void apiclient_stop(struct apiclient *client, struct reflector *reflector);
/* Asks a reflector that waits what it wants to do now. One that is not run is left alone. */
void apiclient_nudge(struct apiclient *client, struct reflector *reflector);

/* True while the server is known not to answer: a request and a probe have failed. */
bool apiclient_is_away(const struct apiclient *client);
/*
 * True while the server is away, and while a request was waited for in vain and nothing has been
 * answered since: what the watches have told may be old.
 */
bool apiclient_is_doubtful(const struct apiclient *client);
/* Why it is away, one line; "" while it answers. Borrowed until the next call. */
const char *apiclient_trouble(const struct apiclient *client);
typedef void (*apiclient_state_fn)(void *owner);
/*
 * changed is told from now on whenever apiclient_is_away(), apiclient_is_doubtful() or
 * apiclient_may_share() changes, instead of whoever was before; NULL: nobody is. It must not end the client.
 */
void apiclient_on_state(struct apiclient *client, apiclient_state_fn changed, void *owner);

struct apiclient_call {
	const char *method;       /* static text */
	const char *path;         /* with the query; copied */
	const char *content_type; /* of body; static text */
	struct view body;         /* copied */
	uint32_t timeout_ms;      /* 0: 10 s */
	const char *accept;       /* static text; NULL: "application/json" */
	bool is_aside; /* how it ends tells nothing of whether the server answers others */
	bool is_apart; /* on a connection that only such calls use */
	/*
	 * ms, clock_boot_ms(): from then on the request is neither sent nor repeated, even if the process or the
	 * machine stood still since the call. 0: there is no such time.
	 */
	uint64_t send_before;
};

/*
 * error is NULL for any 2xx. Otherwise its kind says what to do, and its text names the request and
 * holds the server's message. The kinds are those of kube/answer.h, or those of io/fetch.h if there
 * was no answer. LIMIT also means that the answer is too large. status is the HTTP status, 0 when
 * none came. body is borrowed for the call.
 */
typedef void (*apiclient_answer_fn)(void *owner, int status, struct view body,
				    const struct error *error);

struct apiclient_request; /* under way */
/*
 * Sends one request; answer is called exactly once, unless it is cancelled. Not retried here, but
 * for one repetition with fresh credentials after a 401.
 */
MUST_USE int apiclient_send(struct apiclient *client, const struct apiclient_call *call,
			    apiclient_answer_fn answer, void *owner,
			    struct apiclient_request **ret_request, struct error *err);
/* Ends a request without calling back; what the server did of it is unknown. Accepts NULL. */
void apiclient_cancel(struct apiclient_request *request);

/* Requests by outcome, for gpuattribution_apiserver_requests_total; rise only. */
struct apiclient_counters {
	uint64_t by_code[6]; /* no answer, 1xx, 2xx, 3xx, 4xx, 5xx */
	uint64_t conflicts, throttled;
	uint64_t credential_reloads; /* files that had changed */
	uint64_t probes;             /* also in by_code */
	uint64_t shared_over;        /* reflectors that were too many to share connections */
	uint64_t outages;            /* how often the server was found away */
	struct request_counts requests;
};
/* The counts since the client was made. */
struct apiclient_counters apiclient_counters(const struct apiclient *client);
/* The server's name or address, with the port if it is told; borrowed from the client. */
struct view apiclient_host(const struct apiclient *client);
