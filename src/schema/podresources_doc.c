/* SPDX-License-Identifier: Apache-2.0 */

/*
 * In the kubelet's encoding names come before what they name, but protobuf does not promise that:
 * names are looked for first. The same resource comes in many ContainerDevices, mostly of one
 * device each, and a device once for each of its NUMA nodes; schema/holder_list.h puts that right.
 *
 * Field numbers: k8s.io/kubelet/pkg/apis/podresources/v1/api.proto.
 */

#include "schema/podresources_doc.h"

#include "schema/holder_list.h"
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

/* ContainerDevices, of the holder in *device. */
static int decode_devices(struct view message, struct holder_device *device,
			  struct holder_list *holders, struct error *err)
{
	struct pbscan scan;
	struct pbscan_field field;

	device->resource = find_text(message, DEVICES_RESOURCE);
	if (device->resource.len == 0)
		return error_set(err, ERROR_REJECTED, 0, "devices without a resource");
	/* That the resource is there is said even if it has no devices. */
	device->device_id = (struct view){0};
	if (holder_list_add(holders, device, err) != 0)
		return -1;
	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.number != DEVICES_IDS || field.wire != PBSCAN_BYTES)
			continue;
		device->device_id = field.bytes;
		if (holder_list_add(holders, device, err) != 0)
			return -1;
	}
	return pbscan_check(&scan, "devices", err);
}

static int decode_container(struct view message, struct holder_device *device,
			    struct holder_list *holders, struct error *err)
{
	struct pbscan scan;
	struct pbscan_field field;

	device->container = find_text(message, CONTAINER_NAME);
	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.number != CONTAINER_DEVICES || field.wire != PBSCAN_BYTES)
			continue;
		if (device->container.len == 0)
			return error_set(err, ERROR_REJECTED, 0, "a container without a name");
		if (decode_devices(field.bytes, device, holders, err) != 0)
			return -1;
	}
	return pbscan_check(&scan, "container", err);
}

static int decode_pod(struct view message, struct holder_list *holders, struct error *err)
{
	struct holder_device device = {
		.namespace = find_text(message, POD_NAMESPACE),
		.pod = find_text(message, POD_NAME),
	};
	struct pbscan scan;
	struct pbscan_field field;

	if (device.namespace.len == 0 || device.pod.len == 0)
		return error_set(err, ERROR_REJECTED, 0, "a pod without a name");
	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.number == POD_CONTAINERS && field.wire == PBSCAN_BYTES &&
		    decode_container(field.bytes, &device, holders, err) != 0)
			return error_wrap(err, "%.*s/%.*s", VIEW_ARG(device.namespace),
					  VIEW_ARG(device.pod));
	}
	return pbscan_check(&scan, "pod", err);
}

int podresources_doc_decode_list(struct view message, struct arena *arena,
				 struct array *ret_pod_resources, struct error *err)
{
	CLEANUP(holder_list_deinit) struct holder_list holders = {0};
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.number == LIST_PODS && field.wire == PBSCAN_BYTES &&
		    decode_pod(field.bytes, &holders, err) != 0)
			return -1;
	}
	if (pbscan_check(&scan, "list", err) != 0)
		return -1;
	return holder_list_to_pod_resources(&holders, arena, ret_pod_resources, err);
}

int podresources_doc_decode_allocatable(struct view message, struct arena *arena,
					struct array *ret_allocatable, struct error *err)
{
	CLEANUP(holder_list_deinit) struct holder_list holders = {0};
	struct holder_device device = {0};
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.number == ALLOCATABLE_DEVICES && field.wire == PBSCAN_BYTES &&
		    decode_devices(field.bytes, &device, &holders, err) != 0)
			return -1;
	}
	if (pbscan_check(&scan, "allocatable", err) != 0)
		return -1;
	return holder_list_to_resource_devices(&holders, arena, ret_allocatable, err);
}
