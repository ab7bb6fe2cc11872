/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * expect_status - assertions on a GPUAttribution's status. Texts are C strings.
 *
 * Threads: a test's own.
 */

#include "model/attribution.h"

/* Fails the test unless the bytes are the expected text. */
void expect_text(struct view text, const char *expected);
/* The array's texts, separated by commas. */
void expect_texts(struct array texts, const char *expected);
/* The condition of that type is there, with that status and reason. */
void expect_condition(const struct attribution_status *status, const char *type, int condition,
		      const char *reason);
/* The keys of the tenants as "uid/container", separated by commas. */
void expect_tenants(const struct attribution_status *status, const char *expected);
/* The disagreements as "uid/container Witness=slots Witness=slots", separated by commas. */
void expect_disagreement(const struct attribution_status *status, const char *expected);
/* The unplaced holders as "uid/container id id", separated by commas. */
void expect_unplaced(const struct attribution_status *status, const char *expected);
/* The unallocated users as "uid process", separated by commas. */
void expect_users(const struct attribution_status *status, const char *expected);
/* The UIDs of the recent tenants, separated by commas. */
void expect_recent(const struct attribution_status *status, const char *expected);
/* The UIDs of the pods of a health event, each once. */
void expect_accused(struct array tenants, const char *expected);
/* The tenant with that UID, which must be there and have that phase and confidence. */
const struct attribution_tenant *expect_tenant(const struct attribution_status *status,
					       const char *uid, int phase, int confidence);
