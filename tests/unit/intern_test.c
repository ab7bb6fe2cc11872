/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/test_main.h"

#include "base/intern.h"

static void equal_texts_are_one_object(void **state)
{
	(void)state;
	CLEANUP(intern_deinit) struct intern intern;
	intern_init(&intern);
	char copy[] = "default";
	struct interned *a = intern_ref(&intern, VIEW("default"));
	struct interned *b = intern_ref(&intern, view_from(copy));
	struct interned *c = intern_ref(&intern, VIEW("kube-system"));
	copy[0] = 'X';
	assert_ptr_equal(a, b);
	assert_ptr_not_equal(a, c);
	assert_true(view_equal(interned_view(a), VIEW("default")));
	assert_string_equal(a->text, "default");
	intern_unref(&intern, a);
	assert_true(view_equal(interned_view(b), VIEW("default")));
	intern_unref(&intern, b);
	assert_int_equal(intern.texts.count, 1);
	intern_unref(&intern, c);
	assert_int_equal(intern.texts.count, 0);
}

static void nothing_and_the_empty_text_are_accepted(void **state)
{
	(void)state;
	CLEANUP(intern_deinit) struct intern intern;
	intern_init(&intern);
	intern_unref(&intern, NULL);
	assert_int_equal(interned_view(NULL).len, 0);
	struct interned *empty = intern_ref(&intern, (struct view){NULL, 0});
	assert_ptr_equal(intern_ref(&intern, VIEW("")), empty);
	assert_int_equal(empty->references, 2);
	intern_unref(&intern, empty);
	intern_unref(&intern, empty);
}

static void lack_of_memory_gives_null_and_leaves_nothing(void **state)
{
	(void)state;
	bool failed = true;
	for (unsigned k = 1; failed; k++) {
		CLEANUP(intern_deinit) struct intern intern;
		intern_init(&intern);
		failing_malloc_at(k);
		struct interned *text = intern_ref(&intern, VIEW("node-1"));
		failed = failing_malloc_off();
		assert_true(failed == (text == NULL));
		assert_int_equal(intern.texts.count, failed ? 0 : 1);
		intern_unref(&intern, text);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(equal_texts_are_one_object),
	cmocka_unit_test(nothing_and_the_empty_text_are_accepted),
	cmocka_unit_test(lack_of_memory_gives_null_and_leaves_nothing),
};
TEST_MAIN(tests)
