/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/fake_controller.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "io/tls.h"

#define CAP (4u << 20)

struct fake_controller {
	struct loop *loop;
	struct tls_identity *identity;
	struct server *server;
	fake_controller_fn reported;
	void *owner;
	struct server_answer answer;
	bool hangs;
	unsigned n_reports;
	struct sbuf authority, body, authorization;
	char url[64];
};

static void must(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "fake_controller: %s\n", what);
	abort();
}

/* An authority, and a certificate that it vouches for. */
static void make_identity(struct fake_controller *controller)
{
	struct error err;
	CLEANUP(sbuf_deinit) struct sbuf authority_key = {.cap = CAP};
	CLEANUP(sbuf_deinit) struct sbuf cert = {.cap = CAP};
	CLEANUP(sbuf_deinit) struct sbuf key = {.cap = CAP};
	const char *const addresses[] = {"127.0.0.1", NULL};
	const char *const names[] = {"controller.test", NULL};
	struct tls_certificate_request request = {
		.common_name = "authority",
		.now = (int64_t)time(NULL),
		.lifetime_s = 7200,
	};
	must(tls_make_certificate(&request, &controller->authority, &authority_key, &err) == 0,
	     "authority");
	request = (struct tls_certificate_request){
		.common_name = "fake controller",
		.dns_names = names,
		.addresses = addresses,
		.now = request.now,
		.lifetime_s = 3600,
		.issuer_cert_pem = sbuf_view(&controller->authority),
		.issuer_key_pem = sbuf_view(&authority_key),
	};
	must(tls_make_certificate(&request, &cert, &key, &err) == 0, "certificate");
	must(tls_identity_new(sbuf_view(&cert), sbuf_view(&key), &controller->identity, &err) == 0,
	     "identity");
}

static void on_head(void *owner, struct server_request *request, const struct server_head *head)
{
	struct fake_controller *controller = owner;
	must(view_equal(head->method, VIEW("POST")) && view_equal(head->path, VIEW("/v1/report")) &&
		     view_equal(head->content_type, VIEW("application/json")),
	     "a request that is no report");
	sbuf_clear(&controller->authorization);
	sbuf_append(&controller->authorization, head->authorization);
	server_proceed(request);
}

static void on_request(void *owner, struct server_request *request, const struct server_head *head,
		       struct view body)
{
	struct fake_controller *controller = owner;
	(void)head;
	controller->n_reports++;
	sbuf_clear(&controller->body);
	sbuf_append(&controller->body, body);
	if (controller->reported)
		controller->reported(controller->owner, body);
	if (!controller->hangs)
		server_answer(request, &controller->answer);
}

static void listen_at(struct fake_controller *controller, uint16_t port)
{
	char address[32];
	struct error err;
	const struct server_config config = {
		.address = address,
		.tls = controller->identity,
		.max_body = CAP,
		.max_connections = 16,
		.max_connections_per_address = 16,
		.handshake_timeout_ms = 60000,
		.head_timeout_ms = 60000,
		.body_timeout_ms = 60000,
		.write_timeout_ms = 60000,
		.idle_timeout_ms = 60000,
	};
	const struct server_handler handler = {controller, on_head, on_request};
	snprintf(address, sizeof(address), "127.0.0.1:%u", port);
	must(server_new(controller->loop, &config, &handler, &controller->server, &err) == 0, "server");
}

struct fake_controller *fake_controller_new(struct loop *loop, fake_controller_fn reported,
					    void *owner)
{
	struct fake_controller *controller = calloc(1, sizeof(*controller));
	must(controller, "memory");
	controller->loop = loop;
	controller->reported = reported;
	controller->owner = owner;
	controller->answer = (struct server_answer){
		.status = 200, .content_type = "application/json", .body = VIEW("{}")};
	sbuf_init(&controller->authority, CAP);
	sbuf_init(&controller->body, CAP);
	sbuf_init(&controller->authorization, CAP);
	make_identity(controller);
	listen_at(controller, 0);
	snprintf(controller->url, sizeof(controller->url), "https://127.0.0.1:%u",
		 (unsigned)server_port(controller->server));
	return controller;
}

void fake_controller_free(struct fake_controller *controller)
{
	if (!controller)
		return;
	server_free(controller->server);
	tls_identity_free(controller->identity);
	sbuf_deinit(&controller->authority);
	sbuf_deinit(&controller->body);
	sbuf_deinit(&controller->authorization);
	free(controller);
}

const char *fake_controller_url(const struct fake_controller *controller)
{
	return controller->url;
}

struct view fake_controller_authority(const struct fake_controller *controller)
{
	return sbuf_view(&controller->authority);
}

void fake_controller_set(struct fake_controller *controller, const struct server_answer *answer)
{
	controller->answer = *answer;
	controller->hangs = false;
}

void fake_controller_restart(struct fake_controller *controller)
{
	uint16_t port = server_port(controller->server);
	server_free(TAKE(controller->server));
	listen_at(controller, port);
}

void fake_controller_hang(struct fake_controller *controller)
{
	controller->hangs = true;
}

unsigned fake_controller_reports(const struct fake_controller *controller)
{
	return controller->n_reports;
}

unsigned fake_controller_connections(const struct fake_controller *controller)
{
	return (unsigned)server_counters(controller->server).accepted;
}

struct view fake_controller_body(const struct fake_controller *controller)
{
	return sbuf_view(&controller->body);
}

struct view fake_controller_authorization(const struct fake_controller *controller)
{
	return sbuf_view(&controller->authorization);
}
