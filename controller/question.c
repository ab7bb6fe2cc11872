/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/question.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/limits.h"
#include "wire/jmap.h"
#include "wire/jmap_decode.h"

/*
 * Of an empty list the server writes "items": null. So that nothing else passes for an empty list,
 * the answer must say what it is.
 */

#define SELECT "?fieldSelector=metadata.name%%3D%.*s"
#define DOCUMENT_DEPTH 64u
#define MAX_ITEMS 4096u

struct item {
	struct view uid;
};

struct answer {
	struct view kind;
	struct array items; /* struct item */
};

static const struct jmap_row metadata_rows[] = {
	{"uid", JMAP_TEXT, 0, JMAP_AT(item, uid), .limit = LIMIT_URL},
	{0},
};

static const struct jmap_row item_rows[] = {
	{"metadata", JMAP_OBJECT, JMAP_REQUIRED, .offset = 0, .rows = metadata_rows},
	{0},
};

static const struct jmap_row answer_rows[] = {
	{"kind", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(answer, kind), .limit = LIMIT_TEXT_WORD},
	{"items", JMAP_ARRAY, 0, JMAP_AT(answer, items), .limit = MAX_ITEMS, .rows = item_rows,
	 .element_size = sizeof(struct item)},
	{0},
};

/* NULL: there is no memory, which finish() says. */
static struct question *question_new(void)
{
	struct question *question = calloc(1, sizeof(*question));

	if (!question)
		return NULL;
	list_init(&question->link);
	sbuf_init(&question->path, LIMIT_URL);
	sbuf_init(&question->wanted, LIMIT_URL);
	return question;
}

/* Takes the question over. */
static int finish(struct question *question, struct question **ret_question, struct error *err)
{
	if (!question)
		return error_no_memory(err);
	if (sbuf_check(&question->path, "path", err) < 0 ||
	    sbuf_check(&question->wanted, "UID", err) < 0) {
		question_free(question);
		return -1;
	}
	*ret_question = question;
	return 0;
}

int question_no_node(struct view name, struct question **ret_question, struct error *err)
{
	struct question *question = question_new();

	assert(question_is_name(name));
	if (question)
		sbuf_printf(&question->path, "/api/v1/nodes" SELECT, VIEW_ARG(name));
	return finish(question, ret_question, err);
}

int question_pod(struct view namespace, struct view name, struct view uid,
		 struct question **ret_question, struct error *err)
{
	struct question *question = question_new();

	assert(question_is_name(namespace) && question_is_name(name) && uid.len > 0);
	if (question) {
		sbuf_printf(&question->path, "/api/v1/namespaces/%.*s/pods" SELECT,
			    VIEW_ARG(namespace), VIEW_ARG(name));
		sbuf_append(&question->wanted, uid);
	}
	return finish(question, ret_question, err);
}

void question_free(struct question *question)
{
	if (!question)
		return;
	sbuf_deinit(&question->path);
	sbuf_deinit(&question->wanted);
	free(question);
}

bool question_is_name(struct view name)
{
	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '-' &&
		    (c != '.' || i == 0))
			return false;
	}
	return name.len > 0;
}

static bool are_there(const struct question *question, const struct array *items)
{
	struct view wanted = sbuf_view(&question->wanted);

	if (wanted.len == 0)
		return items->count == 0;
	return items->count == 1 && view_equal(ARRAY_AT(*items, struct item, 0)->uid, wanted);
}

int question_hear(const struct question *question, struct view body, bool *ret_so,
		  struct error *err)
{
	CLEANUP(arena_deinit) struct arena arena = {0};
	struct answer answer = {0};

	arena_init(&arena, LIMIT_ANSWER_BYTES);
	if (jmap_decode(body, DOCUMENT_DEPTH, answer_rows, &arena, &answer, sizeof(answer), err) <
	    0)
		return error_wrap(err, "list of metadata");
	if (!view_equal(answer.kind, VIEW("PartialObjectMetadataList")))
		return error_set(err, ERROR_RETRY, 0, "no list of metadata: %.*s",
				 VIEW_ARG(answer.kind));
	*ret_so = are_there(question, &answer.items);
	return 0;
}
