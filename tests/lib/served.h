/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * served - one route, served over TLS by a process of its own: by io/server or by libevent's
 * evhttp. The route takes POST with the token SERVED_TOKEN and answers as the controller answers a
 * report. /large answers SERVED_LARGE bytes.
 *
 * Threads: owner. What goes wrong ends the process.
 */

#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "io/server.h"

#define SERVED_TOKEN "Bearer good"
#define SERVED_LARGE (8u * 1024 * 1024)

enum served_kind {
	SERVED_OURS,
	SERVED_EVHTTP,  /* with the limits it has itself */
	SERVED_GUARDED, /* evhttp with those of lib/evhttp_server.c */
	SERVED_N_KINDS,
};

struct served {
	pid_t pid;
	uint16_t port;
};

/* The name of a kind. Never fails. */
const char *served_name(enum served_kind kind);
/* Starts it. config: all but address and tls counts. cpu: the only one it may use, -1: any.
 * max_files: its limit of open files, 0: as here. */
struct served served_start(enum served_kind kind, const struct server_config *config, int cpu,
			   rlim_t max_files);
/* Resident memory. */
long served_kib(const struct served *served);
/* CPU time so far, in hundredths of a second. */
long served_ticks(const struct served *served);
/* Ends it. False when it had ended by itself. ret_usage: of its whole life. */
bool served_stop(const struct served *served, struct rusage *ret_usage);
