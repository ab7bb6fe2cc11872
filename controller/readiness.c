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

static bool note_watches(struct readiness *readiness, const struct watches *watches, uint64_t now_ms)
{
	bool changed = false;

	for (unsigned i = 0; i <= INVENTORY_N_KINDS; i++) {
		struct watches_state state = i < INVENTORY_N_KINDS
						     ? watches_state(watches, i)
						     : watches_configs_state(watches);
		const struct sight sight = {state.name, state.trouble, state.synced,
					    state.tolerated};

		changed |= note(readiness, i, &sight, now_ms);
	}
	return changed;
}

/* Of others. In the order of what follows the watches. */
static bool note_others(struct readiness *readiness, const struct readiness_sources *sources,
			uint64_t now_ms)
{
	const char *tls = certificates_trouble(sources->certificates);
	const char *ca = certificates_ca_trouble(sources->certificates);
	const struct sight others[] = {
		{"tls", tls, !tls[0], false},
		{"ca", ca, true, true},
		{"apiserver", watches_server_trouble(sources->watches), true, false},
		{"writes", sources->writes, true, true},
		{"leadership", leadership_trouble(sources->leadership), true, true},
	};
	bool changed = false;

	for (unsigned i = 0; i < ARRAY_SIZE(others); i++)
		changed |= note(readiness, INVENTORY_N_KINDS + 1 + i, &others[i], now_ms);
	return changed;
}

static bool note_leader(struct readiness *readiness, const struct leadership *leadership)
{
	struct view holder = leadership_holder(leadership);
	char next[READINESS_TEXT];
	bool same;

	if (leadership_leads(leadership))
		snprintf(next, sizeof(next), "this replica leads");
	else if (holder.len > 0)
		snprintf(next, sizeof(next), "this replica follows, %.*s leads", VIEW_ARG(holder));
	else
		snprintf(next, sizeof(next), "nobody leads");
	same = strcmp(next, readiness->note) == 0;
	memcpy(readiness->note, next, sizeof(next));
	readiness->checks[READINESS_CHECKS - 1].note = view_from(readiness->note);
	return !same;
}

bool readiness_look(struct readiness *readiness, const struct readiness_sources *sources,
		    uint64_t now_ms)
{
	bool changed = !readiness->is_told;

	changed |= note_watches(readiness, sources->watches, now_ms);
	changed |= note_others(readiness, sources, now_ms);
	changed |= note_leader(readiness, sources->leadership);
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
