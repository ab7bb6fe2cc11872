/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The events are a plain array that is moved down when its front goes. XID errors are rare, and
 * moving 256 of them is faster than sending the report that carries them. Each event's UUID has the
 * same index as its event, so after a move the views are set anew.
 */

#include "agent/event_queue.h"

#include <string.h>

void event_queue_init(struct event_queue *queue, int64_t last_sequence)
{
	memset(queue->kinds, 0, sizeof(queue->kinds));
	queue->count = 0;
	queue->dropped = 0;
	queue->dropped_time = 0;
	queue->dropped_uptime_ms = 0;
	queue->last_sequence = last_sequence;
}

static void remove_front(struct event_queue *queue, uint32_t n)
{
	queue->count -= n;
	memmove(queue->events, queue->events + n, queue->count * sizeof(queue->events[0]));
	memmove(queue->uuids, queue->uuids + n, queue->count * sizeof(queue->uuids[0]));
	for (uint32_t i = 0; i < queue->count; i++)
		queue->events[i].uuid.ptr = queue->uuids[i];
}

/* The kind of the event. A new one takes the place of the one that was seen longest ago. */
static struct event_queue_kind *kind_of(struct event_queue *queue, const struct report_event *event)
{
	struct event_queue_kind *oldest = &queue->kinds[0];
	for (size_t i = 0; i < EVENT_QUEUE_KINDS; i++) {
		struct event_queue_kind *kind = &queue->kinds[i];
		if (kind->sequence > 0 && kind->code == event->code &&
		    view_equal((struct view){kind->uuid, kind->uuid_len}, event->uuid))
			return kind;
		if (kind->sequence < oldest->sequence)
			oldest = kind;
	}
	*oldest = (struct event_queue_kind){.uuid_len = event->uuid.len, .code = event->code};
	memcpy(oldest->uuid, event->uuid.ptr, event->uuid.len);
	return oldest;
}

/* A time of its own for what was at that time, while the last time of an event that is alike is near. */
static int64_t after(int64_t last, int64_t own)
{
	return last >= own && last - own < EVENT_QUEUE_AHEAD_MS ? last + 1 : own;
}

static void tell_apart(struct event_queue *queue, struct report_event *event)
{
	struct event_queue_kind *kind = kind_of(queue, event);
	if (kind->sequence > 0) {
		event->time = after(kind->time, event->time);
		if (event->uptime_ms > 0) /* it is known */
			event->uptime_ms = after(kind->uptime_ms, event->uptime_ms);
	}
	kind->time = event->time;
	kind->uptime_ms = event->uptime_ms;
	kind->sequence = event->sequence;
}

void event_queue_add(struct event_queue *queue, const struct report_event *event)
{
	if (queue->count == LIMIT_REPORT_EVENTS) {
		queue->dropped_time = queue->events[0].time;
		queue->dropped_uptime_ms = queue->events[0].uptime_ms;
		remove_front(queue, 1);
		queue->dropped++;
	}
	uint32_t i = queue->count++;
	size_t len = event->uuid.len < LIMIT_TEXT_UUID ? event->uuid.len : LIMIT_TEXT_UUID;
	if (len > 0)
		memcpy(queue->uuids[i], event->uuid.ptr, len);
	queue->events[i] = *event;
	queue->events[i].sequence = ++queue->last_sequence;
	queue->events[i].uuid = (struct view){queue->uuids[i], len};
	tell_apart(queue, &queue->events[i]);
}

void event_queue_acknowledge(struct event_queue *queue, int64_t sequence)
{
	uint32_t n = 0;
	while (n < queue->count && queue->events[n].sequence <= sequence)
		n++;
	if (n > 0)
		remove_front(queue, n);
}

struct array event_queue_events(struct event_queue *queue)
{
	return (struct array){queue->count ? queue->events : NULL, queue->count, true};
}
