/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The form of the device IDs decides first: whether they name the device or MIG devices, and
 * whether they end in a replica number. Between MPS and time-slicing it cannot decide. That is what
 * the rows of `clues` are for: each is a question whose answer speaks for one of the two. The first
 * that speaks decides, unless one that is as strong speaks for the other: then it is not known.
 *
 * The node's label decides nothing: it says what was meant, for all devices of the node. Given as
 * evidence is what decides, and of the compute mode, MIG mode and the label also what contradicts
 * it, the label also where it agrees. Processes are not: they come and go, and a line that came and went
 * with them would be a change of the status without a change of its meaning.
 */

#include "join/sharing.h"

#include <assert.h>
#include <stdlib.h>

#include "join/claimant.h"

#define MAX_EVIDENCE 5

enum form {
	FORM_GPU = 1u << 0,
	FORM_GPU_REPLICA = 1u << 1,
	FORM_MIG = 1u << 2,
	FORM_MIG_REPLICA = 1u << 3,
	FORM_HAMI = 1u << 4,
	FORM_ODD = 1u << 5,
};

struct findings {
	const struct facts *facts;
	const struct device *device;
	const struct attribution_sharing *published; /* NULL: none */
	const struct previous *before;               /* of the same; NULL: none */
	const struct tenants *tenants;
	unsigned forms;     /* of enum form: of the IDs on offer, if any */
	unsigned left_over; /* of those that are held, and not on offer */
	unsigned mps;       /* of enum fact_mps: of replicas of the device */
	unsigned part_mps;  /* and of a MIG device */
	int64_t replicas;
	bool has_offer;
	bool is_offer_known;
	bool is_by_minor; /* replicas are called as GKE's plugin does */
	/* Without replicas several pods hold one ID, or one holds it for others, or a share of it: */
	bool is_shared;      /* that of the device */
	bool is_part_shared; /* that of a MIG device */
	bool has_share;      /* a claim gives a share of either */
	int mode;
	enum evidence evidence[MAX_EVIDENCE];
	uint32_t n_evidence;
};

static void add(struct findings *f, enum evidence evidence)
{
	assert(f->n_evidence < MAX_EVIDENCE);
	f->evidence[f->n_evidence++] = evidence;
}

static void conclude(struct findings *f, int mode, enum evidence evidence)
{
	f->mode = mode;
	add(f, evidence);
}

static void contradict(struct findings *f, enum evidence one, enum evidence other)
{
	conclude(f, ATTRIBUTION_MODE_UNKNOWN, one);
	add(f, other);
}

/* MPS or time-slicing? */

enum clue { CLUE_NONE, CLUE_MPS, CLUE_TIME_SLICED };

static enum clue ask_allocation_with(const struct findings *f)
{
	return f->mps & FACT_MPS_USED ? CLUE_MPS : CLUE_NONE;
}

static enum clue ask_allocation_without(const struct findings *f)
{
	return f->mps & FACT_MPS_NOT_USED ? CLUE_TIME_SLICED : CLUE_NONE;
}

static int compute_mode_of(const struct findings *f)
{
	return f->device->reported ? f->device->reported->compute_mode : REPORT_COMPUTE_UNKNOWN;
}

static enum clue ask_exclusive_process(const struct findings *f)
{
	return compute_mode_of(f) == REPORT_COMPUTE_EXCLUSIVE_PROCESS ? CLUE_MPS : CLUE_NONE;
}

/* Anybody may run an MPS of his own; but the device plugin's sets the compute mode. */
static enum clue ask_processes(const struct findings *f)
{
	if (compute_mode_of(f) != REPORT_COMPUTE_UNKNOWN)
		return CLUE_NONE;
	const struct array processes = f->device->reported ? f->device->reported->processes
							   : (struct array){0};
	for (uint32_t i = 0; i < processes.count; i++) {
		if (ARRAY_AT(processes, struct report_process, i)->kind == REPORT_PROCESS_MPS)
			return CLUE_MPS;
	}
	return CLUE_NONE;
}

/* NVIDIA's plugin sets another one for MPS; GKE's does not. */
static bool is_against_mps(const struct findings *f)
{
	return compute_mode_of(f) == REPORT_COMPUTE_DEFAULT && !f->is_by_minor;
}

static enum clue ask_default_mode(const struct findings *f)
{
	return is_against_mps(f) ? CLUE_TIME_SLICED : CLUE_NONE;
}

static const struct {
	enum clue (*ask)(const struct findings *f);
	enum evidence evidence;
	bool is_weak; /* does not make unknown what a stronger one decided */
} clues[] = {
	{ask_allocation_with, EVIDENCE_WITH_PIPE, false},
	{ask_allocation_without, EVIDENCE_WITHOUT_PIPE, false},
	{ask_exclusive_process, EVIDENCE_EXCLUSIVE_PROCESS, false},
	{ask_processes, EVIDENCE_MPS_PROCESS, true},
	{ask_default_mode, EVIDENCE_DEFAULT_MODE, true},
};

static bool is_from_allocation(unsigned evidence)
{
	return evidence == EVIDENCE_WITH_PIPE || evidence == EVIDENCE_WITHOUT_PIPE;
}

/* Who is known by UID was there while the checkpoint told the mode; a name alone is of later. */
static bool has_tenant_of_then(const struct findings *f)
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

static bool was_evidence(const struct findings *f, enum evidence line)
{
	return f->before->evidence & (unsigned)line;
}

/* By what has come up since. */
static bool is_contradicted(const struct findings *f, int mode)
{
	switch (mode) {
	case ATTRIBUTION_MODE_MPS:
		return is_against_mps(f) && !was_evidence(f, EVIDENCE_DEFAULT_MODE_CONTRADICTS);
	case ATTRIBUTION_MODE_TIME_SLICED:
		return compute_mode_of(f) == REPORT_COMPUTE_EXCLUSIVE_PROCESS;
	default:
		return true;
	}
}

/*
 * The checkpoint, which told MPS from time-slicing, is silent: nothing has changed by that, as far
 * as the device and those who hold it since then tell.
 */
static bool carry_over(struct findings *f)
{
	const struct attribution_sharing *published = f->published;
	if (f->facts->checkpoint != BOOK_NONE || !published ||
	    is_contradicted(f, published->mode) ||
	    !has_tenant_of_then(f))
		return false;
	if (!is_from_allocation(f->before->first_evidence))
		return false;
	conclude(f, published->mode, (enum evidence)f->before->first_evidence);
	return true;
}

static enum evidence shared_by(const struct findings *f)
{
	return f->has_share ? EVIDENCE_SHARE_BY_CLAIM : EVIDENCE_SHARED_ID;
}

static void ask_clues(struct findings *f)
{
	enum clue first = CLUE_NONE;

	for (size_t i = 0; i < ARRAY_SIZE(clues); i++) {
		enum clue clue = clues[i].ask(f);
		if (clue == CLUE_NONE || clue == first)
			continue;
		if (first == CLUE_NONE) {
			first = clue;
			conclude(f,
				 clue == CLUE_MPS ? ATTRIBUTION_MODE_MPS
						  : ATTRIBUTION_MODE_TIME_SLICED,
				 clues[i].evidence);
		} else if (!clues[i].is_weak) {
			f->mode = ATTRIBUTION_MODE_UNKNOWN;
			add(f, clues[i].evidence);
			return;
		}
	}
	if (first == CLUE_NONE)
		conclude(f, ATTRIBUTION_MODE_UNKNOWN, f->is_shared ? shared_by(f) : EVIDENCE_REPLICA_IDS);
}

/* What the node is labelled as corroborates, or contradicts. That the plugin does not share is no
 * news where it does not. */
static const struct {
	struct view value;
	int mode;
	enum evidence evidence, contradicts;
} labels[] = {
	{VIEW_INIT("mps"), ATTRIBUTION_MODE_MPS, EVIDENCE_LABEL_MPS,
	 EVIDENCE_LABEL_MPS_CONTRADICTS},
	{VIEW_INIT("time-slicing"), ATTRIBUTION_MODE_TIME_SLICED, EVIDENCE_LABEL_TIME_SLICING,
	 EVIDENCE_LABEL_TIME_SLICING_CONTRADICTS},
};

static void add_label(struct findings *f)
{
	const struct node *node = f->facts->input->node;
	struct view label = {0};

	if (node)
		(void)node_label(node, VIEW("gpu.sharing-strategy"), &label);
	for (size_t i = 0; i < ARRAY_SIZE(labels); i++) {
		if (view_equal(labels[i].value, label))
			add(f, f->mode == ATTRIBUTION_MODE_UNKNOWN || f->mode == labels[i].mode
				       ? labels[i].evidence
				       : labels[i].contradicts);
	}
	if (view_equal(label, VIEW("none")) && f->mode != ATTRIBUTION_MODE_UNKNOWN &&
	    f->forms == FORM_GPU_REPLICA)
		add(f, EVIDENCE_LABEL_NONE_CONTRADICTS);
}

static bool is_mig_on(const struct findings *f)
{
	const struct report_device *reported = f->device->reported;
	return reported && reported->mig.present && reported->mig.current;
}

/* Without a strategy for MIG the plugin hands the device out whole all the same. */
static void add_mig(struct findings *f)
{
	if (is_mig_on(f) && f->mode != ATTRIBUTION_MODE_UNKNOWN)
		add(f, EVIDENCE_MIG_CONTRADICTS);
}

static void tell_replicas_apart(struct findings *f)
{
	if (!carry_over(f))
		ask_clues(f);
	if (f->n_evidence > 1)
		return; /* two that contradict each other, and neither counts for more */
	if (f->mode == ATTRIBUTION_MODE_MPS && is_against_mps(f))
		add(f, EVIDENCE_DEFAULT_MODE_CONTRADICTS);
	add_mig(f);
	add_label(f);
}

/* From the form of the IDs */

static void conclude_without_ids(struct findings *f)
{
	if (is_mig_on(f))
		conclude(f, ATTRIBUTION_MODE_MIG, EVIDENCE_MIG_IS_ON);
	else
		conclude(f, ATTRIBUTION_MODE_UNKNOWN, EVIDENCE_NO_IDS);
}

static void conclude_shared(struct findings *f)
{
	tell_replicas_apart(f);
	if (f->has_share && f->evidence[0] != EVIDENCE_SHARE_BY_CLAIM)
		add(f, EVIDENCE_SHARE_BY_CLAIM);
}

static void conclude_exclusive(struct findings *f)
{
	conclude(f, ATTRIBUTION_MODE_EXCLUSIVE, EVIDENCE_GPU_IDS);
	add_mig(f);
	add_label(f);
}

static void conclude_mig_replicas(struct findings *f)
{
	conclude(f, ATTRIBUTION_MODE_MIG_TIME_SLICED, EVIDENCE_MIG_IDS);
	add(f, EVIDENCE_REPLICA_IDS);
	if (f->part_mps & FACT_MPS_USED)
		add(f, EVIDENCE_PIPE_CONTRADICTS);
}

static void conclude_from_forms(struct findings *f)
{
	switch (f->forms) {
	case FORM_GPU:
		if (f->is_shared)
			conclude_shared(f);
		else
			conclude_exclusive(f);
		break;
	case FORM_GPU_REPLICA:
		tell_replicas_apart(f);
		break;
	case FORM_MIG:
		conclude(f,
			 f->is_part_shared ? ATTRIBUTION_MODE_MIG_TIME_SLICED : ATTRIBUTION_MODE_MIG,
			 EVIDENCE_MIG_IDS);
		if (f->is_part_shared)
			add(f, shared_by(f));
		break;
	case FORM_MIG_REPLICA:
	case FORM_MIG | FORM_MIG_REPLICA: /* of several kinds of parts some are shared */
		conclude_mig_replicas(f);
		break;
	default: /* several, of which one is a whole device's, if not odd or HAMi's */
		if (f->forms & FORM_ODD)
			conclude(f, ATTRIBUTION_MODE_UNKNOWN, EVIDENCE_ODD_ID);
		else if (f->forms & FORM_HAMI)
			conclude(f, ATTRIBUTION_MODE_UNKNOWN, EVIDENCE_HAMI_IDS);
		else if (f->forms & (FORM_MIG | FORM_MIG_REPLICA))
			contradict(f, EVIDENCE_GPU_IDS, EVIDENCE_MIG_IDS);
		else
			contradict(f, EVIDENCE_GPU_IDS, EVIDENCE_REPLICA_IDS);
		break;
	}
}

/* Reading the device's slots and facts */

/* How the device is shared out now is what is on offer; who came before keeps what he was given. */
static void note_left_over(struct findings *f)
{
	if (f->left_over & ~f->forms)
		add(f, EVIDENCE_LEFT_OVER_ID);
}

/* 0: none, or not one alone. */
static unsigned published_form(const struct findings *f)
{
	switch (f->published->mode) {
	case ATTRIBUTION_MODE_EXCLUSIVE:
		return FORM_GPU;
	case ATTRIBUTION_MODE_MIG:
		return FORM_MIG;
	case ATTRIBUTION_MODE_MIG_TIME_SLICED:
		return FORM_MIG_REPLICA;
	default: /* it may be that only MPS and time-slicing could not be told apart */
		if (was_evidence(f, EVIDENCE_GPU_IDS) || was_evidence(f, EVIDENCE_HAMI_IDS) ||
		    was_evidence(f, EVIDENCE_ODD_ID))
			return 0;
		return f->published->replicas == 1 ? FORM_GPU : FORM_GPU_REPLICA;
	}
}

/*
 * With none on offer, those that are held may be of before and of now. Which are which is known
 * where some were left over already when it was published how the device is shared out.
 */
static void tell_left_over(struct findings *f, size_t device)
{
	unsigned form;
	if (f->has_offer || f->forms == 0 || !f->published || !was_evidence(f, EVIDENCE_LEFT_OVER_ID) ||
	    claimant_is_sliced(f->facts, device))
		return;
	form = published_form(f);
	if (form == 0)
		return;
	f->left_over = f->forms & ~form;
	f->forms = form;
	f->replicas = f->published->replicas;
}

static enum form form_of(const struct slot *slot)
{
	if (slot->is_odd)
		return FORM_ODD;
	if (slot->is_hami)
		return FORM_HAMI;
	if (slot->is_mig)
		return slot->is_replica ? FORM_MIG_REPLICA : FORM_MIG;
	return slot->is_replica ? FORM_GPU_REPLICA : FORM_GPU;
}

/* Slots are in the order of their IDs, so those of one partition lie side by side. */
static void read_slots(struct findings *f, const struct slot *slots, size_t n_slots)
{
	const struct slot *last = NULL;
	int64_t n = 0;

	for (size_t i = 0; i < n_slots; i++)
		f->has_offer |= slots[i].is_offered;
	for (size_t i = 0; i < n_slots; i++) {
		if (f->has_offer && !slots[i].is_offered) {
			f->left_over |= form_of(&slots[i]);
			continue;
		}
		bool is_next = last && slots[i].is_replica && last->is_replica &&
			       view_equal(slots[i].partition, last->partition);
		f->forms |= form_of(&slots[i]);
		f->is_by_minor |= slots[i].is_replica &&
				  device_id_parse(slots[i].id).form == DEVICE_ID_MINOR;
		n = is_next ? n + 1 : 1;
		if (n > f->replicas)
			f->replicas = n;
		last = &slots[i];
	}
}

static int by_id(const void *key, const void *element)
{
	const struct fact *item = key;
	const struct slot *slot = element;
	int order = view_compare(item->id, slot->id);
	return order ? order : view_compare(item->owner->resource, slot->resource);
}

/* What takes no slot has none. */
static bool is_on_offer(const struct fact *item, const struct slot *slots, size_t n_slots)
{
	const struct slot *slot = bsearch(item, slots, n_slots, sizeof(*slots), by_id);
	return slot && slot->is_offered;
}

static bool is_part(const struct device_id *id)
{
	return id->form == DEVICE_ID_MIG || id->gpu_instance >= 0;
}

/*
 * Who was given the whole device was given no pipe, whatever came later; and who was given what is
 * no longer on offer, as things were then.
 */
static void read_holdings(struct findings *f, const struct fact *items, size_t n_items,
			  const struct slot *slots, size_t n_slots)
{
	for (size_t i = 0; i < n_items; i++) {
		struct device_id id = device_id_parse(items[i].id);
		if (id.is_replica && (!f->has_offer || is_on_offer(&items[i], slots, n_slots)))
			*(is_part(&id) ? &f->part_mps : &f->mps) |= items[i].mps;
		f->is_shared |= (items[i].witnesses & WITNESS_KAI) != 0;
	}
}

/* Claims: those that are known, and those of which only that they were is. */

/* A pod that uses the device by a claim, in however many containers. */
struct use {
	struct view part; /* of the device: the MIG device's UUID, or its name; empty: all of it */
	struct view pod_uid;
	bool is_part;
	bool is_share;
};

struct uses {
	struct use *items;
	size_t n_items;
};

static size_t count_uses(const struct findings *f, size_t n_items)
{
	const struct attribution_status *published = devices_published(f->device);
	size_t n = n_items;
	for (uint32_t i = 0; published && i < published->tenants.count; i++)
		n += 1 +
		     ARRAY_AT(published->tenants, struct attribution_tenant, i)->partitions.count;
	return n;
}

static void note_use(struct uses *uses, struct use use)
{
	uses->items[uses->n_items++] = use;
}

/* Who watches shares nothing. */
static void read_known(struct uses *uses, const struct fact *items, size_t n_items)
{
	for (size_t i = 0; i < n_items; i++) {
		const struct fact *item = &items[i];
		if (!(item->witnesses & WITNESS_RESOURCE_CLAIM) || item->is_monitor)
			continue;
		note_use(uses,
			 (struct use){item->is_part && item->partition.len == 0 ? item->id
										: item->partition,
				      item->owner->pod_uid, item->is_part, item->is_share});
	}
}

/* What a claim gave is what it was published as. */
static void keep_form(struct findings *f, bool is_mig)
{
	enum form form = is_mig ? FORM_MIG : FORM_GPU;
	if (f->has_offer)
		f->left_over |= form;
	else
		f->forms |= form;
	if (f->replicas == 0)
		f->replicas = 1;
}

static void read_kept(struct findings *f, size_t device, struct uses *uses)
{
	const struct attribution_tenant *tenant;
	uint32_t index = 0;

	while ((tenant = claimant_next_kept(f->facts, device, &index))) {
		const struct array parts = tenant->partitions;
		assert(f->published); /* it is where the tenant comes from */
		int mode = f->published->mode;
		bool is_share = was_evidence(f, EVIDENCE_SHARE_BY_CLAIM);
		bool is_mig = parts.count > 0 || mode == ATTRIBUTION_MODE_MIG ||
			      mode == ATTRIBUTION_MODE_MIG_TIME_SLICED;
		keep_form(f, is_mig);
		for (uint32_t i = 0; i < parts.count; i++)
			note_use(uses, (struct use){*ARRAY_AT(parts, struct view, i),
						    tenant->pod_uid, true, is_share});
		/* Which part it is, if it has no UUID, only the claim told. */
		if (parts.count == 0 && mode != ATTRIBUTION_MODE_MIG)
			note_use(uses, (struct use){.pod_uid = tenant->pod_uid,
						    .is_part = is_mig,
						    .is_share = is_share});
	}
}

static int by_part(const void *a, const void *b)
{
	return view_compare(((const struct use *)a)->part, ((const struct use *)b)->part);
}

static bool is_used_twice(const struct use *one, const struct use *other)
{
	return view_equal(one->part, other->part) && !view_equal(one->pod_uid, other->pod_uid);
}

static int read_claims(struct findings *f, size_t device, const struct fact *items,
		       size_t n_items, struct arena *arena, struct error *err)
{
	struct uses uses = {
		.items = arena_alloc(arena, count_uses(f, n_items), sizeof(*uses.items))};

	if (!uses.items)
		return error_no_memory(err);
	read_known(&uses, items, n_items);
	read_kept(f, device, &uses);
	qsort(uses.items, uses.n_items, sizeof(*uses.items), by_part);
	for (size_t i = 0; i < uses.n_items; i++) {
		const struct use *one = &uses.items[i];
		f->has_share |= one->is_share;
		if (one->is_share || (i > 0 && is_used_twice(&uses.items[i - 1], one)))
			*(one->is_part ? &f->is_part_shared : &f->is_shared) = true;
	}
	return 0;
}

/* What is known of the IDs says nothing, for nobody spoke, or too little, for the List is short. */
static bool is_unheard(const struct findings *f)
{
	return f->facts->is_settling || (f->forms == 0 && !f->is_offer_known);
}

/*
 * With none on offer the held ones are what is left of them: how many there were is known from what
 * was published, or not at all.
 */
static void complete_replicas(struct findings *f)
{
	if (f->has_offer ||
	    !(f->forms & (FORM_GPU_REPLICA | FORM_MIG_REPLICA | FORM_HAMI | FORM_ODD)))
		return;
	f->replicas = f->published && f->published->mode == f->mode ? f->published->replicas : 0;
}

bool sharing_is_without_ids(const struct attribution_sharing *sharing)
{
	unsigned evidence;
	if (sharing->evidence.count != 1)
		return false;
	evidence = wording_evidence_of(*ARRAY_AT(sharing->evidence, struct view, 0));
	return evidence == EVIDENCE_NO_IDS || evidence == EVIDENCE_MIG_IS_ON;
}

int sharing_conclude(const struct facts *facts, const struct slots *slots, size_t device,
		     const struct tenants *tenants, struct arena *arena,
		     struct attribution_sharing *ret_sharing, struct error *err)
{
	const struct device *its_device = &facts->devices->devices[device];
	const struct attribution_status *published = devices_published(its_device);
	struct findings f = {
		.facts = facts,
		.device = its_device,
		.published = published ? &published->sharing : NULL,
		.before = its_device->published,
		.tenants = tenants,
		.is_offer_known = slots->is_offer_known,
	};
	size_t n_slots, n_items;
	const struct slot *own_slots = slot_items(slots, device, &n_slots);
	const struct fact *items = facts_of(facts, device, &n_items);

	read_slots(&f, own_slots, n_slots);
	read_holdings(&f, items, n_items, own_slots, n_slots);
	if (read_claims(&f, device, items, n_items, arena, err) < 0)
		return -1;
	if (is_unheard(&f) && f.published && f.published->mode != ATTRIBUTION_MODE_UNSET) {
		*ret_sharing = *f.published;
		return 0;
	}
	tell_left_over(&f, device);
	if (f.forms == 0)
		conclude_without_ids(&f);
	else
		conclude_from_forms(&f);
	note_left_over(&f);
	complete_replicas(&f);
	struct view *evidence = arena_alloc(arena, f.n_evidence, sizeof(*evidence));
	if (!evidence)
		return error_no_memory(err);
	for (uint32_t i = 0; i < f.n_evidence; i++)
		evidence[i] = wording_evidence(f.evidence[i]);
	*ret_sharing = (struct attribution_sharing){
		.mode = f.mode,
		.replicas = f.replicas,
		.evidence = {evidence, f.n_evidence, true},
	};
	return 0;
}
