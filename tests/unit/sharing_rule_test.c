/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "assess/sharing_rule.h"
#include "base/prng.h"

#define N_FINDINGS (N_EVIDENCE + 8)

TEST(each_row_decides_on_what_it_needs_and_is_found_by_what_it_says)
{
	for (size_t i = 0; i < sharing_rule_count(); i++) {
		const struct sharing_rule *rule = sharing_rule_at(i);
		const unsigned lines = sharing_rule_lines(rule, rule->needs | rule->says);

		assert_true(rule->name.len > 0 && rule->text.len > 0);
		assert_ptr_equal(sharing_rule_decide(rule->needs), rule);
		if (!(sharing_rule_find((int)rule->mode, lines) & 1u << i))
			fail_msg("row %zu is not found", i);
	}
}

TEST(the_row_that_decided_is_always_among_those_that_are_found)
{
	struct prng prng;

	(void)state;
	prng_init(&prng, 17);
	for (int n = 0; n < 200000; n++) {
		const unsigned some = (unsigned)prng_next(&prng), others = (unsigned)prng_next(&prng),
			       found = (some & others) & ((1u << (N_FINDINGS - 1) << 1) - 1);
		const struct sharing_rule *rule = sharing_rule_decide(found);
		const unsigned rows = sharing_rule_find((int)rule->mode,
							sharing_rule_lines(rule, found));

		if (!(rows & 1u << (rule - sharing_rule_at(0))))
			fail_msg("findings %x, row %.*s", found, VIEW_ARG(rule->name));
	}
}

TEST(a_published_line_means_its_bit_and_no_other_text_does)
{
	for (unsigned i = 0; i < N_EVIDENCE; i++)
		assert_int_equal(sharing_rule_line_of(sharing_rule_text((enum evidence_index)i)), 1u << i);
	assert_int_equal(sharing_rule_line_of(VIEW("no line of ours")), 0);
}

TEST(what_is_published_tells_the_row)
{
	static const struct {
		int mode;
		unsigned lines;
		const char *names[3];
	} rows[] = {
		{ATTRIBUTION_MODE_EXCLUSIVE, EVIDENCE_GPU_IDS, {"exclusive"}},
		{ATTRIBUTION_MODE_EXCLUSIVE, EVIDENCE_GPU_IDS | EVIDENCE_LEFT_OVER_ID, {"exclusive"}},
		{ATTRIBUTION_MODE_MIG, EVIDENCE_MIG_IDS, {"MIG"}},
		{ATTRIBUTION_MODE_MIG, EVIDENCE_MIG_IS_ON, {"MIG mode"}},
		{ATTRIBUTION_MODE_MIG_TIME_SLICED, EVIDENCE_MIG_IDS | EVIDENCE_SHARED_ID,
		 {"shared MIG"}},
		{ATTRIBUTION_MODE_MPS, EVIDENCE_WITH_PIPE | EVIDENCE_LABEL_MPS, {"pipe"}},
		{ATTRIBUTION_MODE_MPS, EVIDENCE_EXCLUSIVE_PROCESS, {"ExclusiveProcess"}},
		{ATTRIBUTION_MODE_TIME_SLICED, EVIDENCE_DEFAULT_MODE, {"Default"}},
		{ATTRIBUTION_MODE_UNKNOWN, EVIDENCE_NO_IDS, {"no ID"}},
		{ATTRIBUTION_MODE_UNKNOWN, EVIDENCE_GPU_IDS | EVIDENCE_MIG_IDS, {"whole and MIG"}},
		/* Of the labels alone two rows tell. */
		{ATTRIBUTION_MODE_UNKNOWN, EVIDENCE_LABEL_MPS, {"shared somehow", "replicas"}},
		{ATTRIBUTION_MODE_EXCLUSIVE, EVIDENCE_WITH_PIPE, {NULL}},
		{ATTRIBUTION_MODE_MPS, EVIDENCE_GPU_IDS, {NULL}},
		{ATTRIBUTION_MODE_UNSET, 0, {NULL}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const unsigned found = sharing_rule_find(rows[i].mode, rows[i].lines);
		size_t n = 0;

		for (size_t k = 0; k < sharing_rule_count(); k++) {
			if (!(found & 1u << k))
				continue;
			if (!rows[i].names[n] || !view_equal(sharing_rule_at(k)->name,
							     view_from(rows[i].names[n])))
				fail_msg("row %zu: %.*s", i, VIEW_ARG(sharing_rule_at(k)->name));
			n++;
		}
		assert_null(rows[i].names[n]);
	}
}

TESTS(NULL, NULL)
