/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/test_main.h"

#include <poll.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/handoff.h"

#define N_PUSHERS 3
#define N_OBJECTS 20000

struct object {
	struct handoff_node node;
	unsigned pusher;
	unsigned number;
};

static atomic_uint n_interrupts; /* of writes to come */

/* Stands in for that of the C library. */
ssize_t write(int fd, const void *bytes, size_t n)
{
	if (atomic_load(&n_interrupts) > 0) {
		atomic_fetch_sub(&n_interrupts, 1);
		errno = EINTR;
		return -1;
	}
	return syscall(SYS_write, fd, bytes, n);
}

static struct handoff *new_handoff(size_t cap)
{
	struct handoff *handoff;
	struct error err;
	assert_int_equal(handoff_new(cap, &handoff, &err), 0);
	return handoff;
}

static bool is_readable(const struct handoff *handoff, int timeout_ms)
{
	struct pollfd ask = {.fd = handoff_fd(handoff), .events = POLLIN};
	return poll(&ask, 1, timeout_ms) == 1;
}

static void objects_come_out_in_order_and_the_fd_follows(void **state)
{
	(void)state;
	CLEANUP(handoff_freep) struct handoff *handoff = new_handoff(10);
	struct object objects[3];
	struct error err;
	assert_false(is_readable(handoff, 0));
	assert_null(handoff_pop(handoff));
	for (size_t i = 0; i < ARRAY_SIZE(objects); i++)
		assert_int_equal(handoff_push(handoff, &objects[i].node, &err), 0);
	assert_true(is_readable(handoff, 0));
	for (size_t i = 0; i < ARRAY_SIZE(objects); i++) {
		assert_ptr_equal(handoff_pop(handoff), &objects[i].node);
		assert_true(is_readable(handoff, 0));
	}
	assert_null(handoff_pop(handoff));
	assert_false(is_readable(handoff, 0));
	assert_int_equal(handoff_push(handoff, &objects[0].node, &err), 0);
	assert_true(is_readable(handoff, 0));
	assert_ptr_equal(handoff_pop(handoff), &objects[0].node);
}

static void a_full_queue_refuses_and_takes_again_after_a_pop(void **state)
{
	(void)state;
	CLEANUP(handoff_freep) struct handoff *handoff = new_handoff(2);
	struct object a, b, c;
	struct error err;
	assert_int_equal(handoff_push(handoff, &a.node, &err), 0);
	assert_int_equal(handoff_push(handoff, &b.node, &err), 0);
	assert_int_equal(handoff_push(handoff, &c.node, &err), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
	assert_ptr_equal(handoff_pop(handoff), &a.node);
	assert_int_equal(handoff_push(handoff, &c.node, &err), 0);
	assert_ptr_equal(handoff_pop(handoff), &b.node);
	assert_ptr_equal(handoff_pop(handoff), &c.node);
	assert_null(handoff_pop(handoff));
}

struct pusher {
	struct handoff *handoff;
	unsigned number;
};

static void *push_objects(void *argument)
{
	const struct pusher *pusher = argument;
	for (unsigned i = 0; i < N_OBJECTS; i++) {
		struct object *object = malloc(sizeof(*object));
		struct error err;
		object->pusher = pusher->number;
		object->number = i;
		while (handoff_push(pusher->handoff, &object->node, &err) != 0)
			sched_yield();
	}
	return NULL;
}

static void nothing_is_lost_between_threads(void **state)
{
	(void)state;
	CLEANUP(handoff_freep) struct handoff *handoff = new_handoff(64);
	struct pusher pushers[N_PUSHERS];
	pthread_t threads[N_PUSHERS];
	for (unsigned i = 0; i < N_PUSHERS; i++) {
		pushers[i] = (struct pusher){handoff, i};
		assert_int_equal(pthread_create(&threads[i], NULL, push_objects, &pushers[i]), 0);
	}
	unsigned next[N_PUSHERS] = {0};
	for (unsigned n = 0; n < N_PUSHERS * N_OBJECTS;) {
		/* A wake-up that is lost would let this time out. */
		assert_true(is_readable(handoff, 10000));
		struct handoff_node *node;
		while ((node = handoff_pop(handoff)) != NULL) {
			struct object *object = CONTAINER_OF(node, struct object, node);
			assert_int_equal(object->number, next[object->pusher]++);
			free(object);
			n++;
		}
	}
	for (unsigned i = 0; i < N_PUSHERS; i++)
		pthread_join(threads[i], NULL);
	assert_null(handoff_pop(handoff));
}

/* One object goes back and forth, so that each wake-up that is lost is the last. */
struct table_tennis {
	struct handoff *handoff;
	struct object ball;
	atomic_uint n_returned;
};

static void *serve(void *argument)
{
	struct table_tennis *game = argument;
	for (unsigned i = 0; i < N_OBJECTS; i++) {
		struct error err;
		while (atomic_load(&game->n_returned) != i)
			sched_yield();
		game->ball.number = i;
		assert_int_equal(handoff_push(game->handoff, &game->ball.node, &err), 0);
	}
	return NULL;
}

static void a_push_beside_the_last_pop_wakes_the_consumer(void **state)
{
	(void)state;
	CLEANUP(handoff_freep) struct handoff *handoff = new_handoff(1);
	struct table_tennis game = {.handoff = handoff};
	pthread_t server;
	assert_int_equal(pthread_create(&server, NULL, serve, &game), 0);
	for (unsigned i = 0; i < N_OBJECTS;) {
		if (handoff_pop(handoff)) {
			assert_int_equal(game.ball.number, i);
			atomic_store(&game.n_returned, ++i);
		} else {
			assert_true(is_readable(handoff, 10000));
		}
	}
	pthread_join(server, NULL);
}

TEST(a_push_that_a_signal_interrupts_wakes_the_consumer)
{
	CLEANUP(handoff_freep) struct handoff *handoff = new_handoff(1);
	struct object object;
	struct error err;
	atomic_store(&n_interrupts, 2);
	assert_int_equal(handoff_push(handoff, &object.node, &err), 0);
	assert_int_equal(atomic_load(&n_interrupts), 0);
	assert_true(is_readable(handoff, 0));
	assert_ptr_equal(handoff_pop(handoff), &object.node);
}

static void lack_of_memory_and_of_descriptors_is_told(void **state)
{
	(void)state;
	struct handoff *handoff = NULL;
	struct error err;
	failing_malloc_at(1);
	assert_int_equal(handoff_new(1, &handoff, &err), -1);
	assert_true(failing_malloc_off());
	assert_int_equal(err.kind, ERROR_NO_MEMORY);
	struct rlimit old, none;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = (struct rlimit){0, old.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	int result = handoff_new(1, &handoff, &err);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(result, -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
	assert_null(handoff);
	handoff_free(NULL);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(objects_come_out_in_order_and_the_fd_follows),
	cmocka_unit_test(a_full_queue_refuses_and_takes_again_after_a_pop),
	cmocka_unit_test(nothing_is_lost_between_threads),
	cmocka_unit_test(a_push_beside_the_last_pop_wakes_the_consumer),
	cmocka_unit_test(a_push_that_a_signal_interrupts_wakes_the_consumer),
	cmocka_unit_test(lack_of_memory_and_of_descriptors_is_told),
};
TEST_MAIN(tests)
