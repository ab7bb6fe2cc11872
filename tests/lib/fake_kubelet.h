/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * fake_kubelet - a kubelet's PodResources server on a loop, and the bytes that one sends over
 * HTTP/2, whole or broken in chosen ways. Messages are written by hand as protobuf, so that tests
 * can write what no kubelet would.
 *
 * Threads: the server the loop's, the rest any.
 */

#include "base/sbuf.h"
#include "io/loop.h"

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

enum fake_kubelet_method {
	FAKE_KUBELET_LIST,
	FAKE_KUBELET_ADVERTISED, /* GetAllocatableResources */
};

struct fake_kubelet;

/* Listens at the path; until told otherwise each method answers that there is nothing. */
struct fake_kubelet *fake_kubelet_new(struct loop *loop, const char *path);
/* Closes all and removes the socket. Accepts NULL. */
void fake_kubelet_free(struct fake_kubelet *kubelet);
/* From now on a method answers with these bytes (copied), none: it hangs. */
void fake_kubelet_set(struct fake_kubelet *kubelet, enum fake_kubelet_method method,
		      struct view bytes);
/* The same with a good answer that holds this message. */
void fake_kubelet_set_message(struct fake_kubelet *kubelet, enum fake_kubelet_method method,
			      struct view message);
/* Calls of a method so far. */
unsigned fake_kubelet_calls(const struct fake_kubelet *kubelet, enum fake_kubelet_method method);
