/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/readiness.h"

#include <stdio.h>
#include <string.h>

static bool note(struct readiness *readiness, unsigned i, const char *name, const char *trouble)
{
	struct probes_check *check = &readiness->checks[i];
	char *text = readiness->texts[i];
	char next[READINESS_TEXT];
	bool same;

	snprintf(next, sizeof(next), "%s", trouble);
	same = strcmp(text, next) == 0;
	memcpy(text, next, sizeof(next));
	*check = (struct probes_check){.name = view_from(name), .trouble = view_from(text)};
	return !same;
}

static const char *trouble_of(const struct watches_state *state)
{
	if (state->synced)
		return "";
	return state->trouble[0] ? state->trouble : "not synced yet";
}

bool readiness_look(struct readiness *readiness, const struct watches *watches,
		    const struct certificates *certificates)
{
	bool changed = !readiness->is_told;

	for (unsigned i = 0; i < INVENTORY_N_KINDS; i++) {
		struct watches_state state = watches_state(watches, i);

		changed |= note(readiness, i, state.name, trouble_of(&state));
	}
	changed |= note(readiness, INVENTORY_N_KINDS, "tls", certificates_trouble(certificates));
	readiness->is_told = true;
	return changed;
}

const struct probes_check *readiness_checks(const struct readiness *readiness, size_t *ret_n)
{
	*ret_n = READINESS_CHECKS;
	return readiness->checks;
}

void readiness_forget(struct readiness *readiness)
{
	readiness->is_told = false;
}
