/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "base/limits.h"
#include "controller/event_note.h"

struct world {
	struct arena arena;
	struct event_note note;
};

static int set_up(void **state)
{
	static struct world world;

	arena_init(&world.arena, LIMIT_MIB);
	event_note_init(&world.note);
	*state = &world;
	return 0;
}

static int tear_down(void **state)
{
	struct world *world = *state;

	event_note_deinit(&world->note);
	arena_deinit(&world->arena);
	return 0;
}

static struct view taken(struct world *world)
{
	struct view text;
	struct error err;

	assert_int_equal(event_note_take(&world->note, &world->arena, &text, &err), 0);
	return text;
}

static void a_note_is_what_was_added(void **state)
{
	struct world *world = *state;

	event_note_next(&world->note);
	event_note_add(&world->note, VIEW("XID "));
	event_note_add_number(&world->note, -79);
	event_note_next(&world->note);
	event_note_add_time(&world->note, INT64_C(1767268800999));
	assert_true(view_equal(taken(world), VIEW("XID -79; 2026-01-01T12:00:00Z")));
	assert_true(view_equal(taken(world), VIEW("")));
}

/* 1024 bytes are taken whole; of more, no character is cut in two. */
static void a_note_is_cut_to_the_limit_between_characters(void **state)
{
	struct world *world = *state;
	struct view text;

	for (unsigned i = 0; i < LIMIT_EVENT_NOTE / 2; i++)
		event_note_add(&world->note, VIEW("é"));
	text = taken(world);
	assert_int_equal(text.len, LIMIT_EVENT_NOTE);
	assert_true(view_ends_with(text, VIEW("é")));
	for (unsigned i = 0; i < LIMIT_EVENT_NOTE; i++)
		event_note_add(&world->note, VIEW("é"));
	text = taken(world);
	assert_in_range(text.len, LIMIT_EVENT_NOTE - 3, LIMIT_EVENT_NOTE);
	assert_true(view_ends_with(text, VIEW("é…")));
}

static void no_text_of_a_status_is_too_long_for_a_note(void **state)
{
	static char message[LIMIT_TEXT_CONDITION_MESSAGE];
	struct world *world = *state;

	memset(message, 'm', sizeof(message));
	for (unsigned i = 0; i < LIMIT_EVENT_NOTE; i++)
		event_note_add(&world->note, VIEW("n"));
	event_note_add(&world->note, (struct view){message, sizeof(message)});
	event_note_add(&world->note, (struct view){message, sizeof(message)});
	assert_int_equal(taken(world).len, LIMIT_EVENT_NOTE);
}

static void without_room_for_it_a_note_fails(void **state)
{
	struct world *world = *state;
	struct arena small;
	struct view text;
	struct error err;

	arena_init(&small, 4);
	event_note_add(&world->note, VIEW("too much"));
	assert_int_equal(event_note_take(&world->note, &small, &text, &err), -1);
	arena_deinit(&small);
}

/* They are in names of Events, which must be the same after a restart. */
static void numbers_are_the_same_in_each_process_and_tell_texts_apart(void **state)
{
	uint64_t a = event_note_hash_text(event_note_hash_text(EVENT_NOTE_BASIS, VIEW("ab")), VIEW("c"));
	uint64_t b = event_note_hash_text(event_note_hash_text(EVENT_NOTE_BASIS, VIEW("a")), VIEW("bc"));

	(void)state;
	assert_true(event_note_hash_number(EVENT_NOTE_BASIS, 0) == UINT64_C(0xa8c7f832281a39c5));
	assert_true(a != b);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_set_up(a_note_is_what_was_added),
	cmocka_unit_test_set_up(a_note_is_cut_to_the_limit_between_characters),
	cmocka_unit_test_set_up(no_text_of_a_status_is_too_long_for_a_note),
	cmocka_unit_test_set_up(without_room_for_it_a_note_fails),
	cmocka_unit_test_set_up(numbers_are_the_same_in_each_process_and_tell_texts_apart),
};
TEST_MAIN(tests)
