/* SPDX-License-Identifier: Apache-2.0 */

/*
 * LD_PRELOAD: a wall clock that is wrong, for a program and its libraries. CLOCK_FILE names a file with
 * the difference in seconds, 8 bytes, which both map: a test may change it at any time
 * (tests/lib/wrong_clock.py). Without the file the clock is right. Clocks that count from the boot are.
 */

#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static _Atomic int64_t right;
static _Atomic int64_t *ahead = &right;

__attribute__((constructor)) static void map_file(void)
{
	const char *path = getenv("CLOCK_FILE");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

	if (fd < 0)
		return;
	void *mapped = mmap(NULL, sizeof(*ahead), PROT_READ, MAP_SHARED, fd, 0);
	if (mapped != MAP_FAILED)
		ahead = mapped;
	close(fd);
}

int clock_gettime(clockid_t clock, struct timespec *ret)
{
	int failed = (int)syscall(SYS_clock_gettime, clock, ret);

	if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		ret->tv_sec += atomic_load(ahead);
	return failed;
}

time_t time(time_t *ret)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (ret)
		*ret = now.tv_sec;
	return now.tv_sec;
}

int gettimeofday(struct timeval *restrict ret, void *restrict zone)
{
	struct timespec now;

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &now);
	ret->tv_sec = now.tv_sec;
	ret->tv_usec = now.tv_nsec / 1000;
	return 0;
}
