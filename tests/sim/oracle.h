/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * oracle - judges every status that takes effect at the API server against the truth (sim/world.h),
 * and the whole once more when everything is at rest.
 *
 * "Told" means: the controller that runs now had been given the last byte of the event or list that
 * says so, before it sent the write. A violation names its rule:
 *
 * FALSE_TENANT. Judges each tenant that is not Unconfirmed.
 * - It is a pod of the world under its own UID and name, on the node of the status.
 * - Before the write was sent, its container was given slots of that very device, as many and of
 *   those partitions.
 * - The controller was not told that the pod is over. If it cannot know of the end, the tenant may
 *   stay: the evidence was true when it was made.
 * - A Confirmed tenant lists a witness that names its UID, or HAMi or KAI together with Processes.
 * - A tenant with the witness Processes had a process of that container on that device.
 * - A recent tenant was a tenant.
 * There is no excuse by a lost watch, a clock, a short List, or a replayed or forged report. These
 * are the only exceptions:
 * - Somebody spoilt an annotation of HAMi's. If it names a device that came to the pod's node
 *   later, the pod may be Annotated there.
 * - A node's devices were renumbered. Claims count by the old numbers until the controller was told
 *   of all its slices.
 * - A card left the node. Claims count until something there has the name by which the claim gave
 *   it.
 *
 * FALSE_USER. Judges each unallocated user. Its process was on the device. At some moment while it
 * was, its pod had no slot of the device, or the controller had waited the stated time to be told
 * of the pod. A process counts as there as long as the node's reports say so under its own token,
 * even if a forged one repeats a process that has ended.
 *
 * FALSE_EVENT. The device raised the error event. Each pod that the event names meets one of these:
 * - It held the device then, or 2 s earlier or later, since events and tenancy have different
 *   clocks.
 * - It had held the device, and the controller was not told before the event that it is over.
 * - The clocks of controller and node differ, so the order cannot be known.
 * A pod that was published with the device before the event, and held it then, is named if the
 * agent was told of the event soon. But it is not judged if somebody spoilt its annotation of HAMi's.
 *
 * If NVML told which MIG device raised the error, the pods that the status lists with MIG devices
 * are judged by theirs. That MIG device is named, if it was there when NVML was read.
 *
 * FALSE_HEALTH. A status is compared with what the driver told in the reading that its own report
 * is of.
 * - It has a reason for each condition that was told, and none for one that was not. A lost device
 *   has those of before, which nobody can know.
 * - It is not Healthy if the device was not listed, could not be read, or something was told; nor
 *   while its node is not heard of.
 * - It is Unhealthy if what was told asks for that, and then something is to be done.
 * - What must last to count is a reason when the readings of one agent have said so for that long. It
 *   is none when they have said the opposite for long enough. What no agent of this boot has decided
 *   since is as it was published.
 * - NVMLHangs is a reason if a call was too old when the report was made, or had been so lately that
 *   who calls the driver may not be back. It is one as long as all calls hang.
 * - The recovery action is the one that the driver asks for. Of a lost device, and of one whose rows
 *   cannot be remapped, the driver knows no better.
 *
 * CLEARED. An error that needs a reset or a reboot, or a closer look, is a reason when it is first
 * shown. It stays one, whatever else is raised, until something has mended it: its device was reset
 * or booted, was listed again after it was away, or is in another node. An error that is to be
 * looked at may be settled 10 minutes later. That counts fall is no reset by itself (sim/unwatched.h).
 *
 * LOST_EVENT. What nobody was told, since who asked the driver was ended, is not before eventsSince.
 * What an agent was told is shown, if that agent lives until all is at rest. It stays in
 * health.events until as many others as may be there have pushed it out, or somebody has deleted the
 * object. No event is there twice.
 * Of a device that is gone before its node published anything of it, an event may be lost.
 *
 * FALSE_IDLE. The activity is what the driver told in the reading that the status's own report is of,
 * and in those of --idle-after before.
 * - A device whose driver tells utilisation is Active while there was work in one of them. It is Idle
 *   if there was none in any.
 * - It is not Idle if two looks saw it compute in that time. Nor is it before its agent has looked for
 *   so long, unless it was published so.
 * - One whose driver tells none is not Idle if two samples saw a process on it, nor is a MIG device.
 *   Neither is ever Active. A device is Idle only if all its MIG devices are.
 * - A state that is Unknown has a reason, and no other state has one. It is Settling if the agent has
 *   looked for less than --idle-after, saw no work, and nothing was published by the node before.
 * - It is idle since no earlier than the last reading that told of work, and no later than two samples
 *   after the work. Where nobody looked for more than 2 minutes all begins anew.
 * - Nothing is Idle while its node is not heard of.
 * What nobody looked at is excused: while the driver did not answer, or no agent was there.
 *
 * AT_REST. SIM_BOUND_MS after all faults have ended, each device in a node has an object that is
 * exactly true. That covers node, mode, slots, activity, and conditions, which are True. Of tenants it
 * covers who, container, slots, partitions, phase, confidence and witnesses. Nothing is missing, and
 * nothing untrue is there. Health is what the driver, the plugin and the agent tell, and Healthy if
 * that is nothing. The state, the recovery action and the condition Healthy are those that follow. That
 * says what can be read of the device, and what cannot.
 * An error that needs a reset is no reason if a reset was seen since: by the agent, or as reports tell.
 * eventsSince is not before somebody last began to watch a device of the node for errors.
 * Activity that is Unknown has the reason that is so. While there is trouble that does not end by
 * itself (sim/trouble.h), health and activity are judged the same way. A tenant
 * may be missing if no evidence of it is left:
 * - its entry was wiped from the kubelet's records;
 * - it holds a MIG device that is gone;
 * - its claim was removed by force;
 * - somebody spoilt its annotation of HAMi's.
 * If a claim gives a device that has gone to another node, its pod is an unplaced tenant. Of a node
 * without an agent these are known, and must be there in every detail:
 * - the whole devices of app containers, by the status of their pods;
 * - what claims and slices say.
 * An agent elsewhere may have claimed such a device, which a node without an agent cannot contest.
 * Of HAMi's pods on such a node only the node is known.
 *
 * NO_CAUSE. Each doubtful word has a cause in the history (sim/cause.h), within the time that such
 * a cause may take to wear off. The table in sim/no_cause.c says which cause excuses which word, and
 * for how long. Doubtful are
 * - the mode Unknown, and a count that is not known;
 * - a tenant that is Pending, Unresolved, NameOnly or Disputed;
 * - Ready, Attributed or ReportFresh that is not True.
 * Each reason of Attributed must be so besides, as its row in sim/reasons.c says:
 * - Pending and Unresolved: the controller was not told of the pods, for less or more than the stated
 *   time. A slot that is held by somebody unknown is said, unless pods themselves are not known.
 * - PodUnknown: somebody has the device whom a List may name, and no tenant is unknown.
 * - SourceDisagreement: a tenant is Disputed; and while one is nothing better is said.
 * - SourcesFailed: the report says that no record can be read, and the kubelet told its agent of none.
 *   A report that says so leads neither to AllResolved nor to Unconfirmed.
 * - AwaitingReport: the controller has had no report of the node since it started.
 * The reason of Ready follows from Attributed and ReportFresh.
 *
 * NEEDLESS. No write repeats the text of the status that is there. Nor does one change only times
 * and the report that the status was made from, unless the controller's clock was set lately. But
 * idleSince may become another if the node's clock was set lately, or samples were missed while no
 * controller ran. It also may if there was work, or a look failed, since what was published. And one
 * of another boot is no repetition. At rest
 * nothing is written at all, nor after a restart of the controller. The same holds while a driver
 * hangs for good.
 *
 * LOST. A listed tenant does not vanish while it holds the device and its pod lives.
 * - If a record of the kubelet has it, it stays despite a short List, a source that failed, an
 *   older report, or a restart of anything.
 * - If it has the device by a claim, it also stays despite slices that go, are incomplete or are
 *   renumbered, and despite an API that is denied. But if the claim cannot be read while devices
 *   are renumbered, it may become unplaced.
 *
 * LATE. This holds while nothing has been wrong for a while:
 * - A pod's new phase or its end shows within 3 s of the moment when the controller was told.
 * - A new tenant shows within 6 s of its allocation.
 * - A silent node shows 3 s after it has been silent for the stated time.
 * - No watch is away for longer than a few seconds while the API server answers.
 *
 * STALE. A status that says Ready is sent only while the controller watches pods: what it knows of
 * them is no older than a second.
 *
 * GAP. When the controller changes over from the watch of all pods to those of nodes, or back, the new
 * form tells all before the old one ends. A watch of a node that shows a GPU, or did so lately, does
 * not end otherwise. Nothing is written, and nothing is doubtful, because the form changed.
 *
 * FALSE_DRIFT. A published drift is one of the types that sim/differences.h finds in the world. When
 * it is published for the first time, these hold:
 * - it was so when it is said to have begun, and was not over since then;
 * - its hold-off has passed;
 * - no work on the node, which may explain it, was under way meanwhile.
 * Its time of beginning stays. It is gone soon after it is over. The use of a device without a slot is
 * a drift while the status names a user.
 * A reason of the condition InSync that is told for the first time was so a moment ago.
 *
 * MISSED_DRIFT. What has been so for a few seconds is pending or published, and after its hold-off
 * published. It stays while nobody can tell whether it is still so. A kubelet that settles, as Attributed
 * says, is told of by InSync as well, or something that comes before it.
 *
 * FLAPPING. A drift of a device is published no more often than it began.
 *
 * These three ask nothing of moments at which something was in the way of knowing (sim/drifts.c).
 *
 * FORGED. A report is refused if its token is not the reporting node's, or not valid. It is refused
 * if it is older than what the controller found published when it started. No node takes over a
 * card that another node has and reports.
 *
 * DELETED. The controller deletes an object only if it was told, the stated time ago, that the node
 * is gone, and was told nothing else of it since. It never does so while the API server has the
 * node, whatever the watch has told of that.
 *
 * STUCK. Nothing spins at one moment of virtual time.
 *
 * GROWING. Where all goes on for hours, the programs need as much memory as MEMORY_SPAN_H hours before.
 *
 * By FALSE_TENANT, entries that are forged under the node's own token are never visible: they are
 * not true. The same holds for what a pod says of itself in HAMi's or KAI's name. Pods that the
 * controller has not been told of may be Pending and Unresolved. Pods that it knows to be of other
 * nodes may not.
 *
 * Threads: the program's only one.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/view.h"

struct attribution_status;
struct report;

/*
 * Longest way from a fault to the truth. Its parts are a back-off of a watch or node (30 s),
 * settling (60 s), a heartbeat (20 s), the node's grace (120 s) and slack.
 */
#define SIM_BOUND_MS 240000u
#define SIM_QUIET_MS 150000u
/* A question to the API server and its answer: so much may come to be known between a join and its write. */
#define ORACLE_ASKED_MS 100u

enum oracle_rule {
	ORACLE_NONE,
	ORACLE_FALSE_TENANT,
	ORACLE_FALSE_USER,
	ORACLE_FALSE_EVENT,
	ORACLE_FALSE_HEALTH,
	ORACLE_CLEARED,
	ORACLE_LOST_EVENT,
	ORACLE_FALSE_IDLE,
	ORACLE_AT_REST,
	ORACLE_NO_CAUSE,
	ORACLE_NEEDLESS,
	ORACLE_LOST,
	ORACLE_LATE,
	ORACLE_STALE,
	ORACLE_GAP,
	ORACLE_FORGED,
	ORACLE_DELETED,
	ORACLE_STUCK,
	ORACLE_FALSE_DRIFT,
	ORACLE_MISSED_DRIFT,
	ORACLE_FLAPPING,
	ORACLE_GROWING,
	ORACLE_N_RULES,
};

struct oracle_violation {
	enum oracle_rule rule;
	uint64_t at;
	char text[512];
};

/* Begins a history: nothing was written, and no rule violated. */
void oracle_reset(void);
/* Frees what the oracle remembers. */
void oracle_clear(void);
/* The first violation, or rule ORACLE_NONE. */
const struct oracle_violation *oracle_found(void);
/* The rule was violated now, as the text says. The first violation counts. */
PRINTF_LIKE(2, 3) void oracle_accuse(enum oracle_rule rule, const char *format, ...);
/* Static text. */
const char *oracle_rule_name(enum oracle_rule rule);

/* From the API server: what took effect, and that a request to write was sent. */
void oracle_created(const char *name);
void oracle_wrote(const char *name, struct view object, uint64_t sent_at);
void oracle_deleted(const char *name, uint64_t sent_at);
void oracle_vanished(const char *name);
void oracle_sent(uint64_t at);
/* Prints each status that takes effect. */
extern bool oracle_is_verbose;
/* Writes seen so far. */
unsigned oracle_writes(void);
/* Of what was written and when, but for the case of letters. */
uint64_t oracle_digest(void);

/* The status of the device that took effect last; NULL: it has none. */
const struct attribution_status *oracle_status(int gpu);
/* What was published of the node before that time rests on a later report of the same boot. */
bool oracle_knows_later(int node, const struct report *report, uint64_t before);
/* What does not end by itself must be said now. */
void oracle_check_trouble(void);
/* Everything must be true now. */
void oracle_check_rest(void);
/* From now on nothing may be written; or it may again. */
void oracle_set_quiet(bool is_quiet);
