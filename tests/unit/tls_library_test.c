/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/tls_library.h"
#include "lib/failing_malloc.h"
#include "lib/failing_openssl.h"

#define TOLD 3

/* In a process of its own. */
static int prepare_without_memory(unsigned allocation)
{
	struct error err;
	if (tls_library_wipe(&err) < 0)
		return 2;
	failing_malloc_at(allocation);
	if (tls_library_prepare(&err) < 0)
		return TOLD;
	return failing_malloc_off() ? 4 : 0;
}

TEST(without_memory_for_openssl_a_program_that_wipes_ends_at_once)
{
	int status = EXIT_FAILURE;
	unsigned allocation = 1;
	for (; status != 0; allocation += 1 + allocation / 16) {
		pid_t pid = fork();
		if (pid == 0)
			_exit(prepare_without_memory(allocation));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		/* TOLD: it was memory of ours, or OpenSSL says so itself. */
		assert_true(status == 0 || WEXITSTATUS(status) == EXIT_FAILURE || WEXITSTATUS(status) == TOLD);
	}
	/* A certificate and a handshake are tried, too. */
	assert_true(allocation > 10000);
}

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
	failing_openssl_set(false); /* which also needs memory to clean up */
	assert_non_null(strstr(err.text, "OpenSSL cannot be used"));
}

/* The last one leaves OpenSSL unusable. */
static const struct CMUnitTest tests[] = {
	cmocka_unit_test(without_memory_for_openssl_a_program_that_wipes_ends_at_once),
	cmocka_unit_test(what_is_prepared_twice_is_prepared),
	cmocka_unit_test(without_memory_for_openssl_the_program_is_told_so),
};
TEST_MAIN_WITH(tests, failing_openssl_install, NULL)
