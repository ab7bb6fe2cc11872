/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/certificates.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/sbuf.h"
#include "io/file.h"
#include "io/tls.h"
#include "schema/secret_doc.h"

/*
 * The Secret is the one truth: read it, and if what it holds will do, serve with it. If not, make
 * a new pair and write it on condition that nobody wrote meanwhile, then read again: with several
 * replicas all end with the same pair. The authority outlives the serving certificate by far; when
 * it is renewed the old one stays in ca.crt behind the new, until it ends.
 */

#define FILES_PERIOD_MS 60000u
#define SECRET_PERIOD_MS 3600000u
#define DAY_S (24 * 3600)
#define SERVING_LIFETIME_S (90LL * DAY_S)
#define AUTHORITY_LIFETIME_S (3650LL * DAY_S)
/* An authority is renewed while a serving certificate of full life still ends before it. */
#define AUTHORITY_LEAST_S (2 * SERVING_LIFETIME_S)
#define MAX_NAME 256

struct certificates {
	struct certificates_config config;
	struct loop_timer *timer;
	struct apiclient_request *request;
	struct backoff backoff;
	struct prng prng;
	struct sbuf cert; /* in force */
	struct sbuf path;
	bool valid;
	struct error trouble;
};

static void serve(struct certificates *certificates, struct view cert, struct view key)
{
	certificates->valid = true;
	error_clear(&certificates->trouble);
	if (view_equal(cert, sbuf_view(&certificates->cert)))
		return;
	sbuf_clear(&certificates->cert);
	sbuf_append(&certificates->cert, cert);
	LOG_INFO("Serving certificate is in force");
	certificates->config.changed(certificates->config.owner, cert, key);
}

static void retry(struct certificates *certificates, const struct error *error)
{
	certificates->trouble = *error;
	LOG_WARN("Serving certificate could not be read or made", LOG_ERROR_FIELD(error));
	loop_timer_set(certificates->timer,
		       backoff_next(&certificates->backoff, &certificates->prng));
}

static void rest(struct certificates *certificates, uint64_t ms)
{
	backoff_reset(&certificates->backoff);
	loop_timer_set(certificates->timer, ms);
}

/* Files */

static int read_files(struct certificates *certificates, struct error *err)
{
	CLEANUP(sbuf_deinit) struct sbuf cert = {0}, key = {0};
	int64_t end;

	sbuf_init(&cert, LIMIT_FILE_BYTES);
	sbuf_init(&key, LIMIT_FILE_BYTES);
	if (file_read(certificates->config.cert_file, &cert, err) < 0 ||
	    file_read(certificates->config.key_file, &key, err) < 0 ||
	    tls_certificate_end(sbuf_view(&cert), &end, err) < 0)
		return -1;
	if (end <= clock_wall_ms() / 1000)
		return error_set(err, ERROR_DENIED, 0, "certificate in %s has expired: renew it",
				 certificates->config.cert_file);
	serve(certificates, sbuf_view(&cert), sbuf_view(&key));
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
	       end > clock_wall_ms() / 1000 + least_s;
}

static bool is_good(const struct secret_doc *secret)
{
	return secret->key.len > 0 && lasts(secret->cert, SERVING_LIFETIME_S / 3) &&
	       secret->ca_key.len > 0 && lasts(secret->ca_cert, SERVING_LIFETIME_S);
}

static int make_authority(const struct secret_doc *old, struct sbuf *cert, struct sbuf *key,
			  struct error *err)
{
	const struct tls_certificate_request request = {
		.common_name = "gpu-attribution-ca",
		.now = clock_wall_ms() / 1000,
		.lifetime_s = AUTHORITY_LIFETIME_S,
	};

	if (tls_make_certificate(&request, cert, key, err) < 0)
		return -1;
	if (lasts(old->ca_cert, 0))
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
		.now = clock_wall_ms() / 1000,
		.lifetime_s = SERVING_LIFETIME_S,
		.issuer_cert_pem = ca_cert,
		.issuer_key_pem = ca_key,
	};

	if (snprintf(short_name, MAX_NAME, "%s", config->service) >= MAX_NAME ||
	    snprintf(name, MAX_NAME, "%s.%s", config->service, config->namespace) >= MAX_NAME ||
	    snprintf(svc_name, MAX_NAME, "%s.%s.svc", config->service, config->namespace) >=
		    MAX_NAME)
		return error_set(err, ERROR_REJECTED, 0, "service name is too long");
	return tls_make_certificate(&request, cert, key, err);
}

static void look(void *owner);

static void patched(void *owner, int status, struct view body, const struct error *error)
{
	struct certificates *certificates = owner;

	(void)status;
	(void)body;
	certificates->request = NULL;
	if (error && error->kind != ERROR_CONFLICT)
		retry(certificates, error);
	else
		look(certificates);
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

	sbuf_init(&body, 8 * LIMIT_FILE_BYTES);
	secret_doc_encode_patch(secret, &body);
	if (sbuf_check(&body, "Secret", err) < 0)
		return -1;
	call.body = sbuf_view(&body);
	return apiclient_send(certificates->config.client, &call, patched, certificates,
			      &certificates->request, err);
}

static int renew(struct certificates *certificates, const struct secret_doc *old,
		 struct error *err)
{
	CLEANUP(sbuf_deinit) struct sbuf ca_cert = {0}, ca_key = {0}, cert = {0}, key = {0};
	struct secret_doc secret = *old;

	sbuf_init(&ca_cert, LIMIT_FILE_BYTES);
	sbuf_init(&ca_key, LIMIT_FILE_BYTES);
	sbuf_init(&cert, LIMIT_FILE_BYTES);
	sbuf_init(&key, LIMIT_FILE_BYTES);
	if (old->ca_key.len == 0 || !lasts(old->ca_cert, AUTHORITY_LEAST_S)) {
		if (make_authority(old, &ca_cert, &ca_key, err) < 0)
			return -1;
		secret.ca_cert = sbuf_view(&ca_cert);
		secret.ca_key = sbuf_view(&ca_key);
	}
	if (make_serving(&certificates->config, secret.ca_cert, secret.ca_key, &cert, &key, err) < 0)
		return -1;
	secret.cert = sbuf_view(&cert);
	secret.key = sbuf_view(&key);
	LOG_INFO("Making a serving certificate",
		 LOG_TEXT("secret", view_from(certificates->config.secret)));
	return send_patch(certificates, &secret, err);
}

static int use_secret(struct certificates *certificates, struct view body, struct error *err)
{
	CLEANUP(arena_deinit) struct arena arena = {0};
	struct secret_doc secret;

	arena_init(&arena, 8 * LIMIT_FILE_BYTES);
	if (secret_doc_decode(body, &arena, &secret, err) < 0)
		return -1;
	if (!is_good(&secret))
		return renew(certificates, &secret, err);
	serve(certificates, secret.cert, secret.key);
	rest(certificates, SECRET_PERIOD_MS);
	return 0;
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
	error_wrap(&failure, "secret %s/%s", certificates->config.namespace,
		   certificates->config.secret);
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
	sbuf_init(&certificates->cert, LIMIT_FILE_BYTES);
	sbuf_init(&certificates->path, LIMIT_URL);
	error_set(&certificates->trouble, ERROR_RETRY, 0, "no serving certificate yet");
	if (!config->cert_file)
		sbuf_printf(&certificates->path, "/api/v1/namespaces/%s/secrets/%s",
			    config->namespace, config->secret);
	if (sbuf_check(&certificates->path, "path of the Secret", err) < 0 ||
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
	loop_timer_free(certificates->timer);
	sbuf_deinit(&certificates->cert);
	sbuf_deinit(&certificates->path);
	free(certificates);
}

const char *certificates_trouble(const struct certificates *certificates)
{
	return certificates->valid ? "" : certificates->trouble.text;
}
