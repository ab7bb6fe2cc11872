/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/rest_series.h"

#include "base/limits.h"
#include "kube/request_counts.h"

#define LABELS_CAP (LIMIT_TEXT_NAME + 128u)
#define N_REQUESTS ((size_t)REQUEST_COUNTS_METHODS * REQUEST_COUNTS_CODES)

static bool is_of_a_host(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '.' || c == '-' || c == ':' || c == '[' || c == ']' || c == '_';
}

static void append_host(struct sbuf *buf, struct view host)
{
	sbuf_append(buf, VIEW("host=\""));
	for (size_t i = 0; i < host.len && i < LIMIT_TEXT_NAME; i++)
		if (is_of_a_host(host.ptr[i]))
			sbuf_append_char(buf, host.ptr[i]);
	sbuf_append_char(buf, '"');
}

/* Copied with its end. False: no memory. */
static bool keep(struct arena *arena, struct sbuf *buf, const char **ret)
{
	struct view copy;
	sbuf_append_char(buf, '\0');
	if (buf->failure != ERROR_NONE || !arena_copy(arena, sbuf_view(buf), &copy))
		return false;
	*ret = copy.ptr;
	return true;
}

const char *const *rest_series_requests(struct arena *arena, struct view host)
{
	const char **labels = arena_alloc(arena, N_REQUESTS + 1, sizeof(*labels));
	bool done = labels != NULL;
	for (size_t i = 0; done && i < N_REQUESTS; i++) {
		CLEANUP(sbuf_deinit) struct sbuf buf;
		sbuf_init(&buf, LABELS_CAP);
		sbuf_printf(&buf, "code=\"%s\",method=\"%s\",",
			    request_counts_codes[i % REQUEST_COUNTS_CODES],
			    request_counts_methods[i / REQUEST_COUNTS_CODES]);
		append_host(&buf, host);
		done = keep(arena, &buf, &labels[i]);
	}
	if (!done)
		return NULL;
	labels[N_REQUESTS] = NULL;
	return labels;
}

const char *const *rest_series_durations(struct arena *arena, struct view host)
{
	const char **labels = arena_alloc(arena, REQUEST_COUNTS_METHODS + 1, sizeof(*labels));
	bool done = labels != NULL;
	for (size_t i = 0; done && i < REQUEST_COUNTS_METHODS; i++) {
		CLEANUP(sbuf_deinit) struct sbuf buf;
		sbuf_init(&buf, LABELS_CAP);
		sbuf_printf(&buf, "verb=\"%s\",", request_counts_methods[i]);
		append_host(&buf, host);
		done = keep(arena, &buf, &labels[i]);
	}
	if (!done)
		return NULL;
	labels[REQUEST_COUNTS_METHODS] = NULL;
	return labels;
}
