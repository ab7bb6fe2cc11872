/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * votes - what the witnesses say of one holder on one device: its facts, and what the silence of
 * each source is worth. join/arbitrate.h decides by them.
 *
 * Threads: any; pure but for what the debounce notes.
 * Limits:  LIMIT_STATED_IDS of what one witness says; the rest is counted.
 */

#include "join/arbitrate.h"
#include "base/debounce.h"
#include "join/facts.h"

/* A holder on a device: one that facts name there, or one that is published there, or both. */
struct votes_holder {
	const struct facts *facts;
	size_t device; /* index in the devices */
	struct view pod_uid;
	struct view container;
	const struct pod *pod;    /* NULL: the API server does not have it on this node */
	const struct fact *items; /* its facts there */
	size_t n_items;
	const struct previous_tenant *previous; /* as it was published there; NULL: it was not */
	enum placeholder placeholder;           /* by its facts; without any, as published */
	bool holds_the_same; /* by its facts it holds as many slots and partitions as published */
};

/* The numbers are sets of enum witness. */
struct votes {
	const struct votes_holder *of;
	enum arbitrate_pod pod;
	unsigned yes;    /* that name it on the device, or did so last and cannot be read now */
	unsigned no;     /* that do not name it there, or name less of it than others do */
	unsigned left;   /* without facts: of the published ones, those that may still name it */
	unsigned speaks; /* where compared, that say something of it */
	bool is_carried; /* the contradiction is the published one: nothing new was heard of it */
};

/*
 * Hears all witnesses of the holder, to whom the result points. A no beside a yes is a contradiction:
 * until it counts by the debounce, it is taken for silence.
 */
struct votes votes_take(const struct votes_holder *holder, struct debounce *debounce);
/* The verdict on the holder. */
struct arbitrate_result votes_decide(const struct votes *votes);
/*
 * What each witness that speaks says, as struct attribution_statement in arena: what they differ in
 * comes first. Without memory nothing.
 */
struct array votes_state(const struct votes *votes, struct arena *arena);
