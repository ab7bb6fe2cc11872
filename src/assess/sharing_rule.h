/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * sharing_rule - the rows of assess/sharing.def, by which the sharing mode of a device is concluded from what
 * was found of it. Findings are lines of evidence (enum evidence), and those below, as bits.
 *
 * Threads: any; pure.
 */

#include <stddef.h>

#include "assess/sharing.def"
#include "model/attribution.h"

#define SHARING_INDEX(name, text) name##_INDEX,
#define SHARING_BIT(name, text) name = 1u << name##_INDEX,
/* Lines of status.sharing.evidence, and as bits. */
enum evidence_index { SHARING_EVIDENCE(SHARING_INDEX) N_EVIDENCE };
enum evidence { SHARING_EVIDENCE(SHARING_BIT) };

/* Findings that are no lines. */
enum sharing_rule_finding {
	SHARING_WHOLE = 1u << N_EVIDENCE, /* IDs of the device, replicas or not */
	SHARING_WHOLE_REPLICA = SHARING_WHOLE << 1,
	SHARING_PART = SHARING_WHOLE << 2, /* IDs of MIG devices that are no replicas */
	SHARING_PART_REPLICA = SHARING_WHOLE << 3,
	SHARING_SHARED_WHOLE = SHARING_WHOLE << 4, /* by pods of one ID, or by shares */
	SHARING_SHARED_PART = SHARING_WHOLE << 5,
	SHARING_UNSHARED = SHARING_WHOLE << 6,
	SHARING_BY_MINOR = SHARING_WHOLE << 7, /* replicas have names as GKE's plugin gives them */
};

struct sharing_rule {
	struct view name;
	unsigned needs; /* findings, all of which are there */
	enum attribution_mode mode;
	unsigned says;    /* lines: those that are found */
	struct view text; /* what it says, as a sentence without its full stop */
};

/* A line as it is published; static. */
struct view sharing_rule_text(enum evidence_index line);
/* What a published line means, a bit of enum evidence; 0: it is not known. */
unsigned sharing_rule_line_of(struct view text);
/* How many rows there are. */
size_t sharing_rule_count(void);
/* The row of that index; static. */
const struct sharing_rule *sharing_rule_at(size_t row);
/* The row that decides; one always does. */
const struct sharing_rule *sharing_rule_decide(unsigned found);
/* The lines that are published where the row decided. */
unsigned sharing_rule_lines(const struct sharing_rule *rule, unsigned found);
/*
 * The rows that may have decided where the mode (enum attribution_mode) and those lines are published, as
 * bits 1 << index; 0: none of this version gives that.
 */
unsigned sharing_rule_find(int mode, unsigned lines);
