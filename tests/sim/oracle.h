/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * oracle - judges every status that takes effect at the API server against the truth (sim/world.h),
 * and the whole once more when everything is at rest.
 *
 * The rules; "told" means that the last byte of the event or list that says it was given to the
 * present controller before the write was sent:
 *
 * FALSE_TENANT	A tenant that is not Unconfirmed is a pod of the world under its own UID and
 *		name, on the node of the status, and that container had been given slots of that
 *		very device, as many and of those partitions, before the write was sent; and the
 *		controller had not been told that the pod is over. So a tenant whose end it cannot
 *		have heard of may stay: the evidence it rests on was true when it was made. No
 *		other excuse: not a lost watch, not a clock, not a short List, not a replayed or
 *		forged report. But for this: an annotation of HAMi's that somebody spoilt, and
 *		that names a device which came to the pod's node later, makes it Annotated there.
 *		And for claims: a node whose devices were numbered anew, until the controller was
 *		told of all its slices; and a card that left the node, while nothing there has the
 *		name by which the claim gave it.
 *		One that is Confirmed lists a witness that names its UID, or HAMi or KAI and
 *		Processes.
 *		A tenant that is borne out by Processes had one, that container on that device;
 *		who is remembered as a tenant was one.
 * FALSE_USER	An unallocated user is a process that was on the device, and at some moment while
 *		it was its pod had no slot of it, or the controller had waited the stated time to
 *		be told of the pod. It was there as long as the node says so under its own token,
 *		which a forged report does of a process that has ended.
 * FALSE_EVENT	An error event was raised by the device, and each pod that it names held the device
 *		then, or 2 s earlier or later, since it is told by another clock than tenancy;
 *		or it had held the device and the present controller was not told before the
 *		event that it is over; or the controller's clock and the node's differ, so that
 *		nobody can tell what was first. And each pod is named that was published with the
 *		device before the event, and held it then, if the agent was told of the event soon.
 * AT_REST	SIM_BOUND_MS after all faults have ended, each device in a node has an object that
 *		says exactly what is so: node, mode, tenants (who, container, slots, partitions,
 *		phase, confidence, witnesses), slots, conditions True. Nothing is missing, nothing
 *		is there that is not so. Excused, for there is no evidence left: what a pod holds
 *		whose entry was wiped from the kubelet's books, or that is of a MIG device which
 *		is gone, or by a claim that was removed by force, or by an annotation of HAMi's
 *		that somebody spoilt. Whose claim gives a device that has gone to another node
 *		is an unplaced tenant. Of a node without an agent nothing is known but which app
 *		containers the status of pods says to have which whole devices, and what claims
 *		and slices say: those must be there in every detail, unless an agent elsewhere has
 *		claimed the device, which such a node cannot contest. Of HAMi's pods there only
 *		the node is known.
 * NO_CAUSE	Each doubtful word (mode Unknown; a tenant Pending, Unresolved, NameOnly or
 *		Disputed; a count that is not known; Ready, Attributed or ReportFresh not True)
 *		has a cause in the history (sim/cause.h) that was there within the time that such
 *		a cause may take to wear off; the table in sim/doubt.c says which excuses which, and for how long.
 * NEEDLESS	No write repeats the status that is there, in text or (unless the controller's
 *		clock was set lately) in everything but times and the report that it was made
 *		from; at rest nothing is written at all,
 *		nor after a restart of the controller.
 * LOST		A tenant that was listed does not vanish while it holds the device, its pod lives
 *		and a book of the kubelet's has it: not by a short List, a source that failed, an
 *		older report, a restart of anything; nor while it has it by a claim: not by slices
 *		that go, are not whole or are numbered anew, nor by an API that is denied; but a
 *		claim that cannot be read while they are numbered anew may leave it unplaced.
 * LATE		While nothing has been wrong for a while, a pod's new phase or its end shows
 *		within 3 s of the moment when the controller was told, a new tenant within 6 s of
 *		its allocation, and that a node is silent 3 s after it has been so for the stated
 *		time. No watch is away for longer than a few seconds while the API server
 *		answers.
 * STALE	No status says Ready unless the controller watches pods when it is sent: what it
 *		knows of them is no older than a second.
 * FORGED	A report with a token that is not the reporting node's, or that is none, is refused;
 *		so is one that is older than what the controller found published when it started;
 *		and no node takes over a card that another one has and tells of.
 * DELETED	An object is deleted only when the controller was told, the stated time ago, that
 *		its node is gone, and nothing else since; and never while the API server has the
 *		node, whatever the watch has told of that.
 * STUCK	Nothing spins at one moment of virtual time.
 *
 * That entries forged under the node's own token are never visible follows from FALSE_TENANT: what
 * is forged is not so, neither a report's nor what a pod says of itself in HAMi's or KAI's name.
 * Pods that the controller has not been told of may be shown as Pending and Unresolved; those that
 * it knows to be of other nodes may not.
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
 * Longest way from a fault to the truth: the back-off of a watch or of a node (30 s), the settling
 * time (60 s), a heartbeat (20 s), the node's grace (120 s), and their sum's slack.
 */
#define SIM_BOUND_MS 240000u
#define SIM_QUIET_MS 150000u

enum oracle_rule {
	ORACLE_NONE,
	ORACLE_FALSE_TENANT,
	ORACLE_FALSE_USER,
	ORACLE_FALSE_EVENT,
	ORACLE_AT_REST,
	ORACLE_NO_CAUSE,
	ORACLE_NEEDLESS,
	ORACLE_LOST,
	ORACLE_LATE,
	ORACLE_STALE,
	ORACLE_FORGED,
	ORACLE_DELETED,
	ORACLE_STUCK,
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
/* Everything must be true now. */
void oracle_check_rest(void);
/* From now on nothing may be written; or it may again. */
void oracle_set_quiet(bool is_quiet);
