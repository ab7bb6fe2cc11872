/* SPDX-License-Identifier: Apache-2.0 */
#include "assess/health_finding.h"

#include <assert.h>

static const struct view words[] = {
#define WORD(name, reason, ...) VIEW_INIT(reason),
#define NO_WORD(...)
	HEALTH_TABLE(WORD, NO_WORD)
};

static const struct view advice[] = {
#define ADVICE(name, reason, state, action, matter, source, message, evidence, advice, clears) \
	VIEW_INIT(advice),
	HEALTH_TABLE(ADVICE, NO_WORD)
};

struct view health_finding_advice(struct view reason)
{
	for (int i = 0; i < N_HEALTH_FINDINGS; i++)
		if (view_equal(words[i], reason))
			return advice[i];
	return (struct view){0};
}

struct view health_finding_word(enum health_finding finding)
{
	assert((unsigned)finding < N_HEALTH_FINDINGS);
	return words[finding];
}
