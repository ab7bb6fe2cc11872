/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <string.h>

#include "base/limits.h"
#include "kubectl/json_output.h"
#include "kubectl/leader.h"
#include "kubectl/output.h"
#include "wire/jout.h"

#define RENEWED INT64_C(1767323045678) /* 2026-01-02T03:04:05.678Z */

static struct leader_lease read(const char *json)
{
	struct leader_lease lease = {0};
	struct error err;
	assert_int_equal(leader_read(view_from(json), &lease, &err), 0);
	return lease;
}

static void a_lease_is_read_as_the_controller_writes_it(void **state)
{
	(void)state;
	struct leader_lease lease =
		read("{\"metadata\":{\"name\":\"x\"},\"spec\":{\"holderIdentity\":\"a\","
		     "\"leaseDurationSeconds\":5,\"acquireTime\":\"2026-01-02T03:00:00.000000Z\","
		     "\"renewTime\":\"2026-01-02T03:04:05.678000Z\",\"leaseTransitions\":3}}");
	assert_true(lease.is_held);
	assert_true(lease.renewed_at == RENEWED);
	assert_int_equal(lease.lasts_ms, 5000);
	lease = read("{}");
	assert_false(lease.is_held);
	assert_int_equal(lease.renewed_at, 0);
}

static void what_is_no_lease_is_refused(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"", "[]", "{\"spec\":{\"renewTime\":\"yesterday\"}}",
		"{\"spec\":{\"leaseDurationSeconds\":-1}}", "{\"spec\":{\"holderIdentity\":7}}"};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct leader_lease lease = {.lasts_ms = 4711};
		struct error err;
		assert_int_equal(leader_read(view_from(texts[i]), &lease, &err), -1);
		assert_int_equal(lease.lasts_ms, 4711);
	}
}

static void nobody_leads_once_the_lease_has_run_out_or_was_given_up(void **state)
{
	(void)state;
	static const struct {
		struct leader_lease lease;
		int64_t now;
		enum leader_state state;
		int64_t ended_at;
		bool is_doubtful;
	} rows[] = {
		{{true, RENEWED, 5000}, RENEWED, LEADER_PRESENT, 0, false},
		{{true, RENEWED, 5000}, RENEWED + 5000, LEADER_PRESENT, 0, false},
		{{true, RENEWED, 5000}, RENEWED + 5001, LEADER_NONE, RENEWED + 5000, true},
		{{true, RENEWED, 5000}, RENEWED - 900, LEADER_PRESENT, 0, false},
		{{true, RENEWED, 5000}, RENEWED - 1100, LEADER_PRESENT, 0, true},
		{{false, RENEWED, 1000}, RENEWED + 1, LEADER_NONE, RENEWED, false},
		{{false, 0, 0}, RENEWED, LEADER_NONE, 0, false},
		{{true, 0, 5000}, RENEWED, LEADER_NONE, 0, true},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct leader leader = leader_judge(&rows[i].lease, rows[i].now);
		assert_int_equal(leader.state, rows[i].state);
		assert_true(leader.ended_at == rows[i].ended_at);
		assert_int_equal(leader_is_doubtful(&rows[i].lease, rows[i].now),
				 rows[i].is_doubtful);
	}
}

static void a_note_says_since_when_and_where_to_look(void **state)
{
	(void)state;
	static const struct {
		struct leader leader;
		const char *note;
	} rows[] = {
		{{LEADER_UNKNOWN, 0}, ""},
		{{LEADER_PRESENT, 0}, ""},
		{{LEADER_NONE, RENEWED},
		 "NO CONTROLLER LEADS since 2026-01-02T03:04:05Z (2m ago): what is shown may be old, and is "
		 "marked with *; see kubectl -n\n  gpus get lease gpu-attribution-controller\n"},
		{{LEADER_NONE, 0},
		 "NO CONTROLLER LEADS, and none ever did: what is shown may be old, and is marked with *; see "
		 "kubectl -n gpus get lease\n  gpu-attribution-controller\n"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(output_deinit) struct output output;
		output_init(&output, OUTPUT_TABLE, RENEWED + 120000);
		leader_note(&rows[i].leader, "gpus", &output);
		const struct view note = sbuf_view(&output.notes);
		assert_int_equal(note.len, strlen(rows[i].note));
		assert_memory_equal(note.ptr ? note.ptr : "", rows[i].note, note.len);
	}
}

static void the_note_of_a_document_speaks_of_no_mark(void **state)
{
	(void)state;
	CLEANUP(output_deinit) struct output output;
	output_init(&output, OUTPUT_JSON, RENEWED);
	leader_note(&(struct leader){LEADER_NONE, 0}, "gpus", &output);
	assert_string_equal(sbuf_text(&output.notes),
			    "NO CONTROLLER LEADS, and none ever did: what is shown may be old; see kubectl "
			    "-n gpus get lease gpu-attribution-controller\n");
}

static void a_document_says_what_is_known(void **state)
{
	(void)state;
	static const struct {
		struct leader leader;
		const char *json;
	} rows[] = {
		{{LEADER_UNKNOWN, 0}, "{\"leader\":{\"leads\":null,\"endedAt\":null}}"},
		{{LEADER_PRESENT, 0}, "{\"leader\":{\"leads\":true,\"endedAt\":null}}"},
		{{LEADER_NONE, RENEWED},
		 "{\"leader\":{\"leads\":false,\"endedAt\":\"2026-01-02T03:04:05Z\"}}"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(sbuf_deinit) struct sbuf json;
		struct jout out;
		sbuf_init(&json, LIMIT_KIB);
		jout_init(&out, &json);
		jout_object(&out);
		json_output_leader(&out, &rows[i].leader);
		jout_object_end(&out);
		assert_string_equal(sbuf_text(&json), rows[i].json);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_lease_is_read_as_the_controller_writes_it),
	cmocka_unit_test(what_is_no_lease_is_refused),
	cmocka_unit_test(nobody_leads_once_the_lease_has_run_out_or_was_given_up),
	cmocka_unit_test(a_note_says_since_when_and_where_to_look),
	cmocka_unit_test(the_note_of_a_document_speaks_of_no_mark),
	cmocka_unit_test(a_document_says_what_is_known),
};
TEST_MAIN(tests)
