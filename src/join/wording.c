/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A text that was published in another release and is not in these tables any more means nothing to
 * the join: what it said is found out anew.
 */

#include "join/wording.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/sbuf.h"
#include "model/pod.h"

#define N(table) (sizeof(table) / sizeof((table)[0]))

static const struct view witnesses[] = {
	VIEW_INIT("Checkpoint"), VIEW_INIT("PodResources"), VIEW_INIT("PodStatus"),
	VIEW_INIT("ResourceClaim"), VIEW_INIT("HAMi"), VIEW_INIT("KAI"), VIEW_INIT("Processes"),
};

static const struct view placeholders[] = {
	[PLACEHOLDER_NONE] = VIEW_INIT(""),
	[PLACEHOLDER_HAMI] = VIEW_INIT("HAMi"),
	[PLACEHOLDER_KAI] = VIEW_INIT("KAI"),
};

static const struct view conditions[] = {
	[CONDITION_ATTRIBUTED] = VIEW_INIT("Attributed"),
	[CONDITION_DRIFTED] = VIEW_INIT("Drifted"),
	[CONDITION_HEALTHY] = VIEW_INIT("Healthy"),
	[CONDITION_READY] = VIEW_INIT("Ready"),
	[CONDITION_REPORT_FRESH] = VIEW_INIT("ReportFresh"),
};

static const struct view reasons[] = {
	[REASON_NONE] = VIEW_INIT(""),
	[REASON_ALL_RESOLVED] = VIEW_INIT("AllResolved"),
	[REASON_PENDING] = VIEW_INIT("Pending"),
	[REASON_UNRESOLVED] = VIEW_INIT("Unresolved"),
	[REASON_POD_UNKNOWN] = VIEW_INIT("PodUnknown"),
	[REASON_PLACEHOLDER] = VIEW_INIT("Placeholder"),
	[REASON_SLOT_HELD_TWICE] = VIEW_INIT("SlotHeldTwice"),
	[REASON_SOURCE_DISAGREEMENT] = VIEW_INIT("SourceDisagreement"),
	[REASON_UNKNOWN_DEVICE_ID] = VIEW_INIT("UnknownDeviceID"),
	[REASON_RESERVED_OTHERWISE] = VIEW_INIT("ReservedOtherwise"),
	[REASON_CLAIMS_UNKNOWN] = VIEW_INIT("ClaimsUnknown"),
	[REASON_PODS_STALE] = VIEW_INIT("PodsStale"),
	[REASON_PODS_UNKNOWN] = VIEW_INIT("PodsUnknown"),
	[REASON_NO_AGENT] = VIEW_INIT("NoAgent"),
	[REASON_SETTLING] = VIEW_INIT("Settling"),
	[REASON_SOURCES_FAILED] = VIEW_INIT("SourcesFailed"),
	[REASON_UNCONFIRMED] = VIEW_INIT("Unconfirmed"),
	[REASON_AWAITING_REPORT] = VIEW_INIT("AwaitingReport"),
	[REASON_CURRENT] = VIEW_INIT("Current"),
	[REASON_DUPLICATE_UUID] = VIEW_INIT("DuplicateUUID"),
	[REASON_REPORT_STALE] = VIEW_INIT("ReportStale"),
	[REASON_REPORT_RECEIVED] = VIEW_INIT("ReportReceived"),
	[REASON_AGENT_SILENT] = VIEW_INIT("AgentSilent"),
	[REASON_UNMANAGED] = VIEW_INIT("Unmanaged"),
	[REASON_NOT_ASSESSED] = VIEW_INIT("NotAssessed"),
	[REASON_NOTHING_FOUND] = VIEW_INIT("NothingFound"),
	[REASON_DEVICE_MISSING] = VIEW_INIT("DeviceMissing"),
	[REASON_NOT_ADVERTISED] = VIEW_INIT("NotAdvertised"),
	[REASON_NVML_UNAVAILABLE] = VIEW_INIT("NVMLUnavailable"),
};

static const struct view messages[] = {
	[MESSAGE_ALL_RESOLVED] = VIEW_INIT("every slot that is held has a pod"),
	[MESSAGE_RESOLVED_WITHOUT_CHECKPOINT] = VIEW_INIT(
		"every slot that is held has a pod; without the kubelet's checkpoint whom only "
		"PodResources names is known by name alone"),
	[MESSAGE_RESOLVED_WITHOUT_POD_RESOURCES] = VIEW_INIT(
		"every slot that is held has a pod, by what is known without PodResources"),
	[MESSAGE_PENDING] = VIEW_INIT("held by a pod that the API server does not know yet"),
	[MESSAGE_UNRESOLVED] = VIEW_INIT("held by a pod that the API server does not know"),
	[MESSAGE_POD_UNKNOWN] = VIEW_INIT("held by an unidentified pod"),
	[MESSAGE_PLACEHOLDER] = VIEW_INIT("held by a placeholder for pods that are not known"),
	[MESSAGE_UNRESOLVED_AND_UNKNOWN] = VIEW_INIT(
		"held by pods that are not all identified"),
	[MESSAGE_SOURCE_DISAGREEMENT] = VIEW_INIT(
		"witnesses contradict each other: see sourceDisagreement"),
	[MESSAGE_UNPLACED] = VIEW_INIT(
		"a pod of the node holds a device ID that is no known device's: see "
		"unplacedTenants"),
	[MESSAGE_RESERVED_OTHERWISE] = VIEW_INIT(
		"a ResourceClaim that a pod of the node uses has the device, and is reserved for "
		"what is no pod, a PodGroup: which pods use it is not known"),
	[MESSAGE_CLAIMS_DENIED] = VIEW_INIT(
		"the controller cannot read ResourceClaims or ResourceSlices at present, see its "
		"/readyz: tenants are as they were known before"),
	[MESSAGE_CLAIMS_INCOMPLETE] = VIEW_INIT(
		"a pod of the node uses a ResourceClaim, and which device that gives it is not "
		"known: ResourceClaims or ResourceSlices cannot be read, or are not complete"),
	[MESSAGE_PODS_STALE] = VIEW_INIT(
		"the controller's watch of pods, or of nodes, has been away for more than 10 s: "
		"tenants are as they were known before"),
	[MESSAGE_PODS_UNKNOWN] = VIEW_INIT(
		"the controller may no longer read pods, grant the verbs list and watch: tenants "
		"are as they were known before"),
	[MESSAGE_API_ONLY] = VIEW_INIT(
		"tenants are those that the status of pods and claims name: init containers are "
		"not among them"),
	[MESSAGE_SETTLING] = VIEW_INIT(
		"the kubelet started anew, and its List is not complete yet"),
	[MESSAGE_SOURCES_FAILED] = VIEW_INIT(
		"neither PodResources nor the kubelet's checkpoint can be read"),
	[MESSAGE_UNCONFIRMED] = VIEW_INIT(
		"no witness names a tenant any more, and none has said that it left: see its "
		"confidence"),
	[MESSAGE_AWAITING_REPORT] = VIEW_INIT(
		"the node's next report tells who is on the device now"),
	[MESSAGE_CURRENT] = VIEW_INIT("the report is fresh and every held slot has a pod"),
	[MESSAGE_DUPLICATE_UUID] = VIEW_INIT("another node reports a device with this UUID"),
	[MESSAGE_REPORT_STALE] = VIEW_INIT(
		"this is the last that was known: the node's agent is silent"),
	[MESSAGE_NO_AGENT] = VIEW_INIT(
		"no agent reports for the node: only what the API server says is known"),
	[MESSAGE_REPORT_RECEIVED] = VIEW_INIT("the node's agent reports"),
	[MESSAGE_AGENT_SILENT] = VIEW_INIT("the node's agent has not reported for long"),
	[MESSAGE_NEVER_REPORTED] = VIEW_INIT(
		"no agent has reported for the node since the controller started"),
	[MESSAGE_UNMANAGED] = VIEW_INIT("there is no ClusterPolicy"),
	[MESSAGE_NOT_ASSESSED] = VIEW_INIT("the device was not compared with a policy"),
	[MESSAGE_NOTHING_FOUND] = VIEW_INIT("nothing speaks against the device"),
	[MESSAGE_DEVICE_MISSING] = VIEW_INIT("NVML no longer lists the device"),
	[MESSAGE_NOT_ADVERTISED] = VIEW_INIT("the device plugin no longer offers the device"),
	[MESSAGE_NVML_UNAVAILABLE] = VIEW_INIT("the node's agent cannot read NVML"),
	[MESSAGE_NO_AGENT_FOR_HEALTH] = VIEW_INIT("no agent reports for the node"),
	[MESSAGE_NO_REASON_GIVEN] = VIEW_INIT("no reason was given"),
};

/* In the order of enum evidence. */
static const struct view evidence[] = {
	VIEW_INIT("device IDs name MIG devices"),
	VIEW_INIT("device IDs name the whole device"),
	VIEW_INIT("device IDs end in a replica number"),
	VIEW_INIT("several pods are on the device by one ID"),
	VIEW_INIT("a claim gives a share of the device"),
	VIEW_INIT("a pod holds a device ID that is no longer offered"),
	VIEW_INIT("no device ID is known"),
	VIEW_INIT("MIG mode is on"),
	VIEW_INIT("device IDs are HAMi's"),
	VIEW_INIT("a device ID is of no known form"),
	VIEW_INIT("an allocation response has the MPS pipe"),
	VIEW_INIT("an allocation response has no MPS pipe"),
	VIEW_INIT("compute mode is ExclusiveProcess"),
	VIEW_INIT("an MPS process is on the device"),
	VIEW_INIT("compute mode is Default"),
	VIEW_INIT("compute mode is Default, which contradicts"),
	VIEW_INIT("MIG mode is on, which contradicts"),
	VIEW_INIT("an allocation response has the MPS pipe, which contradicts"),
	VIEW_INIT("node label gpu.sharing-strategy is mps"),
	VIEW_INIT("node label gpu.sharing-strategy is mps, which contradicts"),
	VIEW_INIT("node label gpu.sharing-strategy is time-slicing"),
	VIEW_INIT("node label gpu.sharing-strategy is time-slicing, which contradicts"),
	VIEW_INIT("node label gpu.sharing-strategy is none, which contradicts"),
};

_Static_assert(N(witnesses) == N_WITNESSES, "a text for each witness");
_Static_assert(N(conditions) == N_CONDITION_TYPES, "a text for each type");
_Static_assert(N(reasons) == N_REASONS, "a text for each reason");
_Static_assert(N(messages) == N_MESSAGES, "a text for each message");
_Static_assert(N(evidence) == N_EVIDENCE, "a text for each line");

struct view wording_witness(unsigned index)
{
	assert(index < N(witnesses));
	return witnesses[index];
}

struct view wording_placeholder(enum placeholder placeholder)
{
	assert(placeholder < N(placeholders));
	return placeholders[placeholder];
}

struct view wording_condition(enum condition_type type)
{
	assert(type < N(conditions));
	return conditions[type];
}

struct view wording_reason(enum reason reason)
{
	assert(reason < N(reasons));
	return reasons[reason];
}

struct view wording_message(enum message message)
{
	assert(message < N(messages));
	return messages[message];
}

struct view wording_evidence(enum evidence line)
{
	unsigned index = 0;
	while (index + 1 < N(evidence) && line != 1u << index)
		index++;
	assert(line == 1u << index);
	return evidence[index];
}

/* The index of the text in the table, or n. */
static unsigned find(const struct view *table, unsigned n, struct view text)
{
	unsigned i = 0;
	while (i < n && !view_equal(table[i], text))
		i++;
	return i;
}

unsigned wording_witnesses_of(struct array texts)
{
	unsigned found = 0;
	for (uint32_t i = 0; i < texts.count; i++) {
		unsigned index = find(witnesses, N(witnesses), *ARRAY_AT(texts, struct view, i));
		found |= index < N(witnesses) ? 1u << index : 0;
	}
	return found;
}

enum placeholder wording_placeholder_of(struct view text)
{
	unsigned index = find(placeholders, N(placeholders), text);
	return index < N(placeholders) ? (enum placeholder)index : PLACEHOLDER_NONE;
}

enum reason wording_reason_of(struct view text)
{
	unsigned index = find(reasons, N(reasons), text);
	return index < N(reasons) ? (enum reason)index : REASON_NONE;
}

unsigned wording_evidence_of(struct view text)
{
	unsigned index = find(evidence, N(evidence), text);
	return index < N(evidence) ? 1u << index : 0;
}

struct view wording_xid(int64_t code, char text[static WORDING_XID_SIZE])
{
	int len = snprintf(text, WORDING_XID_SIZE, "XID%" PRId64, code);
	assert(len > 0 && (unsigned)len < WORDING_XID_SIZE);
	return (struct view){text, (size_t)len};
}

struct view wording_slots(int64_t n, enum message held_by, char text[static WORDING_SLOTS_SIZE])
{
	int len = snprintf(text, WORDING_SLOTS_SIZE, "%" PRId64 " %s %.*s", n,
			   n == 1 ? "slot is" : "slots are", VIEW_ARG(wording_message(held_by)));
	assert(len > 0 && (unsigned)len < WORDING_SLOTS_SIZE);
	return (struct view){text, (size_t)len};
}

void wording_held_twice(struct view unit, const struct pod *const *pods, size_t n_pods,
		      size_t n_more, struct sbuf *message)
{
	assert(n_pods > 1);
	sbuf_printf(message, "%.*s is held by ", VIEW_ARG(unit));
	for (size_t i = 0; i < n_pods; i++)
		sbuf_printf(message, "%s%.*s/%.*s",
			    i == 0                            ? ""
			    : i + 1 == n_pods && n_more == 0 ? " and "
							      : ", ",
			    VIEW_ARG(pod_namespace(pods[i])), VIEW_ARG(pod_name(pods[i])));
	if (n_more > 0)
		sbuf_printf(message, " and %zu more", n_more);
	sbuf_printf(message, " at once, and is for one pod");
}

void wording_odd_id(struct view id, size_t n_more, struct sbuf *message)
{
	sbuf_printf(message, "a tenant holds a device ID of no known form: %.*s", VIEW_ARG(id));
	if (n_more > 0)
		sbuf_printf(message, " and %zu more", n_more);
}
