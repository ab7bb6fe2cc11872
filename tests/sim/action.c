/* SPDX-License-Identifier: Apache-2.0 */

/*
 * One row a kind: its word, how often it comes, what is said of it, what its arguments range over,
 * and what it does. Lengths of time are spread evenly over their orders of magnitude, so that short
 * ones are as frequent as long ones.
 */

#include "sim/action.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "sim/apiserver.h"
#include "sim/clockwork.h"
#include "sim/deed.h"
#include "sim/illness.h"
#include "sim/policies.h"
#include "sim/sharers.h"
#include "sim/usage.h"
#include "sim/wire.h"

enum range_kind { FIXED, EVEN, SPREAD };

struct range {
	enum range_kind kind;
	int low, high;
};

struct kind {
	const char *word;
	unsigned weight;
	/* {0} a number, {n0} a node, {g0} a device, {p0} a pod, {w0} a word of `words` */
	const char *text;
	const char *const *words;
	struct range ranges[ACTION_ARGS];
	void (*apply)(const int *args);
	unsigned use_weight; /* among those that only fleets with processes have */
	unsigned illness_weight; /* among those that only fleets have whose devices fall ill */
	unsigned hang_weight; /* among those that only fleets have whose drivers hang */
	unsigned intent_weight;  /* among those that only fleets have with an operator */
	unsigned layout_weight;  /* among those that only fleets have where layouts are edited */
	unsigned more_weight;    /* among those that only such fleets have where there is more */
	unsigned form_weight;    /* among those that only fleets have whose pods are read by node */
	unsigned unwatched_weight; /* among those that only fleets have where no agent watches */
	unsigned call_weight;    /* among those that only fleets have where calls fail alone */
};

static const char *const mode_words[] = {"exclusive", "time-slicing", "MPS", "MIG",
					 "MIG with time-slicing", "claims", "MIG by claims",
					 "HAMi"};

static const char *const api_words[] = {"refuses connections", "answers 500", "answers 429",
					"hangs",               "loses answers to writes",
					"repeats events"};

static const char *const kind_words[] = {"pods",		"nodes",	  "clusterpolicies",
					 "gpuattributions", "resourceclaims", "resourceslices"};

static const char *const mark_words[] = {
	"HAMi gave it a device of the node", "HAMi gave it another node's device",
	"HAMi gave it some device", "to be of a group", "to reserve a device"};

static const char *const denied_words[] = {"there is no resource.k8s.io",
					   "resourceslices are forbidden",
					   "resourceclaims are forbidden", "pods are forbidden"};

static const char *const claim_words[] = {"removed by force", "deallocated"};

static const char *const slices_words[] = {"go", "are not whole", "lack a device",
					   "come one by one"};

static const char *const wire_words[] = {"are lost", "lose their answers", "are slow",
					 "come twice"};

static const char *const lasts_words[] = {"so long", "for ever"};

static const char *const stray_words[] = {"of the host", "that pretends to be of a pod",
					  "of a pod"};

static const char *const illness_words[] = {
	"is lost to NVML",     "cannot remap rows",	  "must have its IMEX domain recovered",
	"must be rebooted",    "must be reset",		  "must be drained and reset",
	"must be drained P2P", "must be treated somehow", "does not answer before a reset",
	"has rows to remap",   "has pages to retire",	  "has uncorrectable errors"};

/* By enum illness_part. */
static const char *const call_words[] = {"memory errors", "remapped rows", "retired pages",
					 "the recovery action"};

static const char *const unwatched_words[] = {
	"it is reset, as was asked",
	"it is reset, as was asked with draining",
	"it is reset, and answered nothing before",
	"it is not reset, nor was that asked",
	"it is not reset, though that was asked",
	"its next reading is wrong",
	"a reading is wrong, and the agent stays",
	"its MIG mode is changed, and the agent stays",
	"its MIG mode is changed",
	"only its process for NVML ends",
};

_Static_assert(ARRAY_SIZE(unwatched_words) == DEED_N_UNWATCHED, "a word each");

static const char *const knob_words[] = {
	"ClusterPolicy policy",
	"ClusterPolicy another",
	"the GPUCluster",
	"what is unreadable in the policy",
	"the policy's state",
	"the policy's driver version",
	"the policy's ConfigMap",
	"the policy's default key",
	"the policy's driver",
	"the policy's devicePlugin",
	"the policy's gfd",
	"the policy's dcgmExporter",
	"the policy's migManager",
	"the ConfigMap",
	"key a of the ConfigMap",
	"key b of the ConfigMap",
	"what key a shares",
	"what key b shares",
	"the policy's mig.strategy",
	"the policy's ConfigMap of layouts",
	"the operator's ConfigMap of layouts",
	"layout all-balanced",
};

static const char *const node_knob_words[] = {
	"label gpu.deploy.operands",
	"label gpu.deploy.driver",
	"label gpu.deploy.device-plugin",
	"label gpu.deploy.gpu-feature-discovery",
	"label gpu.deploy.dcgm-exporter",
	"label gpu.deploy.mig-manager",
	"label device-plugin.config",
	"label mig.config",
	"label mig.config.state",
	"label gpu-driver-upgrade-state",
	"label gpu.product",
	"what is allocatable",
	"the driver's pod",
	"the device plugin's pod",
	"the pod of GPU feature discovery",
	"the pod of dcgm-exporter",
	"the pod of the MIG manager",
	"the pod of the MPS daemon",
	"the layout of label mig.config",
};

_Static_assert(ARRAY_SIZE(knob_words) == POLICIES_N_KNOBS, "a word each");
_Static_assert(ARRAY_SIZE(node_knob_words) == POLICIES_N_NODE_KNOBS, "a word each");

static const char *const node_watch_words[] = {
	"is answered 500", "is answered 429", "hangs", "is silent", "is cut", "has expired"};

_Static_assert(ARRAY_SIZE(node_watch_words) == APISERVER_N_NODE_FAULTS, "a word each");

static const char *const forgery_words[] = {
	"another node's name",   "a strange token", "another account's token",
	"an older report",       "pods of others",  "pods that do not exist",
	"devices of other nodes", "garbage"};

#define NODE {EVEN, 0, WORLD_MAX_NODES - 1}
#define POD {EVEN, 0, DEED_N_NAMES - 1}
#define GPU {EVEN, 0, WORLD_MAX_GPUS - 1}

static const struct kind kinds[] = {
	{"node", 0, "a node joins: {w0}, {1} devices, {2} replicas, variant {3}", mode_words,
	 {{EVEN, 0, 7}, {EVEN, 1, 3}, {EVEN, 2, 4}, {EVEN, 0, 19}}, deed_add_node},
	{"pod", 220, "pod {p1} is bound to {n0}, shape {2}", NULL,
	 {NODE, POD, {EVEN, 0, 127}}, deed_create_pod},
	{"delete", 70, "pod {p0} is deleted", NULL, {POD}, deed_delete_pod},
	{"force", 25, "pod {p0} is deleted by force", NULL, {POD}, deed_force_pod},
	{"replace", 50, "pod {p0} is replaced by another of that name on {n2} after {1} ms", NULL,
	 {POD, {SPREAD, 1, 2000}, NODE, {EVEN, 0, 127}}, deed_replace_pod},
	{"unbooked", 55,
	 "{n0}: pod {p1} comes and is replaced after {2} ms, not in any good checkpoint, shape {3}", NULL,
	 {NODE, POD, {SPREAD, 1, 8000}, {EVEN, 0, 127}}, deed_replace_unbooked},
	{"finish", 40, "pod {p0} ends by itself ({1})", NULL, {POD, {EVEN, 0, 1}}, deed_finish_pod},
	{"container", 15, "a container of {p0} restarts, back in {1} ms", NULL,
	 {POD, {SPREAD, 10, 10000}}, deed_restart_container},
	{"static", 25, "{n0} gets static pod {1}, shape {2}", NULL,
	 {NODE, {EVEN, 0, 1}, {EVEN, 0, 3}}, deed_add_static},
	{"static-off", 8, "static pod {1} of {n0} is removed", NULL,
	 {NODE, {EVEN, 0, 1}}, deed_remove_static},
	{"mirror", 10, "the mirror of static pod {1} of {n0} is deleted", NULL,
	 {NODE, {EVEN, 0, 1}}, deed_delete_mirror},
	{"reserve", 30, "{n0}: KAI reserves a device for group {1}", NULL,
	 {NODE, {EVEN, 0, 2}}, deed_reserve_gpu},
	{"unreserve", 8, "KAI deletes the reservation of group {0}", NULL,
	 {{EVEN, 0, 2}}, deed_unreserve_gpu},
	{"share", 40, "pod {p0} shares the device of group {1}", NULL,
	 {POD, {EVEN, 0, 2}}, deed_share_gpu},
	{"spoil-hami", 8, "somebody edits HAMi's annotation of {p0}", NULL, {POD}, deed_spoil_hami},
	{"forge-pod", 25, "pod {p1} of {n0} pretends {w2} (asks for a device: {3})", mark_words,
	 {NODE, POD, {EVEN, 0, SHARERS_N_FORGERIES - 1}, {EVEN, 0, 1}}, deed_forge_pod},
	{"claim", 30, "the claim of {p0} is {w1}", claim_words, {POD, {EVEN, 0, 1}},
	 deed_spoil_claim},
	{"slices", 40, "{n0}: ResourceSlices {w1}, for {2} ms", slices_words,
	 {NODE, {EVEN, 0, 3}, {SPREAD, 100, 60000}}, deed_spoil_slices},
	{"renumber", 25, "{n0} reboots, down {1} ms, and numbers its devices anew", NULL,
	 {NODE, {SPREAD, 2000, 60000}}, deed_renumber},
	{"kubelet", 40, "{n0}: the kubelet restarts, down {1} ms, has its pods {2} ms later", NULL,
	 {NODE, {SPREAD, 20, 30000}, {SPREAD, 20, 20000}}, deed_restart_kubelet},
	{"wipe", 10, "{n0}: the kubelet loses its checkpoint and restarts ({1} ms, {2} ms)", NULL,
	 {NODE, {SPREAD, 20, 10000}, {SPREAD, 20, 10000}}, deed_wipe_kubelet},
	{"hang", 15, "{n0}: PodResources hangs for {1} ms", NULL,
	 {NODE, {SPREAD, 100, 60000}}, deed_hang_kubelet},
	{"throttle", 10, "{n0}: PodResources refuses calls for {1} ms", NULL,
	 {NODE, {SPREAD, 100, 30000}}, deed_throttle_kubelet},
	{"damage", 15, "{n0}: the checkpoint is unreadable for {1} ms", NULL,
	 {NODE, {SPREAD, 100, 60000}}, deed_damage_checkpoint},
	{"plugin", 20, "{n0}: the plugin is gone for {1} ms", NULL,
	 {NODE, {SPREAD, 100, 120000}}, deed_lose_plugin},
	{"configure", 12, "{n0}: the plugin is configured for {w1}, {2} replicas", mode_words,
	 {NODE, {EVEN, 0, 4}, {EVEN, 2, 4}}, deed_configure_plugin},
	{"divide", 10, "{g0} is divided anew into {1}", NULL, {GPU, {EVEN, 1, 4}}, deed_divide_gpu},
	{"lose", 10, "{g0} falls off the bus for {1} ms", NULL,
	 {GPU, {SPREAD, 500, 120000}}, deed_lose_gpu},
	{"xid", 10, "{g0} raises an XID error", NULL, {GPU}, deed_raise_xid},
	{"driver", 10, "{n0}: the driver does not answer for {1} ms", NULL,
	 {NODE, {SPREAD, 100, 60000}}, deed_fail_driver},
	{"reboot", 12, "{n0} reboots, down {1} ms, its clock {2} ms off", NULL,
	 {NODE, {SPREAD, 2000, 100000}, {EVEN, -5000, 5000}}, deed_reboot_node},
	{"move", 8, "{g0} is moved to {n1}, which are down {2} and {3} ms", NULL,
	 {GPU, NODE, {SPREAD, 3000, 60000}, {SPREAD, 3000, 60000}}, deed_move_gpu},
	{"remove", 10, "{n0} is removed from the API for {1} ms (pods too: {2}, powered off: {3})",
	 NULL, {NODE, {SPREAD, 500, 300000}, {EVEN, 0, 1}, {EVEN, 0, 1}}, deed_remove_node},
	{"agent", 25, "{n0}: the agent restarts, down {1} ms", NULL,
	 {NODE, {SPREAD, 10, 120000}}, deed_restart_agent},
	{"controller", 25, "the controller restarts, down {0} ms", NULL,
	 {{SPREAD, 10, 120000}}, deed_restart_controller},
	{"api", 30, "the API server {w0} for {1} ms", api_words,
	 {{EVEN, 0, APISERVER_N_FAULTS - 1}, {SPREAD, 100, 60000}}, deed_spoil_api},
	{"kill", 25, "the API server is killed {0} times, away {1} ms, back {2} ms", NULL,
	 {{EVEN, 1, 5}, {SPREAD, 100, 20000}, {SPREAD, 500, 15000}}, deed_kill_api},
	{"part", 20, "nothing gets through to the API server for {0} ms, open watches lag {1} % longer",
	 NULL, {{SPREAD, 500, 30000}, {EVEN, 0, 100}}, deed_part_network},
	{"hold", 25, "events of {w0} are late by up to {1} ms", kind_words,
	 {{EVEN, 0, APISERVER_N_FAULTY - 1}, {SPREAD, 100, 60000}}, deed_hold_watch},
	{"deny", 30, "{w0} for {1} ms", denied_words,
	 {{EVEN, 0, 3}, {SPREAD, 100, 60000}}, deed_deny},
	{"cut", 25, "the watch of {w0} is cut", kind_words,
	 {{EVEN, 0, APISERVER_N_FAULTY - 1}}, deed_cut_watch},
	{"expire", 20, "all watches are silent for {1} ms and then expire ({0})", NULL,
	 {{EVEN, 0, 1}, {SPREAD, 5, 20000}}, deed_expire_watches},
	{"edit", 10, "somebody edits object {0}", NULL, {{EVEN, 0, 9}}, deed_edit_object},
	{"remove-object", 8, "somebody deletes object {0}", NULL, {{EVEN, 0, 9}}, deed_delete_object},
	{"policy", 20, "the ClusterPolicy is there: {0}", NULL, {{EVEN, 0, 1}}, deed_put_policy},
	{"wire", 45, "{n0}: reports {w1} for {2} ms", wire_words,
	 {NODE, {EVEN, 0, WIRE_N_FAULTS - 1}, {SPREAD, 500, 90000}}, deed_spoil_wire},
	{"forge", 25, "{n0} sends a forged report: {w1}", forgery_words,
	 {NODE, {EVEN, 0, WIRE_N_FORGERIES - 1}}, deed_forge_report},
	{"clock", 12, "clock {0} is set by {1} ms", NULL,
	 {NODE, {EVEN, -90000, 90000}}, deed_step_clock},
	{"linger", 0, "pod {p0} is deleted by force, its processes live on for {1} ms ({w2})",
	 lasts_words, {POD, {SPREAD, 1000, 120000}, {EVEN, 0, 1}}, deed_abandon_pod, 50},
	{"stray", 0, "a process {w1} ({p2}) uses {g0} for {3} ms or, if that is odd, for ever",
	 stray_words, {GPU, {EVEN, 0, USAGE_N_STRAYS - 1}, POD, {SPREAD, 1000, 120000}},
	 deed_use_without_slot, 30},
	{"error", 0, "{g0} raises an XID error ({1}; from 12 on it ends the pods on it)", NULL,
	 {GPU, {EVEN, 0, 23}}, deed_raise_error, 30},
	{"ill", 0, "{g0} {w1}, for {2} ms or ({3}) until it is reset", illness_words,
	 {GPU, {EVEN, 0, ILLNESS_N - 1}, {SPREAD, 1000, 120000}, {EVEN, 0, 1}}, deed_fall_ill, 0,
	 50},
	{"reset", 0, "{g0} is reset", NULL, {GPU}, deed_reset_gpu, 0, 25},
	{"raise", 0, "{g0} raises an XID error ({1}) of its MIG device {2} ({3})", NULL,
	 {GPU, {EVEN, 0, 12}, {EVEN, 0, 6}, {EVEN, 0, 1}}, deed_raise_partial, 0, 50},
	{"flood", 0, "{g0} raises an application's XID error {1} times ({2})", NULL,
	 {GPU, {SPREAD, 1, 20}, {EVEN, 0, 1}}, deed_flood, 0, 10},
	{"intend", 0, "{w0} is set to {1}, for {2} ms or, if that is odd, for ever", knob_words,
	 {{EVEN, 0, POLICIES_MORE_KNOBS - 1}, {EVEN, 0, 3}, {SPREAD, 1000, 120000}}, deed_intend, 0, 0, 0,
	 50},
	{"operate", 0, "{n0}: {w1} is set to {2}, for {3} ms or, if that is odd, for ever",
	 node_knob_words,
	 {NODE, {EVEN, 0, POLICIES_MORE_NODE_KNOBS - 1}, {EVEN, 0, 4}, {SPREAD, 1000, 120000}},
	 deed_operate, 0, 0, 0, 70},
	{"deny-config", 0, "ConfigMaps are forbidden for {0} ms", NULL,
	 {{SPREAD, 100, 60000}}, deed_deny_config, 0, 0, 0, 16},
	{"arrange", 0, "{w0} is set to {1}, for {2} ms or, if that is odd, for ever",
	 &knob_words[POLICIES_MORE_KNOBS],
	 {{EVEN, 0, POLICIES_LAYOUT_KNOBS - POLICIES_MORE_KNOBS - 1}, {EVEN, 0, 15}, {SPREAD, 1000, 120000}},
	 deed_arrange, .more_weight = 80},
	{"lay-out", 0, "{w0} is set to {1}, for {2} ms or, if that is odd, for ever",
	 &knob_words[POLICIES_LAYOUT_KNOBS],
	 {{EVEN, 0, POLICIES_N_KNOBS - POLICIES_LAYOUT_KNOBS - 1}, {EVEN, 0, 4}, {SPREAD, 1000, 120000}},
	 deed_lay_out, .layout_weight = 80},
	{"arrange-node", 0, "{n0}: {w1} is set to {2}, for {3} ms or, if that is odd, for ever",
	 &node_knob_words[POLICIES_MORE_NODE_KNOBS],
	 {NODE, {EVEN, 0, POLICIES_N_NODE_KNOBS - POLICIES_MORE_NODE_KNOBS - 1}, {EVEN, 0, 5},
	  {SPREAD, 1000, 120000}},
	 deed_arrange_node, .more_weight = 30},
	{"obey", 0, "{n0}: the plugin starts anew as it is configured, {1} replicas if it does not say",
	 NULL, {NODE, {EVEN, 2, 4}}, deed_obey, .more_weight = 60},
	{"ask-mode", 0, "{g0} is asked for the other MIG mode, for {1} ms or, if that is odd, for ever",
	 NULL, {GPU, {SPREAD, 1000, 240000}}, deed_ask_mode, .more_weight = 15},
	{"leave", 0, "{g0} is left ExclusiveProcess, for {1} ms or, if that is odd, for ever", NULL,
	 {GPU, {SPREAD, 1000, 240000}}, deed_leave_exclusive, .more_weight = 20},
	{"mismatch", 0, "{n0}: the driver's library is another than its module for {1} ms", NULL,
	 {NODE, {SPREAD, 1000, 240000}}, deed_mismatch, .more_weight = 15},
	{"take-out", 0, "{g0} is taken out for {1} ms", NULL, {GPU, {SPREAD, 40000, 120000}},
	 deed_take_out, .more_weight = 15},
	{"leak", 0, "{n0}: the kubelet counts all slots as taken, pod {p2} is bound {1} ms later, "
		    "shape {3}",
	 NULL, {NODE, {SPREAD, 1000, 120000}, POD, {EVEN, 0, 127}}, deed_leak, .more_weight = 25},
	{"stall", 0, "{n0}: the driver hangs for {1} ms or, if {3} is 7, for good (in the kernel: {2})",
	 NULL, {NODE, {SPREAD, 500, 300000}, {EVEN, 0, 1}, {EVEN, 0, 7}}, deed_stall, 0, 0, 60},
	{"slow", 0, "{n0}: a call of the driver takes {1} ms, for {2} ms", NULL,
	 {NODE, {SPREAD, 100, 20000}, {SPREAD, 1000, 120000}}, deed_slow, 0, 0, 25},
	{"crash", 0, "{n0}: the driver ends {1} processes that call it", NULL,
	 {NODE, {EVEN, 1, 3}}, deed_crash, 0, 0, 15},
	{"change-over", 0, "pods are read in the other form, {0} times, every {1} ms", NULL,
	 {{EVEN, 1, 6}, {SPREAD, 10, 40000}}, deed_change_over, .form_weight = 70},
	{"node-watch", 0, "{n0}: what asks for its pods alone {w1}, for {2} ms", node_watch_words,
	 {NODE, {EVEN, 0, APISERVER_N_NODE_FAULTS - 1}, {SPREAD, 100, 180000}},
	 deed_spoil_node_watch, .form_weight = 50},
	{"throttle-lists", 0, "some lists of one node's pods are answered 429 for {0} ms", NULL,
	 {{SPREAD, 500, 60000}}, deed_throttle_lists, .form_weight = 12},
	{"label", 0, "{n0} loses and regains its GPU label, {1} times, every {2} ms", NULL,
	 {NODE, {EVEN, 1, 8}, {SPREAD, 200, 40000}}, deed_flap_label, .form_weight = 20},
	{"late-node", 0, "a node joins: {w0}, {1} devices, variant {2}; it shows no GPU for {3} ms",
	 mode_words, {{EVEN, 0, 7}, {EVEN, 1, 3}, {EVEN, 0, 19}, {SPREAD, 500, 120000}},
	 deed_add_late_node, .form_weight = 12},
	{"no-streams", 0, "the API server speaks HTTP/1.1 only, from now on", NULL, {{0}},
	 deed_lose_streams, .form_weight = 3},
	{"unwatched", 0, "{g0} has errors, its agent goes {2} ms later for {3} ms: {w1}", unwatched_words,
	 {GPU, {EVEN, 0, DEED_N_UNWATCHED - 1}, {SPREAD, 40000, 120000}, {SPREAD, 500, 60000}},
	 deed_fail_unwatched, .unwatched_weight = 1},
	{"fail-call", 0, "{g0}: the call for {w1} fails for {2} ms", call_words,
	 {GPU, {EVEN, 0, ILLNESS_PART_ACTION}, {SPREAD, 5000, 240000}}, deed_fail_call, .call_weight = 1},
	{"inotify", 10, "{n0}: no inotify for {1} ms", NULL,
	 {NODE, {SPREAD, 500, 60000}}, deed_silence_inotify},
};

void action_apply(const struct action *action)
{
	clockwork_actor = CLOCKWORK_CONTROLLER;
	kinds[action->kind].apply(action->args);
}

/* Making */

static int draw(struct prng *prng, const struct range *range)
{
	unsigned bits;
	int low, high;

	if (range->kind == FIXED)
		return 0;
	if (range->kind == EVEN)
		return (int)prng_between(prng, 0, (uint64_t)(range->high - range->low)) +
		       range->low;
	for (bits = 0; range->low << bits < range->high; bits++)
		;
	low = range->low << prng_between(prng, 0, bits - 1);
	high = 2 * low < range->high ? 2 * low : range->high;
	return (int)prng_between(prng, (uint64_t)low, (uint64_t)high);
}

static void fill(struct prng *prng, unsigned kind, struct action *ret)
{
	ret->kind = kind;
	for (int i = 0; i < ACTION_ARGS; i++)
		ret->args[i] = draw(prng, &kinds[kind].ranges[i]);
}

void action_make_node(struct prng *prng, struct action *ret)
{
	fill(prng, 0, ret);
}

void action_make_rare_node(struct prng *prng, struct action *ret)
{
	fill(prng, 0, ret);
	ret->args[0] = WORLD_EXCLUSIVE;
}

enum family {
	COMMON, OF_USE, OF_ILLNESS, OF_HANG, OF_INTENT, OF_MORE, OF_LAYOUTS, OF_FORMS, OF_UNWATCHED,
	OF_CALLS
};

static unsigned weight_of(unsigned kind, enum family family)
{
	return family == OF_USE		? kinds[kind].use_weight
	       : family == OF_ILLNESS	? kinds[kind].illness_weight
	       : family == OF_HANG	? kinds[kind].hang_weight
	       : family == OF_INTENT	? kinds[kind].intent_weight
	       : family == OF_MORE	? kinds[kind].more_weight
	       : family == OF_LAYOUTS	? kinds[kind].layout_weight
	       : family == OF_FORMS	? kinds[kind].form_weight
	       : family == OF_UNWATCHED ? kinds[kind].unwatched_weight
	       : family == OF_CALLS	? kinds[kind].call_weight
					: kinds[kind].weight;
}

static void make(struct prng *prng, enum family family, struct action *ret)
{
	unsigned total = 0, kind = 0, at;

	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++)
		total += weight_of(i, family);
	for (at = (unsigned)prng_between(prng, 0, total - 1); at >= weight_of(kind, family); kind++)
		at -= weight_of(kind, family);
	fill(prng, kind, ret);
}

void action_make(struct prng *prng, struct action *ret)
{
	make(prng, COMMON, ret);
}

void action_make_use(struct prng *prng, struct action *ret)
{
	make(prng, OF_USE, ret);
}

void action_make_illness(struct prng *prng, struct action *ret)
{
	make(prng, OF_ILLNESS, ret);
}

void action_make_intent(struct prng *prng, struct action *ret)
{
	make(prng, OF_INTENT, ret);
}

void action_make_more(struct prng *prng, struct action *ret)
{
	make(prng, OF_MORE, ret);
}

void action_make_layout(struct prng *prng, struct action *ret)
{
	make(prng, OF_LAYOUTS, ret);
}

void action_make_hang(struct prng *prng, struct action *ret)
{
	make(prng, OF_HANG, ret);
}

void action_make_form(struct prng *prng, struct action *ret)
{
	make(prng, OF_FORMS, ret);
}

void action_make_unwatched(struct prng *prng, struct action *ret)
{
	make(prng, OF_UNWATCHED, ret);
}

void action_make_call(struct prng *prng, struct action *ret)
{
	make(prng, OF_CALLS, ret);
}

/* A reservation is worth something with pods that share it. */
void action_make_rare(struct prng *prng, struct action *ret)
{
	static void (*const applies[])(const int *args) = {
		deed_reserve_gpu, deed_reserve_gpu,   deed_share_gpu, deed_share_gpu,
		deed_share_gpu,   deed_unreserve_gpu, deed_move_gpu,  deed_forge_report,
	};
	void (*apply)(const int *args) = applies[prng_between(prng, 0, ARRAY_SIZE(applies) - 1)];
	unsigned kind = 0;

	while (kinds[kind].apply != apply)
		kind++;
	fill(prng, kind, ret);
	if (apply == deed_forge_report)
		ret->args[1] = WIRE_OTHER_DEVICES;
}

/* Texts */

static void append(char *ret, size_t size, const char *before, int number)
{
	size_t used = strlen(ret);

	snprintf(ret + used, size - used, "%s%d", before, number);
}

static void append_text(char *ret, size_t size, const char *text)
{
	size_t used = strlen(ret);

	snprintf(ret + used, size - used, "%s", text);
}

/* One {x0}; returns what stands behind it. */
static const char *substitute(const struct kind *kind, const struct action *action,
			      const char *at, char *ret, size_t size)
{
	char what = at[1];
	int arg = action->args[(what >= '0' && what <= '3' ? what : at[2]) - '0'];

	if (what == 'n')
		append(ret, size, "node-", arg % (world.n_nodes ? world.n_nodes : 5) + 1);
	else if (what == 'g')
		append(ret, size, "device ", arg % (world.n_gpus ? world.n_gpus : 12));
	else if (what == 'p')
		append(ret, size, "train-", arg % DEED_N_NAMES);
	else if (what == 'w' && kind->words)
		append_text(ret, size, kind->words[arg]);
	else
		append(ret, size, "", arg);
	return strchr(at, '}') + 1;
}

void action_describe(const struct action *action, char *ret, size_t size)
{
	const struct kind *kind = &kinds[action->kind];
	const char *at = kind->text;

	snprintf(ret, size, "%4u.%03us ", action->at_ms / 1000, action->at_ms % 1000);
	while (*at) {
		size_t used = strlen(ret);

		if (*at == '{') {
			at = substitute(kind, action, at, ret, size);
			continue;
		}
		snprintf(ret + used, size - used, "%c", *at++);
	}
}

void action_print(const struct action *action, FILE *file)
{
	fprintf(file, "%u %s %d %d %d %d\n", action->at_ms, kinds[action->kind].word,
		action->args[0], action->args[1], action->args[2], action->args[3]);
}

static bool in_range(const struct range *range, int arg)
{
	return range->kind == FIXED ? arg == 0 : arg >= range->low && arg <= range->high;
}

bool action_parse(const char *line, struct action *ret)
{
	char word[32];

	if (sscanf(line, "%u %31s %d %d %d %d", &ret->at_ms, word, &ret->args[0], &ret->args[1],
		   &ret->args[2], &ret->args[3]) != 6)
		return false;
	for (ret->kind = 0; ret->kind < ARRAY_SIZE(kinds); ret->kind++) {
		const struct kind *kind = &kinds[ret->kind];

		if (strcmp(kind->word, word) != 0)
			continue;
		for (int i = 0; i < ACTION_ARGS; i++)
			if (!in_range(&kind->ranges[i], ret->args[i]))
				return false;
		return true;
	}
	return false;
}
