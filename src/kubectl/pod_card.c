/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The plain members are rows. Limits and labels are maps, whose keys no row can name: they are
 * walked to by hand. Kubernetes takes extended resources in limits only (requests, where given,
 * must be the same), so nothing is missed by not looking at requests.
 *
 * Only KAI's scheduler reads KAI's annotations. Before it binds a pod it writes the label of the
 * group that shares the GPU on it. For a pod on a node only that label counts. HAMi gives what a limit
 * asks for, so its annotation alone asks for nothing.
 */

#include "kubectl/pod_card.h"

#include "base/limits.h"
#include "kubectl/object_stream.h"
#include "kubectl/own_devices.h"
#include "schema/gpu_resource.h"
#include "wire/jmap.h"
#include "wire/jmap_decode.h"
#include "wire/jwalk.h"

#define DOCUMENT_DEPTH 64u
#define MAX_CONDITIONS 64u
#define MAX_REQUESTS 64u
#define MAX_CLAIMS 1024u

struct condition_row {
	struct view type;
	struct view status;
	struct view message;
};

/* Of the spec, and of the status, which names those that were made from templates. */
struct claim_row {
	struct view name;
	struct view object;
	bool is_used; /* by a container */
};

struct document {
	struct view kind;
	int64_t deleted_at;
	struct view gpu_fraction, gpu_memory, kai_container, hami;
	struct view extended_claim;
	struct array conditions;          /* struct condition_row */
	struct array claims, made_claims; /* struct claim_row */
	struct pod_card card;
};

/* The API server has checked all texts; an object is bounded as a whole. */
#define ANY_TEXT LIMIT_OBJECT_BYTES

static const struct jmap_row annotation_rows[] = {
	{"gpu-fraction", JMAP_TEXT, 0, JMAP_AT(document, gpu_fraction), .limit = ANY_TEXT},
	{"gpu-memory", JMAP_TEXT, 0, JMAP_AT(document, gpu_memory), .limit = ANY_TEXT},
	{"gpu-fraction-container-name", JMAP_TEXT, 0, JMAP_AT(document, kai_container),
	 .limit = ANY_TEXT},
	{"hami.io/vgpu-devices-allocated", JMAP_TEXT, 0, JMAP_AT(document, hami),
	 .limit = ANY_TEXT},
	{0},
};

static const struct jmap_row metadata_rows[] = {
	{"namespace", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(document, card.namespace),
	 .limit = LIMIT_TEXT_NAME},
	{"name", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(document, card.name), .limit = LIMIT_TEXT_NAME},
	{"uid", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(document, card.uid), .limit = LIMIT_TEXT_UID},
	{"deletionTimestamp", JMAP_TIME, 0, JMAP_AT(document, deleted_at)},
	{"annotations", JMAP_OBJECT, 0, .offset = 0, .rows = annotation_rows},
	{0},
};

static const struct jmap_row claim_rows[] = {
	{"name", JMAP_TEXT, 0, JMAP_AT(claim_row, name), .limit = ANY_TEXT},
	{"resourceClaimName", JMAP_TEXT, 0, JMAP_AT(claim_row, object), .limit = ANY_TEXT},
	{0},
};

static const struct jmap_row spec_rows[] = {
	{"nodeName", JMAP_TEXT, 0, JMAP_AT(document, card.node), .limit = LIMIT_TEXT_NAME},
	{"schedulerName", JMAP_TEXT, 0, JMAP_AT(document, card.scheduler), .limit = ANY_TEXT},
	{"resourceClaims", JMAP_ARRAY, 0, JMAP_AT(document, claims), .limit = MAX_CLAIMS,
	 .rows = claim_rows, .element_size = sizeof(struct claim_row)},
	{0},
};

static const struct jmap_row condition_rows[] = {
	{"type", JMAP_TEXT, 0, JMAP_AT(condition_row, type), .limit = ANY_TEXT},
	{"status", JMAP_TEXT, 0, JMAP_AT(condition_row, status), .limit = ANY_TEXT},
	{"message", JMAP_TEXT, 0, JMAP_AT(condition_row, message), .limit = ANY_TEXT},
	{0},
};

static const struct jmap_row extended_rows[] = {
	{"resourceClaimName", JMAP_TEXT, 0, JMAP_AT(document, extended_claim), .limit = ANY_TEXT},
	{0},
};

static const struct jmap_row status_rows[] = {
	{"phase", JMAP_TEXT, 0, JMAP_AT(document, card.phase), .limit = ANY_TEXT},
	{"reason", JMAP_TEXT, 0, JMAP_AT(document, card.reason), .limit = ANY_TEXT},
	{"message", JMAP_TEXT, 0, JMAP_AT(document, card.message), .limit = ANY_TEXT},
	{"conditions", JMAP_ARRAY, 0, JMAP_AT(document, conditions), .limit = MAX_CONDITIONS,
	 .rows = condition_rows, .element_size = sizeof(struct condition_row)},
	{"resourceClaimStatuses", JMAP_ARRAY, 0, JMAP_AT(document, made_claims),
	 .limit = MAX_CLAIMS, .rows = claim_rows, .element_size = sizeof(struct claim_row)},
	{"extendedResourceClaimStatus", JMAP_OBJECT, 0, .offset = 0, .rows = extended_rows},
	{0},
};

static const struct jmap_row document_rows[] = {
	{"kind", JMAP_TEXT, 0, JMAP_AT(document, kind), .limit = ANY_TEXT},
	{"metadata", JMAP_OBJECT, JMAP_REQUIRED, .offset = 0, .rows = metadata_rows},
	{"spec", JMAP_OBJECT, JMAP_REQUIRED, .offset = 0, .rows = spec_rows},
	{"status", JMAP_OBJECT, 0, .offset = 0, .rows = status_rows},
	{0},
};

struct search {
	struct arena *arena;
	struct document *document;
	struct view sharer; /* who of the pod has the share that KAI gives it */
	bool is_main;       /* the main containers are being looked at */
	struct pod_card_request requests[MAX_REQUESTS];
	uint32_t n_requests;
};

/* The value of a member of an object that is known to be well-formed; empty: there is none. */
static struct view member(struct view object, struct view name)
{
	struct jwalk walk;
	struct view key, value;
	jwalk_init(&walk, object);
	while (jwalk_next(&walk, &key, &value)) {
		if (view_equal(key, name))
			return value;
	}
	return (struct view){0};
}

/* A class of devices can be asked for as a resource; these two are NVIDIA's driver's. */
static bool is_gpu(struct view resource)
{
	return gpu_resource_is_known(resource) ||
	       (view_starts_with(resource, VIEW("deviceclass.resource.kubernetes.io/")) &&
		(view_ends_with(resource, VIEW("/gpu.nvidia.com")) ||
		 view_ends_with(resource, VIEW("/mig.nvidia.com"))));
}

/* The first limit that may be for GPUs. Quantities may be written as texts or as numbers. */
static bool find_request(struct view limits, struct pod_card_request *ret, struct view *ret_other)
{
	struct jwalk walk;
	struct view key, value;
	jwalk_init(&walk, limits);
	while (jwalk_next(&walk, &key, &value)) {
		struct view count = value;
		jwalk_text(value, &count);
		if (view_equal(count, VIEW("0")))
			continue;
		if (!is_gpu(key)) {
			if (view_find_char(key, '/') >= 0)
				*ret_other = key;
			continue;
		}
		ret->resource = key;
		ret->count = count;
		return true;
	}
	return false;
}

static int each_of(struct view list, object_stream_take_fn take, void *context, struct error *err)
{
	return list.len > 0 && list.ptr[0] == '[' ? object_stream_each(list, take, context, err) : 0;
}

static int take_use(void *context, struct view use, struct error *err)
{
	const struct search *search = context;
	struct array claims = search->document->claims;
	struct view name = {0};
	(void)err;
	jwalk_text(member(use, VIEW("name")), &name);
	for (uint32_t i = 0; i < claims.count; i++) {
		struct claim_row *claim = ARRAY_AT(claims, struct claim_row, i);
		claim->is_used |= view_equal(claim->name, name);
	}
	return 0;
}

static int add_request(struct search *search, const struct pod_card_request *found,
		       struct error *err)
{
	struct pod_card_request *request = &search->requests[search->n_requests];
	*request = (struct pod_card_request){0};
	if (!arena_copy(search->arena, found->container, &request->container) ||
	    !arena_copy(search->arena, found->resource, &request->resource) ||
	    !arena_copy(search->arena, found->count, &request->count))
		return error_no_memory(err);
	search->n_requests++;
	return 0;
}

static int take_container(void *context, struct view container, struct error *err)
{
	struct search *search = context;
	struct document *document = search->document;
	struct pod_card_request found = {0};
	struct view resources = member(container, VIEW("resources"));
	jwalk_text(member(container, VIEW("name")), &found.container);
	if ((search->is_main && search->sharer.len == 0) ||
	    view_equal(found.container, document->kai_container))
		search->sharer = found.container;
	if (each_of(member(resources, VIEW("claims")), take_use, search, err) != 0)
		return -1;
	struct view limits = member(resources, VIEW("limits"));
	if (search->n_requests == MAX_REQUESTS ||
	    !find_request(limits, &found, &document->card.other_resource))
		return 0;
	return add_request(search, &found, err);
}

/* The one label is of who shares one GPU, the others, one for each, of who shares several. */
static bool is_in_kai_group(struct view labels)
{
	struct jwalk walk;
	struct view key, value;
	jwalk_init(&walk, labels);
	while (jwalk_next(&walk, &key, &value)) {
		if (view_equal(value, VIEW("\"\"")))
			continue;
		if (view_equal(key, VIEW("runai-gpu-group")) ||
		    view_starts_with(key, VIEW("runai-gpu-group/")))
			return true;
	}
	return false;
}

static int find_requests(struct view json, struct search *search, struct error *err)
{
	static const struct view lists[] = {VIEW_INIT("initContainers"), VIEW_INIT("containers")};
	struct view *other = &search->document->card.other_resource;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		search->is_main = i == 1;
		if (each_of(member(member(json, VIEW("spec")), lists[i]), take_container, search,
			    err) != 0)
			return -1;
	}
	if (!arena_copy(search->arena, *other, other))
		return error_no_memory(err);
	if (search->n_requests > 0 ||
	    !is_in_kai_group(member(member(json, VIEW("metadata")), VIEW("labels"))))
		return 0;
	return add_request(search, &(struct pod_card_request){.container = search->sharer}, err);
}

static struct view name_claim(const struct claim_row *claim, struct array made)
{
	for (uint32_t i = 0; i < made.count; i++) {
		const struct claim_row *row = ARRAY_AT(made, struct claim_row, i);
		if (view_equal(row->name, claim->name) && row->object.len > 0)
			return row->object;
	}
	return claim->object.len > 0 ? claim->object : claim->name;
}

static int keep_claims(struct document *document, struct arena *arena, struct error *err)
{
	struct array claims = document->claims;
	struct view *kept = arena_alloc(arena, (size_t)claims.count + 1, sizeof(*kept));
	uint32_t n = 0;
	if (!kept)
		return error_no_memory(err);
	for (uint32_t i = 0; i < claims.count; i++) {
		const struct claim_row *claim = ARRAY_AT(claims, struct claim_row, i);
		if (claim->is_used)
			kept[n++] = name_claim(claim, document->made_claims);
	}
	if (document->extended_claim.len > 0)
		kept[n++] = document->extended_claim;
	document->card.claims = (struct array){kept, n, true};
	document->card.has_claims = claims.count > 0;
	return 0;
}

static int keep_requests(const struct search *search, struct error *err)
{
	struct pod_card_request *kept =
		arena_alloc(search->arena, search->n_requests, sizeof(*kept));
	if (!kept)
		return error_no_memory(err);
	for (uint32_t i = 0; i < search->n_requests; i++)
		kept[i] = search->requests[i];
	search->document->card.requests = (struct array){kept, search->n_requests, true};
	return 0;
}

static struct view find_not_scheduled(struct array conditions)
{
	for (uint32_t i = 0; i < conditions.count; i++) {
		const struct condition_row *row = ARRAY_AT(conditions, struct condition_row, i);
		if (view_equal(row->type, VIEW("PodScheduled")) &&
		    view_equal(row->status, VIEW("False")))
			return row->message;
	}
	return (struct view){0};
}

static struct view find_kai_annotation(const struct document *document)
{
	if (document->gpu_fraction.len > 0)
		return VIEW("gpu-fraction");
	return document->gpu_memory.len > 0 ? VIEW("gpu-memory") : (struct view){0};
}

int pod_card_decode(struct view json, struct arena *arena, struct pod_card *ret_card,
		    struct error *err)
{
	struct document document = {0};
	if (jmap_decode(json, DOCUMENT_DEPTH, document_rows, arena, &document, sizeof(document),
			err) != 0)
		return -1;
	if (!view_equal(document.kind, VIEW("Pod")))
		return error_set(err, ERROR_REJECTED, 0, "a %.*s is no Pod",
				 VIEW_ARG(document.kind));
	struct search search = {.arena = arena, .document = &document};
	if (find_requests(json, &search, err) != 0 || keep_requests(&search, err) != 0 ||
	    keep_claims(&document, arena, err) != 0 ||
	    own_devices_of_pod(json, arena, &document.card.devices, err) != 0)
		return -1;
	document.card.kai_annotation = find_kai_annotation(&document);
	document.card.has_hami = document.hami.len > 0;
	document.card.is_deleting = document.deleted_at != 0;
	document.card.not_scheduled = find_not_scheduled(document.conditions);
	*ret_card = document.card;
	return 0;
}

bool pod_card_is_over(const struct pod_card *card)
{
	return view_equal(card->phase, VIEW("Succeeded")) ||
	       view_equal(card->phase, VIEW("Failed"));
}

bool pod_card_asks(const struct pod_card *card)
{
	return card->requests.count > 0 || card->claims.count > 0 ||
	       (card->node.len == 0 && card->kai_annotation.len > 0);
}
