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

#define HOLD ARBITRATE_HOLD
#define KEEP ARBITRATE_KEEP
#define END ARBITRATE_END
#define CONFIRMED ATTRIBUTION_CONFIDENCE_CONFIRMED
#define DISPUTED ATTRIBUTION_CONFIDENCE_DISPUTED
#define UNCONFIRMED ATTRIBUTION_CONFIDENCE_UNCONFIRMED

static const struct arbitrate_rule rules[ARBITRATE_N_ROWS] = {
	{VIEW_INIT("elsewhere"), ELSEWHERE, 0, 0, 0, END, 0},
	{VIEW_INIT("over"), OVER, 0, 0, 0, END, 0},
	{VIEW_INIT("unknown pod"), UNKNOWN, YES | BOTH, YES | SILENT, 0, HOLD, UNCONFIRMED},
	{VIEW_INIT("unknown, silent"), UNKNOWN, SILENT, YES | SILENT, 0, KEEP, UNCONFIRMED},
	{VIEW_INIT("unknown, gone"), UNKNOWN, 0, 0, 0, END, 0},
	{VIEW_INIT("placeholder by UID"), PLACEHOLDER, YES | BOTH, 0, 0, HOLD, UNCONFIRMED},
	{VIEW_INIT("placeholder, listed"), PLACEHOLDER, 0, YES, 0, HOLD, UNCONFIRMED},
	{VIEW_INIT("contradiction"), 0, BOTH, 0, 0, HOLD, DISPUTED},
	{VIEW_INIT("not listed"), 0, YES, NO, 0, HOLD, DISPUTED},
	{VIEW_INIT("by UID"), 0, YES, 0, 0, HOLD, CONFIRMED},
	{VIEW_INIT("listed against UID"), 0, NO, YES, 0, HOLD, DISPUTED},
	{VIEW_INIT("annotated"), 0, 0, 0, YES, HOLD, ATTRIBUTION_CONFIDENCE_ANNOTATED},
	{VIEW_INIT("listed"), 0, 0, YES, 0, HOLD, ATTRIBUTION_CONFIDENCE_NAME_ONLY},
	{VIEW_INIT("annotated away"), 0, 0, 0, NO, END, 0},
	{VIEW_INIT("gone"), 0, NO, 0, 0, END, 0},
	{VIEW_INIT("silence"), 0, 0, 0, 0, KEEP, UNCONFIRMED},
	{VIEW_INIT("nothing"), 0, 0, 0, 0, ARBITRATE_NONE, 0},
};

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
		.confidence = rules[i].confidence,
		.row = (enum arbitrate_row)i,
	};
}

const struct arbitrate_rule *arbitrate_rule(enum arbitrate_row row)
{
	assert(row < ARBITRATE_N_ROWS);
	return &rules[row];
}
