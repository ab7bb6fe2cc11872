/* SPDX-License-Identifier: Apache-2.0 */

/*
 * pause - the process that holds a pod's namespaces open while its containers come and go.
 *
 * It is process 1 of a pod that shares its process namespace, so it also has to collect orphans.
 */

#define _POSIX_C_SOURCE 200809L

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void
end(int signal_number)
{
	(void)signal_number;
	_exit(EXIT_SUCCESS);
}

static void
collect(int signal_number)
{
	(void)signal_number;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

int
main(void)
{
	const struct sigaction ending = { .sa_handler = end };
	const struct sigaction collecting = { .sa_handler = collect, .sa_flags = SA_NOCLDSTOP };

	if (sigaction(SIGINT, &ending, NULL) < 0 || sigaction(SIGTERM, &ending, NULL) < 0 ||
	    sigaction(SIGCHLD, &collecting, NULL) < 0)
		return EXIT_FAILURE;
	for (;;)
		pause();
}
