/* SPDX-License-Identifier: Apache-2.0 */

/*
 * LD_PRELOAD: makes chosen calls of a program fail, of its libraries too. tests/lib/torture_plan.py says
 * which, in a file that both map (TORTURE_FILE), and may change it at any time. All calls are
 * counted, so that it can learn how many a scenario makes. Without the file every call goes on as usual.
 *
 * Calls of one kind are numbered from 0 since the plan was made. Those from `from` on fail, `count` of
 * them; where `one_in` is not 0, only one in so many of these, by a hash of the number and `seed`.
 *
 * The bytes of the blocks that live are counted, too: those of the program that was started last, without
 * its children.
 */

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* In the order of KINDS in tests/lib/torture_plan.py. */
enum kind {
	ALLOCATE,
	SOCKET,
	CONNECT,
	ACCEPT,
	RECEIVE, /* read, recv, readv, recvmsg */
	SEND,    /* write, send, sendto, writev, sendmsg */
	EPOLL_CTL,
	OPEN,
	N_KINDS,
};

/* A call transfers one byte in place of failing. */
#define SHORT (-1)

/* The layout is that of PLAN in tests/lib/torture_plan.py. */
struct plan {
	_Atomic uint64_t calls[N_KINDS];
	_Atomic uint64_t failed;
	_Atomic int64_t kind;  /* -1: none fails */
	_Atomic int64_t error; /* an errno, or SHORT */
	_Atomic uint64_t from;
	_Atomic uint64_t count;
	_Atomic uint64_t one_in;
	_Atomic uint64_t seed;
	_Atomic int64_t live; /* bytes */
};

/* glibc's own, which the functions below stand in front of. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *block);

static struct plan *plan;
static _Atomic int64_t own_live; /* before there is a plan, and of a child */
static _Atomic int64_t *live = &own_live;

static void count_apart(void)
{
	live = &own_live;
}

__attribute__((constructor)) static void map_plan(void)
{
	const char *path = getenv("TORTURE_FILE");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;

	if (fd < 0)
		return;
	void *mapped = mmap(NULL, sizeof(struct plan), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (mapped == MAP_FAILED)
		return;
	plan = mapped;
	pthread_atfork(NULL, NULL, count_apart);
	live = &plan->live;
	atomic_store(live, atomic_load(&own_live));
}

/* splitmix64 */
static uint64_t hash(uint64_t n)
{
	n += 0x9e3779b97f4a7c15u;
	n = (n ^ (n >> 30)) * 0xbf58476d1ce4e5b9u;
	n = (n ^ (n >> 27)) * 0x94d049bb133111ebu;
	return n ^ (n >> 31);
}

/* Counts a call. 0: it goes on; else what it fails with. */
static int fate(enum kind kind)
{
	if (!plan)
		return 0;
	uint64_t number = atomic_fetch_add(&plan->calls[kind], 1);
	if (atomic_load(&plan->kind) != (int64_t)kind)
		return 0;
	uint64_t from = atomic_load(&plan->from), one_in = atomic_load(&plan->one_in);
	if (number < from || number - from >= atomic_load(&plan->count))
		return 0;
	if (one_in > 1 && hash(number ^ atomic_load(&plan->seed)) % one_in != 0)
		return 0;
	atomic_fetch_add(&plan->failed, 1);
	return (int)atomic_load(&plan->error);
}

/* True where the call fails, with errno set. */
static bool fails(enum kind kind)
{
	int error = fate(kind);

	if (error == 0 || error == SHORT)
		return false;
	errno = error;
	return true;
}

/* The same for a transfer, which *size may become 1 for. */
static bool transfer_fails(enum kind kind, size_t *size)
{
	int error = fate(kind);

	if (error == SHORT && *size > 1)
		*size = 1;
	if (error == 0 || error == SHORT)
		return false;
	errno = error;
	return true;
}

static void *count(void *block)
{
	atomic_fetch_add(live, (int64_t)malloc_usable_size(block));
	return block;
}

void *malloc(size_t size)
{
	return fails(ALLOCATE) ? NULL : count(__libc_malloc(size));
}

void *calloc(size_t n, size_t size)
{
	return fails(ALLOCATE) ? NULL : count(__libc_calloc(n, size));
}

void *realloc(void *block, size_t size)
{
	const size_t before = malloc_usable_size(block);

	/* One that makes a block smaller or frees it does not fail in glibc; this is stricter. */
	if (size > 0 && fails(ALLOCATE))
		return NULL;
	void *moved = __libc_realloc(block, size);
	if (!moved && size > 0)
		return NULL; /* the block is as before */
	atomic_fetch_sub(live, (int64_t)before);
	return count(moved);
}

void free(void *block)
{
	atomic_fetch_sub(live, (int64_t)malloc_usable_size(block));
	__libc_free(block);
}

void *reallocarray(void *block, size_t n, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(n, size, &total)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(block, total);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return fails(ALLOCATE) ? NULL : count(__libc_memalign(alignment, size));
}

int posix_memalign(void **ret_block, size_t alignment, size_t size)
{
	void *block = fails(ALLOCATE) ? NULL : count(__libc_memalign(alignment, size));

	if (!block)
		return ENOMEM;
	*ret_block = block;
	return 0;
}

/* The next library's function of that name. dlsym() may allocate; what it asks for is counted. */
#define REAL(name)                                                                                 \
	static __typeof__(name) *real;                                                             \
	if (!real)                                                                                 \
		*(void **)&real = dlsym(RTLD_NEXT, #name)

int socket(int domain, int type, int protocol)
{
	REAL(socket);
	return fails(SOCKET) ? -1 : real(domain, type, protocol);
}

/* glibc declares addresses as unions of all their types. */
int connect(int fd, __CONST_SOCKADDR_ARG address, socklen_t len)
{
	REAL(connect);
	return fails(CONNECT) ? -1 : real(fd, address, len);
}

int accept4(int fd, __SOCKADDR_ARG address, socklen_t *len, int flags)
{
	REAL(accept4);
	return fails(ACCEPT) ? -1 : real(fd, address, len, flags);
}

int accept(int fd, __SOCKADDR_ARG address, socklen_t *len)
{
	REAL(accept);
	return fails(ACCEPT) ? -1 : real(fd, address, len);
}

/* An eventfd, by which threads wake each other: the kernel never fails there, nor transfers less. */
static bool is_counter(int fd)
{
	struct stat facts;

	return fstat(fd, &facts) == 0 && (facts.st_mode & S_IFMT) == 0;
}

ssize_t read(int fd, void *bytes, size_t size)
{
	REAL(read);
	return !is_counter(fd) && transfer_fails(RECEIVE, &size) ? -1 : real(fd, bytes, size);
}

ssize_t recv(int fd, void *bytes, size_t size, int flags)
{
	REAL(recv);
	return transfer_fails(RECEIVE, &size) ? -1 : real(fd, bytes, size, flags);
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	REAL(recvmsg);
	return fails(RECEIVE) ? -1 : real(fd, message, flags);
}

ssize_t readv(int fd, const struct iovec *parts, int n)
{
	struct iovec one = n > 0 ? parts[0] : (struct iovec){NULL, 0};
	size_t size = one.iov_len;

	REAL(readv);
	if (transfer_fails(RECEIVE, &size))
		return -1;
	if (size == one.iov_len)
		return real(fd, parts, n);
	one.iov_len = size;
	return real(fd, &one, 1);
}

ssize_t write(int fd, const void *bytes, size_t size)
{
	REAL(write);
	return !is_counter(fd) && transfer_fails(SEND, &size) ? -1 : real(fd, bytes, size);
}

ssize_t send(int fd, const void *bytes, size_t size, int flags)
{
	REAL(send);
	return transfer_fails(SEND, &size) ? -1 : real(fd, bytes, size, flags);
}

ssize_t sendto(int fd, const void *bytes, size_t size, int flags, __CONST_SOCKADDR_ARG to,
	       socklen_t len)
{
	REAL(sendto);
	return transfer_fails(SEND, &size) ? -1 : real(fd, bytes, size, flags, to, len);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	REAL(sendmsg);
	return fails(SEND) ? -1 : real(fd, message, flags);
}

ssize_t writev(int fd, const struct iovec *parts, int n)
{
	struct iovec one = n > 0 ? parts[0] : (struct iovec){NULL, 0};
	size_t size = one.iov_len;

	REAL(writev);
	if (transfer_fails(SEND, &size))
		return -1;
	if (size == one.iov_len)
		return real(fd, parts, n);
	one.iov_len = size;
	return real(fd, &one, 1);
}

int epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event)
{
	REAL(epoll_ctl);
	return operation != EPOLL_CTL_DEL && fails(EPOLL_CTL) ? -1 : real(epoll, operation, fd, event);
}

/* The mode of an open that may create a file; 0 of one that may not. */
static mode_t mode_of(int flags, va_list arguments)
{
	bool creates = (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
	return creates ? va_arg(arguments, mode_t) : 0;
}

int open(const char *path, int flags, ...)
{
	va_list arguments;

	REAL(open);
	va_start(arguments, flags);
	mode_t mode = mode_of(flags, arguments);
	va_end(arguments);
	return fails(OPEN) ? -1 : real(path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...)
{
	va_list arguments;

	REAL(openat);
	va_start(arguments, flags);
	mode_t mode = mode_of(flags, arguments);
	va_end(arguments);
	return fails(OPEN) ? -1 : real(folder, path, flags, mode);
}
