/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * answer - what the API server said when it did not do as asked: HTTP status and metav1.Status
 * become a kind of error, which is the caller's next step.
 *
 * Threads: any.
 */

#include "base/error.h"
#include "base/view.h"
#include "kube/resource.h"

/* An HTTP answer other than 2xx. All borrowed. */
struct answer {
	int status;
	uint32_t retry_after_ms; /* header Retry-After; 0: absent */
	struct view body;        /* as far as it came; read as Status where it is one */
};

/*
 * Fills *err; its text is the server's message, or the HTTP status where there is none. Where the server
 * names fields of the object (`details.causes[].field`), it is the first of them and what is wrong with it.
 *
 *	EXPIRED    410, and 504 that says "too large resource version" in any of its forms
 *	THROTTLED  429, and 5xx with Retry-After
 *	DENIED     401, 403
 *	NOT_FOUND  404
 *	CONFLICT   409
 *	REJECTED   other 4xx; 3xx, for redirects are never followed
 *	RETRY      all else
 */
void answer_judge(const struct answer *answer, struct error *err);
/* The same for the Status object of an ERROR event in a watch, by the code in it. */
void answer_judge_status(enum resource_encoding encoding, struct view object, struct error *err);
