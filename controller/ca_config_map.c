/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/ca_config_map.h"

#include <stdlib.h>

#include "base/limits.h"
#include "base/log.h"
#include "base/sbuf.h"
#include "schema/ca_config_map_doc.h"

/*
 * Each replica publishes what it has just read from the Secret, as each may renew the Secret. So a
 * new authority is published by the replica that made it, at once and not when the leader looks
 * again. A write is on condition that nobody wrote since the read. Still a replica may publish what
 * the other has just replaced in the Secret. So after each write both objects are read again.
 *
 * If the ConfigMap does not keep what is written to it, that is a failure and not written at once
 * again.
 */

struct ca_config_map {
	struct ca_config_map_config config;
	struct apiclient_request *request;
	struct sbuf path;
	struct sbuf ca_cert; /* of the publication under way */
	bool written;        /* and not read since as it shall be */
	struct error trouble;
};

static void end(struct ca_config_map *map, enum ca_config_map_outcome outcome)
{
	map->config.done(map->config.owner, outcome);
}

/* Says which ConfigMap it is about, and what an operator can do. */
static void keep_trouble(struct ca_config_map *map, const struct error *error)
{
	const char *advice = "";

	map->trouble = *error;
	map->written = false;
	if (error->kind == ERROR_NOT_FOUND)
		advice = " (create it, it may be empty)";
	else if (error->kind == ERROR_DENIED)
		advice = " (grant get and patch on it)";
	error_wrap(&map->trouble, "configmap %s/%s%s", map->config.namespace, map->config.name,
		   advice);
	LOG_WARN("CA certificate not published", LOG_ERROR_FIELD(&map->trouble));
}

static void fail(struct ca_config_map *map, const struct error *error)
{
	keep_trouble(map, error);
	end(map, CA_CONFIG_MAP_AGAIN);
}

static void patched(void *owner, int status, struct view body, const struct error *error)
{
	struct ca_config_map *map = owner;

	(void)status;
	(void)body;
	map->request = NULL;
	map->written = !error;
	if (!error)
		end(map, CA_CONFIG_MAP_WRITTEN);
	else if (error->kind == ERROR_CONFLICT) /* the other replica, most likely */
		end(map, CA_CONFIG_MAP_AGAIN);
	else
		fail(map, error);
}

static int send_patch(struct ca_config_map *map, struct view resource_version, struct error *err)
{
	CLEANUP(sbuf_deinit) struct sbuf body = {0};
	const struct ca_config_map_doc doc = {
		.resource_version = resource_version,
		.ca_cert = sbuf_view(&map->ca_cert),
	};
	struct apiclient_call call = {
		.method = "PATCH",
		.path = sbuf_text(&map->path),
		.content_type = "application/merge-patch+json",
	};

	if (map->written)
		return error_set(err, ERROR_RETRY, 0,
				 "does not hold what was written: check what else writes it");
	sbuf_init(&body, 2 * LIMIT_FILE_BYTES);
	ca_config_map_doc_encode_patch(&doc, &body);
	if (sbuf_check(&body, "ConfigMap", err) < 0)
		return -1;
	call.body = sbuf_view(&body);
	LOG_INFO("Publishing the CA certificate", LOG_TEXT("configmap", view_from(map->config.name)),
		 LOG_TEXT("namespace", view_from(map->config.namespace)));
	return apiclient_send(map->config.client, &call, patched, map, &map->request, err);
}

/* Goes on with a write where it is not equal. */
static int compare(struct ca_config_map *map, struct view body, bool *ret_is_equal,
		   struct error *err)
{
	CLEANUP(arena_deinit) struct arena arena = {0};
	struct ca_config_map_doc doc;

	arena_init(&arena, 4 * LIMIT_FILE_BYTES);
	if (ca_config_map_doc_decode(body, &arena, &doc, err) < 0)
		return -1;
	*ret_is_equal = view_equal(doc.ca_cert, sbuf_view(&map->ca_cert));
	return *ret_is_equal ? 0 : send_patch(map, doc.resource_version, err);
}

static void got(void *owner, int status, struct view body, const struct error *error)
{
	struct ca_config_map *map = owner;
	struct error failure = {0};
	bool is_equal = false;

	(void)status;
	map->request = NULL;
	if (error) {
		fail(map, error);
		return;
	}
	if (compare(map, body, &is_equal, &failure) < 0) {
		fail(map, &failure);
		return;
	}
	if (!is_equal)
		return;
	map->written = false;
	error_clear(&map->trouble);
	end(map, CA_CONFIG_MAP_EQUAL);
}

static void ca_config_map_freep(struct ca_config_map **map)
{
	ca_config_map_free(*map);
}

int ca_config_map_new(const struct ca_config_map_config *config, struct ca_config_map **ret_map,
		      struct error *err)
{
	CLEANUP(ca_config_map_freep) struct ca_config_map *map = calloc(1, sizeof(*map));

	if (!map)
		return error_no_memory(err);
	map->config = *config;
	sbuf_init(&map->path, LIMIT_URL);
	sbuf_init(&map->ca_cert, LIMIT_FILE_BYTES);
	sbuf_printf(&map->path, "/api/v1/namespaces/%s/configmaps/%s", config->namespace,
		    config->name);
	if (sbuf_check(&map->path, "path of the ConfigMap", err) < 0)
		return -1;
	*ret_map = TAKE(map);
	return 0;
}

void ca_config_map_free(struct ca_config_map *map)
{
	if (!map)
		return;
	apiclient_cancel(map->request);
	sbuf_deinit(&map->path);
	sbuf_deinit(&map->ca_cert);
	free(map);
}

static int begin(struct ca_config_map *map, struct view ca_cert, struct error *err)
{
	const struct apiclient_call call = {
		.method = "GET",
		.path = sbuf_text(&map->path),
	};

	if (!view_equal(sbuf_view(&map->ca_cert), ca_cert))
		map->written = false;
	sbuf_clear(&map->ca_cert);
	sbuf_append(&map->ca_cert, ca_cert);
	if (sbuf_check(&map->ca_cert, "ca.crt", err) < 0)
		return -1;
	return apiclient_send(map->config.client, &call, got, map, &map->request, err);
}

int ca_config_map_publish(struct ca_config_map *map, struct view ca_cert, struct error *err)
{
	if (begin(map, ca_cert, err) == 0)
		return 0;
	keep_trouble(map, err);
	return -1;
}

const char *ca_config_map_trouble(const struct ca_config_map *map)
{
	return map->trouble.text;
}
