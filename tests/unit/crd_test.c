/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Holds crds/gpuattributions.yaml and the rows of schema/attribution_doc.c together. Each row is a
 * property of the schema and each property a row, with the same type, bounds and words. Differences
 * planted into the YAML show that the comparison sees what it should.
 */

#include "lib/test_main.h"

#include <regex.h>
#include <stdlib.h>

#include <yaml.h>

#include "assess/drift.h"
#include "assess/drift_settling.h"
#include "assess/health_finding.h"
#include "base/limits.h"
#include "base/sbuf.h"
#include "join/facts.h"
#include "join/wording.h"
#include "schema/attribution_doc.h"
#include "wire/jmap.h"

#define CRD_PATH TESTS_FOLDER "/../crds/gpuattributions.yaml"
#define CRD_MAX_SIZE (80u * 1024u)

/* A loaded YAML document and what was found wrong with it. */
struct crd {
	yaml_document_t document;
	struct sbuf complaints;
};

static void complain(struct crd *crd, const char *path, const char *what)
{
	sbuf_printf(&crd->complaints, "%s: %s\n", path, what);
}

static const char *text_of(const yaml_node_t *node)
{
	return node && node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value : "";
}

static yaml_node_t *node_at(struct crd *crd, int index)
{
	return yaml_document_get_node(&crd->document, index);
}

/* The value of a mapping's key, or NULL. */
static yaml_node_t *child(struct crd *crd, const yaml_node_t *node, const char *key)
{
	if (!node || node->type != YAML_MAPPING_NODE)
		return NULL;
	for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
	     pair < node->data.mapping.pairs.top; pair++) {
		if (strcmp(text_of(node_at(crd, pair->key)), key) == 0)
			return node_at(crd, pair->value);
	}
	return NULL;
}

static size_t count_items(const yaml_node_t *node)
{
	if (!node || node->type != YAML_SEQUENCE_NODE)
		return 0;
	return (size_t)(node->data.sequence.items.top - node->data.sequence.items.start);
}

static yaml_node_t *item(struct crd *crd, const yaml_node_t *node, size_t i)
{
	return i < count_items(node) ? node_at(crd, node->data.sequence.items.start[i]) : NULL;
}

static bool contains(struct crd *crd, const yaml_node_t *list, const char *text)
{
	for (size_t i = 0; i < count_items(list); i++) {
		if (strcmp(text_of(item(crd, list, i)), text) == 0)
			return true;
	}
	return false;
}

static void expect(struct crd *crd, const char *path, const yaml_node_t *schema, const char *key,
		   const char *value)
{
	char what[256];
	const char *found = text_of(child(crd, schema, key));
	if (strcmp(found, value) == 0)
		return;
	snprintf(what, sizeof(what), "%s is '%.64s', the row says '%s'", key, found, value);
	complain(crd, path, what);
}

static void expect_number(struct crd *crd, const char *path, const yaml_node_t *schema,
			  const char *key, size_t value)
{
	char text[32];
	snprintf(text, sizeof(text), "%zu", value);
	expect(crd, path, schema, key, text);
}

static void compare_object(struct crd *crd, const char *path, const struct jmap_row *rows,
			   const yaml_node_t *schema);

static void compare_integer(struct crd *crd, const char *path, const struct jmap_row *row,
			    const yaml_node_t *schema)
{
	expect(crd, path, schema, "type", "integer");
	expect(crd, path, schema, "format", "int64");
	expect(crd, path, schema, "minimum", "0");
	if (row->limit == INT64_MAX)
		expect(crd, path, schema, "maximum", "");
	else
		expect_number(crd, path, schema, "maximum", row->limit);
}

/* Whether the text says "- word: " or "word: " at the beginning of a sentence. */
static bool explains(const char *text, const char *word)
{
	size_t len = strlen(word);
	for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) {
		bool begins = at == text ||
			      (at - text >= 2 && strchr(".-", at[-2]) && at[-1] == ' ');
		if (begins && at[len] == ':' && at[len + 1] == ' ')
			return true;
	}
	return false;
}

/* A list of words that may grow: an older schema must accept a status with a new word. */
static void compare_open_words(struct crd *crd, const char *path, const struct jmap_row *row,
			       const yaml_node_t *schema)
{
	const char *description = text_of(child(crd, schema, "description"));
	expect(crd, path, schema, "pattern", "^[A-Z][A-Za-z0-9]*$");
	expect(crd, path, schema, "maxLength", "64");
	for (size_t n = 1; row->names[n]; n++) {
		if (!explains(description, row->names[n]))
			complain(crd, path, row->names[n]);
	}
}

/* Only the status of a condition, which Kubernetes defines, lists its words for good. */
static void compare_words(struct crd *crd, const char *path, const struct jmap_row *row,
			  const yaml_node_t *schema)
{
	const yaml_node_t *words = child(crd, schema, "enum");
	size_t n = 0;
	expect(crd, path, schema, "type", "string");
	if (!words) {
		compare_open_words(crd, path, row, schema);
		return;
	}
	if (strcmp(path, ".status.conditions[].status") != 0)
		complain(crd, path, "a closed enumeration");
	for (; row->names[n + 1]; n++) {
		if (strcmp(text_of(item(crd, words, n)), row->names[n + 1]) != 0)
			complain(crd, path, row->names[n + 1]);
	}
	if (count_items(words) != n)
		complain(crd, path, "another number of words");
}

static void compare_list(struct crd *crd, const char *path, const struct jmap_row *row,
			 const yaml_node_t *schema)
{
	char items_path[512];
	const yaml_node_t *items = child(crd, schema, "items");
	snprintf(items_path, sizeof(items_path), "%.400s[]", path);
	expect(crd, path, schema, "type", "array");
	if (row->type == JMAP_TEXTS) {
		expect_number(crd, path, schema, "maxItems", row->max_items);
		expect(crd, items_path, items, "type", "string");
		expect_number(crd, items_path, items, "maxLength", row->limit);
		return;
	}
	expect_number(crd, path, schema, "maxItems", row->limit);
	compare_object(crd, items_path, row->rows, items);
}

static void compare_property(struct crd *crd, const char *path, const struct jmap_row *row,
			     const yaml_node_t *schema)
{
	switch (row->type) {
	case JMAP_TEXT:
		expect(crd, path, schema, "type", "string");
		expect_number(crd, path, schema, "maxLength", row->limit);
		break;
	case JMAP_I64:
		compare_integer(crd, path, row, schema);
		break;
	case JMAP_BOOL:
	case JMAP_TOGGLE:
		expect(crd, path, schema, "type", "boolean");
		break;
	case JMAP_ENUM:
		compare_words(crd, path, row, schema);
		break;
	case JMAP_TIME:
		expect(crd, path, schema, "type", "string");
		expect(crd, path, schema, "format", "date-time");
		break;
	case JMAP_OBJECT:
		compare_object(crd, path, row->rows, schema);
		break;
	case JMAP_ARRAY:
	case JMAP_TEXTS:
		compare_list(crd, path, row, schema);
		break;
	}
}

static bool has_row(const struct jmap_row *rows, const char *key)
{
	for (; rows->key; rows++) {
		if (strcmp(rows->key, key) == 0)
			return true;
	}
	return false;
}

/* What every object of Kubernetes has stands in no row. */
static bool is_standard(const char *path, const char *key)
{
	return path[0] == '\0' && (strcmp(key, "apiVersion") == 0 || strcmp(key, "kind") == 0 ||
				   strcmp(key, "metadata") == 0);
}

static void find_properties_without_row(struct crd *crd, const char *path,
					const struct jmap_row *rows, const yaml_node_t *properties)
{
	for (yaml_node_pair_t *pair = properties->data.mapping.pairs.start;
	     pair < properties->data.mapping.pairs.top; pair++) {
		const char *key = text_of(node_at(crd, pair->key));
		char what[128];
		snprintf(what, sizeof(what), "no row for %.64s", key);
		if (!has_row(rows, key) && !is_standard(path, key))
			complain(crd, path, what);
	}
}

static void compare_object(struct crd *crd, const char *path, const struct jmap_row *rows,
			   const yaml_node_t *schema)
{
	const yaml_node_t *properties = child(crd, schema, "properties");
	const yaml_node_t *required = child(crd, schema, "required");
	size_t n_required = 0;
	expect(crd, path, schema, "type", "object");
	if (!properties) {
		complain(crd, path, "no properties");
		return;
	}
	for (const struct jmap_row *row = rows; row->key; row++) {
		char row_path[512];
		const yaml_node_t *property = child(crd, properties, row->key);
		bool is_required = row->flags & JMAP_REQUIRED;
		snprintf(row_path, sizeof(row_path), "%.400s.%s", path, row->key);
		if (!property)
			complain(crd, row_path, "not in the schema");
		else
			compare_property(crd, row_path, row, property);
		if (is_required != contains(crd, required, row->key))
			complain(crd, row_path, "required in one place only");
		n_required += is_required;
	}
	if (count_items(required) != n_required)
		complain(crd, path, "another number of required members");
	find_properties_without_row(crd, path, rows, properties);
}

static void crd_load(struct crd *crd, struct view yaml)
{
	yaml_parser_t parser;
	assert_int_equal(yaml_parser_initialize(&parser), 1);
	yaml_parser_set_input_string(&parser, (const unsigned char *)yaml.ptr, yaml.len);
	assert_int_equal(yaml_parser_load(&parser, &crd->document), 1);
	yaml_parser_delete(&parser);
	sbuf_init(&crd->complaints, CRD_MAX_SIZE);
}

static void crd_unload(struct crd *crd)
{
	yaml_document_delete(&crd->document);
	sbuf_deinit(&crd->complaints);
}

static const yaml_node_t *version_of(struct crd *crd)
{
	const yaml_node_t *spec =
		child(crd, yaml_document_get_root_node(&crd->document), "spec");
	const yaml_node_t *versions = child(crd, spec, "versions");
	assert_int_equal(count_items(versions), 1);
	return item(crd, versions, 0);
}

static const yaml_node_t *schema_of(struct crd *crd)
{
	return child(crd, child(crd, version_of(crd), "schema"), "openAPIV3Schema");
}

/* The file, in *buf. */
static struct view read_file_at(const char *path, struct sbuf *buf)
{
	FILE *file = fopen(path, "rb");
	assert_non_null(file);
	for (int c = getc(file); c != EOF; c = getc(file))
		sbuf_append_char(buf, (char)c);
	fclose(file);
	return sbuf_view(buf);
}

static struct view read_file(struct sbuf *buf)
{
	return read_file_at(CRD_PATH, buf);
}

/* A test's file and document. */
struct fixture {
	struct sbuf file;
	struct crd crd;
};

static int setup(void **state)
{
	static struct fixture fixture;
	sbuf_init(&fixture.file, CRD_MAX_SIZE);
	crd_load(&fixture.crd, read_file(&fixture.file));
	*state = &fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;
	crd_unload(&fixture->crd);
	sbuf_deinit(&fixture->file);
	return 0;
}

static void expect_no_complaints(struct crd *crd)
{
	if (crd->complaints.len)
		fail_msg("%s", sbuf_text(&crd->complaints));
}

static void schema_and_rows_say_the_same(void **state)
{
	struct crd *crd = &((struct fixture *)*state)->crd;
	compare_object(crd, "", attribution_doc_rows(), schema_of(crd));
	expect_no_complaints(crd);
}

/* Puts `to` in place of the first `from` behind `behind` in the file. */
static void plant(struct sbuf *file, const char *behind, const char *from, const char *to)
{
	struct sbuf changed;
	sbuf_init(&changed, 2 * CRD_MAX_SIZE);
	const char *start = sbuf_text(file);
	const char *place = strstr(start, behind);
	assert_non_null(place);
	place = strstr(place, from);
	assert_non_null(place);
	sbuf_append(&changed, (struct view){start, (size_t)(place - start)});
	sbuf_append(&changed, view_from(to));
	sbuf_append(&changed, view_from(place + strlen(from)));
	sbuf_deinit(file);
	*file = changed;
}

static void a_planted_difference_is_found(void **state)
{
	(void)state;
	static const struct {
		const char *behind, *from, *to, *complaint;
	} rows[] = {
		{"nodeName:", "maxLength: 253", "maxLength: 252", ".status.nodeName: maxLength"},
		{"nodeName:", "maxLength: 253", "minLength: 0", ".status.nodeName: maxLength is ''"},
		{"nodeName:", "type: string", "type: integer", ".status.nodeName: type"},
		{"  nodeName:", "nodeName", "hostName", ".status.nodeName: not in the schema"},
		{"  nodeName:", "nodeName", "hostName", ".status: no row for hostName"},
		{"              tenants:", "maxItems: 256", "maxItems: 255", ".status.tenants: maxItems"},
		{"required: [podUID", "[podUID, container]", "[podUID]",
		 ".status.tenants[].container: required in one place only"},
		{"required: [podUID", "[podUID, container]", "[podUID, container, podName]",
		 ".status.tenants[].podName: required in one place only"},
		{"  mode:", "- MIG:", "- Mig:", ".status.sharing.mode: MIG\n"},
		{"  mode:", "pattern: ^[A-Z]", "pattern: ^[a-z]", ".status.sharing.mode: pattern"},
		{"  mode:", "pattern: ^[A-Z][A-Za-z0-9]*$", "enum: [MIG]",
		 ".status.sharing.mode: a closed enumeration"},
		{"enum: [\"True\"", "\"Unknown\"", "\"Maybe\"",
		 ".status.conditions[].status: Unknown"},
		{"replicas:", "maximum: 1000000", "maximum: 10", ".status.sharing.replicas: maximum"},
		{"replicas:", "minimum: 0", "minimum: 1", ".status.sharing.replicas: minimum"},
		{"replicas:", "format: int64", "format: int32", ".status.sharing.replicas: format"},
		{"evidence:", "maxLength: 128", "maxLength: 64", ".status.sharing.evidence[]: maxLength"},
		{"role:", "type: string", "type: boolean", ".status.tenants[].role: type"},
		{"confidence:", "- Annotated:", "Annotated", ".status.tenants[].confidence: Annotated"},
		{"sourceDisagreements:", "maxItems: 16", "maxItems: 17",
		 ".status.sourceDisagreements: maxItems"},
		{"says:", "maxLength: 32", "maxLength: 31",
		 ".status.sourceDisagreements[].says[].witness: maxLength"},
		{"unplacedTenants:", "type: object",
		 "type: object\n                  required: [podUID]",
		 ".status.unplacedTenants[].podUID: required in one place only"},
		{"says:", "maxLength: 253", "maxLength: 64",
		 ".status.sourceDisagreements[].says[].deviceIDs[]: maxLength"},
		{"The device IDs just as", "maxLength: 253", "maxLength: 64",
		 ".status.unplacedTenants[].deviceIDs[]: maxLength"},
		{"endTime:", "format: date-time", "format: date",
		 ".status.recentTenants[].endTime: format"},
		{"uuid:", "maxLength: 128", "maxLength: 40", ".spec.uuid: maxLength"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct sbuf file;
		struct crd crd;
		sbuf_init(&file, 2 * CRD_MAX_SIZE);
		read_file(&file);
		plant(&file, rows[i].behind, rows[i].from, rows[i].to);
		crd_load(&crd, sbuf_view(&file));
		sbuf_append_char(&crd.complaints, '\n');
		compare_object(&crd, "", attribution_doc_rows(), schema_of(&crd));
		if (!strstr(sbuf_text(&crd.complaints), rows[i].complaint))
			fail_msg("'%s' for '%s' was not found: %s", rows[i].to, rows[i].from,
				 sbuf_text(&crd.complaints));
		crd_unload(&crd);
		sbuf_deinit(&file);
	}
}

static void check_description(struct crd *crd, const char *path, const yaml_node_t *schema)
{
	const yaml_node_t *properties = child(crd, schema, "properties");
	const yaml_node_t *items = child(crd, schema, "items");
	const char *description = text_of(child(crd, schema, "description"));
	size_t len = strlen(description);
	bool is_word_list = items && strcmp(text_of(child(crd, items, "type")), "string") == 0;
	if (len < 15 || description[len - 1] != '.')
		complain(crd, path, "no description that is a sentence");
	if (items && !is_word_list)
		check_description(crd, path, items);
	for (yaml_node_pair_t *pair = properties ? properties->data.mapping.pairs.start : NULL;
	     pair && pair < properties->data.mapping.pairs.top; pair++) {
		char property_path[512];
		const char *key = text_of(node_at(crd, pair->key));
		snprintf(property_path, sizeof(property_path), "%.300s.%.100s", path, key);
		/* The API server allows nothing to be said about metadata. */
		if (strcmp(property_path, ".metadata") != 0)
			check_description(crd, property_path, node_at(crd, pair->value));
	}
}

/* A former definition and this program */

static void expect_taken(struct crd *crd, const char *path, const yaml_node_t *schema,
			 const char *word)
{
	const char *pattern = text_of(child(crd, schema, "pattern"));
	const yaml_node_t *words = child(crd, schema, "enum");
	regex_t regex;

	assert_int_equal(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
	if (regexec(&regex, word, 0, NULL, 0) != 0 || (words && !contains(crd, words, word)) ||
	    (!words && strlen(word) > strtoul(text_of(child(crd, schema, "maxLength")), NULL, 10)))
		complain(crd, path, word);
	regfree(&regex);
}

static void expect_room(struct crd *crd, const char *path, const yaml_node_t *schema,
			const char *key, size_t needed)
{
	const char *room = text_of(child(crd, schema, key));

	if (room[0] && strtoull(room, NULL, 10) < needed)
		complain(crd, path, key);
}

static void expect_object_taken(struct crd *crd, const char *path, const struct jmap_row *rows,
				const yaml_node_t *schema);

/* What is not in a former schema is dropped, which readiness says. What is there has to be taken. */
static void expect_member_taken(struct crd *crd, const char *path, const struct jmap_row *row,
				const yaml_node_t *schema)
{
	const yaml_node_t *items = child(crd, schema, "items");

	if (row->type == JMAP_ENUM)
		for (size_t n = 1; row->names[n]; n++)
			expect_taken(crd, path, schema, row->names[n]);
	if (row->type == JMAP_ENUM && !child(crd, schema, "enum"))
		expect_taken(crd, path, schema, "WordOfTheNextRelease");
	if (row->type == JMAP_TEXT)
		expect_room(crd, path, schema, "maxLength", row->limit);
	if (row->type == JMAP_I64)
		expect_room(crd, path, schema, "maximum", row->limit);
	if (row->type == JMAP_TEXTS) {
		expect_room(crd, path, schema, "maxItems", row->max_items);
		expect_room(crd, path, items, "maxLength", row->limit);
	}
	if (row->type == JMAP_ARRAY) {
		expect_room(crd, path, schema, "maxItems", row->limit);
		expect_object_taken(crd, path, row->rows, items);
	}
	if (row->type == JMAP_OBJECT)
		expect_object_taken(crd, path, row->rows, schema);
}

static void expect_object_taken(struct crd *crd, const char *path, const struct jmap_row *rows,
				const yaml_node_t *schema)
{
	const yaml_node_t *properties = child(crd, schema, "properties");

	for (const struct jmap_row *row = rows; row->key; row++) {
		char row_path[512];
		const yaml_node_t *property = child(crd, properties, row->key);
		snprintf(row_path, sizeof(row_path), "%.400s.%s", path, row->key);
		if (property)
			expect_member_taken(crd, row_path, row, property);
	}
}

static void expect_reason_taken(struct crd *crd, const yaml_node_t *schema, struct view reason)
{
	char word[128];

	snprintf(word, sizeof(word), "%.*s", VIEW_ARG(reason));
	expect_taken(crd, ".status.conditions.reason", schema, word);
}

static void expect_reasons_taken(struct crd *crd)
{
	const yaml_node_t *schema = yaml_document_get_root_node(&crd->document);
	static const char *const way[] = {"properties", "status", "properties", "conditions",
					  "items", "properties", "reason"};

	for (size_t i = 0; i < ARRAY_SIZE(way); i++)
		schema = child(crd, schema, way[i]);
	assert_non_null(schema);
	for (int i = 1; i < N_REASONS; i++)
		expect_reason_taken(crd, schema, wording_reason((enum reason)i));
	for (int i = 0; i < N_HEALTH_FINDINGS; i++)
		expect_reason_taken(crd, schema, health_finding_word((enum health_finding)i));
	for (int i = 0; i < N_DRIFT_TYPES; i++)
		expect_reason_taken(crd, schema, drift_word((enum drift_type)i));
	for (int i = 0; i < N_DRIFT_SETTLING; i++)
		expect_reason_taken(crd, schema, drift_settling_word((enum drift_settling)i));
}

/* Complaints of the former definition, in which `from` is `to`. */
static void expect_former_complaints(const char *from, const char *to, const char *complaints)
{
	struct sbuf file;
	struct crd crd;

	sbuf_init(&file, CRD_MAX_SIZE);
	read_file_at(TESTS_FOLDER "/golden/crd_former.yaml", &file);
	plant(&file, "properties:", from, to);
	crd_load(&crd, sbuf_view(&file));
	expect_object_taken(&crd, "", attribution_doc_rows(),
			    yaml_document_get_root_node(&crd.document));
	expect_reasons_taken(&crd);
	assert_string_equal(sbuf_text(&crd.complaints), complaints);
	crd_unload(&crd);
	sbuf_deinit(&file);
}

/* It has room for 16. The API server refuses a status with more, which is counted and logged. */
#define TOO_MANY_REASONS ".status.health.reasons: maxItems\n"

static void a_former_definition_takes_what_is_written_today(void **state)
{
	(void)state;
	expect_former_complaints("status", "status", TOO_MANY_REASONS);
	expect_former_complaints("reportState: {type: string,",
				 "reportState: {type: string, enum: [Current, Stale, NoAgent],",
				 ".status.reportState: Pending\n" TOO_MANY_REASONS);
	expect_former_complaints("mode: {type: string, pattern: \"^[A-Z]",
				 "mode: {type: string, pattern: \"^[A-V]",
				 ".status.sharing.mode: WordOfTheNextRelease\n" TOO_MANY_REASONS);
	expect_former_complaints("  model: {type: string, maxLength: 128}",
				 "  model: {type: string, maxLength: 64}",
				 ".status.device.model: maxLength\n" TOO_MANY_REASONS);
	expect_former_complaints("reason: {type: string, pattern: \"^[A-Za-z]",
				 "reason: {type: string, pattern: \"^[A-JL-Za-z]",
				 TOO_MANY_REASONS ".status.conditions.reason: KubeletSettling\n");
}

static void every_property_is_described(void **state)
{
	struct crd *crd = &((struct fixture *)*state)->crd;
	check_description(crd, "", schema_of(crd));
	expect_no_complaints(crd);
}

static void check_lists(struct crd *crd, const char *path, const yaml_node_t *schema)
{
	const yaml_node_t *properties = child(crd, schema, "properties");
	const yaml_node_t *items = child(crd, schema, "items");
	const char *type = text_of(child(crd, schema, "x-kubernetes-list-type"));
	const yaml_node_t *keys = child(crd, schema, "x-kubernetes-list-map-keys");
	if (items && !strstr("map set atomic", type[0] ? type : "none"))
		complain(crd, path, "no list type");
	if (strcmp(type, "map") == 0 && count_items(keys) == 0)
		complain(crd, path, "no keys");
	for (size_t i = 0; i < count_items(keys); i++) {
		if (!contains(crd, child(crd, items, "required"), text_of(item(crd, keys, i))))
			complain(crd, path, "a key that is not required");
	}
	if (items)
		check_lists(crd, path, items);
	for (yaml_node_pair_t *pair = properties ? properties->data.mapping.pairs.start : NULL;
	     pair && pair < properties->data.mapping.pairs.top; pair++)
		check_lists(crd, text_of(node_at(crd, pair->key)), node_at(crd, pair->value));
}

static void every_list_says_how_it_merges_and_keys_are_required(void **state)
{
	struct crd *crd = &((struct fixture *)*state)->crd;
	static const struct {
		const char *up, *list, *keys[2];
	} rows[] = {
		{NULL, "tenants", {"podUID", "container"}},
		{NULL, "partitions", {"uuid", NULL}},
		{NULL, "conditions", {"type", NULL}},
		{"intent", "drifts", {"type", NULL}},
		{NULL, "sourceDisagreements", {"podUID", "container"}},
	};
	const yaml_node_t *status =
		child(crd, child(crd, schema_of(crd), "properties"), "status");
	check_lists(crd, "", schema_of(crd));
	expect_no_complaints(crd);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const yaml_node_t *up = child(crd, status, "properties");
		if (rows[i].up)
			up = child(crd, child(crd, up, rows[i].up), "properties");
		const yaml_node_t *keys = child(crd, child(crd, up, rows[i].list),
						"x-kubernetes-list-map-keys");
		assert_int_equal(count_items(keys), rows[i].keys[1] ? 2 : 1);
		for (size_t k = 0; k < count_items(keys); k++)
			assert_string_equal(text_of(item(crd, keys, k)), rows[i].keys[k]);
	}
}

/* The schema of ".status.device.index", or NULL. */
static const yaml_node_t *find_property(struct crd *crd, const char *json_path)
{
	char path[256];
	char *rest = NULL;
	const yaml_node_t *schema = schema_of(crd);
	snprintf(path, sizeof(path), "%s", json_path);
	for (char *part = strtok_r(path, ".", &rest); part; part = strtok_r(NULL, ".", &rest))
		schema = child(crd, child(crd, schema, "properties"), part);
	return schema;
}

/* Texts in the rows: a status of a newer version may name others. */
static void every_witness_and_placeholder_is_explained(void **state)
{
	struct crd *crd = &((struct fixture *)*state)->crd;
	const yaml_node_t *tenant = child(
		crd, child(crd, find_property(crd, ".status.tenants"), "items"), "properties");
	const char *placeholders =
		text_of(child(crd, child(crd, tenant, "placeholder"), "description"));
	const char *witnesses =
		text_of(child(crd, child(crd, tenant, "witnesses"), "description"));
	assert_true(N_WITNESSES <= LIMIT_WITNESSES);
	for (unsigned i = 0; i < N_WITNESSES; i++) {
		char name[LIMIT_TEXT_WITNESS + 1] = "";
		assert_in_range(wording_witness(i).len, 1, LIMIT_TEXT_WITNESS);
		memcpy(name, wording_witness(i).ptr, wording_witness(i).len);
		if (!explains(witnesses, name))
			complain(crd, "witnesses", name);
	}
	assert_true(explains(placeholders, "HAMi") && explains(placeholders, "KAI"));
	expect_no_complaints(crd);
}

/* To keep who owns each field of it would cost the API server 40 % more. */
static void the_status_has_one_owner(void **state)
{
	struct crd *crd = &((struct fixture *)*state)->crd;
	expect(crd, "status", find_property(crd, ".status"), "x-kubernetes-map-type", "atomic");
	expect_no_complaints(crd);
}

/* With keys the API server would refuse a holder whose UID is not known. */
static void holders_without_a_device_need_no_key(void **state)
{
	struct crd *crd = &((struct fixture *)*state)->crd;
	const yaml_node_t *unplaced = find_property(crd, ".status.unplacedTenants");
	expect(crd, "unplacedTenants", unplaced, "x-kubernetes-list-type", "atomic");
	expect(crd, "deviceIDs",
	       child(crd, child(crd, child(crd, unplaced, "items"), "properties"), "deviceIDs"),
	       "x-kubernetes-list-type", "atomic");
	assert_int_equal(count_items(child(crd, child(crd, unplaced, "items"), "required")), 0);
	expect_no_complaints(crd);
}

static bool is_elsewhere(const char *json_path)
{
	return strchr(json_path, '[') || strncmp(json_path, ".metadata.", 10) == 0;
}

static void columns_and_selectors_point_at_scalars_of_their_type(void **state)
{
	struct crd *crd = &((struct fixture *)*state)->crd;
	const yaml_node_t *columns = child(crd, version_of(crd), "additionalPrinterColumns");
	const yaml_node_t *selectors = child(crd, version_of(crd), "selectableFields");
	assert_in_range(count_items(columns), 8, 20);
	assert_in_range(count_items(selectors), 1, 8);
	for (size_t i = 0; i < count_items(columns); i++) {
		const yaml_node_t *column = item(crd, columns, i);
		const char *path = text_of(child(crd, column, "jsonPath"));
		if (is_elsewhere(path))
			continue;
		/* A date is a text that kubectl shows as the time since. */
		bool is_date = strcmp(text_of(child(crd, column, "type")), "date") == 0;
		expect(crd, path, find_property(crd, path), is_date ? "format" : "type",
		       is_date ? "date-time" : text_of(child(crd, column, "type")));
	}
	for (size_t i = 0; i < count_items(selectors); i++) {
		const char *path = text_of(child(crd, item(crd, selectors, i), "jsonPath"));
		const char *type = text_of(child(crd, find_property(crd, path), "type"));
		if (strcmp(type, "string") != 0 && strcmp(type, "integer") != 0)
			complain(crd, path, "no scalar to select by");
	}
	expect_no_complaints(crd);
}

/* What is true of a new object by default is one condition of each type, Unknown and Pending. */
static void a_new_object_is_pending_in_every_respect(void **state)
{
	struct crd *crd = &((struct fixture *)*state)->crd;
	static const char *const types[] = {"Ready", "Attributed", "Healthy", "InSync",
					    "ReportFresh"};
	const yaml_node_t *status =
		child(crd, child(crd, schema_of(crd), "properties"), "status");
	const yaml_node_t *conditions = child(crd, child(crd, status, "default"), "conditions");
	assert_int_equal(count_items(conditions), ARRAY_SIZE(types));
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		const yaml_node_t *condition = item(crd, conditions, i);
		expect(crd, "default", condition, "type", types[i]);
		expect(crd, "default", condition, "status", "Unknown");
		expect(crd, "default", condition, "reason", "Pending");
		expect(crd, "default", condition, "lastTransitionTime", "1970-01-01T00:00:00Z");
	}
	expect_no_complaints(crd);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(schema_and_rows_say_the_same, setup, teardown),
	cmocka_unit_test(a_planted_difference_is_found),
	cmocka_unit_test(a_former_definition_takes_what_is_written_today),
	cmocka_unit_test_setup_teardown(every_property_is_described, setup, teardown),
	cmocka_unit_test_setup_teardown(every_list_says_how_it_merges_and_keys_are_required, setup,
					teardown),
	cmocka_unit_test_setup_teardown(every_witness_and_placeholder_is_explained, setup, teardown),
	cmocka_unit_test_setup_teardown(the_status_has_one_owner, setup, teardown),
	cmocka_unit_test_setup_teardown(holders_without_a_device_need_no_key, setup, teardown),
	cmocka_unit_test_setup_teardown(columns_and_selectors_point_at_scalars_of_their_type, setup,
					teardown),
	cmocka_unit_test_setup_teardown(a_new_object_is_pending_in_every_respect, setup, teardown),
};

TEST_MAIN(tests)
