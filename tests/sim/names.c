/* SPDX-License-Identifier: Apache-2.0 */

/*
 * io/resolver.h without a name server: the controller has one address, and a look-up takes no time.
 */

#include <stdlib.h>

#include "io/resolver.h"

struct resolver {
	resolver_fn resolved;
	void *owner;
	struct loop_timer *timer;
};

static void answer(void *owner)
{
	static const struct resolver_result result = {.n = 1, .addresses = {"10.0.0.1"}};
	struct resolver *resolver = owner;

	resolver->resolved(resolver->owner, &result);
}

int resolver_new(struct loop *loop, const char *host, resolver_fn resolved, void *owner,
		 struct resolver **ret_resolver, struct error *err)
{
	struct resolver *resolver = calloc(1, sizeof(*resolver));

	(void)host;
	if (!resolver)
		return error_no_memory(err);
	resolver->resolved = resolved;
	resolver->owner = owner;
	if (loop_timer_new(loop, answer, resolver, &resolver->timer, err) < 0) {
		free(resolver);
		return -1;
	}
	*ret_resolver = resolver;
	return 0;
}

void resolver_free(struct resolver *resolver)
{
	if (!resolver)
		return;
	loop_timer_free(resolver->timer);
	free(resolver);
}

int resolver_start(struct resolver *resolver, struct error *err)
{
	(void)err;
	if (!loop_timer_is_set(resolver->timer))
		loop_timer_set(resolver->timer, 0);
	return 0;
}

bool resolver_is_address(const char *host)
{
	(void)host;
	return false;
}
