/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * httpmsg - reads the head of an HTTP/1.1 request, and writes the head of an answer. It follows RFC
 * 9112, strictly where that leaves a choice to the server. If two readers could cut a request
 * differently, it is refused, never repaired.
 *
 * Refused are
 * - HTTP/1.0 and any version but 1.1;
 * - targets that do not begin with '/';
 * - bare CR or LF, NUL and other control characters, folded lines, blanks before a colon;
 * - a second Host, Content-Length, Authorization or Content-Type, and no Host;
 * - Transfer-Encoding (with Content-Length: 400, else 411) and content codings;
 * - expectations but 100-continue;
 * - empty lines before the request.
 *
 * Threads: any.
 * Limits:  a head of LIMIT_HTTP_HEAD bytes and LIMIT_HTTP_HEADERS headers.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sbuf.h"
#include "base/view.h"

/* Bytes of the head by place: the buffer they are in may move while the head arrives. */
struct httpmsg_span {
	uint32_t at;
	uint32_t len;
};

/* The state of reading one head; zeroed before its first byte. */
struct httpmsg {
	uint32_t parsed;    /* bytes of complete lines that were read */
	uint32_t searched;  /* bytes in which no further line end is */
	uint32_t n_headers;
	uint32_t seen;      /* one bit for each header that may come once */
	bool chunked;       /* Transfer-Encoding came */
	bool keep_alive;
	bool expects_continue;
	struct httpmsg_span method;
	struct httpmsg_span target;
	struct httpmsg_span authorization;
	struct httpmsg_span content_type;
	int64_t content_length;
	int refusal;        /* status to refuse with */
	const char *reason; /* static text, one line */
};

enum httpmsg_step {
	HTTPMSG_MORE,    /* not complete: call again with more bytes */
	HTTPMSG_HEAD,    /* complete: msg->parsed bytes long */
	HTTPMSG_REFUSED, /* answer with msg->refusal and msg->reason, and close: what follows has no
	                    certain beginning */
};

/*
 * Continues to read a head. bytes is all that has arrived from the head's first byte on, and may go
 * on behind its end; earlier calls saw a prefix of it. However the bytes are cut into calls, the
 * result is the same. After HTTPMSG_HEAD and HTTPMSG_REFUSED msg is not to be fed again.
 */
enum httpmsg_step httpmsg_read(struct httpmsg *msg, struct view bytes);

/* A complete head, borrowed from the bytes it was read from. */
struct httpmsg_head {
	struct view method;
	struct view path;          /* of the target, as sent: nothing is decoded */
	struct view query;         /* behind '?', or empty */
	struct view authorization; /* value of the header, or empty */
	struct view content_type;
	int64_t content_length;    /* -1: absent */
	bool keep_alive;           /* the client did not say "close" */
	bool expects_continue;     /* it waits for "100 Continue" before it sends a body */
};

/* The parts of a head that httpmsg_read() found complete in these bytes. */
void httpmsg_head(const struct httpmsg *msg, struct view bytes, struct httpmsg_head *ret_head);

/* What an answer's head says. */
struct httpmsg_answer {
	int status;
	const char *content_type; /* NULL: there is no body */
	size_t content_length;
	uint32_t retry_after_s;   /* 0: no Retry-After */
	struct view location;     /* left out when empty or not visible ASCII */
	const char *allow;        /* methods, for 405; or NULL */
	bool close;               /* no further request is read */
};

/*
 * Appends the head up to and with the empty line. 401 says by itself that a bearer token is asked
 * for. Failure is the buffer's.
 */
void httpmsg_write(const struct httpmsg_answer *answer, struct sbuf *out);

/* The interim answer that lets a client send its body. */
struct view httpmsg_continue(void);
