/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/question.h"

#include <assert.h>
#include <stdlib.h>

#include "base/limits.h"
#include "wire/jwalk.h"

#define SELECT "?fieldSelector=metadata.name%%3D%.*s"

static void question_freep(struct question **question)
{
	question_free(*question);
}

static int question_new(struct view uid, struct question **ret_question, struct error *err)
{
	struct question *question = calloc(1, sizeof(*question));

	if (!question)
		return error_no_memory(err);
	sbuf_init(&question->path, LIMIT_URL);
	sbuf_init(&question->uid, LIMIT_URL);
	sbuf_append(&question->uid, uid);
	*ret_question = question;
	return 0;
}

static int check(const struct question *question, struct error *err)
{
	return sbuf_check(&question->path, "path", err) < 0 ||
			       sbuf_check(&question->uid, "UID", err) < 0
		       ? -1
		       : 0;
}

int question_no_node(struct view name, struct question **ret_question, struct error *err)
{
	CLEANUP(question_freep) struct question *question = NULL;

	assert(question_is_name(name));
	if (question_new((struct view){0}, &question, err) < 0)
		return -1;
	sbuf_printf(&question->path, "/api/v1/nodes" SELECT, VIEW_ARG(name));
	if (check(question, err) < 0)
		return -1;
	*ret_question = TAKE(question);
	return 0;
}

int question_pod(struct view namespace, struct view name, struct view uid,
		 struct question **ret_question, struct error *err)
{
	CLEANUP(question_freep) struct question *question = NULL;

	assert(question_is_name(namespace) && question_is_name(name) && uid.len > 0);
	if (question_new(uid, &question, err) < 0)
		return -1;
	sbuf_printf(&question->path, "/api/v1/namespaces/%.*s/pods" SELECT, VIEW_ARG(namespace),
		    VIEW_ARG(name));
	if (check(question, err) < 0)
		return -1;
	*ret_question = TAKE(question);
	return 0;
}

void question_free(struct question *question)
{
	if (!question)
		return;
	sbuf_deinit(&question->path);
	sbuf_deinit(&question->uid);
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

/* The value of a member, or an empty view. */
static int find_member(struct view object, struct view wanted, struct view *ret, struct error *err)
{
	struct view key, value;
	struct jwalk walk;

	*ret = (struct view){0};
	jwalk_init(&walk, object);
	while (jwalk_next(&walk, &key, &value)) {
		if (view_equal(key, wanted))
			*ret = value;
	}
	return jwalk_check(&walk, "list of one name", err);
}

/* Of the only item of a list, which is its text without the brackets. */
static int read_uid(struct view item, struct view *ret_uid, struct error *err)
{
	struct view metadata, uid;

	if (find_member(item, VIEW("metadata"), &metadata, err) < 0 ||
	    find_member(metadata, VIEW("uid"), &uid, err) < 0)
		return -1;
	if (!jwalk_text(uid, ret_uid))
		return error_set(err, ERROR_RETRY, 0, "list of one name: an item without UID");
	return 0;
}

int question_hear(const struct question *question, struct view body, bool *ret_so,
		  struct error *err)
{
	struct view items, uid = {0};

	if (find_member(body, VIEW("items"), &items, err) < 0)
		return -1;
	if (items.len < 2 || items.ptr[0] != '[')
		return error_set(err, ERROR_RETRY, 0, "list of one name: no items");
	items = view_trim((struct view){items.ptr + 1, items.len - 2});
	if (items.len > 0 && read_uid(items, &uid, err) < 0)
		return -1;
	*ret_so = view_equal(uid, sbuf_view(&question->uid));
	return 0;
}
