/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * reflector_verdict - what a reflector does next after an answer that was of no use. Used by
 * reflector only, which carries it out.
 *
 *	| end of the answer        | next request                | when                               |
 *	|--------------------------|-----------------------------|------------------------------------|
 *	| 5xx, 429                 | the same                    | after a back-off                   |
 *	| 401, 403                 | the same                    | after a back-off                   |
 *	| 410, version too large   | the first state             | at once, but see below             |
 *	| 404 of a list            | the first state             | every absent_retry_ms              |
 *	| 404 of a watch           | the first state             | after a back-off                   |
 *	| other refusals           | the first state             | after a back-off                   |
 *	| the sink could not take  | the first state             | after a back-off                   |
 *
 * A position that has expired is listed again at once only if the watch had made progress, else
 * after a back-off. A list that is refused for this reason asks next for the newest version there
 * is. A server that cannot stream the first state is asked to list it.
 *
 * Threads: any.
 */

#include "base/error.h"
#include "kube/reflector_query.h"

enum reflector_verdict_next {
	REFLECTOR_VERDICT_GO_ON,      /* request `kind` at once */
	REFLECTOR_VERDICT_BACK_OFF,   /* request `kind` after a back-off */
	REFLECTOR_VERDICT_LIST_AGAIN, /* the position of the watch is lost: request the first state */
	REFLECTOR_VERDICT_ABSENT,     /* the server does not know the resource */
};

struct reflector_verdict {
	enum reflector_verdict_next next;
	enum list_query_kind kind;
	bool wants_newest; /* reflector_query's is_newest from now on */
	bool wants_whole;  /* its is_whole from now on */
};

/*
 * The server refused what `query` asked for, for this reason (answer_judge()). version: the position,
 * as it was when the request was made.
 */
struct reflector_verdict reflector_verdict_refused(const struct reflector_query *query,
						   struct view version, enum error_kind why);
/*
 * The server answered 200, but the body broke off, for this reason. ERROR_NONE: it ended too early.
 * A watch only comes here with a reason.
 */
struct reflector_verdict reflector_verdict_broken(const struct reflector_query *query,
						  enum error_kind why);
