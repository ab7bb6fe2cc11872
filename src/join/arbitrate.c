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

#define RULE(row, text, pod, uid, by_name, annotation, verdict, confidence) \
	{VIEW_INIT(text), pod, uid, by_name, annotation, ARBITRATE_##verdict, \
	 ATTRIBUTION_CONFIDENCE_##confidence},
static const struct arbitrate_rule rules[ARBITRATE_N_ROWS] = {ARBITRATE_RULES(RULE)};

static bool admits(unsigned mask, unsigned value)
{
	return mask == 0 || (mask & (1u << value));
}

static bool fits(const struct arbitrate_rule *rule, const struct arbitrate_input *input)
{
	return admits(rule->pod, input->pod) && admits(rule->uid, input->uid) &&
	       admits(rule->by_name, input->name) && admits(rule->annotation, input->annotation) &&
	       (rule->verdict != ARBITRATE_KEEP || input->was_published);
}

struct arbitrate_result arbitrate_decide(const struct arbitrate_input *input)
{
	const struct arbitrate_rule *rule = rules;
	assert(input->pod < ARBITRATE_N_PODS && input->uid < ARBITRATE_N_VOTES);
	assert(input->name < ARBITRATE_BOTH && input->annotation < ARBITRATE_BOTH);
	while (!fits(rule, input)) {
		rule++;
		assert(rule < rules + ARBITRATE_N_ROWS); /* the last row fits everything */
	}
	return (struct arbitrate_result){
		.verdict = rule->verdict == ARBITRATE_END && !input->was_published ? ARBITRATE_NONE
										   : rule->verdict,
		.confidence = input->is_seen ? arbitrate_bear_out(rule->confidence) : rule->confidence,
		.row = (enum arbitrate_row)(rule - rules),
	};
}

int arbitrate_keep(const struct arbitrate_input *left)
{
	const bool is_any_left = left->uid == ARBITRATE_YES || left->name == ARBITRATE_YES ||
				 left->annotation == ARBITRATE_YES;
	return left->was_disputed && is_any_left ? ATTRIBUTION_CONFIDENCE_DISPUTED
						 : arbitrate_decide(left).confidence;
}

int arbitrate_bear_out(int confidence)
{
	return confidence == ATTRIBUTION_CONFIDENCE_ANNOTATED ? ATTRIBUTION_CONFIDENCE_CONFIRMED
							      : confidence;
}

const struct arbitrate_rule *arbitrate_rule(enum arbitrate_row row)
{
	assert(row < ARBITRATE_N_ROWS);
	return &rules[row];
}
