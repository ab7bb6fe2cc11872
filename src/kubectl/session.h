/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * session - one invocation while it is carried out: what was asked, and the devices that were taken.
 *
 * Threads: the main thread.
 */

#include "kubectl/command.h"
#include "kubectl/device_list.h"
#include "kubectl/output.h"
#include "kubectl/query.h"
#include "kubectl/uuid_prefix.h"

struct session {
	const struct invocation *invocation;
	struct output *output;
	struct query query;
	struct device_list list;
	struct uuid_prefix uuids; /* of all devices, if the output shortens them */
};

/* The query failed: says why. */
enum command_status session_failed(struct session *session, const struct error *err);
/* Begins the list; context is that of `want`. */
void session_begin_list(struct session *session, device_list_want_fn want, const void *context);
/*
 * Takes the UUIDs of all devices, if the user chose some only: a prefix must be unique among all. Fails
 * as the query does.
 */
MUST_USE int session_take_all_uuids(struct session *session, struct error *err);
/*
 * What was taken is complete: sorts it, says what could not be read, and finds out whether a controller
 * keeps it up to date. Fails with ERROR_LIMIT.
 */
MUST_USE int session_settle(struct session *session, struct error *err);
/*
 * Takes the devices that are wanted (want NULL: all), of which `narrow` chooses all that matter; it may
 * be NULL. Fails as the query does.
 */
MUST_USE int session_take_devices(struct session *session, const char *narrow,
				  device_list_want_fn want, struct error *err);
/* True when there is any device; of a table it is known of all. */
bool session_is_any_known(const struct session *session);
/* The status, less certain where something was unreadable. */
enum command_status session_conclude(const struct session *session, enum command_status status);
/* The status of a command with --check: what was found is a finding, what is not known no success. */
enum command_status session_judge_check(const struct session *session, size_t n_found,
					bool is_certain);
/* Nothing was found: says so, and no more than is certain. */
void session_say_nothing_found(struct session *session, const char *nothing, const char *doubtful);
/* No device of that node was taken: says whether there is such a node. */
void session_explain_node(struct session *session, const char *node);
/* Says which of the devices fit the beginning of a UUID, of which there are several. */
void session_list_candidates(struct session *session, struct view searched);
