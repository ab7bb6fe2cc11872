/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/test_main.h"

#include "base/limits.h"
#include "controller/question.h"

#define LIST(items) "{\"kind\":\"PartialObjectMetadataList\",\"metadata\":{},\"items\":" items "}"
#define UID(uid) "{\"metadata\":{\"uid\":\"" uid "\"}}"

enum which { NO_NODE, POD, N_WHICH };

/* The questions of these tests: node gpu-a, and pod ml/train-0 with uid-0. */
static int make(enum which which, struct question **ret, struct error *err)
{
	if (which == NO_NODE)
		return question_no_node(VIEW("gpu-a"), ret, err);
	return question_pod(VIEW("ml"), VIEW("train-0"), VIEW("uid-0"), ret, err);
}

static struct question *question_of(enum which which)
{
	struct question *question;
	struct error err;

	assert_int_equal(make(which, &question, &err), 0);
	return question;
}

static void it_is_a_list_that_is_narrowed_down_to_what_is_asked_for(void **state)
{
	static const char *const paths[N_WHICH] = {
		[NO_NODE] = "/api/v1/nodes?fieldSelector=metadata.name%3Dgpu-a",
		[POD] = "/api/v1/namespaces/ml/pods?fieldSelector=metadata.name%3Dtrain-0",
	};

	(void)state;
	for (unsigned i = 0; i < N_WHICH; i++) {
		struct question *question = question_of((enum which)i);

		assert_string_equal(sbuf_text(&question->path), paths[i]);
		question_free(question);
	}
	question_free(NULL);
}

static void it_is_so_when_the_wanted_are_there(void **state)
{
	static const struct {
		enum which which;
		const char *body;
		bool is_so;
	} rows[] = {
		{NO_NODE, LIST("null"), true}, /* so the API server writes it */
		{NO_NODE, LIST("[]"), true},
		{NO_NODE, LIST("[ ]"), true},
		{NO_NODE, "{\"items\":null,\"kind\":\"PartialObjectMetadataList\"}", true},
		{NO_NODE, LIST("[" UID("n-1") "]"), false},
		{NO_NODE, LIST("[{\"metadata\":{}}]"), false},

		{POD, LIST("[" UID("uid-0") "]"), true},
		{POD, LIST("[{\"metadata\":{\"uid\":\"uid\\u002d0\",\"labels\":{\"a\":[1]}}}]"), true},
		{POD, LIST("[" UID("uid-1") "]"), false},
		{POD, LIST("[" UID("uid-") "]"), false},
		{POD, LIST("[" UID("uid-00") "]"), false},
		{POD, LIST("[{\"metadata\":{\"name\":\"uid-0\"}}]"), false},
		{POD, LIST("null"), false},
		{POD, LIST("[" UID("uid-0") "," UID("uid-1") "]"), false},
		/* As Kubernetes 1.36 writes it. */
		{POD, LIST("[{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":"
			   "\"meta.k8s.io/v1\",\"metadata\":{\"name\":\"train-0\",\"uid\":\"uid-0\","
			   "\"resourceVersion\":\"17\",\"generation\":1,\"creationTimestamp\":"
			   "\"2026-11-22T02:20:09Z\",\"managedFields\":[{\"manager\":\"curl\","
			   "\"operation\":\"Update\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":"
			   "{\"f:spec\":{\"f:nodeName\":{}}}}]}}]"), true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct question *question = question_of(rows[i].which);
		struct error err = {0};
		bool is_so = !rows[i].is_so;

		if (question_hear(question, view_from(rows[i].body), &is_so, &err) < 0 ||
		    is_so != rows[i].is_so)
			fail_msg("row %zu: %s", i, err.text);
		question_free(question);
	}
}

/* Else a proxy's "{}" would pass for an answer that a node is gone. */
static void what_is_no_list_of_metadata_is_no_answer(void **state)
{
	static const struct {
		const char *body;
		enum error_kind kind;
	} rows[] = {
		{"", ERROR_REJECTED},
		{"{}", ERROR_REJECTED},
		{"[]", ERROR_REJECTED},
		{"null", ERROR_REJECTED},
		{"{\"items\":[]}", ERROR_REJECTED},
		{"{\"kind\":\"Status\"}", ERROR_RETRY},
		{"{\"kind\":\"NodeList\",\"items\":[]}", ERROR_RETRY},
		{LIST("{}"), ERROR_REJECTED},
		{LIST("[{}]"), ERROR_REJECTED},
		{LIST("[{\"metadata\":null}]"), ERROR_REJECTED},
		{LIST("[{\"metadata\":{\"uid\":7}}]"), ERROR_REJECTED},
		{LIST("["), ERROR_REJECTED},
		{LIST("[]") "x", ERROR_REJECTED},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (unsigned which = 0; which < N_WHICH; which++) {
			struct question *question = question_of((enum which)which);
			struct error err = {0};
			bool is_so = true;

			assert_int_equal(question_hear(question, view_from(rows[i].body), &is_so,
						       &err), -1);
			if (err.kind != rows[i].kind || !is_so)
				fail_msg("row %zu: %s", i, err.text);
			question_free(question);
		}
}

static void an_answer_with_a_text_beyond_all_measure_is_refused(void **state)
{
	struct question *question = question_of(POD);
	struct error err = {0};
	struct sbuf body;
	bool is_so;

	(void)state;
	sbuf_init(&body, LIMIT_MIB);
	sbuf_printf(&body, "{\"kind\":\"PartialObjectMetadataList\",\"items\":[{\"metadata\":"
			   "{\"uid\":\"%0*d\"}}]}", (int)LIMIT_URL + 1, 0);
	assert_int_equal(question_hear(question, sbuf_view(&body), &is_so, &err), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
	sbuf_deinit(&body);
	question_free(question);
}

static void only_names_that_an_object_can_have_may_be_asked_for(void **state)
{
	static const struct {
		const char *name;
		bool is_name;
	} rows[] = {
		{"gpu-a", true}, {"10.0.0.1", true}, {"a", true}, {"", false}, {".", false},
		{"..", false}, {"../pods", false}, {"A", false}, {"a/b", false}, {"a?b", false},
		{"a%2Fb", false}, {"a b", false}, {"a,b", false}, {"a_b", false},
		{"\xc3\xa4", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (question_is_name(view_from(rows[i].name)) != rows[i].is_name)
			fail_msg("%s", rows[i].name);
	assert_false(question_is_name((struct view){"a\0b", 3}));
}

static char long_name[LIMIT_URL + 1];

static void what_is_too_long_is_not_asked(void **state)
{
	struct view name = {long_name, LIMIT_URL}, uid = {long_name, LIMIT_URL + 1};
	struct question *question = NULL;
	struct error err[3];

	(void)state;
	memset(long_name, 'a', sizeof(long_name));
	assert_int_equal(question_no_node(name, &question, &err[0]), -1);
	assert_int_equal(question_pod(VIEW("ml"), name, VIEW("u"), &question, &err[1]), -1);
	assert_int_equal(question_pod(VIEW("ml"), VIEW("p"), uid, &question, &err[2]), -1);
	for (size_t i = 0; i < ARRAY_SIZE(err); i++)
		assert_int_equal(err[i].kind, ERROR_LIMIT);
	assert_null(question);
}

static void without_memory_nothing_is_asked_and_nothing_is_heard(void **state)
{
	(void)state;
	for (unsigned which = 0; which < N_WHICH; which++) {
		struct question *question = NULL;
		struct error err = {0};
		bool failed = true;

		for (unsigned k = 1; failed; k++) {
			failing_malloc_at(k);
			int result = make((enum which)which, &question, &err);
			failed = failing_malloc_off();
			assert_int_equal(result, failed ? -1 : 0);
			if (failed)
				assert_int_equal(err.kind, ERROR_NO_MEMORY);
		}
		failed = true;
		for (unsigned k = 1; failed; k++) {
			bool is_so = true;

			failing_malloc_at(k);
			int result = question_hear(question, view_from(LIST("[" UID("x") "]")),
						   &is_so, &err);
			failed = failing_malloc_off();
			assert_int_equal(result, failed ? -1 : 0);
			assert_int_equal(is_so, failed);
			if (failed)
				assert_int_equal(err.kind, ERROR_NO_MEMORY);
		}
		question_free(question);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(it_is_a_list_that_is_narrowed_down_to_what_is_asked_for),
	cmocka_unit_test(it_is_so_when_the_wanted_are_there),
	cmocka_unit_test(what_is_no_list_of_metadata_is_no_answer),
	cmocka_unit_test(an_answer_with_a_text_beyond_all_measure_is_refused),
	cmocka_unit_test(only_names_that_an_object_can_have_may_be_asked_for),
	cmocka_unit_test(what_is_too_long_is_not_asked),
	cmocka_unit_test(without_memory_nothing_is_asked_and_nothing_is_heard),
};

TEST_MAIN(tests)
