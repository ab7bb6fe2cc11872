/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Each type is asked in the order of the table. Since a type hides later ones only, one pass decides.
 * What is found is listed in the same order; the condition tells the worst of it.
 */

#include "assess/drift.h"

#include <assert.h>
#include <string.h>

#include "assess/drift_allocatable.h"
#include "assess/drift_config.h"
#include "assess/drift_device.h"
#include "assess/drift_labels.h"
#include "assess/drift_layout.h"
#include "assess/drift_mig.h"
#include "assess/drift_mps.h"
#include "assess/drift_operand.h"
#include "assess/drift_plugin.h"
#include "assess/drift_settling.h"
#include "assess/drift_sharing.h"
#include "assess/drift_text.h"
#include "base/again.h"
#include "base/limits.h"
#include "base/sbuf.h"

/* What a type is about, as bits. */
enum about {
	DEVICE = 0,
	NODE = 1 << 0,
	ANYWAY = 1 << 1, /* it needs no policy */
	UNREAD = 1 << 2, /* it needs no policy that can be read */
	REMEMBERED = 1 << 3, /* it is pending while it waits */
};

static const struct row {
	struct view word;
	int64_t hold_off_ms;
	int severity;       /* enum attribution_severity */
	int about;          /* bits of enum about */
	unsigned hides;     /* DRIFT_BIT() of types */
	unsigned waits_for; /* DRIFT_SETTLING_BIT() */
	drift_rule_fn *rule;
} rows[] = {
#define ROW(name, word, severity, hold_off_s, about, hides, waits_for, rule)        \
	{VIEW_INIT(word), INT64_C(1000) * hold_off_s, ATTRIBUTION_SEVERITY_##severity, \
	 about, hides, waits_for, rule},
	DRIFT_TABLE(ROW)
};

#define HIDES_LATER_ONES(name, word, severity, hold_off_s, about, hides, ...) \
	static_assert(((hides) & (DRIFT_BIT(name) | (DRIFT_BIT(name) - 1))) == 0, word);
DRIFT_TABLE(HIDES_LATER_ONES)
/* What is pending are differences, and the work of which labels tell. */
#define MAX_PENDING (N_DRIFT_TYPES + DRIFT_SETTLING_KUBELET_SETTLING)
static_assert(LIMIT_DRIFTS >= MAX_PENDING, "drifts are left out");
static_assert(N_DRIFT_TYPES <= 32, "types are bits");

enum reason {
#define REASON_NAME(name, word) REASON_##name,
	DRIFT_REASON_TABLE(REASON_NAME)
};

static const struct view reasons[] = {
#define REASON_WORD(name, word) VIEW_INIT(word),
	DRIFT_REASON_TABLE(REASON_WORD)
};

struct judge {
	const struct drift_node *node;
	const struct drift_device *device;
	struct drift_text text;
	struct drift_settling_state settling;
	unsigned hidden;   /* DRIFT_BIT(): by this device's drifts, or by others' */
	unsigned hides;    /* DRIFT_BIT(): on each device of the node */
	unsigned told;     /* DRIFT_BIT() of what was found, or is kept */
	unsigned unread;   /* DRIFT_BIT(): what is intended cannot be read, */
	unsigned untold;   /* or the rule cannot tell now, */
	unsigned skipped;  /* or not at all; */
	unsigned kept;     /* what it told last is listed */
	unsigned found;    /* DRIFT_BIT() of what is listed */
	bool has_waiting;  /* a new difference waits for the settling to end */
	struct attribution_drift *drifts;
	uint32_t n_drifts;
	struct attribution_pending_drift *pending;
	uint32_t n_pending;
	int64_t again_in_ms;
};

struct view drift_word(enum drift_type type)
{
	assert((unsigned)type < N_DRIFT_TYPES);
	return rows[type].word;
}

enum drift_type drift_type_of(struct view word)
{
	int type = 0;

	while (type < N_DRIFT_TYPES && !view_equal(rows[type].word, word))
		type++;
	return (enum drift_type)type;
}

bool drift_is_of_node(enum drift_type type)
{
	assert((unsigned)type < N_DRIFT_TYPES);
	return rows[type].about & NODE;
}

unsigned drift_hides(enum drift_type type)
{
	assert((unsigned)type < N_DRIFT_TYPES);
	return rows[type].hides;
}

static enum drift_type type_of(const struct row *row)
{
	return (enum drift_type)(row - rows);
}

static unsigned types_of_node(void)
{
	unsigned types = 0;

	for (int i = 0; i < N_DRIFT_TYPES; i++)
		if (rows[i].about & NODE)
			types |= 1u << i;
	return types;
}

/* The node */

static void count_operands(struct drift_node *node, struct view namespace)
{
	for (size_t i = 0; i < node->n_pods; i++) {
		const struct pod_state *state = pod_state(node->pods[i]);
		struct drift_operand *operand = &node->operands[state->operand];

		if (!view_equal(pod_namespace(node->pods[i]), namespace))
			continue;
		operand->n_pods++;
		operand->n_ready += state->is_ready;
	}
}

void drift_prepare(struct drift_node *node)
{
	const struct policy *policy = node->intent->policy;

	assert(node->report && (node->pods || node->n_pods == 0));
	node->config = NULL;
	node->config_name = node->config_where = (struct view){0};
	memset(node->operands, 0, sizeof(node->operands));
	drift_mig_look(node);
	if (!policy)
		return;
	count_operands(node, policy->namespace);
	drift_operand_look(node);
	drift_plugin_choose(node);
}

/* One type */

static struct drift_finding ask(struct judge *judge, const struct row *row)
{
	const struct intent *intent = judge->node->intent;

	if (!(row->about & ANYWAY)) {
		if (!intent->known)
			return DRIFT_ANSWER(DRIFT_UNREADABLE);
		if (!intent->policy)
			return DRIFT_ANSWER(DRIFT_NO);
		if (intent->policy->unreadable.len > 0 && !(row->about & UNREAD))
			return DRIFT_ANSWER(DRIFT_UNREADABLE);
	}
	return row->rule(judge->node, judge->device, &judge->text);
}

static void add_drift(struct judge *judge, const struct row *row, struct drift_finding finding,
		      int64_t start_time)
{
	assert(judge->n_drifts < N_DRIFT_TYPES);
	judge->found |= 1u << type_of(row);
	judge->drifts[judge->n_drifts++] = (struct attribution_drift){
		.type = row->word,
		.severity = finding.severity != ATTRIBUTION_SEVERITY_UNSET ? finding.severity
									    : row->severity,
		.intended = finding.intended,
		.observed = finding.observed,
		.start_time = start_time,
		.message = finding.message,
		.intent_hash = finding.intent_hash,
	};
}

static void add_pending(struct judge *judge, const struct row *row, int64_t start_time,
			int64_t intent_hash)
{
	assert(judge->n_pending < MAX_PENDING);
	judge->pending[judge->n_pending++] =
		(struct attribution_pending_drift){row->word, start_time, intent_hash};
}

/* Versions before told none. */
static bool is_same_intent(int64_t published, struct drift_finding finding)
{
	return published == 0 || finding.intent_hash == 0 || published == finding.intent_hash;
}

static int64_t hold_off_of(const struct judge *judge, const struct row *row)
{
	const uint32_t percent = judge->node->hold_off_percent;

	return percent == 0 ? row->hold_off_ms : row->hold_off_ms * percent / 100;
}

/* The work may explain it. */
static void await(struct judge *judge, const struct row *row, struct drift_finding finding,
		  int64_t start_time)
{
	judge->has_waiting = true;
	if (row->about & REMEMBERED)
		add_pending(judge, row, start_time != 0 ? start_time : judge->node->now_wall_ms,
			    finding.intent_hash);
}

/* Since when it is pending, with what is intended now; 0: it is not. */
static int64_t pending_since(const struct judge *judge, const struct row *row,
			     struct drift_finding finding)
{
	const struct drift_previous *previous = judge->device->previous;

	return is_same_intent(previous->pending_hashes[type_of(row)], finding)
		       ? previous->pending_since[type_of(row)]
		       : 0;
}

/* Work that may explain it was published, and is over now. */
static bool is_work_over(const struct judge *judge, const struct row *row)
{
	return row->waits_for & judge->settling.over;
}

/*
 * Since when it counts: as its source dates it, or since it was pending, if that is later. A clock that was
 * set back may have left a time that lies ahead; one that lies far ahead does not count.
 */
static int64_t counts_since(const struct judge *judge, const struct row *row,
			    struct drift_finding finding)
{
	const int64_t now = judge->node->now_wall_ms, latest = now + hold_off_of(judge, row);
	const int64_t times[] = {finding.since, pending_since(judge, row, finding)};
	int64_t since = 0;

	for (size_t i = 0; i < ARRAY_SIZE(times); i++)
		since = times[i] > since && times[i] <= latest ? times[i] : since;
	return since == 0 || is_work_over(judge, row) ? now : since;
}

/* A new difference, or one that is pending. */
static void count_new(struct judge *judge, const struct row *row, struct drift_finding finding)
{
	const int64_t now = judge->node->now_wall_ms;
	int64_t start_time, left;

	if (row->waits_for & judge->settling.now) {
		await(judge, row, finding, pending_since(judge, row, finding));
		return;
	}
	start_time = counts_since(judge, row, finding);
	left = start_time + hold_off_of(judge, row) - now;
	if (left <= 0) {
		add_drift(judge, row, finding, start_time);
		return;
	}
	add_pending(judge, row, start_time, finding.intent_hash);
	judge->again_in_ms = again_sooner(judge->again_in_ms, left);
}

/* It is there, or pending. What a device has of its own hides on the others only what is of the node. */
static void hide(struct judge *judge, const struct row *row)
{
	judge->told |= 1u << type_of(row);
	judge->hidden |= row->hides;
	judge->hides |= row->about & NODE ? row->hides : row->hides & types_of_node();
}

/* What was published stays as it is. But the hold-off begins at the end of work. */
static void keep(struct judge *judge, const struct row *row)
{
	const struct attribution_drift *drift = judge->device->previous->drifts[type_of(row)];
	const int64_t pending_since = judge->device->previous->pending_since[type_of(row)];
	const int64_t pending_hash = judge->device->previous->pending_hashes[type_of(row)];

	if (drift) {
		assert(judge->n_drifts < N_DRIFT_TYPES);
		judge->drifts[judge->n_drifts++] = *drift;
		judge->found |= 1u << type_of(row);
		judge->kept |= 1u << type_of(row);
	} else if (pending_since != 0) {
		add_pending(judge, row,
			    is_work_over(judge, row) ? judge->node->now_wall_ms : pending_since,
			    pending_hash);
	}
	if (drift || pending_since != 0)
		hide(judge, row);
}

/*
 * What is intended now, nobody knows: the drift is none until it is seen again, and then has lasted since
 * it began. It hides nothing, for it may be over.
 */
static void set_aside(struct judge *judge, const struct row *row)
{
	const struct attribution_drift *drift = judge->device->previous->drifts[type_of(row)];
	const int64_t since = drift ? drift->start_time
				    : judge->device->previous->pending_since[type_of(row)];

	const int64_t hash = drift ? drift->intent_hash
				   : judge->device->previous->pending_hashes[type_of(row)];

	if (since != 0)
		add_pending(judge, row, since, hash);
}

static void judge_type(struct judge *judge, enum drift_type type)
{
	const struct row *row = &rows[type];
	const struct attribution_drift *before;
	struct drift_finding finding;

	if (judge->hidden & 1u << type)
		return;
	finding = ask(judge, row);
	assert(finding.answer <= DRIFT_NOT_COMPARED);
	if (finding.answer == DRIFT_CANNOT_TELL) {
		judge->untold |= 1u << type;
		keep(judge, row);
	}
	if (finding.answer == DRIFT_UNREADABLE) {
		judge->unread |= 1u << type;
		set_aside(judge, row);
	}
	if (finding.answer == DRIFT_NOT_COMPARED)
		judge->skipped |= 1u << type;
	if (finding.answer != DRIFT_FOUND)
		return;
	hide(judge, row);
	before = judge->device->previous->drifts[type_of(row)];
	if (before && is_same_intent(before->intent_hash, finding))
		add_drift(judge, row, finding, before->start_time);
	else
		count_new(judge, row, finding);
}

/* The verdict */

/* The worst, of equal ones the first. */
static const struct attribution_drift *find_worst(const struct judge *judge)
{
	const struct attribution_drift *worst = NULL;

	for (uint32_t i = 0; i < judge->n_drifts; i++)
		if (!worst || judge->drifts[i].severity > worst->severity)
			worst = &judge->drifts[i];
	return worst;
}

static void say_types(unsigned types, struct view separator, struct sbuf *message)
{
	for (int i = 0; i < N_DRIFT_TYPES; i++) {
		if (!(types & 1u << i))
			continue;
		sbuf_append(message, separator);
		sbuf_append(message, rows[i].word);
		separator = VIEW(", ");
	}
}

/* What is off on purpose; of a policy that cannot be read that is not known. */
static void say_off(struct judge *judge, struct sbuf *message)
{
	const struct intent *intent = judge->node->intent;

	if (intent->known && intent->policy && intent->policy->unreadable.len == 0)
		drift_operand_say_off(judge->node, &judge->text, message);
}

static void say_difference(struct view observed, struct view intended, struct sbuf *message)
{
	sbuf_append(message, VIEW("observed: "));
	sbuf_append(message, observed);
	sbuf_append(message, VIEW("; intended: "));
	sbuf_append(message, intended);
	sbuf_append(message, VIEW(". "));
}

static void tell_drifts(struct judge *judge, struct drift_verdict *verdict,
			struct sbuf *message)
{
	const struct attribution_drift *worst = find_worst(judge);

	assert(worst);
	verdict->state.state = ATTRIBUTION_INTENT_DRIFTED;
	verdict->status = CONDITION_FALSE;
	verdict->reason = worst->type;
	say_difference(worst->observed, worst->intended, message);
	sbuf_append(message, worst->message);
	if (judge->n_drifts > 1)
		sbuf_printf(message, " And %u more: see intent.drifts.", judge->n_drifts - 1);
	say_types(judge->kept, VIEW(" As last known, since it cannot be told now: "), message);
	say_off(judge, message);
}

/* Why the policy cannot be read; empty: it can. */
static struct view policy_is_unreadable(const struct intent *intent)
{
	if (intent->is_unserved)
		return VIEW("the API server has ClusterPolicies in other versions only than "
			    "nvidia.com/v1, which is read");
	if (intent->is_stale)
		return VIEW("the controller has not been able to watch ClusterPolicies for 5 minutes: "
			    "what it knows of them may be old");
	if (!intent->known)
		return VIEW("the controller cannot read ClusterPolicies");
	return intent->policy ? intent->policy->unreadable : VIEW("");
}

static bool tell_unknown(struct drift_verdict *verdict, enum reason reason, struct view why,
			 struct sbuf *message)
{
	if (why.len == 0)
		return false;
	sbuf_append(message, why);
	verdict->state.state = ATTRIBUTION_INTENT_UNKNOWN;
	verdict->status = CONDITION_UNKNOWN;
	verdict->reason = reasons[reason];
	return true;
}

static bool tell_unreadable(struct judge *judge, struct drift_verdict *verdict,
			    struct sbuf *message)
{
	enum reason reason = REASON_POLICY_UNREADABLE;
	struct view why = policy_is_unreadable(judge->node->intent);

	if (why.len == 0) {
		reason = REASON_CONFIG_UNREADABLE;
		why = drift_plugin_say_unreadable(judge->node, &judge->text);
	}
	if (why.len == 0)
		why = drift_mig_say_unreadable(judge->node, &judge->text);
	return tell_unknown(verdict, reason, why, message);
}

/* While the MIG manager works, that is told. */
static bool tell_other_layout(struct judge *judge, struct drift_verdict *verdict,
			      struct sbuf *message)
{
	const struct view why = judge->unread & DRIFT_BIT(MIG_LAYOUT)
					? drift_layout_say_other(judge->node, &judge->text)
					: (struct view){0};

	return tell_unknown(verdict, REASON_CONFIG_UNREADABLE, why, message);
}

/* Where nothing is intended, what happens on the node matters only to a difference. */
static bool is_looked_at(const struct judge *judge)
{
	return judge->has_waiting || judge->node->intent->policy;
}

/* Texts of a difference may change from one moment to the next, and each change would be a write. */
static void say_settling(const struct judge *judge, enum drift_settling kind, struct sbuf *message)
{
	if (kind == DRIFT_SETTLING_HOLD_OFF) {
		assert(judge->n_pending > 0);
		sbuf_append(message, judge->pending[0].type);
		sbuf_append(message, VIEW(": "));
	}
	sbuf_append(message, drift_settling_text(kind));
}

static bool tell_settling(struct judge *judge, struct drift_verdict *verdict,
			  struct sbuf *message)
{
	const unsigned settling = is_looked_at(judge) ? judge->settling.now : 0;
	int first = 0;

	if (settling == 0 && judge->n_pending == 0)
		return false;
	while (first < DRIFT_SETTLING_HOLD_OFF && !(settling & 1u << first))
		first++;
	assert(first <= DRIFT_SETTLING_HOLD_OFF);
	/* No hold-off ends while what is intended cannot be read. */
	if (first == DRIFT_SETTLING_HOLD_OFF && tell_other_layout(judge, verdict, message))
		return true;
	verdict->state.state = ATTRIBUTION_INTENT_SETTLING;
	verdict->status = CONDITION_UNKNOWN;
	verdict->reason = drift_settling_word((enum drift_settling)first);
	say_settling(judge, (enum drift_settling)first, message);
	say_off(judge, message);
	return true;
}

/* That nothing was found says little without what was compared. */
static void tell_good(struct judge *judge, struct drift_verdict *verdict, struct sbuf *message)
{
	const struct intent *intent = judge->node->intent;
	const bool is_managed = intent->policy != NULL;

	verdict->state.state = is_managed ? ATTRIBUTION_INTENT_IN_SYNC
					  : ATTRIBUTION_INTENT_UNMANAGED;
	verdict->status = CONDITION_TRUE;
	verdict->reason = reasons[is_managed ? REASON_IN_SYNC : REASON_UNMANAGED];
	if (is_managed)
		sbuf_append(message, drift_text(&judge->text, "as ClusterPolicy % says%",
						intent->policy->name,
						drift_plugin_say(judge->node, &judge->text)));
	else if (intent->n_gpu_clusters > 0 && !intent->are_gpu_clusters_unread)
		sbuf_append(message, VIEW("there is a GPUCluster, which is not compared"));
	else
		sbuf_append(message, VIEW("there is no ClusterPolicy"));
	if (intent->are_gpu_clusters_unread)
		sbuf_append(message, VIEW("; the controller cannot read GPUClusters"));
	say_off(judge, message);
	say_types(judge->untold, VIEW("; cannot be told now: "), message);
	say_types(judge->skipped, VIEW("; not compared: "), message);
}

static struct array list_of(void *items, uint32_t n)
{
	return (struct array){n > 0 ? items : NULL, n, true};
}

/* Since when labels have told of work is published like a difference. */
static void add_work(struct judge *judge, struct sbuf *message)
{
	const struct drift_settling_state *settling = &judge->settling;
	const uint32_t n = drift_settling_list(settling, judge->device, is_looked_at(judge),
					       &judge->pending[judge->n_pending]);

	if (n == 0)
		return;
	judge->n_pending += n;
	assert(judge->n_pending <= MAX_PENDING);
	drift_settling_say_expired(settling, message);
	judge->again_in_ms = again_sooner(judge->again_in_ms, settling->again_in_ms);
}

static int conclude(struct judge *judge, struct drift_verdict *ret_verdict, struct error *err)
{
	const struct policy *policy = judge->node->intent->policy;
	struct drift_verdict verdict = {
		.state.policy = policy ? policy->name : (struct view){0},
		.state.drifts = list_of(judge->drifts, judge->n_drifts),
	};
	CLEANUP(sbuf_deinit) struct sbuf message;

	sbuf_init(&message, LIMIT_TEXT_CONDITION_MESSAGE);
	if (judge->n_drifts > 0)
		tell_drifts(judge, &verdict, &message);
	else if (!tell_unreadable(judge, &verdict, &message) &&
		 !tell_settling(judge, &verdict, &message) &&
		 !tell_other_layout(judge, &verdict, &message))
		tell_good(judge, &verdict, &message);
	add_work(judge, &message);
	assert(verdict.status != CONDITION_UNSET && verdict.reason.len > 0);
	verdict.state.pending = list_of(judge->pending, judge->n_pending);
	verdict.found = judge->found;
	verdict.again_in_ms = judge->again_in_ms;
	verdict.hides = judge->hides;
	verdict.tells = judge->told;
	if (drift_text_check(&judge->text, err) < 0 ||
	    sbuf_keep(&message, "message", judge->text.arena, &verdict.message, err) < 0)
		return -1;
	*ret_verdict = verdict;
	return 0;
}

int drift_judge(const struct drift_node *node, const struct drift_device *device,
		struct arena *arena, struct drift_verdict *ret_verdict, struct error *err)
{
	struct judge judge = {
		.node = node,
		.device = device,
		.text = {.arena = arena},
		.settling = drift_settling_look(node, device),
		.drifts = arena_alloc(arena, N_DRIFT_TYPES, sizeof(struct attribution_drift)),
		.pending = arena_alloc(arena, MAX_PENDING,
				       sizeof(struct attribution_pending_drift)),
		.hidden = node->hidden,
		.again_in_ms = -1,
	};

	assert(node->intent && node->report && device->status && device->previous);
	if (!judge.drifts || !judge.pending)
		return error_no_memory(err);
	for (int type = 0; type < N_DRIFT_TYPES; type++)
		judge_type(&judge, (enum drift_type)type);
	return conclude(&judge, ret_verdict, err);
}
