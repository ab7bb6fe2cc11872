/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * record_events - what happens to the records of a set (model/record_set.h), in short.
 */

#include "lib/test_main.h"

#include "model/record_set.h"

#define UPSERT(v) (&(const struct record_event){.change = STORE_UPSERT, .version = (v)})
#define UPSERT_AT(v, ms) \
	(&(const struct record_event){.change = STORE_UPSERT, .version = (v), .now_ms = (ms)})
#define LISTED(v) (&(const struct record_event){.change = STORE_LISTED, .version = (v)})
/* As an item of a first list. */
#define LISTED_FIRST(v) \
	(&(const struct record_event){.change = STORE_LISTED, .version = (v), .is_initial = true})

/* A copy of what a decoder found is kept. */
static inline void put_record(struct record_set *set, const void *fields, const struct record_event *event)
{
	struct error err;

	assert_int_equal(record_set_put_copy(set, fields, event, &err), 0);
}

/* A record with that key goes; it is there. */
static inline void remove_record(struct record_set *set, struct view key, uint64_t now_ms)
{
	const struct record_event event = {.change = STORE_DELETE, .now_ms = now_ms};

	record_set_remove(set, record_set_find(set, key), &event);
}
