/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The form of the device IDs decides first: whether they name the device or MIG devices, and
 * whether they end in a replica number. Between MPS and time-slicing it cannot decide. That is what
 * the rows of `clues` are for: each is a question whose answer speaks for one of the two. The first
 * that speaks decides, unless one that is as strong speaks for the other: then it is not known.
 *
 * The node's label decides nothing: it says what was meant, for all devices of the node. Given as
 * evidence is what decides, and of the compute mode and the label also what contradicts it, the
 * label also where it agrees. Processes are not: they come and go, and a line that came and went
 * with them would be a change of the status without a change of its meaning.
 */

#include "core/sharing.h"

#include <assert.h>
#include <stdlib.h>

#include "core/claimant.h"

#define MAX_EVIDENCE 4

enum form {
	FORM_GPU = 1u << 0,
	FORM_GPU_REPLICA = 1u << 1,
	FORM_MIG = 1u << 2,
	FORM_MIG_REPLICA = 1u << 3,
	FORM_HAMI = 1u << 4,
	FORM_ODD = 1u << 5,
};

struct findings {
	const struct holdings *holdings;
	const struct roster_device *device;
	const struct attribution_sharing *published; /* NULL: none */
	const struct tenants *tenants;
	unsigned forms;     /* of enum form: of the IDs on offer, if any */
	unsigned left_over; /* of those that are held, and not on offer */
	unsigned mps;       /* of enum holding_mps */
	int64_t replicas;
	bool has_offer;
	bool is_offer_known;
	bool is_shared; /* without replicas: several pods hold one ID, or one holds it for others */
	int mode;
	struct view evidence[MAX_EVIDENCE];
	uint32_t n_evidence;
};

static void add(struct findings *f, struct view evidence)
{
	assert(f->n_evidence < MAX_EVIDENCE);
	f->evidence[f->n_evidence++] = evidence;
}

static void conclude(struct findings *f, int mode, struct view evidence)
{
	f->mode = mode;
	add(f, evidence);
}

static void contradict(struct findings *f, struct view one, struct view other)
{
	conclude(f, ATTRIBUTION_MODE_UNKNOWN, one);
	add(f, other);
}

/* The form of the IDs, as evidence */

static const struct view mig_ids = VIEW_INIT("device IDs name MIG devices");
static const struct view gpu_ids = VIEW_INIT("device IDs name the whole device");
static const struct view replica_ids = VIEW_INIT("device IDs end in a replica number");
static const struct view shared_ids = VIEW_INIT("several pods are on the device by one ID");
static const struct view left_over_ids = VIEW_INIT(
	"a pod holds a device ID that is no longer offered");
static const struct view no_ids = VIEW_INIT("no device ID is known");
static const struct view mig_is_on = VIEW_INIT("MIG mode is on");
static const struct view odd_ids = VIEW_INIT("a device ID is of no known form");

/* MPS or time-slicing? */

enum clue { CLUE_NONE, CLUE_MPS, CLUE_TIME_SLICED };

static enum clue ask_allocation_with(const struct findings *f)
{
	return f->mps & HOLDING_MPS_USED ? CLUE_MPS : CLUE_NONE;
}

static enum clue ask_allocation_without(const struct findings *f)
{
	return f->mps & HOLDING_MPS_NOT_USED ? CLUE_TIME_SLICED : CLUE_NONE;
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

static enum clue ask_default_mode(const struct findings *f)
{
	return compute_mode_of(f) == REPORT_COMPUTE_DEFAULT ? CLUE_TIME_SLICED : CLUE_NONE;
}

#define WITH_PIPE VIEW_INIT("an allocation response has the MPS pipe")
#define WITHOUT_PIPE VIEW_INIT("an allocation response has no MPS pipe")

static const struct view with_pipe = WITH_PIPE;
static const struct view without_pipe = WITHOUT_PIPE;

static const struct {
	enum clue (*ask)(const struct findings *f);
	struct view evidence;
	bool is_weak; /* does not make unknown what a stronger one decided */
} clues[] = {
	{ask_allocation_with, WITH_PIPE, false},
	{ask_allocation_without, WITHOUT_PIPE, false},
	{ask_exclusive_process, VIEW_INIT("compute mode is ExclusiveProcess"), false},
	{ask_processes, VIEW_INIT("an MPS process is on the device"), true},
	{ask_default_mode, VIEW_INIT("compute mode is Default"), true},
};

static const struct view default_contradicts = VIEW_INIT(
	"compute mode is Default, which contradicts");

static bool is_from_allocation(struct view evidence)
{
	return view_equal(evidence, with_pipe) || view_equal(evidence, without_pipe);
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

static bool was_contradicted(const struct findings *f)
{
	const struct array before = f->published->evidence;
	for (uint32_t i = 0; i < before.count; i++) {
		if (view_equal(*ARRAY_AT(before, struct view, i), default_contradicts))
			return true;
	}
	return false;
}

/* By what has come up since. */
static bool is_contradicted(const struct findings *f, int mode)
{
	switch (mode) {
	case ATTRIBUTION_MODE_MPS:
		return compute_mode_of(f) == REPORT_COMPUTE_DEFAULT && !was_contradicted(f);
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
	if (f->holdings->checkpoint != HOLDING_BOOK_NONE || !published ||
	    published->evidence.count == 0 || is_contradicted(f, published->mode) ||
	    !has_tenant_of_then(f))
		return false;
	struct view evidence = *ARRAY_AT(published->evidence, struct view, 0);
	if (!is_from_allocation(evidence))
		return false;
	conclude(f, published->mode, evidence);
	return true;
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
		conclude(f, ATTRIBUTION_MODE_UNKNOWN, f->is_shared ? shared_ids : replica_ids);
}

/* What the node is labelled as corroborates, or contradicts. */
static const struct {
	struct view value;
	int mode;
	struct view evidence, contradicts;
} labels[] = {
	{VIEW_INIT("mps"), ATTRIBUTION_MODE_MPS,
	 VIEW_INIT("node label gpu.sharing-strategy is mps"),
	 VIEW_INIT("node label gpu.sharing-strategy is mps, which contradicts")},
	{VIEW_INIT("time-slicing"), ATTRIBUTION_MODE_TIME_SLICED,
	 VIEW_INIT("node label gpu.sharing-strategy is time-slicing"),
	 VIEW_INIT("node label gpu.sharing-strategy is time-slicing, which contradicts")},
};

static void add_label(struct findings *f)
{
	const struct node *node = f->holdings->input->node;
	struct view label = {0};

	if (!node || !node_label(node, VIEW("gpu.sharing-strategy"), &label))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(labels); i++) {
		if (view_equal(labels[i].value, label))
			add(f, f->mode == ATTRIBUTION_MODE_UNKNOWN || f->mode == labels[i].mode
				       ? labels[i].evidence
				       : labels[i].contradicts);
	}
}

static void tell_replicas_apart(struct findings *f)
{
	if (!carry_over(f))
		ask_clues(f);
	if (f->n_evidence > 1)
		return; /* two that contradict each other, and neither counts for more */
	if (f->mode == ATTRIBUTION_MODE_MPS && compute_mode_of(f) == REPORT_COMPUTE_DEFAULT)
		add(f, default_contradicts);
	add_label(f);
}

/* From the form of the IDs */

static bool is_mig_on(const struct findings *f)
{
	const struct report_device *reported = f->device->reported;
	return reported && reported->mig.present && reported->mig.current;
}

static void conclude_without_ids(struct findings *f)
{
	if (is_mig_on(f))
		conclude(f, ATTRIBUTION_MODE_MIG, mig_is_on);
	else
		conclude(f, ATTRIBUTION_MODE_UNKNOWN, no_ids);
}

static void conclude_from_forms(struct findings *f)
{
	switch (f->forms) {
	case FORM_GPU:
		if (f->is_shared)
			tell_replicas_apart(f);
		else
			conclude(f, ATTRIBUTION_MODE_EXCLUSIVE, gpu_ids);
		break;
	case FORM_GPU_REPLICA:
		tell_replicas_apart(f);
		break;
	case FORM_MIG:
		conclude(f, ATTRIBUTION_MODE_MIG, mig_ids);
		break;
	case FORM_MIG_REPLICA:
	case FORM_MIG | FORM_MIG_REPLICA: /* of several kinds of parts some are shared */
		conclude(f, ATTRIBUTION_MODE_MIG_TIME_SLICED, mig_ids);
		add(f, replica_ids);
		break;
	default: /* several, of which one is a whole device's, if not odd or HAMi's */
		if (f->forms & FORM_ODD)
			conclude(f, ATTRIBUTION_MODE_UNKNOWN, odd_ids);
		else if (f->forms & FORM_HAMI)
			conclude(f, ATTRIBUTION_MODE_UNKNOWN, VIEW("device IDs are HAMi's"));
		else if (f->forms & (FORM_MIG | FORM_MIG_REPLICA))
			contradict(f, gpu_ids, mig_ids);
		else
			contradict(f, gpu_ids, replica_ids);
		break;
	}
}

/* Reading the device's slots and holdings */

/* How the device is shared out now is what is on offer; who came before keeps what he was given. */
static void note_left_over(struct findings *f)
{
	if (f->left_over & ~f->forms)
		add(f, left_over_ids);
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
		n = is_next ? n + 1 : 1;
		if (n > f->replicas)
			f->replicas = n;
		last = &slots[i];
	}
}

static int by_id(const void *id, const void *item)
{
	return view_compare(*(const struct view *)id, ((const struct slot *)item)->id);
}

static bool is_on_offer(struct view id, const struct slot *slots, size_t n_slots)
{
	const struct slot *slot = n_slots > 0 ? bsearch(&id, slots, n_slots, sizeof(*slots), by_id)
					      : NULL;
	return slot && slot->is_offered;
}

/*
 * Who was given the whole device was given no pipe, whatever came later; and who was given what is
 * no longer on offer, as things were then.
 */
static void read_holdings(struct findings *f, const struct holding *items, size_t n_items,
			  const struct slot *slots, size_t n_slots)
{
	for (size_t i = 0; i < n_items; i++) {
		if (device_id_parse(items[i].id).is_replica &&
		    (!f->has_offer || is_on_offer(items[i].id, slots, n_slots)))
			f->mps |= items[i].mps;
		f->is_shared |= (items[i].witnesses & HOLDING_KAI) != 0;
	}
}

/* Claims: those that are known, and those of which only that they were is. */

struct claims {
	const struct holding *items; /* of the device */
	size_t n_items;
	size_t n_pods; /* that use it by claims, whichever of its parts and in how many containers */
};

static bool is_use_of(const struct holding *item, struct view pod_uid)
{
	return (item->witnesses & HOLDING_CLAIM) && !item->is_monitor &&
	       view_equal(item->owner->pod_uid, pod_uid);
}

static bool is_user(const struct claims *claims, struct view pod_uid)
{
	for (size_t i = 0; i < claims->n_items; i++) {
		if (is_use_of(&claims->items[i], pod_uid))
			return true;
	}
	return false;
}

/* What a claim gave is what it was published as. */
static void keep_form(struct findings *f, const struct attribution_tenant *tenant)
{
	assert(f->published); /* it is where the tenant comes from */
	bool is_mig = tenant->partitions.count > 0 || f->published->mode == ATTRIBUTION_MODE_MIG;
	enum form form = is_mig ? FORM_MIG : FORM_GPU;
	if (f->has_offer)
		f->left_over |= form;
	else
		f->forms |= form;
	if (f->replicas == 0)
		f->replicas = 1;
}

static void read_kept(struct findings *f, size_t device, struct claims *claims)
{
	const struct attribution_tenant *tenant;
	struct view last = {0};
	uint32_t index = 0;

	while ((tenant = claimant_next_kept(f->holdings, device, &index))) {
		keep_form(f, tenant);
		claims->n_pods += !view_equal(tenant->pod_uid, last) &&
				  !is_user(claims, tenant->pod_uid);
		last = tenant->pod_uid;
	}
}

/* Both the holdings and the published tenants of a device are in the order of the pods' UIDs. */
static void read_claims(struct findings *f, size_t device)
{
	struct claims claims = {0};
	struct view last = {0};

	claims.items = holding_items(f->holdings, device, &claims.n_items);
	for (size_t i = 0; i < claims.n_items; i++) {
		struct view uid = claims.items[i].owner->pod_uid;
		if (!is_use_of(&claims.items[i], uid))
			continue;
		claims.n_pods += !view_equal(uid, last);
		last = uid;
	}
	read_kept(f, device, &claims);
	f->is_shared |= claims.n_pods > 1;
}

/* What is known of the IDs says nothing, for nobody spoke, or too little, for the List is short. */
static bool is_unheard(const struct findings *f)
{
	return f->holdings->is_settling || (f->forms == 0 && !f->is_offer_known);
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
	struct view evidence;
	if (sharing->evidence.count != 1)
		return false;
	evidence = *ARRAY_AT(sharing->evidence, struct view, 0);
	return view_equal(evidence, no_ids) || view_equal(evidence, mig_is_on);
}

int sharing_conclude(const struct holdings *holdings, const struct slots *slots, size_t device,
		     const struct tenants *tenants, struct arena *arena,
		     struct attribution_sharing *ret_sharing, struct error *err)
{
	const struct roster_device *roster_device = &holdings->roster->devices[device];
	const struct attribution_status *published = roster_published(roster_device);
	struct findings f = {
		.holdings = holdings,
		.device = roster_device,
		.published = published ? &published->sharing : NULL,
		.tenants = tenants,
		.is_offer_known = slots->is_offer_known,
	};
	size_t n_slots, n_items;
	const struct slot *own_slots = slot_items(slots, device, &n_slots);
	const struct holding *items = holding_items(holdings, device, &n_items);

	read_slots(&f, own_slots, n_slots);
	read_holdings(&f, items, n_items, own_slots, n_slots);
	read_claims(&f, device);
	if (is_unheard(&f) && f.published && f.published->mode != ATTRIBUTION_MODE_UNSET) {
		*ret_sharing = *f.published;
		return 0;
	}
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
		evidence[i] = f.evidence[i];
	*ret_sharing = (struct attribution_sharing){
		.mode = f.mode,
		.replicas = f.replicas,
		.evidence = {evidence, f.n_evidence, true},
	};
	return 0;
}
