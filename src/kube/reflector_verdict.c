/* SPDX-License-Identifier: Apache-2.0 */

#include "kube/reflector_verdict.h"

#include <assert.h>

static struct reflector_verdict back_off(enum list_query_kind kind)
{
	return (struct reflector_verdict){REFLECTOR_VERDICT_BACK_OFF, kind};
}

static struct reflector_verdict go_on(enum list_query_kind kind)
{
	return (struct reflector_verdict){REFLECTOR_VERDICT_GO_ON, kind};
}

static struct reflector_verdict list_again(const struct reflector_query *query)
{
	return (struct reflector_verdict){REFLECTOR_VERDICT_LIST_AGAIN,
					  reflector_query_first(query)};
}

static struct reflector_verdict refused_watch(const struct reflector_query *query,
					      enum error_kind why)
{
	struct reflector_verdict verdict;
	switch (why) {
	case ERROR_EXPIRED:
		return list_again(query);
	case ERROR_NOT_FOUND:
		return back_off(reflector_query_first(query));
	case ERROR_REJECTED:
		/* It may be the version that the server does not take. */
		verdict = back_off(reflector_query_first(query));
		verdict.wants_newest = true;
		return verdict;
	default:
		return back_off(LIST_QUERY_WATCH);
	}
}

/* The version we asked for cannot be had: once, at once, the newest instead. */
static struct reflector_verdict refused_version(const struct reflector_query *query,
						struct view version)
{
	bool was_page = query->kind == LIST_QUERY_PAGE;
	bool was_asked = was_page ? query->is_whole
				  : reflector_query_version(query, version).len == 0;
	enum list_query_kind kind = was_page ? LIST_QUERY_LIST : query->kind;
	struct reflector_verdict verdict = was_asked ? back_off(kind) : go_on(kind);
	verdict.wants_newest = true;
	verdict.wants_whole = was_page;
	return verdict;
}

static struct reflector_verdict refused_first(const struct reflector_query *query,
					      struct view version, enum error_kind why)
{
	switch (why) {
	case ERROR_EXPIRED:
		return refused_version(query, version);
	case ERROR_NOT_FOUND:
		return (struct reflector_verdict){REFLECTOR_VERDICT_ABSENT,
						  reflector_query_first(query)};
	case ERROR_REJECTED:
		/* A server that cannot stream can list; a page whose token it does not take, too. */
		if (query->kind == LIST_QUERY_STREAM)
			return go_on(LIST_QUERY_LIST);
		return back_off(LIST_QUERY_LIST);
	default:
		return back_off(query->kind);
	}
}

struct reflector_verdict reflector_verdict_refused(const struct reflector_query *query,
						   struct view version, enum error_kind why)
{
	assert(why != ERROR_NONE);
	if (query->kind == LIST_QUERY_WATCH)
		return refused_watch(query, why);
	return refused_first(query, version, why);
}

static struct reflector_verdict broken_watch(const struct reflector_query *query,
					     enum error_kind why)
{
	assert(why != ERROR_NONE);
	if (why == ERROR_EXPIRED)
		return list_again(query);
	return back_off(why == ERROR_THROTTLED ? LIST_QUERY_WATCH : reflector_query_first(query));
}

/* What a server streams and we do not take, it may list. */
static struct reflector_verdict broken_stream(enum error_kind why)
{
	struct reflector_verdict verdict = back_off(why == ERROR_REJECTED ? LIST_QUERY_LIST
									  : LIST_QUERY_STREAM);
	verdict.wants_newest = why == ERROR_EXPIRED;
	return verdict;
}

struct reflector_verdict reflector_verdict_broken(const struct reflector_query *query,
						  enum error_kind why)
{
	switch (query->kind) {
	case LIST_QUERY_LIST:
	case LIST_QUERY_PAGE:
		break;
	case LIST_QUERY_STREAM:
		return broken_stream(why);
	case LIST_QUERY_WATCH:
		return broken_watch(query, why);
	}
	return back_off(LIST_QUERY_LIST);
}
