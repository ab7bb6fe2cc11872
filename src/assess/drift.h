/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * drift - whether a device and its node are what is intended: by ClusterPolicy, by the ConfigMaps that
 * it names, and by the node's labels. Some rows of assess/drift.def hold without any of them.
 *
 * One rule a type. A rule says that there is a difference, that there is none, or that it cannot tell:
 * now, or not at all.
 * - A difference is a drift when it has lasted for the hold-off of its type. Until then it is pending.
 *   Both lists are published with the time at which it was first seen, so a restart of the controller
 *   changes no time. If what is intended is edited meanwhile, the hold-off begins anew.
 * - A difference that its source dates has lasted since then, or since the end of work that may have
 *   explained it.
 * - Where a rule cannot tell now what is there, what was published of its type stays as it is, and the
 *   message names it. Where what is intended cannot be read, a drift is pending again, with its time.
 * - A difference hides the types that follow from it, also while it is pending. If it is of the node, or
 *   if what follows is, that is hidden on all devices of the node. So the join judges a node's devices
 *   again if one of them tells what another one hides.
 * - While the node is being changed on purpose (drift.def: settling) new differences wait, and their
 *   hold-off begins when that is over. Types that such work cannot explain are looked at all the same.
 *   Work of which a label tells for longer than its limit counts no more (assess/drift_settling.h).
 * - If the clock was set back, a hold-off lasts twice as long at most, and no drift is lost.
 * - What is switched off on purpose is never a drift. The condition's message says that it is off.
 *
 * Threads: any; pure.
 * Limits:  LIMIT_DRIFTS.
 */

#include "assess/drift_rule.h"

struct drift_verdict {
	struct attribution_intent_state state;
	int status; /* enum condition_status, of the condition InSync */
	struct view reason;
	struct view message;
	unsigned found;      /* types of the drifts, as DRIFT_BIT() */
	int64_t again_in_ms; /* time alone may change the verdict then; -1: it does not */
	unsigned hides; /* types that what was found here explains on each device, as DRIFT_BIT() */
	unsigned tells; /* types that were found here, or are kept, likewise */
};

/*
 * From the other members of the node it chooses the plugin's configuration that it shall have
 * (config_*). It counts the operands, tells which are wanted, and looks at what is on offer (offered).
 */
void drift_prepare(struct drift_node *node);
/*
 * Judges one device of a prepared node. The result lies in the arena or is borrowed from what is given.
 * Fails with ERROR_NO_MEMORY.
 */
MUST_USE int drift_judge(const struct drift_node *node, const struct drift_device *device,
			 struct arena *arena, struct drift_verdict *ret_verdict, struct error *err);

/* The word of a type; static. */
struct view drift_word(enum drift_type type);
/* The type of a word; N_DRIFT_TYPES: it is none of ours. */
enum drift_type drift_type_of(struct view word);
/* True when it is found once a node. */
bool drift_is_of_node(enum drift_type type);
/* The types, as bits (DRIFT_BIT), that are not looked at while there is one of this type. */
unsigned drift_hides(enum drift_type type);
