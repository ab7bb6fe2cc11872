/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * kube_bytes - writes what an API server sends, in protobuf and in JSON: objects, lists, watch
 * events, Status. All append to a buffer whose failure is the test's to check.
 *
 * Threads: any.
 */

#include "base/sbuf.h"
#include "kube/resource.h"

struct kube_bytes_object {
	const char *namespace;
	const char *name;
	const char *uid;
	const char *version;
	const char *payload;     /* some text in a field of the object's own; may be NULL */
	bool initial_events_end; /* the annotation */
};

struct kube_bytes_list {
	const char *version;
	const char *continue_token; /* may be NULL */
	const char *kind;           /* NULL: the resource's */
	const struct kube_bytes_object *objects;
	size_t n_objects;
};

struct kube_bytes_status {
	int code;
	const char *reason;
	const char *message;
	const char *cause_reason;  /* may be NULL, then the next too */
	const char *cause_message;
	int retry_after_s;
	const char *cause_field; /* may be NULL */
};

/* A protobuf field of bytes, with its tag and length. */
void kube_bytes_field(struct sbuf *out, uint32_t number, struct view bytes);
/* A protobuf varint field. */
void kube_bytes_number(struct sbuf *out, uint32_t number, uint64_t value);
/* "k8s\0" and an envelope around a message. */
void kube_bytes_envelope(struct sbuf *out, const char *api_version, const char *kind,
			 struct view message);
/* One object: its JSON, or its protobuf message without envelope. */
void kube_bytes_object(struct sbuf *out, const struct resource *resource,
		       const struct kube_bytes_object *object);
/* A whole list; in JSON with its keys sorted ("items" before "kind" and "metadata") and no blanks. */
void kube_bytes_list(struct sbuf *out, const struct resource *resource,
		     const struct kube_bytes_list *list);
/* One event: a frame, or a line. */
void kube_bytes_event(struct sbuf *out, const struct resource *resource, const char *type,
		      const struct kube_bytes_object *object);
/* An event with any object: JSON, or magic number and envelope. */
void kube_bytes_event_of(struct sbuf *out, enum resource_encoding encoding, const char *type,
			 struct view object);
/* A Status as a body has it (in protobuf: with envelope). */
void kube_bytes_status(struct sbuf *out, enum resource_encoding encoding,
		       const struct kube_bytes_status *status);
