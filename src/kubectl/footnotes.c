/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A silent node marks all of its devices for one reason: they share a note. Tenants that could not
 * be placed are listed on each device of a node, and noted once.
 */

#include "kubectl/footnotes.h"

#include <inttypes.h>

#include "assess/drift_settling.h"
#include "join/wording.h"
#include "kubectl/output.h"
#include "kubectl/report_state.h"
#include "kubectl/words.h"

#define NODES_NAMED 4

static bool are_alike(const struct attribution *left, const struct attribution *right)
{
	struct report_state a = report_state_of(&left->status), b = report_state_of(&right->status);
	return a.is_current == b.is_current && view_equal(a.reason, b.reason) &&
	       view_equal(a.message, b.message) &&
	       view_equal(left->status.node_name, right->status.node_name);
}

/* "GPU-11ba558d: " behind a separator. */
static void note_uuid(const struct output *output, const char *separator,
		      const struct attribution *device, struct sbuf *line)
{
	sbuf_append(line, view_from(separator));
	output_uuid(output, device->uuid, line);
	sbuf_append(line, VIEW(": "));
}

static void note_state(struct output *output, const struct attribution *const *devices, size_t n)
{
	struct sbuf *line = output_note(output);
	if (!report_state_of(&devices[0]->status).is_current) {
		sbuf_printf(line, "* %.*s", VIEW_ARG(words_known(devices[0]->status.node_name)));
		if (n > 1)
			sbuf_printf(line, ", %zu GPUs: ", n);
		else
			note_uuid(output, ", ", devices[0], line);
		report_state_note(devices[0], output->now, line);
	}
	output_note_end(output);
}

void footnotes_add_states(struct output *output, const struct attribution *const *devices, size_t n_devices)
{
	size_t run;
	for (size_t i = 0; i < n_devices; i += run) {
		run = 1;
		while (i + run < n_devices && are_alike(devices[i], devices[i + run]))
			run++;
		note_state(output, &devices[i], run);
	}
}

static void note_users(struct output *output, const struct attribution *device)
{
	struct array users = device->status.unallocated_users;
	struct sbuf *line = output_note(output);
	if (users.count > 0) {
		int64_t n = users.count + device->status.unallocated_users_left_out;
		note_uuid(output, "", device, line);
		sbuf_printf(line, "%" PRId64 " %s no slot of it, first ", n,
			    n == 1 ? "process on the device holds" : "processes on the device hold");
		const struct attribution_user *user = ARRAY_AT(users, struct attribution_user, 0);
		words_process(line, user);
		if (user->pod_uid.len > 0) {
			sbuf_append(line, VIEW(" of "));
			words_pod(line, user->pod_namespace, user->pod_name, user->pod_uid);
		}
	}
	output_note_end(output);
}

static void note_unplaced(struct output *output, const struct attribution_status *status)
{
	for (uint32_t i = 0; i < status->unplaced_tenants.count; i++) {
		const struct attribution_unplaced *unplaced =
			ARRAY_AT(status->unplaced_tenants, struct attribution_unplaced, i);
		struct sbuf *line = output_note(output);
		sbuf_append(line, status->node_name);
		sbuf_append(line, VIEW(": "));
		words_pod(line, unplaced->pod_namespace, unplaced->pod_name, unplaced->pod_uid);
		sbuf_append(line, VIEW(" holds device IDs that are no known GPU's: "));
		words_list(line, unplaced->device_ids);
		output_note_end(output);
	}
}

/* A tenant that holds for others says nothing about who works there. */
static void note_placeholders(struct output *output, const struct attribution_status *status)
{
	for (uint32_t i = 0; i < status->tenants.count; i++) {
		const struct attribution_tenant *tenant =
			ARRAY_AT(status->tenants, struct attribution_tenant, i);
		struct sbuf *line = output_note(output);
		if (tenant->placeholder.len > 0) {
			words_pod(line, tenant->pod_namespace, tenant->pod_name, tenant->pod_uid);
			sbuf_printf(line, " is a placeholder of %.*s: for which pods it holds the GPU is "
					  "not known",
				    VIEW_ARG(tenant->placeholder));
		}
		output_note_end(output);
	}
}

static void note_disagreements(struct output *output, const struct attribution *device)
{
	const struct attribution_status *status = &device->status;
	struct sbuf *line = output_note(output);
	if (status->source_disagreements.count > 0) {
		note_uuid(output, "", device, line);
		sbuf_printf(line, "the sources disagree about %" PRId64 " of its tenants; see kubectl gpus device ",
			    status->source_disagreements.count + status->source_disagreements_left_out);
		output_uuid(output, device->uuid, line);
	}
	output_note_end(output);
}

static void note_left_out(struct output *output, const struct attribution *device)
{
	struct sbuf *line = output_note(output);
	if (device->status.tenants_left_out > 0) {
		note_uuid(output, "", device, line);
		sbuf_printf(line, "%" PRId64 " further tenants are not listed",
			    device->status.tenants_left_out);
	}
	output_note_end(output);
}

static void note_rest(struct output *output, const struct attribution *device)
{
	note_users(output, device);
	note_placeholders(output, &device->status);
	note_disagreements(output, device);
	note_left_out(output, device);
}

/* Devices of a node stand side by side. */
static void write_nodes(const struct attribution *const *devices, size_t n, struct sbuf *line)
{
	size_t n_nodes = 0, run;
	for (size_t i = 0; i < n; i += run, n_nodes++) {
		struct view node = devices[i]->status.node_name;
		run = 1;
		while (i + run < n && view_equal(node, devices[i + run]->status.node_name))
			run++;
		if (n_nodes < NODES_NAMED)
			sbuf_printf(line, "%s%zu on %.*s", n_nodes > 0 ? ", " : "", run,
				    VIEW_ARG(words_known(node)));
	}
	if (n_nodes > NODES_NAMED)
		sbuf_printf(line, ", and those of %zu more nodes", n_nodes - NODES_NAMED);
}

/* Which settling holds its verdict up; N_DRIFT_SETTLING: this version does not know it. */
static int settling_of(const struct attribution *device)
{
	const struct condition *in_sync =
		attribution_find_condition(&device->status, wording_condition(CONDITION_IN_SYNC));
	int kind = 0;
	while (kind < N_DRIFT_SETTLING &&
	       !(in_sync && view_equal(in_sync->reason,
				       drift_settling_word((enum drift_settling)kind))))
		kind++;
	return kind;
}

static void write_settling(const size_t counts[N_DRIFT_SETTLING + 1], struct sbuf *line)
{
	const char *separator = ":";
	for (int kind = 0; kind <= N_DRIFT_SETTLING; kind++) {
		if (counts[kind] == 0)
			continue;
		sbuf_printf(line, "%s %zu for %.*s", separator, counts[kind],
			    VIEW_ARG(kind < N_DRIFT_SETTLING
					     ? drift_settling_word((enum drift_settling)kind)
					     : VIEW("another reason")));
		separator = ",";
	}
}

void footnotes_add_settling(struct output *output, const struct attribution *const *devices,
			    size_t n_devices, bool is_hinted)
{
	struct sbuf *line = output_note(output);
	size_t counts[N_DRIFT_SETTLING + 1] = {0};
	bool is_pending = false;
	for (size_t i = 0; i < n_devices; i++) {
		counts[settling_of(devices[i])]++;
		is_pending |= devices[i]->status.intent.pending.count > 0;
	}
	if (n_devices > 0) {
		sbuf_printf(line, "%zu %s settling", n_devices, n_devices == 1 ? "GPU is" : "GPUs are");
		write_settling(counts, line);
	}
	if (is_pending && is_hinted)
		sbuf_append(line, VIEW("; -o wide shows what is pending"));
	output_note_end(output);
}

void footnotes_add_unknown(struct output *output, const struct attribution *const *devices,
			   size_t n_devices, const char *what)
{
	struct sbuf *line = output_note(output);
	if (n_devices > 0) {
		sbuf_printf(line, "%s of %zu %s is not known: ", what, n_devices,
			    n_devices == 1 ? "GPU" : "GPUs");
		write_nodes(devices, n_devices, line);
		sbuf_append(line, VIEW("; kubectl gpus node NAME shows them"));
	}
	output_note_end(output);
}

void footnotes_add(struct output *output, const struct attribution *const *devices, size_t n_devices)
{
	footnotes_add_states(output, devices, n_devices);
	for (size_t i = 0; i < n_devices; i++) {
		const struct attribution_status *status = &devices[i]->status;
		if (i == 0 || !view_equal(status->node_name, devices[i - 1]->status.node_name))
			note_unplaced(output, status);
		note_rest(output, devices[i]);
	}
}
