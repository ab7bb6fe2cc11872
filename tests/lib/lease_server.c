/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/lease_server.h"

#include "lib/test_main.h"

#include <stdlib.h>

#include "kube/lease_record.h"

static void render(struct lease_server *server)
{
	snprintf(server->document, sizeof(server->document),
		 "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{"
		 "\"name\":\"l\",\"namespace\":\"n\",\"uid\":\"u%u\"," LEASE_SERVER_LABELS ","
		 "\"resourceVersion\":\"%llu\"}%s%s}", server->uid,
		 (unsigned long long)server->version, server->spec[0] ? ",\"spec\":" : "",
		 server->spec);
}

static void change(struct lease_server *server, const char *spec)
{
	snprintf(server->spec, sizeof(server->spec), "%s", spec);
	server->version++;
	render(server);
}

void lease_server_init(struct lease_server *server)
{
	*server = (struct lease_server){.version = 100};
	lease_server_create(server);
}

void lease_server_edit(struct lease_server *server, const char *spec)
{
	change(server, spec);
}

void lease_server_touch(struct lease_server *server)
{
	server->version++;
	render(server);
}

void lease_server_delete(struct lease_server *server)
{
	server->is_there = false;
	server->version++;
}

void lease_server_create(struct lease_server *server)
{
	server->is_there = true;
	server->uid++;
	change(server, "");
}

bool lease_server_is_held_by(const struct lease_server *server, const char *identity)
{
	char text[256];

	snprintf(text, sizeof(text), "\"holderIdentity\":\"%s\"", identity);
	return server->is_there && strstr(server->spec, text);
}

/* What is written has all of the metadata, and says what it replaces. */
static int put(struct lease_server *server, struct view body)
{
	struct lease_record record;
	struct error error;
	char text[LEASE_SERVER_TEXT], version[32];
	const char *spec;

	snprintf(text, sizeof(text), "%.*s", VIEW_ARG(body));
	assert_int_equal(lease_record_read(body, &record, &error), 0);
	snprintf(version, sizeof(version), "%.*s", VIEW_ARG(record.version));
	lease_record_deinit(&record);
	assert_non_null(strstr(text, LEASE_SERVER_LABELS));
	spec = strstr(text, "\"spec\":");
	assert_non_null(spec);
	if (strtoull(version, NULL, 10) != server->version)
		return 409;
	text[strlen(text) - 1] = '\0'; /* the end of the object */
	if (strcmp(server->spec, spec + 7) != 0)
		change(server, spec + 7);
	return 200;
}

int lease_server_handle(struct lease_server *server, const char *method, struct view body)
{
	if (!server->is_there)
		return 404;
	return strcmp(method, "PUT") == 0 ? put(server, body) : 200;
}
