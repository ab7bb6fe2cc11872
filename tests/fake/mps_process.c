/* SPDX-License-Identifier: Apache-2.0 */

/*
 * mps_process - the processes that MPS brings: its server, and a program that is its client.
 *
 *   nvidia-cuda-mps-server   (called by this name) waits until it is ended
 *   mps-client MIB           becomes a client of the control daemon until either of them ends
 *
 * The client does as a CUDA program with its first call, and finds the daemon by its environment.
 * The environment is what the device plugin's allocation gave: CUDA_MPS_PIPE_DIRECTORY, and
 * NVIDIA_VISIBLE_DEVICES with the UUIDs. The daemon is hack/cluster/mps-driver. Linked statically,
 * so that it runs in any image.
 */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void end(int signal_number)
{
	(void)signal_number;
	_exit(EXIT_SUCCESS);
}

static int fail(const char *what)
{
	perror(what);
	return EXIT_FAILURE;
}

/* The daemon's end is the server's, too, however it comes. */
static int serve(void)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return fail("prctl");
	for (;;)
		pause();
}

static int connect_to(const char *folder)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int length = snprintf(address.sun_path, sizeof(address.sun_path), "%s/control", folder);
	int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (connection < 0 || length < 0 || (size_t)length >= sizeof(address.sun_path) ||
	    connect(connection, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -1;
	return connection;
}

/* Returns only when there is no server, or none any more. */
static int use(const char *folder, const char *devices, const char *mib)
{
	char answer[64];
	int connection = connect_to(folder);

	if (connection < 0 || dprintf(connection, "client %s %s\n", devices, mib) < 0)
		return fail("no MPS control daemon");
	while (read(connection, answer, sizeof(answer)) > 0)
		;
	fprintf(stderr, "the MPS server has gone\n");
	return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	const struct sigaction ending = {.sa_handler = end};
	const char *folder = getenv("CUDA_MPS_PIPE_DIRECTORY");
	const char *devices = getenv("NVIDIA_VISIBLE_DEVICES");

	/* As process 1 of a container it would not be ended otherwise. */
	if (sigaction(SIGINT, &ending, NULL) < 0 || sigaction(SIGTERM, &ending, NULL) < 0)
		return fail("sigaction");
	if (strcmp(basename(argv[0]), "nvidia-cuda-mps-server") == 0)
		return serve();
	if (argc != 2 || !folder || !devices) {
		fprintf(stderr, "usage: mps-client MIB, with CUDA_MPS_PIPE_DIRECTORY and "
				"NVIDIA_VISIBLE_DEVICES\n");
		return EXIT_FAILURE;
	}
	return use(folder, devices, argv[1]);
}
