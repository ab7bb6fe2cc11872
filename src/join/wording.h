/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * wording - the reasons, messages and other texts that a status is published with, as enumerations.
 * Everything else in the join decides by these enumerations: rewording a text changes no decision.
 *
 * Threads: any; pure.
 */

#include <stdint.h>

#include "base/array.h"
#include "base/view.h"

/* The sources that say who holds what, as bits; in the order in which a tenant lists them. */
enum witness {
	WITNESS_CHECKPOINT = 1u << 0,
	WITNESS_POD_RESOURCES = 1u << 1,
	WITNESS_POD_STATUS = 1u << 2,
	WITNESS_RESOURCE_CLAIM = 1u << 3,
	WITNESS_HAMI = 1u << 4,
	WITNESS_KAI = 1u << 5,
	WITNESS_PROCESSES = 1u << 6, /* corroborates only: it is no allocation */
};
#define N_WITNESSES 7u

/* The pods and IDs that hold a device for another pod. */
enum placeholder {
	PLACEHOLDER_NONE,
	PLACEHOLDER_HAMI,
	PLACEHOLDER_KAI,
};

/* The types of conditions, in the order in which they are published. */
enum condition_type {
	CONDITION_ATTRIBUTED,
	CONDITION_DRIFTED,
	CONDITION_HEALTHY,
	CONDITION_READY,
	CONDITION_REPORT_FRESH,
	N_CONDITION_TYPES,
};

/* Reasons of conditions and of health. XID errors have reasons of their own: wording_xid(). */
enum reason {
	REASON_NONE, /* no condition, or a reason that this version does not know */
	REASON_ALL_RESOLVED,
	REASON_PENDING,
	REASON_UNRESOLVED,
	REASON_POD_UNKNOWN,
	REASON_PLACEHOLDER,
	REASON_SLOT_HELD_TWICE,
	REASON_SOURCE_DISAGREEMENT,
	REASON_UNKNOWN_DEVICE_ID,
	REASON_RESERVED_OTHERWISE,
	REASON_CLAIMS_UNKNOWN,
	REASON_PODS_STALE,
	REASON_PODS_UNKNOWN,
	REASON_NO_AGENT,
	REASON_SETTLING,
	REASON_SOURCES_FAILED,
	REASON_UNCONFIRMED,
	REASON_AWAITING_REPORT,
	REASON_CURRENT,
	REASON_DUPLICATE_UUID,
	REASON_REPORT_STALE,
	REASON_REPORT_RECEIVED,
	REASON_AGENT_SILENT,
	REASON_UNMANAGED,
	REASON_NOT_ASSESSED,
	REASON_NOTHING_FOUND,
	REASON_DEVICE_MISSING,
	REASON_NOT_ADVERTISED,
	REASON_NVML_UNAVAILABLE,
	N_REASONS,
};

/*
 * Messages, of which some reasons have several. MESSAGE_PENDING to MESSAGE_UNRESOLVED_AND_UNKNOWN
 * are completed by wording_slots().
 */
enum message {
	MESSAGE_ALL_RESOLVED,
	MESSAGE_RESOLVED_WITHOUT_CHECKPOINT,
	MESSAGE_RESOLVED_WITHOUT_POD_RESOURCES,
	MESSAGE_PENDING,
	MESSAGE_UNRESOLVED,
	MESSAGE_POD_UNKNOWN,
	MESSAGE_PLACEHOLDER,
	MESSAGE_UNRESOLVED_AND_UNKNOWN,
	MESSAGE_SOURCE_DISAGREEMENT,
	MESSAGE_UNPLACED,
	MESSAGE_RESERVED_OTHERWISE,
	MESSAGE_CLAIMS_DENIED,
	MESSAGE_CLAIMS_INCOMPLETE,
	MESSAGE_PODS_STALE,
	MESSAGE_PODS_UNKNOWN,
	MESSAGE_API_ONLY,
	MESSAGE_SETTLING,
	MESSAGE_SOURCES_FAILED,
	MESSAGE_UNCONFIRMED,
	MESSAGE_AWAITING_REPORT,
	MESSAGE_CURRENT,
	MESSAGE_DUPLICATE_UUID,
	MESSAGE_REPORT_STALE,
	MESSAGE_NO_AGENT,
	MESSAGE_REPORT_RECEIVED,
	MESSAGE_AGENT_SILENT,
	MESSAGE_NEVER_REPORTED,
	MESSAGE_UNMANAGED,
	MESSAGE_NOT_ASSESSED,
	MESSAGE_NOTHING_FOUND,
	MESSAGE_DEVICE_MISSING,
	MESSAGE_NOT_ADVERTISED,
	MESSAGE_NVML_UNAVAILABLE,
	MESSAGE_NO_AGENT_FOR_HEALTH,
	MESSAGE_NO_REASON_GIVEN,
	N_MESSAGES,
};

/* Lines of status.sharing.evidence, as bits. */
enum evidence {
	EVIDENCE_MIG_IDS = 1u << 0,
	EVIDENCE_GPU_IDS = 1u << 1,
	EVIDENCE_REPLICA_IDS = 1u << 2,
	EVIDENCE_SHARED_ID = 1u << 3,
	EVIDENCE_SHARE_BY_CLAIM = 1u << 4,
	EVIDENCE_LEFT_OVER_ID = 1u << 5,
	EVIDENCE_NO_IDS = 1u << 6,
	EVIDENCE_MIG_IS_ON = 1u << 7,
	EVIDENCE_HAMI_IDS = 1u << 8,
	EVIDENCE_ODD_ID = 1u << 9,
	EVIDENCE_WITH_PIPE = 1u << 10,
	EVIDENCE_WITHOUT_PIPE = 1u << 11,
	EVIDENCE_EXCLUSIVE_PROCESS = 1u << 12,
	EVIDENCE_MPS_PROCESS = 1u << 13,
	EVIDENCE_DEFAULT_MODE = 1u << 14,
	EVIDENCE_DEFAULT_MODE_CONTRADICTS = 1u << 15,
	EVIDENCE_MIG_CONTRADICTS = 1u << 16,
	EVIDENCE_PIPE_CONTRADICTS = 1u << 17,
	EVIDENCE_LABEL_MPS = 1u << 18,
	EVIDENCE_LABEL_MPS_CONTRADICTS = 1u << 19,
	EVIDENCE_LABEL_TIME_SLICING = 1u << 20,
	EVIDENCE_LABEL_TIME_SLICING_CONTRADICTS = 1u << 21,
	EVIDENCE_LABEL_NONE_CONTRADICTS = 1u << 22,
};
#define N_EVIDENCE 23u

/* The text of each; static. The index of a witness is that of its bit. */
struct view wording_witness(unsigned index);
struct view wording_placeholder(enum placeholder placeholder); /* of PLACEHOLDER_NONE: empty */
struct view wording_condition(enum condition_type type);
struct view wording_reason(enum reason reason);
struct view wording_message(enum message message);
struct view wording_evidence(enum evidence line);

/* What a published text means. A text that is not known: 0, PLACEHOLDER_NONE, REASON_NONE. */
unsigned wording_witnesses_of(struct array texts); /* struct view; bits of enum witness */
enum placeholder wording_placeholder_of(struct view text);
enum reason wording_reason_of(struct view text);
unsigned wording_evidence_of(struct view text); /* a bit of enum evidence */

/* The longest text of wording_xid(), and of wording_slots(), with its NUL. */
#define WORDING_XID_SIZE 32u
#define WORDING_SLOTS_SIZE 128u
/* Writes the reason of an XID error, "XID79", into text, and returns it. */
struct view wording_xid(int64_t code, char text[static WORDING_XID_SIZE]);
/* Writes "3 slots are held by ..." into text, and returns it. */
struct view wording_slots(int64_t n, enum message held_by, char text[static WORDING_SLOTS_SIZE]);
/* Appends that the unit is held by several pods, of which that many are not named. */
struct sbuf;
struct pod;
void wording_held_twice(struct view unit, const struct pod *const *pods, size_t n_pods,
		      size_t n_more, struct sbuf *message);
/* Appends that a tenant holds the ID, and so many further ones, of no known form. */
void wording_odd_id(struct view id, size_t n_more, struct sbuf *message);
