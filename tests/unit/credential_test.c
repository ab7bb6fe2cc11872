/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kube/credential.h"
#include "lib/failing_malloc.h"

static struct error err;
static const struct view none = {NULL, 0};

static const struct kubeconfig from_files = {
	.ca_file = VIEW_INIT("ca"),
	.token_file = VIEW_INIT("token"),
	.client_cert_file = VIEW_INIT("cert"),
	.client_key_file = VIEW_INIT("key"),
};
static const struct kubeconfig from_data = {
	.ca_pem = VIEW_INIT("-----BEGIN ca"),
	.ca_file = VIEW_INIT("not read"),
	.token = VIEW_INIT("secret\n"),
	.client_cert_pem = VIEW_INIT("-----BEGIN cert"),
	.client_key_pem = VIEW_INIT("-----BEGIN key"),
};

static void expect_header(struct credential *credential, const char *expected)
{
	const char *header = credential_authorization(credential);
	if (!expected)
		assert_null(header);
	else
		assert_string_equal(header, expected);
}

static void what_is_given_as_data_is_never_read(void **state)
{
	(void)state;
	struct credential credential;
	assert_int_equal(credential_init(&credential, &from_data, &err), 0);
	for (int file = 0; file < CREDENTIAL_N_FILES; file++)
		assert_false(credential_is_due(&credential, (enum credential_file)file,
					       UINT64_MAX - 1));
	assert_false(credential_refused(&credential, 5000));
	expect_header(&credential, "Authorization: Bearer secret");
	assert_true(view_equal(credential_ca(&credential), VIEW("-----BEGIN ca")));
	assert_true(view_equal(credential_client_cert(&credential), VIEW("-----BEGIN cert")));
	assert_true(view_equal(credential_client_key(&credential), VIEW("-----BEGIN key")));
	credential_deinit(&credential);
}

static void nobody_has_no_header(void **state)
{
	(void)state;
	static const struct kubeconfig nobody = {.insecure = true};
	struct credential credential;
	assert_int_equal(credential_init(&credential, &nobody, &err), 0);
	expect_header(&credential, NULL);
	assert_int_equal(credential_ca(&credential).len, 0);
	credential_deinit(&credential);
}

static void a_new_token_is_in_force_within_a_minute(void **state)
{
	(void)state;
	struct credential credential;
	assert_int_equal(credential_init(&credential, &from_files, &err), 0);
	assert_true(credential_is_due(&credential, CREDENTIAL_TOKEN, 0));
	assert_int_equal(
		credential_take(&credential, CREDENTIAL_TOKEN, VIEW(" one\n"), none, 1000, &err),
		0);
	expect_header(&credential, "Authorization: Bearer one");
	assert_false(credential_is_due(&credential, CREDENTIAL_TOKEN, 50999));
	assert_true(credential_is_due(&credential, CREDENTIAL_TOKEN, 51000));
	assert_int_equal(
		credential_take(&credential, CREDENTIAL_TOKEN, VIEW("one"), none, 51000, &err), 0);
	assert_int_equal(credential.reloads, 0);
	assert_int_equal(
		credential_take(&credential, CREDENTIAL_TOKEN, VIEW("two"), none, 101000, &err), 0);
	expect_header(&credential, "Authorization: Bearer two");
	assert_int_equal(credential.reloads, 1);
	credential_deinit(&credential);
}

static void a_file_that_is_no_use_keeps_what_was_there(void **state)
{
	(void)state;
	static const struct {
		enum credential_file file;
		struct view contents, key;
	} rows[] = {
		{CREDENTIAL_TOKEN, VIEW_INIT(""), VIEW_INIT("")},
		{CREDENTIAL_TOKEN, VIEW_INIT(" \n"), VIEW_INIT("")},
		{CREDENTIAL_TOKEN, VIEW_INIT("a\r\nX-Header: b"), VIEW_INIT("")},
		{CREDENTIAL_TOKEN, VIEW_INIT("a b"), VIEW_INIT("")},
		{CREDENTIAL_CA, VIEW_INIT(""), VIEW_INIT("")},
		{CREDENTIAL_CA, VIEW_INIT("garbage"), VIEW_INIT("")},
		{CREDENTIAL_CLIENT, VIEW_INIT("-----BEGIN new"), VIEW_INIT("")},
		{CREDENTIAL_CLIENT, VIEW_INIT(""), VIEW_INIT("-----BEGIN new")},
	};
	struct credential credential;
	assert_int_equal(credential_init(&credential, &from_files, &err), 0);
	assert_int_equal(
		credential_take(&credential, CREDENTIAL_TOKEN, VIEW("one"), none, 0, &err), 0);
	assert_int_equal(
		credential_take(&credential, CREDENTIAL_CA, VIEW("-----BEGIN a"), none, 0, &err),
		0);
	assert_int_equal(credential_take(&credential, CREDENTIAL_CLIENT, VIEW("-----BEGIN c"),
					 VIEW("-----BEGIN k"), 0, &err),
			 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(credential_take(&credential, rows[i].file, rows[i].contents,
						 rows[i].key, 400000, &err),
				 -1);
		assert_int_equal(err.kind, ERROR_REJECTED);
		assert_false(credential_is_due(&credential, rows[i].file, 409999));
		assert_true(credential_is_due(&credential, rows[i].file, 410000));
		expect_header(&credential, "Authorization: Bearer one");
		assert_true(view_equal(credential_ca(&credential), VIEW("-----BEGIN a")));
		assert_true(view_equal(credential_client_cert(&credential), VIEW("-----BEGIN c")));
		assert_true(view_equal(credential_client_key(&credential), VIEW("-----BEGIN k")));
	}
	credential_missed(&credential, CREDENTIAL_TOKEN, 500000);
	assert_false(credential_is_due(&credential, CREDENTIAL_TOKEN, 509999));
	assert_true(credential_is_due(&credential, CREDENTIAL_TOKEN, 510000));
	credential_deinit(&credential);
}

/* Without a CA of its own a client believes those of the system. */
static void what_there_is_no_memory_for_keeps_what_was_there(void **state)
{
	(void)state;
	static const struct {
		enum credential_file file;
		struct view contents, key;
		unsigned n_allocations;
	} rows[] = {
		{CREDENTIAL_TOKEN, VIEW_INIT("another"), VIEW_INIT(""), 1},
		{CREDENTIAL_CA, VIEW_INIT("-----BEGIN another"), VIEW_INIT(""), 1},
		{CREDENTIAL_CLIENT, VIEW_INIT("-----BEGIN another"),
		 VIEW_INIT("-----BEGIN another"), 2},
	};
	struct credential credential;

	assert_int_equal(credential_init(&credential, &from_data, &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		for (unsigned k = 1; k <= rows[i].n_allocations; k++) {
			failing_malloc_at(k);
			assert_int_equal(credential_take(&credential, rows[i].file,
							 rows[i].contents, rows[i].key, 0, &err),
					 -1);
			assert_true(failing_malloc_off());
			assert_int_equal(err.kind, ERROR_NO_MEMORY);
			expect_header(&credential, "Authorization: Bearer secret");
			assert_true(view_equal(credential_ca(&credential), from_data.ca_pem));
			assert_true(view_equal(credential_client_cert(&credential),
					       from_data.client_cert_pem));
			assert_true(view_equal(credential_client_key(&credential),
					       from_data.client_key_pem));
			assert_int_equal(credential.reloads, 0);
		}
	}
	credential_deinit(&credential);
	for (unsigned k = 1; k <= 4; k++) {
		failing_malloc_at(k);
		assert_int_equal(credential_init(&credential, &from_data, &err), -1);
		assert_true(failing_malloc_off());
		assert_int_equal(err.kind, ERROR_NO_MEMORY);
		credential_deinit(&credential);
	}
}

static void certificates_are_read_again_every_five_minutes(void **state)
{
	(void)state;
	struct credential credential;
	assert_int_equal(credential_init(&credential, &from_files, &err), 0);
	assert_int_equal(
		credential_take(&credential, CREDENTIAL_CA, VIEW("-----BEGIN a"), none, 0, &err),
		0);
	assert_false(credential_is_due(&credential, CREDENTIAL_CA, 299999));
	assert_true(credential_is_due(&credential, CREDENTIAL_CA, 300000));
	assert_int_equal(credential_take(&credential, CREDENTIAL_CA, VIEW("-----BEGIN b"), none,
					 300000, &err),
			 0);
	assert_true(view_equal(credential_ca(&credential), VIEW("-----BEGIN b")));
	credential_deinit(&credential);
}

static void a_401_makes_all_files_due_once_a_second(void **state)
{
	(void)state;
	struct credential credential;
	assert_int_equal(credential_init(&credential, &from_files, &err), 0);
	assert_int_equal(
		credential_take(&credential, CREDENTIAL_TOKEN, VIEW("one"), none, 5000, &err), 0);
	assert_true(credential_refused(&credential, 6000));
	assert_true(credential_is_due(&credential, CREDENTIAL_TOKEN, 6000));
	assert_int_equal(
		credential_take(&credential, CREDENTIAL_TOKEN, VIEW("one"), none, 6000, &err), 0);
	assert_false(credential_refused(&credential, 6999));
	assert_false(credential_is_due(&credential, CREDENTIAL_TOKEN, 6999));
	assert_true(credential_refused(&credential, 7000));
	credential_deinit(&credential);
}

static void an_unusable_token_in_the_kubeconfig_is_refused(void **state)
{
	(void)state;
	static const struct kubeconfig config = {.token = VIEW_INIT("a b")};
	struct credential credential;
	assert_int_equal(credential_init(&credential, &config, &err), -1);
	assert_int_equal(err.kind, ERROR_REJECTED);
	assert_null(strstr(err.text, "a b"));
	credential_deinit(&credential);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(what_is_given_as_data_is_never_read),
	cmocka_unit_test(nobody_has_no_header),
	cmocka_unit_test(a_new_token_is_in_force_within_a_minute),
	cmocka_unit_test(a_file_that_is_no_use_keeps_what_was_there),
	cmocka_unit_test(what_there_is_no_memory_for_keeps_what_was_there),
	cmocka_unit_test(certificates_are_read_again_every_five_minutes),
	cmocka_unit_test(a_401_makes_all_files_due_once_a_second),
	cmocka_unit_test(an_unusable_token_in_the_kubeconfig_is_refused),
};
TEST_MAIN(tests)
