/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <arpa/inet.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>

#include "base/limits.h"
#include "io/tls.h"
#include "lib/failing_openssl.h"

#define NOW INT64_C(1767323045)
#define DAY INT64_C(86400)

struct pair {
	struct sbuf cert, key;
};

static void pair_init(struct pair *pair)
{
	sbuf_init(&pair->cert, LIMIT_FILE_BYTES);
	sbuf_init(&pair->key, LIMIT_FILE_BYTES);
}

static void pair_deinit(struct pair *pair)
{
	sbuf_deinit(&pair->cert);
	sbuf_deinit(&pair->key);
}

static void make(const struct tls_certificate_request *request, struct pair *pair)
{
	struct error err = {0};
	pair_init(pair);
	if (tls_make_certificate(request, &pair->cert, &pair->key, &err) != 0)
		fail_msg("%s", err.text);
}

static void make_authority(struct pair *pair)
{
	make(&(struct tls_certificate_request){.common_name = "test-ca", .now = NOW,
					       .lifetime_s = 100 * DAY}, pair);
}

static const char *const dns_names[] = {"a.b.svc", "localhost", NULL};
static const char *const addresses[] = {"127.0.0.1", "::1", NULL};

static void make_serving(const struct pair *authority, int64_t days, struct pair *pair)
{
	make(&(struct tls_certificate_request){
		     .common_name = "test", .dns_names = dns_names, .addresses = addresses,
		     .now = NOW, .lifetime_s = days * DAY,
		     .issuer_cert_pem = sbuf_view(&authority->cert),
		     .issuer_key_pem = sbuf_view(&authority->key)}, pair);
}

static X509 *parse(const struct sbuf *pem)
{
	BIO *bio = BIO_new_mem_buf(pem->ptr, (int)pem->len);
	X509 *certificate = PEM_read_bio_X509(bio, NULL, NULL, NULL);
	BIO_free(bio);
	assert_non_null(certificate);
	return certificate;
}

/* What a client that trusts only the authority thinks of the certificate for a host. */
static int verify(const struct pair *authority, const struct pair *serving, int64_t at,
		  const char *host, const char *address)
{
	X509 *ca = parse(&authority->cert);
	X509 *leaf = parse(&serving->cert);
	X509_STORE *store = X509_STORE_new();
	X509_STORE_CTX *context = X509_STORE_CTX_new();
	assert_int_equal(X509_STORE_add_cert(store, ca), 1);
	assert_int_equal(X509_STORE_CTX_init(context, store, leaf, NULL), 1);
	X509_VERIFY_PARAM *param = X509_STORE_CTX_get0_param(context);
	X509_VERIFY_PARAM_set_time(param, (time_t)at);
	X509_VERIFY_PARAM_set_flags(param, X509_V_FLAG_X509_STRICT);
	X509_VERIFY_PARAM_set_purpose(param, X509_PURPOSE_SSL_SERVER);
	if (host)
		X509_VERIFY_PARAM_set1_host(param, host, 0);
	if (address)
		X509_VERIFY_PARAM_set1_ip_asc(param, address);
	X509_verify_cert(context);
	int result = X509_STORE_CTX_get_error(context);
	X509_STORE_CTX_free(context);
	X509_STORE_free(store);
	X509_free(leaf);
	X509_free(ca);
	return result;
}

static void a_client_that_trusts_the_authority_accepts_the_certificate(void **state)
{
	(void)state;
	struct pair authority, serving;
	make_authority(&authority);
	make_serving(&authority, 30, &serving);
	assert_int_equal(verify(&authority, &serving, NOW, "a.b.svc", NULL), X509_V_OK);
	assert_int_equal(verify(&authority, &serving, NOW, "localhost", NULL), X509_V_OK);
	assert_int_equal(verify(&authority, &serving, NOW, NULL, "127.0.0.1"), X509_V_OK);
	assert_int_equal(verify(&authority, &serving, NOW, NULL, "::1"), X509_V_OK);
	assert_int_equal(verify(&authority, &serving, NOW - 299, "localhost", NULL), X509_V_OK);
	pair_deinit(&serving);
	pair_deinit(&authority);
}

static void other_names_times_and_authorities_are_not_accepted(void **state)
{
	(void)state;
	struct pair authority, other, serving;
	make_authority(&authority);
	make_authority(&other);
	make_serving(&authority, 30, &serving);
	assert_int_equal(verify(&authority, &serving, NOW, "b.svc", NULL),
			 X509_V_ERR_HOSTNAME_MISMATCH);
	assert_int_equal(verify(&authority, &serving, NOW, "test", NULL),
			 X509_V_ERR_HOSTNAME_MISMATCH);
	assert_int_equal(verify(&authority, &serving, NOW, NULL, "127.0.0.2"),
			 X509_V_ERR_IP_ADDRESS_MISMATCH);
	assert_int_equal(verify(&authority, &serving, NOW + 31 * DAY, NULL, NULL),
			 X509_V_ERR_CERT_HAS_EXPIRED);
	assert_int_equal(verify(&authority, &serving, NOW - 301, NULL, NULL),
			 X509_V_ERR_CERT_NOT_YET_VALID);
	assert_int_not_equal(verify(&other, &serving, NOW, NULL, NULL), X509_V_OK);
	pair_deinit(&serving);
	pair_deinit(&other);
	pair_deinit(&authority);
}

static void the_authority_cannot_serve_and_the_certificate_cannot_sign(void **state)
{
	(void)state;
	struct pair authority, serving;
	make_authority(&authority);
	make_serving(&authority, 30, &serving);
	X509 *ca = parse(&authority.cert);
	X509 *leaf = parse(&serving.cert);
	assert_true(X509_get_key_usage(ca) == (KU_KEY_CERT_SIGN | KU_CRL_SIGN));
	assert_true(X509_get_key_usage(leaf) == KU_DIGITAL_SIGNATURE);
	assert_int_equal(X509_check_ca(ca), 1);
	assert_int_equal(X509_check_ca(leaf), 0);
	assert_int_equal(X509_get_pathlen(ca), 0);
	assert_int_not_equal(ASN1_INTEGER_cmp(X509_get0_serialNumber(ca),
					      X509_get0_serialNumber(leaf)), 0);
	X509_free(leaf);
	X509_free(ca);
	pair_deinit(&serving);
	pair_deinit(&authority);
}

static void a_certificate_ends_with_its_authority_at_the_latest(void **state)
{
	(void)state;
	struct pair authority, shorter, longer;
	make_authority(&authority);
	make_serving(&authority, 30, &shorter);
	make_serving(&authority, 300, &longer);
	struct error err;
	int64_t end = 0;
	assert_int_equal(tls_certificate_end(sbuf_view(&shorter.cert), &end, &err), 0);
	assert_int_equal(end, NOW + 30 * DAY);
	assert_int_equal(tls_certificate_end(sbuf_view(&longer.cert), &end, &err), 0);
	assert_int_equal(end, NOW + 100 * DAY);
	pair_deinit(&longer);
	pair_deinit(&shorter);
	pair_deinit(&authority);
}

static void a_certificate_begins_five_minutes_before_it_was_made(void **state)
{
	(void)state;
	struct pair authority, serving;
	make_authority(&authority);
	make_serving(&authority, 30, &serving);
	struct error err;
	int64_t begin = 0;
	assert_int_equal(tls_certificate_begin(sbuf_view(&serving.cert), &begin, &err), 0);
	assert_int_equal(begin, NOW - 300);
	pair_deinit(&serving);
	pair_deinit(&authority);
}

static void a_certificate_is_not_made_of_bad_requests(void **state)
{
	(void)state;
	static const char *const no_address[] = {"127.0.0.256", NULL};
	struct pair authority, other, out;
	make_authority(&authority);
	make_authority(&other);
	pair_init(&out);
	sbuf_append(&out.cert, VIEW("before"));
	sbuf_append(&out.key, VIEW("before"));
	const struct tls_certificate_request requests[] = {
		{.common_name = "x", .now = NOW, .lifetime_s = 1, .addresses = no_address},
		{.common_name = "x", .now = NOW, .lifetime_s = 1, .issuer_cert_pem = VIEW("junk"),
		 .issuer_key_pem = sbuf_view(&authority.key)},
		{.common_name = "x", .now = NOW, .lifetime_s = 1,
		 .issuer_cert_pem = sbuf_view(&authority.cert)},
		{.common_name = "x", .now = NOW, .lifetime_s = 1,
		 .issuer_cert_pem = sbuf_view(&authority.cert),
		 .issuer_key_pem = sbuf_view(&other.key)},
	};
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		struct error err = {0};
		assert_int_equal(tls_make_certificate(&requests[i], &out.cert, &out.key, &err), -1);
		assert_int_equal(err.kind, ERROR_REJECTED);
		assert_true(view_equal(sbuf_view(&out.cert), VIEW("before")));
		assert_true(view_equal(sbuf_view(&out.key), VIEW("before")));
	}
	pair_deinit(&out);
	pair_deinit(&other);
	pair_deinit(&authority);
}

static void a_pair_that_does_not_fit_changes_nothing(void **state)
{
	(void)state;
	struct pair authority, first, second;
	make_authority(&authority);
	make_serving(&authority, 1, &first);
	make_serving(&authority, 1, &second);
	struct tls_identity *identity = NULL;
	struct error err = {0};
	assert_int_equal(tls_identity_new(sbuf_view(&first.cert), sbuf_view(&second.key), &identity,
					  &err), -1);
	assert_null(identity);
	assert_int_equal(tls_identity_new(sbuf_view(&first.cert), sbuf_view(&first.key), &identity,
					  &err), 0);
	const struct {
		struct view cert, key;
	} rows[] = {
		{sbuf_view(&first.cert), sbuf_view(&second.key)},
		{VIEW("junk"), sbuf_view(&second.key)},
		{sbuf_view(&second.cert), VIEW("junk")},
		{{NULL, 0}, {NULL, 0}},
		{sbuf_view(&second.cert), {NULL, 0}},
	};
	struct ssl_ctx_st *context = tls_identity_context(identity);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(tls_identity_update(identity, rows[i].cert, rows[i].key, &err), -1);
		assert_int_equal(err.kind, ERROR_REJECTED);
		assert_ptr_equal(tls_identity_context(identity), context);
	}
	assert_int_equal(tls_identity_update(identity, sbuf_view(&second.cert),
					     sbuf_view(&second.key), &err), 0);
	tls_identity_free(identity);
	pair_deinit(&second);
	pair_deinit(&first);
	pair_deinit(&authority);
}

static void a_key_of_another_kind_does_not_fit(void **state)
{
	(void)state;
	struct pair authority;
	struct error err = {0};
	struct tls_identity *identity = NULL;
	char *text;
	make_authority(&authority);
	EVP_PKEY *key = EVP_RSA_gen(2048);
	BIO *bio = BIO_new(BIO_s_mem());
	assert_int_equal(PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL), 1);
	long len = BIO_get_mem_data(bio, &text);
	assert_int_equal(tls_identity_new(sbuf_view(&authority.cert),
					  (struct view){text, (size_t)len}, &identity, &err), -1);
	assert_int_equal(err.kind, ERROR_REJECTED);
	BIO_free(bio);
	EVP_PKEY_free(key);
	pair_deinit(&authority);
}

static void a_chain_is_served_behind_its_certificate(void **state)
{
	(void)state;
	struct pair authority, serving;
	make_authority(&authority);
	make_serving(&authority, 1, &serving);
	sbuf_append(&serving.cert, sbuf_view(&authority.cert));
	struct tls_identity *identity = NULL;
	struct error err = {0};
	assert_int_equal(tls_identity_new(sbuf_view(&serving.cert), sbuf_view(&serving.key),
					  &identity, &err), 0);
	STACK_OF(X509) *chain = NULL;
	SSL_CTX_get0_chain_certs(tls_identity_context(identity), &chain);
	assert_int_equal(sk_X509_num(chain), 1);
	/* A broken second certificate is not quietly left out. */
	sbuf_append(&serving.cert, VIEW("-----BEGIN CERTIFICATE-----\nMIIB\n"));
	assert_int_equal(tls_identity_update(identity, sbuf_view(&serving.cert),
					     sbuf_view(&serving.key), &err), -1);
	tls_identity_free(identity);
	pair_deinit(&serving);
	pair_deinit(&authority);
}

static void an_identity_may_wait_for_its_first_pair(void **state)
{
	(void)state;
	struct pair authority;
	make_authority(&authority);
	struct tls_identity *identity = NULL;
	struct error err = {0};
	assert_int_equal(tls_identity_new((struct view){0}, (struct view){0}, &identity, &err), 0);
	assert_null(tls_identity_context(identity));
	assert_int_equal(tls_identity_update(identity, sbuf_view(&authority.cert),
					     sbuf_view(&authority.key), &err), 0);
	assert_non_null(tls_identity_context(identity));
	tls_identity_free(identity);
	pair_deinit(&authority);
}

static void what_is_no_certificate_has_no_times(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"", "junk", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct error err = {0};
		int64_t end = 42;
		assert_int_equal(tls_certificate_end(view_from(texts[i]), &end, &err), -1);
		assert_int_equal(tls_certificate_begin(view_from(texts[i]), &end, &err), -1);
		assert_int_equal(err.kind, ERROR_REJECTED);
		assert_int_equal(end, 42);
	}
}

static void a_digest_is_sha_256_however_the_bytes_are_cut(void **state)
{
	(void)state;
	static const unsigned char of_abc[TLS_DIGEST_SIZE] =
		"\xba\x78\x16\xbf\x8f\x01\xcf\xea\x41\x41\x40\xde\x5d\xae\x22\x23"
		"\xb0\x03\x61\xa3\x96\x17\x7a\x9c\xb4\x10\xff\x61\xf2\x00\x15\xad";
	unsigned char digest[TLS_DIGEST_SIZE];
	struct error err;
	assert_int_equal(tls_digest(VIEW("abc"), digest, &err), 0);
	assert_memory_equal(digest, of_abc, sizeof(digest));
	const struct view parts[] = {VIEW("a"), {NULL, 0}, VIEW("bc")};
	assert_int_equal(tls_digest_parts(parts, ARRAY_SIZE(parts), digest, &err), 0);
	assert_memory_equal(digest, of_abc, sizeof(digest));
}

TEST(without_memory_there_is_no_digest_and_later_there_is)
{
	unsigned char digest[TLS_DIGEST_SIZE];
	struct error err;
	for (int i = 0; i < 2; i++) {
		failing_openssl_set(true);
		assert_int_equal(tls_digest(VIEW("abc"), digest, &err), -1);
		assert_int_equal(err.kind, ERROR_NO_MEMORY);
		failing_openssl_set(false);
		assert_int_equal(tls_digest(VIEW("abc"), digest, &err), 0);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(without_memory_there_is_no_digest_and_later_there_is),
	cmocka_unit_test(a_client_that_trusts_the_authority_accepts_the_certificate),
	cmocka_unit_test(other_names_times_and_authorities_are_not_accepted),
	cmocka_unit_test(the_authority_cannot_serve_and_the_certificate_cannot_sign),
	cmocka_unit_test(a_certificate_ends_with_its_authority_at_the_latest),
	cmocka_unit_test(a_certificate_begins_five_minutes_before_it_was_made),
	cmocka_unit_test(a_certificate_is_not_made_of_bad_requests),
	cmocka_unit_test(a_pair_that_does_not_fit_changes_nothing),
	cmocka_unit_test(a_key_of_another_kind_does_not_fit),
	cmocka_unit_test(a_chain_is_served_behind_its_certificate),
	cmocka_unit_test(an_identity_may_wait_for_its_first_pair),
	cmocka_unit_test(what_is_no_certificate_has_no_times),
	cmocka_unit_test(a_digest_is_sha_256_however_the_bytes_are_cut),
};
TEST_MAIN_WITH(tests, failing_openssl_install_prepared, NULL)
