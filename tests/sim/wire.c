/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A forged report is the node's own last one, decoded, changed and encoded again: so it is as good
 * as a liar can make it. It takes the next sequence number, and the agent's own next report has to
 * prevail over it.
 */

#include "sim/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/limits.h"
#include "base/sbuf.h"
#include "lib/jwt.h"
#include "schema/report_doc.h"
#include "sim/cause.h"
#include "sim/check.h"
#include "sim/clockwork.h"
#include "sim/door.h"
#include "sim/illness.h"
#include "sim/matrix.h"
#include "sim/net.h"
#include "sim/oracle.h"
#include "sim/programs.h"
#include "sim/prompt.h"
#include "sim/reasons.h"
#include "sim/unwatched.h"
#include "sim/world.h"

#define KEPT 4 /* older reports of a node, to be sent again */

struct letter {
	struct fetch *fetch; /* NULL: nobody waits for the answer */
	bool answer_lost;
	int node;
	unsigned boot;
	uint64_t to; /* the controller that it is for, by its start: connections die with it */
	enum wire_forgery forgery; /* WIRE_N_FORGERIES: it is none */
	bool is_old; /* what was published when it was sent rests on a later one */
	char authorization[600];
	size_t len;
	char body[];
};

static uint64_t heard_by[WORLD_MAX_NODES]; /* which controller accepted a report last */
static unsigned boots[WORLD_MAX_NODES];
static uint64_t spoilt_until[WORLD_MAX_NODES][WIRE_N_FAULTS];
static char *kept[WORLD_MAX_NODES][KEPT]; /* newest first */

static void arrive(void *owner, uint64_t number);

void wire_reset(void)
{
	memset(spoilt_until, 0, sizeof(spoilt_until));
	memset(heard_by, 0, sizeof(heard_by));
	clockwork_on_drop(arrive, free);
}

void wire_lose(int node)
{
	boots[node]++;
	for (int i = 0; i < KEPT; i++) {
		free(kept[node][i]);
		kept[node][i] = NULL;
	}
}

void wire_clear(void)
{
	for (int node = 0; node < WORLD_MAX_NODES; node++)
		wire_lose(node);
}

void wire_spoil(int node, enum wire_fault fault, uint64_t until)
{
	spoilt_until[node][fault] = until;
}

const char *wire_token(int node)
{
	static char token[512];
	char signature[16];

	snprintf(signature, sizeof(signature), "agent-%d", node);
	return jwt_make(&(struct jwt_claims){.audience = "gpuattribution.dev",
					     .namespace = "gpu-attribution",
					     .account = "gpu-attribution-agent",
					     .node = world.nodes[node].name},
			signature, token, sizeof(token)).ptr;
}

/* It pretends to be an agent's until it is reviewed. */
static const char *other_token(int node)
{
	static char token[512];

	return jwt_make(&(struct jwt_claims){.audience = "gpuattribution.dev",
					     .namespace = "gpu-attribution",
					     .account = "gpu-attribution-agent",
					     .node = world.nodes[node].name},
			"other-0", token, sizeof(token)).ptr;
}

static bool is_spoilt(int node, enum wire_fault fault)
{
	return clockwork_now() < spoilt_until[node][fault];
}

/* Sending */

static bool must_be_refused(enum wire_forgery forgery)
{
	return forgery == WIRE_OTHER_NODE || forgery == WIRE_BAD_TOKEN ||
	       forgery == WIRE_OTHER_ACCOUNT || forgery == WIRE_GARBAGE;
}

static void answered(void *owner, int status, uint32_t retry_after_ms, struct view body)
{
	struct letter *letter = owner;
	struct fetch *fetch = letter->fetch;

	if (status == 200 && must_be_refused(letter->forgery))
		oracle_accuse(ORACLE_FORGED, "a forged report of node-%d is accepted",
			      letter->node + 1);
	if (status == 200 && letter->is_old)
		oracle_accuse(ORACLE_FORGED, "node-%d: a report that is older than what is "
			      "published is accepted", letter->node + 1);
	if (status == 200) {
		heard_by[letter->node] = programs_controller_since();
		prompt_heard(letter->node);
		reasons_heard(letter->node);
		unwatched_heard(letter->node, (struct view){letter->body, letter->len});
	}
	/* It is not synced: it has not heard of the node, and what it knows is what is published. */
	if (status == 503)
		cause_add(CAUSE_CONTROLLER_NEW, letter->node, -1, clockwork_now(), clockwork_now());
	if (fetch && !letter->answer_lost) {
		if (status == 0)
			net_fail_in(fetch, 1);
		else
			net_answer_in(fetch, world_between(1, 5), status, "application/json",
				      retry_after_ms, body);
	}
	free(letter);
}

static void arrive(void *owner, uint64_t number)
{
	struct letter *letter = owner;

	(void)number;
	/* One that nobody waits for is on the way somewhere, and outlives who sent it. */
	if ((letter->fetch && letter->boot != boots[letter->node]) ||
	    letter->to != programs_controller_since()) {
		if (letter->fetch)
			net_fail(letter->fetch, "connection reset");
		free(letter);
		return;
	}
	door_knock(letter->authorization, (struct view){letter->body, letter->len}, answered,
		   letter);
}

static struct letter *write_letter(int node, const char *authorization, struct view body)
{
	struct letter *letter = calloc(1, sizeof(*letter) + body.len);

	check(letter);
	snprintf(letter->authorization, sizeof(letter->authorization), "%s", authorization);
	letter->node = node;
	letter->boot = boots[node];
	letter->to = programs_controller_since();
	letter->forgery = WIRE_N_FORGERIES;
	letter->len = body.len;
	memcpy(letter->body, body.ptr, body.len);
	return letter;
}

static void send(struct letter *letter, uint64_t ms)
{
	clockwork_in(ms, arrive, letter, 0);
}

static void keep(int node, struct view body)
{
	char *text = malloc(body.len + 1);

	check(text);
	memcpy(text, body.ptr, body.len);
	text[body.len] = '\0';
	free(kept[node][KEPT - 1]);
	memmove(&kept[node][1], &kept[node][0], (KEPT - 1) * sizeof(kept[node][0]));
	kept[node][0] = text;
}

void wire_carry(struct fetch *fetch)
{
	int node = fetch->actor;
	const struct view body = {fetch->body, fetch->body_len};
	struct letter *letter = write_letter(node, fetch->authorization, body);

	keep(node, body);
	illness_posted(node, body);
	reasons_posted(node, body, false);
	letter->fetch = fetch;
	letter->answer_lost = is_spoilt(node, WIRE_ANSWERS_LOST);
	if (is_spoilt(node, WIRE_DOUBLED))
		send(write_letter(node, fetch->authorization, body), world_between(50, 8000));
	if (is_spoilt(node, WIRE_REPORTS_LOST))
		free(letter);
	else
		send(letter, is_spoilt(node, WIRE_SLOW) ? world_between(10, 30000)
							: world_between(1, 8));
}

/* Forging */

struct forger {
	int node;
	struct arena arena;
	struct report report;
	struct sbuf text;
};

static struct view keep_text(struct forger *forger, const char *text)
{
	struct view kept_text = {0};

	check(arena_copy(&forger->arena, view_from(text), &kept_text));
	return kept_text;
}

/* An array with one more item, which is zeroed. */
static void *grow(struct forger *forger, struct array *array, size_t size)
{
	char *items = arena_alloc(&forger->arena, array->count + 1, size);

	check(items);
	if (array->count > 0)
		memcpy(items, array->items, array->count * size);
	*array = (struct array){items, array->count + 1, true};
	return items + (array->count - 1) * size;
}

static const struct world_gpu *some_gpu(int node, bool own)
{
	int first = (int)world_between(0, (uint64_t)world.n_gpus - 1);

	for (int i = 0; i < world.n_gpus; i++) {
		const struct world_gpu *gpu = &world.gpus[(first + i) % world.n_gpus];

		/* A device that no agent tells of is whose node claims it. */
		if (gpu->node >= 0 && (gpu->node == node) == own &&
		    !world.nodes[gpu->node].agentless)
			return gpu;
	}
	return NULL;
}

static const struct world_pod *some_foreign_pod(int node)
{
	for (int i = world.n_pods - 1; i >= 0; i--)
		if (world.pods[i].object.exists && world.pods[i].node != node)
			return &world.pods[i];
	return NULL;
}

/* Records a device of the node's for a pod, by both witnesses. */
static void book(struct forger *forger, const char *uid, const char *name)
{
	const struct world_gpu *gpu = some_gpu(forger->node, true);
	struct report_checkpoint_entry *entry;
	struct report_pod_resource *listed;
	struct view *id;

	if (!gpu)
		return;
	id = arena_alloc(&forger->arena, 1, sizeof(*id));
	check(id);
	*id = keep_text(forger, gpu->uuid);
	entry = grow(forger, &forger->report.checkpoint.entries, sizeof(*entry));
	*entry = (struct report_checkpoint_entry){.pod_uid = keep_text(forger, uid),
						  .container = VIEW("forged"),
						  .resource = VIEW("nvidia.com/gpu"),
						  .device_ids = {id, 1, true}};
	forger->report.checkpoint.present = true;
	listed = grow(forger, &forger->report.pod_resources, sizeof(*listed));
	*listed = (struct report_pod_resource){.namespace = VIEW("ml"),
					       .name = keep_text(forger, name),
					       .container = VIEW("forged"),
					       .resource = VIEW("nvidia.com/gpu"),
					       .device_ids = {id, 1, true}};
}

static bool claim_pods(struct forger *forger)
{
	const struct world_pod *pod = some_foreign_pod(forger->node);

	if (!pod)
		return false;
	book(forger, pod->uid, pod->name);
	/* Until it is told whose it is, to the controller it is one that does not exist. */
	if (pod->known_at > clockwork_now())
		cause_add(CAUSE_FORGED, forger->node, -1, clockwork_now(), clockwork_now());
	return true;
}

static bool invent_pods(struct forger *forger)
{
	char uid[WORLD_UID_SIZE];

	world_new_uuid(uid);
	book(forger, uid, "nobody-0");
	cause_add(CAUSE_FORGED, forger->node, -1, clockwork_now(), clockwork_now());
	return true;
}

static bool claim_devices(struct forger *forger)
{
	const struct world_gpu *gpu = some_gpu(forger->node, false);
	struct report_device *device;

	if (!gpu)
		return false;
	matrix_gpu(MATRIX_TWO_NODES, gpu);
	device = grow(forger, &forger->report.devices, sizeof(*device));
	*device = (struct report_device){.uuid = keep_text(forger, gpu->uuid), .index = 40,
					 .minor = 40};
	cause_add(CAUSE_DUPLICATE, -1, (int)(gpu - world.gpus), clockwork_now(), clockwork_now());
	return true;
}

static bool decode_last(struct forger *forger)
{
	struct error err;
	const char *last = kept[forger->node][0];

	return last &&
	       report_doc_decode(view_from(last), &forger->arena, &forger->report, &err) == 0;
}

/* What a node says under its own token of its own devices nobody can contest. */
static void repeat_processes(const struct forger *forger, const struct report_device *device)
{
	for (uint32_t i = 0; i < device->processes.count; i++)
		for (int k = 0; k < world.n_processes; k++) {
			struct world_process *process = &world.processes[k];

			if (process->node == forger->node &&
			    (int64_t)process->pid ==
				    ARRAY_AT(device->processes, struct report_process, i)->pid)
				process->repeated_at = clockwork_now();
		}
}

static bool change(struct forger *forger, enum wire_forgery forgery)
{
	if (!decode_last(forger))
		return false;
	forger->report.sequence++;
	for (uint32_t i = 0; i < forger->report.devices.count; i++)
		repeat_processes(forger, ARRAY_AT(forger->report.devices, struct report_device, i));
	if (forgery == WIRE_OTHER_NODE) {
		forger->report.node =
			keep_text(forger, world.nodes[(forger->node + 1) % world.n_nodes].name);
		return world.n_nodes > 1;
	}
	if (forgery == WIRE_OTHER_PODS)
		return claim_pods(forger);
	if (forgery == WIRE_NO_PODS)
		return invent_pods(forger);
	return forgery != WIRE_OTHER_DEVICES || claim_devices(forger);
}

/* Older than what the present controller has found when it started. */
static bool is_old(int node, struct view body)
{
	struct arena arena;
	struct report report;
	struct error err;
	bool old;

	arena_init(&arena, LIMIT_MIB);
	old = report_doc_decode(body, &arena, &report, &err) == 0 &&
	      oracle_knows_later(node, &report, programs_controller_since());
	arena_deinit(&arena);
	return old;
}

static void post(int node, enum wire_forgery forgery, struct view body)
{
	char authorization[600];
	struct letter *letter;

	snprintf(authorization, sizeof(authorization), "Bearer %s",
		 forgery == WIRE_BAD_TOKEN       ? "stranger"
		 : forgery == WIRE_OTHER_ACCOUNT ? other_token(node)
						 : wire_token(node));
	letter = write_letter(node, authorization, body);
	letter->forgery = forgery;
	letter->is_old = forgery == WIRE_REPLAY && is_old(node, body);
	send(letter, 1);
}

static bool post_changed(int node, enum wire_forgery forgery)
{
	struct forger forger = {.node = node};
	bool done;

	arena_init(&forger.arena, LIMIT_MIB);
	sbuf_init(&forger.text, LIMIT_MIB);
	done = change(&forger, forgery);
	if (done) {
		report_doc_encode(&forger.report, &forger.text);
		illness_forged(node, sbuf_view(&forger.text));
		reasons_posted(node, sbuf_view(&forger.text), true);
		post(node, forgery, sbuf_view(&forger.text));
	}
	sbuf_deinit(&forger.text);
	arena_deinit(&forger.arena);
	return done;
}

bool wire_forge(int node, enum wire_forgery forgery)
{
	if (forgery == WIRE_GARBAGE) {
		post(node, forgery, VIEW("{\"version\":1,\"node\":["));
		return true;
	}
	if (forgery != WIRE_REPLAY)
		return post_changed(node, forgery);
	if (!kept[node][KEPT - 1])
		return false;
	/*
	 * A controller that has heard nothing of the node yet knows only what is older than what is
	 * published. A pod may have ended since that.
	 */
	if (heard_by[node] != programs_controller_since())
		cause_add(CAUSE_FORGED, node, -1, clockwork_now(), clockwork_now());
	post(node, forgery, view_from(kept[node][KEPT - 1]));
	return true;
}
