/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * http_client - a blocking HTTP client for tests that says exactly the bytes it is told to, over
 * loopback, in clear or over TLS without checking certificates.
 *
 * Threads: owner. What goes wrong fails the test, unless a function says otherwise.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/view.h"

struct http_client;

struct http_answer {
	int status;          /* 0: the connection was closed without an answer */
	char head[4096];     /* status line and headers */
	char body[65536];
	size_t body_len;
};

/* Connects in clear to that port on loopback. */
struct http_client *http_client_connect(uint16_t port);
/* With tls_version 0 for any, else e.g. 0x0303. NULL when the handshake fails. */
struct http_client *http_client_connect_tls(uint16_t port, int tls_version);
/* With these groups for the key exchange, as "X25519:P-256". NULL when the handshake fails. */
struct http_client *http_client_connect_groups(uint16_t port, const char *groups);
/* The same with these ciphers of TLS 1.3, as "TLS_AES_128_GCM_SHA256". */
struct http_client *http_client_connect_ciphers(uint16_t port, const char *ciphers);
/* The same, asking for a server of that name. */
struct http_client *http_client_connect_named(uint16_t port, const char *name);
/* Closes the connection. Accepts NULL. */
void http_client_free(struct http_client *client);
/* The socket; stays the client's. */
int http_client_fd(const struct http_client *client);
/* The subject's common name of the server's certificate. */
const char *http_client_server_name(struct http_client *client);
/* True when the server gave a ticket to resume with. */
bool http_client_has_ticket(struct http_client *client);

/* While on, what is sent stays here; it leaves together when it is off again. */
void http_client_cork(struct http_client *client, bool on);
/* False when the server has closed. */
bool http_client_send(struct http_client *client, struct view bytes);
/* Reads one answer; answers to HEAD have no body. False when the server closed before any byte. */
bool http_client_read(struct http_client *client, bool to_head, struct http_answer *ret);
/* True when the server closes and has nothing more to say. */
bool http_client_is_closed(struct http_client *client);
/* Sends a request and reads its answer. headers: each with its line end, or "". */
void http_client_ask(struct http_client *client, const char *request_line, const char *headers,
		     struct view body, struct http_answer *ret);
