/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * publisher_write - what a join decided of one object, as requests: first the questions that it
 * rests on, then the write itself. It sends nothing. Used by publisher only.
 *
 * Threads: the loop's.
 * Limits:  LIMIT_URL bytes of path, LIMIT_OBJECT_BYTES of body, LIMIT_MIB of changes to tell.
 */

#include "base/arena.h"
#include "base/error.h"
#include "base/list.h"
#include "base/sbuf.h"
#include "controller/event_changes.h"
#include "controller/question.h"
#include "join/join.h"
#include "kube/apiclient.h"
#include "model/inventory.h"

enum publisher_write_step {
	PUBLISHER_WRITE_ASK, /* the first question */
	PUBLISHER_WRITE_CREATE,
	PUBLISHER_WRITE_UPDATE,
	PUBLISHER_WRITE_DELETE,
	PUBLISHER_WRITE_READ, /* the object, after a conflict */
};

struct publisher_write {
	struct list link;                  /* the owner's */
	struct publisher_plan *plan;       /* likewise; NULL at first */
	struct apiclient_request *request; /* likewise: under way, or NULL */
	enum publisher_write_step step;    /* the request that is next or under way */
	enum publisher_write_step wanted;  /* when all questions are answered */
	struct list questions;             /* struct question */
	uint64_t node_changes;             /* as they were when the question of the node was */
	struct sbuf name;
	struct sbuf body;
	struct arena sent_arena;      /* of the next */
	struct attribution *sent;     /* what the body says, once somebody has asked */
	struct arena arena;           /* of the next */
	struct event_change *changes; /* that the status brings */
	size_t n_changes;
};

/* The node whose devices a plan is about; all borrowed. */
struct publisher_write_node {
	struct view name;
	const struct inventory *inventory;
	const struct event_change_node *changes; /* NULL: nobody is told of changes */
};

/*
 * The write for a device's action, which is not JOIN_KEEP. All that is needed is copied. Fails with
 * ERROR_NO_MEMORY or ERROR_LIMIT. Without memory for the changes there are none.
 */
MUST_USE int publisher_write_new(const struct publisher_write_node *node,
				 const struct join_device *device,
				 struct publisher_write **ret_write, struct error *err);
/* Cancels its request. The write must be in no list. Accepts NULL. */
void publisher_write_free(struct publisher_write *write);

/* The first question that is not answered, or NULL. Borrowed until it is dropped. */
struct question *publisher_write_question(const struct publisher_write *write);
/* The first question is answered as the write needs it. There must be one. */
void publisher_write_drop_question(struct publisher_write *write);
/* The step to take next: to ask while there are questions, then what is wanted. */
enum publisher_write_step publisher_write_next_step(const struct publisher_write *write);
/* True when a node whose object is to be deleted has come back since; it may be gone again. */
bool publisher_write_is_overtaken(const struct publisher_write *write,
				  const struct inventory *inventory, struct view node_name);

/*
 * The object with the status that an update sends, borrowed from the write. Fails with ERROR_NO_MEMORY,
 * ERROR_LIMIT or ERROR_REJECTED.
 */
MUST_USE int publisher_write_sent(struct publisher_write *write, const struct attribution **ret_sent,
				  struct error *err);

/*
 * The request of the write's step. It borrows from the write and from path, which is initialised
 * here and is the caller's to deinit, also on failure. Fails with ERROR_NO_MEMORY or ERROR_LIMIT.
 */
MUST_USE int publisher_write_make_call(const struct publisher_write *write, struct sbuf *path,
				       struct apiclient_call *ret_call, struct error *err);
