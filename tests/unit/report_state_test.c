/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kubectl/report_state.h"

#include "base/sbuf.h"

struct row {
	int fresh, ready; /* enum condition_status; -1: there is no such condition */
	bool is_fresh, is_current;
	const char *shown;
};

static struct attribution make(const struct row *row, struct condition conditions[2])
{
	uint32_t n = 0;
	if (row->ready >= 0)
		conditions[n++] = (struct condition){.type = VIEW("Ready"), .status = row->ready,
						     .reason = VIEW("Unresolved"),
						     .message = VIEW("1 slot has no pod"),
						     .last_transition_time = 60000};
	if (row->fresh >= 0)
		conditions[n++] = (struct condition){.type = VIEW("ReportFresh"),
						     .status = row->fresh,
						     .reason = VIEW("AgentSilent"),
						     .message = VIEW("no report")};
	return (struct attribution){.status = {.conditions = {conditions, n, true}}};
}

static void only_what_is_fresh_and_ready_is_current(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{CONDITION_TRUE, CONDITION_TRUE, true, true, "Current"},
		{CONDITION_FALSE, CONDITION_TRUE, false, false, "Stale*"},
		{CONDITION_UNKNOWN, CONDITION_TRUE, false, false, "Pending*"},
		{CONDITION_FALSE, CONDITION_FALSE, false, false, "Stale*"},
		{CONDITION_TRUE, CONDITION_FALSE, true, false, "Unresolved*"},
		{CONDITION_TRUE, CONDITION_UNKNOWN, true, false, "Unresolved*"},
		{CONDITION_TRUE, -1, true, false, "?*"},
		{-1, CONDITION_TRUE, false, false, "Pending*"},
		{-1, -1, false, false, "Pending*"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct condition conditions[2];
		struct attribution device = make(&rows[i], conditions);
		struct report_state found = report_state_of(&device.status);
		CLEANUP(sbuf_deinit) struct sbuf buf;
		sbuf_init(&buf, 1000);
		report_state_write(&device.status, &buf);
		assert_string_equal(sbuf_text(&buf), rows[i].shown);
		assert_int_equal(found.is_fresh, rows[i].is_fresh);
		assert_int_equal(found.is_current, rows[i].is_current);
	}
}

static void an_agent_that_never_reported_is_told_from_a_silent_one(void **state)
{
	(void)state;
	struct condition conditions[] = {{.type = VIEW("ReportFresh"), .status = CONDITION_FALSE,
					  .reason = VIEW("NoAgent")}};
	struct attribution_status status = {.conditions = {conditions, 1, true}};
	assert_int_equal(report_state_of(&status).kind, REPORT_STATE_NO_AGENT);
	assert_string_equal(report_state_name(REPORT_STATE_NO_AGENT), "NoAgent");
	conditions[0].reason = VIEW("AgentSilent");
	assert_int_equal(report_state_of(&status).kind, REPORT_STATE_STALE);
}

static void a_note_says_why_and_since_when(void **state)
{
	(void)state;
	static const struct {
		struct row row;
		const char *note;
	} rows[] = {
		{{CONDITION_TRUE, CONDITION_TRUE, 0, 0, NULL}, ""},
		{{CONDITION_TRUE, CONDITION_FALSE, 0, 0, NULL},
		 "Unresolved for 5m: 1 slot has no pod"},
		{{CONDITION_FALSE, CONDITION_TRUE, 0, 0, NULL},
		 "AgentSilent: no report; what rests on its reports is the last that was known"},
		{{-1, -1, 0, 0, NULL}, "?; what rests on its reports is the last that was known"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct condition conditions[2];
		struct attribution device = make(&rows[i].row, conditions);
		CLEANUP(sbuf_deinit) struct sbuf buf;
		sbuf_init(&buf, 1000);
		report_state_note(&device, 360000, &buf);
		sbuf_append_char(&buf, '\0');
		assert_string_equal(buf.ptr, rows[i].note);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(only_what_is_fresh_and_ready_is_current),
	cmocka_unit_test(an_agent_that_never_reported_is_told_from_a_silent_one),
	cmocka_unit_test(a_note_says_why_and_since_when),
};
TEST_MAIN(tests)
