/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Whoever may edit the pod writes its labels and annotations. So they make a pod the operator's,
 * KAI's or the kubelet's own only together with a fact that such a writer does not control. That is
 * a service account, a namespace, or what no other pod has for long.
 *
 * Field numbers: k8s.io/apimachinery/pkg/apis/meta/v1/generated.proto.
 */

#include "schema/pod_doc_metadata.h"

#include "base/limits.h"
#include "schema/map_entry.h"
#include "wire/pbscan.h"

enum {
	METADATA_NAME = 1,
	METADATA_NAMESPACE = 3,
	METADATA_UID = 5,
	METADATA_CREATION_TIMESTAMP = 8,
	METADATA_DELETION_TIMESTAMP = 9,
	METADATA_LABELS = 11,
	METADATA_ANNOTATIONS = 12,
	METADATA_OWNER_REFERENCES = 13,
};
enum { OWNER_KIND = 1, OWNER_NAME = 3, OWNER_API_VERSION = 5, OWNER_CONTROLLER = 6 };

#define MAX_SECONDS UINT64_C(253402300799) /* the last of the year 9999 */
#define DUE_WITHIN_MIN (7 * 24 * 60u)

/* What decides together with other members. */
struct parts {
	struct view mirror;        /* annotation kubernetes.io/config.mirror */
	struct view template_hash; /* label pod-template-hash */
	uint64_t created_s;        /* since 1970; 0: not told */
};

/* Pods of the GPU operator that take a device to try it out. They run under its account, which is
 * not everybody's to use. */
static const struct view system_apps[] = {
	VIEW_INIT("nvidia-device-plugin-validator"),
	VIEW_INIT("nvidia-cuda-validator"),
};

/* Those of the operator's pods that do their work on a node, in enum pod_operand's order. */
static const struct view operand_apps[POD_N_OPERANDS] = {
	[POD_OPERAND_DRIVER] = VIEW_INIT("nvidia-driver-daemonset"),
	[POD_OPERAND_TOOLKIT] = VIEW_INIT("nvidia-container-toolkit-daemonset"),
	[POD_OPERAND_DEVICE_PLUGIN] = VIEW_INIT("nvidia-device-plugin-daemonset"),
	[POD_OPERAND_MPS_DAEMON] = VIEW_INIT("nvidia-device-plugin-mps-control-daemon"),
	[POD_OPERAND_GFD] = VIEW_INIT("gpu-feature-discovery"),
	[POD_OPERAND_DCGM] = VIEW_INIT("nvidia-dcgm"),
	[POD_OPERAND_DCGM_EXPORTER] = VIEW_INIT("nvidia-dcgm-exporter"),
	[POD_OPERAND_MIG_MANAGER] = VIEW_INIT("nvidia-mig-manager"),
};

static const struct view system_account = VIEW_INIT("nvidia-operator-validator");

static bool is_system_app(struct view app)
{
	for (size_t i = 0; i < ARRAY_SIZE(system_apps); i++) {
		if (view_equal(app, system_apps[i]))
			return true;
	}
	return false;
}

static enum pod_operand find_operand(struct view app)
{
	int operand = POD_N_OPERANDS;

	while (--operand > POD_NO_OPERAND && !view_equal(app, operand_apps[operand]))
		;
	return (enum pod_operand)operand;
}

static void set_app(struct pod_fields *fields, struct view app)
{
	fields->state.system = is_system_app(app);
	fields->state.operand = (uint8_t)find_operand(app);
}

/* Where KAI, and its predecessor, keep the pods that hold a GPU for others: nobody else may. */
static bool is_reservation_namespace(struct view namespace)
{
	return view_equal(namespace, VIEW("kai-resource-reservation")) ||
	       view_equal(namespace, VIEW("runai-reservation"));
}

static void add_kai_group(struct pod_fields *fields, struct view group)
{
	if (fields->gpu.kai_groups.count < POD_MAX_KAI_GROUPS)
		fields->kai_groups[fields->gpu.kai_groups.count++] = group;
	else
		fields->gpu.kai_groups_left_out++;
}

/* KAI writes the one label on a pod that shares one GPU, and one of the others for each of several. */
static int decode_label(struct view message, struct pod_fields *fields, struct parts *parts,
			struct error *err)
{
	struct map_entry label;

	if (map_entry_decode(message, &label, err) != 0)
		return -1;
	if (view_equal(label.key, VIEW("app")))
		set_app(fields, label.value);
	else if (view_equal(label.key, VIEW("pod-template-hash")))
		parts->template_hash = label.value;
	else if (view_equal(label.key, VIEW("runai-gpu-group")))
		fields->gpu.kai_group = label.value;
	else if (view_starts_with(label.key, VIEW("runai-gpu-group/")) && label.value.len > 0)
		add_kai_group(fields, label.value);
	return 0;
}

/* Without it the pod's devices are those that HAMi chose, whichever these are: join/from_hami.c. */
static void set_hami(struct pod_fields *fields, struct view devices)
{
	fields->gpu.hami_left_out = devices.len > POD_MAX_HAMI_TEXT;
	fields->gpu.hami_devices = fields->gpu.hami_left_out ? (struct view){0} : devices;
}

static int decode_annotation(struct view message, struct pod_fields *fields, struct parts *parts,
			     struct error *err)
{
	struct map_entry annotation;

	if (map_entry_decode(message, &annotation, err) != 0)
		return -1;
	if (view_equal(annotation.key, VIEW("kubernetes.io/config.hash")))
		fields->config_hash = annotation.value;
	else if (view_equal(annotation.key, VIEW("kubernetes.io/config.mirror")))
		parts->mirror = annotation.value;
	else if (view_equal(annotation.key, VIEW("hami.io/vgpu-devices-allocated")))
		set_hami(fields, annotation.value);
	else if (view_equal(annotation.key, VIEW("run.ai/reserve_for_gpu_index")) &&
		 annotation.value.len <= LIMIT_TEXT_UUID)
		fields->gpu.kai_device = annotation.value;
	else if (view_equal(annotation.key, VIEW("gpu-fraction-container-name")) &&
		 annotation.value.len <= LIMIT_TEXT_LABEL)
		fields->gpu.kai_container = annotation.value;
	return 0;
}

/* "apps" of "apps/v1"; nothing of "v1". */
static struct view group_of(struct view api_version)
{
	for (size_t i = 0; i < api_version.len; i++) {
		if (api_version.ptr[i] == '/')
			return (struct view){api_version.ptr, i};
	}
	return (struct view){0};
}

static int decode_owner(struct view message, struct pod_fields *fields, struct error *err)
{
	struct pod_workload owner = {0};
	bool is_controller = false;
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.number == OWNER_KIND && field.wire == PBSCAN_BYTES)
			owner.kind = field.bytes;
		else if (field.number == OWNER_NAME && field.wire == PBSCAN_BYTES)
			owner.name = field.bytes;
		else if (field.number == OWNER_API_VERSION && field.wire == PBSCAN_BYTES)
			owner.group = group_of(field.bytes);
		else if (field.number == OWNER_CONTROLLER && field.wire == PBSCAN_VARINT)
			is_controller = field.value != 0;
	}
	if (pbscan_check(&scan, "owner", err) != 0)
		return -1;
	if (is_controller)
		fields->gpu.workload = owner;
	return 0;
}

/* metav1.Time: its whole seconds. */
static int decode_time(struct view message, uint64_t *ret_seconds, struct error *err)
{
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.number == 1 && field.wire == PBSCAN_VARINT)
			*ret_seconds = field.value;
	}
	return pbscan_check(&scan, "time", err);
}

static int decode_metadata_field(const struct pbscan_field *field, struct pod_fields *fields,
				 struct parts *parts, struct error *err)
{
	switch (field->number) {
	case METADATA_NAME:
		fields->name = field->bytes;
		return 0;
	case METADATA_NAMESPACE:
		fields->namespace = field->bytes;
		return 0;
	case METADATA_UID:
		fields->uid = field->bytes;
		return 0;
	case METADATA_CREATION_TIMESTAMP:
		return decode_time(field->bytes, &parts->created_s, err);
	case METADATA_DELETION_TIMESTAMP:
		fields->state.deleting = true;
		return 0;
	case METADATA_LABELS:
		return decode_label(field->bytes, fields, parts, err);
	case METADATA_ANNOTATIONS:
		return decode_annotation(field->bytes, fields, parts, err);
	case METADATA_OWNER_REFERENCES:
		return decode_owner(field->bytes, fields, err);
	default:
		return 0;
	}
}

/*
 * Anybody may write another pod's hash on his own. A kubelet that mirrors a static pod writes the
 * hash twice, and its Node as the owner; what else claims to be one, it deletes (join/node_pods.c).
 */
static bool is_mirror(const struct pod_fields *fields, struct view mirror)
{
	return mirror.len > 0 && view_equal(mirror, fields->config_hash) &&
	       view_equal(fields->gpu.workload.kind, VIEW("Node"));
}

/* The name without "-" and that many bytes behind it; empty: it has no such ending. */
static struct view name_before(struct view name, size_t n)
{
	if (name.len < n + 2 || name.ptr[name.len - n - 1] != '-')
		return (struct view){0};
	return (struct view){name.ptr, name.len - n - 1};
}

/* A Deployment calls its ReplicaSet after itself and the hash that it writes on the pods too. */
static struct view deployment_of(struct view replica_set, struct view hash)
{
	struct view name = name_before(replica_set, hash.len);

	if (hash.len == 0 || name.len == 0 ||
	    !view_equal(view_from_offset(replica_set, name.len + 1), hash))
		return (struct view){0};
	return name;
}

/*
 * A CronJob calls its Job after itself and the minutes since 1970 for which it was due, in eight
 * digits. Its pods are not made long before or after: other digits are somebody's own.
 */
static struct view cron_job_of(struct view job, uint64_t created_s)
{
	struct view name = name_before(job, 8);
	uint64_t due = 0, created = created_s / 60;

	if (name.len == 0 || !view_parse_u64(view_from_offset(job, name.len + 1), &due))
		return (struct view){0};
	return due <= created + DUE_WITHIN_MIN && created <= due + DUE_WITHIN_MIN
		       ? name
		       : (struct view){0};
}

/* What people look for is not what the pod's owner is called, but what they made. */
static void name_workload(struct pod_workload *workload, const struct parts *parts)
{
	struct view name = {0};

	if (view_equal(workload->kind, VIEW("ReplicaSet")) &&
	    view_equal(workload->group, VIEW("apps"))) {
		name = deployment_of(workload->name, parts->template_hash);
		if (name.len > 0)
			*workload = (struct pod_workload){VIEW("apps"), VIEW("Deployment"), name};
	} else if (view_equal(workload->kind, VIEW("Job")) &&
		   view_equal(workload->group, VIEW("batch"))) {
		name = cron_job_of(workload->name, parts->created_s);
		if (name.len > 0)
			*workload = (struct pod_workload){VIEW("batch"), VIEW("CronJob"), name};
	}
}

int pod_doc_metadata_decode(struct view message, struct pod_fields *fields, struct error *err)
{
	struct parts parts = {0};
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.wire == PBSCAN_BYTES &&
		    decode_metadata_field(&field, fields, &parts, err) != 0)
			return -1;
	}
	if (!is_mirror(fields, parts.mirror))
		fields->config_hash = (struct view){0};
	name_workload(&fields->gpu.workload, &parts);
	fields->gpu.created_at =
		parts.created_s <= MAX_SECONDS ? (int64_t)parts.created_s * 1000 : 0;
	fields->state.is_reservation =
		fields->gpu.kai_group.len > 0 && is_reservation_namespace(fields->namespace);
	fields->state.wants_gpu = fields->gpu.kai_group.len > 0 || fields->gpu.kai_groups.count > 0;
	return pbscan_check(&scan, "metadata", err);
}

void pod_doc_metadata_bear_out(struct pod_fields *fields, struct view account)
{
	fields->state.system &= view_equal(account, system_account);
	/* HAMi gives what a container asked the kubelet for. */
	if (!fields->state.wants_gpu)
		set_hami(fields, (struct view){0});
}
