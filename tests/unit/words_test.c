/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kubectl/words.h"

#define assert_view(view_, text_) assert_true(view_equal(view_, view_from(text_)))

static struct sbuf *fresh(struct sbuf *buf)
{
	sbuf_init(buf, 1000);
	return buf;
}

TEST(words_are_those_of_the_api)
{
	assert_view(words_mode(ATTRIBUTION_MODE_MIG_TIME_SLICED), "MIGTimeSliced");
	assert_view(words_phase(ATTRIBUTION_PHASE_TERMINATING), "Terminating");
	assert_view(words_confidence(ATTRIBUTION_CONFIDENCE_NAME_ONLY), "NameOnly");
	assert_view(words_health(ATTRIBUTION_HEALTH_DEGRADED), "Degraded");
	assert_view(words_recovery(ATTRIBUTION_RECOVERY_REBOOT), "Reboot");
	assert_view(words_activity(ATTRIBUTION_ACTIVITY_IDLE), "Idle");
	assert_view(words_intent(ATTRIBUTION_INTENT_DRIFTED), "Drifted");
	assert_view(words_severity(ATTRIBUTION_SEVERITY_CRITICAL), "Critical");
	assert_view(words_condition(CONDITION_FALSE), "False");
	assert_view(words_report_state(ATTRIBUTION_REPORT_NO_AGENT), "NoAgent");
}

TEST(what_is_not_set_is_a_question_mark)
{
	CLEANUP(sbuf_deinit) struct sbuf buf;
	assert_view(words_mode(ATTRIBUTION_MODE_UNSET), "?");
	assert_view(words_health(ATTRIBUTION_HEALTH_UNSET), "?");
	assert_view(words_known((struct view){0}), "?");
	assert_view(words_known(VIEW("a")), "a");
	words_number(fresh(&buf), -1);
	assert_string_equal(sbuf_text(&buf), "?");
	words_number(&buf, 0);
	assert_string_equal(sbuf_text(&buf), "?0");
	words_age(&buf, 0, 1000);
	words_instant(&buf, 0, 1000);
	assert_string_equal(sbuf_text(&buf), "?0??");
}

TEST(shares_keep_what_is_known_of_them)
{
	static const struct {
		int64_t part, whole;
		const char *text;
	} rows[] = {{3, 4, "3/4"}, {0, 0, "0/0"}, {-1, 8, "?/8"}, {2, -1, "2/?"}, {-1, -1, "?/?"}};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(sbuf_deinit) struct sbuf buf;
		words_share(fresh(&buf), rows[i].part, rows[i].whole);
		assert_string_equal(sbuf_text(&buf), rows[i].text);
	}
}

TEST(durations_are_those_of_kubectl)
{
	static const struct {
		int64_t seconds;
		const char *text;
	} rows[] = {
		{-5, "0s"},        {0, "0s"},        {119, "119s"},      {120, "2m"},
		{599, "9m59s"},    {600, "10m"},     {10799, "179m"},    {10800, "3h"},
		{28799, "7h59m"},  {28800, "8h"},    {172799, "47h"},    {172800, "2d"},
		{180000, "2d2h"},  {691199, "7d23h"}, {691200, "8d"},    {63071999, "729d"},
		{63072000, "2y"},  {70000000, "2y80d"}, {252288000, "8y"}, {400000000, "12y"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(sbuf_deinit) struct sbuf buf;
		words_duration(fresh(&buf), rows[i].seconds * 1000);
		assert_string_equal(sbuf_text(&buf), rows[i].text);
	}
}

TEST(an_instant_says_how_long_ago_it_was)
{
	CLEANUP(sbuf_deinit) struct sbuf buf;
	words_instant(fresh(&buf), 1767323045000, 1767323045000 + 300000);
	assert_string_equal(sbuf_text(&buf), "2026-01-02T03:04:05Z (5m ago)");
}

TEST(a_text_that_stays_on_show_has_instants_for_ages)
{
	static const int64_t instant = 1767323045000;
	CLEANUP(sbuf_deinit) struct sbuf buf;
	words_age(fresh(&buf), instant, WORDS_NO_NOW);
	assert_string_equal(sbuf_text(&buf), "2026-01-02T03:04:05Z");
	sbuf_clear(&buf);
	words_instant(&buf, instant, WORDS_NO_NOW);
	assert_string_equal(sbuf_text(&buf), "2026-01-02T03:04:05Z");
	sbuf_clear(&buf);
	sbuf_append(&buf, VIEW("Stale"));
	words_since(&buf, instant, WORDS_NO_NOW);
	words_since(&buf, 0, WORDS_NO_NOW);
	words_since(&buf, instant, instant + 300000);
	assert_string_equal(sbuf_text(&buf), "Stale since 2026-01-02T03:04:05Z for 5m");
}

TEST(a_pod_without_a_name_is_its_uid)
{
	CLEANUP(sbuf_deinit) struct sbuf buf;
	words_pod(fresh(&buf), VIEW("ml"), VIEW("train-0"), VIEW("0123456789"));
	words_pod(&buf, VIEW(""), VIEW(""), VIEW("0123456789"));
	words_pod(&buf, VIEW(""), VIEW(""), VIEW("0"));
	assert_string_equal(sbuf_text(&buf), "ml/train-0uid/01234567uid/0");
}

TEST(partitions_are_told_by_profile_or_by_uuid)
{
	struct attribution_partition partitions[] = {
		{.uuid = VIEW("MIG-1"), .profile = VIEW("1g.5gb")}, {.uuid = VIEW("MIG-2")}};
	struct view uuids[] = {VIEW("MIG-1"), VIEW("MIG-2"), VIEW("MIG-3")};
	struct attribution_status status = {.partitions = {partitions, 2, true}};
	CLEANUP(sbuf_deinit) struct sbuf buf;
	words_partitions(fresh(&buf), &status, (struct array){uuids, 3, true});
	assert_string_equal(sbuf_text(&buf), "1g.5gb,MIG-2,MIG-3");
	assert_view(words_profile(&status, VIEW("MIG-1")), "1g.5gb");
	assert_int_equal(words_profile(&status, VIEW("MIG-3")).len, 0);
}

TEST(lists_have_commas)
{
	struct view texts[] = {VIEW("a"), VIEW("b")};
	CLEANUP(sbuf_deinit) struct sbuf buf;
	words_list(fresh(&buf), (struct array){texts, 2, true});
	words_list(&buf, (struct array){0});
	assert_string_equal(sbuf_text(&buf), "a,b");
}

TESTS(NULL, NULL)
