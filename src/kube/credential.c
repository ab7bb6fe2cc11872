/* SPDX-License-Identifier: Apache-2.0 */

#include "kube/credential.h"

#include <assert.h>

#include "base/limits.h"

#define TOKEN_MS 50000u
#define CERTIFICATE_MS 300000u
#define MISSED_MS 10000u
#define REFUSED_MS 1000u

static const struct view header = VIEW_INIT("Authorization: Bearer ");
static const struct view pem_begin = VIEW_INIT("-----BEGIN ");

static const struct view nothing = {NULL, 0};

/* What is to be put in force, whole, or nothing: what is there must not be lost for want of memory. */
static int make(const struct sbuf *present, struct view prefix, struct view text, const char *what,
		struct sbuf *ret_fresh, struct error *err)
{
	sbuf_init_secret(ret_fresh, present->cap);
	sbuf_append(ret_fresh, prefix);
	sbuf_append(ret_fresh, text);
	if (sbuf_check(ret_fresh, what, err) == 0) {
		assert(ret_fresh->len == prefix.len + text.len);
		return 0;
	}
	sbuf_deinit(ret_fresh);
	return -1;
}

static void put(struct credential *credential, struct sbuf *present, struct sbuf *take_fresh)
{
	assert(present != take_fresh);
	if (view_equal(sbuf_view(present), sbuf_view(take_fresh))) {
		sbuf_deinit(take_fresh);
		return;
	}
	credential->reloads += present->len > 0;
	sbuf_deinit(present);
	*present = *take_fresh;
}

void credential_deinit(struct credential *credential)
{
	sbuf_deinit(&credential->authorization);
	sbuf_deinit(&credential->ca_pem);
	sbuf_deinit(&credential->client_cert_pem);
	sbuf_deinit(&credential->client_key_pem);
}

static bool contains(struct view text, struct view part)
{
	struct view before, after;
	return view_cut(text, part, &before, &after);
}

static int check_token(struct view token, struct error *err)
{
	if (token.len == 0)
		return error_set(err, ERROR_REJECTED, 0, "the token file is empty");
	if (token.len > LIMIT_TOKEN_BYTES)
		return error_set(err, ERROR_REJECTED, 0, "the token is over %u bytes",
				 LIMIT_TOKEN_BYTES);
	for (size_t i = 0; i < token.len; i++) {
		if (token.ptr[i] <= ' ' || token.ptr[i] == 0x7f)
			return error_set(err, ERROR_REJECTED, 0,
					 "the token has blanks or other bytes that are not allowed");
	}
	return 0;
}

static int check_pem(struct view pem, const char *what, struct error *err)
{
	if (!contains(pem, pem_begin))
		return error_set(err, ERROR_REJECTED, 0, "the %s is not PEM", what);
	return 0;
}

int credential_init(struct credential *credential, const struct kubeconfig *config,
		    struct error *err)
{
	*credential = (struct credential){.config = config};
	sbuf_init_secret(&credential->authorization, LIMIT_TOKEN_BYTES + LIMIT_KIB);
	sbuf_init_secret(&credential->ca_pem, LIMIT_FILE_BYTES + 1);
	sbuf_init_secret(&credential->client_cert_pem, LIMIT_FILE_BYTES + 1);
	sbuf_init_secret(&credential->client_key_pem, LIMIT_FILE_BYTES + 1);
	bool client_from_file = config->client_cert_pem.len == 0 || config->client_key_pem.len == 0;
	if (config->token_file.len == 0)
		credential->due_at[CREDENTIAL_TOKEN] = UINT64_MAX;
	if (config->ca_file.len == 0 || config->ca_pem.len > 0)
		credential->due_at[CREDENTIAL_CA] = UINT64_MAX;
	if ((config->client_cert_file.len == 0 && config->client_key_file.len == 0) ||
	    !client_from_file)
		credential->due_at[CREDENTIAL_CLIENT] = UINT64_MAX;
	if (make(&credential->ca_pem, nothing, config->ca_pem, "CA", &credential->ca_pem, err) < 0 ||
	    make(&credential->client_cert_pem, nothing, config->client_cert_pem,
		 "client certificate", &credential->client_cert_pem, err) < 0 ||
	    make(&credential->client_key_pem, nothing, config->client_key_pem, "client key",
		 &credential->client_key_pem, err) < 0)
		return -1;
	struct view token = view_trim(config->token);
	if (token.len == 0 || config->token_file.len > 0)
		return 0;
	if (check_token(token, err) != 0)
		return -1;
	return make(&credential->authorization, header, token, "token", &credential->authorization,
		    err);
}

bool credential_is_due(const struct credential *credential, enum credential_file file,
		       uint64_t now)
{
	assert(file < CREDENTIAL_N_FILES);
	return credential->due_at[file] <= now;
}

void credential_missed(struct credential *credential, enum credential_file file, uint64_t now)
{
	assert(file < CREDENTIAL_N_FILES);
	credential->due_at[file] = now + MISSED_MS;
}

static int take_token(struct credential *credential, struct view contents, struct error *err)
{
	struct view token = view_trim(contents);
	struct sbuf fresh;
	if (check_token(token, err) != 0 ||
	    make(&credential->authorization, header, token, "token", &fresh, err) < 0)
		return -1;
	put(credential, &credential->authorization, &fresh);
	return 0;
}

static int take_ca(struct credential *credential, struct view contents, struct error *err)
{
	struct sbuf fresh;
	if (check_pem(contents, "CA file", err) != 0 ||
	    make(&credential->ca_pem, nothing, contents, "CA", &fresh, err) < 0)
		return -1;
	put(credential, &credential->ca_pem, &fresh);
	return 0;
}

/* Both, or neither. */
static int take_client(struct credential *credential, struct view cert, struct view key,
		       struct error *err)
{
	struct sbuf fresh_cert, fresh_key;
	if (check_pem(cert, "client certificate", err) != 0 ||
	    check_pem(key, "client key", err) != 0 ||
	    make(&credential->client_cert_pem, nothing, cert, "client certificate", &fresh_cert,
		 err) < 0)
		return -1;
	if (make(&credential->client_key_pem, nothing, key, "client key", &fresh_key, err) < 0) {
		sbuf_deinit(&fresh_cert);
		return -1;
	}
	put(credential, &credential->client_cert_pem, &fresh_cert);
	put(credential, &credential->client_key_pem, &fresh_key);
	return 0;
}

int credential_take(struct credential *credential, enum credential_file file,
		    struct view contents, struct view key, uint64_t now, struct error *err)
{
	int result = -1;
	assert(file < CREDENTIAL_N_FILES);
	switch (file) {
	case CREDENTIAL_TOKEN:
		result = take_token(credential, contents, err);
		break;
	case CREDENTIAL_CA:
		result = take_ca(credential, contents, err);
		break;
	case CREDENTIAL_CLIENT:
		result = take_client(credential, contents, key, err);
		break;
	case CREDENTIAL_N_FILES:
		break;
	}
	if (result != 0)
		credential_missed(credential, file, now);
	else
		credential->due_at[file] =
			now + (file == CREDENTIAL_TOKEN ? TOKEN_MS : CERTIFICATE_MS);
	return result;
}

bool credential_refused(struct credential *credential, uint64_t now)
{
	bool any = false;
	if (now < credential->reread_at)
		return false;
	for (int file = 0; file < CREDENTIAL_N_FILES; file++) {
		if (credential->due_at[file] == UINT64_MAX)
			continue;
		credential->due_at[file] = now;
		any = true;
	}
	credential->reread_at = now + REFUSED_MS;
	return any;
}

const char *credential_authorization(struct credential *credential)
{
	return credential->authorization.len > 0 ? sbuf_text(&credential->authorization) : NULL;
}

struct view credential_ca(const struct credential *credential)
{
	return sbuf_view(&credential->ca_pem);
}

struct view credential_client_cert(const struct credential *credential)
{
	return sbuf_view(&credential->client_cert_pem);
}

struct view credential_client_key(const struct credential *credential)
{
	return sbuf_view(&credential->client_key_pem);
}
