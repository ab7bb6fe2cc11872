/* SPDX-License-Identifier: Apache-2.0 */

/*
 * In the kubelet's encoding names come before what they name, but protobuf does not promise that:
 * names are looked for first. The same resource comes in many ContainerDevices, mostly of one
 * device each, and a device once for each of its NUMA nodes; schema/holdings.h puts that right.
 *
 * Field numbers: k8s.io/kubelet/pkg/apis/podresources/v1/api.proto.
 */

#include "schema/podresources_doc.h"

#include "schema/holdings.h"
#include "wire/pbscan.h"

enum { LIST_PODS = 1 };
enum { POD_NAME = 1, POD_NAMESPACE = 2, POD_CONTAINERS = 3 };
enum { CONTAINER_NAME = 1, CONTAINER_DEVICES = 2 };
enum { ALLOCATABLE_DEVICES = 1 };
enum { DEVICES_RESOURCE = 1, DEVICES_IDS = 2 };

/* The last occurrence of a text field, or an empty view. */
static struct view find_text(struct view message, uint32_t number)
{
	struct view text = {0};
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.number == number && field.wire == PBSCAN_BYTES)
			text = field.bytes;
	}
	return text;
}

/* ContainerDevices, of the holder in *holding. */
static int decode_devices(struct view message, struct holding *holding, struct holdings *holdings,
			  struct error *err)
{
	struct pbscan scan;
	struct pbscan_field field;

	holding->resource = find_text(message, DEVICES_RESOURCE);
	if (holding->resource.len == 0)
		return error_set(err, ERROR_REJECTED, 0, "devices without a resource");
	/* That the resource is there is said even if it has no devices. */
	holding->device_id = (struct view){0};
	if (holdings_add(holdings, holding, err) != 0)
		return -1;
	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.number != DEVICES_IDS || field.wire != PBSCAN_BYTES)
			continue;
		holding->device_id = field.bytes;
		if (holdings_add(holdings, holding, err) != 0)
			return -1;
	}
	return pbscan_check(&scan, "devices", err);
}

static int decode_container(struct view message, struct holding *holding,
			    struct holdings *holdings, struct error *err)
{
	struct pbscan scan;
	struct pbscan_field field;

	holding->container = find_text(message, CONTAINER_NAME);
	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.number != CONTAINER_DEVICES || field.wire != PBSCAN_BYTES)
			continue;
		if (holding->container.len == 0)
			return error_set(err, ERROR_REJECTED, 0, "a container without a name");
		if (decode_devices(field.bytes, holding, holdings, err) != 0)
			return -1;
	}
	return pbscan_check(&scan, "container", err);
}

static int decode_pod(struct view message, struct holdings *holdings, struct error *err)
{
	struct holding holding = {
		.namespace = find_text(message, POD_NAMESPACE),
		.pod = find_text(message, POD_NAME),
	};
	struct pbscan scan;
	struct pbscan_field field;

	if (holding.namespace.len == 0 || holding.pod.len == 0)
		return error_set(err, ERROR_REJECTED, 0, "a pod without a name");
	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.number == POD_CONTAINERS && field.wire == PBSCAN_BYTES &&
		    decode_container(field.bytes, &holding, holdings, err) != 0)
			return error_wrap(err, "%.*s/%.*s", VIEW_ARG(holding.namespace),
					  VIEW_ARG(holding.pod));
	}
	return pbscan_check(&scan, "pod", err);
}

int podresources_doc_decode_list(struct view message, struct arena *arena,
				 struct array *ret_pod_resources, struct error *err)
{
	CLEANUP(holdings_deinit) struct holdings holdings = {0};
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.number == LIST_PODS && field.wire == PBSCAN_BYTES &&
		    decode_pod(field.bytes, &holdings, err) != 0)
			return -1;
	}
	if (pbscan_check(&scan, "list", err) != 0)
		return -1;
	return holdings_to_pod_resources(&holdings, arena, ret_pod_resources, err);
}

int podresources_doc_decode_allocatable(struct view message, struct arena *arena,
					struct array *ret_allocatable, struct error *err)
{
	CLEANUP(holdings_deinit) struct holdings holdings = {0};
	struct holding holding = {0};
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.number == ALLOCATABLE_DEVICES && field.wire == PBSCAN_BYTES &&
		    decode_devices(field.bytes, &holding, &holdings, err) != 0)
			return -1;
	}
	if (pbscan_check(&scan, "allocatable", err) != 0)
		return -1;
	return holdings_to_resource_devices(&holdings, arena, ret_allocatable, err);
}
