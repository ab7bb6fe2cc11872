/* SPDX-License-Identifier: Apache-2.0 */

#include "kube/credential.h"

#include <string.h>

#include "base/limits.h"

#define TOKEN_MS 50000u
#define CERTIFICATE_MS 300000u
#define MISSED_MS 10000u
#define REFUSED_MS 1000u

static const struct view header = VIEW_INIT("Authorization: Bearer ");
static const struct view pem_begin = VIEW_INIT("-----BEGIN ");

/* Old secrets must not lie about in freed memory. */
static void replace(struct sbuf *buf, struct view prefix, struct view text)
{
	if (buf->ptr)
		explicit_bzero(buf->ptr, buf->allocated);
	sbuf_clear(buf);
	/* All room at once: growing by halves would leave copies behind. */
	if (!sbuf_reserve(buf, prefix.len + text.len + 1))
		return;
	sbuf_append(buf, prefix);
	sbuf_append(buf, text);
}

static void forget(struct sbuf *buf)
{
	if (buf->ptr)
		explicit_bzero(buf->ptr, buf->allocated);
	sbuf_deinit(buf);
}

void credential_deinit(struct credential *credential)
{
	forget(&credential->authorization);
	forget(&credential->ca_pem);
	forget(&credential->client_cert_pem);
	forget(&credential->client_key_pem);
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
					 "the token holds blanks or other bytes that no token has");
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
	const struct view nothing = {NULL, 0};
	*credential = (struct credential){.config = config};
	sbuf_init(&credential->authorization, LIMIT_TOKEN_BYTES + LIMIT_KIB);
	sbuf_init(&credential->ca_pem, LIMIT_FILE_BYTES + 1);
	sbuf_init(&credential->client_cert_pem, LIMIT_FILE_BYTES + 1);
	sbuf_init(&credential->client_key_pem, LIMIT_FILE_BYTES + 1);
	bool client_from_file = config->client_cert_pem.len == 0 || config->client_key_pem.len == 0;
	if (config->token_file.len == 0)
		credential->due_at[CREDENTIAL_TOKEN] = UINT64_MAX;
	if (config->ca_file.len == 0 || config->ca_pem.len > 0)
		credential->due_at[CREDENTIAL_CA] = UINT64_MAX;
	if ((config->client_cert_file.len == 0 && config->client_key_file.len == 0) ||
	    !client_from_file)
		credential->due_at[CREDENTIAL_CLIENT] = UINT64_MAX;
	replace(&credential->ca_pem, nothing, config->ca_pem);
	replace(&credential->client_cert_pem, nothing, config->client_cert_pem);
	replace(&credential->client_key_pem, nothing, config->client_key_pem);
	struct view token = view_trim(config->token);
	if (token.len == 0 || config->token_file.len > 0)
		return 0;
	if (check_token(token, err) != 0)
		return -1;
	replace(&credential->authorization, header, token);
	return sbuf_check(&credential->authorization, "token", err);
}

bool credential_is_due(const struct credential *credential, enum credential_file file,
		       uint64_t now)
{
	return credential->due_at[file] <= now;
}

void credential_missed(struct credential *credential, enum credential_file file, uint64_t now)
{
	credential->due_at[file] = now + MISSED_MS;
}

/* Puts text in force where it differs. */
static int update(struct credential *credential, struct sbuf *buf, struct view prefix,
		  struct view text, struct error *err)
{
	struct view present = sbuf_view(buf);
	if (present.len == prefix.len + text.len &&
	    view_equal(view_from_offset(present, prefix.len), text))
		return 0;
	credential->reloads += present.len > 0;
	replace(buf, prefix, text);
	return sbuf_check(buf, "credential", err);
}

static int take_token(struct credential *credential, struct view contents, struct error *err)
{
	struct view token = view_trim(contents);
	if (check_token(token, err) != 0)
		return -1;
	return update(credential, &credential->authorization, header, token, err);
}

static int take_ca(struct credential *credential, struct view contents, struct error *err)
{
	const struct view nothing = {NULL, 0};
	if (check_pem(contents, "CA file", err) != 0)
		return -1;
	return update(credential, &credential->ca_pem, nothing, contents, err);
}

static int take_client(struct credential *credential, struct view cert, struct view key,
		       struct error *err)
{
	const struct view nothing = {NULL, 0};
	if (check_pem(cert, "client certificate", err) != 0 ||
	    check_pem(key, "client key", err) != 0 ||
	    update(credential, &credential->client_cert_pem, nothing, cert, err) != 0)
		return -1;
	return update(credential, &credential->client_key_pem, nothing, key, err);
}

int credential_take(struct credential *credential, enum credential_file file,
		    struct view contents, struct view key, uint64_t now, struct error *err)
{
	int result = -1;
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
