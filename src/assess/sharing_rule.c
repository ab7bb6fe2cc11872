/* SPDX-License-Identifier: Apache-2.0 */
#include "assess/sharing_rule.h"

#include <assert.h>

static const struct view evidence[] = {
#define LINE(name, text) VIEW_INIT(text),
	SHARING_EVIDENCE(LINE)
};

static const struct sharing_rule rules[] = {
#define RULE(name, needs, mode, says, text) \
	{VIEW_INIT(name), needs, ATTRIBUTION_MODE_##mode, says, VIEW_INIT(text)},
	SHARING_RULES(RULE)
#undef RULE
};
static_assert(ARRAY_SIZE(rules) <= 32, "each row is a bit");

struct view sharing_rule_text(enum evidence_index line)
{
	assert(line < N_EVIDENCE);
	return evidence[line];
}

unsigned sharing_rule_line_of(struct view text)
{
	for (unsigned i = 0; i < N_EVIDENCE; i++)
		if (view_equal(evidence[i], text))
			return 1u << i;
	return 0;
}

size_t sharing_rule_count(void)
{
	return ARRAY_SIZE(rules);
}

const struct sharing_rule *sharing_rule_at(size_t row)
{
	assert(row < ARRAY_SIZE(rules));
	return &rules[row];
}

const struct sharing_rule *sharing_rule_decide(unsigned found)
{
	const struct sharing_rule *rule = rules;

	while (rule->needs & ~found)
		rule++;
	return rule;
}

unsigned sharing_rule_lines(const struct sharing_rule *rule, unsigned found)
{
	return found & (rule->says | EVIDENCE_LEFT_OVER_ID);
}

/* All that it needs may be there beside the lines, and all lines are its own. */
unsigned sharing_rule_find(int mode, unsigned lines)
{
	unsigned rows = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		const struct sharing_rule *rule = &rules[i];

		if ((int)rule->mode == mode && sharing_rule_lines(rule, lines | rule->needs) == lines)
			rows |= 1u << i;
	}
	return rows;
}
