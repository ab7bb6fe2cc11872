/* SPDX-License-Identifier: Apache-2.0 */
#include "model/place.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ENDED 1024u

static struct view place_key(const struct table_node *node)
{
	return CONTAINER_OF(node, struct place, link)->name;
}

void place_book_init(struct place_book *book)
{
	*book = (struct place_book){0};
	table_init(&book->by_name, place_key);
}

void place_book_deinit(struct place_book *book)
{
	assert(book->by_name.count == 0);
	table_deinit(&book->by_name);
}

static struct place *place_of(struct table_node *node)
{
	return node ? CONTAINER_OF(node, struct place, link) : NULL;
}

struct place *place_find(const struct place_book *book, struct view name)
{
	return place_of(table_find(&book->by_name, name));
}

struct place *place_next(const struct place_book *book, const struct place *place)
{
	return place_of(table_next(&book->by_name, place ? &place->link : NULL));
}

static struct view ended_key(const struct table_node *node)
{
	return CONTAINER_OF(node, struct place_ended, by_uid)->uid;
}

struct place *place_ensure(struct place_book *book, struct view name, struct error *err)
{
	struct place *place = place_find(book, name);
	if (place)
		return place;
	place = calloc(1, sizeof(*place) + name.len);
	if (!place) {
		error_no_memory(err);
		return NULL;
	}
	place->name = view_copy(name, (char *)(place + 1));
	list_init(&place->pods);
	list_init(&place->attributions);
	list_init(&place->slices);
	list_init(&place->ended);
	table_init(&place->ended_by_uid, ended_key);
	if (table_add(&book->by_name, &place->link, err) < 0) {
		free(place);
		return NULL;
	}
	return place;
}

static struct place_ended *ended_at(struct list *link)
{
	return CONTAINER_OF(link, struct place_ended, link);
}

static void forget_first(struct place *place)
{
	struct place_ended *ended = ended_at(place->ended.next);
	assert(place->n_ended > 0 && !list_is_empty(&place->ended));
	list_remove(&ended->link);
	table_remove(&place->ended_by_uid, &ended->by_uid);
	place->n_ended--;
	free(ended);
}

void place_release(struct place_book *book, struct place *place)
{
	if (!place || place->node || place->layouts || place->report || place->is_followed ||
	    !list_is_empty(&place->pods) || !list_is_empty(&place->attributions) || !list_is_empty(&place->slices))
		return;
	while (!list_is_empty(&place->ended))
		forget_first(place);
	assert(place->n_ended == 0 && place->n_slices == 0 && place->n_told == 0);
	table_deinit(&place->ended_by_uid);
	place_note_claims(book, place, false);
	table_remove(&book->by_name, &place->link);
	boot_history_forget(&place->history);
	free(place->debounced);
	free(place);
}

void place_touch(const struct place_book *book, const struct place *place, bool initial)
{
	if (book->touch && place &&
	    (place->report || place->n_told > 0 || !list_is_empty(&place->attributions) ||
	     !list_is_empty(&place->slices)))
		book->touch(book->touch_owner, place->name, initial);
}

void place_note_boot(const struct place_book *book, struct place *place)
{
	place->is_boot_news = true;
	if (book->boot && (place->report || !list_is_empty(&place->attributions)))
		book->boot(book->boot_owner, place->name);
}

void place_note_claims(struct place_book *book, struct place *place, bool lacks_claims)
{
	assert(book->n_lacking >= place->lacks_claims);
	book->n_lacking += lacks_claims;
	book->n_lacking -= place->lacks_claims;
	place->lacks_claims = lacks_claims;
}

void place_touch_all(const struct place_book *book, bool only_lacking, bool initial)
{
	const struct place *place = NULL;
	if (only_lacking && book->n_lacking == 0)
		return;
	while ((place = place_next(book, place)))
		if (place->lacks_claims || !only_lacking)
			place_touch(book, place, initial);
}

bool place_reports_uid(const struct place *place, struct view uid)
{
	const struct array entries = place->report ? place->report->checkpoint.entries : (struct array){0};
	ARRAY_EACH(const struct report_checkpoint_entry, entry, entries)
		if (view_equal(entry->pod_uid, uid))
			return true;
	return false;
}

bool place_reports_name(const struct place *place, struct view namespace, struct view name)
{
	const struct array entries = place->report ? place->report->pod_resources : (struct array){0};
	ARRAY_EACH(const struct report_pod_resource, entry, entries)
		if (view_equal(entry->name, name) && view_equal(entry->namespace, namespace))
			return true;
	return false;
}

static uint32_t raise(uint32_t *counted, uint32_t n)
{
	uint32_t more = n > *counted ? n - *counted : 0;
	*counted += more;
	assert(*counted >= n);
	return more;
}

struct place_refusals place_note_refusals(struct place *place, struct place_refusals refused)
{
	return (struct place_refusals){
		.claims = raise(&place->refused.claims, refused.claims),
		.ids = raise(&place->refused.ids, refused.ids),
		.devices = raise(&place->refused.devices, refused.devices),
		.objects = raise(&place->refused.objects, refused.objects),
		.debounced = raise(&place->refused.debounced, refused.debounced),
	};
}

void place_release_report(struct place *place)
{
	assert(!place->report || place->release);
	if (place->report)
		place->release(place->release_owner);
	place->report = NULL;
	figures_free(place->figures);
	place->figures = NULL;
}

/* What the node has told until now it told before it was booted, if it was. */
static void note_boot(struct place *place, const struct report *report)
{
	const enum report_boot boot = report_boot_of(place->report, report->boot_id);
	if (boot == REPORT_BOOT_SAME)
		return;
	boot_history_forget(&place->history);
	place->is_boot_news = false;
	if (boot == REPORT_BOOT_OTHER)
		place->booted_after = place->report->observed_at;
}

/* When the agent that the last report is of was last heard of, if another speaks now. */
static void note_instance(struct place *place, const struct report *report, uint64_t now_ms)
{
	const struct report *last = place->report;
	if (report_boot_of(last, report->boot_id) != REPORT_BOOT_SAME)
		place->former_heard_at = 0;
	else if (last->instance != report->instance)
		place->former_heard_at = report->observed_at - (int64_t)(now_ms - place->report_at);
}

void place_note_listed(struct place *place, int64_t listed_at, uint64_t now_ms)
{
	if (place->listed_at != listed_at)
		place->listed_told_at = now_ms;
	place->listed_at = listed_at;
}

void place_take_report(struct place *place, const struct report *report, place_release_fn release,
		       void *owner, uint64_t now_ms)
{
	assert(release);
	note_boot(place, report);
	note_instance(place, report, now_ms);
	place_release_report(place);
	place->report = report;
	place->release = release;
	place->release_owner = owner;
	place->report_at = now_ms;
	place->report_since = now_ms;
	boot_history_hear(&place->history, report, NULL);
	place_note_listed(place, report->sources.pod_resources.observed_at, now_ms);
	place->refused = (struct place_refusals){0};
}

bool place_take_figures(struct place *place, struct figures *take_figures)
{
	assert(place->report);
	figures_free(place->figures);
	place->figures = take_figures;
	return boot_history_hear(&place->history, place->report, take_figures);
}

static struct place_ended *find_ended(const struct place *place, struct view uid)
{
	struct table_node *node = table_find(&place->ended_by_uid, uid);
	return node ? CONTAINER_OF(node, struct place_ended, by_uid) : NULL;
}

bool place_has_ended(const struct place *place, struct view uid)
{
	return find_ended(place, uid) != NULL;
}

static struct place_ended *add_ended(struct place *place, struct view uid, uint64_t now_ms, struct error *err)
{
	struct place_ended *ended = calloc(1, sizeof(*ended) + uid.len);
	if (!ended) {
		error_no_memory(err);
		return NULL;
	}
	ended->uid = view_copy(uid, (char *)(ended + 1));
	if (table_add(&place->ended_by_uid, &ended->by_uid, err) < 0) {
		free(ended);
		return NULL;
	}
	ended->since = now_ms;
	list_init(&ended->link);
	place->n_ended++;
	return ended;
}

int place_remember_ended(struct place *place, struct view uid, uint64_t since_ms,
			 uint64_t now_ms, struct error *err)
{
	struct place_ended *ended = find_ended(place, uid);
	if (!ended && !(ended = add_ended(place, uid, now_ms, err)))
		return -1;
	if (since_ms > 0)
		ended->since = since_ms;
	ended->at = now_ms;
	list_remove(&ended->link);
	list_append(&place->ended, &ended->link);
	if (place->n_ended > MAX_ENDED)
		forget_first(place);
	assert(place->n_ended <= MAX_ENDED);
	return 0;
}

void place_forget_ended(struct place *place, uint64_t now_ms)
{
	while (!list_is_empty(&place->ended) &&
	       now_ms - ended_at(place->ended.next)->at > PLACE_ENDED_KEEP_MS)
		forget_first(place);
}

int place_set_debounced(struct place *place, const struct debounce_seen *debounced, size_t n_debounced,
		     uint64_t now_ms, struct error *err)
{
	struct debounce_seen *kept = NULL;
	assert(debounced || n_debounced == 0);
	if (n_debounced > 0 && !(kept = malloc(n_debounced * sizeof(*kept))))
		return error_no_memory(err);
	if (n_debounced > 0)
		memcpy(kept, debounced, n_debounced * sizeof(*kept));
	free(place->debounced);
	place->debounced = kept;
	place->n_debounced = n_debounced;
	place->debounced_at = now_ms;
	return 0;
}
