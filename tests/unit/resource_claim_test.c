/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/test_main.h"

#include <stdlib.h>

#include "model/resource_claim.h"

static struct resource_claim_fields full(void)
{
	return (struct resource_claim_fields){
		.namespace = VIEW("ml"),
		.name = VIEW("team"),
		.results = {{VIEW("main"), VIEW("gpu.nvidia.com"), VIEW("gpu-a"), VIEW("gpu-3"),
			     VIEW("s1"), false},
			    {VIEW("watch"), VIEW("gpu.nvidia.com"), VIEW("gpu-a"), VIEW("gpu-0"),
			     {NULL, 0}, true}},
		.claim.results.count = 2,
		.consumers = {VIEW("u1"), VIEW("u2")},
		.claim.consumers.count = 2,
		.claim.is_allocated = true,
	};
}

static const char long_text[1000]; /* longer than any may be */

static struct resource_claim *make(const struct resource_claim_fields *fields)
{
	struct resource_claim *claim = NULL;
	struct error err;

	assert_int_equal(resource_claim_new(fields, &claim, &err), 0);
	return claim;
}

static void a_record_says_what_it_was_made_from(void **state)
{
	(void)state;
	struct resource_claim_fields fields = full();
	struct resource_claim *claim = make(&fields);

	assert_true(view_equal(claim->key, VIEW("ml/team")));
	assert_int_equal(claim->results.count, 2);
	assert_true(claim->results.present && claim->consumers.present);
	for (uint32_t i = 0; i < 2; i++) {
		const struct resource_claim_result *result =
			ARRAY_AT(claim->results, struct resource_claim_result, i);

		assert_true(view_equal(result->request, fields.results[i].request));
		assert_true(view_equal(result->driver, fields.results[i].driver));
		assert_true(view_equal(result->pool, fields.results[i].pool));
		assert_true(view_equal(result->device, fields.results[i].device));
		assert_true(view_equal(result->share_id, fields.results[i].share_id));
		assert_int_equal(result->is_admin, fields.results[i].is_admin);
		assert_ptr_not_equal(result->device.ptr, fields.results[i].device.ptr);
	}
	assert_int_equal(claim->consumers.count, 2);
	assert_true(claim->is_allocated);
	free(claim);
}

static void a_claim_without_a_gpu_keeps_its_name_and_whether_it_is_allocated_only(void **state)
{
	(void)state;
	for (int is_allocated = 0; is_allocated < 2; is_allocated++) {
		struct resource_claim_fields fields = full();

		fields.claim.results.count = 0;
		fields.consumers[0] = (struct view){long_text, sizeof(long_text)};
		fields.claim.has_other_consumers = true;
		fields.claim.is_allocated = is_allocated;
		struct resource_claim *claim = make(&fields);
		assert_true(view_equal(claim->key, VIEW("ml/team")));
		assert_int_equal(claim->consumers.count, 0);
		assert_int_equal(claim->is_allocated, is_allocated);
		assert_false(claim->has_other_consumers);
		assert_false(resource_claim_is_reserved_for(claim, VIEW("u1")));
		free(claim);
	}
}

static void it_is_reserved_for_those_uids_and_no_other(void **state)
{
	(void)state;
	static const struct {
		struct view uid;
		bool is_reserved;
	} rows[] = {
		{VIEW_INIT("u1"), true}, {VIEW_INIT("u2"), true},   {VIEW_INIT("u3"), false},
		{VIEW_INIT("u"), false}, {VIEW_INIT("u11"), false}, {VIEW_INIT(""), false},
	};
	struct resource_claim_fields fields = full();
	struct resource_claim *claim = make(&fields);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(resource_claim_is_reserved_for(claim, rows[i].uid),
				 rows[i].is_reserved);
	free(claim);
}

static void what_lies_behind_the_counts_does_not_matter(void **state)
{
	(void)state;
	const struct view other = {long_text, sizeof(long_text)};
	struct resource_claim_fields fields = {
		.namespace = VIEW("n"), .name = VIEW("c"),
		.results = {{.request = VIEW("r")}, {.request = other}}, .claim.results.count = 1,
		.consumers = {VIEW("u1"), other}, .claim.consumers.count = 1,
	};
	struct resource_claim *claim = make(&fields);

	assert_int_equal(claim->results.count, 1);
	assert_true(resource_claim_is_reserved_for(claim, VIEW("u1")));
	assert_false(resource_claim_is_reserved_for(claim, other));
	free(claim);
}

/* Each changes one fact. */
static void change_nothing(struct resource_claim_fields *f) { (void)f; }
static void change_name(struct resource_claim_fields *f) { f->name = VIEW("other"); }
static void change_namespace(struct resource_claim_fields *f) { f->namespace = VIEW("mm"); }
static void change_request(struct resource_claim_fields *f) { f->results[0].request = VIEW("x"); }
static void change_driver(struct resource_claim_fields *f) { f->results[1].driver = VIEW("x"); }
static void change_pool(struct resource_claim_fields *f) { f->results[1].pool = VIEW("x"); }
static void change_device(struct resource_claim_fields *f) { f->results[1].device = VIEW("x"); }
static void change_share(struct resource_claim_fields *f) { f->results[0].share_id = VIEW("x"); }
static void change_admin(struct resource_claim_fields *f) { f->results[1].is_admin = false; }
static void fewer_results(struct resource_claim_fields *f) { f->claim.results.count = 1; }
static void fewer_consumers(struct resource_claim_fields *f) { f->claim.consumers.count = 1; }
static void change_consumer(struct resource_claim_fields *f) { f->consumers[1] = VIEW("u3"); }
static void change_others(struct resource_claim_fields *f) { f->claim.has_other_consumers = true; }
static void take_back(struct resource_claim_fields *f) { f->claim.is_allocated = false; }

static void two_records_are_equal_only_if_every_fact_is(void **state)
{
	(void)state;
	static const struct {
		void (*change)(struct resource_claim_fields *fields);
		bool equal;
	} rows[] = {
		{change_nothing, true},	 {change_name, false},	   {change_namespace, false},
		{change_request, false}, {change_driver, false},   {change_pool, false},
		{change_device, false},	 {change_share, false},	   {change_admin, false},
		{fewer_results, false},	 {fewer_consumers, false}, {change_consumer, false},
		{change_others, false},	 {take_back, false},
	};
	struct resource_claim_fields fields = full();
	struct resource_claim *claim = make(&fields);
	struct pod_set pods = {0};
	struct resource_claim_set set;

	resource_claim_set_init(&set, &pods);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct resource_claim_fields changed = full();

		rows[i].change(&changed);
		struct resource_claim *other = make(&changed);
		if (compact_equal(set.records.kind->rows, claim, other) != rows[i].equal)
			fail_msg("row %zu", i);
		assert_int_equal(compact_equal(set.records.kind->rows, other, claim), rows[i].equal);
		free(other);
	}
	free(claim);
}

static void a_text_longer_than_any_is_refused(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 8; k++) {
		struct resource_claim_fields fields = full();
		const struct {
			struct view *text;
			size_t most;
		} rows[] = {
			{&fields.results[0].request, 512},  {&fields.results[1].driver, 512},
			{&fields.results[1].pool, 512},     {&fields.results[1].device, 512},
			{&fields.results[0].share_id, 512}, {&fields.consumers[0], 512},
			{&fields.consumers[1], 512},        {&fields.name, 509}, /* with "ml/": 512 */
		};

		fields.claim.results.count = k == 5 ? 1 : 2;
		for (size_t len = rows[k].most; len <= rows[k].most + 1; len++) {
			struct resource_claim *claim = NULL;
			struct error err = {0};

			*rows[k].text = (struct view){long_text, len};
			int result = resource_claim_new(&fields, &claim, &err);
			assert_int_equal(result, len == rows[k].most ? 0 : -1);
			assert_int_equal(err.kind, len == rows[k].most ? ERROR_NONE : ERROR_LIMIT);
			assert_int_equal(err.os_errno, 0);
			free(claim);
		}
	}
}

static void without_memory_there_is_no_record(void **state)
{
	(void)state;
	struct resource_claim_fields fields = full();
	struct resource_claim *claim = NULL;
	struct error err = {0};

	failing_malloc_at(1);
	assert_int_equal(resource_claim_new(&fields, &claim, &err), -1);
	assert_true(failing_malloc_off());
	assert_int_equal(err.kind, ERROR_NO_MEMORY);
	assert_null(claim);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_record_says_what_it_was_made_from),
	cmocka_unit_test(a_claim_without_a_gpu_keeps_its_name_and_whether_it_is_allocated_only),
	cmocka_unit_test(it_is_reserved_for_those_uids_and_no_other),
	cmocka_unit_test(what_lies_behind_the_counts_does_not_matter),
	cmocka_unit_test(two_records_are_equal_only_if_every_fact_is),
	cmocka_unit_test(a_text_longer_than_any_is_refused),
	cmocka_unit_test(without_memory_there_is_no_record),
};

TEST_MAIN(tests)
