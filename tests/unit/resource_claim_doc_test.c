/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "base/limits.h"
#include "lib/golden.h"
#include "lib/kube_bytes.h"
#include "schema/resource_claim_doc.h"

#define assert_text(view_, text_) assert_true(view_equal(view_, view_from(text_)))

static struct resource_claim_fields fields;

static void decode(struct view message)
{
	struct error err;

	if (resource_claim_doc_decode(message, &fields, &err) != 0)
		fail_msg("%s", err.text);
}

static void an_allocated_claim_gives_its_gpus_and_the_pods_that_may_use_them(void **state)
{
	(void)state;
	static const struct {
		const char *request, *device, *share_id;
		bool is_admin;
	} rows[] = {
		{"main", "gpu-3", "0b7f5c62-2f0e-4c9b-9a71-6f1f1f3a1c01", false},
		{"part/small", "gpu-1-mig-1g5gb-19-0", "", false},
		{"watch", "gpu-0", "", true},
	};
	struct view message = golden_read("claim_allocated.pb");

	decode(message);
	assert_text(fields.namespace, "ml");
	assert_text(fields.name, "team-gpus");
	/* The fourth result is another driver's. */
	assert_int_equal(fields.claim.results.count, ARRAY_SIZE(rows));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct resource_claim_result *result = &fields.results[i];

		assert_text(result->request, rows[i].request);
		assert_text(result->driver, "gpu.nvidia.com");
		assert_text(result->pool, "gpu-a");
		assert_text(result->device, rows[i].device);
		assert_text(result->share_id, rows[i].share_id);
		assert_int_equal(result->is_admin, rows[i].is_admin);
	}
	assert_int_equal(fields.claim.consumers.count, 2);
	assert_text(fields.consumers[0], "55555555-1c16-46f0-9aee-b624a6d8abae");
	assert_text(fields.consumers[1], "66666666-1c16-46f0-9aee-b624a6d8abae");
	assert_true(fields.claim.is_allocated);
	/* The third is a PodGroup. */
	assert_true(fields.claim.has_other_consumers);
	golden_free(message);
}

/* metadata {name n, namespace s} */
#define HEAD "\x0a\x06\x0a\x01n\x1a\x01s"

static void access_that_is_said_to_be_none_of_an_admins_is_none(void **state)
{
	(void)state;
	decode(VIEW(HEAD "\x1a\x18\x0a\x16\x0a\x14\x0a\x12\x12\x0e"
			 "gpu.nvidia.com\x28\x00"));
	assert_int_equal(fields.claim.results.count, 1);
	assert_false(fields.results[0].is_admin);
}

static void a_claim_without_allocation_has_a_name_only(void **state)
{
	(void)state;
	decode(VIEW(HEAD));
	assert_text(fields.namespace, "s");
	assert_text(fields.name, "n");
	assert_int_equal(fields.claim.results.count, 0);
	assert_int_equal(fields.claim.consumers.count, 0);
	assert_false(fields.claim.has_other_consumers || fields.claim.is_allocated);
}

static void a_claim_is_allocated_whatever_it_was_given(void **state)
{
	(void)state;
	static const struct {
		struct view message;
		bool is_allocated;
	} rows[] = {
		{VIEW_INIT(HEAD "\x1a\x02\x0a\x00"), true},          /* nothing */
		{VIEW_INIT(HEAD "\x1a\x0f\x0a\x0d\x0a\x0b\x0a\x09\x12\x07"
				"nic.org"), true},                   /* another driver's */
		{VIEW_INIT(HEAD "\x1a\x08\x12\x06\x1a\x04pods"), false}, /* reserved, not allocated */
		{VIEW_INIT(HEAD "\x1a\x02\x08\x01"), false},         /* no message */
		{VIEW_INIT(HEAD "\x1a\x00"), false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		decode(rows[i].message);
		assert_int_equal(fields.claim.is_allocated, rows[i].is_allocated);
		assert_int_equal(fields.claim.results.count, 0);
	}
}

/* A status with one reservation {group, resource, uid}. */
static struct view reserved_for(const char *group, const char *resource, const char *uid)
{
	static char bytes[256];
	struct sbuf consumer, status, claim;

	sbuf_init(&consumer, sizeof(bytes));
	sbuf_init(&status, sizeof(bytes));
	sbuf_init(&claim, sizeof(bytes));
	kube_bytes_field(&consumer, 1, view_from(group));
	kube_bytes_field(&consumer, 3, view_from(resource));
	kube_bytes_field(&consumer, 5, view_from(uid));
	kube_bytes_field(&status, 2, sbuf_view(&consumer));
	sbuf_append(&claim, VIEW(HEAD));
	kube_bytes_field(&claim, 3, sbuf_view(&status));
	struct view message = {bytes, sbuf_view(&claim).len};
	memcpy(bytes, sbuf_view(&claim).ptr, message.len);
	sbuf_deinit(&consumer);
	sbuf_deinit(&status);
	sbuf_deinit(&claim);
	return message;
}

static void only_core_pods_with_a_uid_are_pods(void **state)
{
	(void)state;
	static const struct {
		const char *group, *resource, *uid;
		bool is_pod;
	} rows[] = {
		{"", "pods", "u1", true},
		{"metrics.k8s.io", "pods", "u1", false},
		{"", "podgroups", "u1", false},
		{"", "pods", "", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		decode(reserved_for(rows[i].group, rows[i].resource, rows[i].uid));
		assert_int_equal(fields.claim.consumers.count, rows[i].is_pod);
		assert_int_equal(fields.claim.has_other_consumers, !rows[i].is_pod);
	}
}

/* A claim with so many results of gpu.nvidia.com and reservations for pods. */
static struct view claim_with(unsigned n_results, unsigned n_consumers, struct sbuf *claim)
{
	struct sbuf results, part;

	sbuf_init(&results, LIMIT_MIB);
	sbuf_init(&part, LIMIT_MIB);
	for (unsigned i = 0; i < n_results; i++)
		kube_bytes_field(&results, 1, VIEW("\x12\x0egpu.nvidia.com"));
	kube_bytes_field(&part, 1, sbuf_view(&results)); /* devices */
	sbuf_clear(&results);
	kube_bytes_field(&results, 1, sbuf_view(&part)); /* allocation */
	for (unsigned i = 0; i < n_consumers; i++)
		kube_bytes_field(&results, 2, VIEW("\x1a\x04pods\x2a\x01u"));
	sbuf_append(claim, VIEW(HEAD));
	kube_bytes_field(claim, 3, sbuf_view(&results));
	sbuf_deinit(&results);
	sbuf_deinit(&part);
	return sbuf_view(claim);
}

static void a_claim_beyond_the_bounds_is_refused_whole(void **state)
{
	(void)state;
	static const struct {
		unsigned n_results, n_consumers;
		bool accepted;
	} rows[] = {
		{RESOURCE_CLAIM_MAX_RESULTS, RESOURCE_CLAIM_MAX_CONSUMERS, true},
		{RESOURCE_CLAIM_MAX_RESULTS + 1, 0, false},
		{0, RESOURCE_CLAIM_MAX_CONSUMERS + 1, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct error err = {0};
		struct sbuf claim;

		sbuf_init(&claim, LIMIT_MIB);
		struct view message = claim_with(rows[i].n_results, rows[i].n_consumers, &claim);
		int result = resource_claim_doc_decode(message, &fields, &err);
		assert_int_equal(result, rows[i].accepted ? 0 : -1);
		assert_int_equal(err.kind, rows[i].accepted ? ERROR_NONE : ERROR_LIMIT);
		if (rows[i].accepted) {
			assert_int_equal(fields.claim.results.count, rows[i].n_results);
			assert_int_equal(fields.claim.consumers.count, rows[i].n_consumers);
		}
		sbuf_deinit(&claim);
	}
}

/* Every prefix of a message is malformed, or is a message with less in it; never a crash. */
static void a_message_cut_anywhere_is_refused_or_lacks_parts(void **state)
{
	(void)state;
	struct view message = golden_read("claim_allocated.pb");
	size_t n_refused = 0;

	for (size_t len = 0; len < message.len; len++) {
		struct view cut = golden_copy((struct view){message.ptr, len});
		struct error err;

		if (resource_claim_doc_decode(cut, &fields, &err) != 0) {
			assert_int_equal(err.kind, ERROR_REJECTED);
			n_refused++;
		}
		golden_free(cut);
	}
	/* Whole are at most: metadata; metadata and spec. */
	assert_true(n_refused >= message.len - 2);
	golden_free(message);
}

static void any_changed_byte_is_survived(void **state)
{
	(void)state;
	static const unsigned char masks[] = {0x01, 0x07, 0x80, 0xff};
	struct view message = golden_read("claim_allocated.pb");
	char *bytes = (char *)(uintptr_t)message.ptr;

	for (size_t i = 0; i < message.len; i++)
		for (size_t m = 0; m < ARRAY_SIZE(masks); m++) {
			struct error err;

			bytes[i] = (char)(bytes[i] ^ (char)masks[m]);
			if (resource_claim_doc_decode(message, &fields, &err) == 0)
				assert_true(fields.claim.results.count <= 4 && fields.claim.consumers.count <= 3);
			bytes[i] = (char)(bytes[i] ^ (char)masks[m]);
		}
	golden_free(message);
}

/* "\x0a\x05" announces five bytes where none are left. */
static void a_malformed_part_at_any_depth_is_refused(void **state)
{
	(void)state;
	static const struct view rows[] = {
		VIEW_INIT("\x0a\x05"),
		VIEW_INIT("\x0a\x08\x0a\x01n\x1a\x01s\x0a\x05"),                     /* metadata */
		VIEW_INIT(HEAD "\x1a\x02\x0a\x05"),                                 /* status */
		VIEW_INIT(HEAD "\x1a\x04\x0a\x02\x0a\x05"),                         /* allocation */
		VIEW_INIT(HEAD "\x1a\x06\x0a\x04\x0a\x02\x0a\x05"),                 /* devices */
		VIEW_INIT(HEAD "\x1a\x08\x0a\x06\x0a\x04\x0a\x02\x0a\x05"),         /* a result */
		VIEW_INIT(HEAD "\x1a\x04\x12\x02\x0a\x05"),                         /* a reservation */
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct error err;

		if (resource_claim_doc_decode(rows[i], &fields, &err) == 0)
			fail_msg("row %zu is accepted", i);
		assert_int_equal(err.kind, ERROR_REJECTED);
	}
}

static void a_claim_without_name_or_namespace_is_refused(void **state)
{
	(void)state;
	static const struct view rows[] = {
		VIEW_INIT(""),
		VIEW_INIT("\x0a\x03\x0a\x01n"),
		VIEW_INIT("\x0a\x03\x1a\x01s"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct error err;

		assert_int_equal(resource_claim_doc_decode(rows[i], &fields, &err), -1);
		assert_int_equal(err.kind, ERROR_REJECTED);
	}
}

/* Numbers where texts and messages are expected, and a text where adminAccess is. */
static void fields_of_another_wire_type_are_skipped(void **state)
{
	(void)state;
	static const struct view rows[] = {
		VIEW_INIT(HEAD "\x18\x07"),
		VIEW_INIT("\x0a\x08\x0a\x01n\x1a\x01s\x08\x05"),
		VIEW_INIT(HEAD "\x1a\x04\x08\x01\x10\x01"),
		VIEW_INIT(HEAD "\x1a\x04\x0a\x02\x08\x01"),
		VIEW_INIT(HEAD "\x1a\x06\x0a\x04\x0a\x02\x08\x01"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		decode(rows[i]);
		assert_text(fields.name, "n");
		assert_int_equal(fields.claim.results.count + fields.claim.consumers.count, 0);
	}
	decode(VIEW(HEAD "\x1a\x19\x0a\x17\x0a\x15\x0a\x13\x12\x0egpu.nvidia.com\x2a\x01\x01"));
	assert_int_equal(fields.claim.results.count, 1);
	assert_false(fields.results[0].is_admin);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(an_allocated_claim_gives_its_gpus_and_the_pods_that_may_use_them),
	cmocka_unit_test(access_that_is_said_to_be_none_of_an_admins_is_none),
	cmocka_unit_test(a_claim_without_allocation_has_a_name_only),
	cmocka_unit_test(a_claim_is_allocated_whatever_it_was_given),
	cmocka_unit_test(only_core_pods_with_a_uid_are_pods),
	cmocka_unit_test(a_claim_beyond_the_bounds_is_refused_whole),
	cmocka_unit_test(a_message_cut_anywhere_is_refused_or_lacks_parts),
	cmocka_unit_test(any_changed_byte_is_survived),
	cmocka_unit_test(a_malformed_part_at_any_depth_is_refused),
	cmocka_unit_test(a_claim_without_name_or_namespace_is_refused),
	cmocka_unit_test(fields_of_another_wire_type_are_skipped),
};

TEST_MAIN(tests)
