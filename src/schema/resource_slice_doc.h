/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * resource_slice_doc - a resource.k8s.io/v1 ResourceSlice in Kubernetes' protobuf encoding, reduced
 * to what model/resource_slice.h keeps.
 *
 * Threads: any.
 * Limits:  RESOURCE_SLICE_MAX_DEVICES devices.
 */

#include "model/resource_slice.h"

/*
 * Decodes one ResourceSlice message (without the envelope of a single object). All texts are
 * borrowed from it. Of a slice of another driver only the name is given. Attributes of another
 * type than is expected, and unknown fields, are skipped. Fails with ERROR_REJECTED when the
 * message is malformed or names no slice, ERROR_LIMIT when it has more devices than are kept.
 * *ret_fields then holds nothing to rely on (it is large, and filled in place).
 */
MUST_USE int resource_slice_doc_decode(struct view message,
				       struct resource_slice_fields *ret_fields, struct error *err);
