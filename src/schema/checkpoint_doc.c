/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Resources and NUMA nodes are keys here, which a table of rows cannot describe. So the file is
 * read token by token. Two loops serve all levels, one over the members of an object and one over
 * the elements of a list. Both are told what to do with each.
 *
 * AllocResp is the device plugin's answer, a protobuf message in base64. It is read for one thing:
 * whether the plugin made the container a client of MPS. Only this tells MPS from time-slicing,
 * because the device IDs are the same. An entry without an answer does not come from a kubelet.
 *
 *	| plugin   | what makes the container a client of MPS                                   |
 *	|----------|----------------------------------------------------------------------------|
 *	| NVIDIA's | CUDA_MPS_PIPE_DIRECTORY names the pipes                                    |
 *	| GKE's    | CUDA_MPS_ACTIVE_THREAD_PERCENTAGE, CUDA_MPS_PINNED_DEVICE_MEM_LIMIT; the   |
 *	|          | pipes are mounted where CUDA looks by default                              |
 *
 * GKE's is GoogleCloudPlatform/container-engine-accelerators, pkg/gpu/nvidia/manager.go.
 */

#include "schema/checkpoint_doc.h"

#include "base/limits.h"
#include "schema/holder_list.h"
#include "schema/map_entry.h"
#include "wire/base64.h"
#include "wire/jlex.h"
#include "wire/pbscan.h"

#define MAX_DEPTH 16u

enum { ALLOC_RESP_ENVS = 1 };

struct reader {
	struct arena texts; /* those that had to be unescaped */
	struct holder_list entries;
	struct holder_list registered;
	uint32_t n_entries;
	bool has_data;
	bool has_entries;
	bool has_registered;
	struct error *err;
};

/* Where the devices of a list go. */
struct target {
	struct holder_list *holders;
	struct holder_device device;
};

/* One object of PodDeviceEntries. The parts may come in any order, so two are kept unread. */
struct entry {
	struct view uid;
	struct view container;
	struct view resource;
	struct view device_ids;
	struct view alloc_resp;
};

typedef int (*member_fn)(struct reader *r, struct jlex *lex, struct view key, void *to);
typedef int (*element_fn)(struct reader *r, struct jlex *lex, void *to);

static void reader_deinit(struct reader *r)
{
	arena_deinit(&r->texts);
	holder_list_deinit(&r->entries);
	holder_list_deinit(&r->registered);
}

static int unescape(struct reader *r, struct jlex_string string, struct view *ret)
{
	if (!string.has_escapes) {
		*ret = string.raw;
		return 0;
	}
	char *text = arena_alloc(&r->texts, string.raw.len, 1);
	if (!text)
		return error_no_memory(r->err);
	ret->ptr = text;
	if (!jlex_unescape(string, text, &ret->len))
		return error_set(r->err, ERROR_REJECTED, 0, "a text that is none");
	return 0;
}

static int read_text(struct reader *r, struct jlex *lex, struct view *ret)
{
	struct jlex_string string;
	return jlex_string(lex, &string) == 0 ? unescape(r, string, ret) : -1;
}

/* The bytes of a value, checked to be JSON, to be read later. */
static int read_raw(struct jlex *lex, struct view *ret)
{
	jlex_peek(lex);
	const char *start = lex->at;
	if (jlex_skip(lex) != 0)
		return -1;
	*ret = (struct view){start, (size_t)(lex->at - start)};
	return 0;
}

/* Calls visit with the lexer at each member's value, not at all for null. */
static int each_member(struct reader *r, struct jlex *lex, member_fn visit, void *to)
{
	if (jlex_peek(lex) == 'n')
		return jlex_word(lex, VIEW("null"));
	if (jlex_enter(lex, '{') != 0)
		return -1;
	if (jlex_peek(lex) == '}')
		return jlex_leave(lex, '}');
	do {
		struct jlex_string string;
		struct view key;
		if (jlex_key(lex, &string) != 0 || unescape(r, string, &key) != 0 ||
		    visit(r, lex, key, to) != 0)
			return -1;
	} while (jlex_take(lex, ','));
	return jlex_leave(lex, '}');
}

/* Calls visit with the lexer at each element, not at all for null. */
static int each_element(struct reader *r, struct jlex *lex, element_fn visit, void *to)
{
	if (jlex_peek(lex) == 'n')
		return jlex_word(lex, VIEW("null"));
	if (jlex_enter(lex, '[') != 0)
		return -1;
	if (jlex_peek(lex) == ']')
		return jlex_leave(lex, ']');
	do {
		if (visit(r, lex, to) != 0)
			return -1;
	} while (jlex_take(lex, ','));
	return jlex_leave(lex, ']');
}

static int visit_device(struct reader *r, struct jlex *lex, void *to)
{
	struct target *target = to;
	if (read_text(r, lex, &target->device.device_id) != 0)
		return -1;
	return holder_list_add(target->holders, &target->device, r->err);
}

/* The devices of one NUMA node. */
static int visit_numa_node(struct reader *r, struct jlex *lex, struct view node, void *to)
{
	(void)node;
	return each_element(r, lex, visit_device, to);
}

/* The environment of an AllocResp: does it make the container a client of MPS? */
static int has_mps(struct reader *r, struct view message, bool *ret)
{
	bool mps = false;
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		struct map_entry env;
		if (field.number != ALLOC_RESP_ENVS || field.wire != PBSCAN_BYTES)
			continue;
		if (map_entry_decode(field.bytes, &env, r->err) != 0)
			return -1;
		mps |= view_starts_with(env.key, VIEW("CUDA_MPS_"));
	}
	if (pbscan_check(&scan, "AllocResp", r->err) != 0)
		return -1;
	*ret = mps;
	return 0;
}

static int read_alloc_resp(struct reader *r, struct view json, bool *ret_mps)
{
	CLEANUP(sbuf_deinit) struct sbuf message;
	struct jlex lex;
	struct view text;

	sbuf_init(&message, LIMIT_CHECKPOINT_BYTES);
	jlex_init(&lex, json, MAX_DEPTH, r->err);
	if (jlex_peek(&lex) != '"')
		return 0;
	if (read_text(r, &lex, &text) != 0)
		return -1;
	if (!base64_decode(text, &message))
		return error_set(r->err, ERROR_REJECTED, 0, "AllocResp: not base64");
	if (sbuf_check(&message, "AllocResp", r->err) != 0)
		return -1;
	return has_mps(r, sbuf_view(&message), ret_mps);
}

static int add_entry(struct reader *r, const struct entry *entry)
{
	struct target target = {
		&r->entries,
		{.pod = entry->uid, .container = entry->container, .resource = entry->resource}};
	struct jlex lex;

	if (entry->uid.len == 0 || entry->container.len == 0 || entry->resource.len == 0)
		return error_set(r->err, ERROR_REJECTED, 0,
				 "PodUID, ContainerName or ResourceName is missing");
	if (entry->uid.len > LIMIT_TEXT_UID)
		return error_set(r->err, ERROR_LIMIT, 0, "PodUID: too long");
	if (read_alloc_resp(r, entry->alloc_resp, &target.device.mps) != 0)
		return -1;
	jlex_init(&lex, entry->device_ids, MAX_DEPTH, r->err);
	if (jlex_peek(&lex) == '[')
		return each_element(r, &lex, visit_device, &target);
	return each_member(r, &lex, visit_numa_node, &target);
}

static int visit_entry_member(struct reader *r, struct jlex *lex, struct view key, void *to)
{
	struct entry *entry = to;
	if (view_equal(key, VIEW("PodUID")))
		return read_text(r, lex, &entry->uid);
	if (view_equal(key, VIEW("ContainerName")))
		return read_text(r, lex, &entry->container);
	if (view_equal(key, VIEW("ResourceName")))
		return read_text(r, lex, &entry->resource);
	if (view_equal(key, VIEW("DeviceIDs")))
		return read_raw(lex, &entry->device_ids);
	if (view_equal(key, VIEW("AllocResp")))
		return read_raw(lex, &entry->alloc_resp);
	return jlex_skip(lex);
}

static int visit_entry(struct reader *r, struct jlex *lex, void *to)
{
	struct entry entry = {.device_ids = VIEW("null")};
	(void)to;
	if (each_member(r, lex, visit_entry_member, &entry) != 0 || add_entry(r, &entry) != 0)
		return error_wrap(r->err, "PodDeviceEntries[%u]", r->n_entries);
	r->n_entries++;
	return 0;
}

/* A resource that is registered and has no healthy devices is worth knowing. */
static int visit_registered(struct reader *r, struct jlex *lex, struct view resource, void *to)
{
	struct target target = {&r->registered, {.resource = resource}};
	(void)to;
	if (holder_list_add(target.holders, &target.device, r->err) != 0 ||
	    each_element(r, lex, visit_device, &target) != 0)
		return error_wrap(r->err, "RegisteredDevices");
	return 0;
}

static int visit_data(struct reader *r, struct jlex *lex, struct view key, void *to)
{
	(void)to;
	if (view_equal(key, VIEW("PodDeviceEntries"))) {
		r->has_entries = true;
		return each_element(r, lex, visit_entry, NULL);
	}
	if (view_equal(key, VIEW("RegisteredDevices"))) {
		r->has_registered = true;
		return each_member(r, lex, visit_registered, NULL);
	}
	return jlex_skip(lex);
}

static int visit_file(struct reader *r, struct jlex *lex, struct view key, void *to)
{
	(void)to;
	if (!view_equal(key, VIEW("Data")))
		return jlex_skip(lex);
	r->has_data = true;
	return each_member(r, lex, visit_data, NULL);
}

static int read_file(struct reader *r, struct view json)
{
	struct jlex lex;

	jlex_init(&lex, json, MAX_DEPTH, r->err);
	if (each_member(r, &lex, visit_file, NULL) != 0 || jlex_finish(&lex) != 0)
		return -1;
	if (!r->has_data || !r->has_entries || !r->has_registered)
		return error_set(r->err, ERROR_REJECTED, 0, "%s: missing",
				 !r->has_data      ? "Data"
				 : !r->has_entries ? "Data.PodDeviceEntries"
						   : "Data.RegisteredDevices");
	return 0;
}

int checkpoint_doc_decode(struct view json, struct arena *arena,
			  struct report_checkpoint *ret_checkpoint, struct error *err)
{
	CLEANUP(reader_deinit) struct reader r = {.err = err};
	struct report_checkpoint checkpoint = {.present = true};

	if (json.len > LIMIT_CHECKPOINT_BYTES)
		return error_set(err, ERROR_LIMIT, 0, "%zu bytes: more than %u", json.len,
				 LIMIT_CHECKPOINT_BYTES);
	arena_init(&r.texts, 2 * LIMIT_CHECKPOINT_BYTES);
	if (read_file(&r, json) != 0 ||
	    holder_list_to_checkpoint_entries(&r.entries, arena, &checkpoint.entries, err) != 0 ||
	    holder_list_to_resource_devices(&r.registered, arena, &checkpoint.registered, err) != 0)
		return -1;
	*ret_checkpoint = checkpoint;
	return 0;
}
