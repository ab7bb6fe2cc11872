/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/test_main.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "controller/certificates.h"
#include "io/tls.h"
#include "schema/ca_config_map_doc.h"
#include "schema/secret_doc.h"
#include "wire/rfc3339.h"

#include "lib/fake_apiclient.inc"
#include "lib/fake_loop.inc"

#define DAY_S INT64_C(86400)
#define HOUR_MS UINT64_C(3600000)
#define PATH "/api/v1/namespaces/gpu/secrets/tls"
#define CA_PATH "/api/v1/namespaces/agents/configmaps/ca"

struct pair {
	struct sbuf cert;
	struct sbuf key;
};

struct world {
	struct loop *loop;
	struct certificates *certificates;
	struct sbuf cert; /* what was given to serve with last */
	struct sbuf key;
	unsigned n_changed;
	bool cannot_take; /* it is not taken, and not counted */
	struct sbuf secret; /* the server's, as JSON */
	int64_t written_at; /* ms since 1970: when, as it tells; 0: it does not */
	unsigned version;
	struct sbuf ca_map; /* ca.crt of the server's ConfigMap */
	struct pair ca, serving;
	char folder[64], cert_file[96], key_file[96];
};

static void keep(struct sbuf *buf, struct view bytes)
{
	sbuf_clear(buf);
	sbuf_append(buf, bytes);
}

static int on_change(void *owner, struct view cert_pem, struct view key_pem, struct error *err)
{
	struct world *world = owner;

	if (world->cannot_take)
		return error_set(err, ERROR_LIMIT, 0, "full");
	world->n_changed++;
	keep(&world->cert, cert_pem);
	keep(&world->key, key_pem);
	return 0;
}

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

/* A pair that was made so many s from now, and lasts for `days`; of the issuer, or of its own. */
static void make_pair_at(struct pair *pair, int64_t in_s, int64_t days, const struct pair *issuer)
{
	struct tls_certificate_request request = {
		.common_name = "test", .now = fake_wall_ms / 1000 + in_s,
		.lifetime_s = days * DAY_S,
	};
	struct error err = {0};

	sbuf_clear(&pair->cert);
	sbuf_clear(&pair->key);
	if (issuer) {
		request.issuer_cert_pem = sbuf_view(&issuer->cert);
		request.issuer_key_pem = sbuf_view(&issuer->key);
	}
	if (tls_make_certificate(&request, &pair->cert, &pair->key, &err) < 0)
		fail_msg("%s", err.text);
}

/* A pair that ends `days` from now. */
static void make_pair(struct pair *pair, int64_t days, const struct pair *issuer)
{
	make_pair_at(pair, -400 * DAY_S, 400 + days, issuer);
}

static int set_up(void **state)
{
	static struct world world;
	struct error err;

	fake_apiclient_reset();
	world = (struct world){.version = 41, .folder = "/tmp/certificates_test.XXXXXX"};
	sbuf_init(&world.cert, LIMIT_FILE_BYTES);
	sbuf_init(&world.key, LIMIT_FILE_BYTES);
	sbuf_init(&world.secret, LIMIT_FILE_BYTES);
	sbuf_init(&world.ca_map, LIMIT_FILE_BYTES);
	pair_init(&world.ca);
	pair_init(&world.serving);
	if (!mkdtemp(world.folder) || loop_new(&world.loop, &err) < 0)
		return -1;
	snprintf(world.cert_file, sizeof(world.cert_file), "%s/tls.crt", world.folder);
	snprintf(world.key_file, sizeof(world.key_file), "%s/tls.key", world.folder);
	*state = &world;
	return 0;
}

static int tear_down(void **state)
{
	struct world *world = *state;

	certificates_free(world->certificates);
	loop_free(world->loop);
	sbuf_deinit(&world->cert);
	sbuf_deinit(&world->key);
	sbuf_deinit(&world->secret);
	sbuf_deinit(&world->ca_map);
	pair_deinit(&world->ca);
	pair_deinit(&world->serving);
	unlink(world->cert_file);
	unlink(world->key_file);
	return rmdir(world->folder);
}

static struct certificates_config secret_config(struct world *world)
{
	return (struct certificates_config){
		.loop = world->loop, .secret = "tls", .namespace = "gpu", .service = "reports",
		.changed = on_change, .owner = world,
	};
}

static void start(struct world *world, const struct certificates_config *config)
{
	struct error err;

	assert_int_equal(certificates_new(config, &world->certificates, &err), 0);
	assert_int_equal(world->n_changed, 0);
	fake_loop_advance(world->loop, 0);
}

static void start_secret(struct world *world)
{
	const struct certificates_config config = secret_config(world);

	start(world, &config);
}

/* As the API server does in metadata. */
static void tell_when_it_was_written(struct world *world)
{
	const struct view begin = VIEW("{\"metadata\":{");
	CLEANUP(sbuf_deinit) struct sbuf rest = {0};
	char time[RFC3339_SIZE];

	sbuf_init(&rest, LIMIT_FILE_BYTES);
	assert_true(view_starts_with(sbuf_view(&world->secret), begin));
	sbuf_append(&rest, view_from_offset(sbuf_view(&world->secret), begin.len));
	rfc3339_seconds(world->written_at, time);
	sbuf_clear(&world->secret);
	sbuf_printf(&world->secret, "{\"metadata\":{\"managedFields\":[{\"time\":\"%s\"}],", time);
	sbuf_append(&world->secret, sbuf_view(&rest));
}

/* The server's Secret, with the version it has next. */
static void set_secret(struct world *world, const struct secret_doc *secret)
{
	struct secret_doc copy = *secret;
	char version[16];

	snprintf(version, sizeof(version), "%u", ++world->version);
	copy.resource_version = view_from(version);
	sbuf_clear(&world->secret);
	secret_doc_encode_patch(&copy, &world->secret);
	if (world->written_at != 0)
		tell_when_it_was_written(world);
}

static void set_secret_of_pairs(struct world *world)
{
	set_secret(world, &(struct secret_doc){
		.ca_cert = sbuf_view(&world->ca.cert), .ca_key = sbuf_view(&world->ca.key),
		.cert = sbuf_view(&world->serving.cert), .key = sbuf_view(&world->serving.key),
	});
}

static const struct apiclient_request *last_request(void)
{
	assert_true(n_fake_requests > 0);
	return &fake_requests[n_fake_requests - 1];
}

static void assert_sent(const char *method)
{
	assert_string_equal(last_request()->method, method);
	assert_string_equal(last_request()->path, PATH);
	assert_true(last_request()->open);
}

static void answer_get(struct world *world)
{
	assert_sent("GET");
	fake_apiclient_answer(n_fake_requests - 1, sbuf_text(&world->secret));
}

/* Does what the PATCH under way says, and answers it. */
static void take_patch(struct world *world)
{
	struct arena arena;
	struct secret_doc secret;
	struct error err = {0};
	char body[sizeof(last_request()->body)];
	char version[16];

	assert_sent("PATCH");
	assert_string_equal(last_request()->content_type, "application/merge-patch+json");
	memcpy(body, last_request()->body, sizeof(body));
	arena_init(&arena, LIMIT_OBJECT_BYTES);
	if (secret_doc_decode(view_from(body), &arena, &secret, &err) < 0)
		fail_msg("%s", err.text);
	snprintf(version, sizeof(version), "%u", world->version);
	assert_true(view_equal(secret.resource_version, view_from(version)));
	set_secret(world, &secret);
	fake_apiclient_answer(n_fake_requests - 1, "{}");
	arena_deinit(&arena);
}

/* What the server's Secret holds; the texts live until the next call. */
static struct secret_doc held(struct world *world)
{
	static struct arena arena;
	struct secret_doc secret;
	struct error err;

	arena_deinit(&arena);
	arena_init(&arena, LIMIT_OBJECT_BYTES);
	assert_int_equal(secret_doc_decode(sbuf_view(&world->secret), &arena, &secret, &err), 0);
	return secret;
}

static int64_t days_left(struct view cert)
{
	struct error err;
	int64_t end = 0;

	assert_int_equal(tls_certificate_end(cert, &end, &err), 0);
	return (end - fake_wall_ms / 1000) / DAY_S;
}

static void assert_pair_fits(struct view cert, struct view key)
{
	struct tls_identity *identity = NULL;
	struct error err = {0};

	if (tls_identity_new(cert, key, &identity, &err) < 0)
		fail_msg("%s", err.text);
	tls_identity_free(identity);
}

static void assert_serves_what_is_held(struct world *world)
{
	struct secret_doc secret = held(world);

	assert_true(view_equal(sbuf_view(&world->cert), secret.cert));
	assert_true(view_equal(sbuf_view(&world->key), secret.key));
	assert_pair_fits(secret.cert, secret.key);
	assert_string_equal(certificates_trouble(world->certificates), "");
}

static void an_empty_secret_gets_an_authority_and_a_certificate_that_are_then_served(void **state)
{
	struct world *world = *state;

	set_secret(world, &(struct secret_doc){0});
	start_secret(world);
	assert_true(certificates_trouble(world->certificates)[0] != '\0');
	answer_get(world);
	assert_int_equal(world->n_changed, 0);
	take_patch(world);
	answer_get(world);
	assert_int_equal(world->n_changed, 1);
	assert_serves_what_is_held(world);
	struct secret_doc secret = held(world);
	assert_pair_fits(secret.ca_cert, secret.ca_key);
	assert_in_range(days_left(secret.cert), 89, 90);
	assert_in_range(days_left(secret.ca_cert), 3649, 3650);
}

static void a_good_secret_is_served_and_not_written(void **state)
{
	struct world *world = *state;

	make_pair(&world->ca, 1000, NULL);
	make_pair(&world->serving, 80, &world->ca);
	set_secret_of_pairs(world);
	start_secret(world);
	answer_get(world);
	assert_int_equal(n_fake_requests, 1);
	assert_int_equal(world->n_changed, 1);
	assert_serves_what_is_held(world);
}

static void a_good_secret_is_looked_at_again_every_hour_and_served_once(void **state)
{
	struct world *world = *state;

	make_pair(&world->ca, 1000, NULL);
	make_pair(&world->serving, 80, &world->ca);
	set_secret_of_pairs(world);
	start_secret(world);
	answer_get(world);
	fake_loop_advance(world->loop, HOUR_MS - 1);
	assert_int_equal(n_fake_requests, 1);
	fake_loop_advance(world->loop, 1);
	assert_int_equal(n_fake_requests, 2);
	answer_get(world);
	assert_int_equal(world->n_changed, 1);
	make_pair(&world->serving, 81, &world->ca);
	set_secret_of_pairs(world);
	fake_loop_advance(world->loop, HOUR_MS);
	answer_get(world);
	assert_int_equal(world->n_changed, 2);
	assert_serves_what_is_held(world);
}

static void with_a_conflict_the_secret_is_read_again_and_the_others_pair_is_taken(void **state)
{
	struct world *world = *state;

	set_secret(world, &(struct secret_doc){0});
	start_secret(world);
	answer_get(world);
	assert_sent("PATCH");
	make_pair(&world->ca, 1000, NULL);
	make_pair(&world->serving, 80, &world->ca);
	set_secret_of_pairs(world);
	fake_apiclient_fail(n_fake_requests - 1, ERROR_CONFLICT);
	answer_get(world);
	assert_int_equal(n_fake_requests, 3);
	assert_serves_what_is_held(world);
}

static void a_third_before_its_end_the_certificate_is_renewed_and_the_authority_kept(void **state)
{
	struct world *world = *state;

	make_pair(&world->ca, 1000, NULL);
	make_pair(&world->serving, 29, &world->ca);
	set_secret_of_pairs(world);
	start_secret(world);
	answer_get(world);
	take_patch(world);
	answer_get(world);
	struct secret_doc secret = held(world);
	assert_true(view_equal(secret.ca_cert, sbuf_view(&world->ca.cert)));
	assert_true(view_equal(secret.ca_key, sbuf_view(&world->ca.key)));
	assert_in_range(days_left(secret.cert), 89, 90);
	assert_serves_what_is_held(world);
}

static void a_certificate_that_still_holds_is_served_while_it_cannot_be_renewed(void **state)
{
	struct world *world = *state;

	make_pair(&world->ca, 1000, NULL);
	make_pair(&world->serving, 1, &world->ca);
	set_secret_of_pairs(world);
	start_secret(world);
	answer_get(world);
	fake_apiclient_fail(n_fake_requests - 1, ERROR_DENIED);
	assert_serves_what_is_held(world);
	for (unsigned i = 0; i < 24 && n_fake_requests < FAKE_APICLIENT_MAX - 2; i++) {
		fake_loop_advance(world->loop, 2 * HOUR_MS);
		answer_get(world);
		fake_apiclient_fail(n_fake_requests - 1, ERROR_DENIED);
	}
	assert_int_equal(world->n_changed, 1);
	assert_non_null(strstr(certificates_trouble(world->certificates), "grant"));
}

static void an_old_authority_stays_behind_a_new_one(void **state)
{
	struct world *world = *state;

	make_pair(&world->ca, 100, NULL);
	make_pair(&world->serving, 20, &world->ca);
	set_secret_of_pairs(world);
	start_secret(world);
	answer_get(world);
	take_patch(world);
	answer_get(world);
	fake_loop_advance(world->loop, HOUR_MS);
	answer_get(world);
	take_patch(world);
	answer_get(world);
	struct secret_doc secret = held(world);
	assert_in_range(days_left(secret.ca_cert), 3649, 3650);
	assert_in_range(days_left(secret.cert), 89, 90);
	assert_true(view_ends_with(secret.ca_cert, sbuf_view(&world->ca.cert)));
	assert_true(secret.ca_cert.len > world->ca.cert.len);
	assert_pair_fits(secret.ca_cert, secret.ca_key);
	assert_serves_what_is_held(world);
}

static void a_new_authority_is_made_known_an_hour_before_it_is_served_from(void **state)
{
	struct world *world = *state;

	make_pair(&world->ca, 100, NULL);
	make_pair(&world->serving, 20, &world->ca);
	set_secret_of_pairs(world);
	start_secret(world);
	answer_get(world);
	take_patch(world);
	answer_get(world);
	/* The old pair is served on, and ca.crt has both. */
	assert_int_equal(n_fake_requests, 3);
	assert_in_range(days_left(held(world).ca_cert), 3649, 3650);
	assert_true(view_equal(held(world).cert, sbuf_view(&world->serving.cert)));
	assert_true(view_ends_with(held(world).ca_cert, sbuf_view(&world->ca.cert)));
	assert_int_equal(world->n_changed, 1);
	assert_serves_what_is_held(world);
	/* Another replica, or this one started anew, waits too. */
	fake_loop_advance(world->loop, HOUR_MS / 2);
	certificates_free(world->certificates);
	world->certificates = NULL;
	world->n_changed = 0;
	start_secret(world);
	answer_get(world);
	assert_int_equal(n_fake_requests, 4);
	assert_int_equal(world->n_changed, 1);
	fake_loop_advance(world->loop, HOUR_MS);
	answer_get(world);
	take_patch(world);
	answer_get(world);
	assert_int_equal(world->n_changed, 2);
	assert_in_range(days_left(held(world).cert), 89, 90);
	assert_serves_what_is_held(world);
}

static void a_new_authority_is_served_from_at_once_when_there_is_no_time_to_wait(void **state)
{
	struct world *world = *state;

	make_pair(&world->ca, 100, NULL);
	make_pair(&world->serving, 0, &world->ca);
	set_secret_of_pairs(world);
	start_secret(world);
	answer_get(world);
	take_patch(world);
	answer_get(world);
	assert_in_range(days_left(held(world).cert), 89, 90);
	assert_serves_what_is_held(world);
}

static void an_authority_that_has_ended_is_dropped(void **state)
{
	struct world *world = *state;

	make_pair(&world->ca, -1, NULL);
	make_pair(&world->serving, -2, &world->ca);
	set_secret_of_pairs(world);
	start_secret(world);
	answer_get(world);
	take_patch(world);
	answer_get(world);
	assert_false(view_ends_with(held(world).ca_cert, sbuf_view(&world->ca.cert)));
	assert_int_equal(world->n_changed, 1);
	assert_serves_what_is_held(world);
}

/* What may be wrong with a Secret, and whether its authority can be kept. */
static void a_secret_that_cannot_be_served_with_is_made_anew(void **state)
{
	struct world *world = *state;
	static struct pair other;
	const struct view junk = VIEW("junk");

	pair_init(&other);
	make_pair(&other, 1000, NULL);
	make_pair(&world->ca, 1000, NULL);
	make_pair(&world->serving, 80, &world->ca);
	const struct view ca = sbuf_view(&world->ca.cert), ca_key = sbuf_view(&world->ca.key);
	const struct view cert = sbuf_view(&world->serving.cert);
	const struct view key = sbuf_view(&world->serving.key), other_key = sbuf_view(&other.key);
	const struct {
		struct secret_doc secret;
		bool keeps_authority;
	} rows[] = {
		{{.ca_cert = ca, .ca_key = ca_key}, true},
		{{.ca_cert = ca, .ca_key = ca_key, .cert = cert}, true},
		{{.ca_cert = ca, .ca_key = ca_key, .cert = cert, .key = junk}, true},
		{{.ca_cert = ca, .ca_key = ca_key, .cert = junk, .key = key}, true},
		{{.ca_cert = ca, .ca_key = ca_key, .cert = cert, .key = other_key}, true},
		{{.ca_cert = ca, .cert = cert, .key = key}, false},
		{{.ca_cert = ca, .ca_key = junk, .cert = cert, .key = key}, false},
		{{.ca_cert = ca, .ca_key = other_key, .cert = cert, .key = key}, false},
		{{.ca_cert = junk, .ca_key = ca_key, .cert = cert, .key = key}, false},
		{{.ca_key = ca_key, .cert = cert, .key = key}, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		fake_apiclient_reset();
		world->n_changed = 0;
		set_secret(world, &rows[i].secret);
		start_secret(world);
		answer_get(world);
		take_patch(world);
		answer_get(world);
		assert_int_equal(view_equal(held(world).ca_key, ca_key), rows[i].keeps_authority);
		assert_serves_what_is_held(world);
		certificates_free(world->certificates);
		world->certificates = NULL;
	}
	pair_deinit(&other);
}

static void start_over(struct world *world)
{
	certificates_free(world->certificates);
	world->certificates = NULL;
	fake_apiclient_reset();
	world->n_changed = 0;
}

static void a_pair_of_the_future_is_made_anew_where_two_clocks_say_that_it_is(void **state)
{
	struct world *world = *state;
	const int64_t hour_s = 3600, no_time = INT64_MIN;
	const struct {
		int64_t made_in_s, written_in_s;
		bool is_renewed;
	} rows[] = {
		{60 * DAY_S, 0, true},
		{60 * DAY_S, -9 * DAY_S, true},
		{60 * DAY_S, 9 * DAY_S, true}, /* our clock is behind, and that of its maker was ahead */
		{4381 * DAY_S, 0, true},       /* the year 2037 */
		{5478 * DAY_S, 0, true},       /* 2040 */
		{60 * DAY_S, 60 * DAY_S, false}, /* our clock is behind */
		{60 * DAY_S, no_time, false},
		{hour_s, 0, false}, /* clocks differ a little */
		{2 * hour_s, 0, true},
		{0, 60 * DAY_S, false},
		{0, -9 * DAY_S, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		make_pair_at(&world->ca, rows[i].made_in_s, 3650, NULL);
		make_pair_at(&world->serving, rows[i].made_in_s, 90, &world->ca);
		world->written_at = rows[i].written_in_s == no_time
					    ? 0
					    : fake_wall_ms + rows[i].written_in_s * 1000;
		set_secret_of_pairs(world);
		start_secret(world);
		answer_get(world);
		world->written_at = fake_wall_ms;
		if (rows[i].is_renewed) {
			take_patch(world);
			answer_get(world);
		}
		assert_int_equal(n_fake_requests, rows[i].is_renewed ? 3 : 1);
		assert_true(rows[i].is_renewed !=
			    view_equal(held(world).ca_cert, sbuf_view(&world->ca.cert)));
		assert_false(rows[i].is_renewed &&
			     view_ends_with(held(world).ca_cert, sbuf_view(&world->ca.cert)));
		assert_serves_what_is_held(world);
		start_over(world);
	}
}

static void a_certificate_of_the_future_is_made_anew_at_once_by_an_authority_that_is_not(void **state)
{
	struct world *world = *state;
	static const struct {
		int64_t authority_days;
		bool keeps_authority; /* else the new one is not made known first: nothing can be served */
	} rows[] = {
		{1000, true},
		{100, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		make_pair(&world->ca, rows[i].authority_days, NULL);
		make_pair_at(&world->serving, 60 * DAY_S, 90, &world->ca);
		world->written_at = fake_wall_ms;
		set_secret_of_pairs(world);
		start_secret(world);
		answer_get(world);
		take_patch(world);
		answer_get(world);
		assert_true(view_ends_with(held(world).ca_cert, sbuf_view(&world->ca.cert)));
		assert_int_equal(view_equal(held(world).ca_key, sbuf_view(&world->ca.key)),
				 rows[i].keeps_authority);
		assert_false(view_equal(held(world).cert, sbuf_view(&world->serving.cert)));
		assert_in_range(days_left(held(world).cert), 89, 90);
		assert_serves_what_is_held(world);
		start_over(world);
	}
}

static void a_secret_that_does_not_keep_what_is_written_is_not_written_in_a_circle(void **state)
{
	struct world *world = *state;

	set_secret(world, &(struct secret_doc){0});
	start_secret(world);
	answer_get(world);
	assert_sent("PATCH");
	fake_apiclient_answer(1, "{}");
	answer_get(world);
	assert_int_equal(n_fake_requests, 3);
	assert_true(fake_loop_next(world->loop) >= 500);
	assert_non_null(strstr(certificates_trouble(world->certificates), "gpu/tls"));
}

static void a_failure_says_what_to_do_and_is_tried_again_later_and_later(void **state)
{
	struct world *world = *state;
	static const struct {
		enum error_kind kind;
		const char *text;
	} rows[] = {
		{ERROR_NOT_FOUND, "create it"},
		{ERROR_DENIED, "grant get and patch"},
		{ERROR_RETRY, "secret gpu/tls"},
	};

	start_secret(world);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_sent("GET");
		fake_apiclient_fail(n_fake_requests - 1, rows[i].kind);
		assert_non_null(strstr(certificates_trouble(world->certificates), rows[i].text));
		assert_in_range(fake_loop_next(world->loop), 500u << i, 1000u << i);
		fake_loop_advance(world->loop, 1000u << i);
	}
	assert_int_equal(n_fake_requests, 1 + ARRAY_SIZE(rows));
	assert_int_equal(world->n_changed, 0);
}

static void after_a_success_the_next_failure_is_the_first_again(void **state)
{
	struct world *world = *state;

	make_pair(&world->ca, 1000, NULL);
	make_pair(&world->serving, 80, &world->ca);
	set_secret_of_pairs(world);
	start_secret(world);
	for (unsigned i = 0; i < 5; i++) {
		fake_apiclient_fail(n_fake_requests - 1, ERROR_RETRY);
		fake_loop_advance(world->loop, 30000);
	}
	answer_get(world);
	fake_loop_advance(world->loop, HOUR_MS);
	assert_sent("GET");
	fake_apiclient_fail(n_fake_requests - 1, ERROR_RETRY);
	assert_in_range(fake_loop_next(world->loop), 500, 1000);
	assert_string_equal(certificates_trouble(world->certificates), "");
}

static void a_refused_write_says_what_to_do_and_starts_over_with_a_read(void **state)
{
	struct world *world = *state;

	set_secret(world, &(struct secret_doc){0});
	start_secret(world);
	answer_get(world);
	assert_sent("PATCH");
	fake_apiclient_fail(1, ERROR_DENIED);
	assert_non_null(strstr(certificates_trouble(world->certificates), "grant get and patch"));
	fake_loop_advance(world->loop, 1000);
	answer_get(world);
	take_patch(world);
	answer_get(world);
	assert_serves_what_is_held(world);
}

static void an_answer_that_is_no_secret_is_trouble(void **state)
{
	struct world *world = *state;

	start_secret(world);
	fake_apiclient_answer(0, "<html>");
	assert_non_null(strstr(certificates_trouble(world->certificates), "secret gpu/tls"));
	assert_in_range(fake_loop_next(world->loop), 500, 1000);
}

static void a_client_that_takes_no_requests_is_asked_again(void **state)
{
	struct world *world = *state;

	fake_apiclient_refusal = ERROR_LIMIT;
	start_secret(world);
	assert_true(certificates_trouble(world->certificates)[0] != '\0');
	assert_in_range(fake_loop_next(world->loop), 500, 1000);
	fake_apiclient_refusal = ERROR_NONE;
	fake_loop_advance(world->loop, 1000);
	set_secret(world, &(struct secret_doc){0});
	assert_sent("GET");
	fake_apiclient_refusal = ERROR_LIMIT;
	fake_apiclient_answer(0, sbuf_text(&world->secret));
	assert_int_equal(n_fake_requests, 1);
	assert_true(fake_loop_next(world->loop) < UINT64_MAX);
}

static void a_name_that_no_certificate_can_have_is_trouble(void **state)
{
	struct world *world = *state;
	struct certificates_config config = secret_config(world);
	char long_name[300];

	memset(long_name, 'a', sizeof(long_name));
	long_name[sizeof(long_name) - 1] = '\0';
	config.service = long_name;
	set_secret(world, &(struct secret_doc){0});
	start(world, &config);
	answer_get(world);
	assert_int_equal(n_fake_requests, 1);
	assert_non_null(strstr(certificates_trouble(world->certificates), "too long"));
}

static void the_end_in_the_middle_cancels_the_request(void **state)
{
	struct world *world = *state;

	start_secret(world);
	assert_true(fake_requests[0].open);
	certificates_free(world->certificates);
	world->certificates = NULL;
	assert_false(fake_requests[0].open);
}

/* The ConfigMap */

static void start_with_ca_map(struct world *world)
{
	struct certificates_config config = secret_config(world);

	config.ca_config_map = "ca";
	config.ca_namespace = "agents";
	start(world, &config);
}

static void start_good_with_ca_map(struct world *world)
{
	make_pair(&world->ca, 1000, NULL);
	make_pair(&world->serving, 80, &world->ca);
	set_secret_of_pairs(world);
	start_with_ca_map(world);
	answer_get(world);
}

static void assert_sent_of_ca(const char *method)
{
	assert_string_equal(last_request()->method, method);
	assert_string_equal(last_request()->path, CA_PATH);
	assert_true(last_request()->open);
}

static void answer_ca_get(struct world *world)
{
	CLEANUP(sbuf_deinit) struct sbuf body = {0};
	const struct ca_config_map_doc map = {VIEW("7"), sbuf_view(&world->ca_map)};

	assert_sent_of_ca("GET");
	sbuf_init(&body, LIMIT_FILE_BYTES);
	ca_config_map_doc_encode_patch(&map, &body);
	fake_apiclient_answer(n_fake_requests - 1, sbuf_text(&body));
}

static void take_ca_patch(struct world *world)
{
	CLEANUP(arena_deinit) struct arena arena = {0};
	struct ca_config_map_doc map;
	struct error err = {0};

	assert_sent_of_ca("PATCH");
	arena_init(&arena, LIMIT_OBJECT_BYTES);
	if (ca_config_map_doc_decode(view_from(last_request()->body), &arena, &map, &err) < 0)
		fail_msg("%s", err.text);
	keep(&world->ca_map, map.ca_cert);
	fake_apiclient_answer(n_fake_requests - 1, "{}");
}

/* Nothing is under way, and the next look is in an hour. */
static void assert_published_and_at_rest(struct world *world)
{
	assert_true(view_equal(sbuf_view(&world->ca_map), held(world).ca_cert));
	assert_string_equal(certificates_ca_trouble(world->certificates), "");
	assert_false(last_request()->open);
	assert_int_equal(fake_loop_next(world->loop), HOUR_MS);
}

static void the_authority_of_a_good_secret_is_published_and_no_key(void **state)
{
	struct world *world = *state;

	start_good_with_ca_map(world);
	assert_serves_what_is_held(world);
	answer_ca_get(world);
	assert_null(strstr(last_request()->body, "PRIVATE"));
	take_ca_patch(world);
	/* Both objects are read again: the Secret may have been renewed meanwhile. */
	answer_get(world);
	answer_ca_get(world);
	assert_int_equal(n_fake_requests, 5);
	assert_published_and_at_rest(world);
}

static void a_map_that_is_right_is_looked_at_every_hour_and_not_written(void **state)
{
	struct world *world = *state;

	start_good_with_ca_map(world);
	keep(&world->ca_map, held(world).ca_cert);
	answer_ca_get(world);
	assert_published_and_at_rest(world);
	fake_loop_advance(world->loop, HOUR_MS);
	answer_get(world);
	answer_ca_get(world);
	assert_int_equal(n_fake_requests, 4);
	assert_published_and_at_rest(world);
}

static void what_was_edited_away_comes_back_within_an_hour(void **state)
{
	struct world *world = *state;

	start_good_with_ca_map(world);
	keep(&world->ca_map, held(world).ca_cert);
	answer_ca_get(world);
	sbuf_clear(&world->ca_map);
	fake_loop_advance(world->loop, HOUR_MS);
	answer_get(world);
	answer_ca_get(world);
	take_ca_patch(world);
	answer_get(world);
	answer_ca_get(world);
	assert_published_and_at_rest(world);
}

static void an_authority_that_was_just_made_is_published(void **state)
{
	struct world *world = *state;

	set_secret(world, &(struct secret_doc){0});
	start_with_ca_map(world);
	answer_get(world);
	take_patch(world);
	answer_get(world);
	answer_ca_get(world);
	take_ca_patch(world);
	answer_get(world);
	answer_ca_get(world);
	assert_serves_what_is_held(world);
	assert_published_and_at_rest(world);
}

static void while_an_authority_is_renewed_the_map_has_the_old_and_the_new_one(void **state)
{
	struct world *world = *state;

	make_pair(&world->ca, 100, NULL);
	make_pair(&world->serving, 20, &world->ca);
	set_secret_of_pairs(world);
	keep(&world->ca_map, sbuf_view(&world->ca.cert));
	start_with_ca_map(world);
	answer_get(world);
	take_patch(world);
	answer_get(world);
	/* Known to the agents for an hour before anything of it is served. */
	assert_int_equal(world->n_changed, 1);
	answer_ca_get(world);
	take_ca_patch(world);
	answer_get(world);
	answer_ca_get(world);
	assert_published_and_at_rest(world);
	assert_true(view_ends_with(sbuf_view(&world->ca_map), sbuf_view(&world->ca.cert)));
	assert_true(world->ca_map.len > world->ca.cert.len);
	assert_int_equal(world->n_changed, 1);
	fake_loop_advance(world->loop, HOUR_MS);
	answer_get(world);
	take_patch(world);
	answer_get(world);
	answer_ca_get(world);
	assert_int_equal(world->n_changed, 2);
	assert_published_and_at_rest(world);
	assert_true(view_ends_with(sbuf_view(&world->ca_map), sbuf_view(&world->ca.cert)));
}

/* The last request is a look at the ConfigMap, which fails; after the back-off comes the next. */
static void fail_ca(struct world *world, enum error_kind kind, uint64_t back_off_ms)
{
	assert_sent_of_ca("GET");
	fake_apiclient_fail(n_fake_requests - 1, kind);
	assert_in_range(fake_loop_next(world->loop), back_off_ms / 2, back_off_ms);
	assert_serves_what_is_held(world);
	fake_loop_advance(world->loop, back_off_ms);
	answer_get(world);
}

static void a_map_that_is_missing_or_denied_is_told_and_the_pair_is_served_on(void **state)
{
	struct world *world = *state;

	start_good_with_ca_map(world);
	fail_ca(world, ERROR_NOT_FOUND, 1000);
	assert_non_null(strstr(certificates_ca_trouble(world->certificates), "agents/ca (create it"));
	fail_ca(world, ERROR_DENIED, 2000);
	assert_non_null(strstr(certificates_ca_trouble(world->certificates), "grant get and patch"));
	assert_int_equal(world->n_changed, 1);
	answer_ca_get(world);
	take_ca_patch(world);
	answer_get(world);
	answer_ca_get(world);
	assert_published_and_at_rest(world);
}

/* The other replica wrote first. */
static void after_a_conflict_both_objects_are_read_again(void **state)
{
	struct world *world = *state;

	start_good_with_ca_map(world);
	answer_ca_get(world);
	assert_sent_of_ca("PATCH");
	fake_apiclient_fail(n_fake_requests - 1, ERROR_CONFLICT);
	assert_string_equal(certificates_ca_trouble(world->certificates), "");
	keep(&world->ca_map, held(world).ca_cert);
	assert_in_range(fake_loop_next(world->loop), 500, 1000);
	fake_loop_advance(world->loop, 1000);
	answer_get(world);
	answer_ca_get(world);
	assert_published_and_at_rest(world);
}

static void a_publication_that_cannot_begin_is_tried_again(void **state)
{
	struct world *world = *state;

	set_secret(world, &(struct secret_doc){0});
	make_pair(&world->ca, 1000, NULL);
	make_pair(&world->serving, 80, &world->ca);
	set_secret_of_pairs(world);
	start_with_ca_map(world);
	fake_apiclient_refusal = ERROR_LIMIT;
	answer_get(world);
	assert_int_equal(n_fake_requests, 1);
	assert_true(certificates_ca_trouble(world->certificates)[0] != '\0');
	assert_in_range(fake_loop_next(world->loop), 500, 1000);
	fake_apiclient_refusal = ERROR_NONE;
	fake_loop_advance(world->loop, 1000);
	answer_get(world);
	assert_sent_of_ca("GET");
}

static void the_end_during_a_publication_cancels_it(void **state)
{
	struct world *world = *state;

	start_good_with_ca_map(world);
	assert_sent_of_ca("GET");
	certificates_free(world->certificates);
	world->certificates = NULL;
	assert_false(last_request()->open);
}

/* Files */

static void write_file(const char *path, struct view bytes)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes.ptr, 1, bytes.len, file), bytes.len);
	assert_int_equal(fclose(file), 0);
}

static void write_pair_files(struct world *world)
{
	write_file(world->cert_file, sbuf_view(&world->serving.cert));
	write_file(world->key_file, sbuf_view(&world->serving.key));
}

/* Who keeps the files publishes their authority: no ConfigMap is written, even if one is named. */
static void start_files(struct world *world)
{
	start(world, &(struct certificates_config){
		.loop = world->loop, .cert_file = world->cert_file, .key_file = world->key_file,
		.ca_config_map = "ca", .ca_namespace = "agents",
		.changed = on_change, .owner = world,
	});
}

static void a_pair_in_files_is_served_and_looked_at_every_minute(void **state)
{
	struct world *world = *state;

	make_pair(&world->ca, 1000, NULL);
	make_pair(&world->serving, 80, &world->ca);
	write_pair_files(world);
	start_files(world);
	assert_int_equal(world->n_changed, 1);
	assert_true(view_equal(sbuf_view(&world->cert), sbuf_view(&world->serving.cert)));
	assert_string_equal(certificates_trouble(world->certificates), "");
	assert_int_equal(fake_loop_next(world->loop), 60000);
	fake_loop_advance(world->loop, 60000);
	assert_int_equal(world->n_changed, 1);
	make_pair(&world->serving, 81, &world->ca);
	write_pair_files(world);
	fake_loop_advance(world->loop, 60000);
	assert_int_equal(world->n_changed, 2);
	assert_true(view_equal(sbuf_view(&world->key), sbuf_view(&world->serving.key)));
	assert_int_equal(n_fake_requests, 0);
}

static void a_pair_that_was_not_taken_is_offered_again(void **state)
{
	struct world *world = *state;

	make_pair(&world->ca, 1000, NULL);
	make_pair(&world->serving, 80, &world->ca);
	write_pair_files(world);
	world->cannot_take = true;
	start_files(world);
	/* Nothing is served, so that is trouble. */
	assert_non_null(strstr(certificates_trouble(world->certificates), "full"));
	world->cannot_take = false;
	fake_loop_advance(world->loop, 10000);
	assert_int_equal(world->n_changed, 1);
	assert_string_equal(certificates_trouble(world->certificates), "");
	/* The same of the next one. */
	make_pair(&world->serving, 81, &world->ca);
	write_pair_files(world);
	world->cannot_take = true;
	fake_loop_advance(world->loop, 60000);
	assert_int_equal(world->n_changed, 1);
	world->cannot_take = false;
	fake_loop_advance(world->loop, 60000);
	assert_int_equal(world->n_changed, 2);
	assert_true(view_equal(sbuf_view(&world->cert), sbuf_view(&world->serving.cert)));
}

static void a_key_that_follows_its_certificate_late_is_served_with_it(void **state)
{
	struct world *world = *state;

	make_pair(&world->ca, 1000, NULL);
	make_pair(&world->serving, 80, &world->ca);
	write_pair_files(world);
	start_files(world);
	make_pair(&world->serving, 81, &world->ca);
	write_file(world->cert_file, sbuf_view(&world->serving.cert));
	fake_loop_advance(world->loop, 60000);
	assert_int_equal(world->n_changed, 1);
	assert_string_equal(certificates_trouble(world->certificates), "");
	write_file(world->key_file, sbuf_view(&world->serving.key));
	fake_loop_advance(world->loop, 60000);
	assert_int_equal(world->n_changed, 2);
	assert_true(view_equal(sbuf_view(&world->cert), sbuf_view(&world->serving.cert)));
	assert_true(view_equal(sbuf_view(&world->key), sbuf_view(&world->serving.key)));
}

static void files_that_cannot_be_served_with_are_named_in_the_trouble(void **state)
{
	struct world *world = *state;
	static struct pair other;

	pair_init(&other);
	make_pair(&world->ca, 1000, NULL);
	make_pair(&other, 80, &world->ca);
	start_files(world);
	assert_non_null(strstr(certificates_trouble(world->certificates), world->cert_file));
	make_pair(&world->serving, -1, &world->ca);
	write_pair_files(world);
	fake_loop_advance(world->loop, 30000);
	assert_non_null(strstr(certificates_trouble(world->certificates), "expired: renew it"));
	assert_non_null(strstr(certificates_trouble(world->certificates), world->cert_file));
	write_file(world->cert_file, sbuf_view(&other.cert));
	fake_loop_advance(world->loop, 30000);
	assert_non_null(strstr(certificates_trouble(world->certificates), world->key_file));
	unlink(world->key_file);
	fake_loop_advance(world->loop, 30000);
	assert_non_null(strstr(certificates_trouble(world->certificates), world->key_file));
	assert_int_equal(world->n_changed, 0);
	write_file(world->key_file, sbuf_view(&other.key));
	fake_loop_advance(world->loop, 30000);
	assert_int_equal(world->n_changed, 1);
	assert_string_equal(certificates_trouble(world->certificates), "");
	pair_deinit(&other);
}

static void a_certificate_that_ends_while_it_is_served_becomes_trouble(void **state)
{
	struct world *world = *state;

	make_pair(&world->ca, 1000, NULL);
	make_pair(&world->serving, 1, &world->ca);
	write_pair_files(world);
	start_files(world);
	assert_string_equal(certificates_trouble(world->certificates), "");
	fake_loop_advance(world->loop, 25 * HOUR_MS);
	assert_non_null(strstr(certificates_trouble(world->certificates), "expired"));
	make_pair(&world->serving, 1, &world->ca);
	write_pair_files(world);
	fake_loop_advance(world->loop, 60000);
	assert_string_equal(certificates_trouble(world->certificates), "");
	assert_int_equal(world->n_changed, 2);
}

/* Making one */

static void a_config_that_leaves_open_where_the_certificate_comes_from_is_refused(void **state)
{
	struct world *world = *state;
	const struct {
		struct certificates_config config;
		const char *text;
	} rows[] = {
		{{.cert_file = "/c"}, "--tls-key"},
		{{.key_file = "/k"}, "--tls-cert"},
		{{0}, "--tls-secret"},
		{{.secret = "s", .namespace = "n"}, "--tls-service"},
		{{.secret = "s", .service = "s"}, "--tls-secret"},
		{{.namespace = "n", .service = "s"}, "--tls-secret"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct certificates_config config = rows[i].config;
		struct error err = {0};

		config.loop = world->loop;
		assert_int_equal(certificates_new(&config, &world->certificates, &err), -1);
		assert_int_equal(err.kind, ERROR_REJECTED);
		assert_non_null(strstr(err.text, rows[i].text));
		assert_null(world->certificates);
	}
}

static void without_memory_none_is_made_and_nothing_leaks(void **state)
{
	struct world *world = *state;
	struct certificates_config config = secret_config(world);
	bool failed = true;

	config.ca_config_map = "ca";
	config.ca_namespace = "agents";

	for (unsigned k = 1; failed; k++) {
		struct error err = {0};

		failing_malloc_at(k);
		int result = certificates_new(&config, &world->certificates, &err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
		assert_int_equal(world->certificates != NULL, !failed);
	}
}

static void memory_that_runs_out_on_the_way_is_only_a_delay(void **state)
{
	struct world *world = *state;
	bool failed = true;

	for (unsigned k = 1; failed; k++) {
		fake_apiclient_reset();
		world->n_changed = 0;
		set_secret(world, &(struct secret_doc){0});
		start_secret(world);
		failing_malloc_at(k);
		answer_get(world);
		failed = failing_malloc_off();
		if (failed && strcmp(last_request()->method, "PATCH") != 0) {
			assert_in_range(fake_loop_next(world->loop), 500, 1000);
			fake_loop_advance(world->loop, 1000);
			answer_get(world);
		}
		take_patch(world);
		answer_get(world);
		assert_serves_what_is_held(world);
		certificates_free(world->certificates);
		world->certificates = NULL;
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(
		an_empty_secret_gets_an_authority_and_a_certificate_that_are_then_served, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_good_secret_is_served_and_not_written, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_good_secret_is_looked_at_again_every_hour_and_served_once, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		with_a_conflict_the_secret_is_read_again_and_the_others_pair_is_taken, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_third_before_its_end_the_certificate_is_renewed_and_the_authority_kept, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_certificate_that_still_holds_is_served_while_it_cannot_be_renewed, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		an_old_authority_stays_behind_a_new_one, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_new_authority_is_made_known_an_hour_before_it_is_served_from, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_new_authority_is_served_from_at_once_when_there_is_no_time_to_wait, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		an_authority_that_has_ended_is_dropped, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_secret_that_cannot_be_served_with_is_made_anew, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_pair_of_the_future_is_made_anew_where_two_clocks_say_that_it_is, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_certificate_of_the_future_is_made_anew_at_once_by_an_authority_that_is_not, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_secret_that_does_not_keep_what_is_written_is_not_written_in_a_circle, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_failure_says_what_to_do_and_is_tried_again_later_and_later, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		after_a_success_the_next_failure_is_the_first_again, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_refused_write_says_what_to_do_and_starts_over_with_a_read, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		an_answer_that_is_no_secret_is_trouble, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_client_that_takes_no_requests_is_asked_again, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_name_that_no_certificate_can_have_is_trouble, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		the_end_in_the_middle_cancels_the_request, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		the_authority_of_a_good_secret_is_published_and_no_key, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_map_that_is_right_is_looked_at_every_hour_and_not_written, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		what_was_edited_away_comes_back_within_an_hour, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		an_authority_that_was_just_made_is_published, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		while_an_authority_is_renewed_the_map_has_the_old_and_the_new_one, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_map_that_is_missing_or_denied_is_told_and_the_pair_is_served_on, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		after_a_conflict_both_objects_are_read_again, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_publication_that_cannot_begin_is_tried_again, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		the_end_during_a_publication_cancels_it, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_pair_in_files_is_served_and_looked_at_every_minute, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_pair_that_was_not_taken_is_offered_again, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_key_that_follows_its_certificate_late_is_served_with_it, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		files_that_cannot_be_served_with_are_named_in_the_trouble, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_certificate_that_ends_while_it_is_served_becomes_trouble, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_config_that_leaves_open_where_the_certificate_comes_from_is_refused, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		without_memory_none_is_made_and_nothing_leaks, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		memory_that_runs_out_on_the_way_is_only_a_delay, set_up, tear_down),
};

TEST_MAIN(tests)
