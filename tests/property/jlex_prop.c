/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What jlex takes for JSON and what jansson takes for JSON are the same, but for what jansson
 * cannot hold: numbers beyond its types and halves of surrogate pairs. Both are asked about the
 * same documents, broken in random places.
 */

#include "lib/test_main.h"

#include <jansson.h>
#include <stdlib.h>

#include "base/prng.h"
#include "wire/jlex.h"

#define N_ROUNDS 200000
#define MAX_TEXT 256
#define MAX_DEPTH 32

static const char *const seeds[] = {
	"{\"a\":[1,-2.5e+3,true,false,null],\"b\":{\"c\":\"\\u00e4\\n\\\"x\\\\\",\"d\":{}}}",
	"[[[[\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"],0,-0,1E5]],{\"\":\"\"}]",
	" \t\r\n[ 1 , \"\\ud83d\\ude00\" , { \"k\" : [ ] } ] ",
	"\"\\b\\f\\n\\r\\t\\/\\u0000\"",
	"-123456789012345678.000001e-12",
};

static const char alphabet[] = "{}[]\",:\\ubfnrt/eE+-.0123456789dcDC \t\n\r\x01\x1f\x7f\x80\xbf\xc3\xe2\xed\xa0"
			       "\xf0\x9f\xf4\xfftrue";

/* Changes, inserts, removes or doubles a few bytes. */
static size_t mutate(struct prng *prng, char *text, size_t len)
{
	for (uint64_t n = prng_between(prng, 0, 3); n > 0; n--) {
		size_t at = len ? prng_between(prng, 0, len - 1) : 0;
		char c = alphabet[prng_between(prng, 0, sizeof(alphabet) - 2)];
		switch (prng_between(prng, 0, 3)) {
		case 0:
			if (len)
				text[at] = c;
			break;
		case 1:
			if (len < MAX_TEXT) {
				memmove(text + at + 1, text + at, len - at);
				text[at] = c;
				len++;
			}
			break;
		case 2:
			if (len) {
				memmove(text + at, text + at + 1, len - at - 1);
				len--;
			}
			break;
		default:
			len = at;
			break;
		}
	}
	return len;
}

/* Jansson's own limits, which are no judgement about the text. */
static bool is_its_limit(const json_error_t *error)
{
	enum json_error_code code = json_error_code(error);
	return code == json_error_numeric_overflow || code == json_error_stack_overflow ||
	       strstr(error->text, "invalid Unicode") != NULL;
}

static void both_agree_on_what_is_json(void **state)
{
	(void)state;
	struct prng prng;
	prng_init(&prng, 20260102);
	unsigned n_accepted = 0;
	for (int round = 0; round < N_ROUNDS; round++) {
		char buffer[MAX_TEXT];
		const char *seed = seeds[prng_between(&prng, 0, ARRAY_SIZE(seeds) - 1)];
		size_t len = strlen(seed);
		memcpy(buffer, seed, len);
		len = mutate(&prng, buffer, len);

		struct jlex lex;
		struct error err = {0};
		jlex_init(&lex, (struct view){buffer, len}, MAX_DEPTH, &err);
		bool ours = jlex_skip(&lex) == 0 && jlex_finish(&lex) == 0;
		json_error_t error = {0};
		json_t *tree = json_loadb(buffer, len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
		bool theirs = tree != NULL;
		json_decref(tree);
		if (ours != theirs && !(ours && is_its_limit(&error)))
			fail_msg("round %d: ours %d (%s), theirs %d (%s): %.*s", round, ours,
				 err.text, theirs, error.text, (int)len, buffer);
		n_accepted += ours;
	}
	/* Neither side of the question is starved. */
	assert_in_range(n_accepted, N_ROUNDS / 20, N_ROUNDS - N_ROUNDS / 20);
}

static void both_read_the_same_text(void **state)
{
	(void)state;
	struct prng prng;
	prng_init(&prng, 5);
	for (int round = 0; round < N_ROUNDS / 4; round++) {
		static const char *const pieces[] = {"\\u0041", "\\ud83d\\ude00", "\\ud83d", "\\ude00",
						     "\\n", "x", "\xc3\xa4", "\\u20ac", "\\/",
						     "\\u0000", "\\uffff", "\\u07ff"};
		char buffer[MAX_TEXT] = "\"";
		for (uint64_t n = prng_between(&prng, 0, 8); n > 0; n--)
			strcat(buffer, pieces[prng_between(&prng, 0, ARRAY_SIZE(pieces) - 1)]);
		strcat(buffer, "\"");
		struct jlex lex;
		struct jlex_string string;
		struct error err;
		jlex_init(&lex, view_from(buffer), 1, &err);
		assert_int_equal(jlex_string(&lex, &string), 0);
		char text[MAX_TEXT];
		size_t len;
		bool ours = jlex_unescape(string, text, &len);
		/* Without JSON_ALLOW_NUL it refuses what we refuse. */
		json_error_t error;
		json_t *tree = json_loads(buffer, JSON_DECODE_ANY, &error);
		assert_int_equal(ours, tree != NULL);
		if (ours) {
			assert_int_equal(len, json_string_length(tree));
			assert_memory_equal(text, json_string_value(tree), len);
		}
		json_decref(tree);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(both_agree_on_what_is_json),
	cmocka_unit_test(both_read_the_same_text),
};
TEST_MAIN(tests)
