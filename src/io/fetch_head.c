/* SPDX-License-Identifier: Apache-2.0 */

#include "io/fetch_head.h"

#include "base/limits.h"

#define CONTENT_TYPE_CAP 256u
#define GRPC_MESSAGE_CAP (4u * LIMIT_KIB)
#define HEAD_CAP (64u * LIMIT_KIB)

void fetch_head_init(struct fetch_head *head)
{
	*head = (struct fetch_head){.grpc_status = -1};
	sbuf_init(&head->content_type, CONTENT_TYPE_CAP);
	sbuf_init(&head->grpc_message, GRPC_MESSAGE_CAP);
}

void fetch_head_deinit(struct fetch_head *head)
{
	sbuf_deinit(&head->content_type);
	sbuf_deinit(&head->grpc_message);
}

/* A new block of headers: the answer, or a 1xx before it. */
static void begin_head(struct fetch_head *head, struct view line)
{
	struct view version, rest;
	uint64_t status = 0;
	view_cut(line, VIEW(" "), &version, &rest);
	rest.len = rest.len > 3 ? 3 : rest.len;
	view_parse_u64(rest, &status);
	head->status = (int)status;
	sbuf_clear(&head->content_type);
}

static void keep(struct sbuf *buf, struct view value)
{
	sbuf_clear(buf);
	sbuf_append(buf, value);
}

static void read_header(struct fetch_head *head, struct view name, struct view value)
{
	uint64_t number;
	if (view_equal_ignoring_case(name, VIEW("content-type"))) {
		keep(&head->content_type, value);
	} else if (view_equal_ignoring_case(name, VIEW("grpc-status"))) {
		if (view_parse_u64(value, &number) && number <= INT32_MAX)
			head->grpc_status = (int)number;
	} else if (view_equal_ignoring_case(name, VIEW("grpc-message"))) {
		keep(&head->grpc_message, value);
	}
}

int fetch_head_line(struct fetch_head *head, struct view bytes, bool *ret_ends, struct error *err)
{
	struct view line = view_trim(bytes);
	struct view name, value;
	head->size += bytes.len;
	if (head->size > HEAD_CAP)
		return error_set(err, ERROR_LIMIT, 0, "the head of the answer is over %u bytes",
				 HEAD_CAP);
	*ret_ends = line.len == 0 && !head->is_complete && head->status >= 200;
	if (*ret_ends)
		head->is_complete = true;
	else if (view_starts_with(line, VIEW("HTTP/")) && !head->is_complete)
		begin_head(head, line);
	else if (view_cut(line, VIEW(":"), &name, &value))
		read_header(head, name, view_trim(value));
	return 0;
}
