/* SPDX-License-Identifier: Apache-2.0 */
#include "assess/drift_device.h"

#include "assess/drift_operand.h"
#include "assess/drift_text.h"

/*
 * A tenancy's end is told by the controller's clock, and a pod's creation by the API server's; and the
 * kubelet tells of the end a moment late. So much later a pod found the slots free.
 */
#define FREE_FOR_MS 10000
/*
 * Who had the slots before the device was first looked at is not known. So a pod that was refused longer
 * ago tells of no new leak. It is as short as hold-offs are (--hold-off-percent).
 */
#define FRESH_MS INT64_C(600000)

struct drift_finding drift_device_missing(const struct drift_node *node,
					  const struct drift_device *device,
					  struct drift_text *text)
{
	(void)text;
	if (!device->is_listing_good)
		return DRIFT_ANSWER(DRIFT_CANNOT_TELL);
	if (device->reported || !device->is_seen_since_boot || drift_operand_is_passed_through(node))
		return DRIFT_ANSWER(DRIFT_NO);
	return (struct drift_finding){
		.answer = DRIFT_FOUND,
		.intended = VIEW("the device is in the node (it was, since the node's boot)"),
		.observed = VIEW("it is not listed (NVML)"),
		.message = VIEW("Look for XID errors in the node's kernel log, and reboot the node if "
				"the device fell off the bus."),
	};
}

static bool contains(struct view text, struct view needle)
{
	struct view left, right;

	return view_cut(text, needle, &left, &right);
}

/* Older agents say it in the message alone. */
static bool is_mismatch(const struct report_source *nvml)
{
	return nvml->has_driver_mismatch ||
	       contains(nvml->message, VIEW(REPORT_DRIVER_MISMATCH));
}

struct drift_finding drift_device_driver_mismatch(const struct drift_node *node,
						  const struct drift_device *device,
						  struct drift_text *text)
{
	const struct report_source *nvml = &node->report->sources.nvml;

	(void)device;
	if (nvml->state == REPORT_SOURCE_ERROR && is_mismatch(nvml))
		return (struct drift_finding){
			.answer = DRIFT_FOUND,
			.intended = VIEW("library and kernel module of the driver are of one version"),
			.observed = drift_text(text, "% (NVML)", nvml->message),
			.message = VIEW("Delete the node's gpu-attribution-agent pod, which keeps the library "
					"it was started with; if that does not help, reload module nvidia, or reboot "
					"the node."),
		};
	/* Why it fails is not known: that may be hidden behind it. */
	return DRIFT_ANSWER(nvml->state == REPORT_SOURCE_ERROR ? DRIFT_CANNOT_TELL : DRIFT_NO);
}

/* Unallocated use */

static const struct pod *find_pod(const struct drift_node *node, struct view uid)
{
	for (size_t i = 0; i < node->n_pods; i++)
		if (view_equal(pod_uid(node->pods[i]), uid))
			return node->pods[i];
	return NULL;
}

/* Which namespace is the operator's is not known until policies can be read. */
static bool is_operator_unknown(const struct drift_node *node)
{
	return !node->intent->policy && !node->intent->known;
}

/* Pods of the operator use devices without a slot by design. No pod has an empty UID. */
static bool may_be_operators(const struct drift_node *node, const struct attribution_user *user)
{
	const struct policy *policy = node->intent->policy;
	const struct pod *pod = find_pod(node, user->pod_uid);

	if (!pod || (!pod_state(pod)->system && pod_state(pod)->operand == POD_NO_OPERAND))
		return false;
	return policy ? view_equal(pod_namespace(pod), policy->namespace) : is_operator_unknown(node);
}

static struct view name_user(const struct attribution_user *user, struct drift_text *text)
{
	if (user->pod_name.len > 0)
		return drift_text(text, "pod %/%", user->pod_namespace,
				  user->pod_name);
	if (user->pod_uid.len > 0)
		return drift_text(text, "a pod with UID %", user->pod_uid);
	return drift_text(text, "process %, of no pod", user->command);
}

struct drift_finding drift_device_unallocated_use(const struct drift_node *node,
						  const struct drift_device *device,
						  struct drift_text *text)
{
	const struct array users = device->status->unallocated_users;
	const struct attribution_user *first = NULL;

	for (uint32_t i = 0; i < users.count && !first; i++) {
		const struct attribution_user *user = ARRAY_AT(users, struct attribution_user, i);

		if (!may_be_operators(node, user))
			first = user;
	}
	if (!first)
		return DRIFT_ANSWER(users.count > 0 && is_operator_unknown(node) ? DRIFT_CANNOT_TELL
										 : DRIFT_NO);
	return (struct drift_finding){
		.answer = DRIFT_FOUND,
		.intended = VIEW("only containers with a slot use the device (the kubelet's allocation records)"),
		.observed = drift_text(text, "% uses it without one (unallocatedUsers)",
				       name_user(first, text)),
		.message = VIEW("End what uses the device, or let its pod ask for a GPU: see "
				"unallocatedUsers."),
	};
}

/* Slots leaked (kubernetes#130145) */

/* The containers of the pod that want the resource, or may: of several not all are kept. */
static unsigned count_askers(const struct pod *pod, struct view resource)
{
	const struct array containers = pod_gpu(pod)->containers;
	unsigned n = 0;

	for (uint32_t i = 0; i < containers.count; i++) {
		const struct pod_container *container = pod_container_at(pod, i);

		n += container->wants_gpu && (container->resource.len == 0 ||
					      view_equal(container->resource, resource));
	}
	return n;
}

/* When the kubelet last gave one of that resource to a pod of the node, as far as is known; 0: never. */
static int64_t given_at(const struct drift_node *node, struct view resource)
{
	int64_t last = 0;

	for (size_t i = 0; i < node->n_pods; i++) {
		const struct pod *pod = node->pods[i];

		if (!pod_state(pod)->admission_failed && pod_gpu(pod)->started_at > last &&
		    count_askers(pod, resource) > 0)
			last = pod_gpu(pod)->started_at;
	}
	return last;
}

/* Where several containers ask, the first may have had the last slot, and given it back. */
static bool was_refused(const struct pod *pod, struct view resource)
{
	return view_equal(pod_gpu(pod)->refused_resource, resource) &&
	       count_askers(pod, resource) <= 1;
}

static bool is_any_refused(const struct drift_node *node, struct view resource)
{
	for (size_t i = 0; i < node->n_pods; i++)
		if (was_refused(node->pods[i], resource))
			return true;
	return false;
}

/*
 * When a tenancy of the device ended last; 0: none did, as far as is known. Of what resource is not told.
 * A leak that is published does not pass because a tenant gives a slot back.
 */
static int64_t last_end(const struct drift_device *device)
{
	const struct attribution_status *status = device->status;
	int64_t last = 0;

	if (device->previous->drifts[DRIFT_SLOTS_LEAKED])
		return 0;
	for (uint32_t i = 0; i < status->recent_tenants.count; i++) {
		const struct attribution_past_tenant *t = ARRAY_AT(
			status->recent_tenants, struct attribution_past_tenant, i);
		last = t->end_time > last ? t->end_time : last;
	}
	return last;
}

/*
 * When the slots of the resource that are free now became so, at the latest, as tenants and the kubelet
 * tell; 0: no tenancy is known. A kubelet that started anew has counted anew.
 */
static int64_t free_since(const struct drift_node *node, const struct attribution_status *status,
			  struct view resource)
{
	int64_t last = node->report->kubelet_restarted_at;

	for (uint32_t i = 0; i < status->tenants.count; i++) {
		const struct attribution_tenant *t = ARRAY_AT(status->tenants,
							      struct attribution_tenant, i);
		if (t->start_time > last && (t->resource.len == 0 || view_equal(t->resource, resource)))
			last = t->start_time;
	}
	return last;
}

/* What happened before tells of no new leak: the slots may have been held, or not on offer. */
static int64_t new_since(const struct drift_node *node, const struct drift_device *device)
{
	const uint32_t percent = node->hold_off_percent;
	const int64_t fresh_ms = percent == 0 ? FRESH_MS : FRESH_MS * percent / 100;
	const int64_t fresh_at = node->now_wall_ms - fresh_ms;

	return device->here_since > fresh_at ? device->here_since : fresh_at;
}

/* It was refused first; of two of one moment, by its UID. */
static bool is_before(const struct pod *a, const struct pod *b)
{
	const int64_t a_at = pod_gpu(a)->created_at, b_at = pod_gpu(b)->created_at;

	return a_at != b_at ? a_at < b_at : view_compare(pod_uid(a), pod_uid(b)) < 0;
}

/*
 * The pod that was refused first though slots of the resource were free, and since when nobody was given
 * one; or NULL. One that is refused later changes nothing that is published.
 */
static const struct pod *find_refused(const struct drift_node *node,
				      const struct drift_device *device, struct view resource)
{
	const bool is_new = !device->previous->drifts[DRIFT_SLOTS_LEAKED] &&
			    device->previous->pending_since[DRIFT_SLOTS_LEAKED] == 0;
	const int64_t free_at = free_since(node, device->status, resource) + FREE_FOR_MS;
	const int64_t times[] = {free_at, last_end(device) + FREE_FOR_MS, given_at(node, resource),
				 is_new ? new_since(node, device) : 0};
	const struct pod *first = NULL;
	int64_t since = 0;

	if (is_new && device->here_since == 0)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(times); i++)
		since = times[i] > since ? times[i] : since;
	for (size_t i = 0; i < node->n_pods; i++) {
		const struct pod *pod = node->pods[i];

		if (was_refused(pod, resource) && pod_gpu(pod)->created_at > since &&
		    (!first || is_before(pod, first)))
			first = pod;
	}
	return first;
}

/* The same of each resource by which the device has slots that are free. */
static const struct pod *find_first_refused(const struct drift_node *node,
					    const struct drift_device *device)
{
	const struct pod *first = NULL;

	for (size_t i = 0; i < device->n_offers; i++) {
		const struct drift_offer *offer = &device->offers[i];
		const struct pod *pod = NULL;

		if (offer->n_free > 0 && is_any_refused(node, offer->resource))
			pod = find_refused(node, device, offer->resource);
		if (pod && (!first || is_before(pod, first)))
			first = pod;
	}
	return first;
}

/* A pod that was given a device of the resource later shows that the kubelet counts right again. */
struct drift_finding drift_device_slots_leaked(const struct drift_node *node,
					       const struct drift_device *device,
					       struct drift_text *text)
{
	const struct attribution_slots *slots = &device->status->slots;
	const struct pod *pod;

	if (!node->is_pods_current || !node->is_offer_known || slots->total < 0 ||
	    slots->allocated < 0)
		return DRIFT_ANSWER(DRIFT_CANNOT_TELL);
	if (device->n_offers == 0 || slots->allocated >= slots->total)
		return DRIFT_ANSWER(DRIFT_NO);
	if (device->offers[0].is_hami) /* then the kubelet counts other slots than the device has */
		return DRIFT_ANSWER(DRIFT_NOT_COMPARED);
	pod = find_first_refused(node, device);
	if (!pod)
		return DRIFT_ANSWER(DRIFT_NO);
	return (struct drift_finding){
		.answer = DRIFT_FOUND,
		.intended = VIEW("free slots are given to pods (the kubelet's allocation records have some)"),
		.observed = drift_text(text, "pod %/% was refused %: \"Available: 0\" (its status)",
				       pod_namespace(pod), pod_name(pod),
				       pod_gpu(pod)->refused_resource),
		.message = VIEW("Restart the kubelet of the node: it counts free slots as "
				"allocated (kubernetes#130145)."),
	};
}
