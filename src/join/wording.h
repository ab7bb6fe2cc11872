/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * wording - the reasons, messages and other texts that a status is published with, as enumerations
 * (join/wording.def), by which all else decides: rewording a text changes no decision.
 *
 * Threads: any; pure.
 */

#include <stdint.h>

#include "base/array.h"
#include "base/view.h"
#include "join/wording.def"

struct sbuf;
struct pod;

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

#define WORDING_NAME(name, text) name,
enum condition_type { WORDING_CONDITIONS(WORDING_NAME) N_CONDITION_TYPES };
/* REASON_NONE: no condition, or a reason that this version does not know. */
enum reason { REASON_NONE, WORDING_REASONS(WORDING_NAME) N_REASONS };
enum message { WORDING_MESSAGES(WORDING_NAME) N_MESSAGES };

/* The name of a witness; static, as all texts here. index is that of its bit. */
struct view wording_witness(unsigned index);
/* Who holds for others; empty of PLACEHOLDER_NONE. */
struct view wording_placeholder(enum placeholder placeholder);
/* The type of a condition. */
struct view wording_condition(enum condition_type type);
/* The reason of a condition; empty of REASON_NONE. */
struct view wording_reason(enum reason reason);
/* The message of a condition, or the end of one that wording_slots() completes. */
struct view wording_message(enum message message);

/* The witnesses that published texts (struct view) name, bits of enum witness; unknown ones add none. */
unsigned wording_witnesses_of(struct array texts);
/* What a published text means; PLACEHOLDER_NONE: it is not known. */
enum placeholder wording_placeholder_of(struct view text);
/* The same of a condition's reason; REASON_NONE: it is not known. */
enum reason wording_reason_of(struct view text);
/* True for a type of condition that is ours, or was in an earlier release. */
bool wording_is_condition(struct view type);

/* Appends "3 slots are held by ...". */
void wording_slots(int64_t n, enum message held_by, struct sbuf *message);
/* Appends that the unit is held by several pods, of which that many are not named. */
void wording_held_twice(struct view unit, const struct pod *const *pods, size_t n_pods,
		      size_t n_more, struct sbuf *message);
/* Appends that a tenant holds the ID, and so many further ones, of no known form. */
void wording_odd_id(struct view id, size_t n_more, struct sbuf *message);
