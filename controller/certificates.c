/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/certificates.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/sbuf.h"
#include "controller/ca_config_map.h"
#include "io/file.h"
#include "io/tls.h"
#include "schema/secret_doc.h"

/*
 * The Secret is the one truth. It is read, and if its pair is good, that pair is served. If not, a
 * new pair is made and written on condition that nobody wrote meanwhile. Then the Secret is read
 * again, so several replicas all end with the same pair. The authority outlives the serving
 * certificate by far. When it is renewed, the old one stays in ca.crt behind the new, until it
 * ends.
 *
 * An authority is renewed in two steps, with at least SPREAD_S between them. First it comes into
 * ca.crt, in front of the old one, while the pair stays. Then a pair is made by it. The authority's
 * own end tells how long ago the first step was, so any replica can take the second.
 *
 * Whenever the Secret has been found good, its ca.crt is published as it is. So the ConfigMap has both
 * authorities as long as the Secret has both. The timer rests when both objects are as they shall be.
 *
 * A replica whose clock is ahead makes certificates that agents refuse until they begin. They are made
 * anew when two clocks agree that they are from the future: ours, and that of the API server, which
 * tells when the Secret was written. One clock that is wrong calls nothing so.
 *
 * A Secret is also not good when its keys do not fit its certificates. A pair that can be served is
 * served until something better is there. If a Secret does not keep what is written to it, that is
 * tried again after a back-off, not at once.
 */

#define FILES_PERIOD_MS 60000u
#define SECRET_PERIOD_MS 3600000u
#define DAY_S (24 * 3600)
#define SERVING_LIFETIME_S (90LL * DAY_S)
#define AUTHORITY_LIFETIME_S (3650LL * DAY_S)
/* An authority is renewed while a serving certificate of full life still ends before it. */
#define AUTHORITY_LEAST_S (2 * SERVING_LIFETIME_S)
#define SPREAD_S 3600
#define MAX_NAME 256

struct certificates {
	struct certificates_config config;
	struct loop_timer *timer;
	struct apiclient_request *request;
	struct ca_config_map *ca_config_map; /* NULL: none is configured */
	struct backoff backoff;
	struct prng prng;
	struct sbuf path;
	bool written; /* a new pair, and no good one was read since */
	unsigned char pair[TLS_DIGEST_SIZE]; /* of certificate and key in force */
	int64_t end; /* of the certificate in force, s since 1970; 0: there is none */
	struct error trouble;
};

static int64_t now_s(void)
{
	return clock_wall_ms() / 1000;
}

static void identity_freep(struct tls_identity **identity)
{
	tls_identity_free(*identity);
}

/* Whether one can serve with it, apart from its times. */
static int check_pair(struct view cert, struct view key, struct error *err)
{
	CLEANUP(identity_freep) struct tls_identity *identity = NULL;

	if (cert.len == 0 || key.len == 0)
		return error_set(err, ERROR_REJECTED, 0, "certificate or key is missing");
	return tls_identity_new(cert, key, &identity, err);
}

static bool fits(struct view cert, struct view key)
{
	struct error ignored = {0};

	return check_pair(cert, key, &ignored) == 0;
}

static int serve(struct certificates *certificates, struct view cert, struct view key,
		 struct error *err)
{
	const struct view parts[] = {cert, key};
	unsigned char pair[TLS_DIGEST_SIZE];
	int64_t end;

	if (check_pair(cert, key, err) < 0 || tls_certificate_end(cert, &end, err) < 0)
		return -1;
	if (end <= now_s())
		return error_set(err, ERROR_DENIED, 0, "certificate has expired: renew it");
	if (tls_digest_parts(parts, ARRAY_SIZE(parts), pair, err) < 0)
		return -1;
	if (memcmp(pair, certificates->pair, sizeof(pair)) != 0) {
		if (certificates->config.changed(certificates->config.owner, cert, key, err) < 0)
			return -1;
		memcpy(certificates->pair, pair, sizeof(pair));
		LOG_INFO("TLS certificate loaded");
	}
	certificates->end = end;
	error_clear(&certificates->trouble);
	return 0;
}

static void look_later(struct certificates *certificates)
{
	certificates->written = false;
	loop_timer_set(certificates->timer,
		       backoff_next(&certificates->backoff, &certificates->prng));
}

static void retry(struct certificates *certificates, const struct error *error)
{
	certificates->trouble = *error;
	LOG_WARN("TLS certificate reload failed", LOG_ERROR_FIELD(error));
	look_later(certificates);
}

static void rest(struct certificates *certificates, uint64_t ms)
{
	backoff_reset(&certificates->backoff);
	certificates->written = false;
	loop_timer_set(certificates->timer, ms);
}

/* Files */

static int read_files(struct certificates *certificates, struct error *err)
{
	CLEANUP(sbuf_deinit) struct sbuf cert = {0}, key = {0};
	const struct certificates_config *config = &certificates->config;

	sbuf_init(&cert, LIMIT_FILE_BYTES);
	sbuf_init_secret(&key, LIMIT_FILE_BYTES);
	if (file_read(config->cert_file, &cert, err) < 0 ||
	    file_read(config->key_file, &key, err) < 0)
		return -1;
	if (serve(certificates, sbuf_view(&cert), sbuf_view(&key), err) < 0)
		return error_wrap(err, "%s with %s", config->cert_file, config->key_file);
	return 0;
}

static void look_at_files(struct certificates *certificates)
{
	struct error error = {0};

	if (read_files(certificates, &error) < 0)
		retry(certificates, &error);
	else
		rest(certificates, FILES_PERIOD_MS);
}

/* The Secret */

static bool lasts(struct view cert, int64_t least_s)
{
	struct error ignored = {0};
	int64_t end;

	return cert.len > 0 && tls_certificate_end(cert, &end, &ignored) == 0 &&
	       end > now_s() + least_s;
}

static bool is_of_future(const struct secret_doc *secret, struct view cert)
{
	struct error ignored = {0};
	int64_t begin;

	return secret->written_at > 0 && tls_certificate_begin(cert, &begin, &ignored) == 0 &&
	       begin > now_s() + SPREAD_S && begin > secret->written_at / 1000 + SPREAD_S;
}

/* One of the Secret's. */
static bool holds(const struct secret_doc *secret, struct view cert, int64_t least_s)
{
	return lasts(cert, least_s) && !is_of_future(secret, cert);
}

static bool is_good(const struct secret_doc *secret)
{
	return holds(secret, secret->cert, SERVING_LIFETIME_S / 3) &&
	       fits(secret->cert, secret->key) &&
	       holds(secret, secret->ca_cert, SERVING_LIFETIME_S) &&
	       fits(secret->ca_cert, secret->ca_key);
}

static bool may_sign(const struct secret_doc *secret)
{
	return holds(secret, secret->ca_cert, AUTHORITY_LEAST_S) &&
	       fits(secret->ca_cert, secret->ca_key);
}

/* A pair that may be served for so long, and that agents can trust when the old ca.crt stays. */
static bool can_serve(const struct secret_doc *secret, int64_t least_s)
{
	return holds(secret, secret->cert, least_s) && fits(secret->cert, secret->key) &&
	       holds(secret, secret->ca_cert, least_s);
}

/* An authority that was made here is not yet known to all agents. One hour of slack for clocks. */
static bool is_spreading(const struct secret_doc *secret)
{
	return lasts(secret->ca_cert, AUTHORITY_LIFETIME_S - SPREAD_S) &&
	       !lasts(secret->ca_cert, AUTHORITY_LIFETIME_S + SPREAD_S) && may_sign(secret) &&
	       can_serve(secret, SPREAD_S);
}

static int make_authority(const struct secret_doc *old, struct sbuf *cert, struct sbuf *key,
			  struct error *err)
{
	const struct tls_certificate_request request = {
		.common_name = "gpu-attribution-ca",
		.now = now_s(),
		.lifetime_s = AUTHORITY_LIFETIME_S,
	};

	if (tls_make_certificate(&request, cert, key, err) < 0)
		return -1;
	if (holds(old, old->ca_cert, 0))
		sbuf_append(cert, old->ca_cert);
	return sbuf_check(cert, "authority", err);
}

static int make_serving(const struct certificates_config *config, struct view ca_cert,
			struct view ca_key, struct sbuf *cert, struct sbuf *key, struct error *err)
{
	char short_name[MAX_NAME], name[MAX_NAME], svc_name[MAX_NAME];
	const char *const names[] = {short_name, name, svc_name, "localhost", NULL};
	const struct tls_certificate_request request = {
		.common_name = "gpu-attribution-controller",
		.dns_names = names,
		.now = now_s(),
		.lifetime_s = SERVING_LIFETIME_S,
		.issuer_cert_pem = ca_cert,
		.issuer_key_pem = ca_key,
	};

	if (snprintf(short_name, MAX_NAME, "%s", config->service) >= MAX_NAME ||
	    snprintf(name, MAX_NAME, "%s.%s", config->service, config->namespace) >= MAX_NAME ||
	    snprintf(svc_name, MAX_NAME, "%s.%s.svc", config->service, config->namespace) >=
		    MAX_NAME)
		return error_set(err, ERROR_REJECTED, 0, "--tls-service is too long");
	return tls_make_certificate(&request, cert, key, err);
}

/* Says which Secret it is about, and what an operator can do. */
static void explain(const struct certificates *certificates, struct error *error)
{
	const char *advice = "";

	if (error->kind == ERROR_NOT_FOUND)
		advice = " (create it, it may be empty)";
	else if (error->kind == ERROR_DENIED)
		advice = " (grant get and patch on it)";
	error_wrap(error, "secret %s/%s%s", certificates->config.namespace,
		   certificates->config.secret, advice);
}

static void look(void *owner);

static void patched(void *owner, int status, struct view body, const struct error *error)
{
	struct certificates *certificates = owner;
	struct error failure = {0};

	(void)status;
	(void)body;
	certificates->request = NULL;
	if (!error || error->kind == ERROR_CONFLICT) {
		look(certificates);
		return;
	}
	failure = *error;
	explain(certificates, &failure);
	retry(certificates, &failure);
}

static int send_patch(struct certificates *certificates, const struct secret_doc *secret,
		      struct error *err)
{
	CLEANUP(sbuf_deinit) struct sbuf body = {0};
	struct apiclient_call call = {
		.method = "PATCH",
		.path = sbuf_text(&certificates->path),
		.content_type = "application/merge-patch+json",
	};

	sbuf_init_secret(&body, 8 * LIMIT_FILE_BYTES);
	secret_doc_encode_patch(secret, &body);
	if (sbuf_check(&body, "Secret", err) < 0)
		return -1;
	call.body = sbuf_view(&body);
	certificates->written = true;
	return apiclient_send(certificates->config.client, &call, patched, certificates,
			      &certificates->request, err);
}

static int renew(struct certificates *certificates, const struct secret_doc *old,
		 struct error *err)
{
	CLEANUP(sbuf_deinit) struct sbuf ca_cert = {0}, ca_key = {0}, cert = {0}, key = {0};
	struct secret_doc secret = *old;

	sbuf_init(&ca_cert, LIMIT_FILE_BYTES);
	sbuf_init_secret(&ca_key, LIMIT_FILE_BYTES);
	sbuf_init(&cert, LIMIT_FILE_BYTES);
	sbuf_init_secret(&key, LIMIT_FILE_BYTES);
	if (certificates->written)
		return error_set(err, ERROR_RETRY, 0,
				 "does not hold what was written: check what else writes it");
	if (!may_sign(old)) {
		if (make_authority(old, &ca_cert, &ca_key, err) < 0)
			return -1;
		secret.ca_cert = sbuf_view(&ca_cert);
		secret.ca_key = sbuf_view(&ca_key);
		if (can_serve(old, 2 * SPREAD_S)) {
			LOG_INFO("Creating a TLS certificate authority",
				 LOG_TEXT("secret", view_from(certificates->config.secret)),
				 LOG_I64("next_certificate_after_s", SPREAD_S));
			return send_patch(certificates, &secret, err);
		}
	}
	if (make_serving(&certificates->config, secret.ca_cert, secret.ca_key, &cert, &key, err) < 0)
		return -1;
	secret.cert = sbuf_view(&cert);
	secret.key = sbuf_view(&key);
	LOG_INFO("Creating a TLS serving certificate",
		 LOG_TEXT("secret", view_from(certificates->config.secret)));
	return send_patch(certificates, &secret, err);
}

static void published(void *owner, enum ca_config_map_outcome outcome)
{
	struct certificates *certificates = owner;

	if (outcome == CA_CONFIG_MAP_EQUAL)
		rest(certificates, SECRET_PERIOD_MS);
	else if (outcome == CA_CONFIG_MAP_WRITTEN)
		look(certificates);
	else
		look_later(certificates);
}

/* The Secret is as it shall be. */
static void publish(struct certificates *certificates, struct view ca_cert)
{
	struct error told = {0};

	certificates->written = false;
	if (!certificates->ca_config_map)
		rest(certificates, SECRET_PERIOD_MS);
	else if (ca_config_map_publish(certificates->ca_config_map, ca_cert, &told) < 0)
		look_later(certificates);
}

static int use_secret(struct certificates *certificates, struct view body, struct error *err)
{
	CLEANUP(arena_deinit) struct arena arena = {0};
	struct secret_doc secret;

	arena_init_secret(&arena, 8 * LIMIT_FILE_BYTES);
	if (secret_doc_decode(body, &arena, &secret, err) < 0)
		return -1;
	int served = serve(certificates, secret.cert, secret.key, err);

	if (!is_good(&secret) && !is_spreading(&secret))
		return renew(certificates, &secret, err);
	if (served == 0)
		publish(certificates, secret.ca_cert);
	return served;
}

static void got(void *owner, int status, struct view body, const struct error *error)
{
	struct certificates *certificates = owner;
	struct error failure = {0};

	(void)status;
	certificates->request = NULL;
	if (error)
		failure = *error;
	else if (use_secret(certificates, body, &failure) == 0)
		return;
	explain(certificates, &failure);
	retry(certificates, &failure);
}

static void look_at_secret(struct certificates *certificates)
{
	struct error error = {0};
	const struct apiclient_call call = {
		.method = "GET",
		.path = sbuf_text(&certificates->path),
	};

	if (apiclient_send(certificates->config.client, &call, got, certificates,
			   &certificates->request, &error) < 0)
		retry(certificates, &error);
}

static void look(void *owner)
{
	struct certificates *certificates = owner;

	if (certificates->config.cert_file)
		look_at_files(certificates);
	else
		look_at_secret(certificates);
}

static int check_config(const struct certificates_config *config, struct error *err)
{
	if (!config->cert_file != !config->key_file)
		return error_set(err, ERROR_REJECTED, 0,
				 "--tls-cert and --tls-key belong together");
	if (!config->cert_file && !(config->secret && config->namespace && config->service))
		return error_set(err, ERROR_REJECTED, 0,
				 "no serving certificate: give --tls-cert and --tls-key, or "
				 "--tls-secret and --tls-service");
	return 0;
}

static void certificates_freep(struct certificates **certificates)
{
	certificates_free(*certificates);
}

static int make_ca_config_map(struct certificates *certificates, struct error *err)
{
	const struct certificates_config *config = &certificates->config;
	const struct ca_config_map_config map = {
		.client = config->client,
		.namespace = config->ca_namespace,
		.name = config->ca_config_map,
		.done = published,
		.owner = certificates,
	};

	if (!config->ca_config_map)
		return 0;
	return ca_config_map_new(&map, &certificates->ca_config_map, err);
}

int certificates_new(const struct certificates_config *config,
		     struct certificates **ret_certificates, struct error *err)
{
	CLEANUP(certificates_freep) struct certificates *certificates = NULL;

	if (check_config(config, err) < 0)
		return -1;
	certificates = calloc(1, sizeof(*certificates));
	if (!certificates)
		return error_no_memory(err);
	certificates->config = *config;
	backoff_init(&certificates->backoff, 500, 30000);
	prng_init(&certificates->prng, prng_entropy());
	sbuf_init(&certificates->path, LIMIT_URL);
	error_set(&certificates->trouble, ERROR_RETRY, 0, "no serving certificate yet");
	if (!config->cert_file)
		sbuf_printf(&certificates->path, "/api/v1/namespaces/%s/secrets/%s",
			    config->namespace, config->secret);
	if (sbuf_check(&certificates->path, "path of the Secret", err) < 0 ||
	    make_ca_config_map(certificates, err) < 0 ||
	    loop_timer_new(config->loop, look, certificates, &certificates->timer, err) < 0)
		return -1;
	loop_timer_set(certificates->timer, 0);
	*ret_certificates = TAKE(certificates);
	return 0;
}

void certificates_free(struct certificates *certificates)
{
	if (!certificates)
		return;
	apiclient_cancel(certificates->request);
	ca_config_map_free(certificates->ca_config_map);
	loop_timer_free(certificates->timer);
	sbuf_deinit(&certificates->path);
	free(certificates);
}

const char *certificates_trouble(const struct certificates *certificates)
{
	return certificates->end > now_s() ? "" : certificates->trouble.text;
}

const char *certificates_ca_trouble(const struct certificates *certificates)
{
	return certificates->ca_config_map ? ca_config_map_trouble(certificates->ca_config_map) : "";
}
