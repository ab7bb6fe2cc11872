/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "assess/drift_offer.h"

static struct drift_offer offers[LIMIT_OFFERS];

TEST(something_is_on_offer_where_one_slot_is)
{
	struct slot slots[3] = {{.is_offered = true}, {.is_held = true}, {.is_replica = true}};

	assert_false(drift_offer_is_any(slots, 0));
	assert_false(drift_offer_is_any(slots, 3));
	slots[2].is_on_offer_now = true;
	assert_true(drift_offer_is_any(slots, 3));
	slots[0].is_on_offer_now = true;
	assert_true(drift_offer_is_any(slots, 1));
}

/* "a:3/2" are three replicas of resource a at the most, of all of which two are free. */
static void expect(const struct slot *slots, size_t n_slots, const char *expected)
{
	const size_t n = drift_offer_list(slots, n_slots, offers);
	char text[200] = "";
	size_t len = 0;

	for (size_t i = 0; i < n; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%.*s:%lld/%lld", i > 0 ? " " : "",
					VIEW_ARG(offers[i].resource), (long long)offers[i].n_replicas,
					(long long)offers[i].n_free);
	assert_string_equal(text, expected);
}

static struct slot offered(const char *resource, const char *partition)
{
	return (struct slot){
		.offered_as = view_from(resource), .partition = view_from(partition), .is_on_offer_now = true};
}

TEST(replicas_are_counted_of_one_mig_device_or_of_the_whole_device)
{
	const struct slot slots[] = {
		offered("a", "m1"), offered("a", "m1"), offered("a", "m1"), offered("a", "m2"), offered("a", "m2"),
		offered("b", ""), offered("b", ""), offered("b", "m1"),
	};

	expect(slots, 0, "");
	expect(slots, 1, "a:1/1");
	expect(slots, 3, "a:3/3");
	expect(slots, 5, "a:3/5");
	expect(slots + 3, 2, "a:2/2");
	expect(slots, 8, "a:3/5 b:2/3");
}

TEST(offers_are_in_the_order_of_their_resources)
{
	const struct slot slots[] = {offered("c", ""), offered("a", ""), offered("b", ""), offered("a", "")};

	expect(slots, 2, "a:1/1 c:1/1");
	expect(slots, 4, "a:2/2 b:1/1 c:1/1");
}

TEST(what_is_not_on_offer_now_is_not_listed)
{
	struct slot slots[] = {offered("a", ""), offered("a", ""), offered("b", "")};

	slots[0].is_on_offer_now = slots[2].is_on_offer_now = false;
	expect(slots, 3, "a:1/1");
}

TEST(an_offer_tells_what_one_of_its_slots_is)
{
	struct slot slots[] = {offered("a", ""), offered("a", ""), offered("a", "")};

	slots[1].is_held = slots[1].is_replica = slots[1].is_hami = true;
	expect(slots, 3, "a:3/2");
	assert_true(offers[0].is_replica);
	assert_true(offers[0].is_hami);
	expect(slots, 1, "a:1/1");
	assert_false(offers[0].is_replica);
	assert_false(offers[0].is_hami);
}

TEST(of_more_resources_than_the_limit_the_first_are_listed)
{
	static char names[LIMIT_OFFERS + 1][4];
	struct slot slots[LIMIT_OFFERS + 2];

	for (size_t i = 0; i <= LIMIT_OFFERS; i++) {
		snprintf(names[i], sizeof(names[i]), "%02zu", i);
		slots[i] = offered(names[i], "");
	}
	slots[LIMIT_OFFERS + 1] = offered("00", "");
	assert_int_equal(drift_offer_list(slots, LIMIT_OFFERS + 2, offers), LIMIT_OFFERS);
	assert_int_equal(offers[0].n_replicas, 2);
	assert_true(view_equal(offers[LIMIT_OFFERS - 1].resource, view_from(names[LIMIT_OFFERS - 1])));
}

TESTS(NULL, NULL)
