/* SPDX-License-Identifier: Apache-2.0 */

/* What the other process wrote is put into its memory here, so that its form is known: one line. */

#include "lib/test_main.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/nvml_call.h"
#include "agent/nvml_library.h"
#include "base/clock.h"
#include "base/limits.h"

#define UUID "GPU-11ba558d-3437-2335-2fd8-a78c8502f87f"
#define NAME NVML_LIBRARY_NUMBER_name
#define UNENDED "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" /* all the room, and no NUL */

static uint64_t now;

uint64_t clock_monotonic_ms(void)
{
	return now;
}

static int setup(void **state)
{
	now = 1000;
	*state = nvml_call_new();
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	nvml_call_free(*state);
	return 0;
}

static void a_call_is_seen_from_its_begin_to_its_end(void **state)
{
	struct nvml_call *call = *state;
	struct nvml_call_seen seen;
	assert_false(nvml_call_look(call, &seen));
	nvml_call_about(call, 3, UUID);
	assert_false(nvml_call_look(call, &seen));
	for (unsigned i = 1; i <= 3; i++) {
		nvml_call_begin(call, i);
		now += 40;
		assert_true(nvml_call_look(call, &seen));
		assert_int_equal(seen.function, i);
		assert_int_equal(seen.index, 3);
		assert_string_equal(seen.uuid, UUID);
		assert_int_equal(seen.age_ms, 40);
		assert_int_equal(nvml_call_end(call, -7), -7);
		assert_false(nvml_call_look(call, &seen));
	}
}

static void without_memory_nothing_is_announced_and_calls_are_made(void **state)
{
	(void)state;
	struct nvml_call_seen seen;
	nvml_call_about(NULL, 1, UUID);
	nvml_call_begin(NULL, NAME);
	assert_int_equal(nvml_call_end(NULL, 4), 4);
	assert_false(nvml_call_look(NULL, &seen));
	nvml_call_free(NULL);
}

static void another_process_is_seen(void **state)
{
	struct nvml_call *call = *state;
	struct nvml_call_seen seen;
	int status;
	pid_t pid = fork();
	if (pid == 0) {
		nvml_call_about(call, 0, UUID);
		nvml_call_begin(call, NAME);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(nvml_call_look(call, &seen));
	assert_string_equal(seen.uuid, UUID);
}

/* The members of struct nvml_call: turn, function, since, index, UUID. */
struct written {
	uint32_t turn, function;
	uint64_t since;
	int32_t index;
	char uuid[NVML_CALL_UUID];
};

static void what_the_other_process_wrote_is_not_trusted(void **state)
{
	static const struct {
		struct written written;
		bool is_seen;
		int32_t index;
		const char *uuid;
	} rows[] = {
		{{1, NAME, 900, 2, UUID}, true, 2, UUID},
		{{3, NAME, 900, 2, ""}, true, 2, ""},
		{{2, NAME, 900, 2, UUID}, false, 0, ""},
		{{1, 0, 900, 2, UUID}, false, 0, ""},
		{{1, 1000, 900, 2, UUID}, false, 0, ""},
		{{1, UINT32_MAX, 900, 2, UUID}, false, 0, ""},
		{{1, NAME, 1001, 2, UUID}, false, 0, ""},
		{{1, NAME, 900, -1, UUID}, true, -1, ""},
		{{1, NAME, 900, INT32_MIN, UUID}, true, -1, ""},
		{{1, NAME, 900, LIMIT_REPORT_DEVICES, UUID}, true, -1, ""},
		{{1, NAME, 900, 2, "a name\n"}, true, 2, ""},
		{{1, NAME, 900, 2, UUID "abc"}, true, 2, ""},
		{{1, NAME, 900, 2, "MIG-5c89852c-d268-c3f3-1b07-005d5ae1dc3f"}, true, 2, ""},
		{{1, NAME, 900, 2, UNENDED}, true, 2, ""},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct nvml_call_seen seen;
		memcpy(*state, &rows[i].written, sizeof(rows[i].written));
		if (nvml_call_look(*state, &seen) != rows[i].is_seen)
			fail_msg("row %zu", i);
		if (!rows[i].is_seen)
			continue;
		if (seen.index != rows[i].index || strcmp(seen.uuid, rows[i].uuid) != 0)
			fail_msg("row %zu: %d %s", i, (int)seen.index, seen.uuid);
	}
}

static void a_uuid_that_has_no_room_is_not_known(void **state)
{
	struct nvml_call *call = *state;
	struct nvml_call_seen seen;
	nvml_call_about(call, 1, UUID);
	nvml_call_about(call, 1, UUID "-and-more");
	nvml_call_begin(call, NAME);
	assert_true(nvml_call_look(call, &seen));
	assert_string_equal(seen.uuid, "");
}

static void a_call_hangs_that_took_half_of_the_time_and_stays_the_same_hang(void **state)
{
	struct nvml_call *call = *state;
	struct nvml_call_seen seen = {0};
	nvml_call_follow(call, 5000, &seen);
	assert_int_equal(seen.function, 0);
	nvml_call_begin(call, NAME);
	now += 2499;
	nvml_call_follow(call, 5000, &seen);
	assert_int_equal(seen.function, 0);
	now += 1;
	nvml_call_follow(call, 5000, &seen);
	assert_int_equal(seen.function, NAME);
	now += 60000;
	nvml_call_follow(call, 5000, &seen);
	assert_int_equal(seen.age_ms, 2500);
	(void)nvml_call_end(call, 0);
	nvml_call_follow(call, 5000, &seen);
	assert_int_equal(seen.function, NAME);
	/* The same function of another device is another call. */
	nvml_call_about(call, 1, "");
	nvml_call_begin(call, NAME);
	now += 4000;
	nvml_call_follow(call, 5000, &seen);
	assert_int_equal(seen.index, 1);
	assert_int_equal(seen.age_ms, 4000);
}

static void what_hangs_is_said_in_one_sentence(void **state)
{
	(void)state;
	static const struct {
		struct nvml_call_seen seen;
		uint32_t timeout_ms;
		const char *text;
	} rows[] = {
		{{NVML_LIBRARY_NUMBER_ecc_errors, 0, UUID, 4990}, 5000,
		 "nvmlDeviceGetTotalEccErrors on " UUID " has not returned for 5 s"},
		{{NAME, 7, "", 5000}, 5000, "nvmlDeviceGetName on GPU 7 has not returned for 5 s"},
		{{NVML_LIBRARY_NUMBER_init, -1, "", 5001}, 5000, "nvmlInit_v2 has not returned for 5 s"},
		{{NAME, -1, "", 60000}, 5000, "nvmlDeviceGetName has not returned for 5 s"},
		{{NAME, -1, "", 4200}, 5000, "nvmlDeviceGetName has not returned for 4 s"},
		{{NAME, -1, "", 2500}, 5000, "nvmlDeviceGetName has not returned for 2.5 s"},
		{{NAME, -1, "", 100}, 100, "nvmlDeviceGetName has not returned for 0.1 s"},
		{{0}, 5000, "no answer for 5 s"},
		{{0}, 100, "no answer for 0.1 s"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[NVML_CALL_TEXT];
		nvml_call_describe(&rows[i].seen, rows[i].timeout_ms, text);
		assert_string_equal(text, rows[i].text);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(a_call_is_seen_from_its_begin_to_its_end, setup, teardown),
	cmocka_unit_test(without_memory_nothing_is_announced_and_calls_are_made),
	cmocka_unit_test_setup_teardown(another_process_is_seen, setup, teardown),
	cmocka_unit_test_setup_teardown(what_the_other_process_wrote_is_not_trusted, setup, teardown),
	cmocka_unit_test_setup_teardown(a_uuid_that_has_no_room_is_not_known, setup, teardown),
	cmocka_unit_test_setup_teardown(a_call_hangs_that_took_half_of_the_time_and_stays_the_same_hang,
					setup, teardown),
	cmocka_unit_test(what_hangs_is_said_in_one_sentence),
};
TEST_MAIN(tests)
