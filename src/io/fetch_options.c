/* SPDX-License-Identifier: Apache-2.0 */

/*
 * These features of libcurl are switched off:
 * - Redirects: a token must not travel to another host.
 * - Decompression: libcurl fails on the many-member gzip that API servers write on watches, and a
 *   small answer could become a large one.
 * - Proxies from the environment, .netrc, other protocols, "Expect: 100-continue".
 * - The system's authorities where others are given: libcurl adds the default CAPATH to a
 *   CAINFO_BLOB unless told not to.
 *
 * libcurl copies all texts and blobs, and fails only without memory. It does not copy lists.
 */

#include "io/fetch_options.h"

#include <assert.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "base/limits.h"
#include "base/sbuf.h"

#define CONNECT_TIMEOUT_MS 10000u
/* For how long a connection may be idle and be used again: longer than the longest heartbeat. */
#define MAX_IDLE_S 10800L

/* A dead peer is noticed after 10 + 3 * 5 s without traffic, or 25 s with unacknowledged data. */
#define KEEPALIVE_IDLE_S 10
#define KEEPALIVE_INTERVAL_S 5
#define KEEPALIVE_PROBES 3
#define TCP_UNACKNOWLEDGED_MS 25000

static bool is_clean(const char *text)
{
	for (const char *p = text; *p; p++) {
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return false;
	}
	return true;
}

static int add_header(struct fetch_options *options, const char *line, struct error *err)
{
	if (!is_clean(line))
		return error_set(err, ERROR_REJECTED, 0, "a control character in a header");
	struct curl_slist *grown = curl_slist_append(options->headers, line);
	if (!grown)
		return error_no_memory(err);
	options->headers = grown;
	return 0;
}

static int set_headers(struct fetch_options *options, CURL *easy,
		       const struct fetch_request *request, struct error *err)
{
	/* "Name:" without a value: libcurl leaves its own header out. */
	if (add_header(options, "Expect:", err) != 0)
		return -1;
	bool has_type = false;
	for (const char *const *line = request->headers; line && *line; line++) {
		struct view name, value;
		view_cut(view_from(*line), VIEW(":"), &name, &value);
		has_type |= view_equal_ignoring_case(name, VIEW("content-type"));
		if (add_header(options, *line, err) != 0)
			return -1;
	}
	if (!has_type && add_header(options, "Content-Type:", err) != 0)
		return -1;
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, options->headers);
	return 0;
}

static void urlp(CURLU **url)
{
	curl_url_cleanup(*url);
}

static void curl_textp(char **text)
{
	curl_free(*text);
}

static int get_server(CURLU *url, char **ret_host, char **ret_port, struct error *err)
{
	if (curl_url_get(url, CURLUPART_HOST, ret_host, 0) != CURLUE_OK ||
	    curl_url_get(url, CURLUPART_PORT, ret_port, CURLU_DEFAULT_PORT) != CURLUE_OK)
		return error_set(err, ERROR_REJECTED, 0, "a URL without a host");
	return 0;
}

/* Sends the connection there, whatever host the URL names. An IPv6 address is written in brackets. */
static int connect_to(struct fetch_options *options, CURL *easy, const char *host, const char *port,
		      struct error *err)
{
	CLEANUP(sbuf_deinit) struct sbuf line = {0};
	bool is_bare = strchr(host, ':') && host[0] != '[';
	sbuf_init(&line, LIMIT_URL);
	sbuf_printf(&line, is_bare ? "::[%s]:%s" : "::%s:%s", host, port);
	const char *text = sbuf_text(&line);
	if (!text)
		return error_no_memory(err);
	if (!is_clean(text))
		return error_set(err, ERROR_REJECTED, 0, "a control character in an address");
	options->connect_to = curl_slist_append(NULL, text);
	if (!options->connect_to)
		return error_no_memory(err);
	curl_easy_setopt(easy, CURLOPT_CONNECT_TO, options->connect_to);
	return 0;
}

/* Puts the name to verify into the URL, and leaves the real one in "Host:". */
static int rename_server(struct fetch_options *options, CURLU *url, const char *server_name,
			 const char *host, const char *port, struct error *err)
{
	CLEANUP(sbuf_deinit) struct sbuf line = {0};
	sbuf_init(&line, LIMIT_URL);
	sbuf_printf(&line, "Host: %s:%s", host, port);
	const char *text = sbuf_text(&line);
	if (!text)
		return error_no_memory(err);
	if (curl_url_set(url, CURLUPART_HOST, server_name, 0) != CURLUE_OK)
		return error_set(err, ERROR_REJECTED, 0, "not a server name: %s", server_name);
	return add_header(options, text, err);
}

/* Where to connect, and under which name, where either is not what the URL says. */
static int set_server(struct fetch_options *options, CURL *easy, CURLU *url,
		      const struct fetch_request *request, struct error *err)
{
	CLEANUP(curl_textp) char *host = NULL;
	CLEANUP(curl_textp) char *port = NULL;
	if (!request->server_name && !request->connect_to)
		return 0;
	if (get_server(url, &host, &port, err) != 0 ||
	    connect_to(options, easy, request->connect_to ? request->connect_to : host, port, err) != 0)
		return -1;
	if (!request->server_name)
		return 0;
	return rename_server(options, url, request->server_name, host, port, err);
}

static bool is_http(const char *url)
{
	struct view scheme, rest;
	return is_clean(url) && view_cut(view_from(url), VIEW("://"), &scheme, &rest) &&
	       (view_equal(scheme, VIEW("https")) || view_equal(scheme, VIEW("http")));
}

static int set_url(struct fetch_options *options, CURL *easy, const struct fetch_request *request,
		   struct error *err)
{
	CLEANUP(urlp) CURLU *url = curl_url();
	CLEANUP(curl_textp) char *text = NULL;
	if (!url)
		return error_no_memory(err);
	if (!is_http(request->url) ||
	    curl_url_set(url, CURLUPART_URL, request->url, 0) != CURLUE_OK)
		return error_set(err, ERROR_REJECTED, 0, "not a URL: %s", request->url);
	if (set_server(options, easy, url, request, err) != 0)
		return -1;
	if (curl_url_get(url, CURLUPART_URL, &text, 0) != CURLUE_OK ||
	    curl_easy_setopt(easy, CURLOPT_URL, text) != CURLE_OK)
		return error_no_memory(err);
	if (request->unix_socket)
		curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, request->unix_socket);
	return 0;
}

static int set_method(CURL *easy, const struct fetch_request *request, struct error *err)
{
	const char *method = request->method;
	if (!is_clean(method) || !*method)
		return error_set(err, ERROR_REJECTED, 0, "not an HTTP method");
	bool has_body = request->body.len > 0 || strcmp(method, "POST") == 0 ||
			strcmp(method, "PUT") == 0 || strcmp(method, "PATCH") == 0;
	if (has_body) {
		curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.len);
		if (curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS,
				     request->body.len ? request->body.ptr : "") != CURLE_OK)
			return error_no_memory(err);
	} else if (strcmp(method, "HEAD") == 0) {
		curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
	}
	if (curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method) != CURLE_OK)
		return error_no_memory(err);
	return 0;
}

static bool set_blob(CURL *easy, CURLoption option, struct view bytes)
{
	/* libcurl copies, and does not write to it. */
	struct curl_blob blob = {
		.data = (void *)(uintptr_t)bytes.ptr, .len = bytes.len, .flags = CURL_BLOB_COPY};
	return bytes.len == 0 || curl_easy_setopt(easy, option, &blob) == CURLE_OK;
}

static int set_tls(CURL *easy, const struct fetch_request *request, struct error *err)
{
	curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, request->insecure ? 0L : 1L);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, request->insecure ? 0L : 2L);
	if (request->ca_pem.len > 0) {
		curl_easy_setopt(easy, CURLOPT_CAINFO, NULL);
		curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
	}
	if (!set_blob(easy, CURLOPT_CAINFO_BLOB, request->ca_pem) ||
	    !set_blob(easy, CURLOPT_SSLCERT_BLOB, request->client_cert_pem) ||
	    !set_blob(easy, CURLOPT_SSLKEY_BLOB, request->client_key_pem))
		return error_no_memory(err);
	return 0;
}

static long http_version(enum fetch_protocol protocol)
{
	switch (protocol) {
	case FETCH_HTTP1:
		return CURL_HTTP_VERSION_1_1;
	case FETCH_HTTP2:
		return CURL_HTTP_VERSION_2TLS;
	case FETCH_HTTP2_PRIOR_KNOWLEDGE:
		return CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE;
	}
	assert(false && "no such protocol");
	return CURL_HTTP_VERSION_1_1;
}

static void set_behaviour(CURL *easy, const struct fetch_request *request)
{
	curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(easy, CURLOPT_HTTP_CONTENT_DECODING, 0L);
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, http_version(request->protocol));
	curl_easy_setopt(easy, CURLOPT_PIPEWAIT, request->protocol == FETCH_HTTP2 ? 1L : 0L);
	curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, request->fresh_connection ? 1L : 0L);
	curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, request->fresh_connection ? 1L : 0L);
	curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, MAX_IDLE_S);
	curl_easy_setopt(easy, CURLOPT_MAXLIFETIME_CONN, 0L);
	uint32_t connect_ms = request->connect_timeout_ms;
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
			 (long)(connect_ms ? connect_ms : CONNECT_TIMEOUT_MS));
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)request->total_timeout_ms);
}

int fetch_options_apply(struct fetch_options *options, CURL *easy,
			const struct fetch_request *request, struct error *err)
{
	set_behaviour(easy, request);
	if (set_url(options, easy, request, err) != 0 || set_method(easy, request, err) != 0 ||
	    set_tls(easy, request, err) != 0 || set_headers(options, easy, request, err) != 0)
		return -1;
	return 0;
}

void fetch_options_deinit(struct fetch_options *options)
{
	curl_slist_free_all(options->headers);
	curl_slist_free_all(options->connect_to);
	*options = (struct fetch_options){0};
}

void fetch_options_watch_peer(int fd)
{
	static const struct {
		int level, name, value;
	} options[] = {
		{SOL_SOCKET, SO_KEEPALIVE, 1},
		{IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S},
		{IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S},
		{IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_PROBES},
		{IPPROTO_TCP, TCP_USER_TIMEOUT, TCP_UNACKNOWLEDGED_MS},
	};
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		if (setsockopt(fd, options[i].level, options[i].name, &options[i].value,
			       sizeof(options[i].value)) != 0)
			break;
	}
}
