/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * scenario_show - parts of a status in words, as a scenario's "expect" compares them. The tables of
 * what can be shown are in the .c.
 *
 * Threads: a test's own.
 */

#include "lib/scenario_line.h"

/* Appends what the status, or the tenant, shows of that. False: there is no such thing. */
bool scenario_show_status(const struct attribution_status *status, struct view what,
			  struct scenario_text *text);
bool scenario_show_tenant(const struct attribution_tenant *tenant, struct view key,
			  struct scenario_text *text);
/* Appends, with a blank if there is something before it: a container as "uid", "uid/side", "-". */
void scenario_show_key(struct scenario_text *text, struct view uid, struct view container);
/* Appends texts with commas between; a number, or "?" for one that is not known. */
void scenario_show_texts(struct scenario_text *text, struct array texts);
void scenario_show_count(struct scenario_text *text, int64_t n);
/* A blank where there is text already. */
const char *scenario_show_gap(const struct scenario_text *text);
