/* SPDX-License-Identifier: Apache-2.0 */
#include "assess/health_finding.h"

#include <assert.h>

static const struct view words[] = {
#define WORD(name, reason, ...) VIEW_INIT(reason),
#define NO_WORD(...)
	HEALTH_TABLE(WORD, NO_WORD)
};

struct view health_finding_word(enum health_finding finding)
{
	assert((unsigned)finding < N_HEALTH_FINDINGS);
	return words[finding];
}
