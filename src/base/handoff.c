/* SPDX-License-Identifier: Apache-2.0 */

/*
 * liburcu's wait-free queue with an eventfd beside it. Each push adds to the eventfd after the
 * object is in. The consumer clears it when the queue looks empty, and looks once more. So an
 * object is either seen by that second look, or its push makes the eventfd readable afterwards.
 *
 * A dequeue can meet a push that is half done: the object is announced, but not linked yet. It
 * counts as not there, because its push makes the eventfd readable when it is done.
 *
 * liburcu 0.13 orders memory with assembly, which the thread sanitizer does not see. So there is
 * also a counter, which the sanitizer does see. A push changes it before it passes the object on, a
 * pop changes it afterwards.
 */

#include "base/handoff.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct handoff {
	struct __cds_wfcq_head head; /* the consumer's */
	struct cds_wfcq_tail tail;   /* the pushers' */
	atomic_size_t count;
	size_t cap;
	int fd;
};

int handoff_new(size_t cap, struct handoff **ret_handoff, struct error *err)
{
	CLEANUP(handoff_freep) struct handoff *handoff = calloc(1, sizeof(*handoff));
	if (!handoff)
		return error_no_memory(err);
	__cds_wfcq_init(&handoff->head, &handoff->tail);
	handoff->cap = cap;
	handoff->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (handoff->fd < 0)
		return error_set(err, ERROR_LIMIT, errno, "eventfd");
	*ret_handoff = TAKE(handoff);
	return 0;
}

void handoff_free(struct handoff *handoff)
{
	if (!handoff)
		return;
	assert(atomic_load(&handoff->count) == 0 && "an object has no owner");
	if (handoff->fd >= 0)
		close(handoff->fd);
	free(handoff);
}

void handoff_freep(struct handoff **handoff)
{
	handoff_free(*handoff);
}

static void wake(const struct handoff *handoff)
{
	/* Else it can fail only when 2^64 - 2 pushes are untold: then the fd is readable anyway. */
	uint64_t one = 1;
	while (write(handoff->fd, &one, sizeof(one)) < 0 && errno == EINTR)
		continue;
}

int handoff_push(struct handoff *handoff, struct handoff_node *take_node, struct error *err)
{
	if (atomic_fetch_add(&handoff->count, 1) >= handoff->cap) {
		atomic_fetch_sub(&handoff->count, 1);
		return error_set(err, ERROR_LIMIT, 0, "%zu objects wait already", handoff->cap);
	}
	cds_wfcq_node_init(&take_node->link);
	cds_wfcq_enqueue(__cds_wfcq_head_cast(&handoff->head), &handoff->tail, &take_node->link);
	wake(handoff);
	return 0;
}

static struct handoff_node *dequeue(struct handoff *handoff)
{
	struct cds_wfcq_node *link = __cds_wfcq_dequeue_nonblocking(
		__cds_wfcq_head_cast(&handoff->head), &handoff->tail);
	if (!link || link == CDS_WFCQ_WOULDBLOCK)
		return NULL;
	atomic_fetch_sub(&handoff->count, 1);
	return CONTAINER_OF(link, struct handoff_node, link);
}

struct handoff_node *handoff_pop(struct handoff *handoff)
{
	struct handoff_node *node = dequeue(handoff);
	if (node)
		return node;
	uint64_t pushes;
	ssize_t n = read(handoff->fd, &pushes, sizeof(pushes));
	(void)n; /* nothing to clear is fine */
	return dequeue(handoff);
}

int handoff_fd(const struct handoff *handoff)
{
	return handoff->fd;
}
