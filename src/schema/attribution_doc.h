/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * attribution_doc - GPUAttribution objects of gpuattribution.dev/v1alpha1 from and to JSON.
 *
 * Threads: any.
 * Limits:  those of crds/gpuattributions.yaml, with which a test compares the rows.
 */

#include "base/arena.h"
#include "model/attribution.h"

struct jmap_row;
struct sbuf;

#define ATTRIBUTION_DOC_API_VERSION "gpuattribution.dev/v1alpha1"
#define ATTRIBUTION_DOC_KIND "GPUAttribution"

/*
 * Decodes one object as the API server sends it. What it points to lies in arena. Words that this
 * version does not know become UNSET, unknown members are ignored: objects that a newer version
 * wrote can be read. Fails with ERROR_REJECTED (also for another kind or version), ERROR_LIMIT or
 * ERROR_NO_MEMORY; *ret_attribution is then untouched.
 */
MUST_USE int attribution_doc_decode(struct view json, struct arena *arena,
				    struct attribution *ret_attribution, struct error *err);

/*
 * Appends the body of a POST that creates the object: its name and spec. The API server drops the
 * status of a new object, so it is not sent. Failure is the buffer's.
 */
void attribution_doc_encode_new(const struct attribution *attribution, struct sbuf *buf);

/*
 * Appends the body of a PUT to the object's /status that replaces the status as a whole. The API
 * server takes only the status from it; labels, annotations and spec stay as they are. It answers
 * 409 if the object's UID or resource version is no longer that of `object`. Failure is the
 * buffer's.
 */
void attribution_doc_encode_status(const struct attribution *object,
				   const struct attribution_status *status, struct sbuf *buf);

/*
 * True when both statuses say the same to a reader, so that nothing need be written. These do not
 * count, because they change all the time:
 * - the memory of processes, of tenants and of unallocated users;
 * - the number of processes, as long as it is not 0;
 * - the report that a status was made from.
 * An empty array is the same as an absent one.
 */
bool attribution_doc_is_same(const struct attribution_status *a, const struct attribution_status *b);

/*
 * Appends the path of the first member in which both differ, as "status.tenants[].role". False: there
 * is none. Failure is the buffer's.
 */
bool attribution_doc_find_difference(const struct attribution_status *a,
				     const struct attribution_status *b, struct sbuf *path);

/* The fields of which metrics have words, too. */
enum attribution_doc_words {
	ATTRIBUTION_DOC_MODES,
	ATTRIBUTION_DOC_CONFIDENCES,
	ATTRIBUTION_DOC_HEALTH_STATES,
	ATTRIBUTION_DOC_ACTIVITY_STATES,
	ATTRIBUTION_DOC_INTENT_STATES,
	ATTRIBUTION_DOC_SEVERITIES,
	ATTRIBUTION_DOC_N_WORDS,
};
/* The words of the field's enumerators, ended by NULL. The first, of an absent field, is empty. */
const char *const *attribution_doc_words(enum attribution_doc_words of);

/* The rows of spec and status, for the test that compares them with the schema. */
const struct jmap_row *attribution_doc_rows(void);
