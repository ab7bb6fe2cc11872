/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <stdlib.h>
#include <unistd.h>

#include "agent/mismatch.h"

#define TAIL                                                                                       \
	" are of different versions: delete this agent's pod; if that does not help, reload the "   \
	"module, or reboot the node"

static const char *told;

static int library_version(char *text, unsigned size)
{
	if (!told)
		return NVML_ABI_UNKNOWN;
	snprintf(text, size, "%s", told);
	return NVML_ABI_SUCCESS;
}

static const struct nvml_library library = {.library_version = library_version};

/* A file with that text; NULL: there is none. */
static void write_module(char path[static 32], const char *text)
{
	strcpy(path, "module-XXXXXX");
	int file = mkstemp(path);
	assert_true(file >= 0);
	if (text)
		assert_int_equal(write(file, text, strlen(text)), strlen(text));
	close(file);
	if (!text)
		unlink(path);
}

static void the_versions_are_told_as_far_as_they_are_known(void **state)
{
	(void)state;
	static const char endless[] = "5555555555555555555555555555555555555555555555555555555555555"
				      "5555555555555555555555555555555";
	static const struct {
		const char *library, *module, *text;
	} rows[] = {
		{"13.580.65.06", "570.86.15\n",
		 "the driver's library (580.65.06) and the kernel module that is loaded (570.86.15)" TAIL},
		{"12.535.104", NULL,
		 "the driver's library (535.104) and the kernel module that is loaded" TAIL},
		{NULL, "570.86.15",
		 "the driver's library and the kernel module that is loaded (570.86.15)" TAIL},
		{"580", "", "the driver's library (580) and the kernel module that is loaded" TAIL},
		{"", endless, "the driver's library and the kernel module that is loaded" TAIL},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char path[32], text[256];
		told = rows[i].library;
		write_module(path, rows[i].module);
		mismatch_describe(&library, path, text, sizeof(text));
		unlink(path);
		assert_string_equal(text, rows[i].text);
	}
}

static void an_old_library_does_not_tell_its_version(void **state)
{
	(void)state;
	static const struct nvml_library old = {.object = NULL};
	char text[256];
	mismatch_describe(&old, "/nonexistent", text, sizeof(text));
	assert_string_equal(text, "the driver's library and the kernel module that is loaded" TAIL);
}

static void a_text_that_is_too_long_is_cut(void **state)
{
	(void)state;
	char text[11];
	mismatch_describe(&library, "/nonexistent", text, sizeof(text));
	assert_string_equal(text, "the driver");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(the_versions_are_told_as_far_as_they_are_known),
	cmocka_unit_test(an_old_library_does_not_tell_its_version),
	cmocka_unit_test(a_text_that_is_too_long_is_cut),
};

TEST_MAIN(tests)
