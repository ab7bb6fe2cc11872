/* SPDX-License-Identifier: Apache-2.0 */

/* For any status that the rows allow: decoding undoes encoding. */

#include "lib/test_main.h"

#include "base/limits.h"
#include "lib/random_rows.h"
#include "schema/attribution_doc.h"
#include "wire/jmap.h"

#define N_OBJECTS 3000u

static void decoding_undoes_encoding(void **state)
{
	(void)state;
	struct arena arena;
	struct sbuf text;
	arena_init(&arena, 64 * LIMIT_MIB);
	sbuf_init(&text, LIMIT_OBJECT_BYTES);
	for (uint32_t seed = 1; seed <= N_OBJECTS; seed++) {
		struct attribution object = {
			.name = VIEW_INIT("gpu-x"),
			.uid = VIEW_INIT("u"),
			.resource_version = VIEW_INIT("7"),
		};
		struct attribution read;
		struct prng prng;
		struct error err;
		arena_reset(&arena);
		sbuf_clear(&text);
		prng_init(&prng, seed);
		random_rows_fill(attribution_doc_rows(), &prng, &arena, &object);
		attribution_doc_encode_status(&object, &object.status, &text);
		if (sbuf_check(&text, "object", &err) != 0 ||
		    attribution_doc_decode(sbuf_view(&text), &arena, &read, &err) != 0)
			fail_msg("seed %u: %s", seed, err.text);
		if (!jmap_equal(attribution_doc_rows(), &object, &read) ||
		    !attribution_doc_is_same(&object.status, &read.status))
			fail_msg("seed %u: %.*s", seed, VIEW_ARG(sbuf_view(&text)));
	}
	sbuf_deinit(&text);
	arena_deinit(&arena);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(decoding_undoes_encoding),
};

TEST_MAIN(tests)
