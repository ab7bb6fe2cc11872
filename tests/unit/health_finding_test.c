/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "assess/health_finding.h"

static void a_finding_has_the_word_of_its_row(void **state)
{
	(void)state;
	static const struct {
		enum health_finding finding;
		const char *word;
	} rows[] = {
		{HEALTH_FINDING_DRAIN_REQUIRED, "DrainRequired"},
		{HEALTH_FINDING_DRAIN_P2P_REQUIRED, "DrainRequired"},
		{HEALTH_FINDING_NVLINK_DOWN, "NVLinkDown"},
		{HEALTH_FINDING_NO_AGENT, "NoAgent"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_true(view_equal(health_finding_word(rows[i].finding), view_from(rows[i].word)));
}

static void a_reason_says_what_to_do_unless_the_recovery_action_says_it(void **state)
{
	(void)state;
	static const struct {
		const char *reason, *advice;
	} rows[] = {
		{"NVLinkDown", "look at nvidia-smi nvlink -s, and at the kernel's log on its node"},
		{"NoAgent", "find out why no agent reports for its node"},
		{"DrainRequired", ""},
		{"RowRemapPending", ""},
		{"XID79", ""},
		{"", ""},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_true(view_equal(health_finding_advice(view_from(rows[i].reason)),
				       view_from(rows[i].advice)));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_finding_has_the_word_of_its_row),
	cmocka_unit_test(a_reason_says_what_to_do_unless_the_recovery_action_says_it),
};

TEST_MAIN(tests)
