/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/snapshot.h"

struct object {
	unsigned number;
	unsigned copy; /* equal to number while the object lives */
};

static unsigned n_freed;

static void free_object(void *object)
{
	struct object *dead = object;
	dead->copy = ~dead->number;
	n_freed++;
	free(dead);
}

static struct object *new_object(unsigned number)
{
	struct object *object = malloc(sizeof(*object));
	assert_non_null(object);
	*object = (struct object){number, number};
	return object;
}

static void the_newest_object_is_shown_and_older_ones_are_freed(void **state)
{
	(void)state;
	struct snapshot snapshot = {0};
	assert_null(snapshot_get(&snapshot));
	struct object *first = new_object(1);
	snapshot_publish(&snapshot, first, free_object);
	assert_ptr_equal(snapshot_get(&snapshot), first);
	assert_int_equal(n_freed, 0);
	struct object *second = new_object(2);
	snapshot_publish(&snapshot, second, free_object);
	assert_ptr_equal(snapshot_get(&snapshot), second);
	assert_int_equal(n_freed, 1);
	snapshot_deinit(&snapshot);
	assert_null(snapshot_get(&snapshot));
	assert_int_equal(n_freed, 2);
	snapshot_deinit(&snapshot);
	assert_int_equal(n_freed, 2);
}

static void an_object_without_free_function_is_only_forgotten(void **state)
{
	(void)state;
	static struct object constant = {1, 1};
	struct snapshot snapshot = {0};
	snapshot_publish(&snapshot, &constant, NULL);
	snapshot_deinit(&snapshot);
	assert_int_equal(constant.copy, 1);
}

struct reading {
	struct snapshot snapshot;
	atomic_bool stop;
	atomic_uint n_read;
};

static void *read_until_stopped(void *argument)
{
	struct reading *reading = argument;
	unsigned newest = 0;
	snapshot_reader_register();
	while (!atomic_load(&reading->stop)) {
		snapshot_read_begin();
		const struct object *object = snapshot_get(&reading->snapshot);
		if (object) {
			/* Neither freed nor half made, and never older than the one before. */
			assert_int_equal(object->number, object->copy);
			assert_true(object->number >= newest);
			newest = object->number;
		}
		snapshot_read_end();
		atomic_fetch_add(&reading->n_read, 1);
	}
	snapshot_reader_unregister();
	return NULL;
}

static void readers_never_see_a_freed_object(void **state)
{
	(void)state;
	struct reading reading = {0};
	pthread_t readers[2];
	n_freed = 0;
	for (size_t i = 0; i < ARRAY_SIZE(readers); i++)
		assert_int_equal(pthread_create(&readers[i], NULL, read_until_stopped, &reading), 0);
	unsigned n_published = 0;
	while (n_published < 300 || atomic_load(&reading.n_read) < 300)
		snapshot_publish(&reading.snapshot, new_object(++n_published), free_object);
	atomic_store(&reading.stop, true);
	for (size_t i = 0; i < ARRAY_SIZE(readers); i++)
		pthread_join(readers[i], NULL);
	snapshot_deinit(&reading.snapshot);
	assert_int_equal(n_freed, n_published);
}

/* A reader that stays in its section until it is told to leave. */
struct lingering {
	struct snapshot snapshot;
	atomic_bool inside;
	atomic_bool leave;
	atomic_bool left;
};

static void *linger(void *argument)
{
	struct lingering *lingering = argument;
	snapshot_reader_register();
	snapshot_read_begin();
	snapshot_read_begin();
	const struct object *object = snapshot_get(&lingering->snapshot);
	snapshot_read_end();
	atomic_store(&lingering->inside, true);
	while (!atomic_load(&lingering->leave))
		sched_yield();
	assert_int_equal(object->number, object->copy);
	atomic_store(&lingering->left, true);
	snapshot_read_end();
	snapshot_reader_unregister();
	return NULL;
}

static void *let_it_leave(void *argument)
{
	struct lingering *lingering = argument;
	/* Give the publication every chance to go wrong before. */
	for (int i = 0; i < 1000; i++)
		sched_yield();
	atomic_store(&lingering->leave, true);
	return NULL;
}

static void a_publication_waits_for_a_reader_in_its_section(void **state)
{
	(void)state;
	struct lingering lingering = {0};
	pthread_t reader, opener;
	snapshot_publish(&lingering.snapshot, new_object(1), free_object);
	assert_int_equal(pthread_create(&reader, NULL, linger, &lingering), 0);
	while (!atomic_load(&lingering.inside))
		sched_yield();
	assert_int_equal(pthread_create(&opener, NULL, let_it_leave, &lingering), 0);
	snapshot_publish(&lingering.snapshot, new_object(2), free_object);
	assert_true(atomic_load(&lingering.left));
	pthread_join(reader, NULL);
	pthread_join(opener, NULL);
	snapshot_deinit(&lingering.snapshot);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(the_newest_object_is_shown_and_older_ones_are_freed),
	cmocka_unit_test(an_object_without_free_function_is_only_forgotten),
	cmocka_unit_test(readers_never_see_a_freed_object),
	cmocka_unit_test(a_publication_waits_for_a_reader_in_its_section),
};
TEST_MAIN(tests)
