/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core_dump.h"

/* In a process of its own. */
static int forbid(void)
{
	struct rlimit limit;
	core_dump_forbid();
	if (prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0)
		return 1;
	if (getrlimit(RLIMIT_CORE, &limit) != 0 || limit.rlim_cur != 0 || limit.rlim_max != 0)
		return 2;
	return 0;
}

static void no_core_is_dumped_any_more(void **state)
{
	(void)state;
	int status;
	pid_t pid = fork();
	if (pid == 0)
		_exit(forbid());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(no_core_is_dumped_any_more),
};
TEST_MAIN(tests)
