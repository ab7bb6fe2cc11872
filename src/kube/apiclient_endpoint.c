/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Each watch is HTTP/1.1 on a connection of its own (a dozen in all). So no other stream can block a
 * watch, and the end of a connection is the end of one watch. Neither lists nor watches ask for
 * compression. Decompressing would cost both sides more CPU than the bytes cost a local network.
 * API servers since 1.37 would also compress watches as one gzip member per flush.
 *
 * Files of credentials are looked at right before a request when they are due. They are small and
 * local, so there is no timer for them. An unusable file is reported only at the start. Later the
 * former contents stay in force, and the server's answers tell when they no longer work.
 */

#include "kube/apiclient_endpoint.h"

#include <assert.h>

#include "base/limits.h"
#include "io/file.h"
#include "io/tls.h"

#define MAX_HEADERS 5

static int read_into(struct view path, struct sbuf *buf, struct error *err)
{
	assert(path.len > 0); /* a file that is due has a name */
	if (file_read(path.ptr, buf, err) != 0)
		return error_wrap(err, "%s", path.ptr);
	return 0;
}

/* Certificate or key of the client: given as data, or read. */
static int read_client_part(struct view data, struct view path, struct sbuf *buf, struct error *err)
{
	if (data.len == 0)
		return read_into(path, buf, err);
	sbuf_append(buf, data);
	return sbuf_check(buf, "client certificate", err);
}

/* While the two files are being replaced they may not belong together. */
static int check_pair(struct view cert, struct view key, struct error *err)
{
	struct tls_identity *pair = NULL;
	if (tls_identity_new(cert, key, &pair, err) != 0)
		return error_wrap(err, "client certificate and key");
	tls_identity_free(pair);
	return 0;
}

static int read_file(struct apiclient_endpoint *endpoint, enum credential_file file,
		     struct sbuf *contents, struct sbuf *key, struct error *err)
{
	const struct kubeconfig *config = &endpoint->config;
	switch (file) {
	case CREDENTIAL_TOKEN:
		return read_into(config->token_file, contents, err);
	case CREDENTIAL_CA:
		return read_into(config->ca_file, contents, err);
	case CREDENTIAL_CLIENT:
		if (read_client_part(config->client_cert_pem, config->client_cert_file, contents,
				     err) != 0 ||
		    read_client_part(config->client_key_pem, config->client_key_file, key, err) !=
			    0)
			return -1;
		return check_pair(sbuf_view(contents), sbuf_view(key), err);
	case CREDENTIAL_N_FILES:
		break;
	}
	assert(false && "no such file");
	return -1;
}

static int reload_file(struct apiclient_endpoint *endpoint, enum credential_file file,
		       struct error *err)
{
	CLEANUP(sbuf_deinit) struct sbuf contents;
	CLEANUP(sbuf_deinit) struct sbuf key;
	uint64_t now = loop_now_ms(endpoint->loop);
	sbuf_init_secret(&contents, LIMIT_FILE_BYTES);
	sbuf_init_secret(&key, LIMIT_FILE_BYTES);
	int result = read_file(endpoint, file, &contents, &key, err);
	if (result != 0)
		credential_missed(&endpoint->credential, file, now);
	else
		result = credential_take(&endpoint->credential, file, sbuf_view(&contents),
					 sbuf_view(&key), now, err);
	return result;
}

/* Reads what is due. -1 when any of it cannot be used: err says the first. */
static int reload_due(struct apiclient_endpoint *endpoint, struct error *err)
{
	uint64_t now = loop_now_ms(endpoint->loop);
	struct error other;
	int result = 0;
	for (int file = 0; file < CREDENTIAL_N_FILES; file++) {
		if (credential_is_due(&endpoint->credential, (enum credential_file)file, now) &&
		    reload_file(endpoint, (enum credential_file)file, result ? &other : err) != 0)
			result = -1;
	}
	return result;
}

static int init_texts(struct apiclient_endpoint *endpoint, const char *user_agent,
		      struct error *err)
{
	sbuf_init(&endpoint->user_agent, LIMIT_URL);
	sbuf_init(&endpoint->accept, LIMIT_URL);
	sbuf_init(&endpoint->content_type, LIMIT_URL);
	sbuf_init(&endpoint->url, 128u * LIMIT_KIB); /* continue tokens are long */
	sbuf_printf(&endpoint->user_agent, "User-Agent: %s", user_agent);
	return sbuf_check(&endpoint->user_agent, "User-Agent", err);
}

int apiclient_endpoint_init(struct apiclient_endpoint *endpoint, struct loop *loop,
			    struct kubeconfig *take_config, const char *user_agent,
			    struct error *err)
{
	*endpoint = (struct apiclient_endpoint){.loop = loop, .config = *take_config};
	*take_config = (struct kubeconfig){0};
	if (init_texts(endpoint, user_agent, err) != 0 ||
	    credential_init(&endpoint->credential, &endpoint->config, err) != 0 ||
	    reload_due(endpoint, err) != 0 || fetcher_new(loop, &endpoint->watches, err) != 0 ||
	    fetcher_new(loop, &endpoint->shared, err) != 0 ||
	    fetcher_new(loop, &endpoint->others, err) != 0 ||
	    fetcher_new(loop, &endpoint->apart, err) != 0)
		return -1;
	return 0;
}

void apiclient_endpoint_deinit(struct apiclient_endpoint *endpoint)
{
	fetcher_free(endpoint->watches);
	fetcher_free(endpoint->shared);
	fetcher_free(endpoint->others);
	fetcher_free(endpoint->apart);
	credential_deinit(&endpoint->credential);
	kubeconfig_deinit(&endpoint->config);
	sbuf_deinit(&endpoint->user_agent);
	sbuf_deinit(&endpoint->url);
	sbuf_deinit(&endpoint->accept);
	sbuf_deinit(&endpoint->content_type);
}

/* One header line in a buffer of the endpoint's. */
static const char *header(struct sbuf *buf, const char *name, const char *value)
{
	sbuf_clear(buf);
	sbuf_printf(buf, "%s: %s", name, value);
	return sbuf_text(buf);
}

static struct fetcher *choose_fetcher(const struct apiclient_endpoint *endpoint,
				      const struct apiclient_endpoint_request *request)
{
	if (request->is_shared)
		return endpoint->shared;
	if (request->is_watch)
		return endpoint->watches;
	return request->is_apart ? endpoint->apart : endpoint->others;
}

int apiclient_endpoint_start(struct apiclient_endpoint *endpoint,
			     const struct apiclient_endpoint_request *request,
			     const struct fetch_handler *handler, struct fetch **ret_fetch,
			     struct error *err)
{
	struct error ignored;
	/* What cannot be read now stays as it was. */
	if (reload_due(endpoint, &ignored) != 0)
		error_clear(&ignored);
	sbuf_clear(&endpoint->url);
	sbuf_append(&endpoint->url, endpoint->config.server);
	sbuf_append(&endpoint->url, view_from(request->path));
	const char *headers[MAX_HEADERS] = {
		sbuf_text(&endpoint->user_agent),
		header(&endpoint->accept, "Accept", request->accept),
	};
	size_t n = 2;
	if (request->content_type)
		headers[n++] = header(&endpoint->content_type, "Content-Type",
				      request->content_type);
	if (endpoint->credential.authorization.len > 0)
		headers[n++] = credential_authorization(&endpoint->credential);
	assert(n <= MAX_HEADERS);
	const char *url = sbuf_text(&endpoint->url);
	for (size_t i = 0; i < n; i++)
		url = headers[i] ? url : NULL;
	if (!url || endpoint->url.failure != ERROR_NONE)
		return error_no_memory(err);
	const struct fetch_request fetch = {
		.method = request->method,
		.url = url,
		.headers = headers,
		.body = request->body,
		.protocol = request->is_shared ? FETCH_HTTP2 : FETCH_HTTP1,
		.fresh_connection = request->fresh_connection,
		.total_timeout_ms = request->timeout_ms,
		.send_before = request->send_before,
		.ca_pem = credential_ca(&endpoint->credential),
		.server_name = endpoint->config.tls_server_name.len > 0
				       ? endpoint->config.tls_server_name.ptr
				       : NULL,
		.client_cert_pem = credential_client_cert(&endpoint->credential),
		.client_key_pem = credential_client_key(&endpoint->credential),
		.insecure = endpoint->config.insecure,
	};
	return fetch_start(choose_fetcher(endpoint, request), &fetch, handler, ret_fetch, err);
}

bool apiclient_endpoint_refused(struct apiclient_endpoint *endpoint)
{
	return credential_refused(&endpoint->credential, loop_now_ms(endpoint->loop));
}

struct view apiclient_endpoint_host(const struct apiclient_endpoint *endpoint)
{
	struct view scheme, rest, host, path;
	if (!view_cut(endpoint->config.server, VIEW("://"), &scheme, &rest))
		rest = endpoint->config.server;
	view_cut(rest, VIEW("/"), &host, &path);
	return host;
}
