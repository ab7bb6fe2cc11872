/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * ca_config_map - publishes the CA certificates of the report endpoint in a ConfigMap.
 *
 * Agents need them to verify the controller. They do not get the Secret: a kubelet may read the
 * whole of each Secret that a pod on its node refers to, and the Secret has private keys.
 *
 * The ConfigMap must exist. It is read, and written where its ca.crt differs.
 *
 * Threads: the loop's.
 * Limits:  one request at a time.
 */

#include "base/error.h"
#include "base/view.h"
#include "kube/apiclient.h"

struct ca_config_map;

enum ca_config_map_outcome {
	CA_CONFIG_MAP_EQUAL,   /* it has what it shall have */
	CA_CONFIG_MAP_WRITTEN, /* look at both objects again */
	CA_CONFIG_MAP_AGAIN,   /* it failed or somebody else wrote: try again after a back-off */
};

struct ca_config_map_config {
	struct apiclient *client;
	const char *namespace;
	const char *name;
	/* The end of each publication that has begun. Called later, never from _publish(). */
	void (*done)(void *owner, enum ca_config_map_outcome outcome);
	void *owner;
};

/* Texts of the config are borrowed. Fails with ERROR_LIMIT or ERROR_NO_MEMORY. */
MUST_USE int ca_config_map_new(const struct ca_config_map_config *config,
			       struct ca_config_map **ret_map, struct error *err);
/* Accepts NULL. Ends what is under way without a call of done(). */
void ca_config_map_free(struct ca_config_map *map);
/*
 * Begins to publish ca_cert, which is copied; not while a publication is under way. Fails like
 * apiclient_send(), or with ERROR_LIMIT where ca_cert is longer than LIMIT_FILE_BYTES; the error is
 * in ca_config_map_trouble() then.
 */
MUST_USE int ca_config_map_publish(struct ca_config_map *map, struct view ca_cert,
				   struct error *err);
/* Why the last publication failed, one line; "" when it did not. */
const char *ca_config_map_trouble(const struct ca_config_map *map);
