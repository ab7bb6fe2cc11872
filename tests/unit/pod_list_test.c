/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kubectl/pod_list.h"

#define POD(name)                                                                             \
	"{\"kind\":\"Pod\",\"metadata\":{\"namespace\":\"ml\",\"name\":\"" name "\","       \
	"\"uid\":\"u-" name "\"},\"spec\":{}}"

static void pods_are_kept_in_the_order_they_came_in(void **state)
{
	(void)state;
	struct error err;
	CLEANUP(pod_list_deinit) struct pod_list pods;
	pod_list_init(&pods);
	assert_null(pods.oldest);
	assert_int_equal(pod_list_take(&pods, VIEW(POD("b")), &err), 0);
	assert_int_equal(pod_list_take(&pods, VIEW(POD("a")), &err), 0);
	assert_int_equal(pods.n_pods, 2);
	assert_true(view_equal(pods.oldest->card.name, VIEW("b")));
	assert_true(view_equal(pods.oldest->next->card.name, VIEW("a")));
	assert_null(pods.oldest->next->next);
	assert_true(view_equal(pod_list_find(&pods, VIEW("a"))->uid, VIEW("u-a")));
	assert_null(pod_list_find(&pods, VIEW("c")));
}

static void what_is_no_pod_is_refused(void **state)
{
	(void)state;
	struct error err;
	CLEANUP(pod_list_deinit) struct pod_list pods;
	pod_list_init(&pods);
	assert_int_equal(pod_list_take(&pods, VIEW("{}"), &err), -1);
	assert_int_equal(err.kind, ERROR_REJECTED);
	assert_int_equal(pods.n_pods, 0);
}

static void pods_beyond_the_room_are_a_failure(void **state)
{
	(void)state;
	struct error err;
	CLEANUP(pod_list_deinit) struct pod_list pods;
	pod_list_init(&pods);
	pods.arena.cap = 100;
	assert_int_equal(pod_list_take(&pods, VIEW(POD("a")), &err), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(pods_are_kept_in_the_order_they_came_in),
	cmocka_unit_test(what_is_no_pod_is_refused),
	cmocka_unit_test(pods_beyond_the_room_are_a_failure),
};
TEST_MAIN(tests)
