/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/differences.h"

#include "base/compiler.h"
#include "lib/rewording.h"
#include "sim/device_manager.h"
#include "sim/cause.h"
#include "sim/clockwork.h"
#include "sim/driver.h"
#include "sim/illness.h"
#include "sim/intents.h"
#include "sim/programs.h"
#include "sim/leaks.h"
#include "sim/shares.h"
#include "sim/world.h"

static enum difference_state say(bool is_so)
{
	return is_so ? DIFFERENCE_YES : DIFFERENCE_NO;
}

/* Where the operator shall run it, and nowhere else. */
static enum difference_state where_wanted(int node, enum policies_operand operand, bool is_so)
{
	const enum intents_want want = intents_want(node, operand);

	if (want == INTENTS_UNKNOWN)
		return is_so ? DIFFERENCE_UNTOLD : DIFFERENCE_NO;
	return say(want == INTENTS_WANTED && is_so);
}

enum difference_state differences_untold(int node)
{
	return intents_written(POLICIES_UNREADABLE) ||
			       intents_want(node, POLICIES_PLUGIN) == INTENTS_WANTED
		       ? DIFFERENCE_UNREAD
		       : DIFFERENCE_UNTOLD;
}

/* The types */

static enum difference_state policy_conflict(int node)
{
	(void)node;
	return say((policies_of(POLICIES_FIRST) && policies_of(POLICIES_SECOND)) ||
		   policies_of(POLICIES_CLUSTER));
}

static enum difference_state policy_not_ready(int node)
{
	(void)node;
	return say(intents_written(POLICIES_STATE) == 2 && !policies_of(POLICIES_CLUSTER));
}

static bool is_anything_offered(int node)
{
	const char *ids[1];

	for (int i = 0; i < world.n_gpus; i++)
		if (world.gpus[i].node == node && device_manager_offered(i, ids, 1) > 0)
			return true;
	return false;
}

static enum difference_state plugin_missing(int node)
{
	return where_wanted(node, POLICIES_PLUGIN,
			    intents_pod(node, POLICIES_PLUGIN) != POLICIES_READY &&
				    !is_anything_offered(node));
}

static enum difference_state config_missing(int node)
{
	const bool has_no_key = !policies_of(POLICIES_KEY_A) && !policies_of(POLICIES_KEY_B);

	if (!intents_written(POLICIES_CONFIG))
		return DIFFERENCE_NO;
	if (intents_is_config_denied(node))
		return DIFFERENCE_UNREAD;
	return where_wanted(node, POLICIES_PLUGIN,
			    !policies_of(POLICIES_MAP) || has_no_key ||
				    (intents_key(node) && intents_text(node) == POLICIES_ABSENT));
}

/* Of a text that the controller does not read nothing can be told; of none, that. */
static enum difference_state of_text(int node, bool is_so)
{
	struct policies_sharing sharing;

	if (!intents_written(POLICIES_CONFIG))
		return DIFFERENCE_NO;
	if (intents_config(node, &sharing) == INTENTS_UNREAD_CONFIG &&
	    intents_want(node, POLICIES_PLUGIN) == INTENTS_WANTED)
		return DIFFERENCE_UNREAD;
	return where_wanted(node, POLICIES_PLUGIN, policies_of(POLICIES_MAP) && is_so);
}

/* What rests on the mode of devices is not judged: by NVML it is known later, or not at all. */
static enum difference_state config_invalid(int node)
{
	const enum difference_state state =
		of_text(node, intents_text(node) == POLICIES_INVALID || shares_is_refused(node));

	return state == DIFFERENCE_NO &&
			       of_text(node, shares_is_refused_for_mig(node)) != DIFFERENCE_NO
		       ? DIFFERENCE_UNJUDGED
		       : state;
}

static enum difference_state config_dead(int node)
{
	return of_text(node, intents_text(node) == POLICIES_DEAD);
}

static enum difference_state mig_config_failed(int node)
{
	return where_wanted(node, POLICIES_MIG_MANAGER,
			    policies_of_node(node, POLICIES_LABEL_LAYOUT) &&
				    policies_of_node(node, POLICIES_LABEL_STATE) == POLICIES_FAILED);
}

static enum difference_state driver_version(int node)
{
	return where_wanted(node, POLICIES_DRIVER,
			    intents_written(POLICIES_VERSION) == POLICIES_OTHER &&
				    intents_pod(node, POLICIES_DRIVER) != POLICIES_NO_POD);
}

static enum difference_state exporter_missing(int node)
{
	return where_wanted(node, POLICIES_EXPORTER,
			    intents_pod(node, POLICIES_EXPORTER) != POLICIES_READY);
}

static enum difference_state exporter_unexpected(int node)
{
	const enum intents_want want = intents_want(node, POLICIES_EXPORTER);
	const bool is_there = intents_pod(node, POLICIES_EXPORTER) == POLICIES_READY;

	if (want == INTENTS_UNKNOWN)
		return is_there ? DIFFERENCE_UNTOLD : DIFFERENCE_NO;
	return say(want == INTENTS_OFF && is_there);
}

static enum difference_state labels_missing(int node)
{
	return where_wanted(node, POLICIES_GFD, !policies_of_node(node, POLICIES_LABEL_GPUS));
}

static int count_devices(int node)
{
	int n = 0;

	for (int i = 0; i < world.n_gpus; i++)
		n += world.gpus[i].node == node && !world.gpus[i].lost;
	return n;
}

static enum difference_state labels_stale(int gpu)
{
	const int node = world.gpus[gpu].node;

	return where_wanted(node, POLICIES_GFD,
			    count_devices(node) > 0 && policies_of_node(node, POLICIES_LABEL_GPUS) == 2);
}

/* HAMi's plugin, whose IDs are not of NVIDIA's form, is why NVIDIA's is off. */
static enum difference_state plugin_unexpected(int node)
{
	const enum intents_want want = intents_want(node, POLICIES_PLUGIN);

	if (world.nodes[node].mode == WORLD_HAMI)
		return DIFFERENCE_NO;
	if (want == INTENTS_UNKNOWN)
		return is_anything_offered(node) ? DIFFERENCE_UNTOLD : DIFFERENCE_NO;
	return say(want == INTENTS_OFF && is_anything_offered(node));
}

/* Where devices are shared, more may explain it than is judged here. */
static enum difference_state allocatable_short(int gpu)
{
	const int node = world.gpus[gpu].node;
	struct policies_sharing sharing;
	const bool is_untold = !intents_written(POLICIES_STRATEGY) &&
			       intents_config(node, &sharing) == INTENTS_UNREAD_CONFIG;
	const enum difference_state state = where_wanted(
		node, POLICIES_PLUGIN,
		!policies_of_node(node, POLICIES_ALLOCATABLE) && count_devices(node) > 0);

	if (is_untold)
		return differences_untold(node);
	return state != DIFFERENCE_NO && world.nodes[node].mode != WORLD_EXCLUSIVE &&
			       !world_is_claims(world.nodes[node].mode)
		       ? DIFFERENCE_UNJUDGED
		       : state;
}

/* NVML */

/* No device of the node answers: what it lists then is no answer either. */
static bool is_nvml_silent(int node)
{
	return count_devices(node) == 0 || driver_is_mismatched(node);
}

/* A card that is lost is left out of NVML's list. After a boot nobody has seen it. */
static enum difference_state device_missing(int gpu)
{
	const struct world_gpu *g = &world.gpus[gpu];

	if (is_nvml_silent(g->node))
		return DIFFERENCE_UNTOLD;
	if (illness_has(gpu, ILLNESS_LOST) || (g->lost && g->lost_in_boot != world.nodes[g->node].boot))
		return DIFFERENCE_UNJUDGED;
	return say(g->lost);
}

/* Where no device answers, why NVML fails is not told. */
static enum difference_state mismatch(int node)
{
	if (driver_is_mismatched(node))
		return DIFFERENCE_YES;
	return count_devices(node) == 0 ? DIFFERENCE_UNTOLD : DIFFERENCE_NO;
}

static enum difference_state mode_pending(int gpu)
{
	if (world.gpus[gpu].lost || illness_has(gpu, ILLNESS_LOST) ||
	    is_nvml_silent(world.gpus[gpu].node))
		return DIFFERENCE_UNJUDGED;
	return say(world.gpus[gpu].mig_asked);
}

/* All */

#define WORK (1u << DIFFERENCE_MIG | 1u << DIFFERENCE_UPGRADE | 1u << DIFFERENCE_PAUSED)
#define HARDWARE (1u << DIFFERENCE_MIG | 1u << DIFFERENCE_UPGRADE)
#define BIT(difference) (1u << DIFFERENCE_##difference)
#define OF_NO_TEXT (BIT(CONFIG_MISSING) | BIT(CONFIG_INVALID))
#define OF_TEXT (OF_NO_TEXT | BIT(CONFIG_NOT_LOADED))
#define OF_PLUGIN (OF_TEXT | BIT(PLUGIN_MISSING))
#define OF_NVML DIFFERENCE_BY_NVML
#define OF_NODE DIFFERENCE_BY_NODE
#define OF_API DIFFERENCE_BY_API

typedef enum difference_state (*state_fn)(int number);

static const struct row {
	const char *word;
	unsigned hold_off_s;
	unsigned waits_for; /* a bit for each enum difference_work */
	unsigned hidden_by; /* a bit for each difference */
	state_fn of_node, of_gpu; /* one of them */
	enum difference_source source;
	enum { NOTHING, READING, POLICY } does_without; /* reading the policy, or there being one */
	bool is_remembered; /* it is pending also while it waits */
	bool is_consequence; /* of the node: hidden on all devices, if one has a cause of it */
} rows[DIFFERENCE_N] = {
	[DIFFERENCE_POLICY_CONFLICT] = {"PolicyConflict", 0, 0, 0, policy_conflict, NULL, OF_API,
		READING},
	[DIFFERENCE_POLICY_NOT_READY] = {"PolicyNotReady", 300, WORK, 0, policy_not_ready, NULL, OF_API},
	[DIFFERENCE_PLUGIN_MISSING] = {"PluginMissing", 120, WORK, OF_NO_TEXT, plugin_missing,
		NULL, OF_NODE},
	[DIFFERENCE_CONFIG_MISSING] = {"ConfigMissing", 60, 0, 0, config_missing, NULL, OF_API},
	[DIFFERENCE_CONFIG_INVALID] = {"ConfigInvalid", 60, 0, 0, config_invalid, NULL, OF_API},
	[DIFFERENCE_MIG_CONFIG_FAILED] = {"MIGConfigFailed", 10, 0, 0, mig_config_failed, NULL, OF_API},
	[DIFFERENCE_DRIVER_VERSION] = {"DriverVersion", 300, WORK, BIT(DRIVER_MISMATCH),
		driver_version, NULL, OF_NODE},
	[DIFFERENCE_EXPORTER_MISSING] = {"ExporterMissing", 300, WORK, 0, exporter_missing, NULL,
		OF_API},
	[DIFFERENCE_EXPORTER_UNEXPECTED] = {"ExporterUnexpected", 300, WORK, 0,
		exporter_unexpected, NULL, OF_API},
	[DIFFERENCE_LABELS_MISSING] = {"LabelsMissing", 180, WORK, 0, labels_missing, NULL, OF_API},
	[DIFFERENCE_LABELS_STALE] = {"LabelsStale", 180, WORK,
		OF_TEXT | BIT(SHARING_MODE) | BIT(REPLICA_COUNT), NULL, labels_stale, OF_NODE,
		.is_consequence = true},
	[DIFFERENCE_CONFIG_DEAD] = {"ConfigDead", 0, 0, 0, config_dead, NULL, OF_API},
	[DIFFERENCE_PLUGIN_UNEXPECTED] = {"PluginUnexpected", 120, WORK, 0, plugin_unexpected,
		NULL, OF_NODE},
	[DIFFERENCE_ALLOCATABLE_SHORT] = {"AllocatableShort", 120, WORK,
		OF_PLUGIN | BIT(DEVICE_MISSING) | BIT(MPS_NOT_RUNNING) | BIT(SHARING_MODE) |
			BIT(REPLICA_COUNT) | BIT(MIG_STRATEGY),
		NULL, allocatable_short, OF_NODE, .is_consequence = true},
	[DIFFERENCE_DEVICE_MISSING] = {"DeviceMissing", 60, HARDWARE, 0, NULL, device_missing,
		OF_NVML, POLICY, true},
	[DIFFERENCE_DRIVER_MISMATCH] = {"DriverMismatch", 60, 1u << DIFFERENCE_UPGRADE, 0,
		mismatch, NULL, DIFFERENCE_BY_FAILURE, POLICY},
	[DIFFERENCE_MIG_MODE_PENDING] = {"MIGModePending", 300, WORK, 0, NULL, mode_pending,
		OF_NVML, POLICY},
	[DIFFERENCE_MPS_LEFT_BEHIND] = {"MPSLeftBehind", 180, WORK, 0, NULL,
		shares_mps_left_behind, OF_NODE, POLICY},
	[DIFFERENCE_CONFIG_NOT_LOADED] = {"ConfigNotLoaded", 120, WORK, 0, NULL, shares_not_loaded,
		OF_NODE},
	[DIFFERENCE_MPS_NOT_RUNNING] = {"MPSNotRunning", 180, WORK, OF_TEXT, NULL,
		shares_mps_not_running, OF_NODE},
	[DIFFERENCE_SHARING_MODE] = {"SharingMode", 120, WORK, OF_PLUGIN | BIT(MPS_NOT_RUNNING),
		NULL, shares_mode, OF_NODE},
	[DIFFERENCE_REPLICA_COUNT] = {"ReplicaCount", 120, WORK, OF_PLUGIN | BIT(SHARING_MODE),
		NULL, shares_replicas, OF_NODE},
	[DIFFERENCE_RESOURCE_NAME] = {"ResourceName", 120, WORK, OF_PLUGIN, NULL, shares_name, OF_NODE},
	[DIFFERENCE_MIG_STRATEGY] = {"MIGStrategy", 120, WORK, OF_TEXT, NULL, shares_strategy, OF_NODE},
	[DIFFERENCE_MIG_LAYOUT] = {"MIGLayout", 120, WORK,
		BIT(MIG_MODE_PENDING) | BIT(MIG_CONFIG_FAILED), NULL, shares_layout, OF_NODE},
	[DIFFERENCE_SLOTS_LEAKED] = {"SlotsLeaked", 60, WORK, 0, NULL, leaks_state, OF_NODE, POLICY},
};

/* Work */

/* Since when the labels of each node tell of work without a break; WORLD_NEVER: they do not. */
static uint64_t work_since[WORLD_MAX_NODES];
/* The same without breaks that a controller may not have seen, for it was away or saw no Node. */
static uint64_t work_since_first[WORLD_MAX_NODES], work_seen_at[WORLD_MAX_NODES];
#define UNSEEN_BREAK_MS 120000u

void differences_reset(void)
{
	for (int node = 0; node < WORLD_MAX_NODES; node++)
		work_since[node] = work_since_first[node] = WORLD_NEVER;
}

static void look_at_work(int node)
{
	const uint64_t now = clockwork_now();

	if (differences_work(node) == DIFFERENCE_NO_WORK) {
		work_since[node] = WORLD_NEVER;
		if (work_since_first[node] != WORLD_NEVER && now - work_seen_at[node] > UNSEEN_BREAK_MS)
			work_since_first[node] = WORLD_NEVER;
		return;
	}
	work_seen_at[node] = now;
	if (work_since[node] == WORLD_NEVER)
		work_since[node] = now;
	if (work_since_first[node] == WORLD_NEVER)
		work_since_first[node] = now;
}

void differences_look(void)
{
	for (int node = 0; node < world.n_nodes; node++)
		look_at_work(node);
}

/* Of MIG, and of the rest. */
#define SHORT_LIMIT_MS (UINT64_C(3600) * 10 * PROGRAMS_HOLD_OFF_PERCENT)
#define LONG_LIMIT_MS (4 * SHORT_LIMIT_MS)
#define EARLY_MS 30000u  /* looks are not taken at the very moment */
#define LATE_MS 600000u  /* the controller may have seen it later, or known of no policy */

/* 0: never */
static uint64_t age_since(uint64_t since)
{
	return since != WORLD_NEVER ? clockwork_now() - since : 0;
}

/* For how long labels of the node have told of work; 0: they do not. */
static uint64_t work_age(int node)
{
	return age_since(work_since[node]);
}

/* The controller counts by its wall clock, for a restart must not begin anew. */
static bool may_have_jumped(uint64_t age)
{
	return age > 0 && cause_since(CAUSE_CLOCK_SET, -1, -1, 0);
}

bool differences_is_work_old(int node)
{
	const uint64_t age = age_since(work_since_first[node]);

	return may_have_jumped(age) || age + EARLY_MS > SHORT_LIMIT_MS;
}

static bool is_about(uint64_t age, uint64_t limit)
{
	return may_have_jumped(age) || (age + EARLY_MS > limit && age < limit + LATE_MS);
}

bool differences_may_expire(void)
{
	for (int node = 0; node < world.n_nodes; node++) {
		const uint64_t ages[] = {work_age(node), age_since(work_since_first[node])};

		for (size_t i = 0; i < ARRAY_SIZE(ages); i++)
			if (is_about(ages[i], SHORT_LIMIT_MS) || is_about(ages[i], LONG_LIMIT_MS))
				return true;
	}
	return false;
}

enum difference_work differences_work(int node)
{
	const int mig = policies_of_node(node, POLICIES_LABEL_STATE);

	if (!world.nodes[node].in_api)
		return DIFFERENCE_NO_WORK;
	if (mig == POLICIES_PENDING || mig == POLICIES_REBOOTING)
		return DIFFERENCE_MIG;
	if (policies_of_node(node, POLICIES_LABEL_UPGRADE) > 3)
		return DIFFERENCE_UPGRADE;
	for (int i = POLICIES_LABEL_ALL; i < POLICIES_LABEL_CONFIG; i++)
		if (policies_of_node(node, (enum policies_node_knob)i) == POLICIES_PAUSED)
			return DIFFERENCE_PAUSED;
	return DIFFERENCE_NO_WORK;
}

static const char *const works[] = {
	[DIFFERENCE_MIG] = "MIGReconfiguration",
	[DIFFERENCE_UPGRADE] = "DriverUpgrade",
	[DIFFERENCE_PAUSED] = "OperandsPaused",
};

bool differences_is_work(struct view word)
{
	for (size_t i = DIFFERENCE_MIG; i < ARRAY_SIZE(works); i++)
		if (rewording_is(word, view_from(works[i])))
			return true;
	return false;
}

const char *differences_work_word(enum difference_work work)
{
	return works[work];
}

/* One difference */

static enum difference_state ask(int node, int gpu, enum difference difference)
{
	const struct row *row = &rows[difference];

	if (policies_counts() < 0 && row->does_without != POLICY)
		return DIFFERENCE_NO;
	if (intents_written(POLICIES_UNREADABLE) && row->does_without == NOTHING)
		return DIFFERENCE_UNREAD;
	return row->of_node ? row->of_node(node) : row->of_gpu(gpu);
}

static enum difference_state look(int node, int gpu, enum difference difference);

/*
 * What is hidden is not there; where it may be hidden nothing is judged. What rests on what cannot be read
 * hides nothing.
 */
static bool is_hidden(int node, int gpu, unsigned hiders, bool *ret_may_be)
{
	*ret_may_be = false;
	for (int i = 0; i < DIFFERENCE_N; i++) {
		const enum difference_state state =
			hiders & 1u << i ? look(node, gpu, (enum difference)i) : DIFFERENCE_NO;

		if (state == DIFFERENCE_YES)
			return true;
		*ret_may_be |= state != DIFFERENCE_NO && state != DIFFERENCE_UNREAD;
	}
	return false;
}

/* The same, by what any device of the node has. */
static bool is_hidden_anywhere(int node, unsigned hiders, bool *ret_may_be)
{
	bool may_be, may_be_any = false;

	for (int gpu = 0; gpu < world.n_gpus; gpu++) {
		if (world.gpus[gpu].node != node)
			continue;
		if (is_hidden(node, gpu, hiders, &may_be))
			return true;
		may_be_any |= may_be;
	}
	*ret_may_be = may_be_any;
	return false;
}

/* What hides it on all devices of the node, though it may be seen on one of them only. */
static unsigned spread_of(const struct row *row)
{
	return row->is_consequence ? row->hidden_by : BIT(CONFIG_NOT_LOADED);
}

/* Whether or not it waits. */
static enum difference_state look(int node, int gpu, enum difference difference)
{
	const struct row *row = &rows[difference];
	const enum difference_state state = ask(node, gpu, difference);
	bool may_be_hidden, may_be_hidden_by_other;

	if (state == DIFFERENCE_NO)
		return state;
	if (row->hidden_by &&
	    (is_hidden(node, gpu, row->hidden_by, &may_be_hidden) ||
	     is_hidden_anywhere(node, row->hidden_by & spread_of(row), &may_be_hidden_by_other)))
		return DIFFERENCE_NO;
	if (row->hidden_by && (may_be_hidden || may_be_hidden_by_other))
		return DIFFERENCE_UNJUDGED;
	return state;
}

/* What was read before still counts: by that it may be so, and nobody need know that it is unread. */
static enum difference_state look_at_denied(int node, int gpu, enum difference difference)
{
	enum difference_state state;

	policies_take_as_read(true);
	state = look(node, gpu, difference);
	policies_take_as_read(false);
	return state == DIFFERENCE_YES || state == DIFFERENCE_UNJUDGED ? DIFFERENCE_UNJUDGED
								       : DIFFERENCE_UNREAD;
}

enum difference_state differences_state(int node, int gpu, enum difference difference)
{
	const struct row *row = &rows[difference];
	const enum difference_state state = look(node, gpu, difference);

	if (state == DIFFERENCE_UNREAD && policies_were_just_denied())
		return look_at_denied(node, gpu, difference);

	if (state == DIFFERENCE_YES && row->waits_for != 0 && differences_is_work_old(node))
		return DIFFERENCE_UNJUDGED;
	return state == DIFFERENCE_YES && row->waits_for & 1u << differences_work(node)
		       ? DIFFERENCE_WAITS
		       : state;
}

unsigned differences_hiders(int node, int gpu, enum difference difference)
{
	return ask(node, gpu, difference) == DIFFERENCE_NO ? 0 : rows[difference].hidden_by;
}

const char *differences_word(enum difference difference)
{
	return rows[difference].word;
}

enum difference differences_of(struct view word)
{
	int difference = 0;

	while (difference < DIFFERENCE_N &&
	       !rewording_is(word, view_from(rows[difference].word)))
		difference++;
	return (enum difference)difference;
}

unsigned differences_hold_off_ms(enum difference difference)
{
	return rows[difference].hold_off_s * 10 * PROGRAMS_HOLD_OFF_PERCENT;
}

enum difference_source differences_source(enum difference difference)
{
	return rows[difference].source;
}

bool differences_is_of_gpu(enum difference difference)
{
	return rows[difference].of_gpu;
}

bool differences_is_without_policy(enum difference difference)
{
	return rows[difference].does_without == POLICY;
}

bool differences_is_remembered(enum difference difference)
{
	return rows[difference].is_remembered;
}

bool differences_is_config_unread(int node)
{
	struct policies_sharing sharing;

	return (intents_want(node, POLICIES_PLUGIN) == INTENTS_WANTED &&
		intents_config(node, &sharing) == INTENTS_UNREAD_CONFIG) ||
	       intents_is_layout_unread(node);
}

static unsigned mark_of_sharing(int node)
{
	return (unsigned)((int)intents_key(node) * 1000 + policies_of(POLICIES_SHARING_A) * 100 +
			  policies_of(POLICIES_SHARING_B) * 10 + (int)intents_text(node));
}

static unsigned mark_of_layout(int node)
{
	return (unsigned)(policies_of_node(node, POLICIES_LAYOUT) * 1000 +
			  intents_written(POLICIES_MIG_CONFIG) * 100 +
			  policies_of(POLICIES_MIG_MAP) * 10 + policies_of(POLICIES_BALANCED));
}

unsigned differences_mark(int node, enum difference difference)
{
	switch (difference) {
	case DIFFERENCE_CONFIG_MISSING:
	case DIFFERENCE_CONFIG_INVALID:
	case DIFFERENCE_CONFIG_NOT_LOADED:
	case DIFFERENCE_MPS_NOT_RUNNING:
		return (unsigned)intents_key(node);
	case DIFFERENCE_SHARING_MODE:
	case DIFFERENCE_REPLICA_COUNT:
	case DIFFERENCE_RESOURCE_NAME:
		return mark_of_sharing(node);
	case DIFFERENCE_MIG_STRATEGY:
		return (unsigned)intents_written(POLICIES_STRATEGY);
	case DIFFERENCE_MIG_CONFIG_FAILED:
		return (unsigned)policies_of_node(node, POLICIES_LAYOUT);
	case DIFFERENCE_MIG_LAYOUT:
		return mark_of_layout(node);
	default:
		return 0;
	}
}
