/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Each verdict has one function that writes its sentence; the same sentence is a note to people and
 * the message in JSON.
 */

#include "kubectl/verdict.h"

#include <inttypes.h>

#include "base/sbuf.h"
#include "kubectl/output.h"
#include "kubectl/report_state.h"
#include "kubectl/words.h"

struct view verdict_name(enum assignment_verdict verdict)
{
	static const struct view names[] = {
		[ASSIGNMENT_ON_GPU] = VIEW_INIT("OnGPU"),
		[ASSIGNMENT_NOT_FOUND] = VIEW_INIT("NotFound"),
		[ASSIGNMENT_ENDED] = VIEW_INIT("Ended"),
		[ASSIGNMENT_NO_REQUEST] = VIEW_INIT("NoRequest"),
		[ASSIGNMENT_NOT_SCHEDULED] = VIEW_INIT("NotScheduled"),
		[ASSIGNMENT_UNPLACED] = VIEW_INIT("Unplaced"),
		[ASSIGNMENT_UNKNOWN] = VIEW_INIT("Unknown"),
	};
	return names[verdict];
}

static void say_device(const struct output *output, const struct attribution *device, struct sbuf *text)
{
	output_uuid(output, device->uuid, text);
	sbuf_printf(text, " (%.*s", VIEW_ARG(words_known(device->status.node_name)));
	if (device->status.device.index >= 0)
		sbuf_printf(text, ", index %" PRId64, device->status.device.index);
	sbuf_append_char(text, ')');
}

static void say_past(const struct output *output, const struct assignment_finding *finding,
		     struct sbuf *text)
{
	for (size_t i = 0; i < finding->n_past; i++) {
		const struct assignment_past *past = &finding->past[i];
		sbuf_append(text, finding->card ? VIEW("; it") : VIEW("; a pod of that name"));
		if (!finding->card)
			sbuf_printf(text, ", UID %.*s,", VIEW_ARG(past->tenant->pod_uid));
		sbuf_append(text, VIEW(" was on "));
		say_device(output, past->device, text);
		sbuf_append(text, VIEW(" until "));
		words_instant(text, past->tenant->end_time, output->now);
	}
}

static void say_not_found(const struct assignment_set *set, const struct assignment_finding *finding,
			  struct sbuf *text)
{
	if (set->is_blind)
		sbuf_append(text, VIEW("no GPU names a pod of that name, and pods may not be read: "
				       "whether there is one is not known"));
	else
		sbuf_printf(text, "not found in namespace \"%.*s\"", VIEW_ARG(finding->namespace));
}

static void say_ended(const struct pod_card *card, struct sbuf *text)
{
	sbuf_printf(text, "has ended (%.*s", VIEW_ARG(card->phase));
	if (card->reason.len > 0)
		sbuf_printf(text, ", %.*s", VIEW_ARG(card->reason));
	sbuf_append(text, VIEW(") and holds nothing"));
	if (card->message.len > 0) {
		sbuf_append(text, VIEW(": "));
		sbuf_append(text, card->message);
	}
}

static void say_unplaced(const struct assignment_finding *finding, struct sbuf *text)
{
	sbuf_printf(text, "holds device IDs on %.*s that belong to no known GPU: ",
		    VIEW_ARG(finding->card->node));
	words_list(text, finding->unplaced->device_ids);
}

/* What its limits ask for, of the kubelet or by way of a claim; empty: they ask for none. */
static struct view find_limit(const struct pod_card *card)
{
	if (card->requests.count == 0)
		return (struct view){0};
	return ARRAY_AT(card->requests, struct pod_card_request, 0)->resource;
}

/* How the pod asks; whether a claim is for GPUs is not in the pod. */
static void say_request(const struct pod_card *card, struct sbuf *text)
{
	const size_t begin = text->len;
	struct view limit = find_limit(card);
	if (limit.len > 0)
		sbuf_printf(text, "asks for %.*s", VIEW_ARG(limit));
	else if (card->requests.count > 0)
		sbuf_append(text, VIEW("shares a GPU by way of KAI (label runai-gpu-group)"));
	else if (card->node.len == 0 && card->kai_annotation.len > 0)
		sbuf_printf(text, "asks KAI for a share of a GPU (annotation %.*s)",
			    VIEW_ARG(card->kai_annotation));
	if (card->claims.count == 0)
		return;
	sbuf_append(text, text->len > begin ? VIEW(" and uses ") : VIEW("uses "));
	sbuf_append(text, VIEW("ResourceClaim "));
	words_list(text, card->claims);
	sbuf_append(text, VIEW(" (which may be for a GPU)"));
}

static void say_no_request(const struct pod_card *card, struct sbuf *text)
{
	sbuf_append(text, VIEW("asks for no GPU"));
	if (card->kai_annotation.len > 0)
		sbuf_printf(text, ": its annotation %.*s is for KAI's scheduler, and it was placed "
				  "by %.*s, without a share",
			    VIEW_ARG(card->kai_annotation),
			    VIEW_ARG(words_known(card->scheduler)));
	else if (card->has_hami)
		sbuf_append(text, VIEW(" of nvidia.com/, without which HAMi's annotation on it "
				       "does not count"));
	else if (card->node.len == 0 && card->other_resource.len > 0)
		sbuf_printf(text, ", unless a DeviceClass says that %.*s is one",
			    VIEW_ARG(card->other_resource));
	else if (card->has_claims)
		sbuf_append(text, VIEW(": no container uses its claims"));
}

static void say_not_scheduled(const struct pod_card *card, struct sbuf *text)
{
	if (card->requests.count == 0) {
		say_request(card, text);
		sbuf_append(text, VIEW(" and "));
	}
	sbuf_append(text, VIEW("is not scheduled: "));
	if (card->not_scheduled.len > 0)
		sbuf_append(text, card->not_scheduled);
	else
		sbuf_append(text, VIEW("no node has been chosen yet"));
}

/* Why no status names a pod that asks for GPUs: what is known of its node. */
static void say_unknown(const struct assignment_finding *finding, int64_t now, struct sbuf *text)
{
	struct view node = finding->card->node;
	say_request(finding->card, text);
	sbuf_printf(text, " and is on %.*s", VIEW_ARG(node));
	if (finding->n_node_devices == 0) {
		sbuf_printf(text, ", of which no GPU is known: does the agent run there? "
				  "(kubectl get pods -A -o wide "
				  "-l app.kubernetes.io/name=gpu-attribution-agent)");
		return;
	}
	if (finding->n_node_devices == 1)
		sbuf_append(text, VIEW("; the one GPU known there does not name it"));
	else
		sbuf_printf(text, "; none of the %zu GPUs known there names it",
			    finding->n_node_devices);
	if (finding->doubtful_device) {
		sbuf_append(text, VIEW("; but what they say is not current: "));
		report_state_note(finding->doubtful_device, now, text);
	} else if (view_equal(finding->card->phase, VIEW("Pending")) &&
		   find_limit(finding->card).len > 0 && finding->card->claims.count == 0) {
		sbuf_append(text, VIEW(": the kubelet has not given it any yet"));
	}
}

static void say_use(const struct output *output, const struct assignment_finding *finding,
		    struct sbuf *text)
{
	if (!finding->user)
		return;
	sbuf_append(text, VIEW("; yet its process "));
	words_process(text, finding->user);
	sbuf_append(text, VIEW(" is on "));
	say_device(output, finding->used_device, text);
	sbuf_append(text, VIEW(", without a slot of it"));
}

static void say_earlier(const struct output *output, const struct assignment_finding *finding,
			struct sbuf *text)
{
	if (!finding->earlier_tenant)
		return;
	sbuf_printf(text, "; an earlier pod of that name, UID %.*s, is still on ",
		    VIEW_ARG(finding->earlier_tenant->pod_uid));
	say_device(output, finding->earlier_device, text);
}

void verdict_say(const struct output *output, const struct assignment_set *set,
		 const struct assignment_finding *finding, struct sbuf *text)
{
	switch (finding->verdict) {
	case ASSIGNMENT_ON_GPU:
		sbuf_append(text, VIEW("is on a GPU"));
		break;
	case ASSIGNMENT_NOT_FOUND:
		say_not_found(set, finding, text);
		break;
	case ASSIGNMENT_ENDED:
		say_ended(finding->card, text);
		break;
	case ASSIGNMENT_NO_REQUEST:
		say_no_request(finding->card, text);
		break;
	case ASSIGNMENT_NOT_SCHEDULED:
		say_not_scheduled(finding->card, text);
		break;
	case ASSIGNMENT_UNPLACED:
		say_unplaced(finding, text);
		break;
	case ASSIGNMENT_UNKNOWN:
		say_unknown(finding, output->now, text);
		break;
	}
	say_use(output, finding, text);
	say_past(output, finding, text);
	say_earlier(output, finding, text);
}

void verdict_say_assigned(const struct output *output, const struct assignment_set *set,
			  const struct assignment_finding *finding, struct sbuf *text)
{
	if (!finding->card)
		sbuf_append(text, set->is_blind
					  ? VIEW("found by its name alone, for pods may not be read")
					  : VIEW("no longer known to the API server, but still named "
						 "as a tenant"));
	else if (finding->earlier_tenant)
		sbuf_append(text, VIEW("is on a GPU"));
	say_earlier(output, finding, text);
}
