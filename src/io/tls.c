/* SPDX-License-Identifier: Apache-2.0 */

/*
 * An identity is one SSL_CTX, replaced as a whole: sessions hold a reference to the one they began
 * with. It is built completely before it replaces the old one, so that a pair that does not fit
 * changes nothing.
 *
 * OpenSSL queues errors per thread. They are taken from the queue where the failure is noticed,
 * otherwise they would be read as the failure of the next call.
 */

#include "io/tls.h"

#include <assert.h>
#include <limits.h>
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <stdatomic.h>

struct tls_identity {
	SSL_CTX *context; /* NULL: no pair yet */
};

/* Says what was being done and why OpenSSL did not do it. */
static int fail(struct error *err, const char *what)
{
	unsigned long code = ERR_peek_last_error();
	const char *reason = ERR_reason_error_string(code);
	bool memory = ERR_GET_REASON(code) == ERR_R_MALLOC_FAILURE;
	ERR_clear_error();
	if (memory)
		return error_no_memory(err);
	return error_set(err, ERROR_REJECTED, 0, "%s: %s", what, reason ? reason : "failed");
}

static void bio_freep(BIO **bio)
{
	BIO_free(*bio);
}

static void key_freep(EVP_PKEY **key)
{
	EVP_PKEY_free(*key);
}

static void certificate_freep(X509 **certificate)
{
	X509_free(*certificate);
}

static void context_freep(SSL_CTX **context)
{
	SSL_CTX_free(*context);
}

/* A key with a password is refused: nobody is there to type it. */
static int no_password(char *buf, int size, int writing, void *owner)
{
	(void)buf, (void)size, (void)writing, (void)owner;
	return 0;
}

static BIO *open_pem(struct view pem)
{
	return BIO_new_mem_buf(pem.ptr ? pem.ptr : "", pem.len < INT_MAX ? (int)pem.len : 0);
}

static X509 *read_certificate(BIO *bio)
{
	return PEM_read_bio_X509(bio, NULL, no_password, NULL);
}

static EVP_PKEY *read_key(struct view pem)
{
	CLEANUP(bio_freep) BIO *bio = open_pem(pem);
	return bio ? PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL) : NULL;
}

static SSL_CTX *make_context(void)
{
	CLEANUP(context_freep) SSL_CTX *context = SSL_CTX_new(TLS_server_method());
	if (!context || SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1 ||
	    SSL_CTX_set1_groups_list(context, "X25519:P-256") != 1 ||
	    SSL_CTX_set_num_tickets(context, 0) != 1 ||
	    SSL_CTX_set_max_early_data(context, 0) != 1)
		return NULL;
	SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION |
					     SSL_OP_IGNORE_UNEXPECTED_EOF);
	/* Buffers of 17 KiB each way are given back while a connection has nothing to say. */
	SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_RELEASE_BUFFERS |
					  SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	/* One read() for a record and those behind it, instead of two for each. */
	SSL_CTX_set_read_ahead(context, 1);
	return TAKE(context);
}

static int add_chain(SSL_CTX *context, BIO *bio, struct error *err)
{
	for (;;) {
		CLEANUP(certificate_freep) X509 *certificate = read_certificate(bio);
		if (!certificate)
			break;
		if (SSL_CTX_add1_chain_cert(context, certificate) != 1)
			return fail(err, "certificate chain");
	}
	bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
	if (!at_end)
		return fail(err, "certificate chain");
	ERR_clear_error();
	return 0;
}

static int load_pair(SSL_CTX *context, struct view cert_pem, struct view key_pem,
		     struct error *err)
{
	CLEANUP(bio_freep) BIO *bio = open_pem(cert_pem);
	CLEANUP(certificate_freep) X509 *certificate = bio ? read_certificate(bio) : NULL;
	if (!certificate || SSL_CTX_use_certificate(context, certificate) != 1)
		return fail(err, "certificate");
	if (add_chain(context, bio, err) != 0)
		return -1;
	CLEANUP(key_freep) EVP_PKEY *key = read_key(key_pem);
	if (!key || SSL_CTX_use_PrivateKey(context, key) != 1)
		return fail(err, "key");
	if (SSL_CTX_check_private_key(context) != 1)
		return fail(err, "key and certificate");
	return 0;
}

int tls_identity_update(struct tls_identity *identity, struct view cert_pem, struct view key_pem,
			struct error *err)
{
	ERR_clear_error();
	CLEANUP(context_freep) SSL_CTX *context = make_context();
	if (!context)
		return fail(err, "TLS context");
	if (load_pair(context, cert_pem, key_pem, err) != 0)
		return -1;
	SSL_CTX_free(identity->context);
	identity->context = TAKE(context);
	return 0;
}

static void identity_freep(struct tls_identity **identity)
{
	tls_identity_free(*identity);
}

int tls_identity_new(struct view cert_pem, struct view key_pem, struct tls_identity **ret_identity,
		     struct error *err)
{
	CLEANUP(identity_freep) struct tls_identity *identity = calloc(1, sizeof(*identity));
	if (!identity)
		return error_no_memory(err);
	if ((cert_pem.len > 0 || key_pem.len > 0) &&
	    tls_identity_update(identity, cert_pem, key_pem, err) != 0)
		return -1;
	*ret_identity = TAKE(identity);
	return 0;
}

void tls_identity_replace(struct tls_identity *identity, struct tls_identity *take_other)
{
	SSL_CTX *old = identity->context;
	identity->context = take_other->context;
	take_other->context = old;
	tls_identity_free(take_other);
}

void tls_identity_free(struct tls_identity *identity)
{
	if (!identity)
		return;
	SSL_CTX_free(identity->context);
	free(identity);
}

struct ssl_ctx_st *tls_identity_context(const struct tls_identity *identity)
{
	return identity->context;
}

typedef const ASN1_TIME *(*time_of_fn)(const X509 *certificate);

static int read_time(struct view cert_pem, time_of_fn time_of, int64_t *ret, struct error *err)
{
	ERR_clear_error();
	CLEANUP(bio_freep) BIO *bio = open_pem(cert_pem);
	CLEANUP(certificate_freep) X509 *certificate = bio ? read_certificate(bio) : NULL;
	ASN1_TIME *epoch = certificate ? ASN1_TIME_set(NULL, 0) : NULL;
	int days, seconds;
	if (!epoch)
		return fail(err, "certificate");
	int known = ASN1_TIME_diff(&days, &seconds, epoch, time_of(certificate));
	ASN1_TIME_free(epoch);
	if (known != 1)
		return fail(err, "time of the certificate");
	*ret = (int64_t)days * 86400 + seconds;
	return 0;
}

int tls_certificate_begin(struct view cert_pem, int64_t *ret_begin, struct error *err)
{
	return read_time(cert_pem, X509_get0_notBefore, ret_begin, err);
}

int tls_certificate_end(struct view cert_pem, int64_t *ret_end, struct error *err)
{
	return read_time(cert_pem, X509_get0_notAfter, ret_end, err);
}

/* What signs: an authority's certificate and key, or the new certificate itself. */
struct issuer {
	X509 *certificate;
	EVP_PKEY *key;
};

static bool set_serial(X509 *certificate)
{
	BIGNUM *number = BN_new();
	/* 159 random bits: positive, and at most the 20 bytes of RFC 5280. */
	bool done = number && BN_rand(number, 159, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
		    BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate));
	BN_free(number);
	return done;
}

static bool set_name(X509_NAME *name, const char *common_name)
{
	return X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
					  (const unsigned char *)common_name, -1, -1, 0) == 1;
}

/* Never longer than the issuer: what outlives its authority would be refused anyway. */
static bool set_validity(X509 *certificate, const struct tls_certificate_request *request,
			 const X509 *issuer)
{
	time_t end = (time_t)(request->now + request->lifetime_s);
	if (!ASN1_TIME_set(X509_getm_notBefore(certificate), (time_t)(request->now - 300)))
		return false;
	if (issuer && ASN1_TIME_cmp_time_t(X509_get0_notAfter(issuer), end) < 0)
		return X509_set1_notAfter(certificate, X509_get0_notAfter(issuer)) == 1;
	return ASN1_TIME_set(X509_getm_notAfter(certificate), end) != NULL;
}

static bool add_extension(X509 *certificate, const X509 *issuer, int nid, const char *value)
{
	X509V3_CTX context;
	X509V3_set_ctx_nodb(&context);
	/* OpenSSL 3.0 takes pointers to what it only reads. */
	X509V3_set_ctx(&context, (X509 *)(uintptr_t)issuer, certificate, NULL, NULL, 0);
	X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
	bool done = extension && X509_add_ext(certificate, extension, -1) == 1;
	X509_EXTENSION_free(extension);
	return done;
}

static bool push_name(GENERAL_NAMES *names, int type, ASN1_STRING *take_value)
{
	GENERAL_NAME *name = take_value ? GENERAL_NAME_new() : NULL;
	if (!name) {
		ASN1_STRING_free(take_value);
		return false;
	}
	GENERAL_NAME_set0_value(name, type, take_value);
	if (sk_GENERAL_NAME_push(names, name) > 0)
		return true;
	GENERAL_NAME_free(name);
	return false;
}

static ASN1_STRING *dns_value(const char *text)
{
	ASN1_IA5STRING *value = ASN1_IA5STRING_new();
	if (value && ASN1_STRING_set(value, text, -1) == 1)
		return value;
	ASN1_IA5STRING_free(value);
	return NULL;
}

static bool push_names(GENERAL_NAMES *names, const struct tls_certificate_request *request)
{
	for (const char *const *dns = request->dns_names; dns && *dns; dns++) {
		if (!push_name(names, GEN_DNS, dns_value(*dns)))
			return false;
	}
	for (const char *const *address = request->addresses; address && *address; address++) {
		if (!push_name(names, GEN_IPADD, a2i_IPADDRESS(*address)))
			return false;
	}
	return true;
}

static bool add_names(X509 *certificate, const struct tls_certificate_request *request)
{
	GENERAL_NAMES *names = sk_GENERAL_NAME_new_null();
	bool done = names && push_names(names, request) &&
		    (sk_GENERAL_NAME_num(names) == 0 ||
		     X509_add1_ext_i2d(certificate, NID_subject_alt_name, names, 0, 0) == 1);
	sk_GENERAL_NAME_pop_free(names, GENERAL_NAME_free);
	return done;
}

static bool add_extensions(X509 *certificate, const struct tls_certificate_request *request,
			   const X509 *issuer)
{
	static const struct {
		int nid;
		const char *authority;
		const char *serving; /* NULL: none */
	} rows[] = {
		{NID_basic_constraints, "critical,CA:TRUE,pathlen:0", "critical,CA:FALSE"},
		{NID_key_usage, "critical,keyCertSign,cRLSign", "critical,digitalSignature"},
		{NID_ext_key_usage, NULL, "serverAuth"},
		{NID_subject_key_identifier, "hash", "hash"},
		{NID_authority_key_identifier, NULL, "keyid:always"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *value = issuer ? rows[i].serving : rows[i].authority;
		const X509 *signer = issuer ? issuer : certificate;
		if (value && !add_extension(certificate, signer, rows[i].nid, value))
			return false;
	}
	return add_names(certificate, request);
}

static X509 *make_certificate(const struct tls_certificate_request *request, EVP_PKEY *key,
			      const struct issuer *issuer)
{
	CLEANUP(certificate_freep) X509 *certificate = X509_new();
	if (!certificate || X509_set_version(certificate, X509_VERSION_3) != 1 ||
	    !set_serial(certificate) || !set_validity(certificate, request, issuer->certificate) ||
	    !set_name(X509_get_subject_name(certificate), request->common_name) ||
	    X509_set_pubkey(certificate, key) != 1)
		return NULL;
	const X509 *signer = issuer->certificate ? issuer->certificate : certificate;
	if (X509_set_issuer_name(certificate, X509_get_subject_name(signer)) != 1 ||
	    !add_extensions(certificate, request, issuer->certificate) ||
	    X509_sign(certificate, issuer->key ? issuer->key : key, EVP_sha256()) <= 0)
		return NULL;
	return TAKE(certificate);
}

static void append_bio(BIO *bio, struct sbuf *out)
{
	char *text;
	long len = BIO_get_mem_data(bio, &text);
	assert(len > 0);
	sbuf_append(out, (struct view){text, (size_t)len});
}

static int write_pair(X509 *certificate, EVP_PKEY *key, struct sbuf *cert_pem, struct sbuf *key_pem,
		      struct error *err)
{
	CLEANUP(bio_freep) BIO *cert_bio = BIO_new(BIO_s_mem());
	CLEANUP(bio_freep) BIO *key_bio = BIO_new(BIO_s_secmem()); /* wiped when freed */
	if (!cert_bio || !key_bio || PEM_write_bio_X509(cert_bio, certificate) != 1 ||
	    PEM_write_bio_PrivateKey(key_bio, key, NULL, NULL, 0, NULL, NULL) != 1)
		return fail(err, "write the certificate");
	size_t cert_len = cert_pem->len, key_len = key_pem->len;
	append_bio(cert_bio, cert_pem);
	append_bio(key_bio, key_pem);
	if (sbuf_check(cert_pem, "certificate", err) == 0 && sbuf_check(key_pem, "key", err) == 0)
		return 0;
	sbuf_truncate(cert_pem, cert_len);
	sbuf_truncate(key_pem, key_len);
	return -1;
}

int tls_make_certificate(const struct tls_certificate_request *request, struct sbuf *ret_cert_pem,
			 struct sbuf *ret_key_pem, struct error *err)
{
	ERR_clear_error();
	CLEANUP(bio_freep) BIO *bio = open_pem(request->issuer_cert_pem);
	CLEANUP(certificate_freep) X509 *issuer_cert = NULL;
	CLEANUP(key_freep) EVP_PKEY *issuer_key = NULL;
	if (request->issuer_cert_pem.len > 0) {
		issuer_cert = bio ? read_certificate(bio) : NULL;
		issuer_key = read_key(request->issuer_key_pem);
		if (!issuer_cert || !issuer_key ||
		    X509_check_private_key(issuer_cert, issuer_key) != 1)
			return fail(err, "issuer");
	}
	CLEANUP(key_freep) EVP_PKEY *key = EVP_EC_gen("P-256");
	if (!key)
		return fail(err, "make a key");
	const struct issuer issuer = {issuer_cert, issuer_key};
	CLEANUP(certificate_freep) X509 *certificate = make_certificate(request, key, &issuer);
	if (!certificate)
		return fail(err, "make a certificate");
	return write_pair(certificate, key, ret_cert_pem, ret_key_pem, err);
}

/* Looked up once: that costs more than a short digest. Kept until the process ends. */
static EVP_MD *find_sha256(void)
{
	static _Atomic(EVP_MD *) known;
	EVP_MD *none = NULL, *sha256 = atomic_load(&known);
	if (sha256)
		return sha256;
	sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
	if (!sha256 || atomic_compare_exchange_strong(&known, &none, sha256))
		return sha256;
	EVP_MD_free(sha256); /* another thread was faster */
	return none;
}

int tls_digest_parts(const struct view *parts, size_t n_parts,
		     unsigned char ret[static TLS_DIGEST_SIZE], struct error *err)
{
	const EVP_MD *sha256 = find_sha256();
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	unsigned int len = 0;
	bool done = sha256 && context && EVP_DigestInit_ex(context, sha256, NULL) == 1;
	for (size_t i = 0; done && i < n_parts; i++)
		done = EVP_DigestUpdate(context, parts[i].ptr, parts[i].len) == 1;
	done = done && EVP_DigestFinal_ex(context, ret, &len) == 1 && len == TLS_DIGEST_SIZE;
	EVP_MD_CTX_free(context);
	ERR_clear_error();
	return done ? 0 : error_no_memory(err);
}

int tls_digest(struct view bytes, unsigned char ret[static TLS_DIGEST_SIZE], struct error *err)
{
	return tls_digest_parts(&bytes, 1, ret, err);
}
