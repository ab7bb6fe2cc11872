/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * fake_kubelet - the bytes that a kubelet's PodResources server sends over HTTP/2, whole or broken
 * in chosen ways, for script_server to play. Messages are written by hand as protobuf, so that
 * tests can write what no kubelet would.
 *
 * Threads: any.
 */

#include "base/sbuf.h"

/* One answer of the server. */
struct fake_kubelet_answer {
	int http_status;          /* 0: 200 */
	const char *content_type; /* NULL: application/grpc */
	struct view body;         /* as it is: prefix and message, or garbage */
	bool trailers_only;       /* one HEADERS frame with all, no body */
	const char *grpc_status;  /* NULL: no such trailer */
	const char *grpc_message; /* NULL: no such trailer */
	bool cut;                 /* the stream does not end: no trailers */
};

/* Appends the frames of an answer on stream 1, the server's SETTINGS first. */
void fake_kubelet_write(const struct fake_kubelet_answer *answer, struct sbuf *buf);
/* Appends a good answer with this message: gRPC prefix, frames, grpc-status 0. */
void fake_kubelet_write_message(struct view message, struct sbuf *buf);

/* Appends a field of bytes (a text or a message) to a protobuf message. */
void fake_kubelet_field(unsigned number, struct view bytes, struct sbuf *buf);
/* Appends a ContainerDevices message as field `number`: a resource and one device ID. */
void fake_kubelet_devices(unsigned number, const char *resource, const char *device_id,
			  struct sbuf *buf);
/* Appends to a ListPodResourcesResponse a pod with one container that holds one device. */
void fake_kubelet_pod(const char *namespace, const char *name, const char *container,
		      const char *resource, const char *device_id, struct sbuf *buf);
