/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "assess/xid.h"
#include "base/limits.h"

TEST(every_number_has_its_class)
{
	static const struct {
		enum xid_class class;
		int codes[16];
	} rows[] = {
		{XID_APPLICATION, {11, 13, 25, 31, 32, 43, 44, 45, 68, 69, 94}},
		{XID_NEEDS_RESET, {46, 62, 64, 95, 109, 110, 119, 120, 136, 140, 143, 155, 156, 158}},
		{XID_NEEDS_REBOOT, {79}},
		{XID_INFORMATIONAL, {63, 92, 93, 121, 154, 157, 160, 161}},
		{XID_LOOK_CLOSER, {48, 74, 137, 144, 145, 146, 147, 148, 149, 150, 171, 172}},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		for (size_t j = 0; rows[i].codes[j]; j++) {
			struct xid xid = xid_look_up(rows[i].codes[j]);
			assert_int_equal(xid.class, rows[i].class);
			assert_int_equal(xid.code, rows[i].codes[j]);
			assert_true(xid.meaning.len > 0 && xid.meaning.len <= LIMIT_TEXT_MEANING);
			assert_true(xid.action.len > 0 && xid.action.len <= LIMIT_TEXT_ACTION);
		}
	}
}

TEST(a_number_that_is_not_known_is_to_be_looked_at)
{
	static const int64_t codes[] = {-1, 0, 1, 999, INT64_MAX};
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		struct xid xid = xid_look_up(codes[i]);
		assert_int_equal(xid.class, XID_LOOK_CLOSER);
		assert_true(xid.code == codes[i]);
		assert_true(xid.meaning.len > 0 && xid.action.len > 0);
	}
}

TEST(what_to_do_is_said_by_the_number_and_else_by_its_class)
{
	static const struct {
		int64_t code;
		const char *action;
	} rows[] = {
		{63, "nothing now: it takes effect when the GPU is reset next"},
		{121, "nothing needs to be done"},
		{94, "start the program again: the error hit no other"},
		{13, "look at the program that used the GPU: the GPU needs nothing"},
		{64, "drain the GPU and reset it; if it happens again, replace it"},
		{119, "drain the GPU and reset it"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_true(view_equal(xid_look_up(rows[i].code).action, view_from(rows[i].action)));
}

TESTS(NULL, NULL)
