/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "io/tls_library.h"
#include "lib/failing_openssl.h"

TEST(what_is_prepared_twice_is_prepared)
{
	struct error err;
	assert_int_equal(tls_library_prepare(&err), 0);
	assert_int_equal(tls_library_prepare(&err), 0);
}

TEST(without_memory_for_openssl_the_program_is_told_so)
{
	struct error err = {0};
	failing_openssl_set(true);
	assert_int_equal(tls_library_prepare(&err), -1);
	assert_non_null(strstr(err.text, "OpenSSL cannot be used"));
}

/* The last one leaves OpenSSL unusable. */
static const struct CMUnitTest tests[] = {
	cmocka_unit_test(what_is_prepared_twice_is_prepared),
	cmocka_unit_test(without_memory_for_openssl_the_program_is_told_so),
};
TEST_MAIN_WITH(tests, failing_openssl_install, NULL)
