/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "base/sbuf.h"
#include "kubectl/child.h"
#include "kubectl/kubectl_error.h"

struct run {
	struct sbuf out;
	struct kubectl_error said;
	int status;
	bool refuse;
};

static int take(void *context, struct view bytes, struct error *err)
{
	struct run *run = context;
	if (run->refuse)
		return error_set(err, ERROR_LIMIT, 0, "enough");
	sbuf_append(&run->out, bytes);
	return sbuf_check(&run->out, "output", err);
}

static void begin(struct run *run)
{
	*run = (struct run){.status = -1};
	sbuf_init(&run->out, 1u << 20);
	kubectl_error_init(&run->said);
}

static void end(struct run *run)
{
	sbuf_deinit(&run->out);
	kubectl_error_deinit(&run->said);
}

static int sh(const char *script, struct run *run, struct error *err)
{
	const char *argv[] = {"sh", "-c", script, NULL};
	return child_run(argv, take, run, &run->said, &run->status, err);
}

static void output_complaints_and_status_arrive(void **state)
{
	(void)state;
	struct error err;
	CLEANUP(end) struct run run;
	begin(&run);
	assert_int_equal(sh("echo one; echo 'error: two' >&2; exit 7", &run, &err), 0);
	assert_int_equal(run.status, 7);
	assert_string_equal(sbuf_text(&run.out), "one\n");
	assert_string_equal(sbuf_text(&run.said.held), "error: two\n");
}

static void much_on_both_sides_does_not_block(void **state)
{
	(void)state;
	struct error err;
	CLEANUP(end) struct run run;
	begin(&run);
	assert_int_equal(sh("i=0; while [ $i -lt 3000 ]; do echo 0123456789012345678901234567890123456789;"
			    " echo error: 0123456789012345678901234567890123456789 >&2; i=$((i+1)); done",
			    &run, &err), 0);
	assert_int_equal(run.out.len, 3000 * 41);
	assert_int_equal(run.status, 0);
}

static void a_signal_is_told(void **state)
{
	(void)state;
	struct error err;
	CLEANUP(end) struct run run;
	begin(&run);
	assert_int_equal(sh("kill -9 $$", &run, &err), 0);
	assert_int_equal(run.status, 128 + 9);
}

static void a_program_that_is_not_there_is_not_found(void **state)
{
	(void)state;
	struct error err;
	const char *argv[] = {"./there-is-no-such-program", NULL};
	CLEANUP(end) struct run run;
	begin(&run);
	assert_int_equal(child_run(argv, take, &run, &run.said, &run.status, &err), -1);
	assert_int_equal(err.kind, ERROR_NOT_FOUND);
}

/* Nobody writes to a closed pipe here: it has to be ended, or it would run for an hour. */
static void a_child_is_ended_when_its_output_is_refused(void **state)
{
	(void)state;
	struct error err;
	CLEANUP(end) struct run run;
	begin(&run);
	run.refuse = true;
	assert_int_equal(sh("echo more; exec sleep 3600", &run, &err), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
	assert_string_equal(err.text, "enough");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(output_complaints_and_status_arrive),
	cmocka_unit_test(much_on_both_sides_does_not_block),
	cmocka_unit_test(a_signal_is_told),
	cmocka_unit_test(a_program_that_is_not_there_is_not_found),
	cmocka_unit_test(a_child_is_ended_when_its_output_is_refused),
};
TEST_MAIN(tests)
