/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * words - values of a GPUAttribution as people read them. What is not known is "?", never 0 and
 * never nothing: a word that this version does not know is not known either.
 *
 * Threads: any.
 */

#include "base/sbuf.h"
#include "model/attribution.h"

/* The `now` of a text that stays on show: it has instants where others have ages. */
#define WORDS_NO_NOW 0

/* The functions of values return the word of the API, a static text; "?" for 0. */

/* enum attribution_mode: "Exclusive", ... */
struct view words_mode(int mode);
/* enum attribution_phase: "Running", ... */
struct view words_phase(int phase);
/* enum attribution_confidence: "Confirmed", ... */
struct view words_confidence(int confidence);
/* enum attribution_role: "Workload", ... */
struct view words_role(int role);
/* enum attribution_health: "Healthy", ... */
struct view words_health(int state);
/* enum attribution_recovery: "None", "Reset", ... */
struct view words_recovery(int action);
/* enum attribution_activity: "Active", ... */
struct view words_activity(int state);
/* enum attribution_intent: "InSync", ... */
struct view words_intent(int state);
/* enum attribution_severity: "Warning", ... */
struct view words_severity(int severity);
/* enum condition_status: "True", ... */
struct view words_condition(int status);
/* enum attribution_report_state: "Current", ... */
struct view words_report_state(int state);

/* The text, or "?" for an empty one. */
struct view words_known(struct view text);

/* The profile of the partition, or nothing where it is not known. Borrowed from the status. */
struct view words_profile(const struct attribution_status *status, struct view uuid);

/* The functions below append; failure is the buffer's. */

/* The number, or "?" for a negative one. */
void words_number(struct sbuf *buf, int64_t number);
/* "3/4": a part of a whole. */
void words_share(struct sbuf *buf, int64_t part, int64_t whole);
/* A stretch of time as kubectl writes ages: "45s", "12m", "3d4h". */
void words_duration(struct sbuf *buf, int64_t ms);
/* The age of an instant, "?" when it is absent. With WORDS_NO_NOW the instant itself. */
void words_age(struct sbuf *buf, int64_t instant, int64_t now);
/* " for 12m", nothing when the instant is absent. With WORDS_NO_NOW " since 2026-01-02T03:04:05Z". */
void words_since(struct sbuf *buf, int64_t instant, int64_t now);
/* "2026-01-02T03:04:05Z (12m ago)", "?" when it is absent. With WORDS_NO_NOW less the age. */
void words_instant(struct sbuf *buf, int64_t instant, int64_t now);
/* "namespace/name", or "uid/" and the UID's front where no name is known. */
void words_pod(struct sbuf *buf, struct view namespace, struct view name, struct view uid);
/* The profiles of these partitions; the UUID of one whose profile is not known. */
void words_partitions(struct sbuf *buf, const struct attribution_status *status,
		      struct array uuids);
/* "python3[4711]": the command and the host's process ID. */
void words_process(struct sbuf *buf, const struct attribution_user *user);
/* The texts of an array of views with ',' between them. */
void words_list(struct sbuf *buf, struct array texts);
