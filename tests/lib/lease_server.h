/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * lease_server - an API server that has one Lease, as far as kube/lease.h sees of one: GET, PUT with a
 * resourceVersion, and the edits of people. An edit that changes nothing makes no new version.
 *
 * Threads: the test's.
 */

#include "base/view.h"

#define LEASE_SERVER_LABELS "\"labels\":{\"team\":\"gpu\"}"
#define LEASE_SERVER_TEXT 2048

struct lease_server {
	bool is_there;
	uint64_t version;
	unsigned uid;
	char spec[LEASE_SERVER_TEXT];     /* JSON; "" when the Lease has none */
	char document[2 * LEASE_SERVER_TEXT]; /* the object as it is sent */
};

/* A Lease as the manifests have it. */
void lease_server_init(struct lease_server *server);
/* Somebody writes that spec, whatever was there. */
void lease_server_edit(struct lease_server *server, const char *spec);
/* Somebody changes a label. */
void lease_server_touch(struct lease_server *server);
/* Somebody deletes the Lease. */
void lease_server_delete(struct lease_server *server);
/* Somebody makes it again, empty; with lease_server_delete() before, it is another one. */
void lease_server_create(struct lease_server *server);
/* Who holds the Lease: its spec has that holderIdentity. */
bool lease_server_is_held_by(const struct lease_server *server, const char *identity);
/* Answers a request: its HTTP status. The body of a 200 is server->document. */
int lease_server_handle(struct lease_server *server, const char *method, struct view body);
