/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * lease_record - one version of a Lease (coordination.k8s.io/v1) as values, and the body of the PUT
 * that replaces it. https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/lease-v1/
 *
 * Metadata go back as they came. So what others put there stays, and each PUT names the UID and the
 * resourceVersion of what it replaces.
 *
 * Threads: any; an object belongs to its caller.
 * Limits:  LEASE_RECORD_BYTES an object.
 */

#include "base/arena.h"
#include "base/error.h"
#include "base/sbuf.h"
#include "wire/rfc3339.h"

#define LEASE_RECORD_BYTES (64u * 1024u)

struct lease_record {
	struct arena arena;     /* of all texts */
	struct view metadata;   /* JSON */
	struct view version;    /* resourceVersion */
	uint64_t number;        /* of it; 0: it is none */
	struct view holder;     /* identity; empty: nobody */
	struct view acquired;   /* acquireTime, as it came; empty: none */
	struct view renewed;    /* renewTime, likewise */
	int64_t duration_s;     /* leaseDurationSeconds; 0: none */
	int64_t transitions;    /* leaseTransitions */
	bool is_unreadable;     /* the spec cannot be read: somebody holds it, and nobody knows who */
};

/*
 * Reads an object in JSON. A spec that cannot be read is no error. Fails with ERROR_REJECTED when there
 * are no usable metadata, ERROR_LIMIT or ERROR_NO_MEMORY; *ret is then untouched.
 */
MUST_USE int lease_record_read(struct view document, struct lease_record *ret, struct error *err);
/* Accepts a zeroed object. */
void lease_record_deinit(struct lease_record *record);
/* True when its last holder said that it has finished, so that nobody need wait. */
bool lease_record_is_released(const struct lease_record *record);

#define LEASE_RECORD_TIME_SIZE (RFC3339_SIZE + 3)

/*
 * The renewTime of a PUT that replaces the record. It differs from the record's, whatever the wall clock
 * does: where nothing changes the API server writes nothing, and nobody sees a renewal.
 */
void lease_record_time(const struct lease_record *record, int64_t now_wall_ms,
		       char ret[static LEASE_RECORD_TIME_SIZE]);

/* What a PUT makes of the record. */
struct lease_record_change {
	struct view holder;  /* who writes it; empty: it is released */
	struct view time;    /* of lease_record_time(); shown to people */
	int64_t duration_s;  /* not read when it is released */
};
/* Appends the body of the PUT. Failure is the buffer's. */
void lease_record_write(const struct lease_record *record, const struct lease_record_change *change,
			struct sbuf *body);
