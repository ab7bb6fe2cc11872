/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Slots, facts and claims are read into findings. The first rule that fits the findings decides the
 * mode. The form of the device IDs tells whether they name the device or MIG devices, and whether
 * they are replicas. It does not tell MPS from time-slicing: the clues do. The first clue decides,
 * unless one that is as strong says otherwise: then the mode is unknown.
 *
 * The evidence says what decided, and what of compute mode, MIG mode and label contradicts it; the
 * label also when it agrees. It lists no processes beside that: they come and go.
 */

#include "join/sharing.h"

#include <assert.h>
#include <stdlib.h>

#include "join/from_resource_claim.h"

/* What the rules look at; forms of IDs first. */
enum finding {
	FORM_GPU = 1u << 0,
	FORM_GPU_REPLICA = 1u << 1,
	FORM_MIG = 1u << 2,
	FORM_MIG_REPLICA = 1u << 3,
	FORM_HAMI = 1u << 4,
	FORM_ODD = 1u << 5,
	FORM_WHOLE = FORM_GPU | FORM_GPU_REPLICA,
	FORM_PART = FORM_MIG | FORM_MIG_REPLICA,
	/* Several pods hold one ID that is no replica, or one holds it for others, or a share. */
	SHARED_GPU = 1u << 6,
	SHARED_MIG = 1u << 7,
	MIG_IS_ON = 1u << 8,
	ANYTHING = 1u << 9, /* always found */
};

/* A pod uses the device, or a part of it, by means of a claim. */
struct use {
	struct view part; /* UUID or name of the MIG device; empty: the whole device */
	struct view pod_uid;
	bool is_part;
	bool is_share;
};

struct findings {
	const struct subject *subject;
	const struct tenants *tenants;
	struct attribution_sharing published; /* its mode is UNSET when nothing was published */
	unsigned evidence_before;             /* of enum evidence: that of the same */
	unsigned first_evidence_before;
	unsigned forms;     /* of IDs on offer; of those held, when none is on offer */
	unsigned left_over; /* forms of IDs held and not on offer */
	unsigned shared;    /* SHARED_GPU, SHARED_MIG */
	unsigned mps;       /* of enum fact_mps: of replicas of the device */
	unsigned part_mps;  /* the same of replicas of MIG devices */
	int compute_mode;
	bool is_mig_on;
	bool has_offer;
	bool is_by_minor; /* replicas have names as GKE's plugin gives them */
	bool has_share;   /* a claim gives a share of the device or of a MIG device */
	struct use *uses; /* by claims */
	size_t n_uses;
	struct sharing sharing;
};

/* Each line once. */
static void add(struct findings *f, enum evidence line)
{
	struct sharing *sharing = &f->sharing;
	if (sharing->evidence & line)
		return;
	assert(sharing->n_lines < SHARING_MAX_LINES);
	sharing->lines[sharing->n_lines++] = line;
	sharing->evidence |= line;
}

static void conclude(struct findings *f, int mode, enum evidence line)
{
	f->sharing.mode = mode;
	add(f, line);
}

/* MPS or time-slicing? */

static bool has_mps_process(const struct report_device *reported)
{
	const struct array processes = reported ? reported->processes : (struct array){0};
	for (uint32_t i = 0; i < processes.count; i++) {
		if (ARRAY_AT(processes, struct report_process, i)->kind == REPORT_PROCESS_MPS)
			return true;
	}
	return false;
}

/* NVIDIA's plugin changes the compute mode for MPS; GKE's does not. */
static bool is_against_mps(const struct findings *f)
{
	return f->compute_mode == REPORT_COMPUTE_DEFAULT && !f->is_by_minor;
}

static enum evidence shared_by(const struct findings *f)
{
	return f->has_share ? EVIDENCE_SHARE_BY_CLAIM : EVIDENCE_SHARED_ID;
}

/*
 * A weak clue does not contradict another. Any pod may run an MPS of its own, so its process is a
 * clue only when the compute mode is not known.
 */
static void follow_clues(struct findings *f)
{
	const int MPS = ATTRIBUTION_MODE_MPS, TIME_SLICED = ATTRIBUTION_MODE_TIME_SLICED;
	const struct {
		bool is_so, is_weak;
		int mode;
		enum evidence line;
	} clues[] = {
		{f->mps & FACT_MPS_USED, false, MPS, EVIDENCE_WITH_PIPE},
		{f->mps & FACT_MPS_NOT_USED, false, TIME_SLICED, EVIDENCE_WITHOUT_PIPE},
		{f->compute_mode == REPORT_COMPUTE_EXCLUSIVE_PROCESS, false, MPS,
		 EVIDENCE_EXCLUSIVE_PROCESS},
		{f->compute_mode == REPORT_COMPUTE_UNKNOWN &&
			 has_mps_process(f->subject->device->reported),
		 true, MPS, EVIDENCE_MPS_PROCESS},
		{is_against_mps(f), true, TIME_SLICED, EVIDENCE_DEFAULT_MODE},
	};

	for (size_t i = 0; i < ARRAY_SIZE(clues); i++) {
		const bool is_first = f->sharing.n_lines == 0;
		if (!clues[i].is_so || clues[i].mode == f->sharing.mode ||
		    (clues[i].is_weak && !is_first))
			continue;
		conclude(f, is_first ? clues[i].mode : ATTRIBUTION_MODE_UNKNOWN, clues[i].line);
		if (!is_first)
			return;
	}
	if (f->sharing.n_lines == 0)
		conclude(f, ATTRIBUTION_MODE_UNKNOWN,
			 f->shared & SHARED_GPU ? shared_by(f) : EVIDENCE_REPLICA_IDS);
}

/* A tenant known by UID was there when the checkpoint told the mode; one by name may be newer. */
static bool has_old_tenant(const struct findings *f)
{
	const struct array tenants = f->tenants->listed;
	for (uint32_t i = 0; i < tenants.count; i++) {
		int confidence = ARRAY_AT(tenants, struct attribution_tenant, i)->confidence;
		if (confidence == ATTRIBUTION_CONFIDENCE_CONFIRMED ||
		    confidence == ATTRIBUTION_CONFIDENCE_DISPUTED)
			return true;
	}
	return false;
}

/*
 * The checkpoint told MPS from time-slicing, and cannot be read: what it told still holds, unless
 * the compute mode contradicts it, and did not then.
 */
static bool is_carried_over(const struct findings *f)
{
	if (f->subject->facts->source.checkpoint != SOURCE_ABSENT || !has_old_tenant(f) ||
	    !(f->first_evidence_before & (EVIDENCE_WITH_PIPE | EVIDENCE_WITHOUT_PIPE)))
		return false;
	if (f->published.mode == ATTRIBUTION_MODE_MPS)
		return !is_against_mps(f) ||
		       (f->evidence_before & EVIDENCE_DEFAULT_MODE_CONTRADICTS);
	return f->published.mode == ATTRIBUTION_MODE_TIME_SLICED &&
	       f->compute_mode != REPORT_COMPUTE_EXCLUSIVE_PROCESS;
}

/*
 * Without a strategy for MIG the plugin offers a device in MIG mode as a whole one. A plugin that
 * does not share is no news when the device is not shared.
 */
static void add_mig_and_label(struct findings *f)
{
	static const struct {
		struct view value;
		int mode;
		enum evidence agrees, contradicts;
	} labels[] = {
		{VIEW_INIT("mps"), ATTRIBUTION_MODE_MPS, EVIDENCE_LABEL_MPS,
		 EVIDENCE_LABEL_MPS_CONTRADICTS},
		{VIEW_INIT("time-slicing"), ATTRIBUTION_MODE_TIME_SLICED,
		 EVIDENCE_LABEL_TIME_SLICING, EVIDENCE_LABEL_TIME_SLICING_CONTRADICTS},
	};
	const struct node *node = f->subject->facts->input->node;
	const int mode = f->sharing.mode;
	struct view label = {0};

	if (f->is_mig_on && mode != ATTRIBUTION_MODE_UNKNOWN)
		add(f, EVIDENCE_MIG_CONTRADICTS);
	if (node)
		(void)node_label(node, VIEW("gpu.sharing-strategy"), &label);
	for (size_t i = 0; i < ARRAY_SIZE(labels); i++) {
		bool agrees = mode == ATTRIBUTION_MODE_UNKNOWN || mode == labels[i].mode;
		if (view_equal(labels[i].value, label))
			add(f, agrees ? labels[i].agrees : labels[i].contradicts);
	}
	if (view_equal(label, VIEW("none")) && mode != ATTRIBUTION_MODE_UNKNOWN &&
	    f->forms == FORM_GPU_REPLICA)
		add(f, EVIDENCE_LABEL_NONE_CONTRADICTS);
}

/* Two clues that contradict each other are all that is said. */
static void tell_mps_from_time_slicing(struct findings *f)
{
	if (is_carried_over(f))
		conclude(f, f->published.mode, (enum evidence)f->first_evidence_before);
	else
		follow_clues(f);
	if (f->sharing.n_lines > 1)
		return;
	if (f->sharing.mode == ATTRIBUTION_MODE_MPS && is_against_mps(f))
		add(f, EVIDENCE_DEFAULT_MODE_CONTRADICTS);
	add_mig_and_label(f);
}

/* The rules */

static const struct rule {
	unsigned one, other; /* something of each was found */
	int mode;            /* ATTRIBUTION_MODE_UNSET: MPS or time-slicing */
	unsigned lines[2];   /* of enum evidence; 0: none */
} rules[] = {
	{FORM_ODD, FORM_ODD, ATTRIBUTION_MODE_UNKNOWN, {EVIDENCE_ODD_ID}},
	{FORM_HAMI, FORM_HAMI, ATTRIBUTION_MODE_UNKNOWN, {EVIDENCE_HAMI_IDS}},
	{FORM_WHOLE, FORM_PART, ATTRIBUTION_MODE_UNKNOWN, {EVIDENCE_GPU_IDS, EVIDENCE_MIG_IDS}},
	{FORM_GPU, FORM_GPU_REPLICA, ATTRIBUTION_MODE_UNKNOWN,
	 {EVIDENCE_GPU_IDS, EVIDENCE_REPLICA_IDS}},
	{FORM_MIG_REPLICA, FORM_MIG_REPLICA, ATTRIBUTION_MODE_MIG_TIME_SLICED,
	 {EVIDENCE_MIG_IDS, EVIDENCE_REPLICA_IDS}},
	{FORM_MIG, SHARED_MIG, ATTRIBUTION_MODE_MIG_TIME_SLICED, {EVIDENCE_MIG_IDS}},
	{FORM_MIG, FORM_MIG, ATTRIBUTION_MODE_MIG, {EVIDENCE_MIG_IDS}},
	{FORM_GPU_REPLICA, FORM_GPU_REPLICA, ATTRIBUTION_MODE_UNSET, {0}},
	{FORM_GPU, SHARED_GPU, ATTRIBUTION_MODE_UNSET, {0}},
	{FORM_GPU, FORM_GPU, ATTRIBUTION_MODE_EXCLUSIVE, {EVIDENCE_GPU_IDS}},
	{MIG_IS_ON, MIG_IS_ON, ATTRIBUTION_MODE_MIG, {EVIDENCE_MIG_IS_ON}},
	{ANYTHING, ANYTHING, ATTRIBUTION_MODE_UNKNOWN, {EVIDENCE_NO_IDS}},
};

/* The first rule that fits. */
static void apply_rules(struct findings *f)
{
	const unsigned found = f->forms | f->shared | (f->is_mig_on ? MIG_IS_ON : 0u) | ANYTHING;
	const struct rule *rule = rules;

	while (!(found & rule->one) || !(found & rule->other))
		rule++;
	assert(rule < rules + ARRAY_SIZE(rules));
	f->sharing.mode = rule->mode;
	for (size_t i = 0; i < ARRAY_SIZE(rule->lines) && rule->lines[i]; i++)
		add(f, (enum evidence)rule->lines[i]);
	if (rule->mode == ATTRIBUTION_MODE_UNSET)
		tell_mps_from_time_slicing(f);
	if (rule->mode == ATTRIBUTION_MODE_EXCLUSIVE)
		add_mig_and_label(f);
	if (rule->one == FORM_MIG_REPLICA && f->part_mps & FACT_MPS_USED)
		add(f, EVIDENCE_PIPE_CONTRADICTS);
	if (rule->other == SHARED_MIG)
		add(f, shared_by(f));
	if (rule->other == SHARED_GPU && f->has_share)
		add(f, EVIDENCE_SHARE_BY_CLAIM);
	if (f->left_over & ~f->forms)
		add(f, EVIDENCE_LEFT_OVER_ID);
}

/* Reading what is known of the device */

static enum finding form_of(const struct slot *slot)
{
	if (slot->is_odd)
		return FORM_ODD;
	if (slot->is_hami)
		return FORM_HAMI;
	if (slot->is_mig)
		return slot->is_replica ? FORM_MIG_REPLICA : FORM_MIG;
	return slot->is_replica ? FORM_GPU_REPLICA : FORM_GPU;
}

/* When IDs are on offer, they alone tell how the device is shared now: others are of before. */
static void read_slots(struct findings *f)
{
	const struct slot *last = NULL;
	int64_t n = 0;

	for (size_t i = 0; i < f->subject->n_slots; i++)
		f->has_offer |= f->subject->slots[i].is_offered;
	for (size_t i = 0; i < f->subject->n_slots; i++) {
		const struct slot *slot = &f->subject->slots[i];
		if (f->has_offer && !slot->is_offered) {
			f->left_over |= form_of(slot);
			continue;
		}
		f->forms |= form_of(slot);
		/* Slots are by ID, so those of one partition follow each other. */
		bool is_next = last && slot->is_replica && last->is_replica &&
			       view_equal(slot->partition, last->partition);
		n = is_next ? n + 1 : 1;
		if (n > f->sharing.replicas)
			f->sharing.replicas = n;
		last = slot;
		if (!slot->is_replica)
			continue;
		f->is_by_minor |= slot->is_by_minor;
		*(slot->is_mig ? &f->part_mps : &f->mps) |= slot->mps;
	}
}

/* Claims */

/* A pod that only monitors shares nothing. */
static void read_facts(struct findings *f)
{
	for (size_t i = 0; i < f->subject->n_items; i++) {
		const struct fact *item = &f->subject->items[i];
		if (item->witnesses & WITNESS_KAI)
			f->shared |= SHARED_GPU;
		if (!(item->witnesses & WITNESS_RESOURCE_CLAIM) || item->is_monitor)
			continue;
		f->uses[f->n_uses++] = (struct use){
			.part = item->is_part && item->partition.len == 0 ? item->id
									  : item->partition,
			.pod_uid = item->owner->pod_uid,
			.is_part = item->is_part,
			.is_share = item->is_share,
		};
	}
}

static int by_part(const void *a, const void *b)
{
	return view_compare(((const struct use *)a)->part, ((const struct use *)b)->part);
}

/* A part that two pods use is shared. */
static void find_shared(struct findings *f)
{
	for (size_t i = 0; i < f->n_uses; i++) {
		const struct use *use = &f->uses[i], *last = i > 0 ? use - 1 : NULL;
		f->has_share |= use->is_share;
		if (use->is_share || (last && view_equal(last->part, use->part) &&
				      !view_equal(last->pod_uid, use->pod_uid)))
			f->shared |= use->is_part ? SHARED_MIG : SHARED_GPU;
	}
}

static int read_claims(struct findings *f, struct error *err)
{
	const struct subject *subject = f->subject;

	f->uses = arena_alloc(subject->arena, subject->n_items, sizeof(*f->uses));
	if (!f->uses)
		return error_no_memory(err);
	read_facts(f);
	assert(f->n_uses <= subject->n_items);
	qsort(f->uses, f->n_uses, sizeof(*f->uses), by_part);
	find_shared(f);
	return 0;
}

/* The form of the IDs that were on offer when the status was published; 0: none, or several. */
static unsigned published_form(const struct findings *f)
{
	if (f->published.mode == ATTRIBUTION_MODE_MIG)
		return FORM_MIG;
	if (f->published.mode == ATTRIBUTION_MODE_MIG_TIME_SLICED)
		return FORM_MIG_REPLICA;
	if (f->published.mode == ATTRIBUTION_MODE_EXCLUSIVE)
		return FORM_GPU;
	/* Perhaps only MPS and time-slicing could not be told apart. */
	if (f->evidence_before & (EVIDENCE_GPU_IDS | EVIDENCE_HAMI_IDS | EVIDENCE_ODD_ID))
		return 0;
	return f->published.replicas == 1 ? FORM_GPU : FORM_GPU_REPLICA;
}

/*
 * With no ID on offer, the held ones may be of before and of now. Which are of now is known where
 * some were left over already when the status was published.
 */
static void tell_left_over(struct findings *f)
{
	unsigned form = 0;
	if (!f->has_offer && f->forms && f->evidence_before & EVIDENCE_LEFT_OVER_ID &&
	    !from_resource_claim_hands_out(f->subject->facts, f->subject->index))
		form = published_form(f);
	if (form == 0)
		return;
	f->left_over = f->forms & ~form;
	f->forms = form;
	f->sharing.replicas = f->published.replicas;
}

/* With no ID on offer, the held ones are a part of all: how many those are, the status told. */
static void complete_replicas(struct findings *f)
{
	if (!f->has_offer && f->forms & ~(unsigned)(FORM_GPU | FORM_MIG))
		f->sharing.replicas =
			f->published.mode == f->sharing.mode ? f->published.replicas : 0;
}

/*
 * No source could be read, or the List may be short: nothing follows from what is known of IDs, and
 * what was published stays.
 */
static bool keep_published(struct findings *f)
{
	if (f->published.mode == ATTRIBUTION_MODE_UNSET ||
	    (!f->subject->facts->source.is_settling && (f->forms || f->subject->is_offer_known)))
		return false;
	f->sharing = (struct sharing){.mode = f->published.mode,
				      .replicas = f->published.replicas,
				      .evidence = f->evidence_before,
				      .kept = &f->subject->published->sharing.evidence};
	return true;
}

int sharing_conclude(const struct subject *subject, const struct tenants *tenants,
		     struct sharing *ret_sharing, struct error *err)
{
	const struct report_device *reported = subject->device->reported;
	const struct previous *before = subject->device->published;
	struct findings f = {
		.subject = subject,
		.tenants = tenants,
		.compute_mode = reported ? reported->compute_mode : REPORT_COMPUTE_UNKNOWN,
		.is_mig_on = reported && reported->mig.present && reported->mig.current,
	};

	if (before) {
		f.published = before->status->sharing;
		f.evidence_before = before->evidence;
		f.first_evidence_before = before->first_evidence;
	}
	read_slots(&f);
	if (read_claims(&f, err) < 0)
		return -1;
	if (!keep_published(&f)) {
		tell_left_over(&f);
		apply_rules(&f);
		complete_replicas(&f);
	}
	*ret_sharing = f.sharing;
	return 0;
}

int sharing_write(const struct sharing *sharing, struct arena *arena,
		  struct attribution_sharing *ret_sharing, struct error *err)
{
	struct view *texts = arena_alloc(arena, sharing->n_lines, sizeof(*texts));
	if (!texts)
		return error_no_memory(err);
	for (uint32_t i = 0; i < sharing->n_lines; i++)
		texts[i] = wording_evidence(sharing->lines[i]);
	*ret_sharing = (struct attribution_sharing){
		.mode = sharing->mode,
		.replicas = sharing->replicas,
		.evidence = sharing->kept ? *sharing->kept
					  : (struct array){texts, sharing->n_lines, true},
	};
	return 0;
}

bool sharing_is_without_ids(unsigned evidence)
{
	return (evidence & (EVIDENCE_NO_IDS | EVIDENCE_MIG_IS_ON)) != 0;
}
