/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A page holds the loop's text and the own metrics of one moment. A page without devices is for those
 * who have waited for it and is not kept: the next one may have them.
 *
 * How large a page will be is not known before it is written, so room for one like the last is asked
 * for. If it grows beyond, its writer finds no room, and it lacks devices. The own metrics are rendered
 * into the room that is left, so that they never use more than that for a moment.
 */

#include "controller/scrapes.h"

#include <stdlib.h>

#include "base/limits.h"
#include "base/list.h"
#include "base/sbuf.h"
#include "controller/exposition_budget.h"

#define METRICS_CAP (16u * LIMIT_MIB)

/* A request for which a text is awaited. */
struct waiting {
	struct list link;
	struct server_request *request;
};

/* What is sent, to as many as ask for it. */
struct page {
	unsigned references;
	struct exposition_text *text; /* NULL: it has the own metrics alone */
	struct sbuf own;
	size_t own_size;    /* taken from the budget */
	struct view *parts; /* of the text, then the own ones */
	size_t n_parts;
};

struct scrapes {
	struct scrapes_config config;
	struct loop *loop;
	struct loop_timer *timer; /* while a text is awaited: give up. Else: the page is too old */
	struct list waiting;      /* struct waiting */
	bool is_asked;
	struct page *page; /* the last one with devices, as long as it is kept */
	size_t last_size;  /* of it, or of the one before */
	struct scrapes_counts counts;
};

/* Pages */

static void page_unref(void *owner)
{
	struct page *page = owner;

	if (!page || --page->references > 0)
		return;
	exposition_budget_give(page->own_size);
	exposition_text_unref(page->text);
	sbuf_deinit(&page->own);
	free(page->parts);
	free(page);
}

/* What the process counts of itself. */
static bool render(const struct scrapes *scrapes, struct sbuf *own)
{
	const size_t left = exposition_budget_left();

	sbuf_init(own, left < METRICS_CAP ? left : METRICS_CAP);
	if (scrapes->config.collect)
		scrapes->config.collect(scrapes->config.owner);
	if (scrapes->config.append)
		scrapes->config.append(scrapes->config.owner, own);
	metric_render(scrapes->config.metrics, own);
	return own->failure == ERROR_NONE;
}

static bool list_parts(struct page *page)
{
	size_t n = 0;
	const struct view *parts =
		page->text ? exposition_text_parts(page->text, &n) : NULL;

	page->parts = calloc(n + 1, sizeof(*page->parts));
	if (!page->parts)
		return false;
	for (size_t i = 0; i < n; i++)
		page->parts[i] = parts[i];
	page->parts[n] = sbuf_view(&page->own);
	page->n_parts = n + 1;
	return true;
}

/* Takes the text over, which may be NULL. NULL: there is no memory, or no room. */
static struct page *make_page(const struct scrapes *scrapes, struct exposition_text *take_text)
{
	struct page *page = calloc(1, sizeof(*page));

	if (!page) {
		exposition_text_unref(take_text);
		return NULL;
	}
	page->references = 1;
	page->text = take_text;
	if (render(scrapes, &page->own) && exposition_budget_take(page->own.allocated)) {
		page->own_size = page->own.allocated;
		if (list_parts(page))
			return page;
	}
	page_unref(page);
	return NULL;
}

static size_t size_of(const struct page *page)
{
	size_t size = 0;

	for (size_t i = 0; i < page->n_parts; i++)
		size += page->parts[i].len;
	return size;
}

/* Answers */

static void refuse(struct scrapes *scrapes, struct server_request *request)
{
	scrapes->counts.refused++;
	server_answer(request, &(struct server_answer){
		.status = 503,
		.content_type = "text/plain; charset=utf-8",
		.body = VIEW("no memory for metrics: look for clients that do not read, or raise the memory "
			     "limit\n"),
		.retry_after_s = SCRAPES_RETRY_S,
	});
}

/* Without a page it is refused. */
static void answer(struct scrapes *scrapes, struct server_request *request, struct page *page)
{
	if (!page) {
		refuse(scrapes, request);
		return;
	}
	page->references++;
	server_answer(request, &(struct server_answer){
		.status = 200,
		.content_type = METRIC_CONTENT_TYPE,
		.shared = {page->parts, page->n_parts, page_unref, page},
	});
}

static void answer_all(struct scrapes *scrapes, struct page *page)
{
	struct list *link;

	while ((link = list_first(&scrapes->waiting))) {
		struct waiting *waiting = CONTAINER_OF(link, struct waiting, link);

		list_remove(link);
		answer(scrapes, waiting->request, page);
		free(waiting);
	}
}

static void answer_without_devices(struct scrapes *scrapes, struct server_request *request,
				   enum scrapes_lack lack)
{
	scrapes->counts.incomplete[lack]++;
	struct page *page = make_page(scrapes, NULL);

	answer(scrapes, request, page);
	page_unref(page);
}

static void answer_all_without_devices(struct scrapes *scrapes, enum scrapes_lack lack)
{
	const struct list *head = &scrapes->waiting;

	for (const struct list *link = head->next; link != head; link = link->next)
		scrapes->counts.incomplete[lack]++;
	struct page *page = make_page(scrapes, NULL);

	answer_all(scrapes, page);
	page_unref(page);
}

static void drop_page(struct scrapes *scrapes)
{
	page_unref(scrapes->page);
	scrapes->page = NULL;
}

static void on_timer(void *owner)
{
	struct scrapes *scrapes = owner;

	drop_page(scrapes);
	if (scrapes->is_asked)
		answer_all_without_devices(scrapes, SCRAPES_NO_ANSWER);
	scrapes->is_asked = false;
}

static bool begin_to_wait(struct scrapes *scrapes, struct server_request *request)
{
	struct waiting *waiting = calloc(1, sizeof(*waiting));

	if (!waiting)
		return false;
	waiting->request = request;
	list_init(&waiting->link);
	list_append(&scrapes->waiting, &waiting->link);
	return true;
}

static bool ask(struct scrapes *scrapes)
{
	if (!scrapes->is_asked) {
		if (!scrapes->config.ask(scrapes->config.owner))
			return false;
		loop_timer_set(scrapes->timer, SCRAPES_TIMEOUT_MS);
		scrapes->is_asked = true;
	}
	return true;
}

/* Of a process that says nothing of devices the page is whole without them. */
static void answer_own(struct scrapes *scrapes, struct server_request *request)
{
	struct page *page = make_page(scrapes, NULL);

	answer(scrapes, request, page);
	page_unref(page);
}

void scrapes_answer(struct scrapes *scrapes, struct server_request *request)
{
	if (!scrapes->config.ask)
		answer_own(scrapes, request);
	else if (scrapes->page)
		answer(scrapes, request, scrapes->page);
	else if (!scrapes->is_asked && exposition_budget_left() < scrapes->last_size)
		refuse(scrapes, request);
	else if (!ask(scrapes))
		answer_without_devices(scrapes, request, SCRAPES_QUEUE_FULL);
	else if (!begin_to_wait(scrapes, request))
		answer_without_devices(scrapes, request, SCRAPES_NO_MEMORY);
}

void scrapes_take(struct scrapes *scrapes, struct exposition_text *take_text,
		  enum error_kind failure)
{
	drop_page(scrapes);
	scrapes->is_asked = false;
	loop_timer_clear(scrapes->timer);
	if (!take_text) {
		answer_all_without_devices(scrapes, failure == ERROR_LIMIT ? SCRAPES_TOO_LARGE
									   : SCRAPES_NO_MEMORY);
		return;
	}
	scrapes->page = make_page(scrapes, take_text);
	if (scrapes->page)
		scrapes->last_size = size_of(scrapes->page);
	answer_all(scrapes, scrapes->page);
	loop_timer_set(scrapes->timer, SCRAPES_KEEP_MS);
}

static void scrapes_freep(struct scrapes **scrapes)
{
	scrapes_free(*scrapes);
}

int scrapes_new(struct loop *loop, const struct scrapes_config *config,
		struct scrapes **ret_scrapes, struct error *err)
{
	CLEANUP(scrapes_freep) struct scrapes *scrapes = calloc(1, sizeof(*scrapes));

	if (!scrapes)
		return error_no_memory(err);
	scrapes->config = *config;
	scrapes->loop = loop;
	list_init(&scrapes->waiting);
	if (loop_timer_new(loop, on_timer, scrapes, &scrapes->timer, err) < 0)
		return -1;
	*ret_scrapes = TAKE(scrapes);
	return 0;
}

void scrapes_free(struct scrapes *scrapes)
{
	struct list *link;

	if (!scrapes)
		return;
	while ((link = list_first(&scrapes->waiting))) {
		list_remove(link);
		free(CONTAINER_OF(link, struct waiting, link));
	}
	drop_page(scrapes);
	loop_timer_free(scrapes->timer);
	free(scrapes);
}

struct scrapes_counts scrapes_counts(const struct scrapes *scrapes)
{
	return scrapes->counts;
}
