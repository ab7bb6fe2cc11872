/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Blocking calls on one socket. A time-out of half a minute on it makes a server that never answers
 * a failed test instead of a hanging one.
 */

#include "lib/http_client.h"

#include "lib/test_main.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

struct http_client {
	int fd;
	SSL_CTX *context;
	SSL *ssl; /* NULL: in clear */
	char name[128];
	char buf[131072];
	size_t len;
};

static int connect_loopback(uint16_t port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct timeval limit = {.tv_sec = 30};
	const int on = 1;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
		fail_msg("connect to port %u: %s", port, strerror(errno));
	return fd;
}

struct http_client *http_client_connect(uint16_t port)
{
	struct http_client *client = calloc(1, sizeof(*client));
	assert_non_null(client);
	client->fd = connect_loopback(port);
	return client;
}

/* What a client asks for; 0 or NULL: what the library does by itself. */
struct wishes {
	int version;
	const char *groups, *ciphers, *name;
};

static struct http_client *connect_tls(uint16_t port, const struct wishes *wishes)
{
	struct http_client *client = http_client_connect(port);
	client->context = SSL_CTX_new(TLS_client_method());
	SSL_CTX_set_options(client->context, SSL_OP_IGNORE_UNEXPECTED_EOF);
	SSL_CTX_set_security_level(client->context, 0);
	if (wishes->version)
		SSL_CTX_set_max_proto_version(client->context, wishes->version);
	if (wishes->groups && SSL_CTX_set1_groups_list(client->context, wishes->groups) != 1)
		abort();
	if (wishes->ciphers && SSL_CTX_set_ciphersuites(client->context, wishes->ciphers) != 1)
		abort();
	client->ssl = SSL_new(client->context);
	if (wishes->name && SSL_set_tlsext_host_name(client->ssl, wishes->name) != 1)
		abort();
	SSL_set_fd(client->ssl, client->fd);
	if (SSL_connect(client->ssl) == 1)
		return client;
	http_client_free(client);
	return NULL;
}

struct http_client *http_client_connect_tls(uint16_t port, int tls_version)
{
	return connect_tls(port, &(struct wishes){.version = tls_version});
}

struct http_client *http_client_connect_groups(uint16_t port, const char *groups)
{
	return connect_tls(port, &(struct wishes){.groups = groups});
}

struct http_client *http_client_connect_ciphers(uint16_t port, const char *ciphers)
{
	return connect_tls(port, &(struct wishes){.ciphers = ciphers});
}

struct http_client *http_client_connect_named(uint16_t port, const char *name)
{
	return connect_tls(port, &(struct wishes){.name = name});
}

void http_client_free(struct http_client *client)
{
	if (!client)
		return;
	SSL_free(client->ssl);
	SSL_CTX_free(client->context);
	close(client->fd);
	free(client);
}

int http_client_fd(const struct http_client *client)
{
	return client->fd;
}

const char *http_client_server_name(struct http_client *client)
{
	X509 *certificate = SSL_get1_peer_certificate(client->ssl);
	X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, client->name,
				  sizeof(client->name));
	X509_free(certificate);
	return client->name;
}

bool http_client_has_ticket(struct http_client *client)
{
	return SSL_SESSION_has_ticket(SSL_get_session(client->ssl)) == 1;
}

void http_client_cork(struct http_client *client, bool on)
{
	const int value = on;
	assert_int_equal(setsockopt(client->fd, IPPROTO_TCP, TCP_CORK, &value, sizeof(value)), 0);
}

bool http_client_send(struct http_client *client, struct view bytes)
{
	while (bytes.len > 0) {
		ssize_t n = client->ssl ? SSL_write(client->ssl, bytes.ptr, (int)bytes.len)
					: send(client->fd, bytes.ptr, bytes.len, MSG_NOSIGNAL);
		if (n <= 0)
			return false;
		bytes = view_from_offset(bytes, (size_t)n);
	}
	return true;
}

/* More bytes behind those in the buffer; false at the end of the connection. */
static bool receive(struct http_client *client)
{
	char *place = client->buf + client->len;
	size_t room = sizeof(client->buf) - client->len;
	assert_true(room > 0);
	ssize_t n = client->ssl ? SSL_read(client->ssl, place, (int)room)
				: recv(client->fd, place, room, 0);
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		fail_msg("the server neither answers nor closes");
	if (n > 0)
		client->len += (size_t)n;
	return n > 0;
}

static size_t content_length(const char *head)
{
	const char *line = strstr(head, "\r\nContent-Length: ");
	return line ? strtoul(line + 18, NULL, 10) : 0;
}

bool http_client_read(struct http_client *client, bool to_head, struct http_answer *ret)
{
	char *end = NULL;
	*ret = (struct http_answer){0};
	while (!(end = memmem(client->buf, client->len, "\r\n\r\n", 4))) {
		if (!receive(client)) {
			assert_int_equal(client->len, 0);
			return false;
		}
	}
	size_t head_len = (size_t)(end - client->buf) + 4;
	assert_true(head_len < sizeof(ret->head));
	memcpy(ret->head, client->buf, head_len);
	assert_int_equal(sscanf(ret->head, "HTTP/1.1 %d ", &ret->status), 1);
	ret->body_len = to_head ? 0 : content_length(ret->head);
	assert_true(ret->body_len < sizeof(ret->body));
	while (client->len < head_len + ret->body_len)
		assert_true(receive(client));
	memcpy(ret->body, client->buf + head_len, ret->body_len);
	client->len -= head_len + ret->body_len;
	memmove(client->buf, client->buf + head_len + ret->body_len, client->len);
	return true;
}

bool http_client_is_closed(struct http_client *client)
{
	return client->len == 0 && !receive(client);
}

void http_client_ask(struct http_client *client, const char *request_line, const char *headers,
		     struct view body, struct http_answer *ret)
{
	static _Thread_local char text[2 * 1024 * 1024 + 65536];
	int len = snprintf(text, sizeof(text),
			   "%s HTTP/1.1\r\nHost: test\r\n%sContent-Length: %zu\r\n\r\n",
			   request_line, headers, body.len);
	assert_true(len > 0 && (size_t)len + body.len < sizeof(text));
	memcpy(text + len, body.ptr ? body.ptr : "", body.len);
	(void)http_client_send(client, (struct view){text, (size_t)len + body.len});
	(void)http_client_read(client, strncmp(request_line, "HEAD", 4) == 0, ret);
}
