/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/test_main.h"

#include "base/limits.h"
#include "base/sbuf.h"
#include "wire/yaml_tree.h"

static struct arena arena;

static int set_up(void **state)
{
	(void)state;
	arena_init(&arena, LIMIT_YAML_ARENA);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_deinit(&arena);
	return 0;
}

static const struct yaml_tree *parse(const char *text)
{
	const struct yaml_tree *root = NULL;
	struct error err;

	if (yaml_tree_parse(view_from(text), &arena, &root, &err) < 0)
		fail_msg("%s: %s", text, err.text);
	return root;
}

/* As JSON without quotes: a mapping in {}, a list in []. */
static void show(const struct yaml_tree *node, struct sbuf *out)
{
	if (node->kind == YAML_TREE_SCALAR) {
		sbuf_append(out, node->text);
		return;
	}
	sbuf_append_char(out, node->kind == YAML_TREE_MAP ? '{' : '[');
	for (const struct yaml_tree *child = node->first; child; child = child->next) {
		if (node->kind == YAML_TREE_MAP)
			sbuf_printf(out, "%.*s:", VIEW_ARG(child->key));
		show(child, out);
		if (child->next)
			sbuf_append_char(out, ',');
	}
	sbuf_append_char(out, node->kind == YAML_TREE_MAP ? '}' : ']');
}

static void yaml_and_json_give_the_same_tree(void **state)
{
	static const struct {
		const char *text, *tree;
	} rows[] = {
		{"a: 1\nb:\n- x\n- c: d\n", "{a:1,b:[x,{c:d}]}"},
		{"{\"a\": 1, \"b\": [\"x\", {\"c\": \"d\"}]}", "{a:1,b:[x,{c:d}]}"},
		{"{\n\t\"a\": 1,\n\t\"b\": [\"x\", {\"c\": \"d\"}]\n}", "{a:1,b:[x,{c:d}]}"},
		{"--- {a: []}\n---\nb: [\n", "{a:[]}"},
		{"- &name x\n- y\n", "[x,y]"},
		{"'quoted'", "quoted"},
		{"a:\n", "{a:}"},
		{"\xef\xbb\xbf" "a: b\r\nc: d", "{a:b,c:d}"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(sbuf_deinit) struct sbuf shown;

		sbuf_init(&shown, LIMIT_KIB);
		show(parse(rows[i].text), &shown);
		assert_string_equal(sbuf_text(&shown), rows[i].tree);
	}
}

static void an_empty_text_has_no_root(void **state)
{
	static const char *const texts[] = {"", "\n\n", "# nothing\n"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_null(parse(texts[i]));
	assert_true(yaml_tree_is_null(NULL));
	assert_null(yaml_tree_member(NULL, VIEW("a")));
	assert_null(yaml_tree_member_ignoring_case(NULL, VIEW("a")));
}

static void each_node_knows_where_it_begins(void **state)
{
	const struct yaml_tree *root = parse("a: 1\nbc:\n  - x\n  - 'y'\n");
	const struct yaml_tree *list = yaml_tree_member(root, VIEW("bc"));

	(void)state;
	assert_int_equal(root->line, 1);
	assert_int_equal(root->column, 1);
	assert_int_equal(list->first->line, 3);
	assert_int_equal(list->first->column, 5);
	assert_true(list->first->is_plain);
	assert_int_equal(list->first->next->line, 4);
	assert_false(list->first->next->is_plain);
}

static void what_is_not_read_is_refused_with_its_place_and_kind(void **state)
{
	static const struct {
		const char *text;
		enum error_kind kind;
		const char *begin;
	} rows[] = {
		{"a: [1,\nb: 2\n", ERROR_REJECTED, "line 3, column 1: "},
		{"a:\n\tb: 1\n", ERROR_REJECTED, "line 2, column 1: "},
		{"a: 1\n b: 2\n", ERROR_REJECTED, "line 2, column 3: "},
		{"a: \"\n", ERROR_REJECTED, "line 2, column 1: "},
		{"a: \x01\n", ERROR_REJECTED, "line 1, column "},
		{"a: \xff\n", ERROR_REJECTED, "line 1, column "},
		{"\xff\xfe" "a", ERROR_REJECTED, "line 1, column 1: "}, /* UTF-16 */
		{"a: *x\n", ERROR_LIMIT, "line 1, column 4: an alias is not followed"},
		{"a: &x [1]\nb: *x\n", ERROR_LIMIT, "line 2, column 4: an alias is not followed"},
		{"*x : 1\n", ERROR_LIMIT, "line 1, column 1: an alias is not followed"},
		{"a: !!str 1\n", ERROR_LIMIT, "line 1, column 4: a tag is not understood"},
		{"a: !x [1]\n", ERROR_LIMIT, "line 1, column 4: a tag is not understood"},
		{"a: !x {b: 1}\n", ERROR_LIMIT, "line 1, column 4: a tag is not understood"},
		{"[1]: 1\n", ERROR_LIMIT, "line 1, column 1: a key that is no text"},
		{"<<: {a: 1}\n", ERROR_LIMIT, "line 1, column 1: a merged key"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct yaml_tree *root = (const struct yaml_tree *)&rows;
		struct error err = {0};

		assert_int_equal(yaml_tree_parse(view_from(rows[i].text), &arena, &root, &err), -1);
		assert_int_equal(err.kind, rows[i].kind);
		if (strncmp(err.text, rows[i].begin, strlen(rows[i].begin)) != 0)
			fail_msg("row %zu: %s", i, err.text);
		assert_ptr_equal(root, &rows);
	}
}

/* Of that many of a character, with something before and behind. */
static int parse_many(const char *before, char c, size_t n, const char *behind, struct error *err)
{
	CLEANUP(sbuf_deinit) struct sbuf text;
	const struct yaml_tree *root;

	sbuf_init(&text, 2 * LIMIT_MIB);
	sbuf_printf(&text, "%s", before);
	for (size_t i = 0; i < n; i++)
		sbuf_append_char(&text, c);
	sbuf_printf(&text, "%s", behind);
	arena_reset(&arena);
	return yaml_tree_parse(sbuf_view(&text), &arena, &root, err);
}

static void what_is_over_a_limit_is_refused_and_what_is_at_it_is_not(void **state)
{
	CLEANUP(sbuf_deinit) struct sbuf closed;
	struct error err;

	(void)state;
	assert_int_equal(parse_many("", 'a', LIMIT_YAML_BYTES, "", &err), 0);
	assert_int_equal(parse_many("", 'a', LIMIT_YAML_BYTES + 1, "", &err), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
	sbuf_init(&closed, LIMIT_KIB);
	for (unsigned i = 0; i < LIMIT_YAML_DEPTH; i++)
		sbuf_append_char(&closed, ']');
	assert_int_equal(parse_many("", '[', LIMIT_YAML_DEPTH, sbuf_text(&closed), &err), 0);
	sbuf_append_char(&closed, ']');
	assert_int_equal(parse_many("", '[', LIMIT_YAML_DEPTH + 1, sbuf_text(&closed), &err), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
	assert_string_equal(err.text, "line 1, column 33: nested too deep");
	assert_int_equal(parse_many("", '[', LIMIT_YAML_BYTES, "", &err), -1);
}

/* libyaml would take time that grows with their square. */
static void more_than_a_few_declared_tags_are_refused(void **state)
{
	CLEANUP(sbuf_deinit) struct sbuf text;
	struct error err;

	(void)state;
	for (unsigned n = 16; n <= 17; n++) {
		const struct yaml_tree *root;

		sbuf_init(&text, LIMIT_MIB);
		for (unsigned i = 0; i < n; i++)
			sbuf_printf(&text, "%%TAG !a%u! b\n", i);
		sbuf_printf(&text, "--- x\n");
		assert_int_equal(yaml_tree_parse(sbuf_view(&text), &arena, &root, &err),
				 n == 16 ? 0 : -1);
		sbuf_deinit(&text);
	}
	assert_int_equal(err.kind, ERROR_LIMIT);
	assert_string_equal(err.text, "line 1, column 1: too many tags");
}

static void what_is_closed_again_counts_for_no_depth(void **state)
{
	CLEANUP(sbuf_deinit) struct sbuf text;

	(void)state;
	sbuf_init(&text, LIMIT_MIB);
	for (unsigned i = 0; i < 2 * LIMIT_YAML_DEPTH; i++)
		sbuf_printf(&text, "- [[a], {b: c}]\n");
	assert_int_equal(parse(sbuf_text(&text))->kind, YAML_TREE_LIST);
}

/* The list is one of them. */
static void more_values_than_the_limit_are_refused(void **state)
{
	CLEANUP(sbuf_deinit) struct sbuf text;
	const struct yaml_tree *root;
	struct error err;

	(void)state;
	sbuf_init(&text, LIMIT_MIB);
	for (unsigned i = 0; i + 1 < LIMIT_YAML_NODES; i++)
		sbuf_printf(&text, "- a\n");
	assert_int_equal(yaml_tree_parse(sbuf_view(&text), &arena, &root, &err), 0);
	sbuf_printf(&text, "- a\n");
	arena_reset(&arena);
	assert_int_equal(yaml_tree_parse(sbuf_view(&text), &arena, &root, &err), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
	assert_string_equal(err.text, "line 65536, column 3: too many values");
}

static void of_several_members_the_last_counts_and_the_same_letters_before_others(void **state)
{
	const struct yaml_tree *map = parse("a: 1\nA: 2\na: 3\nb: 4\nB: 5\n");
	static const struct {
		const char *key, *exact, *any;
	} rows[] = {{"a", "3", "3"}, {"A", "2", "2"}, {"b", "4", "4"}, {"c", NULL, NULL}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct yaml_tree *exact = yaml_tree_member(map, view_from(rows[i].key));
		const struct yaml_tree *any =
			yaml_tree_member_ignoring_case(map, view_from(rows[i].key));

		assert_int_equal(exact != NULL, rows[i].exact != NULL);
		assert_true(!exact || view_equal(exact->text, view_from(rows[i].exact)));
		assert_int_equal(any != NULL, rows[i].any != NULL);
		assert_true(!any || view_equal(any->text, view_from(rows[i].any)));
	}
	map = parse("REPLICAS: 1\nrePlicas: 2");
	assert_null(yaml_tree_member(map, VIEW("replicas")));
	assert_true(view_equal(yaml_tree_member_ignoring_case(map, VIEW("replicas"))->text,
			       VIEW("2")));
	assert_null(yaml_tree_member(parse("[a]"), VIEW("a")));
	assert_null(yaml_tree_member_ignoring_case(parse("[a]"), VIEW("a")));
}

static void scalars_have_the_types_of_yaml_1_1(void **state)
{
	static const struct {
		const char *text;
		bool is_null;
		int truth; /* -1: none */
		int64_t number; /* -99: none */
	} rows[] = {
		{"~", true, -1, -99},     {"null", true, -1, -99},  {"'null'", false, -1, -99},
		{"Null", true, -1, -99},  {"NULL", true, -1, -99},  {"nUll", false, -1, -99},
		{"true", false, 1, -99},  {"Yes", false, 1, -99},   {"ON", false, 1, -99},
		{"y", false, 1, -99},     {"false", false, 0, -99}, {"No", false, 0, -99},
		{"OFF", false, 0, -99},   {"n", false, 0, -99},     {"'true'", false, -1, -99},
		{"tRue", false, -1, -99}, {"4", false, -1, 4},      {"-4", false, -1, -4},
		{"0", false, -1, 0},      {"04", false, -1, -99},   {"'4'", false, -1, -99},
		{"4.0", false, -1, -99},  {"0x4", false, -1, -99},  {"-", false, -1, -99},
		{"-04", false, -1, -99},  {"[4]", false, -1, -99},
		{"9223372036854775807", false, -1, INT64_MAX},
		{"9223372036854775808", false, -1, -99},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[64];
		bool truth = false;
		int64_t number = 0;

		snprintf(text, sizeof(text), "{a: %s}",
			 strcmp(rows[i].text, "-") == 0 ? "'-'" : rows[i].text);
		const struct yaml_tree *node = parse(text)->first;
		assert_int_equal(yaml_tree_is_null(node), rows[i].is_null);
		assert_int_equal(yaml_tree_bool(node, &truth) ? (int)truth : -1, rows[i].truth);
		assert_int_equal(yaml_tree_i64(node, &number) ? number : -99, rows[i].number);
	}
	assert_true(yaml_tree_is_null(parse("a:\n")->first));
}

/* libyaml's own allocations are not among those that can be made to fail here. */
static void without_memory_there_is_no_tree(void **state)
{
	bool failed = true;

	(void)state;
	for (unsigned k = 1; failed; k++) {
		CLEANUP(arena_deinit) struct arena own = {0};
		const struct yaml_tree *root;
		struct error err = {0};

		arena_init(&own, LIMIT_YAML_ARENA);
		failing_malloc_at(k);
		int result = yaml_tree_parse(VIEW("a: [1, {b: 2}]"), &own, &root, &err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
		assert_int_equal(err.kind == ERROR_NO_MEMORY, failed);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(yaml_and_json_give_the_same_tree, set_up, tear_down),
	cmocka_unit_test_setup_teardown(an_empty_text_has_no_root, set_up, tear_down),
	cmocka_unit_test_setup_teardown(each_node_knows_where_it_begins, set_up, tear_down),
	cmocka_unit_test_setup_teardown(what_is_not_read_is_refused_with_its_place_and_kind, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(what_is_over_a_limit_is_refused_and_what_is_at_it_is_not,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(more_than_a_few_declared_tags_are_refused, set_up, tear_down),
	cmocka_unit_test_setup_teardown(what_is_closed_again_counts_for_no_depth, set_up, tear_down),
	cmocka_unit_test_setup_teardown(more_values_than_the_limit_are_refused, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		of_several_members_the_last_counts_and_the_same_letters_before_others, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(scalars_have_the_types_of_yaml_1_1, set_up, tear_down),
	cmocka_unit_test_setup_teardown(without_memory_there_is_no_tree, set_up, tear_down),
};

TEST_MAIN(tests)
