/* SPDX-License-Identifier: Apache-2.0 */

/* Lists are compared as one text, so that a failure shows all of it. */

#include "lib/expect_status.h"

#include "lib/test_main.h"

struct joined {
	char text[4096];
	size_t len;
};

static void join_text(struct joined *joined, struct view text, const char *separator)
{
	int len = snprintf(joined->text + joined->len, sizeof(joined->text) - joined->len,
			   "%s%.*s", joined->len > 0 ? separator : "", VIEW_ARG(text));
	assert_true(len >= 0 && (size_t)len < sizeof(joined->text) - joined->len);
	joined->len += (size_t)len;
}

void expect_text(struct view text, const char *expected)
{
	struct joined joined = {0};
	join_text(&joined, text, "");
	assert_string_equal(joined.text, expected);
}

void expect_texts(struct array texts, const char *expected)
{
	struct joined joined = {0};
	for (uint32_t i = 0; i < texts.count; i++) {
		const struct view *text = ARRAY_AT(texts, struct view, i);
		assert_true(text->len > 0); /* it would not be seen */
		join_text(&joined, *text, ",");
	}
	assert_string_equal(joined.text, expected);
}

void expect_condition(const struct attribution_status *status, const char *type, int condition,
		      const char *reason)
{
	const struct condition *found = attribution_find_condition(status, view_from(type));
	assert_non_null(found);
	expect_text(found->reason, reason);
	assert_int_equal(found->status, condition);
}

void expect_tenants(const struct attribution_status *status, const char *expected)
{
	struct joined joined = {0};
	for (uint32_t i = 0; i < status->tenants.count; i++) {
		const struct attribution_tenant *t =
			ARRAY_AT(status->tenants, struct attribution_tenant, i);
		join_text(&joined, t->pod_uid, ",");
		joined.text[joined.len++] = '/';
		join_text(&joined, t->container, "");
	}
	assert_string_equal(joined.text, expected);
}

void expect_disagreement(const struct attribution_status *status, const char *expected)
{
	struct joined joined = {0};
	for (uint32_t i = 0; i < status->source_disagreements.count; i++) {
		const struct attribution_disagreement *d = ARRAY_AT(
			status->source_disagreements, struct attribution_disagreement, i);
		join_text(&joined, d->pod_uid, ",");
		joined.text[joined.len++] = '/';
		join_text(&joined, d->container, "");
		for (uint32_t j = 0; j < d->says.count; j++) {
			const struct attribution_statement *s =
				ARRAY_AT(d->says, struct attribution_statement, j);
			char slots[24];
			snprintf(slots, sizeof(slots), "=%lld", (long long)s->slots);
			join_text(&joined, s->witness, " ");
			join_text(&joined, view_from(slots), "");
		}
	}
	assert_string_equal(joined.text, expected);
}

void expect_unplaced(const struct attribution_status *status, const char *expected)
{
	struct joined joined = {0};
	for (uint32_t i = 0; i < status->unplaced_tenants.count; i++) {
		const struct attribution_unplaced *u =
			ARRAY_AT(status->unplaced_tenants, struct attribution_unplaced, i);
		join_text(&joined, u->pod_uid, ",");
		joined.text[joined.len++] = '/';
		join_text(&joined, u->container, "");
		for (uint32_t j = 0; j < u->device_ids.count; j++)
			join_text(&joined, *ARRAY_AT(u->device_ids, struct view, j), " ");
	}
	assert_string_equal(joined.text, expected);
}

void expect_users(const struct attribution_status *status, const char *expected)
{
	struct joined joined = {0};
	for (uint32_t i = 0; i < status->unallocated_users.count; i++) {
		const struct attribution_user *u =
			ARRAY_AT(status->unallocated_users, struct attribution_user, i);
		join_text(&joined, u->pod_uid, ",");
		joined.text[joined.len++] = ' ';
		join_text(&joined, u->command, "");
		joined.len += (size_t)snprintf(joined.text + joined.len,
					       sizeof(joined.text) - joined.len, "[%lld]",
					       (long long)u->pid);
		assert_true(joined.len < sizeof(joined.text));
	}
	assert_string_equal(joined.text, expected);
}

void expect_accused(struct array tenants, const char *expected)
{
	struct joined joined = {0};
	const struct attribution_event_tenant *tenant = tenants.items;
	for (uint32_t i = 0; i < tenants.count; i++, tenant++)
		if (i == 0 || !view_equal(tenant[-1].pod_uid, tenant->pod_uid))
			join_text(&joined, tenant->pod_uid, ",");
	assert_string_equal(joined.text, expected);
}

void expect_recent(const struct attribution_status *status, const char *expected)
{
	struct joined joined = {0};
	for (uint32_t i = 0; i < status->recent_tenants.count; i++)
		join_text(&joined,
			  ARRAY_AT(status->recent_tenants, struct attribution_past_tenant, i)
				  ->pod_uid,
			  ",");
	assert_string_equal(joined.text, expected);
}

const struct attribution_tenant *expect_tenant(const struct attribution_status *status,
					       const char *uid, int phase, int confidence)
{
	for (uint32_t i = 0; i < status->tenants.count; i++) {
		const struct attribution_tenant *t =
			ARRAY_AT(status->tenants, struct attribution_tenant, i);
		if (!view_equal(t->pod_uid, view_from(uid)))
			continue;
		assert_int_equal(t->phase, phase);
		assert_int_equal(t->confidence, confidence);
		return t;
	}
	fail_msg("%s is no tenant", uid);
	return NULL;
}
