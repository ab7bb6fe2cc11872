/* SPDX-License-Identifier: Apache-2.0 */

#include "kubectl/own_view.h"

#include "kubectl/json_output.h"
#include "kubectl/own_devices.h"
#include "kubectl/session.h"
#include "kubectl/text_table.h"
#include "kubectl/verdict.h"
#include "wire/jout.h"

#define MESSAGE_BYTES (16u * LIMIT_KIB)
#define CLAIMS_BYTES (16u * LIMIT_MIB)

struct entry {
	struct entry *next;
	struct own_claim claim;
};

/* ResourceClaims of the namespace. */
struct claims {
	struct arena arena;
	struct entry *first;
	bool are_known;
};

struct line {
	const struct pod_card *card;
	struct own_device device;
	bool is_by_claim;
};

typedef void (*line_fn)(void *context, const struct line *line);

static int take_claim(void *context, struct view json, struct error *err)
{
	struct claims *claims = context;
	struct entry *entry = arena_alloc(&claims->arena, 1, sizeof(*entry));
	if (!entry)
		return error_set(err, ERROR_LIMIT, 0, "more than %u MiB of ResourceClaims",
				 CLAIMS_BYTES / LIMIT_MIB);
	if (own_devices_of_claim(json, &claims->arena, &entry->claim, err) != 0)
		return error_wrap(err, "ResourceClaim");
	entry->next = claims->first;
	claims->first = entry;
	return 0;
}

static const struct own_claim *find_claim(const struct claims *claims, struct view namespace,
					  struct view name)
{
	for (const struct entry *entry = claims->first; entry; entry = entry->next)
		if (view_equal(entry->claim.name, name) &&
		    view_equal(entry->claim.namespace, namespace))
			return &entry->claim;
	return NULL;
}

/* The status names the container, too: what it tells is not told again. */
static bool is_in_status(const struct pod_card *card, struct view id)
{
	for (uint32_t i = 0; i < card->devices.count; i++)
		if (view_equal(ARRAY_AT(card->devices, struct own_device, i)->id, id))
			return true;
	return false;
}

/* How many devices are known of the pod; tells each. */
static size_t tell_devices(const struct claims *claims, const struct pod_card *card, line_fn told,
			   void *context)
{
	size_t n = 0;
	for (uint32_t i = 0; i < card->devices.count; i++, n++)
		told(context, &(struct line){card, *ARRAY_AT(card->devices, struct own_device, i),
					     false});
	for (uint32_t i = 0; i < card->claims.count; i++) {
		struct view name = *ARRAY_AT(card->claims, struct view, i);
		const struct own_claim *claim = find_claim(claims, card->namespace, name);
		for (uint32_t j = 0; claim && j < claim->ids.count; j++) {
			struct line line = {card, {.resource = name,
						   .id = *ARRAY_AT(claim->ids, struct view, j)}, true};
			if (is_in_status(card, line.device.id))
				continue;
			told(context, &line);
			n++;
		}
	}
	return n;
}

/* As a table. */

static void write_namespace(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, ((const struct line *)row)->card->namespace);
}

static void write_pod(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, ((const struct line *)row)->card->name);
}

static void write_container(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, ((const struct line *)row)->device.container);
}

static void write_device(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, ((const struct line *)row)->device.id);
}

static void write_node(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, ((const struct line *)row)->card->node);
}

static void write_resource(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, ((const struct line *)row)->device.resource);
}

static void write_health(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	sbuf_append(cell, line->device.health.len > 0 ? line->device.health : VIEW("?"));
}

/* By the names that witnesses have in a status. */
static struct view name_witness(const struct line *line)
{
	return line->is_by_claim ? VIEW("ResourceClaim") : VIEW("PodStatus");
}

static void write_witness(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, name_witness(row));
}

static const struct text_table_column columns[] = {
	{"NAMESPACE", OUTPUT_IF_ALL_NAMESPACES, write_namespace, .cut = true},
	{"POD", 0, write_pod, .cut = true},
	{"CONTAINER", 0, write_container, .cut = true},
	{"DEVICE", 0, write_device, .cut = true},
	{"NODE", 0, write_node, .cut = true},
	{"RESOURCE", 0, write_resource, .cut = true},
	{"HEALTH", 0, write_health, .drop = 2},
	{"WITNESS", 0, write_witness, .drop = 1},
	{0},
};

static void add_line(void *context, const struct line *line)
{
	text_table_add(context, line);
}

static void count_line(void *context, const struct line *line)
{
	(void)context, (void)line;
}

/* As JSON. */

static void write_json_line(void *context, const struct line *line)
{
	struct jout *out = context;
	jout_object(out);
	jout_member_text(out, "namespace", line->card->namespace);
	jout_member_text(out, "pod", line->card->name);
	jout_member_text(out, "podUID", line->card->uid);
	json_output_text(out, "container", line->device.container);
	jout_member_text(out, "resource", line->device.resource);
	jout_member_text(out, "deviceID", line->device.id);
	json_output_text(out, "node", line->card->node);
	json_output_text(out, "health", line->device.health);
	jout_member_text(out, "witness", name_witness(line));
	jout_object_end(out);
}

static void show_json(struct output *output, const struct claims *claims,
		      const struct assignment_set *set)
{
	CLEANUP(sbuf_deinit) struct sbuf json;
	struct jout out;
	sbuf_init(&json, OUTPUT_BYTES);
	jout_init(&out, &json);
	json_output_begin(&out, output, "PodDevices");
	jout_key(&out, "items");
	jout_array(&out);
	for (size_t i = 0; i < set->n_findings; i++)
		if (set->findings[i].card)
			tell_devices(claims, set->findings[i].card, write_json_line, &out);
	jout_array_end(&out);
	jout_object_end(&out);
	json_output_end(output, &json);
}

static void show_table(struct output *output, const struct claims *claims,
		       const struct assignment_set *set)
{
	CLEANUP(text_table_deinit) struct text_table table;
	text_table_init(&table, columns, output_flags(output), OUTPUT_BYTES);
	for (size_t i = 0; i < set->n_findings; i++)
		if (set->findings[i].card)
			tell_devices(claims, set->findings[i].card, add_line, &table);
	if (table.n_rows > 0)
		text_table_write(&table, output, 0);
}

/* What is not known of a pod, as a note and as a status. */
static enum command_status judge_pod(struct output *output, const struct claims *claims,
				     const struct assignment_set *set,
				     const struct assignment_finding *finding)
{
	const bool is_idle = finding->verdict == ASSIGNMENT_NO_REQUEST ||
			     finding->verdict == ASSIGNMENT_ENDED;
	if (finding->card && tell_devices(claims, finding->card, count_line, NULL) > 0)
		return COMMAND_FOUND;
	if (is_idle && !set->is_named)
		return COMMAND_FOUND;
	struct sbuf *line = output_note(output);
	sbuf_printf(line, "pod/%.*s: ", VIEW_ARG(finding->name));
	if (finding->verdict == ASSIGNMENT_UNKNOWN)
		sbuf_append(line, VIEW("asks for GPUs, and neither its status nor a ResourceClaim "
				       "that may be read says which it has; kubelets write it from "
				       "Kubernetes 1.36 on"));
	else
		verdict_say(output, set, finding, line);
	output_note_end(output);
	return finding->verdict == ASSIGNMENT_UNKNOWN ? COMMAND_FAILED : COMMAND_NOT_FOUND;
}

static enum command_status judge(struct output *output, const struct claims *claims,
				 const struct assignment_set *set)
{
	enum command_status status = COMMAND_FOUND;
	for (size_t i = 0; i < set->n_findings; i++) {
		enum command_status one = judge_pod(output, claims, set, &set->findings[i]);
		if (one == COMMAND_FAILED || status == COMMAND_FOUND)
			status = one;
	}
	return status;
}

static bool has_any_claims(const struct assignment_set *set)
{
	for (size_t i = 0; i < set->n_findings; i++)
		if (set->findings[i].card && set->findings[i].card->claims.count > 0)
			return true;
	return false;
}

/* That they may not be read leaves what the pods' status says. */
static int read_claims(struct session *session, const char *namespace,
		       const struct assignment_set *set, struct claims *claims, struct error *err)
{
	if (!has_any_claims(set) ||
	    query_claims(&session->query, namespace, take_claim, claims, err) == 0)
		return 0;
	if (err->kind != ERROR_DENIED)
		return -1;
	output_printf(session->output, "resourceclaims may not be read; the right to list them in the "
				       "namespace shows what claims give");
	return 0;
}

enum command_status own_view(struct session *session, const char *namespace,
			     const struct assignment_set *set)
{
	struct output *output = session->output;
	struct claims claims = {0};
	struct error err;
	arena_init(&claims.arena, CLAIMS_BYTES);
	enum command_status status = COMMAND_FAILED;
	output->all_namespaces = session->invocation->all_namespaces;
	if (read_claims(session, namespace, set, &claims, &err) != 0) {
		status = session_failed(session, &err);
	} else {
		if (output_is_document(output))
			show_json(output, &claims, set);
		else
			show_table(output, &claims, set);
		status = judge(output, &claims, set);
		output_printf(output, "gpuattributions may not be read: by whom the GPUs are shared, their "
				      "health, activity and intent are not shown. The ClusterRole "
				      "gpu-attribution-viewer, bound cluster-wide, adds them");
	}
	arena_deinit(&claims.arena);
	return status;
}
