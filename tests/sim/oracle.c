/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/oracle.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/limits.h"
#include "lib/rewording.h"
#include "model/attribution.h"
#include "model/report.h"
#include "schema/attribution_doc.h"
#include "sim/apiserver.h"
#include "sim/cause.h"
#include "sim/check.h"
#include "sim/clockwork.h"
#include "sim/diagnosis.h"
#include "sim/differences.h"
#include "sim/no_cause.h"
#include "sim/drifts.h"
#include "sim/hang.h"
#include "sim/idleness.h"
#include "sim/looks.h"
#include "sim/matrix.h"
#include "sim/named.h"
#include "sim/programs.h"
#include "sim/reasons.h"
#include "sim/rest.h"
#include "sim/sharers.h"
#include "sim/strain.h"
#include "sim/told.h"
#include "sim/world.h"
#include "wire/jwalk.h"

#define MAX_OBJECTS 32
#define PODS_AGE_MS 1000u
#define MOVE_WEARS_OFF_MS 140000u
#define CLOCK_WEARS_OFF_MS 100000u /* the longest step is 90 s */

/* What is known of one object: the last status that took effect. */
struct sight {
	char name[64];
	bool exists;
	bool is_written;
	uint64_t written_at;
	struct arena arena;
	struct attribution attribution;
	struct view text; /* of the status */
};

bool oracle_is_verbose;

static struct sight sights[MAX_OBJECTS];
static int n_sights;
static struct oracle_violation violation;
static unsigned n_writes;
static uint64_t digest;
static bool quiet;

static const char *const rule_names[ORACLE_N_RULES] = {
	"none",	      "FALSE_TENANT", "FALSE_USER", "FALSE_EVENT", "FALSE_HEALTH", "CLEARED",
	"LOST_EVENT", "FALSE_IDLE", "AT_REST",      "NO_CAUSE",   "NEEDLESS",	   "LOST",	   "LATE",
	"STALE",      "GAP",	      "FORGED",	      "DELETED",    "STUCK",
	"FALSE_DRIFT", "MISSED_DRIFT", "FLAPPING", "GROWING"};

void oracle_reset(void)
{
	violation = (struct oracle_violation){.rule = ORACLE_NONE};
	n_writes = 0;
	digest = REWORDING_DIGEST;
	quiet = false;
}

void oracle_clear(void)
{
	for (int i = 0; i < n_sights; i++)
		arena_deinit(&sights[i].arena);
	memset(sights, 0, sizeof(sights));
	n_sights = 0;
}

const struct oracle_violation *oracle_found(void)
{
	return &violation;
}

const char *oracle_rule_name(enum oracle_rule rule)
{
	return rule_names[rule];
}

void oracle_accuse(enum oracle_rule rule, const char *format, ...)
{
	va_list values;

	if (violation.rule != ORACLE_NONE)
		return;
	violation.rule = rule;
	violation.at = clockwork_now();
	va_start(values, format);
	vsnprintf(violation.text, sizeof(violation.text), format, values);
	va_end(values);
}

unsigned oracle_writes(void)
{
	return n_writes;
}

uint64_t oracle_digest(void)
{
	return digest;
}

static void digest_text(struct view text)
{
	digest = rewording_digest(digest, text);
}

void oracle_set_quiet(bool is_quiet)
{
	quiet = is_quiet;
}

/* Since when a device is idle is told by the node's clock, and may be told anew when that was set. */
static bool was_node_clock_set(void)
{
	return cause_since(CAUSE_NODE_CLOCK, -1, -1, 0);
}

void oracle_sent(uint64_t at)
{
	(void)at;
	if (quiet && !diagnosis_may_settle() && !differences_may_expire() && !was_node_clock_set())
		oracle_accuse(ORACLE_NEEDLESS, "something is written though nothing has happened");
}

static struct sight *find_sight(const char *name)
{
	for (int i = 0; i < n_sights; i++)
		if (strcmp(sights[i].name, name) == 0)
			return &sights[i];
	check(n_sights < MAX_OBJECTS);
	snprintf(sights[n_sights].name, sizeof(sights[0].name), "%s", name);
	return &sights[n_sights++];
}

/* An object's name is its device's UUID in lower case. */
static int gpu_of(const char *name)
{
	for (int i = 0; i < world.n_gpus; i++) {
		const char *uuid = world.gpus[i].uuid;
		size_t k = 0;

		while (uuid[k] && tolower((unsigned char)uuid[k]) == name[k])
			k++;
		if (!uuid[k] && !name[k])
			return i;
	}
	return -1;
}

static int node_of(struct view name)
{
	for (int i = 0; i < world.n_nodes; i++)
		if (view_equal(view_from(world.nodes[i].name), name))
			return i;
	return -1;
}

/* Tenants */

static const struct world_container *find_container(const struct world_pod *pod, struct view name)
{
	for (int i = 0; i < pod->n_containers; i++)
		if (view_equal(view_from(pod->containers[i].name), name))
			return &pod->containers[i];
	return NULL;
}

static const struct world_pod *find_pod(struct view uid)
{
	for (int i = 0; i < world.n_pods; i++)
		if (view_equal(view_from(world.pods[i].uid), uid))
			return &world.pods[i];
	return NULL;
}

static int count_slots(const struct world_container *container, int gpu)
{
	int n = 0;

	for (int i = 0; i < container->n_slots; i++)
		n += container->slots[i].gpu == gpu && !container->slots[i].is_admin;
	return n;
}

/* Those of MIG devices that are gone, whose parent need not be known any more. */
static int count_orphans(const struct world_container *container, int gpu)
{
	int n = 0;

	for (int i = 0; i < container->n_slots; i++) {
		const struct world_slot *slot = &container->slots[i];

		n += slot->gpu == gpu && slot->partition >= 0 &&
		     !world.gpus[gpu].partitions[slot->partition].exists;
	}
	return n;
}

static bool has_partition(const struct world_container *container, int gpu, struct view uuid)
{
	for (int i = 0; i < container->n_slots; i++) {
		const struct world_slot *slot = &container->slots[i];

		if (slot->gpu == gpu && slot->partition >= 0 &&
		    view_equal(view_from(world.gpus[gpu].partitions[slot->partition].uuid), uuid))
			return true;
	}
	return false;
}

static bool has_partitions(const struct world_container *container, int gpu,
			   const struct attribution_tenant *tenant)
{
	for (uint32_t i = 0; i < tenant->partitions.count; i++)
		if (!has_partition(container, gpu,
				   *ARRAY_AT(tenant->partitions, struct view, i)))
			return false;
	return true;
}

static bool is_on(const struct world_container *container, int gpu)
{
	for (int i = 0; i < container->n_slots; i++)
		if (container->slots[i].gpu == gpu)
			return true;
	return false;
}

static const char *find_fault_of_slots(const struct world_container *container,
				       const struct attribution_tenant *tenant, int gpu)
{
	int n = count_slots(container, gpu);

	if (!is_on(container, gpu))
		return "never held the device";
	if (tenant->slots > n || tenant->slots < n - count_orphans(container, gpu))
		return "holds another number of slots";
	if (n == 0 && attribution_is_counted(tenant))
		return "only watches";
	if (!has_partitions(container, gpu, tenant))
		return "holds other partitions";
	return NULL;
}

/*
 * A slice does not say which boot it is of. The controller knows that the devices were renumbered
 * in one of three ways. NVML has listed them in this boot, NVML's list of the former boot is old,
 * or the Node names this boot.
 */
static bool is_by_former_boot(const struct attribution_status *status, int node, uint64_t sent_at)
{
	const struct condition *fresh = attribution_find_condition(status, VIEW("ReportFresh"));

	return fresh && fresh->status == CONDITION_TRUE &&
	       world.nodes[node].boot_told_at >= sent_at &&
	       !view_equal(status->report.boot_id, view_from(world.nodes[node].boot_id));
}

static bool has_id(const struct world_container *container, const char *id)
{
	for (int i = 0; i < container->n_slots; i++)
		if (strcmp(container->slots[i].id, id) == 0)
			return true;
	return false;
}

/* The card has left the node, and by the name that it had there nobody has a device now. */
static bool has_left_its_name(const struct world_pod *pod, const struct world_container *container,
			      int gpu)
{
	if (world.gpus[gpu].node == pod->node)
		return false;
	for (int i = 0; i < container->n_old_slots; i++)
		if (container->old_slots[i].gpu == gpu &&
		    has_id(container, container->old_slots[i].id))
			return false;
	return true;
}

/*
 * What it held before the devices were renumbered counts, as long as the renumbering cannot be
 * known. A card that has left the node is never known to have left, unless another one has its
 * name.
 */
static bool was_so(const struct world_pod *pod, const struct world_container *container,
		   const struct attribution_tenant *tenant,
		   const struct attribution_status *status, int gpu, uint64_t sent_at)
{
	struct world_container before = *container;

	memcpy(before.slots, container->old_slots, sizeof(before.slots));
	before.n_slots = container->n_old_slots;
	return (world.pools[pod->node].whole_told_at >= sent_at ||
		has_left_its_name(pod, container, gpu) ||
		is_by_former_boot(status, pod->node, sent_at)) &&
	       !find_fault_of_slots(&before, tenant, gpu);
}

static const char *find_fault(const struct world_pod *pod, const struct attribution_tenant *tenant,
			      const struct attribution_status *status, int gpu, uint64_t sent_at)
{
	const struct world_container *container =
		find_container(world_holder(pod), tenant->container);

	bool is_sharer = container && sharers_was_on(pod, gpu, sent_at);

	if (!container || (container->held_from > sent_at && !is_sharer))
		return "never held the device";
	if (!view_equal(tenant->pod_name, view_from(pod->name)) ||
	    !view_equal(tenant->pod_namespace, view_from(pod->namespace)))
		return "has another name";
	if (pod->node != node_of(status->node_name))
		return "is on another node";
	/* What was asked before it was written may come to be known meanwhile. */
	if (pod->end_known_at < sent_at && sent_at - pod->end_known_at > ORACLE_ASKED_MS)
		return "was known to be over";
	if (is_sharer && (tenant->confidence == ATTRIBUTION_CONFIDENCE_ANNOTATED ||
			  named_is_by_process(tenant)))
		return tenant->slots == 0 ? NULL : "holds no slots itself";
	if (was_so(pod, container, tenant, status, gpu, sent_at) ||
	    (tenant->confidence == ATTRIBUTION_CONFIDENCE_ANNOTATED &&
	     sharers_is_said_on(pod, gpu)))
		return NULL;
	return find_fault_of_slots(container, tenant, gpu);
}

static bool is_named_by(const struct attribution_tenant *tenant, const char *names)
{
	for (uint32_t i = 0; i < tenant->witnesses.count; i++) {
		char name[64];

		snprintf(name, sizeof(name), " %.*s ",
			 VIEW_ARG(*ARRAY_AT(tenant->witnesses, struct view, i)));
		if (strstr(names, name))
			return true;
	}
	return false;
}

/* What confirms a tenant, and is listed with it. */
static bool is_borne_out(const struct attribution_tenant *tenant)
{
	return is_named_by(tenant, " Checkpoint PodStatus ResourceClaim ") ||
	       (is_named_by(tenant, " HAMi KAI ") && is_named_by(tenant, " Processes "));
}

static void judge_tenant(const struct attribution_status *status,
			 const struct attribution_tenant *tenant, int gpu, uint64_t sent_at)
{
	const struct world_pod *pod = find_pod(tenant->pod_uid);
	const char *fault;

	if (tenant->confidence == ATTRIBUTION_CONFIDENCE_UNCONFIRMED) {
		/* Of one that the API server has no longer it is said that it knows none. */
		if (pod && pod->node != node_of(status->node_name) && pod->known_at < sent_at &&
		    pod->end_known_at >= sent_at)
			oracle_accuse(ORACLE_FALSE_TENANT, "%s lists %s, which is on another node",
				      world.gpus[gpu].uuid, pod->name);
		return;
	}
	fault = pod ? find_fault(pod, tenant, status, gpu, sent_at) : "does not exist";
	if (!fault && tenant->confidence == ATTRIBUTION_CONFIDENCE_CONFIRMED &&
	    !is_borne_out(tenant))
		fault = "is Confirmed by nobody who names its UID";
	if (fault)
		oracle_accuse(ORACLE_FALSE_TENANT, "%s lists %.*s/%.*s (%s), which %s",
			      world.gpus[gpu].uuid, VIEW_ARG(tenant->pod_uid),
			      VIEW_ARG(tenant->container), pod ? pod->name : "?", fault);
}

static void judge_status(const struct attribution_status *status, int gpu, uint64_t sent_at)
{
	for (uint32_t i = 0; i < status->tenants.count; i++)
		judge_tenant(status, ARRAY_AT(status->tenants, struct attribution_tenant, i), gpu,
			     sent_at);
}

/*
 * Its claim cannot be read and gives another device by now, until the slices tell which; and it is
 * said that it has some device.
 */
static bool is_renumbered(const struct attribution_status *now, const struct world_pod *pod,
			  const struct world_container *container)
{
	return pod->claim >= 0 && container->n_old_slots > 0 &&
	       memcmp(container->old_slots, container->slots, sizeof(container->slots)) != 0 &&
	       world.pools[pod->node].whole_told_at == WORLD_NEVER &&
	       attribution_is_unplaced(now, view_from(pod->uid), view_from(container->name));
}

/* A tenant of before that is not among those of now. */
static void judge_absent(const struct attribution_status *now,
			 const struct attribution_tenant *before, int gpu)
{
	const struct world_pod *pod = find_pod(before->pod_uid);

	if (!pod || before->confidence == ATTRIBUTION_CONFIDENCE_UNCONFIRMED ||
	    pod->node != node_of(now->node_name) ||
	    attribution_find_tenant(now, before->pod_uid, before->container))
		return;
	for (int c = 0; c < pod->n_containers; c++)
		if (view_equal(view_from(pod->containers[c].name), before->container) &&
		    rest_must_show(pod, c, gpu) && !is_renumbered(now, pod, &pod->containers[c]))
			oracle_accuse(ORACLE_LOST, "%s: %s/%.*s has vanished, and holds it still",
				      world.gpus[gpu].uuid, pod->name,
				      VIEW_ARG(before->container));
}

/* What it says of tenants it says of now. */
static void judge_age(const struct attribution_status *status, int gpu, uint64_t sent_at)
{
	const struct condition *ready = attribution_find_condition(status, VIEW("Ready"));
	int node = node_of(status->node_name);
	uint64_t age = looks_age(node, sent_at);

	if (ready && ready->status == CONDITION_TRUE && age > PODS_AGE_MS)
		oracle_accuse(ORACLE_STALE, "%s is Ready, by pods as they were %u ms ago",
			      world.gpus[gpu].uuid, (unsigned)age);
}

/*
 * A node can take a card by claiming it only while the node that has it is silent. If the
 * controller has not heard of that node since its start, it does not count it as silent.
 */
static void judge_place(const struct attribution_status *status, int gpu)
{
	int node = world.gpus[gpu].node, shown = node_of(status->node_name);
	uint64_t from = clockwork_now() - MOVE_WEARS_OFF_MS;

	if (node < 0 || shown == node || world.nodes[node].agentless ||
	    cause_since(CAUSE_NEW_DEVICE, node, gpu, from) ||
	    cause_since(CAUSE_REPORTS_MISSING, node, gpu, from) ||
	    cause_since(CAUSE_DRIVER_FAILED, node, gpu, from) ||
	    cause_since(CAUSE_DRIVER_HANGS, node, gpu, from))
		return;
	oracle_accuse(ORACLE_FORGED, "%s is shown on %.*s, and is on %s", world.gpus[gpu].uuid,
		      VIEW_ARG(status->node_name), world.nodes[node].name);
}

static void judge_losses(const struct sight *sight, const struct attribution_status *now, int gpu)
{
	const struct array before = sight->attribution.status.tenants;

	for (uint32_t i = 0; sight->is_written && i < before.count; i++)
		judge_absent(now, ARRAY_AT(before, struct attribution_tenant, i), gpu);
}

/* Objects */

void oracle_created(const char *name)
{
	struct sight *sight = find_sight(name);

	sight->exists = true;
	sight->is_written = false;
	n_writes++;
	if (gpu_of(name) < 0)
		oracle_accuse(ORACLE_FALSE_TENANT, "%s is created, which does not exist", name);
}

void oracle_vanished(const char *name)
{
	find_sight(name)->exists = false;
}

/* As far as the controller was told, and the API server would have told if asked. */
static bool is_long_gone(int node, uint64_t sent_at)
{
	uint64_t told_at = world.nodes[node].gone_told_at;

	if (world.nodes[node].in_api && world.nodes[node].there_since + ORACLE_ASKED_MS < sent_at)
		return false;
	if (world.nodes[node].there_told_at >= sent_at)
		return true; /* it came back while the request was on its way */
	return told_at != WORLD_NEVER && clockwork_now() - told_at >= PROGRAMS_GONE_MS;
}

void oracle_deleted(const char *name, uint64_t sent_at)
{
	struct sight *sight = find_sight(name);
	int node = sight->is_written ? node_of(sight->attribution.status.node_name) : -1;

	n_writes++;
	if (node >= 0 && !is_long_gone(node, sent_at))
		oracle_accuse(ORACLE_DELETED, "%s is deleted, and %s is not known to be long gone", name,
			      world.nodes[node].name);
	sight->exists = false;
	digest_text(view_from(name));
	digest ^= sent_at;
}

static struct view status_text(struct view object)
{
	struct view key, value, text = {0};
	struct jwalk walk;

	jwalk_init(&walk, object);
	while (jwalk_next(&walk, &key, &value))
		if (view_equal(key, VIEW("status")))
			text = value;
	return text;
}

/* Instants that lie in the future by a clock that was set back are set anew. */
static bool is_repeated(struct view before, struct view now, bool has_new_event)
{
	if (view_equal(before, now))
		return true;
	return !has_new_event && rest_is_same_text(before, now) &&
	       !was_node_clock_set() &&
	       !cause_since(CAUSE_CLOCK_SET, -1, -1, clockwork_now() - CLOCK_WEARS_OFF_MS);
}

/* Then the agent is another one, too, and cannot have heard of what was before. */
static bool is_of_another_boot(const struct attribution_status *now,
			       const struct attribution_status *before)
{
	return !view_equal(now->report.boot_id, before->report.boot_id);
}

/* Samples were missed while no controller ran, or the node's clock was set. */
static bool is_idle_anew(const struct attribution_status *now, const struct attribution_status *before)
{
	uint64_t from = clockwork_now() - CLOCK_WEARS_OFF_MS;
	return now->activity.idle_since != before->activity.idle_since &&
	       (cause_since(CAUSE_NODE_CLOCK, node_of(now->node_name), -1, from) ||
		cause_since(CAUSE_CONTROLLER_NEW, -1, -1, from));
}

void oracle_wrote(const char *name, struct view object, uint64_t sent_at)
{
	struct sight *sight = find_sight(name);
	struct attribution attribution;
	struct view text;
	struct arena arena;
	struct error err;
	int gpu = gpu_of(name);

	n_writes++;
	arena_init(&arena, LIMIT_OBJECT_BYTES);
	check(arena_copy(&arena, object, &object));
	if (gpu < 0 || attribution_doc_decode(object, &arena, &attribution, &err) < 0) {
		oracle_accuse(ORACLE_FALSE_TENANT, "%s: an unusable status: %s", name,
			      gpu < 0 ? "no such device" : err.text);
		arena_deinit(&arena);
		return;
	}
	judge_status(&attribution.status, gpu, sent_at);
	judge_age(&attribution.status, gpu, sent_at);
	judge_losses(sight, &attribution.status, gpu);
	judge_place(&attribution.status, gpu);
	named_judge(&attribution.status, sight->is_written ? &sight->attribution.status : NULL, gpu,
		    sent_at);
	diagnosis_judge(&attribution.status, sight->is_written ? &sight->attribution.status : NULL,
			gpu);
	idleness_judge(&attribution.status, sight->is_written ? &sight->attribution.status : NULL,
		       gpu);
	hang_judge(&attribution.status, gpu);
	strain_judge(&attribution.status, sight->is_written ? &sight->attribution.status : NULL,
		     gpu);
	no_cause_judge(&attribution.status, sight->is_written ? &sight->attribution.status : NULL, gpu,
		       node_of(attribution.status.node_name));
	reasons_judge(&attribution.status, sight->is_written ? &sight->attribution.status : NULL, gpu,
		      node_of(attribution.status.node_name), sent_at);
	told_wrote(view_from(name), &attribution.status);
	drifts_judge(&attribution.status, sight->is_written ? &sight->attribution.status : NULL, gpu);
	text = status_text(object);
	digest_text(view_from(name));
	digest_text(text);
	digest ^= sent_at;
	if (oracle_is_verbose)
		printf("%9.3f s: %s: %.*s\n", (double)(sent_at - CLOCKWORK_START_MS) / 1000, name,
		       VIEW_ARG(text));
	if (sight->is_written &&
	    is_repeated(sight->text, text,
			diagnosis_has_news(&attribution.status, &sight->attribution.status) ||
				is_of_another_boot(&attribution.status,
						   &sight->attribution.status) ||
				is_idle_anew(&attribution.status, &sight->attribution.status) ||
				idleness_is_anew(&attribution.status,
						 &sight->attribution.status, gpu)))
		oracle_accuse(ORACLE_NEEDLESS, "%s is written again as it was", name);
	if (quiet && !diagnosis_may_settle() && !differences_may_expire() && !rest_is_same_text(sight->text, text))
		oracle_accuse(ORACLE_NEEDLESS, "%s is written though nothing has happened", name);
	arena_deinit(&sight->arena);
	sight->arena = arena;
	sight->attribution = attribution;
	sight->text = text;
	sight->is_written = true;
	sight->written_at = clockwork_now();
	sight->exists = true;
	matrix_wrote(&sight->attribution.status, gpu);
}

bool oracle_knows_later(int node, const struct report *report, uint64_t before)
{
	for (int i = 0; i < n_sights; i++) {
		const struct attribution_status *status = &sights[i].attribution.status;

		if (sights[i].exists && sights[i].is_written && sights[i].written_at < before &&
		    node_of(status->node_name) == node &&
		    view_equal(status->report.boot_id, report->boot_id) &&
		    status->report.instance == report->instance &&
		    status->report.sequence > report->sequence)
			return true;
	}
	return false;
}

const struct attribution_status *oracle_status(int gpu)
{
	for (int i = 0; i < n_sights; i++)
		if (sights[i].exists && sights[i].is_written && gpu_of(sights[i].name) == gpu)
			return &sights[i].attribution.status;
	return NULL;
}

void oracle_check_trouble(void)
{
	for (int i = 0; i < world.n_gpus; i++)
		rest_judge_trouble(oracle_status(i), i);
}

void oracle_check_rest(void)
{
	for (int i = 0; i < world.n_gpus; i++)
		rest_judge(oracle_status(i), i);
}
