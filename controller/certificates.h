/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * certificates - the serving certificate of the report endpoint, in one of two ways:
 *
 * - from files that somebody else keeps (cert-manager, say), looked at again every minute;
 * - made here, by an authority of its own, kept in a Secret and renewed when a third of its life is
 *   left. So is one that was made by a clock that was ahead, once ours and the API server's tell so.
 *   What agents must trust is published in a ConfigMap, which is looked at whenever the Secret is found
 *   good (controller/ca_config_map.h).
 *
 * Agents learn of a new authority only when their volumes are brought up to date. So as long as
 * there is another pair, nothing of a new authority is served for an hour.
 *
 * Each replica does this, whether it leads or not, for agents report to all of them. A write names the
 * version that it replaces. So of two replicas that find the Secret empty or old one writes, and the other
 * one gets 409 and takes what is there. The ConfigMap may get what the Secret no longer has: after each
 * write both are read again, and it is put right.
 *
 * Threads: the loop's.
 */

#include "base/error.h"
#include "base/view.h"
#include "io/loop.h"
#include "kube/apiclient.h"

struct certificates;

struct certificates_config {
	struct loop *loop;
	struct apiclient *client;
	const char *cert_file;   /* with key_file: the first way */
	const char *key_file;
	const char *secret;      /* with namespace and service: the second */
	const char *namespace;
	const char *service;     /* the certificate is for its names */
	const char *ca_config_map; /* second way: gets the Secret's ca.crt; NULL: none does */
	const char *ca_namespace;  /* with it: where it is */
	/* A pair to serve with, at first and after every change. Never called from _new(). What could not be
	 * taken is offered again after a back-off. */
	int (*changed)(void *owner, struct view cert_pem, struct view key_pem, struct error *err);
	void *owner;
};

/* Texts of the config are borrowed. Fails with ERROR_REJECTED when neither way is complete. */
MUST_USE int certificates_new(const struct certificates_config *config,
			      struct certificates **ret_certificates, struct error *err);
/* Accepts NULL. */
void certificates_free(struct certificates *certificates);
/* Why there is no valid certificate yet, one line; "" when there is one. */
const char *certificates_trouble(const struct certificates *certificates);
/* Why the CA certificate could not be published, one line; "" otherwise. */
const char *certificates_ca_trouble(const struct certificates *certificates);
