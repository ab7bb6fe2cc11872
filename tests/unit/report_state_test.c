/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kubectl/report_state.h"

#include "base/sbuf.h"

#define UNSET ATTRIBUTION_REPORT_UNSET
#define CURRENT ATTRIBUTION_REPORT_CURRENT
#define STALE ATTRIBUTION_REPORT_STALE
#define NO_AGENT ATTRIBUTION_REPORT_NO_AGENT
#define PENDING ATTRIBUTION_REPORT_PENDING

struct row {
	int state; /* enum attribution_report_state */
	int ready; /* enum condition_status; -1: there is no such condition */
	bool is_fresh, is_current;
	const char *shown;
	const char *without_leader; /* NULL: the same */
};

/* Only a status that is not fresh has the condition ReportFresh: no word may come from it. */
static struct attribution make(const struct row *row, struct condition conditions[2])
{
	uint32_t n = 0;
	if (row->ready >= 0)
		conditions[n++] = (struct condition){.type = VIEW("Ready"), .status = row->ready,
						     .reason = VIEW("Unresolved"),
						     .message = VIEW("1 slot has no pod"),
						     .last_transition_time = 60000};
	if (!row->is_fresh)
		conditions[n++] = (struct condition){.type = VIEW("ReportFresh"),
						     .status = CONDITION_TRUE,
						     .reason = VIEW("AgentSilent"),
						     .message = VIEW("no report")};
	return (struct attribution){.status = {.report_state = row->state,
					       .conditions = {conditions, n, true}}};
}

static void only_what_is_fresh_and_ready_and_kept_by_a_leader_is_current(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{CURRENT, CONDITION_TRUE, true, true, "Current", "NoLeader*"},
		{CURRENT, CONDITION_FALSE, true, false, "Unresolved*"},
		{CURRENT, CONDITION_UNKNOWN, true, false, "Unresolved*"},
		{CURRENT, -1, true, false, "?*"},
		{STALE, CONDITION_TRUE, false, false, "Stale*"},
		{STALE, CONDITION_FALSE, false, false, "Stale*"},
		{NO_AGENT, CONDITION_TRUE, false, false, "NoAgent*"},
		{PENDING, CONDITION_UNKNOWN, false, false, "Pending*"},
		{UNSET, CONDITION_TRUE, false, false, "?*"},
		{UNSET, -1, false, false, "?*"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct condition conditions[2];
		struct attribution device = make(&rows[i], conditions);
		struct report_state found = report_state_of(&device.status);
		CLEANUP(sbuf_deinit) struct sbuf buf;
		sbuf_init(&buf, 1000);
		report_state_write(&device.status, false, &buf);
		assert_string_equal(sbuf_text(&buf), rows[i].shown);
		sbuf_clear(&buf);
		report_state_write(&device.status, true, &buf);
		assert_string_equal(sbuf_text(&buf), rows[i].without_leader ? rows[i].without_leader
									     : rows[i].shown);
		assert_int_equal(found.is_fresh, rows[i].is_fresh);
		assert_int_equal(found.is_current, rows[i].is_current);
	}
}

static void a_note_says_why_and_since_when(void **state)
{
	(void)state;
	static const struct {
		struct row row;
		const char *note;
	} rows[] = {
		{{CURRENT, CONDITION_TRUE, true, 0, NULL}, ""},
		{{CURRENT, CONDITION_FALSE, true, 0, NULL}, "Unresolved for 5m: 1 slot has no pod"},
		{{STALE, CONDITION_TRUE, false, 0, NULL},
		 "AgentSilent: no report; what rests on its reports is the last that was known"},
		{{UNSET, CONDITION_TRUE, false, 0, NULL},
		 "?: the status has no reportState that this version knows"},
		{{PENDING, CONDITION_TRUE, false, 0, NULL}, "AgentSilent: no report"},
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
	cmocka_unit_test(only_what_is_fresh_and_ready_and_kept_by_a_leader_is_current),
	cmocka_unit_test(a_note_says_why_and_since_when),
};
TEST_MAIN(tests)
