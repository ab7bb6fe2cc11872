/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/scenario.h"

/* A script that is wrong, or a world that is another one, must fail: run in a process of its own. */

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const wrong[] = {
	"",
	"gpu 0 exclusive; expect none; expect slots 0/1; expect Attributed True AllResolved",
	NULL, /* those below fail */
	"what is this",
	"gpu",
	"gpu x",
	"gpu 0 exclusive 1",
	"gpu 0 exclusive; run a",
	"gpu 0 exclusive; run a gpu0",
	"gpu 0 exclusive; run a on gpu0 colour=red",
	"gpu 0 exclusive; run a on gpu0 phase=Red",
	"gpu 0 exclusive; wait soon",
	"gpu 0 exclusive; lose heart",
	"gpu 0 exclusive; expect",
	"gpu 0 exclusive; expect gpu1 none",
	"gpu 0 exclusive; expect `none",
	"gpu 0 exclusive; expect a",
	"gpu 0 exclusive; run a on gpu0; expect none",
	"gpu 0 exclusive; run a on gpu0; expect a Starting",
	"gpu 0 exclusive; run a on gpu0; expect a Disputed",
	"gpu 0 exclusive; run a on gpu0; expect a colour=red",
	"gpu 0 exclusive; run a on gpu0; expect a by=Checkpoint",
	"gpu 0 exclusive; run a on gpu0; expect tenants b",
	"gpu 0 exclusive; run a on gpu0; expect slots 0/1",
	"gpu 0 exclusive; run a on gpu0; expect Attributed True Pending",
	"gpu 0 exclusive; run a on gpu0; expect Attributed True AllResolved `another message`",
	"gpu 0 exclusive; run a on gpu0; expect writes 0",
	"gpu 0 exclusive; run a on gpu0; expect again 7s",
	"gpu 0 exclusive; run a on gpu0; expect awaits yes",
};

static int run_in_child(const char *script)
{
	int status;
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		const struct scenario_promise promise = {"wrong", script};
		char *argv[] = {(char *)(uintptr_t) "scenario_test", NULL};
		assert_non_null(freopen("/dev/null", "w", stderr));
		cmocka_set_test_filter(promise.sentence); /* and no longer this test */
		_exit(scenario_main(argv, &promise, 1, NULL, 0));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

TEST(what_is_wrong_with_a_script_or_a_world_fails_the_test)
{
	bool is_wrong = false;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		if (!wrong[i])
			is_wrong = true;
		else if (run_in_child(wrong[i]) != is_wrong)
			fail_msg("\"%s\" %s", wrong[i], is_wrong ? "passed" : "failed");
	}
}

static const struct scenario_promise promises[] = {
	PROMISE(a_pod_comes_and_goes,
		"gpu 0 exclusive; expect none; run a on gpu0;"
		"expect a Confirmed Running by=Checkpoint,PodResources slots=1 since=0;"
		"wait 1s; delete a; expect none; expect left ml/a/main:0-1000; expect ended a"),
	PROMISE(units_and_uids_are_shown_in_short,
		"gpu 0 mig 2; gpu 1 shared 2; run a on mig0.1; run b on gpu1::1 gpu7;"
		"expect a partitions=mig0.1; expect gpu1 b slots=1; later;"
		"expect unplaced b:gpu7"),
};

SCENARIO_MAIN_WITH(promises, NULL, NULL)
