/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The input is an answer to each of three questions: is there no such node, has the pod this UID, has it
 * another one. At most one of them is so, and none where the answer cannot be read. As a name the input is
 * asked for only if it cannot change what is asked.
 */

#include <assert.h>
#include <string.h>

#include "base/limits.h"
#include "controller/question.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct view name = VIEW_INIT("train-0");

/* uid: empty: no such node. */
static struct question *ask(struct view uid)
{
	struct question *question = NULL;
	struct error err;
	const int result = uid.len > 0 ? question_pod(VIEW("ml"), name, uid, &question, &err)
				       : question_no_node(name, &question, &err);

	assert(result == 0);
	return question;
}

/* 0 or 1; -1: it cannot be read. */
static int hear(struct view uid, struct view body)
{
	struct question *question = ask(uid);
	struct error err;
	bool is_so = false;
	const int result = question_hear(question, body, &is_so, &err);

	assert(result == 0 || (!is_so && err.kind != ERROR_NONE));
	question_free(question);
	return result < 0 ? -1 : is_so;
}

static bool has(struct view text, struct view part)
{
	return text.len > 0 && memmem(text.ptr, text.len, part.ptr, part.len) != NULL;
}

static void check_answer(struct view body)
{
	const struct view uid = VIEW("5a0f"), other = VIEW("77c1");
	const int nobody = hear(VIEW(""), body), first = hear(uid, body), second = hear(other, body);

	assert((nobody < 0) == (first < 0) && (first < 0) == (second < 0));
	if (nobody < 0)
		return;
	assert(nobody + first + second <= 1);
	assert(!first || has(body, uid) || has(body, VIEW("\\u")));
	assert(!second || has(body, other) || has(body, VIEW("\\u")));
}

/* The path has the name once, at its end, and no other parameter. */
static void check_name(struct view asked)
{
	struct question *question;
	struct error err;

	if (!question_is_name(asked))
		return;
	assert(!has(asked, VIEW("/")) && !has(asked, VIEW("%")) && !has(asked, VIEW("&")));
	if (question_no_node(asked, &question, &err) < 0) {
		assert(err.kind == ERROR_LIMIT && asked.len > LIMIT_URL / 2);
		return;
	}
	assert(question->path.len <= LIMIT_URL && question->wanted.len == 0);
	assert(view_ends_with(sbuf_view(&question->path), asked));
	question_free(question);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct view input = {(const char *)data, size};

	check_answer(input);
	check_name(input);
	return 0;
}
