/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/readiness.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"

struct sight {
	const char *name;
	const char *trouble; /* "" when all is well */
	bool synced;
	bool tolerated;
};

static void log_change(struct readiness *readiness, unsigned i, const struct sight *sight)
{
	char *logged = readiness->logged[i];

	if (strncmp(logged, sight->trouble, READINESS_TEXT - 1) == 0)
		return;
	if (sight->trouble[0])
		LOG_WARN("Readiness check failed", LOG_TEXT("check", view_from(sight->name)),
			 LOG_TEXT("reason", view_from(sight->trouble)));
	else
		LOG_INFO("Readiness check passed", LOG_TEXT("check", view_from(sight->name)));
	snprintf(logged, READINESS_TEXT, "%s", sight->trouble);
}

/* What /readyz is told of it. */
static const char *told(struct readiness *readiness, unsigned i, const struct sight *sight,
			uint64_t now_ms)
{
	uint64_t *since = &readiness->since[i];

	if (!sight->trouble[0]) {
		*since = 0;
		return sight->synced ? "" : "not synced yet";
	}
	if (*since == 0)
		*since = now_ms;
	if (sight->tolerated)
		return sight->trouble;
	return sight->synced && now_ms - *since < READINESS_GRACE_MS ? "" : sight->trouble;
}

static bool note(struct readiness *readiness, unsigned i, const struct sight *sight,
		 uint64_t now_ms)
{
	char *text = readiness->texts[i];
	char next[READINESS_TEXT];
	bool same;

	log_change(readiness, i, sight);
	snprintf(next, sizeof(next), "%s", told(readiness, i, sight, now_ms));
	same = strcmp(text, next) == 0 && readiness->checks[i].tolerated == sight->tolerated;
	memcpy(text, next, sizeof(next));
	readiness->checks[i] = (struct probes_check){
		.name = view_from(sight->name),
		.trouble = view_from(text),
		.tolerated = sight->tolerated,
	};
	return !same;
}

bool readiness_look(struct readiness *readiness, const struct watches *watches,
		    const struct certificates *certificates, const char *writes,
		    uint64_t now_ms)
{
	const char *tls = certificates_trouble(certificates);
	const char *server = watches_server_trouble(watches);
	bool changed = !readiness->is_told;

	for (unsigned i = 0; i <= INVENTORY_N_KINDS; i++) {
		struct watches_state state = i < INVENTORY_N_KINDS
						     ? watches_state(watches, i)
						     : watches_configs_state(watches);
		const struct sight sight = {state.name, state.trouble, state.synced,
					    state.tolerated};

		changed |= note(readiness, i, &sight, now_ms);
	}
	changed |= note(readiness, INVENTORY_N_KINDS + 1, &(struct sight){"tls", tls, !tls[0], false}, now_ms);
	changed |= note(readiness, INVENTORY_N_KINDS + 2,
			&(struct sight){"apiserver", server, true, false}, now_ms);
	changed |= note(readiness, INVENTORY_N_KINDS + 3,
			&(struct sight){"writes", writes, true, true}, now_ms);
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
