/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * arbitrate - the one table that turns votes into a verdict. Nothing else decides who holds a device.
 *
 * Its rows are tried from the first to the last, and the first that fits decides. src/README.md has
 * the table; tests/unit/arbitrate_test.c visits every combination of the input and checks what the
 * table promises:
 *
 *	- without a yes nobody holds a device
 *	- a tenant whose pod lives does not end without a no
 *	- the verdict on a published tenant is never NONE
 *	- a no that becomes silence takes nobody away
 *	- whether somebody was published does not decide whether he holds
 *	- Confirmed rests on a UID, and neither a UID witness nor the List contradicts it
 *
 * Threads: any; pure.
 */

#include <stdbool.h>

#include "base/view.h"
#include "join/arbitrate.def"

/* What the witnesses of one kind say together of one holder and one device. */
enum arbitrate_vote {
	ARBITRATE_SILENT,
	ARBITRATE_YES,
	ARBITRATE_NO,
	ARBITRATE_BOTH, /* one says yes, and one no or less; of the witnesses by UID only */
	ARBITRATE_N_VOTES,
};

/* What the API server knows of the pod. */
enum arbitrate_pod {
	ARBITRATE_POD_ELSEWHERE,   /* it is on another node */
	ARBITRATE_POD_OVER,        /* it is over, or deleted */
	ARBITRATE_POD_UNKNOWN,     /* it has never been known */
	ARBITRATE_POD_PLACEHOLDER, /* it is here; an ID of HAMi's tells that it holds something */
	ARBITRATE_POD_KNOWN,       /* it is here */
	ARBITRATE_N_PODS,
};

enum arbitrate_verdict {
	ARBITRATE_NONE, /* no tenant, and none before */
	ARBITRATE_HOLD, /* a tenant, whether published or not */
	ARBITRATE_KEEP, /* stays a tenant: no witness names it now, and nothing shows that it left */
	ARBITRATE_END,  /* was a tenant, and left */
};

/* The rows, in their order. */
#define ARBITRATE_ROW(row, ...) row,
enum arbitrate_row { ARBITRATE_RULES(ARBITRATE_ROW) ARBITRATE_N_ROWS };

struct arbitrate_input {
	enum arbitrate_vote uid;        /* of Checkpoint, PodStatus and ResourceClaim */
	enum arbitrate_vote name;       /* of PodResources; never BOTH */
	enum arbitrate_vote annotation; /* of HAMi and KAI; never BOTH */
	enum arbitrate_pod pod;
	bool was_published; /* as a tenant of the device */
	bool was_disputed;  /* it stands in the published status that witnesses contradict each other */
	bool is_seen;       /* a process of it was seen on the device */
};

struct arbitrate_result {
	enum arbitrate_verdict verdict;
	int confidence; /* enum attribution_confidence; UNSET unless the verdict is HOLD or KEEP */
	enum arbitrate_row row;
};

/* What a row asks for, as bits 1 << value, 0 for any value; and what follows. */
struct arbitrate_rule {
	struct view name; /* static */
	unsigned pod, uid, by_name, annotation;
	enum arbitrate_verdict verdict; /* KEEP fits published tenants only; END means NONE of others */
	int confidence;
};

/* The verdict of the first row that fits; the last one fits everything. */
struct arbitrate_result arbitrate_decide(const struct arbitrate_input *input);
/*
 * The confidence of a tenant that is kept, by the votes of the witnesses that are left: a dispute stays
 * until none of them is.
 */
int arbitrate_keep(const struct arbitrate_input *left);
/* The confidence once a process is seen on the device: it bears out what an annotation says. */
int arbitrate_bear_out(int confidence);
/* The row itself, for documents. */
const struct arbitrate_rule *arbitrate_rule(enum arbitrate_row row);
