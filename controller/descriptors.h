/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * descriptors - how many file descriptors the process may have open, and how many of them the
 * servers may use for connections, and for reviews of their tokens. The rest are for the program's own
 * use: its connections to the API server, its event loops, certificates that are read again. So no
 * number of clients can stop the program's own requests.
 *
 * Requests go by HTTP/1.1, so each that is under way has a connection of its own. One that is kept idle is
 * used again before another is made. So these are the most that the program has open:
 *
 *	                                                       usual   fewer than 80 files
 *	no connections: DESCRIPTORS_NO_CONNECTIONS                24   24
 *	watches: DESCRIPTORS_WATCHES                              16   16
 *	    seven kinds, two definitions, the Lease, and three
 *	    of ConfigMaps are 13; the others are for a file that is
 *	    read, and for a client that finds no place
 *	one each, DESCRIPTORS_SINGLE: the probe of /readyz, the
 *	    Lease, an Event, the certificate's Secret or ConfigMap 4    4
 *	writes, each with the questions before it                 16    4
 *	                                                          60   48
 *	DESCRIPTORS_OWN, DESCRIPTORS_OWN_REDUCED                  64   48
 *
 * Shares of what is left, as the clients' connections are: reviews of agents' tokens, reviews of
 * readers' tokens, and writes beyond DESCRIPTORS_WRITES. A review has one request at a time: whose the
 * token is, then whether they may read. Pods that are read by node have a share, too. Their requests alone
 * go by HTTP/2. A connection has DESCRIPTORS_NODES_OF_ONE nodes at most, fewer where there is room for more
 * connections. One is to spare, for one that is being replaced.
 *
 * Not in the table: a name of the API server that is looked up takes some for that moment. An API server
 * that allows fewer streams on a connection has more of them, and so have requests that begin while a
 * connection for nodes is being made.
 *
 * Threads: any, before other threads start.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kube/apiclient.h"

#define DESCRIPTORS_OWN 64u
/* The least that it can work with, when it does DESCRIPTORS_FEW_WRITES at a time. */
#define DESCRIPTORS_OWN_REDUCED 48u
#define DESCRIPTORS_NO_CONNECTIONS 24u
#define DESCRIPTORS_WATCHES APICLIENT_MAX_REFLECTORS
#define DESCRIPTORS_SINGLE 4u
#define DESCRIPTORS_WRITES 16u
#define DESCRIPTORS_FEW_WRITES 4u
/* libcurl's streams of one connection, and the API server's. */
#define DESCRIPTORS_NODES_OF_ONE 100u
/* With fewer left for clients the controller does not start. */
#define DESCRIPTORS_LEAST 16u

/* Most at a time; each is at least 2. */
struct descriptors_shares {
	uint32_t reports; /* connections of each server */
	uint32_t metrics;
	uint32_t probes;
	uint32_t reviews; /* of agents' tokens, under way */
	uint32_t readers; /* reviews of tokens of who reads metrics, under way */
	uint32_t pods;    /* connections for pods that are read by node; this one may be 0 */
	uint32_t writes;  /* under way; DESCRIPTORS_WRITES of them are of the program's own use */
};

/*
 * Raises the soft limit (RLIMIT_NOFILE) to the hard one. Returns the limit that then holds,
 * UINT32_MAX where there is none; without the right to raise it, the present one.
 */
uint32_t descriptors_raise(void);
/*
 * Divides what `limit` leaves: no share is larger than in `wanted`. Where that does not fit, reports get
 * what the others leave. These get an eighth each at most, and so do writes beyond DESCRIPTORS_WRITES.
 * Below DESCRIPTORS_OWN + DESCRIPTORS_LEAST pods get none. Fails with ERROR_REJECTED below
 * DESCRIPTORS_OWN_REDUCED + DESCRIPTORS_LEAST.
 */
MUST_USE int descriptors_divide(uint32_t limit, const struct descriptors_shares *wanted,
				struct descriptors_shares *ret_shares, struct error *err);
/* How many connections the pods of so many nodes need at least; 0 for 0. */
uint32_t descriptors_for_nodes(uint32_t n_nodes);
/* The other way round: 0 for 0 and 1. */
uint32_t descriptors_nodes_of(uint32_t n_connections);
