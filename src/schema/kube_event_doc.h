/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * kube_event_doc - a Kubernetes Event, API version events.k8s.io/v1, as it is sent.
 * https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/
 *
 * Threads: any.
 * Limits:  the API server's: LIMIT_EVENT_NOTE, LIMIT_EVENT_WORD. The caller keeps to them.
 */

#include <stdint.h>

#include "base/sbuf.h"

/* An object that an Event is about. kind empty: there is none. */
struct kube_event_object {
	struct view api_version;
	struct view kind;
	struct view namespace; /* empty: the object is of the cluster */
	struct view name;
	struct view uid;       /* empty: not known */
};

struct kube_event {
	struct view name;
	struct view namespace;
	struct kube_event_object regarding;
	struct kube_event_object related; /* a further object */
	struct view reason;
	struct view action;
	struct view note;
	struct view reporting_instance;
	bool is_warning;
	int64_t event_time;         /* ms since 1970, here and below */
	int64_t count;              /* how often it was seen; from 2 on it is sent as a series */
	int64_t last_observed_time; /* of the last one of the series */
};

#define KUBE_EVENT_DOC_REPORTER "gpuattribution.dev/controller"

/* Appends the object as it is created, in JSON. Failure is the buffer's. */
void kube_event_doc_encode(const struct kube_event *event, struct sbuf *buf);
/* Appends a JSON merge patch with the series, which is all that may change. Failure is the buffer's. */
void kube_event_doc_encode_series(const struct kube_event *event, struct sbuf *buf);
