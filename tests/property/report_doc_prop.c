/* SPDX-License-Identifier: Apache-2.0 */

/* For any report that the rows allow: decoding undoes encoding. */

#include "lib/test_main.h"

#include "base/limits.h"
#include "lib/random_rows.h"
#include "schema/report_doc.h"

#define N_REPORTS 3000u

/* A text "<prefix><8 hex digits>-0000-4000-8000-<12 hex digits>" that differs for each number. */
static struct view make_uuid(struct arena *arena, const char *prefix, uint32_t number)
{
	char text[64];
	struct view uuid;
	snprintf(text, sizeof(text), "%s%08x-0000-4000-8000-%012x", prefix, number, number);
	assert_true(arena_copy(arena, view_from(text), &uuid));
	return uuid;
}

/* Gives the identifiers, which the rows know as texts only, the form they must have. */
static void make_valid(struct report *report, struct arena *arena)
{
	report->version = REPORT_VERSION;
	report->node = VIEW("gpu-a");
	report->boot_id = VIEW("boot");
	for (uint32_t d = 0; d < report->devices.count; d++) {
		struct report_device *device = ARRAY_AT(report->devices, struct report_device, d);
		device->uuid = make_uuid(arena, "GPU-", d);
		for (uint32_t i = 0; i < device->partitions.count; i++)
			ARRAY_AT(device->partitions, struct report_partition, i)->uuid =
				make_uuid(arena, "MIG-", i);
		for (uint32_t i = 0; i < device->processes.count; i++)
			ARRAY_AT(device->processes, struct report_process, i)->partition =
				i % 2 ? make_uuid(arena, "MIG-", i) : (struct view){0};
	}
	for (uint32_t i = 0; i < report->events.count; i++) {
		struct report_event *event = ARRAY_AT(report->events, struct report_event, i);
		event->sequence = i;
		event->uuid = make_uuid(arena, "GPU-", i);
	}
}

static void decoding_undoes_encoding(void **state)
{
	(void)state;
	struct arena arena;
	struct sbuf text, again;
	arena_init(&arena, 64 * LIMIT_MIB);
	sbuf_init(&text, LIMIT_REPORT_BYTES);
	sbuf_init(&again, LIMIT_REPORT_BYTES);
	for (uint32_t seed = 1; seed <= N_REPORTS; seed++) {
		struct report report = {0}, read;
		struct prng prng;
		struct error err;
		arena_reset(&arena);
		sbuf_clear(&text);
		sbuf_clear(&again);
		prng_init(&prng, seed);
		random_rows_fill(report_doc_rows(), &prng, &arena, &report);
		make_valid(&report, &arena);
		report_doc_encode(&report, &text);
		if (sbuf_check(&text, "report", &err) != 0 ||
		    report_doc_decode(sbuf_view(&text), &arena, &read, &err) != 0)
			fail_msg("seed %u: %s", seed, err.text);
		report_doc_encode(&read, &again);
		if (!jmap_equal(report_doc_rows(), &report, &read) ||
		    !report_doc_same_evidence(&report, &read) ||
		    !view_equal(sbuf_view(&text), sbuf_view(&again)))
			fail_msg("seed %u: %.*s", seed, VIEW_ARG(sbuf_view(&text)));
	}
	sbuf_deinit(&text);
	sbuf_deinit(&again);
	arena_deinit(&arena);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(decoding_undoes_encoding),
};

TEST_MAIN(tests)
