/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A connection is a socket with TLS on it and a session of nghttp2, which reads and writes frames in
 * memory. After each turn of any of them flush() sends what is to be sent.
 */

#include "lib/h2_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/list.h"
#include "base/sbuf.h"
#include "io/tls.h"

#define BODY_CAP (16u << 20)

struct h2_stream {
	struct connection *connection;
	struct list link;
	int32_t id;
	char path[1024];
	struct sbuf body; /* that is to be sent */
	size_t sent;
	bool has_ended;   /* the body is whole */
	bool is_stalled;  /* nghttp2 waits for more of it */
};

struct connection {
	struct h2_server *server;
	struct list link;
	int fd;
	SSL *ssl;
	nghttp2_session *session;
	struct loop_watch *watch;
	struct loop_timer *timer; /* flush() is due */
	unsigned interest;
	bool is_shaken;    /* the handshake is over */
	bool is_closed;
	struct list streams;
	unsigned n_streams;
	struct sbuf out; /* of HTTP/1.1 */
};

struct h2_server {
	struct loop *loop;
	struct h2_server_config config;
	SSL_CTX *context;
	struct sbuf authority, cert, key;
	struct loop_watch *watch;
	struct list connections;
	unsigned n_connections, n_open, peak;
	int fd;
	char url[64];
};

static void must(bool good, const char *what)
{
	if (good)
		return;
	perror(what);
	abort();
}

static void turn(struct connection *connection);

/* Streams */

static void free_stream(struct h2_stream *stream)
{
	list_remove(&stream->link);
	stream->connection->n_streams--;
	sbuf_deinit(&stream->body);
	free(stream);
}

static struct h2_stream *stream_of(nghttp2_session *session, int32_t id)
{
	return nghttp2_session_get_stream_user_data(session, id);
}

static int begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *owner)
{
	struct connection *connection = owner;
	struct h2_stream *stream;

	if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	stream = calloc(1, sizeof(*stream));
	must(stream, "stream");
	stream->connection = connection;
	stream->id = frame->hd.stream_id;
	sbuf_init(&stream->body, BODY_CAP);
	list_init(&stream->link);
	list_append(&connection->streams, &stream->link);
	if (++connection->n_streams > connection->server->peak)
		connection->server->peak = connection->n_streams;
	nghttp2_session_set_stream_user_data(session, stream->id, stream);
	return 0;
}

static int take_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
		       size_t name_len, const uint8_t *value, size_t len, uint8_t flags, void *owner)
{
	struct h2_stream *stream = stream_of(session, frame->hd.stream_id);

	(void)flags, (void)owner;
	if (stream && name_len == 5 && memcmp(name, ":path", 5) == 0)
		snprintf(stream->path, sizeof(stream->path), "%.*s", (int)len, (const char *)value);
	return 0;
}

static int take_frame(nghttp2_session *session, const nghttp2_frame *frame, void *owner)
{
	struct connection *connection = owner;
	struct h2_stream *stream = frame->hd.stream_id ? stream_of(session, frame->hd.stream_id) : NULL;

	if (stream && frame->hd.type == NGHTTP2_HEADERS && frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
		connection->server->config.asked(connection->server->config.owner, stream,
						 stream->path);
	return 0;
}

static void lose_stream(struct h2_stream *stream)
{
	const struct h2_server_config *config = &stream->connection->server->config;

	if (!stream->has_ended && config->gone)
		config->gone(config->owner, stream);
	free_stream(stream);
}

static int close_stream(nghttp2_session *session, int32_t id, uint32_t code, void *owner)
{
	struct h2_stream *stream = stream_of(session, id);

	(void)code, (void)owner;
	if (stream)
		lose_stream(stream);
	return 0;
}

static ssize_t read_body(nghttp2_session *session, int32_t id, uint8_t *buffer, size_t len,
			 uint32_t *flags, nghttp2_data_source *source, void *owner)
{
	struct h2_stream *stream = source->ptr;
	size_t n = stream->body.len - stream->sent;

	(void)session, (void)id, (void)owner;
	n = n < len ? n : len;
	if (n > 0)
		memcpy(buffer, stream->body.ptr + stream->sent, n);
	stream->sent += n;
	if (stream->sent == stream->body.len && stream->has_ended)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	else if (n == 0)
		stream->is_stalled = true;
	return n == 0 && !stream->has_ended ? NGHTTP2_ERR_DEFERRED : (ssize_t)n;
}

static void resume(struct h2_stream *stream)
{
	if (stream->is_stalled)
		nghttp2_session_resume_data(stream->connection->session, stream->id);
	stream->is_stalled = false;
	loop_timer_set(stream->connection->timer, 0);
}

static nghttp2_nv header(const char *name, const char *value)
{
	return (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name),
			    strlen(value), NGHTTP2_NV_FLAG_NONE};
}

void h2_stream_head(struct h2_stream *stream, int status, const char *content_type,
		    unsigned retry_after_s)
{
	char code[16], after[16];
	const nghttp2_data_provider provider = {.source.ptr = stream, .read_callback = read_body};
	nghttp2_nv headers[3];
	size_t n = 2;

	snprintf(code, sizeof(code), "%d", status);
	snprintf(after, sizeof(after), "%u", retry_after_s);
	headers[0] = header(":status", code);
	headers[1] = header("content-type", content_type);
	if (retry_after_s > 0)
		headers[n++] = header("retry-after", after);
	must(nghttp2_submit_response(stream->connection->session, stream->id, headers, n,
				     &provider) == 0,
	     "response");
	loop_timer_set(stream->connection->timer, 0);
}

void h2_stream_push(struct h2_stream *stream, struct view bytes)
{
	sbuf_append(&stream->body, bytes);
	must(stream->body.failure == ERROR_NONE, "body");
	resume(stream);
}

void h2_stream_end(struct h2_stream *stream)
{
	stream->has_ended = true;
	resume(stream);
}

/* Connections */

static void close_connection(struct connection *connection)
{
	struct list *link;

	if (connection->is_closed)
		return;
	connection->is_closed = true;
	connection->server->n_open--;
	loop_watch_free(connection->watch);
	connection->watch = NULL;
	while ((link = list_first(&connection->streams)))
		lose_stream(CONTAINER_OF(link, struct h2_stream, link));
	close(connection->fd);
}

static void free_connection(struct connection *connection)
{
	close_connection(connection);
	list_remove(&connection->link);
	loop_timer_free(connection->timer);
	nghttp2_session_del(connection->session);
	SSL_free(connection->ssl);
	sbuf_deinit(&connection->out);
	free(connection);
}

static void begin_session(struct connection *connection)
{
	nghttp2_session_callbacks *callbacks;
	const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS,
						    connection->server->config.max_streams}};

	must(nghttp2_session_callbacks_new(&callbacks) == 0, "callbacks");
	nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, take_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, take_frame);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, close_stream);
	must(nghttp2_session_server_new(&connection->session, callbacks, connection) == 0, "session");
	nghttp2_session_callbacks_del(callbacks);
	must(nghttp2_submit_settings(connection->session, NGHTTP2_FLAG_NONE, settings, 1) == 0,
	     "settings");
}

static bool has_chosen_h2(const SSL *ssl)
{
	const unsigned char *name;
	unsigned len;

	SSL_get0_alpn_selected(ssl, &name, &len);
	return len == 2;
}

/* False: the handshake is not over, or has failed. */
static bool shake_hands(struct connection *connection)
{
	int result;

	if (connection->is_shaken)
		return true;
	result = SSL_accept(connection->ssl);
	if (result == 1) {
		connection->is_shaken = true;
		if (has_chosen_h2(connection->ssl))
			begin_session(connection);
		return true;
	}
	result = SSL_get_error(connection->ssl, result);
	if (result != SSL_ERROR_WANT_READ && result != SSL_ERROR_WANT_WRITE)
		close_connection(connection);
	return false;
}

static void take_bytes(struct connection *connection, const uint8_t *bytes, size_t n)
{
	static const struct view answer =
		VIEW_INIT("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");

	if (connection->session) {
		if (nghttp2_session_mem_recv(connection->session, bytes, n) != (ssize_t)n)
			close_connection(connection);
		return;
	}
	/* A request of a test arrives in one piece. */
	sbuf_append(&connection->out, answer);
}

static void read_all(struct connection *connection)
{
	uint8_t buffer[16384];
	int n;

	while (!connection->is_closed && (n = SSL_read(connection->ssl, buffer, sizeof(buffer))) > 0)
		take_bytes(connection, buffer, (size_t)n);
	if (connection->is_closed)
		return;
	n = SSL_get_error(connection->ssl, n);
	if (n != SSL_ERROR_WANT_READ && n != SSL_ERROR_WANT_WRITE)
		close_connection(connection);
}

static void flush(struct connection *connection)
{
	const uint8_t *bytes;
	ssize_t n;

	while (connection->session && !connection->is_closed &&
	       (n = nghttp2_session_mem_send(connection->session, &bytes)) > 0)
		sbuf_append(&connection->out, (struct view){(const char *)bytes, (size_t)n});
	if (!connection->is_closed && connection->out.len > 0) {
		int sent = SSL_write(connection->ssl, connection->out.ptr, (int)connection->out.len);

		if (sent == (int)connection->out.len)
			sbuf_clear(&connection->out);
		else /* the socket is full: all of it once more */
			loop_timer_set(connection->timer, 1);
	}
	if (connection->session && !connection->is_closed &&
	    !nghttp2_session_want_read(connection->session) &&
	    !nghttp2_session_want_write(connection->session))
		close_connection(connection);
}

static void turn(struct connection *connection)
{
	if (connection->is_closed || !shake_hands(connection))
		return;
	read_all(connection);
	flush(connection);
}

static void on_ready(void *owner, bool readable, bool writable)
{
	(void)readable, (void)writable;
	turn(owner);
}

static void on_timer(void *owner)
{
	turn(owner);
}

static void on_client(void *owner, bool readable, bool writable)
{
	struct h2_server *server = owner;
	struct connection *connection = calloc(1, sizeof(*connection));
	struct error err;

	(void)readable, (void)writable;
	must(connection, "connection");
	connection->server = server;
	list_init(&connection->link);
	list_init(&connection->streams);
	list_append(&server->connections, &connection->link);
	sbuf_init(&connection->out, BODY_CAP);
	connection->fd = accept(server->fd, NULL, NULL);
	must(connection->fd >= 0 && fcntl(connection->fd, F_SETFL, O_NONBLOCK) == 0, "accept");
	setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
	connection->ssl = SSL_new(server->context);
	must(connection->ssl && SSL_set_fd(connection->ssl, connection->fd) == 1, "SSL");
	SSL_set_mode(connection->ssl, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	server->n_connections++;
	server->n_open++;
	must(loop_timer_new(server->loop, on_timer, connection, &connection->timer, &err) == 0 &&
		     loop_watch_new(server->loop, connection->fd, LOOP_READ, on_ready, connection,
				    &connection->watch, &err) == 0,
	     "loop");
}

/* The server */

static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_len,
			   const unsigned char *in, unsigned in_len, void *owner)
{
	const struct h2_server *server = owner;
	const char *wanted = server->config.is_http1_only ? "\x08http/1.1" : "\x02h2\x08http/1.1";

	(void)ssl;
	return SSL_select_next_proto((unsigned char **)(uintptr_t)out, out_len,
				     (const unsigned char *)wanted, (unsigned)strlen(wanted), in,
				     in_len) == OPENSSL_NPN_NEGOTIATED
		       ? SSL_TLSEXT_ERR_OK
		       : SSL_TLSEXT_ERR_NOACK;
}

static void make_pair(struct h2_server *server)
{
	static const char *const addresses[] = {"127.0.0.1", NULL};
	struct tls_certificate_request request = {
		.common_name = "h2_server", .now = (int64_t)time(NULL), .lifetime_s = 86400};
	struct sbuf authority_key;
	struct error err;

	sbuf_init(&server->authority, 1 << 16);
	sbuf_init(&authority_key, 1 << 16);
	sbuf_init(&server->cert, 1 << 16);
	sbuf_init(&server->key, 1 << 16);
	must(tls_make_certificate(&request, &server->authority, &authority_key, &err) == 0, err.text);
	request.addresses = addresses;
	request.issuer_cert_pem = sbuf_view(&server->authority);
	request.issuer_key_pem = sbuf_view(&authority_key);
	must(tls_make_certificate(&request, &server->cert, &server->key, &err) == 0, err.text);
	sbuf_deinit(&authority_key);
}

static void make_context(struct h2_server *server)
{
	BIO *cert, *key;

	make_pair(server);
	server->context = SSL_CTX_new(TLS_server_method());
	must(server->context != NULL, "SSL_CTX");
	cert = BIO_new_mem_buf(server->cert.ptr, (int)server->cert.len);
	key = BIO_new_mem_buf(server->key.ptr, (int)server->key.len);
	X509 *x509 = PEM_read_bio_X509(cert, NULL, NULL, NULL);
	EVP_PKEY *pkey = PEM_read_bio_PrivateKey(key, NULL, NULL, NULL);
	must(x509 && pkey && SSL_CTX_use_certificate(server->context, x509) == 1 &&
		     SSL_CTX_use_PrivateKey(server->context, pkey) == 1,
	     "key");
	X509_free(x509);
	EVP_PKEY_free(pkey);
	BIO_free(cert);
	BIO_free(key);
	SSL_CTX_set_alpn_select_cb(server->context, choose_protocol, server);
}

static void begin_to_listen(struct h2_server *server)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);
	struct error err;

	server->fd = socket(AF_INET, SOCK_STREAM, 0);
	must(server->fd >= 0 && bind(server->fd, (struct sockaddr *)&address, len) == 0 &&
		     listen(server->fd, 64) == 0 &&
		     getsockname(server->fd, (struct sockaddr *)&address, &len) == 0 &&
		     loop_watch_new(server->loop, server->fd, LOOP_READ, on_client, server,
				    &server->watch, &err) == 0,
	     "listen");
	snprintf(server->url, sizeof(server->url), "https://127.0.0.1:%u", ntohs(address.sin_port));
}

struct h2_server *h2_server_new(struct loop *loop, const struct h2_server_config *config)
{
	struct h2_server *server = calloc(1, sizeof(*server));

	must(server != NULL, "server");
	server->loop = loop;
	server->config = *config;
	list_init(&server->connections);
	make_context(server);
	begin_to_listen(server);
	return server;
}

void h2_server_free(struct h2_server *server)
{
	struct list *link;

	if (!server)
		return;
	server->config.gone = NULL;
	while ((link = list_first(&server->connections)))
		free_connection(CONTAINER_OF(link, struct connection, link));
	loop_watch_free(server->watch);
	close(server->fd);
	SSL_CTX_free(server->context);
	sbuf_deinit(&server->authority);
	sbuf_deinit(&server->cert);
	sbuf_deinit(&server->key);
	free(server);
}

const char *h2_server_url(const struct h2_server *server)
{
	return server->url;
}

struct view h2_server_ca(const struct h2_server *server)
{
	return sbuf_view(&server->authority);
}

unsigned h2_server_connections(const struct h2_server *server)
{
	return server->n_connections;
}

unsigned h2_server_open(const struct h2_server *server)
{
	return server->n_open;
}

unsigned h2_server_peak(const struct h2_server *server)
{
	return server->peak;
}

void h2_server_go_away(struct h2_server *server)
{
	for (struct list *l = server->connections.next; l != &server->connections; l = l->next) {
		struct connection *connection = CONTAINER_OF(l, struct connection, link);

		if (connection->is_closed || !connection->session)
			continue;
		nghttp2_submit_goaway(connection->session, NGHTTP2_FLAG_NONE,
				      nghttp2_session_get_last_proc_stream_id(connection->session),
				      NGHTTP2_NO_ERROR, NULL, 0);
		loop_timer_set(connection->timer, 0);
	}
}

void h2_server_cut(struct h2_server *server)
{
	for (struct list *l = server->connections.next; l != &server->connections; l = l->next)
		close_connection(CONTAINER_OF(l, struct connection, link));
}
