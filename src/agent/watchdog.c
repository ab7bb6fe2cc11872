/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A timer of the loop postpones the kernel's alarm again and again, at a third of the time. So the
 * alarm goes off only if the loop did not turn: the main thread sits in a call that does not
 * return. Of the agent's calls only those into the driver can do that. If the kernel does not
 * release such a thread, nobody can end it; then the controller calls the report stale.
 */

#include "agent/watchdog.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/loop.h"

struct watchdog {
	struct loop_timer *timer;
	unsigned seconds;
};

/* Only what is safe in a signal handler. */
static void give_up(int number)
{
	(void)number;
	static const char text[] = "level=error msg=\"Stuck longer than --watchdog allows\"\n";
	/* Nobody is left to be told of a failure. */
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(EXIT_FAILURE);
	_exit(EXIT_FAILURE);
}

static void put_off(void *owner)
{
	struct watchdog *watchdog = owner;
	alarm(watchdog->seconds);
	loop_timer_set(watchdog->timer, (uint64_t)watchdog->seconds * 1000 / 3);
}

static void freep(struct watchdog **watchdog)
{
	watchdog_free(*watchdog);
}

int watchdog_new(struct loop *loop, int64_t ms, struct watchdog **ret_watchdog, struct error *err)
{
	CLEANUP(freep) struct watchdog *watchdog = calloc(1, sizeof(*watchdog));
	if (!watchdog)
		return error_no_memory(err);
	watchdog->seconds = (unsigned)((ms + 999) / 1000);
	if (loop_timer_new(loop, put_off, watchdog, &watchdog->timer, err) < 0)
		return -1;
	struct sigaction action;
	memset(&action, 0, sizeof(action));
	action.sa_handler = give_up;
	sigaction(SIGALRM, &action, NULL);
	put_off(watchdog);
	*ret_watchdog = TAKE(watchdog);
	return 0;
}

void watchdog_free(struct watchdog *watchdog)
{
	if (!watchdog)
		return;
	alarm(0);
	loop_timer_free(watchdog->timer);
	free(watchdog);
}
