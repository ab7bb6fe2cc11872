/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The plain members are rows. A container's limits are a map, whose keys no row can name: they are
 * walked to by hand. Kubernetes takes extended resources in limits only (requests, where given,
 * must be the same), so nothing is missed by not looking at requests.
 */

#include "kubectl/pod_card.h"

#include "base/limits.h"
#include "kubectl/intake.h"
#include "schema/gpu_resource.h"
#include "wire/jmap.h"
#include "wire/jwalk.h"

#define DOCUMENT_DEPTH 64u
#define MAX_CONDITIONS 64u
#define MAX_REQUESTS 64u

struct condition_row {
	struct view type;
	struct view status;
	struct view message;
};

struct document {
	struct view kind;
	int64_t deleted_at;
	struct array conditions; /* struct condition_row */
	struct pod_card card;
};

/* The API server has checked all texts; an object is bounded as a whole. */
#define ANY_TEXT LIMIT_OBJECT_BYTES

static const struct jmap_row metadata_rows[] = {
	{"namespace", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(document, card.namespace),
	 .limit = LIMIT_TEXT_NAME},
	{"name", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(document, card.name), .limit = LIMIT_TEXT_NAME},
	{"uid", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(document, card.uid), .limit = LIMIT_TEXT_UID},
	{"deletionTimestamp", JMAP_TIME, 0, JMAP_AT(document, deleted_at)},
	{0},
};

static const struct jmap_row spec_rows[] = {
	{"nodeName", JMAP_TEXT, 0, JMAP_AT(document, card.node), .limit = LIMIT_TEXT_NAME},
	{0},
};

static const struct jmap_row condition_rows[] = {
	{"type", JMAP_TEXT, 0, JMAP_AT(condition_row, type), .limit = ANY_TEXT},
	{"status", JMAP_TEXT, 0, JMAP_AT(condition_row, status), .limit = ANY_TEXT},
	{"message", JMAP_TEXT, 0, JMAP_AT(condition_row, message), .limit = ANY_TEXT},
	{0},
};

static const struct jmap_row status_rows[] = {
	{"phase", JMAP_TEXT, 0, JMAP_AT(document, card.phase), .limit = ANY_TEXT},
	{"reason", JMAP_TEXT, 0, JMAP_AT(document, card.reason), .limit = ANY_TEXT},
	{"message", JMAP_TEXT, 0, JMAP_AT(document, card.message), .limit = ANY_TEXT},
	{"conditions", JMAP_ARRAY, 0, JMAP_AT(document, conditions), .limit = MAX_CONDITIONS,
	 .rows = condition_rows, .element_size = sizeof(struct condition_row)},
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
	struct pod_card *card;
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

/* The first limit that may be for GPUs. Quantities may be written as texts or as numbers. */
static bool find_request(struct view limits, struct pod_card_request *ret)
{
	struct jwalk walk;
	struct view key, value;
	jwalk_init(&walk, limits);
	while (jwalk_next(&walk, &key, &value)) {
		struct view count = value;
		jwalk_text(value, &count);
		if (!gpu_resource_is_known(key) || view_equal(count, VIEW("0")))
			continue;
		ret->resource = key;
		ret->count = count;
		return true;
	}
	return false;
}

static int take_container(void *context, struct view container, struct error *err)
{
	struct search *search = context;
	struct pod_card_request found = {0};
	struct view limits = member(member(container, VIEW("resources")), VIEW("limits"));
	if (search->n_requests == MAX_REQUESTS || !find_request(limits, &found))
		return 0;
	struct pod_card_request *request = &search->requests[search->n_requests];
	*request = (struct pod_card_request){0};
	jwalk_text(member(container, VIEW("name")), &found.container);
	if (!arena_copy(search->arena, found.container, &request->container) ||
	    !arena_copy(search->arena, found.resource, &request->resource) ||
	    !arena_copy(search->arena, found.count, &request->count))
		return error_no_memory(err);
	search->n_requests++;
	return 0;
}

static int find_requests(struct view spec, struct search *search, struct error *err)
{
	static const struct view lists[] = {VIEW_INIT("initContainers"), VIEW_INIT("containers")};
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		struct view list = member(spec, lists[i]);
		if (list.len > 0 && list.ptr[0] == '[' &&
		    intake_each(list, take_container, search, err) != 0)
			return -1;
	}
	struct view claims = member(spec, VIEW("resourceClaims"));
	search->card->has_claims = claims.len > 2 && claims.ptr[0] == '[';
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
	search->card->requests = (struct array){kept, search->n_requests, true};
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
	struct search search = {.arena = arena, .card = &document.card};
	if (find_requests(member(json, VIEW("spec")), &search, err) != 0 ||
	    keep_requests(&search, err) != 0)
		return -1;
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
	return card->requests.count > 0 || card->has_claims;
}
