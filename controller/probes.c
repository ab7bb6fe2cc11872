/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The texts are those of Kubernetes' own components, which people and tools know to read:
 *	[+]nodes ok
 *	[+]leadership ok: this replica leads
 *	[-]pods: not synced: connection refused
 *	readyz check failed
 */

#include "controller/probes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/sbuf.h"

#define TEXT_CAP (64u * LIMIT_KIB)
#define TEXT_SIZE 256u

struct check {
	char name[TEXT_SIZE];
	char trouble[TEXT_SIZE]; /* "" when all is well */
	char note[TEXT_SIZE];    /* "": there is none */
	bool tolerated;
};

struct probes {
	struct probes_config config;
	struct check checks[PROBES_MAX_CHECKS];
	size_t n_checks;
};

static void answer(struct server_request *request, int status, const char *content_type,
		   struct view body)
{
	server_answer(request, &(struct server_answer){.status = status,
						       .content_type = content_type,
						       .body = body});
}

static void answer_text(struct server_request *request, int status, struct view body)
{
	answer(request, status, "text/plain; charset=utf-8", body);
}

/* "verbose" or "verbose=..." among what stands between the '&' of a query. */
static bool is_verbose(struct view query)
{
	bool more = true;
	while (more) {
		struct view part, name, value;
		more = view_cut(query, VIEW("&"), &part, &query);
		view_cut(part, VIEW("="), &name, &value);
		if (view_equal(name, VIEW("verbose")))
			return true;
	}
	return false;
}

static void answer_checks(struct server_request *request, const struct server_head *head,
			  const struct check *checks, size_t n_checks)
{
	CLEANUP(sbuf_deinit) struct sbuf text;
	sbuf_init(&text, TEXT_CAP);
	bool passed = true;
	for (size_t i = 0; i < n_checks; i++) {
		bool well = checks[i].trouble[0] == '\0';
		passed = passed && (well || checks[i].tolerated);
		if (well)
			sbuf_printf(&text, "[+]%s ok%s%s\n", checks[i].name,
				    checks[i].note[0] ? ": " : "", checks[i].note);
		else if (checks[i].tolerated)
			sbuf_printf(&text, "[+]%s ok without: %s\n", checks[i].name,
				    checks[i].trouble);
		else
			sbuf_printf(&text, "[-]%s: %s\n", checks[i].name, checks[i].trouble);
	}
	/* The path without its slash is the name of the whole. */
	sbuf_printf(&text, "%.*s check %s\n", VIEW_ARG(view_from_offset(head->path, 1)),
		    passed ? "passed" : "failed");
	if (passed && !is_verbose(head->query))
		answer_text(request, 200, VIEW("ok"));
	else
		answer_text(request, passed ? 200 : 500, sbuf_view(&text));
}

static void copy_text(struct view from, char to[static TEXT_SIZE])
{
	size_t len = from.len < TEXT_SIZE ? from.len : TEXT_SIZE - 1;
	memcpy(to, from.ptr ? from.ptr : "", len);
	to[len] = '\0';
}

static void answer_livez(const struct probes *probes, struct server_request *request,
			 const struct server_head *head)
{
	/* That this is being answered says that the front lives. */
	struct check checks[] = {{.name = "front"}, {.name = "loop"}};
	if (probes->config.silent_ms(probes->config.owner) > probes->config.max_silent_ms)
		copy_text(VIEW("the main thread does not respond"), checks[1].trouble);
	answer_checks(request, head, checks, ARRAY_SIZE(checks));
}

static void on_request(void *owner, struct server_request *request, const struct server_head *head,
		       struct view body)
{
	(void)body;
	struct probes *probes = owner;
	if (view_equal(head->path, VIEW("/readyz")))
		answer_checks(request, head, probes->checks, probes->n_checks);
	else if (view_equal(head->path, VIEW("/livez")))
		answer_livez(probes, request, head);
	else
		answer_text(request, 404,
			    VIEW("unknown path: use /livez or /readyz; metrics are at "
				 "--metrics-address\n"));
}

static void on_head(void *owner, struct server_request *request, const struct server_head *head)
{
	(void)owner;
	if (view_equal(head->method, VIEW("GET")) || view_equal(head->method, VIEW("HEAD")))
		server_proceed(request);
	else
		server_answer(request, &(struct server_answer){.status = 405, .allow = "GET, HEAD"});
}

int probes_new(const struct probes_config *config, struct probes **ret_probes, struct error *err)
{
	const struct probes_check starting = {VIEW("start"), VIEW("not finished")};
	struct probes *probes = calloc(1, sizeof(*probes));
	if (!probes)
		return error_no_memory(err);
	probes->config = *config;
	probes_set(probes, &starting, 1);
	*ret_probes = probes;
	return 0;
}

void probes_free(struct probes *probes)
{
	free(probes);
}

struct server_handler probes_handler(struct probes *probes)
{
	return (struct server_handler){probes, on_head, on_request};
}

void probes_set(struct probes *probes, const struct probes_check *checks, size_t n_checks)
{
	assert(n_checks <= PROBES_MAX_CHECKS);
	for (size_t i = 0; i < n_checks; i++) {
		copy_text(checks[i].name, probes->checks[i].name);
		copy_text(checks[i].trouble, probes->checks[i].trouble);
		copy_text(checks[i].note, probes->checks[i].note);
		probes->checks[i].tolerated = checks[i].tolerated;
	}
	probes->n_checks = n_checks;
}
