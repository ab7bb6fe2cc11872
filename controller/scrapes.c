/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scrapes.h"

#include <stdlib.h>

#include "base/limits.h"
#include "base/list.h"
#include "base/sbuf.h"

#define METRICS_CAP (16u * LIMIT_MIB)

/* A request for which a text is awaited. */
struct waiting {
	struct list link;
	struct server_request *request;
};

struct scrapes {
	struct scrapes_config config;
	struct loop *loop;
	struct loop_timer *timer; /* while a text is awaited: give up. Else: it is too old */
	struct list waiting;      /* struct waiting */
	bool is_asked;
	struct exposition_text *text; /* the last one, as long as it is kept */
	uint64_t taken_at;
	uint64_t incomplete;
};

static void answer_trouble(struct server_request *request, struct view trouble)
{
	server_answer(request, &(struct server_answer){
		.status = 503,
		.content_type = "text/plain; charset=utf-8",
		.body = trouble,
		.retry_after_s = 1,
	});
}

/* With the text there is, if any. */
static void answer(struct scrapes *scrapes, struct server_request *request, struct view own)
{
	struct server_answer answer = {
		.status = 200,
		.content_type = METRIC_CONTENT_TYPE,
		.body = own,
	};

	if (scrapes->text) {
		answer.shared.parts =
			exposition_text_parts(scrapes->text, &answer.shared.n_parts);
		answer.shared.release = exposition_text_unref;
		answer.shared.owner = exposition_text_ref(scrapes->text);
	} else if (scrapes->config.ask) {
		scrapes->incomplete++;
	}
	server_answer(request, &answer);
}

/* What the process counts of itself, rendered once for all who wait. */
static bool render(struct scrapes *scrapes, struct sbuf *own)
{
	sbuf_init(own, METRICS_CAP);
	if (scrapes->config.collect)
		scrapes->config.collect(scrapes->config.owner);
	if (scrapes->config.append)
		scrapes->config.append(scrapes->config.owner, own);
	metric_render(scrapes->config.metrics, own);
	return own->failure == ERROR_NONE;
}

static void answer_one(struct scrapes *scrapes, struct server_request *request)
{
	CLEANUP(sbuf_deinit) struct sbuf own;

	if (render(scrapes, &own))
		answer(scrapes, request, sbuf_view(&own));
	else
		answer_trouble(request, VIEW("metrics do not fit into memory\n"));
}

static void answer_all(struct scrapes *scrapes)
{
	CLEANUP(sbuf_deinit) struct sbuf own;
	const bool is_rendered = render(scrapes, &own);
	struct list *link;

	while ((link = list_first(&scrapes->waiting))) {
		struct waiting *waiting = CONTAINER_OF(link, struct waiting, link);

		list_remove(link);
		if (is_rendered)
			answer(scrapes, waiting->request, sbuf_view(&own));
		else
			answer_trouble(waiting->request, VIEW("metrics do not fit into memory\n"));
		free(waiting);
	}
}

static void drop_text(struct scrapes *scrapes)
{
	exposition_text_unref(scrapes->text);
	scrapes->text = NULL;
}

/* While clients hold many texts, no further one is made, and the last one serves on. */
static bool is_crowded(const struct scrapes *scrapes)
{
	return exposition_text_alive() >= LIMIT_EXPOSITION_TEXTS + (scrapes->text != NULL);
}

static void on_timer(void *owner)
{
	struct scrapes *scrapes = owner;

	if (!scrapes->is_asked && is_crowded(scrapes)) {
		loop_timer_set(scrapes->timer, SCRAPES_KEEP_MS);
		return;
	}
	/* Of a loop that hangs the last text says what is no longer so. */
	drop_text(scrapes);
	if (scrapes->is_asked)
		answer_all(scrapes);
	scrapes->is_asked = false;
}

static bool is_current(const struct scrapes *scrapes)
{
	return scrapes->text &&
	       (is_crowded(scrapes) ||
		loop_now_ms(scrapes->loop) - scrapes->taken_at < SCRAPES_KEEP_MS);
}

static bool wait_for_text(struct scrapes *scrapes, struct server_request *request)
{
	struct waiting *waiting;

	if (!scrapes->is_asked &&
	    (!scrapes->config.ask || is_crowded(scrapes) ||
	     !scrapes->config.ask(scrapes->config.owner)))
		return false;
	waiting = calloc(1, sizeof(*waiting));
	if (!waiting)
		return false;
	if (!scrapes->is_asked)
		loop_timer_set(scrapes->timer, SCRAPES_TIMEOUT_MS);
	scrapes->is_asked = true;
	waiting->request = request;
	list_init(&waiting->link);
	list_append(&scrapes->waiting, &waiting->link);
	return true;
}

void scrapes_answer(struct scrapes *scrapes, struct server_request *request)
{
	if (is_current(scrapes) && !scrapes->is_asked)
		answer_one(scrapes, request);
	else if (!wait_for_text(scrapes, request))
		answer_one(scrapes, request);
}

void scrapes_take(struct scrapes *scrapes, struct exposition_text *take_text)
{
	drop_text(scrapes);
	scrapes->text = take_text;
	scrapes->taken_at = loop_now_ms(scrapes->loop);
	scrapes->is_asked = false;
	answer_all(scrapes);
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
	drop_text(scrapes);
	loop_timer_free(scrapes->timer);
	free(scrapes);
}

uint64_t scrapes_incomplete(const struct scrapes *scrapes)
{
	return scrapes->incomplete;
}
