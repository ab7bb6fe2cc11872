/* SPDX-License-Identifier: Apache-2.0 */
#include "join/arbitrate.h"

#include <assert.h>

#include "model/attribution.h"

enum {
	YES = 1u << ARBITRATE_YES,
	NO = 1u << ARBITRATE_NO,
	BOTH = 1u << ARBITRATE_BOTH,
	SILENT = 1u << ARBITRATE_SILENT,
	ELSEWHERE = 1u << ARBITRATE_POD_ELSEWHERE,
	OVER = 1u << ARBITRATE_POD_OVER,
	UNKNOWN = 1u << ARBITRATE_POD_UNKNOWN,
	PLACEHOLDER = 1u << ARBITRATE_POD_PLACEHOLDER,
};

#define NONE ARBITRATE_NONE
#define HOLD ARBITRATE_HOLD
#define KEEP ARBITRATE_KEEP
#define END ARBITRATE_END
#define CONFIRMED ATTRIBUTION_CONFIDENCE_CONFIRMED
#define NAME_ONLY ATTRIBUTION_CONFIDENCE_NAME_ONLY
#define ANNOTATED ATTRIBUTION_CONFIDENCE_ANNOTATED
#define DISPUTED ATTRIBUTION_CONFIDENCE_DISPUTED
#define UNCONFIRMED ATTRIBUTION_CONFIDENCE_UNCONFIRMED

#define RULE(row, text, ...) {VIEW_INIT(text), __VA_ARGS__},
static const struct arbitrate_rule rules[ARBITRATE_N_ROWS] = {ARBITRATE_RULES(RULE)};

static bool admits(unsigned mask, unsigned value)
{
	return mask == 0 || (mask & (1u << value));
}

static bool fits(const struct arbitrate_rule *rule, const struct arbitrate_input *input)
{
	return admits(rule->pod, input->pod) && admits(rule->uid, input->uid) &&
	       admits(rule->by_name, input->name) && admits(rule->annotation, input->annotation) &&
	       (rule->verdict != KEEP || input->was_published);
}

struct arbitrate_result arbitrate_decide(const struct arbitrate_input *input)
{
	unsigned i = 0;

	assert(input->pod < ARBITRATE_N_PODS && input->uid < ARBITRATE_N_VOTES);
	assert(input->name < ARBITRATE_BOTH && input->annotation < ARBITRATE_BOTH);
	while (!fits(&rules[i], input)) {
		i++;
		assert(i < ARBITRATE_N_ROWS); /* the last row fits everything */
	}
	return (struct arbitrate_result){
		.verdict = rules[i].verdict == END && !input->was_published ? ARBITRATE_NONE
									   : rules[i].verdict,
		.confidence = input->is_seen ? arbitrate_bear_out(rules[i].confidence)
					     : rules[i].confidence,
		.row = (enum arbitrate_row)i,
	};
}

int arbitrate_keep(const struct arbitrate_input *left)
{
	const bool is_any_left = left->uid == ARBITRATE_YES || left->name == ARBITRATE_YES ||
				 left->annotation == ARBITRATE_YES;

	return left->was_disputed && is_any_left ? DISPUTED : arbitrate_decide(left).confidence;
}

int arbitrate_bear_out(int confidence)
{
	return confidence == ANNOTATED ? CONFIRMED : confidence;
}

const struct arbitrate_rule *arbitrate_rule(enum arbitrate_row row)
{
	assert(row < ARBITRATE_N_ROWS);
	return &rules[row];
}
