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

static void an_alias_stands_for_what_its_anchor_names(void **state)
{
	static const struct {
		const char *text, *tree;
	} rows[] = {
		{"a: &x 1\nb: *x\n", "{a:1,b:1}"},
		{"- &x {a: [1, 2]}\n- *x\n- [*x]\n", "[{a:[1,2]},{a:[1,2]},[{a:[1,2]}]]"},
		{"[&x a, *x, b]", "[a,a,b]"},
		{"a: &x k\n*x : *x\n", "{a:k,k:k}"},
		{"- &x a\n- &x b\n- *x\n", "[a,b,b]"},
		{"- &x [&x b, c]\n- *x\n", "[[b,c],b]"},
		{"- &x []\n- &y\n- *x\n- *y\n", "[[],,[],]"},
		{"- &x [1]\n- &y [*x, 2]\n- *y\n", "[[1],[[1],2],[[1],2]]"},
		{"- &k a\n- {&l b: c, d: *l}\n- *k\n", "[a,{b:c,d:b},a]"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(sbuf_deinit) struct sbuf shown;

		sbuf_init(&shown, LIMIT_KIB);
		show(parse(rows[i].text), &shown);
		assert_string_equal(sbuf_text(&shown), rows[i].tree);
	}
}

static void an_alias_is_of_the_type_of_its_anchor_and_has_its_own_place(void **state)
{
	const struct yaml_tree *list = parse("[&x 4, *x, &y '4',\n  *y]");
	const struct yaml_tree *number = list->first->next, *text = number->next->next;
	int64_t value;

	(void)state;
	assert_true(yaml_tree_i64(number, &value));
	assert_false(yaml_tree_i64(text, &value));
	assert_int_equal(number->column, 8);
	assert_int_equal(text->line, 2);
	assert_int_equal(text->column, 3);
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
		{"a: *x\n", ERROR_REJECTED, "line 1, column 4: an alias of no anchor"},
		{"a: *x\nb: &x 1\n", ERROR_REJECTED, "line 1, column 4: an alias of no anchor"},
		{"*x : 1\n", ERROR_REJECTED, "line 1, column 1: an alias of no anchor"},
		{"a: &x [b, *x]\n", ERROR_REJECTED,
		 "line 1, column 11: an anchor that contains itself"},
		{"&x [&y [a], *x]\n", ERROR_REJECTED,
		 "line 1, column 13: an anchor that contains itself"},
		{"&x {a: {b: *x}}\n", ERROR_REJECTED,
		 "line 1, column 12: an anchor that contains itself"},
		{"a: &x [1]\n*x : b\n", ERROR_LIMIT, "line 2, column 1: a key that is no text"},
		{"a: &x <<\n*x : b\n", ERROR_LIMIT, "line 2, column 1: a merged key"},
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

static int parse_anew(const struct sbuf *text, struct error *err)
{
	const struct yaml_tree *root;

	arena_reset(&arena);
	return yaml_tree_parse(sbuf_view(text), &arena, &root, err);
}

/* It is at a limit, or below. */
static void expect_read(const struct sbuf *text)
{
	struct error err;

	if (parse_anew(text, &err) < 0)
		fail_msg("%s", err.text);
}

/* It is over a limit. Readers in Go may accept it. */
static void expect_excess(const struct sbuf *text, const char *why)
{
	struct error err = {0};

	assert_int_equal(parse_anew(text, &err), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
	assert_string_equal(err.text, why);
}

static void append_times(struct sbuf *text, const char *piece, size_t n)
{
	const struct view bytes = view_from(piece);

	for (size_t i = 0; i < n; i++)
		sbuf_append(text, bytes);
}

/* Each level names the one before nine times. */
static void aliases_that_stand_for_too_much_are_refused_where_it_is_too_much(void **state)
{
	CLEANUP(sbuf_deinit) struct sbuf text;

	(void)state;
	sbuf_init(&text, LIMIT_KIB);
	sbuf_printf(&text, "a: &a [x, x, x, x, x, x, x, x, x]\n");
	for (char c = 'b'; c <= 'j'; c++) {
		const char alias[] = {'*', (char)(c - 1), ',', '\0'};

		sbuf_printf(&text, "%c: &%c [", c, c);
		append_times(&text, alias, 9);
		sbuf_printf(&text, "]\n");
	}
	expect_excess(&text, "line 5, column 29: aliases stand for too many values");
}

/* A list of n elements, named 14 times more: 1 + 15 * (1 + n) values. */
static void list_and_aliases(struct sbuf *text, unsigned n)
{
	sbuf_clear(text);
	append_times(text, "- &x\n", 1);
	append_times(text, "  - a\n", n);
	append_times(text, "- *x\n", 14);
}

static void what_an_alias_names_counts_as_often_as_it_is_named(void **state)
{
	CLEANUP(sbuf_deinit) struct sbuf text;

	(void)state;
	assert_int_equal(LIMIT_YAML_NODES, 65536);
	sbuf_init(&text, LIMIT_MIB);
	list_and_aliases(&text, 4368);
	expect_read(&text);
	list_and_aliases(&text, 4369);
	expect_excess(&text, "line 4384, column 3: aliases stand for too many values");
}

/* Lists within lists, and in the innermost what follows. */
static void nest(struct sbuf *text, const char *before, size_t depth, const char *innermost)
{
	sbuf_clear(text);
	append_times(text, before, 1);
	append_times(text, "[", depth);
	append_times(text, innermost, 1);
	append_times(text, "]", depth);
}

static void what_an_alias_names_lies_as_deep_as_the_alias(void **state)
{
	static const char named[] = "- &x [[a]]\n- ";
	CLEANUP(sbuf_deinit) struct sbuf text;

	(void)state;
	sbuf_init(&text, LIMIT_KIB);
	nest(&text, named, LIMIT_YAML_DEPTH - 3, "*x");
	expect_read(&text);
	nest(&text, named, LIMIT_YAML_DEPTH - 2, "*x");
	expect_excess(&text, "line 2, column 33: an alias nests too deep");
}

static void lists_that_nest_deeper_than_the_limit_are_refused(void **state)
{
	CLEANUP(sbuf_deinit) struct sbuf text;

	(void)state;
	sbuf_init(&text, LIMIT_MIB);
	nest(&text, "", LIMIT_YAML_DEPTH, "");
	expect_read(&text);
	nest(&text, "", LIMIT_YAML_DEPTH + 1, "");
	expect_excess(&text, "line 1, column 33: nested too deep");
	sbuf_clear(&text);
	append_times(&text, "[", LIMIT_YAML_BYTES);
	expect_excess(&text, "line 1, column 33: nested too deep");
}

/* That many lines, of which each has the number in it. */
static void number_lines(struct sbuf *text, const char *before, const char *behind, unsigned n)
{
	sbuf_clear(text);
	for (unsigned i = 0; i < n; i++)
		sbuf_printf(text, "%s%u%s", before, i, behind);
}

/* A name that is given twice is one. */
static void more_anchors_than_the_limit_are_refused(void **state)
{
	CLEANUP(sbuf_deinit) struct sbuf text;

	(void)state;
	sbuf_init(&text, LIMIT_MIB);
	number_lines(&text, "- &a", " b\n", LIMIT_YAML_ANCHORS);
	append_times(&text, "- &a0 c\n", 1);
	expect_read(&text);
	append_times(&text, "- &b c\n", 1);
	expect_excess(&text, "line 258, column 3: too many anchors");
}

/* libyaml would take time that grows with their square. */
static void more_than_a_few_declared_tags_are_refused(void **state)
{
	CLEANUP(sbuf_deinit) struct sbuf text;

	(void)state;
	sbuf_init(&text, LIMIT_MIB);
	number_lines(&text, "%TAG !a", "! b\n", 16);
	append_times(&text, "--- x\n", 1);
	expect_read(&text);
	number_lines(&text, "%TAG !a", "! b\n", 17);
	append_times(&text, "--- x\n", 1);
	expect_excess(&text, "line 1, column 1: too many tags");
}

static void more_bytes_than_the_limit_are_refused(void **state)
{
	CLEANUP(sbuf_deinit) struct sbuf text;

	(void)state;
	sbuf_init(&text, 2 * LIMIT_MIB);
	append_times(&text, "a", LIMIT_YAML_BYTES);
	expect_read(&text);
	append_times(&text, "a", 1);
	expect_excess(&text, "line 1, column 1: more than 1048576 bytes");
}

static void what_is_closed_again_counts_for_no_depth(void **state)
{
	CLEANUP(sbuf_deinit) struct sbuf text;

	(void)state;
	sbuf_init(&text, LIMIT_MIB);
	append_times(&text, "- [[a], {b: c}]\n", (size_t)2 * LIMIT_YAML_DEPTH);
	expect_read(&text);
}

/* The list is one of them. */
static void more_values_than_the_limit_are_refused(void **state)
{
	CLEANUP(sbuf_deinit) struct sbuf text;

	(void)state;
	sbuf_init(&text, LIMIT_MIB);
	append_times(&text, "- a\n", LIMIT_YAML_NODES - 1);
	expect_read(&text);
	append_times(&text, "- a\n", 1);
	expect_excess(&text, "line 65536, column 3: too many values");
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
		int result = yaml_tree_parse(VIEW("a: &x [1, {b: 2}]\nc: *x"), &own, &root, &err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
		assert_int_equal(err.kind == ERROR_NO_MEMORY, failed);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(yaml_and_json_give_the_same_tree, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		an_alias_stands_for_what_its_anchor_names, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		an_alias_is_of_the_type_of_its_anchor_and_has_its_own_place, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		aliases_that_stand_for_too_much_are_refused_where_it_is_too_much, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		what_an_alias_names_counts_as_often_as_it_is_named, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		what_an_alias_names_lies_as_deep_as_the_alias, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		more_anchors_than_the_limit_are_refused, set_up, tear_down),
	cmocka_unit_test_setup_teardown(an_empty_text_has_no_root, set_up, tear_down),
	cmocka_unit_test_setup_teardown(each_node_knows_where_it_begins, set_up, tear_down),
	cmocka_unit_test_setup_teardown(what_is_not_read_is_refused_with_its_place_and_kind, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(
		lists_that_nest_deeper_than_the_limit_are_refused, set_up, tear_down),
	cmocka_unit_test_setup_teardown(more_bytes_than_the_limit_are_refused, set_up, tear_down),
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
