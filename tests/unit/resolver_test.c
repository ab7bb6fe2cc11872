/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "io/resolver.h"
#include "lib/failing_malloc.h"

static struct error err;

/*
 * The name server of these tests knows addresses.test, fails for nobody.test, and for silent.test waits
 * until it may go on. It runs in threads of the resolver's. Everything else is asked of the system.
 */
static const char *const *addresses; /* of addresses.test, ended by NULL */
static sem_t may_end, begun, ended; /* the last two count threads */
static pthread_key_t at_end;

/* The thread is done with all that the resolver had for it. */
static void saw_end(void *value)
{
	(void)value;
	sem_post(&ended);
}

static struct addrinfo *one(const char *text, struct addrinfo *next)
{
	struct addrinfo *info = calloc(1, sizeof(*info) + sizeof(struct sockaddr_in6));
	struct sockaddr_in *v4 = (void *)(info + 1);
	struct sockaddr_in6 *v6 = (void *)(info + 1);
	info->ai_addr = (void *)(info + 1);
	info->ai_next = next;
	info->ai_family = strchr(text, ':') ? AF_INET6 : AF_INET;
	if (info->ai_family == AF_INET)
		inet_pton(AF_INET, text, &v4->sin_addr);
	else
		inet_pton(AF_INET6, text, &v6->sin6_addr);
	return info;
}

void freeaddrinfo(struct addrinfo *info)
{
	while (info) {
		struct addrinfo *next = info->ai_next;
		free(info);
		info = next;
	}
}

static int ask_system(const char *name, const char *service, const struct addrinfo *hints,
		      struct addrinfo **ret)
{
	int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
	*(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
	return real(name, service, hints, ret);
}

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
		struct addrinfo **ret)
{
	*ret = NULL;
	pthread_setspecific(at_end, &at_end);
	if (strcmp(name, "localhost") == 0)
		return ask_system(name, service, hints, ret);
	sem_post(&begun);
	if (strcmp(name, "silent.test") == 0)
		while (sem_wait(&may_end) != 0)
			continue;
	if (strcmp(name, "addresses.test") != 0)
		return EAI_NONAME;
	for (const char *const *text = addresses; *text; text++)
		*ret = one(*text, *ret);
	return 0;
}

/* A resolver, and what it told. */
struct asker {
	struct loop *loop;
	struct resolver *resolver;
	struct resolver_result result;
	unsigned n_results;
};

static void saw_result(void *owner, const struct resolver_result *result)
{
	struct asker *asker = owner;
	asker->result = *result;
	asker->n_results++;
	loop_stop(asker->loop);
}

static void setup(struct asker *asker, const char *host)
{
	*asker = (struct asker){0};
	sem_init(&begun, 0, 0);
	sem_init(&may_end, 0, 0);
	sem_init(&ended, 0, 0);
	assert_int_equal(loop_new(&asker->loop, &err), 0);
	assert_int_equal(resolver_new(asker->loop, host, saw_result, asker, &asker->resolver, &err), 0);
}

static void teardown(struct asker *asker)
{
	resolver_free(asker->resolver);
	loop_free(asker->loop);
}

static void wait_for(sem_t *semaphore)
{
	while (sem_wait(semaphore) != 0)
		continue;
}

static int count(sem_t *semaphore)
{
	int n;
	assert_int_equal(sem_getvalue(semaphore, &n), 0);
	return n;
}

static void ask(struct asker *asker)
{
	unsigned before = asker->n_results;
	assert_int_equal(resolver_start(asker->resolver, &err), 0);
	assert_int_equal(asker->n_results, before);
	assert_int_equal(loop_run(asker->loop, &err), 0);
	assert_int_equal(asker->n_results, before + 1);
	wait_for(&ended);
}

TEST(localhost_has_addresses_of_loopback)
{
	struct asker asker;
	setup(&asker, "localhost");
	ask(&asker);
	assert_in_range(asker.result.n, 1, 2);
	for (unsigned i = 0; i < asker.result.n; i++)
		assert_true(strcmp(asker.result.addresses[i], "127.0.0.1") == 0 ||
			    strcmp(asker.result.addresses[i], "::1") == 0);
	teardown(&asker);
}

TEST(addresses_of_both_families_come_in_order_and_each_once)
{
	static const char *const said[] = {"10.0.0.2", "fd00::1", "10.0.0.1", "10.0.0.2", "fd00::1", NULL};
	struct asker asker;
	setup(&asker, "addresses.test");
	addresses = said;
	ask(&asker);
	assert_int_equal(asker.result.n, 3);
	assert_int_equal(asker.result.left_out, 0);
	assert_string_equal(asker.result.addresses[0], "10.0.0.1");
	assert_string_equal(asker.result.addresses[1], "10.0.0.2");
	assert_string_equal(asker.result.addresses[2], "fd00::1");
	teardown(&asker);
}

TEST(of_more_addresses_than_the_limit_the_same_are_kept_in_whatever_order_they_come)
{
	static const char *const said[][12] = {
		{"10.0.0.5", "10.0.0.1", "10.0.0.9", "10.0.0.3", "10.0.0.7", "10.0.0.8", "10.0.0.2",
		 "10.0.0.4", "10.0.0.6", "10.1.0.0", NULL},
		{"10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5", "10.0.0.6", "10.0.0.7",
		 "10.0.0.8", "10.0.0.9", "10.1.0.0", NULL},
	};
	struct asker asker;
	setup(&asker, "addresses.test");
	for (size_t i = 0; i < ARRAY_SIZE(said); i++) {
		addresses = said[i];
		ask(&asker);
		assert_int_equal(asker.result.n, RESOLVER_MAX);
		assert_int_equal(asker.result.left_out, 2);
		for (unsigned k = 0; k < RESOLVER_MAX; k++)
			assert_string_equal(asker.result.addresses[k], said[1][k]);
	}
	teardown(&asker);
}

TEST(a_name_that_is_unknown_or_has_no_address_fails_and_can_be_asked_again)
{
	static const char *const none[] = {NULL}, *const some[] = {"10.0.0.1", NULL};
	struct asker asker;
	setup(&asker, "nobody.test");
	ask(&asker);
	assert_int_equal(asker.result.n, 0);
	assert_int_equal(asker.result.error.kind, ERROR_RETRY);
	assert_non_null(strstr(asker.result.error.text, "nobody.test"));
	teardown(&asker);
	setup(&asker, "addresses.test");
	addresses = none;
	ask(&asker);
	assert_int_equal(asker.result.n, 0);
	assert_int_equal(asker.result.error.kind, ERROR_RETRY);
	addresses = some;
	ask(&asker);
	assert_int_equal(asker.result.n, 1);
	teardown(&asker);
}

TEST(one_look_up_is_under_way_at_a_time)
{
	struct asker asker;
	setup(&asker, "silent.test");
	for (int i = 0; i < 5; i++)
		assert_int_equal(resolver_start(asker.resolver, &err), 0);
	wait_for(&begun);
	sem_post(&may_end);
	assert_int_equal(loop_run(asker.loop, &err), 0);
	assert_int_equal(asker.n_results, 1);
	assert_int_equal(count(&begun), 0);
	wait_for(&ended);
	sem_post(&may_end);
	ask(&asker);
	teardown(&asker);
}

TEST(the_end_of_the_resolver_does_not_wait_for_a_silent_name_server)
{
	struct asker asker;
	setup(&asker, "silent.test");
	assert_int_equal(resolver_start(asker.resolver, &err), 0);
	wait_for(&begun);
	teardown(&asker);
	assert_int_equal(count(&ended), 0);
	sem_post(&may_end);
	wait_for(&ended);
	assert_int_equal(asker.n_results, 0);
}

/* The thread may end first, or the resolver: nobody is told, and nothing is left. */
TEST(a_resolver_may_go_while_its_look_up_ends)
{
	static const char *const said[] = {"10.0.0.1", NULL};
	addresses = said;
	for (int i = 0; i < 200; i++) {
		struct asker asker;
		setup(&asker, "addresses.test");
		assert_int_equal(resolver_start(asker.resolver, &err), 0);
		if (i % 2)
			wait_for(&begun);
		teardown(&asker);
		assert_int_equal(asker.n_results, 0);
		wait_for(&ended);
	}
}

TEST(without_memory_nothing_is_looked_up_and_the_next_try_succeeds)
{
	static const char *const said[] = {"10.0.0.1", NULL};
	struct asker asker;
	bool failed = true;
	setup(&asker, "addresses.test");
	addresses = said;
	for (unsigned k = 1; failed; k++) {
		failing_malloc_at(k);
		int result = resolver_start(asker.resolver, &err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
		if (failed)
			assert_int_equal(err.kind, ERROR_NO_MEMORY);
	}
	assert_int_equal(loop_run(asker.loop, &err), 0);
	assert_int_equal(asker.result.n, 1);
	wait_for(&ended);
	teardown(&asker);
}

TEST(only_what_needs_no_name_server_is_an_address)
{
	assert_true(resolver_is_address("10.0.0.1"));
	assert_true(resolver_is_address("::1"));
	assert_true(resolver_is_address("fd00::a:1"));
	assert_false(resolver_is_address("localhost"));
	assert_false(resolver_is_address("10.0.0.1.test"));
	assert_false(resolver_is_address("10.0.0"));
	assert_false(resolver_is_address("[::1]"));
	assert_false(resolver_is_address(""));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(localhost_has_addresses_of_loopback),
	cmocka_unit_test(addresses_of_both_families_come_in_order_and_each_once),
	cmocka_unit_test(of_more_addresses_than_the_limit_the_same_are_kept_in_whatever_order_they_come),
	cmocka_unit_test(a_name_that_is_unknown_or_has_no_address_fails_and_can_be_asked_again),
	cmocka_unit_test(one_look_up_is_under_way_at_a_time),
	cmocka_unit_test(the_end_of_the_resolver_does_not_wait_for_a_silent_name_server),
	cmocka_unit_test(a_resolver_may_go_while_its_look_up_ends),
	cmocka_unit_test(without_memory_nothing_is_looked_up_and_the_next_try_succeeds),
	cmocka_unit_test(only_what_needs_no_name_server_is_an_address),
};

static int watch_threads(void **state)
{
	(void)state;
	return pthread_key_create(&at_end, saw_end);
}

TEST_MAIN_WITH(tests, watch_threads, NULL)
