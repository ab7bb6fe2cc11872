/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/test_main.h"

#include <string.h>

#include "base/limits.h"
#include "schema/ca_config_map_doc.h"

#define MAP(data)                                                                                \
	"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"ca\","           \
	"\"labels\":{\"a\":\"b\"},\"resourceVersion\":\"41\"}" data "}"

static struct arena arena;

static int set_up(void **state)
{
	(void)state;
	arena_init(&arena, 16 * LIMIT_FILE_BYTES);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_deinit(&arena);
	return 0;
}

static void the_certificates_and_the_version_are_read_and_other_keys_are_not(void **state)
{
	(void)state;
	struct ca_config_map_doc map;
	struct error err;

	assert_int_equal(ca_config_map_doc_decode(
		VIEW(MAP(",\"data\":{\"more\":\"x\",\"ca.crt\":\"-----BEGIN\\nb\\n\"}")), &arena, &map,
		&err), 0);
	assert_true(view_equal(map.resource_version, VIEW("41")));
	assert_true(view_equal(map.ca_cert, VIEW("-----BEGIN\nb\n")));
}

static void what_the_map_lacks_is_empty(void **state)
{
	(void)state;
	static const char *const documents[] = {
		MAP(""),
		MAP(",\"data\":null"),
		MAP(",\"data\":{}"),
		MAP(",\"data\":{\"ca.crt\":\"\"}"),
		MAP(",\"binaryData\":{\"ca.crt\":\"YQ==\"}"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(documents); i++) {
		struct ca_config_map_doc map;
		struct error err;

		assert_int_equal(ca_config_map_doc_decode(view_from(documents[i]), &arena, &map, &err),
				 0);
		assert_int_equal(map.ca_cert.len, 0);
	}
}

static void a_document_that_is_no_map_is_refused_and_says_where(void **state)
{
	(void)state;
	static const struct {
		const char *document;
		const char *text; /* in the error's */
	} rows[] = {
		{"", ""},
		{"[]", ""},
		{"{}", "metadata"},
		{"{\"metadata\":{}}", "resourceVersion"},
		{MAP(",\"data\":[]"), "data"},
		{MAP(",\"data\":{\"ca.crt\":7}"), "ca.crt"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct ca_config_map_doc map = {.ca_cert = VIEW("before")};
		struct error err = {0};

		assert_int_equal(ca_config_map_doc_decode(view_from(rows[i].document), &arena, &map,
							  &err), -1);
		assert_int_equal(err.kind, ERROR_REJECTED);
		assert_non_null(strstr(err.text, rows[i].text));
		assert_true(view_equal(map.ca_cert, VIEW("before")));
	}
}

/* A ConfigMap whose ca.crt is n letters long. */
static struct view map_of_size(struct sbuf *buf, size_t n)
{
	sbuf_init(buf, 4 * LIMIT_FILE_BYTES);
	sbuf_append(buf, VIEW("{\"metadata\":{\"resourceVersion\":\"1\"},\"data\":{\"ca.crt\":\""));
	for (size_t i = 0; i < n; i++)
		sbuf_append_char(buf, 'A');
	sbuf_append(buf, VIEW("\"}}"));
	return sbuf_view(buf);
}

static void certificates_beyond_the_limit_are_refused(void **state)
{
	(void)state;

	for (size_t more = 0; more < 2; more++) {
		struct sbuf buf;
		struct ca_config_map_doc map;
		struct error err;

		assert_int_equal(ca_config_map_doc_decode(map_of_size(&buf, LIMIT_FILE_BYTES + more),
							  &arena, &map, &err), more ? -1 : 0);
		sbuf_deinit(&buf);
		arena_reset(&arena);
	}
}

static void a_patch_names_the_version_and_the_certificates(void **state)
{
	(void)state;
	const struct ca_config_map_doc map = {.resource_version = VIEW("41"), .ca_cert = VIEW("a\nb\n")};
	struct ca_config_map_doc again;
	struct error err;
	struct sbuf buf;

	sbuf_init(&buf, 4096);
	ca_config_map_doc_encode_patch(&map, &buf);
	assert_string_equal(sbuf_text(&buf), "{\"metadata\":{\"resourceVersion\":\"41\"},"
					     "\"data\":{\"ca.crt\":\"a\\nb\\n\"}}");
	assert_int_equal(ca_config_map_doc_decode(sbuf_view(&buf), &arena, &again, &err), 0);
	assert_true(view_equal(again.ca_cert, map.ca_cert));
	sbuf_deinit(&buf);
}

static void a_patch_beyond_its_buffer_is_a_failed_buffer(void **state)
{
	(void)state;
	const struct ca_config_map_doc map = {.resource_version = VIEW("41"), .ca_cert = VIEW("aaaa")};
	struct error err = {0};
	struct sbuf buf;

	sbuf_init(&buf, 8);
	ca_config_map_doc_encode_patch(&map, &buf);
	assert_int_equal(sbuf_check(&buf, "patch", &err), -1);
	sbuf_deinit(&buf);
}

static void without_memory_a_document_is_not_decoded(void **state)
{
	(void)state;
	const struct view document = VIEW(MAP(",\"data\":{\"ca.crt\":\"a\"}"));
	bool failed = true;

	for (unsigned k = 1; failed; k++) {
		struct ca_config_map_doc map = {.ca_cert = VIEW("before")};
		struct error err = {0};

		arena_deinit(&arena);
		failing_malloc_at(k);
		int result = ca_config_map_doc_decode(document, &arena, &map, &err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
		assert_int_equal(err.kind, failed ? ERROR_NO_MEMORY : ERROR_NONE);
		assert_int_equal(map.ca_cert.len, failed ? 6 : 1);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(
		the_certificates_and_the_version_are_read_and_other_keys_are_not, set_up, tear_down),
	cmocka_unit_test_setup_teardown(what_the_map_lacks_is_empty, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_document_that_is_no_map_is_refused_and_says_where, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(certificates_beyond_the_limit_are_refused, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_patch_names_the_version_and_the_certificates, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_patch_beyond_its_buffer_is_a_failed_buffer, set_up, tear_down),
	cmocka_unit_test_setup_teardown(without_memory_a_document_is_not_decoded, set_up, tear_down),
};
TEST_MAIN(tests)
