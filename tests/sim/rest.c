/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/rest.h"

#include <string.h>

#include "assess/sharing_rule.h"
#include "join/wording.h"
#include "sim/apiserver.h"
#include "sim/device_manager.h"
#include "sim/check.h"
#include "sim/claims.h"
#include "sim/diagnosis.h"
#include "sim/drifts.h"
#include "sim/hang.h"
#include "sim/idleness.h"
#include "sim/named.h"
#include "sim/oracle.h"
#include "sim/overlaps.h"
#include "sim/sharers.h"
#include "sim/strain.h"
#include "sim/usage.h"
#include "sim/verdicts.h"
#include "sim/world.h"

struct judge {
	const struct attribution_status *status;
	int gpu;
	const struct world_gpu *g;
	const struct world_node *node;
	bool is_vague; /* somebody holds slots that no record has, or some device of the node */
};

static void accuse(const struct judge *judge, const char *what, const char *got,
		   const char *expected)
{
	oracle_accuse(ORACLE_AT_REST, "%s on %s: %s is %s, not %s", judge->g->uuid,
		      judge->node->name, what, got, expected);
}

/* Who holds something of the device */

static bool is_on(const struct world_container *container, int gpu)
{
	for (int i = 0; i < container->n_slots; i++)
		if (container->slots[i].gpu == gpu)
			return container->held_until == WORLD_NEVER;
	return false;
}

/* A claim gives devices before the kubelet hears of the pod. */
static bool has_devices(const struct world_pod *pod)
{
	return world_is_active(pod) || claims_awaits_kubelet(pod);
}

/* What was given is in the hands of nobody once it is in another node. */
static bool is_tenant(const struct world_pod *pod, int container, int gpu)
{
	const struct world_pod *holder = world_holder(pod);

	if (!has_devices(holder) || !pod->object.exists || world_is_over(&pod->object) ||
	    world.gpus[gpu].node != pod->node)
		return false;
	return is_on(&holder->containers[container], gpu) ||
	       (container == 0 && sharers_is_on(pod, gpu));
}

bool rest_is_tenant(const struct world_pod *pod, int container, int gpu)
{
	return is_tenant(pod, container, gpu);
}

int rest_phase(const struct world_pod *pod, int container)
{
	if (pod->object.deleting)
		return ATTRIBUTION_PHASE_TERMINATING;
	switch (pod->object.states[container]) {
	case WORLD_RUNNING:
		return ATTRIBUTION_PHASE_RUNNING;
	case WORLD_TERMINATED:
		return ATTRIBUTION_PHASE_RESERVED;
	default:
		return ATTRIBUTION_PHASE_STARTING;
	}
}

static const char *phase_text(int phase)
{
	static const char *const texts[] = {"unset",   "Pending",  "Unresolved", "Starting",
					    "Running", "Reserved", "Terminating"};

	return texts[phase];
}

static bool has_witness(const struct attribution_tenant *tenant, struct view name)
{
	for (uint32_t i = 0; i < tenant->witnesses.count; i++)
		if (view_equal(*ARRAY_AT(tenant->witnesses, struct view, i), name))
			return true;
	return false;
}

static bool is_sharer(const struct world_pod *pod)
{
	return sharers_reservation(pod) != NULL;
}

/*
 * No evidence is left in two cases: the entry was wiped from the records, or the entry's MIG device
 * is gone. With the MIG device its parent is unknown, unless that was published before.
 */
static bool is_beyond_proof(const struct world_pod *pod, int container, int gpu)
{
	const struct world_container *c = &world_holder(pod)->containers[container];

	if (is_sharer(pod))
		return !device_manager_has(sharers_reservation(pod));
	if (pod->is_hami_spoilt)
		return true;
	for (int i = 0; i < c->n_slots; i++)
		if (c->slots[i].gpu == gpu && c->slots[i].partition >= 0 &&
		    !world.gpus[gpu].partitions[c->slots[i].partition].exists)
			return true;
	return pod->claim >= 0 ? !claims_has(pod) : !device_manager_has(world_holder(pod));
}

static bool is_monitor(const struct world_container *container, int gpu)
{
	for (int i = 0; i < container->n_slots; i++)
		if (container->slots[i].gpu == gpu && !container->slots[i].is_admin)
			return false;
	return true;
}

/* A validator of the operator's, whose namespace the ClusterPolicy tells; or one that watches. */
static bool is_system(const struct world_pod *pod, int container, int gpu)
{
	if ((pod->system && apiserver_has_policy()) ||
	    (pod->is_reservation && sharers_has_any(pod)))
		return true;
	return !is_sharer(pod) && is_monitor(&pod->containers[container], gpu);
}

static bool is_of_hami(const struct world_pod *pod)
{
	return world.nodes[pod->node].mode == WORLD_HAMI && pod->hami[0];
}

/* What the kubelet says is the device. */
static bool is_in_records(const struct world_pod *pod)
{
	return pod->claim < 0 && !is_of_hami(pod) && !is_sharer(pod);
}

/* The kubelet writes it for app containers only. */
static bool is_in_status(const struct world_pod *pod, int container)
{
	return pod->object.has_resources && is_in_records(pod) &&
	       pod->containers[container].kind == WORLD_MAIN;
}

static bool is_in_checkpoint(const struct world_pod *pod, int container)
{
	(void)container;
	return !world.nodes[pod->node].agentless && is_in_records(pod);
}

static bool is_listed(const struct world_pod *pod, int container)
{
	return is_in_checkpoint(pod, container) && pod->containers[container].kind != WORLD_INIT;
}

static bool is_claimed(const struct world_pod *pod, int container)
{
	return pod->containers[container].uses_claim;
}

static bool is_by_hami(const struct world_pod *pod, int container)
{
	(void)container;
	return is_of_hami(pod);
}

static bool is_by_kai(const struct world_pod *pod, int container)
{
	(void)container;
	return is_sharer(pod);
}

/* What a process bears out is more than what is written on a pod. */
static int confidence_of(const struct world_pod *pod, const struct attribution_tenant *tenant)
{
	return (is_of_hami(pod) || is_sharer(pod)) && !has_witness(tenant, VIEW("Processes"))
		       ? ATTRIBUTION_CONFIDENCE_ANNOTATED
		       : ATTRIBUTION_CONFIDENCE_CONFIRMED;
}

static const struct {
	const char *name;
	bool (*is_one)(const struct world_pod *pod, int container);
} witnesses[] = {
	{"Checkpoint", is_in_checkpoint},
	{"PodResources", is_listed},
	{"PodStatus", is_in_status},
	{"ResourceClaim", is_claimed},
	{"HAMi", is_by_hami},
	{"KAI", is_by_kai},
};

static void judge_witnesses(const struct judge *judge, const struct world_pod *pod, int container,
			    const struct attribution_tenant *tenant)
{
	if (is_beyond_proof(pod, container, judge->gpu))
		return;
	for (size_t i = 0; i < sizeof(witnesses) / sizeof(witnesses[0]); i++) {
		bool is_one = witnesses[i].is_one(pod, container);

		if (has_witness(tenant, view_from(witnesses[i].name)) != is_one)
			oracle_accuse(ORACLE_AT_REST, "%s on %s: %s is %s witness of %s",
				      judge->g->uuid, judge->node->name, witnesses[i].name,
				      is_one ? "no" : "a", pod->name);
	}
	named_judge_processes(tenant, pod, container, judge->gpu);
	if (tenant->confidence != confidence_of(pod, tenant))
		accuse(judge, "a tenant's confidence", "another", "Confirmed or Annotated");
}

static void judge_tenant(const struct judge *judge, const struct world_pod *pod, int container)
{
	const struct world_container *c = &pod->containers[container];
	const char *owner = pod->hash[0] ? world.nodes[pod->node].name : pod->owner;
	const struct attribution_tenant *tenant = attribution_find_tenant(
		judge->status, view_from(pod->uid), view_from(c->name));

	if (!tenant) {
		if (!is_beyond_proof(pod, container, judge->gpu))
			accuse(judge, pod->name, "missing", "a tenant");
		return;
	}
	if (tenant->phase != rest_phase(pod, container))
		accuse(judge, "a tenant's phase", phase_text(tenant->phase),
		       phase_text(rest_phase(pod, container)));
	if (!view_equal(tenant->resource, view_from(c->resource)))
		accuse(judge, "a tenant's resource", "another", c->resource);
	if (!view_equal(tenant->workload.name, view_from(owner)))
		accuse(judge, "a tenant's workload", "another", owner);
	if (!attribution_is_counted(tenant) != is_system(pod, container, judge->gpu) &&
	    !is_beyond_proof(pod, container, judge->gpu))
		accuse(judge, "a tenant's role", "wrong", "so");
	judge_witnesses(judge, pod, container, tenant);
}

/* Of HAMi's holders only the node may be known, and then the status says so. */
static bool is_somewhere(const struct attribution_tenant *tenant)
{
	return view_equal(tenant->placeholder, VIEW("HAMi"));
}

static bool has_spoilt(const struct world_node *node)
{
	for (int i = 0; i < world.n_pods; i++)
		if (world.pods[i].is_hami_spoilt && &world.nodes[world.pods[i].node] == node &&
		    world_is_active(&world.pods[i]))
			return true;
	return false;
}

static bool may_be_listed(const struct world_pod *pod, int container, int gpu)
{
	return is_tenant(pod, container, gpu) ||
	       (sharers_is_said_on(pod, gpu) && world_is_active(pod) &&
		!world_is_over(&pod->object) && world.gpus[gpu].node == pod->node);
}

/* FALSE_TENANT has seen to it that those listed held the device; here they must hold it still. */
static void judge_listed(const struct judge *judge, const struct attribution_tenant *tenant)
{
	for (int i = 0; i < world.n_pods; i++) {
		const struct world_pod *pod = &world.pods[i];

		for (int c = 0; c < pod->n_containers; c++)
			if (view_equal(view_from(pod->uid), tenant->pod_uid) &&
			    view_equal(view_from(pod->containers[c].name), tenant->container) &&
			    may_be_listed(pod, c, judge->gpu))
				return;
	}
	oracle_accuse(ORACLE_AT_REST, "%s on %s: %.*s (%.*s) is still a tenant", judge->g->uuid,
		      judge->node->name, VIEW_ARG(tenant->pod_uid), VIEW_ARG(tenant->pod_name));
}

static int64_t judge_tenants(struct judge *judge)
{
	int64_t count = 0;

	for (int i = 0; i < world.n_pods; i++) {
		const struct world_pod *pod = &world.pods[i];

		for (int c = 0; c < pod->n_containers; c++) {
			if (!is_tenant(pod, c, judge->gpu))
				continue;
			judge->is_vague |= is_beyond_proof(pod, c, judge->gpu);
			count += !is_system(pod, c, judge->gpu);
			judge_tenant(judge, pod, c);
		}
	}
	judge->is_vague |= has_spoilt(judge->node);
	for (uint32_t i = 0; i < judge->status->tenants.count; i++) {
		const struct attribution_tenant *tenant =
			ARRAY_AT(judge->status->tenants, struct attribution_tenant, i);

		if (!has_spoilt(judge->node) || !is_somewhere(tenant))
			judge_listed(judge, tenant);
	}
	return count;
}

bool rest_must_show(const struct world_pod *pod, int container, int gpu)
{
	return is_tenant(pod, container, gpu) && !is_beyond_proof(pod, container, gpu);
}

bool rest_is_beyond_claims(int gpu)
{
	for (int i = 0; i < world.n_pods; i++)
		for (int c = 0; c < world.pods[i].n_containers; c++)
			if (world.pods[i].claim >= 0 && is_tenant(&world.pods[i], c, gpu) &&
			    is_beyond_proof(&world.pods[i], c, gpu))
				return true;
	return false;
}

bool rest_is_shown(const struct world_pod *pod)
{
	for (int c = 0; c < pod->n_containers; c++)
		for (int gpu = 0; gpu < world.n_gpus; gpu++) {
			const struct attribution_status *status = oracle_status(gpu);

			if (!is_sharer(pod) && rest_must_show(pod, c, gpu) &&
			    (!status ||
			     !attribution_find_tenant(status, view_from(pod->uid),
						      view_from(pod->containers[c].name))))
				return false;
		}
	return true;
}

/* Slots and mode */

#define MAX_SEEN 256

struct forms {
	bool plain, replica, mig, mig_replica; /* of those on offer; without any, of those held */
	bool mps, not_mps;                     /* of the replicas held, those on offer if any is */
	int held;                              /* different IDs */
	int total;                             /* with those on offer */
	int n_claimants; /* pods that have it by claims, or the part of it that has most */
	bool hami, kai;
	bool left_over;  /* one is held that is not on offer */
	int replicas;    /* of the device, or of the part that has most; 0: no ID is known */
};

static void note_form(struct forms *forms, const char *id)
{
	bool is_replica = strstr(id, "::") != NULL;

	if (strncmp(id, "MIG-", 4) == 0 || strstr(id, "-mig-"))
		*(is_replica ? &forms->mig_replica : &forms->mig) = true;
	else
		*(is_replica ? &forms->replica : &forms->plain) = true;
}

static bool is_seen(const char *const *seen, int n, const char *id)
{
	for (int i = 0; i < n; i++)
		if (strcmp(seen[i], id) == 0)
			return true;
	return false;
}

/* What was given before the plugin was configured anew says nothing of how it is now. */
static bool is_of_now(const char *id, int gpu)
{
	const char *offered[MAX_SEEN];
	int n = device_manager_offered(gpu, offered, MAX_SEEN);

	return n == 0 || is_seen(offered, n, id);
}

static void note_held(struct forms *forms, const struct world_container *container, int gpu,
		      const char **seen)
{
	for (int i = 0; i < container->n_slots; i++) {
		const char *id = container->slots[i].id;

		if (container->slots[i].gpu != gpu || container->slots[i].is_admin ||
		    forms->held == MAX_SEEN ||
		    is_seen(seen, forms->held, id))
			continue;
		seen[forms->held++] = id;
		forms->left_over |= !is_of_now(id, gpu);
		if (strstr(id, "::") && is_of_now(id, gpu))
			*(container->mps ? &forms->mps : &forms->not_mps) = true;
	}
}

static int count_partitions(const struct world_gpu *gpu)
{
	int n = 0;

	for (int i = 0; i < gpu->n_partitions; i++)
		n += gpu->partitions[i].exists;
	return n;
}

/* What a driver offers is not counted in slots: a device is one, or as many as it has parts. */
static int count_sliced(int gpu)
{
	int n = count_partitions(&world.gpus[gpu]);

	if (!world_is_claims(world.nodes[world.gpus[gpu].node].mode))
		return 0;
	return n > 0 ? n : 1;
}

static bool uses_by_claim(const struct world_container *container, int gpu, int partition)
{
	if (!container->uses_claim || container->held_until != WORLD_NEVER)
		return false;
	for (int i = 0; i < container->n_slots; i++)
		if (container->slots[i].gpu == gpu && !container->slots[i].is_admin &&
		    container->slots[i].partition == partition)
			return true;
	return false;
}

static bool is_at_hami(int gpu)
{
	int node = world.gpus[gpu].node;

	return node >= 0 && world.nodes[node].mode == WORLD_HAMI;
}

/* What the IDs of one device, or of one part of it, have in common. */
static size_t stem_of(const char *id, bool is_hami)
{
	const char *end = is_hami ? strrchr(id, '-') : strstr(id, "::");

	return end ? (size_t)(end - id) : strlen(id);
}

static int count_replicas(const char *const *ids, int n, bool is_hami)
{
	int most = 0;

	for (int i = 0; i < n; i++) {
		size_t stem = stem_of(ids[i], is_hami);
		int same = 0;

		for (int k = 0; k < n; k++)
			same += stem_of(ids[k], is_hami) == stem &&
				strncmp(ids[i], ids[k], stem) == 0;
		most = same > most ? same : most;
	}
	return most;
}

static void note_offered(struct forms *forms, int gpu, const char *const *seen)
{
	const char *offered[MAX_SEEN];
	int n = device_manager_offered(gpu, offered, MAX_SEEN);

	forms->replicas = count_replicas(n > 0 ? offered : seen, n > 0 ? n : forms->held,
					 is_at_hami(gpu));
	forms->total = forms->held;
	for (int i = 0; n == 0 && i < forms->held; i++)
		note_form(forms, seen[i]);
	for (int i = 0; i < n; i++) {
		note_form(forms, offered[i]);
		forms->total += !is_seen(seen, forms->held, offered[i]);
	}
	if (is_at_hami(gpu)) {
		forms->hami = true;
		forms->total = n;
		forms->held = forms->held < n ? forms->held : n;
	}
	if (world.gpus[gpu].node >= 0 && count_sliced(gpu) > forms->total)
		forms->total = count_sliced(gpu);
}

/* By the kubelet's records, whatever the API server has; claims and groups are told there only. */
static bool is_holder(const struct world_pod *pod, int gpu)
{
	return pod->mirror_of < 0 && has_devices(pod) && world.gpus[gpu].node == pod->node &&
	       ((pod->claim < 0 && pod->group < 0) || !world_is_over(&pod->object));
}

/* Of that part of the device, or, for -1, of all of it. */
static int count_claimants(int gpu, int partition)
{
	int n = 0;

	for (int i = 0; i < world.n_pods; i++) {
		const struct world_pod *pod = &world.pods[i];
		bool uses = false;

		for (int c = 0; c < pod->n_containers; c++)
			uses |= uses_by_claim(&pod->containers[c], gpu, partition);
		n += uses && is_holder(pod, gpu);
	}
	return n;
}

/* Whatever ID it had, HAMi has given the device on to a later container of the pod. */
static bool is_passed_on(const struct world_pod *pod, int container, int gpu)
{
	bool is_passed = false;

	for (int c = container + 1; c < pod->n_containers; c++)
		is_passed |= is_on(&pod->containers[c], gpu);
	return is_passed && is_of_hami(pod) && pod->containers[container].kind == WORLD_INIT;
}

static struct forms survey(int gpu)
{
	const char *seen[MAX_SEEN];
	struct forms forms = {0};

	for (int i = 0; i < world.n_pods; i++) {
		const struct world_pod *pod = &world.pods[i];

		for (int c = 0; c < pod->n_containers; c++)
			if (is_holder(pod, gpu) && is_on(&pod->containers[c], gpu) &&
			    !is_passed_on(pod, c, gpu))
				note_held(&forms, &pod->containers[c], gpu, seen);
		forms.kai |= is_holder(pod, gpu) && sharers_is_on(pod, gpu);
	}
	for (int p = -1; p < world.gpus[gpu].n_partitions; p++) {
		int n = count_claimants(gpu, p);

		forms.n_claimants = n > forms.n_claimants ? n : forms.n_claimants;
	}
	note_offered(&forms, gpu, seen);
	return forms;
}

static bool hides_compute_mode(const struct world_gpu *gpu)
{
	return gpu->node >= 0 && world.nodes[gpu->node].hides_compute_mode;
}

/* Where the driver does not tell the compute mode a client of MPS shows it, if nobody else does. */
static int mode_of_replicas(const struct forms *forms, const struct world_gpu *gpu)
{
	bool is_exclusive = world_is_exclusive_process(gpu) && !hides_compute_mode(gpu);

	if (forms->not_mps && (forms->mps || is_exclusive))
		return ATTRIBUTION_MODE_UNKNOWN;
	if (forms->mps || is_exclusive)
		return ATTRIBUTION_MODE_MPS;
	if (forms->not_mps || !hides_compute_mode(gpu))
		return ATTRIBUTION_MODE_TIME_SLICED;
	return usage_has_client((int)(gpu - world.gpus)) ? ATTRIBUTION_MODE_MPS
							 : ATTRIBUTION_MODE_UNKNOWN;
}

static int mode_of(const struct forms *forms, const struct world_gpu *gpu)
{
	int n = forms->plain + forms->replica + forms->mig + forms->mig_replica;

	if (n != 1)
		return n == 0 && gpu->mig ? ATTRIBUTION_MODE_MIG : ATTRIBUTION_MODE_UNKNOWN;
	if (forms->hami)
		return ATTRIBUTION_MODE_UNKNOWN;
	if (forms->replica || (forms->plain && (forms->n_claimants > 1 || forms->kai)))
		return mode_of_replicas(forms, gpu);
	if (forms->plain)
		return ATTRIBUTION_MODE_EXCLUSIVE;
	return forms->mig && forms->n_claimants <= 1 ? ATTRIBUTION_MODE_MIG
						     : ATTRIBUTION_MODE_MIG_TIME_SLICED;
}

bool rest_was_released(int gpu, uint64_t since)
{
	for (int i = 0; i < world.n_pods; i++)
		for (int c = 0; c < world.pods[i].n_containers; c++) {
			const struct world_container *container = &world.pods[i].containers[c];

			for (int s = 0; s < container->n_slots; s++)
				if (container->slots[s].gpu == gpu &&
				    container->held_until != WORLD_NEVER &&
				    container->held_until >= since)
					return true;
		}
	return false;
}

/* Of some holder nothing is left: the answer of the plugin is gone with the kubelet's records. */
bool rest_is_beyond_proof(int gpu)
{
	for (int i = 0; i < world.n_pods; i++) {
		const struct world_pod *pod = &world.pods[i];

		for (int c = 0; c < pod->n_containers; c++)
			if (is_holder(pod, gpu) && is_on(&pod->containers[c], gpu) &&
			    is_beyond_proof(pod, c, gpu))
				return true;
	}
	return false;
}

int rest_mode(int gpu)
{
	const struct forms forms = survey(gpu);

	if (hides_compute_mode(&world.gpus[gpu]) && rest_is_beyond_proof(gpu))
		return ATTRIBUTION_MODE_UNKNOWN;
	/* Clients come and go, and are seen later. */
	if (hides_compute_mode(&world.gpus[gpu]) && !forms.mps && !forms.not_mps &&
	    usage_has_client(gpu))
		return ATTRIBUTION_MODE_UNKNOWN;
	return mode_of(&forms, &world.gpus[gpu]);
}

static void judge_number(const struct judge *judge, const char *what, int64_t got, int64_t expected)
{
	if (got != expected)
		oracle_accuse(ORACLE_AT_REST, "%s on %s: %s is %lld, not %lld", judge->g->uuid,
			      judge->node->name, what, (long long)got, (long long)expected);
}

/* Evidence: which line is true when */

static bool has_mig_ids(const struct judge *judge, const struct forms *forms)
{
	(void)judge;
	return forms->mig || forms->mig_replica;
}

static bool has_gpu_ids(const struct judge *judge, const struct forms *forms)
{
	(void)judge;
	return forms->plain || forms->replica;
}

static bool has_replica_ids(const struct judge *judge, const struct forms *forms)
{
	(void)judge;
	return forms->replica || forms->mig_replica;
}

static bool has_several(const struct judge *judge, const struct forms *forms)
{
	(void)judge;
	return forms->n_claimants > 1 || forms->kai;
}

static bool has_left_over(const struct judge *judge, const struct forms *forms)
{
	(void)judge;
	return forms->left_over;
}

static bool has_no_ids(const struct judge *judge, const struct forms *forms)
{
	(void)judge;
	return forms->replicas == 0;
}

static bool has_mig_on(const struct judge *judge, const struct forms *forms)
{
	(void)forms;
	return judge->g->mig;
}

static bool has_hami_ids(const struct judge *judge, const struct forms *forms)
{
	(void)judge;
	return forms->hami;
}

static bool has_pipe(const struct judge *judge, const struct forms *forms)
{
	(void)judge;
	return forms->mps;
}

static bool has_no_pipe(const struct judge *judge, const struct forms *forms)
{
	(void)judge;
	return forms->not_mps;
}

static bool has_daemon(const struct judge *judge, const struct forms *forms)
{
	(void)forms;
	return world_is_exclusive_process(judge->g) && !hides_compute_mode(judge->g);
}

static bool has_no_daemon(const struct judge *judge, const struct forms *forms)
{
	(void)forms;
	return !world_is_exclusive_process(judge->g) && !hides_compute_mode(judge->g);
}

static bool has_client(const struct judge *judge, const struct forms *forms)
{
	(void)forms;
	return usage_has_client(judge->gpu);
}

static bool has_mps_label(const struct judge *judge, const struct forms *forms)
{
	(void)forms;
	return judge->node->mode == WORLD_MPS;
}

static bool has_none_label(const struct judge *judge, const struct forms *forms)
{
	return !has_mps_label(judge, forms) && judge->node->mode != WORLD_TIME_SLICED;
}

static bool has_slicing_label(const struct judge *judge, const struct forms *forms)
{
	(void)forms;
	return judge->node->mode == WORLD_TIME_SLICED;
}

/* Of each line also the one that says the same and that it contradicts. */
static const struct {
	unsigned lines; /* bits of enum evidence */
	bool (*is_so)(const struct judge *judge, const struct forms *forms);
} lines[] = {
	{EVIDENCE_MIG_IDS, has_mig_ids},
	{EVIDENCE_GPU_IDS, has_gpu_ids},
	{EVIDENCE_REPLICA_IDS, has_replica_ids},
	{EVIDENCE_SHARED_ID, has_several},
	{EVIDENCE_LEFT_OVER_ID, has_left_over},
	{EVIDENCE_NO_IDS, has_no_ids},
	{EVIDENCE_MIG_IS_ON | EVIDENCE_MIG_CONTRADICTS, has_mig_on},
	{EVIDENCE_HAMI_IDS, has_hami_ids},
	{EVIDENCE_WITH_PIPE | EVIDENCE_PIPE_CONTRADICTS, has_pipe},
	{EVIDENCE_WITHOUT_PIPE, has_no_pipe},
	{EVIDENCE_EXCLUSIVE_PROCESS, has_daemon},
	{EVIDENCE_DEFAULT_MODE | EVIDENCE_DEFAULT_MODE_CONTRADICTS, has_no_daemon},
	{EVIDENCE_MPS_PROCESS, has_client},
	{EVIDENCE_LABEL_MPS | EVIDENCE_LABEL_MPS_CONTRADICTS, has_mps_label},
	{EVIDENCE_LABEL_NONE_CONTRADICTS, has_none_label},
	{EVIDENCE_LABEL_TIME_SLICING | EVIDENCE_LABEL_TIME_SLICING_CONTRADICTS, has_slicing_label},
};

static bool is_true(const struct judge *judge, const struct forms *forms, struct view line)
{
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (sharing_rule_line_of(line) & lines[i].lines)
			return lines[i].is_so(judge, forms);
	return false;
}

static void judge_evidence(const struct judge *judge, const struct forms *forms)
{
	const struct array evidence = judge->status->sharing.evidence;

	if (evidence.count == 0)
		accuse(judge, "the mode's evidence", "missing", "there");
	for (uint32_t i = 0; i < evidence.count; i++) {
		struct view line = *ARRAY_AT(evidence, struct view, i);

		if (!is_true(judge, forms, line))
			oracle_accuse(ORACLE_AT_REST, "%s on %s: it is not so that %.*s",
				      judge->g->uuid, judge->node->name, VIEW_ARG(line));
	}
}

static void judge_sharing(const struct judge *judge)
{
	const struct attribution_status *status = judge->status;
	const struct forms forms = survey(judge->gpu);

	if (judge->is_vague)
		return;
	judge_number(judge, "the mode", status->sharing.mode, mode_of(&forms, judge->g));
	judge_evidence(judge, &forms);
	/* What is known of no ID may be known from when there was one. */
	if (forms.replicas > 0)
		judge_number(judge, "sharing.replicas", status->sharing.replicas, forms.replicas);
	judge_number(judge, "slots.allocated", status->slots.allocated, forms.held);
	judge_number(judge, "slots.total", status->slots.total, forms.total);
}

/* Partitions */

static void judge_partitions(const struct judge *judge)
{
	judge_number(judge, "the number of partitions", judge->status->partitions.count,
		     count_partitions(judge->g));
	for (uint32_t i = 0; i < judge->status->partitions.count; i++) {
		const struct attribution_partition *partition =
			ARRAY_AT(judge->status->partitions, struct attribution_partition, i);
		bool exists = false;

		for (int k = 0; k < judge->g->n_partitions; k++)
			exists |= judge->g->partitions[k].exists &&
				  view_equal(partition->uuid,
					     view_from(judge->g->partitions[k].uuid));
		if (!exists)
			accuse(judge, "a partition", "there", "so");
	}
}

/* Conditions */

/* An ID without a place is the whole node's doubt. */
static bool has_doubts(const struct judge *judge)
{
	for (int i = 0; i < world.n_pods; i++)
		if (world.pods[i].is_reservation && world.pods[i].node == judge->g->node &&
		    world_is_active(&world.pods[i]) && !sharers_has_any(&world.pods[i]))
			return true;
	for (int i = 0; i < world.n_pods; i++) {
		const struct world_pod *pod = &world.pods[i];

		if (pod->node == judge->g->node && has_devices(pod) && !claims_can_prepare(pod))
			return true;
		for (int c = 0; c < pod->n_containers; c++)
			for (int gpu = 0; gpu < world.n_gpus; gpu++)
				if (world.gpus[gpu].node == judge->g->node &&
				    is_tenant(pod, c, gpu) && is_beyond_proof(pod, c, gpu))
					return true;
	}
	return false;
}

static void judge_condition(const struct judge *judge, struct view type)
{
	const struct condition *condition = attribution_find_condition(judge->status, type);

	if (!condition || condition->status != CONDITION_TRUE)
		oracle_accuse(ORACLE_AT_REST, "%s on %s: %.*s is not True: %.*s", judge->g->uuid,
			      judge->node->name, VIEW_ARG(type),
			      VIEW_ARG(condition ? condition->message : type));
}

static bool is_unplaced(const struct attribution_status *status, const struct world_pod *pod, int c)
{
	for (uint32_t i = 0; i < status->unplaced_tenants.count; i++) {
		const struct attribution_unplaced *unplaced =
			ARRAY_AT(status->unplaced_tenants, struct attribution_unplaced, i);

		if (view_equal(unplaced->pod_uid, view_from(pod->uid)) &&
		    view_equal(unplaced->container, view_from(pod->containers[c].name)))
			return true;
	}
	return status->unplaced_tenants_left_out > 0;
}

/* While no node that may take the device tells of it, it stays with this one. */
static bool is_kept(const struct judge *judge, const struct world_pod *pod, int c, int gpu)
{
	const struct attribution_status *status = oracle_status(gpu);

	return status && view_equal(status->node_name, view_from(judge->node->name)) &&
	       attribution_find_tenant(status, view_from(pod->uid),
				       view_from(pod->containers[c].name));
}

/* Who has a claim to a device that is no longer there is not passed over in silence. */
static void judge_displaced(const struct judge *judge, const struct world_pod *pod)
{
	if (!claims_awaits_kubelet(pod) || !pod->object.exists)
		return;
	for (int c = 0; c < pod->n_containers; c++)
		for (int i = 0; i < pod->containers[c].n_slots; i++) {
			int gpu = pod->containers[c].slots[i].gpu;

			if (world.gpus[gpu].node != pod->node &&
			    !is_unplaced(judge->status, pod, c) && !is_kept(judge, pod, c, gpu))
				accuse(judge, pod->name, "passed over", "an unplaced tenant");
		}
}

static void judge_there(struct judge *judge)
{
	int64_t count;

	if (!judge->status) {
		oracle_accuse(ORACLE_AT_REST, "%s on %s: it has no status", judge->g->uuid,
			      judge->node->name);
		return;
	}
	if (!view_equal(judge->status->node_name, view_from(judge->node->name))) {
		oracle_accuse(ORACLE_AT_REST, "%s on %s: the node is %.*s", judge->g->uuid,
			      judge->node->name, VIEW_ARG(judge->status->node_name));
		return;
	}
	judge_condition(judge, VIEW("ReportFresh"));
	overlaps_judge(judge->status, judge->gpu);
	if (!has_doubts(judge)) {
		judge_condition(judge, VIEW("Attributed"));
		judge_condition(judge, VIEW("Ready"));
		judge_number(judge, "the number of unplaced tenants",
			     judge->status->unplaced_tenants.count, 0);
	}
	count = judge_tenants(judge);
	if (!judge->is_vague)
		judge_number(judge, "tenantCount", judge->status->tenant_count, count);
	judge_sharing(judge);
	judge_partitions(judge);
	diagnosis_judge_rest(judge->status, judge->gpu);
	verdicts_judge_rest(judge->status, judge->gpu);
	drifts_judge_rest(judge->status, judge->gpu);
	idleness_judge_rest(judge->status, judge->gpu);
	hang_judge_rest(judge->status, judge->gpu);
	strain_judge_rest(judge->status, judge->gpu);
	named_judge_users(judge->status, judge->gpu);
	for (int i = 0; i < world.n_pods; i++)
		if (world.pods[i].node == judge->g->node)
			judge_displaced(judge, &world.pods[i]);
}

/* Of MIG devices nobody there can tell the parent. */
static bool is_told_by_api(const struct world_pod *pod, int container, int gpu)
{
	const struct world_container *c = &world_holder(pod)->containers[container];

	if (pod->claim >= 0)
		return rest_must_show(pod, container, gpu);
	if (is_of_hami(pod))
		return false; /* an ID of HAMi's tells some device of the node */
	for (int i = 0; i < c->n_slots; i++)
		if (c->slots[i].gpu == gpu && c->slots[i].partition < 0)
			return is_in_status(pod, container) && is_tenant(pod, container, gpu);
	return false;
}

static void judge_told(const struct judge *judge, const struct world_pod *pod)
{
	for (int c = 0; c < pod->n_containers; c++) {
		if (!is_told_by_api(pod, c, judge->gpu))
			continue;
		if (judge->status)
			judge_tenant(judge, pod, c);
		else
			accuse(judge, pod->name, "missing", "a tenant");
	}
}

static bool is_of_node(const struct judge *judge)
{
	return view_equal(judge->status->node_name, view_from(judge->node->name));
}

static void judge_agentless(const struct judge *judge)
{
	if (judge->status && !is_of_node(judge))
		return;
	if (judge->status) {
		verdicts_judge_rest(judge->status, judge->gpu);
		idleness_judge_why(judge->status, judge->gpu);
		drifts_judge_untold(judge->status, judge->gpu);
	}
	for (int i = 0; i < world.n_pods; i++)
		judge_told(judge, &world.pods[i]);
	for (uint32_t i = 0; judge->status && i < judge->status->tenants.count; i++) {
		const struct attribution_tenant *tenant =
			ARRAY_AT(judge->status->tenants, struct attribution_tenant, i);

		if (!is_somewhere(tenant))
			judge_listed(judge, tenant);
	}
}

void rest_judge(const struct attribution_status *status, int gpu)
{
	struct judge judge = {.status = status, .gpu = gpu, .g = &world.gpus[gpu]};

	if (judge.g->node < 0 || judge.g->lost)
		return;
	judge.node = &world.nodes[judge.g->node];
	if (judge.node->agentless)
		judge_agentless(&judge);
	else
		judge_there(&judge);
}

void rest_judge_trouble(const struct attribution_status *status, int gpu)
{
	struct judge judge = {.status = status, .gpu = gpu, .g = &world.gpus[gpu]};

	if (judge.g->node < 0 || !status)
		return;
	judge.node = &world.nodes[judge.g->node];
	if (!is_of_node(&judge))
		return;
	verdicts_judge_rest(status, gpu);
	drifts_judge_untold(status, gpu);
	if (!judge.g->lost)
		idleness_judge_why(status, gpu);
}

/* Texts but for times and reports */

static size_t time_length(struct view text)
{
	static const char shape[] = "\"dddd-dd-ddTdd:dd:dd";
	size_t n = sizeof(shape) - 1;

	if (text.len < n)
		return 0;
	for (size_t i = 0; i < n; i++) {
		bool is_digit = text.ptr[i] >= '0' && text.ptr[i] <= '9';

		if (shape[i] == 'd' ? !is_digit : text.ptr[i] != shape[i])
			return 0;
	}
	while (n < text.len && text.ptr[n] != '"')
		n++;
	return n;
}

/* Which report it was made from; the object has no others in it. */
static size_t report_length(struct view text)
{
	size_t n = 0;

	if (!view_starts_with(text, VIEW("\"report\":{")))
		return 0;
	while (n < text.len && text.ptr[n] != '}')
		n++;
	return n;
}

static size_t passed_over(struct view text)
{
	size_t n = report_length(text);

	return n > 0 ? n : time_length(text);
}

bool rest_is_same_text(struct view a, struct view b)
{
	while (a.len > 0 && b.len > 0) {
		size_t in_a = passed_over(a), in_b = passed_over(b);

		if (!in_a != !in_b || (!in_a && a.ptr[0] != b.ptr[0]))
			return false;
		a = view_from_offset(a, in_a ? in_a : 1);
		b = view_from_offset(b, in_b ? in_b : 1);
	}
	return a.len == b.len;
}
