/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Shrinking is delta debugging (Zeller and Hildebrandt 2002): chunks of actions are left out, large
 * ones first; what still violates the same rule is kept.
 */

#include "sim/history.h"

#include <inttypes.h>
#include <string.h>

#include "sim/apiserver.h"
#include "sim/cause.h"
#include "sim/check.h"
#include "sim/child.h"
#include "sim/clockwork.h"
#include "sim/deed.h"
#include "sim/driver.h"
#include "sim/forms.h"
#include "sim/drifts.h"
#include "sim/hang.h"
#include "sim/host.h"
#include "sim/illness.h"
#include "sim/kubelet.h"
#include "sim/load.h"
#include "sim/memory.h"
#include "sim/net.h"
#include "sim/policies.h"
#include "sim/programs.h"
#include "sim/prompt.h"
#include "sim/reasons.h"
#include "sim/strain.h"
#include "sim/told.h"
#include "sim/trouble.h"
#include "sim/unwatched.h"
#include "sim/usage.h"
#include "sim/wire.h"
#include "sim/world.h"

#define SHRINK_RUNS 400
#define MAX_USES 12
#define MAX_ILLS 10
#define MAX_INTENTS 14
#define MAX_HANGS 4
#define MAX_MORE 10
#define MAX_LAYOUTS 6
#define MAX_RARE 24
#define MAX_FORMS 16
#define MAX_UNWATCHED 3
#define MAX_CALLS 8
#define HOUR_MS 3600000u
#define LOOKS_AN_HOUR 37u /* prime: not always at the same moment of what comes each half minute */
#define BEGIN_MS 5000 /* nothing but the fleet happens before */

const struct history *history_under_way;
unsigned history_writes, history_events;
unsigned history_hours;
uint64_t history_digest;

/* Making */

/* Most things happen close together, now and then there is time in between. */
static uint32_t pause(struct prng *prng)
{
	uint64_t dice = prng_between(prng, 0, 99);

	if (dice < 45)
		return (uint32_t)prng_between(prng, 0, 400);
	if (dice < 80)
		return (uint32_t)prng_between(prng, 400, 6000);
	if (dice < 97)
		return (uint32_t)prng_between(prng, 6000, 40000);
	return (uint32_t)prng_between(prng, 40000, 200000);
}

/* The later of two at one time comes behind. */
static void insert(struct history *history, const struct action *action)
{
	int at = history->n_actions++;

	for (; at > 0 && history->actions[at - 1].at_ms > action->at_ms; at--)
		history->actions[at] = history->actions[at - 1];
	history->actions[at] = *action;
}

/* Soon after something else, since what happens together is what may be mixed up; or at any time. */
static void add_beside(struct history *history, struct prng *prng, int max,
		       void (*make)(struct prng *prng, struct action *ret))
{
	struct action action;
	int n = (int)prng_between(prng, 0, (uint64_t)max);

	for (int i = 0; i < n; i++) {
		const struct action *other = &history->actions[prng_between(
			prng, 0, (uint64_t)history->n_actions - 1)];

		make(prng, &action);
		action.at_ms = other->at_ms + pause(prng);
		if (action.at_ms < BEGIN_MS)
			action.at_ms += BEGIN_MS;
		insert(history, &action);
	}
}

static void add_uses(struct history *history, uint64_t seed)
{
	struct prng prng;

	prng_init(&prng, ~seed);
	if (usage_is_there(seed))
		add_beside(history, &prng, MAX_USES, action_make_use);
}

static void add_illnesses(struct history *history, uint64_t seed)
{
	struct prng prng;

	prng_init(&prng, ~(seed << 1));
	if (illness_is_there(seed))
		add_beside(history, &prng, MAX_ILLS, action_make_illness);
}

static void add_hangs(struct history *history, uint64_t seed)
{
	struct prng prng;

	prng_init(&prng, ~(seed << 2));
	if (hang_is_there(seed))
		add_beside(history, &prng, MAX_HANGS, action_make_hang);
}

static void add_intents(struct history *history, uint64_t seed)
{
	struct prng prng;

	prng_init(&prng, ~(seed << 3));
	if (policies_are_there(seed))
		add_beside(history, &prng, MAX_INTENTS, action_make_intent);
}

static void add_more(struct history *history, uint64_t seed)
{
	struct prng prng;

	prng_init(&prng, ~(seed << 4));
	if (policies_are_rich(seed))
		add_beside(history, &prng, MAX_MORE, action_make_more);
}

static void add_layouts(struct history *history, uint64_t seed)
{
	struct prng prng;

	prng_init(&prng, ~(seed << 5));
	if (policies_have_layouts(seed))
		add_beside(history, &prng, MAX_LAYOUTS, action_make_layout);
}

/* From the beginning to the end: what is shared is to be there when the rest happens. */
static void add_rare(struct history *history, uint64_t seed)
{
	struct prng prng;
	struct action action;
	uint32_t end = history->actions[history->n_actions - 1].at_ms;
	int n;

	prng_init(&prng, ~(seed >> 1));
	n = (int)prng_between(&prng, MAX_RARE / 2, MAX_RARE);
	for (int i = 0; i < n; i++) {
		action_make_rare(&prng, &action);
		action.at_ms = (uint32_t)prng_between(&prng, BEGIN_MS, BEGIN_MS + end);
		insert(history, &action);
	}
}

static void add_forms(struct history *history, uint64_t seed)
{
	struct prng prng;

	prng_init(&prng, ~(seed << 6));
	if (forms_are_there(seed))
		add_beside(history, &prng, MAX_FORMS, action_make_form);
}

static void add_unwatched(struct history *history, uint64_t seed)
{
	struct prng prng;

	prng_init(&prng, ~(seed << 7));
	if (unwatched_is_there(seed))
		add_beside(history, &prng, MAX_UNWATCHED, action_make_unwatched);
}

/* Where devices fall ill: soon after something that a call would tell. */
static void add_calls(struct history *history, uint64_t seed)
{
	struct prng prng;

	prng_init(&prng, ~(seed << 8));
	if (illness_is_there(seed))
		add_beside(history, &prng, MAX_CALLS, action_make_call);
}

void history_make(struct history *history, uint64_t seed)
{
	struct prng prng;
	uint32_t at = 0;
	int n_nodes, n_others;

	prng_init(&prng, seed);
	*history = (struct history){.seed = seed};
	n_nodes = (int)prng_between(&prng, 1, 3);
	n_others = (int)prng_between(&prng, 3, 40);
	for (int i = 0; i < n_nodes; i++) {
		struct action *node = &history->actions[history->n_actions++];

		if (i == 0 && seed & HISTORY_RARE)
			action_make_rare_node(&prng, node);
		else
			action_make_node(&prng, node);
	}
	at = BEGIN_MS;
	for (int i = 0; i < n_others; i++) {
		struct action *action = &history->actions[history->n_actions++];

		at += pause(&prng);
		action_make(&prng, action);
		action->at_ms = at;
	}
	if (seed & HISTORY_RARE)
		add_rare(history, seed);
	add_uses(history, seed);
	add_illnesses(history, seed);
	add_hangs(history, seed);
	add_intents(history, seed);
	add_more(history, seed);
	add_layouts(history, seed);
	add_forms(history, seed);
	add_unwatched(history, seed);
	add_calls(history, seed);
}

/* Running */

static void set_up(const struct history *history)
{
	memory_reset();
	clockwork_reset(history->seed);
	world_reset(history->seed);
	forms_reset(history->seed);
	usage_reset(history->seed);
	illness_reset(history->seed);
	unwatched_reset(history->seed);
	policies_reset(history->seed);
	load_reset(history->seed);
	strain_reset(history->seed);
	trouble_reset(history->seed);
	hang_reset();
	child_reset();
	cause_reset();
	oracle_reset();
	told_reset();
	net_reset();
	host_reset();
	driver_reset();
	wire_reset();
	apiserver_reset();
	kubelet_reset();
	deed_reset();
	programs_reset();
	prompt_reset();
	reasons_reset();
	drifts_reset();
	policies_begin();
}

static void tear_down(void)
{
	programs_stop_all();
	child_clear();
	clockwork_clear();
	net_clear();
	wire_clear();
	apiserver_clear();
	kubelet_clear();
	oracle_clear();
}

/* True while there is nothing to accuse. */
static bool pass_until(uint64_t at)
{
	if (!clockwork_run(at))
		oracle_accuse(ORACLE_STUCK, "one moment does not end");
	return oracle_found()->rule == ORACLE_NONE;
}

static bool pass(uint64_t ms)
{
	return pass_until(clockwork_now() + ms);
}

/* Where pods are read by node, too, the form changes over there and back. */
static bool pass_changing(uint64_t ms)
{
	if (!forms_are_there(world.seed))
		return pass(ms);
	for (int i = 0; i < 3; i++) {
		if (!pass(ms / 3))
			return false;
		forms_change();
	}
	return pass(ms / 3);
}

static bool act(const struct history *history)
{
	for (int i = 0; i < history->n_actions; i++) {
		const struct action *action = &history->actions[i];

		if (!pass_until(CLOCKWORK_START_MS + action->at_ms))
			return false;
		action_apply(action);
	}
	return true;
}

/*
 * Who holds what is told all the same, and nothing is written once that is. How many processes cannot be
 * ended is written, too, until there are as many as may be.
 */
static bool rest_while_hanging(void)
{
	if (!pass(2 * SIM_BOUND_MS))
		return false;
	hang_judge_good();
	oracle_set_quiet(true);
	if (!pass(SIM_QUIET_MS))
		return false;
	oracle_set_quiet(false);
	hang_end();
	return true;
}

/* What does not end by itself is told, and once that is so nothing is written. */
static bool rest_in_trouble(void)
{
	if (!pass(SIM_BOUND_MS))
		return false;
	trouble_begin();
	if (!pass(SIM_BOUND_MS))
		return false;
	oracle_check_trouble();
	oracle_set_quiet(true);
	if (!pass(SIM_QUIET_MS))
		return false;
	oracle_set_quiet(false);
	trouble_end();
	return true;
}

static bool live_on(void)
{
	size_t before = 0, now = 0;

	for (unsigned hour = 1; hour <= history_hours; hour++) {
		for (unsigned i = 0; i < LOOKS_AN_HOUR; i++) {
			if (!pass(HOUR_MS / LOOKS_AN_HOUR))
				return false;
			memory_look();
		}
		if (!memory_is_flat(&before, &now)) {
			oracle_accuse(ORACLE_GROWING, "%zu bytes in use, and %zu %d hours later",
				      before, now, MEMORY_SPAN_H);
			return false;
		}
	}
	return true;
}

static bool rest(void)
{
	uint64_t busy_until = deed_busy_until();

	if (!pass_until(busy_until > clockwork_now() ? busy_until : clockwork_now()))
		return false;
	load_freeze();
	strain_freeze();
	unwatched_freeze();
	if (hang_is_for_good() && !rest_while_hanging())
		return false;
	if (trouble_is_there() && !rest_in_trouble())
		return false;
	if (!pass(SIM_BOUND_MS))
		return false;
	oracle_check_rest();
	oracle_set_quiet(true);
	if (!pass_changing(SIM_QUIET_MS))
		return false;
	programs_stop_controller();
	told_forbid();
	programs_start_controller();
	return pass_changing(SIM_QUIET_MS);
}

struct oracle_violation history_run(const struct history *history)
{
	struct oracle_violation found;

	history_under_way = history;
	set_up(history);
	programs_start_controller();
	if (act(history) && live_on())
		(void)rest();
	found = *oracle_found();
	history_writes = oracle_writes();
	history_events = told_events();
	history_digest = oracle_digest();
	tear_down();
	history_under_way = NULL;
	return found;
}

/* Shrinking */

static bool still_fails(const struct history *history, enum oracle_rule rule)
{
	return history_run(history).rule == rule;
}

static void cut_out(struct history *history, int first, int n)
{
	memmove(&history->actions[first], &history->actions[first + n],
		(size_t)(history->n_actions - first - n) * sizeof(history->actions[0]));
	history->n_actions -= n;
}

static bool try_chunks(struct history *history, int size, enum oracle_rule rule, int *runs)
{
	bool any = false;

	for (int first = history->n_actions - size; first >= 0 && *runs > 0; first -= size) {
		struct history shorter = *history;

		if (first + size > history->n_actions)
			continue;
		cut_out(&shorter, first, size);
		--*runs;
		if (!still_fails(&shorter, rule))
			continue;
		*history = shorter;
		any = true;
	}
	return any;
}

void history_shrink(struct history *history, enum oracle_rule rule)
{
	int runs = SHRINK_RUNS;
	int size = history->n_actions / 2;

	while (size > 0 && runs > 0)
		if (!try_chunks(history, size, rule, &runs) || size > 1)
			size /= 2;
}

/* Texts */

void history_describe(const struct history *history, FILE *file)
{
	char line[256];

	for (int i = 0; i < history->n_actions; i++) {
		action_describe(&history->actions[i], line, sizeof(line));
		fprintf(file, "  %s\n", line);
	}
}

void history_write(const struct history *history, FILE *file)
{
	fprintf(file, "seed %" PRIu64 "\n", history->seed);
	for (int i = 0; i < history->n_actions; i++)
		action_print(&history->actions[i], file);
}

static bool read_lines(struct history *history, const char *path, FILE *file)
{
	char line[256];

	*history = (struct history){.seed = 0};
	if (!fgets(line, sizeof(line), file) ||
	    sscanf(line, "seed %" SCNu64, &history->seed) != 1) {
		fprintf(stderr, "sim: %s does not begin with \"seed\" and a number\n", path);
		return false;
	}
	while (fgets(line, sizeof(line), file)) {
		if (history->n_actions == HISTORY_MAX ||
		    !action_parse(line, &history->actions[history->n_actions])) {
			fprintf(stderr, "sim: %s: no action: %s", path, line);
			return false;
		}
		history->n_actions++;
	}
	return true;
}

bool history_read(struct history *history, const char *path)
{
	FILE *file = fopen(path, "r");
	bool done;

	if (!file) {
		perror(path);
		return false;
	}
	done = read_lines(history, path, file);
	fclose(file);
	return done;
}
