/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * device_id - takes apart the device IDs that device plugins hand to the kubelet.
 *
 *	GPU-<uuid>  GPU-<uuid>::<replica>  GPU-<uuid>-<n> (HAMi)
 *	MIG-<uuid>  MIG-<uuid>::<replica>  MIG-GPU-<uuid>/<gi>/<ci> (drivers before R470)
 *	nvidia<minor>  nvidia<minor>/gi<g>  nvidia<minor>/vgpu<k>  nvidia<minor>/gi<g>/vgpu<k> (GKE)
 *
 * Threads: any.
 */

#include "base/view.h"

enum device_id_form {
	DEVICE_ID_UNKNOWN, /* kept raw */
	DEVICE_ID_GPU,     /* uuid names a physical device */
	DEVICE_ID_MIG,     /* uuid names a MIG device */
	DEVICE_ID_MIG_OLD, /* uuid names the physical device, gpu_instance its part */
	DEVICE_ID_MINOR,   /* minor names the physical device; gpu_instance its part, or -1 */
};

struct device_id {
	enum device_id_form form;
	struct view uuid; /* borrowed from the text */
	int64_t minor;
	int64_t gpu_instance; /* -1: none */
	bool is_replica;      /* one of several shares: "::n", "-n", "vgpuN" */
	bool is_odd;          /* what follows the UUID is of no known form */
	bool is_hami;         /* "-n" after the UUID: the plugin may have given another device */
};

/*
 * Takes text apart. Never fails: what it cannot read is DEVICE_ID_UNKNOWN, unless it begins with a
 * whole UUID, which then tells the device all the same.
 */
struct device_id device_id_parse(struct view text);
/* True for "GPU-" followed by a UUID (8-4-4-4-12 hexadecimal digits). */
bool device_id_is_gpu_uuid(struct view text);
/* True for "MIG-" followed by a UUID, or the form of drivers before R470. */
bool device_id_is_mig_uuid(struct view text);
