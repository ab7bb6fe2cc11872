/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * json_output - what -o json and -o yaml print. The structure is documented in the README and only
 * ever grows; what is not known is null, never 0 and never missing.
 *
 * Threads: any.
 */

#include "model/attribution.h"

struct jout;
struct leader;
struct sbuf;
struct output;

#define JSON_OUTPUT_API_VERSION "kubectl.gpuattribution.dev/v1alpha1"

/* The member "leader". */
void json_output_leader(struct jout *out, const struct leader *leader);
/* Begins {"apiVersion":...,"kind":kind; the caller ends the object. */
void json_output_begin(struct jout *out, const struct output *output, const char *kind);
/* Makes the whole document the output's body, as JSON or YAML. Failure is the output's. */
void json_output_end(struct output *output, const struct sbuf *json);
/* One device as an object: {"uuid":...}, with its tenants if asked for. */
void json_output_device(struct jout *out, const struct attribution *device, bool with_tenants);
/* The members of one tenant, without the brackets around them. */
void json_output_tenant(struct jout *out, const struct attribution_status *status,
		   const struct attribution_tenant *tenant);
/* A member with a text; null for an empty one. */
void json_output_text(struct jout *out, const char *key, struct view text);
/* A member with a word of words.h; null for "?", which is what is not known. */
void json_output_word(struct jout *out, const char *key, struct view word);
/* A member with an array of texts, each a struct view. */
void json_output_texts(struct jout *out, const char *key, struct array texts);
/* A member with an instant, "2026-01-02T03:04:05Z"; null for 0. */
void json_output_instant(struct jout *out, const char *key, int64_t instant);
