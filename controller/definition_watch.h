/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * definition_watch - tells when the API server comes to know a kind, so that nobody need ask for it again
 * and again. It follows CustomResourceDefinitions by name, and of these the metadata alone.
 *
 * A kind whose definition is written is looked for every DEFINITION_WATCH_SOON_MS, for
 * DEFINITION_WATCH_TRY_MS: the server serves it a moment later. Otherwise, also where the right to follow
 * definitions is missing, it is looked for every DEFINITION_WATCH_RARELY_MS.
 *
 * Threads: the loop's.
 * Limits:  DEFINITION_WATCH_MAX definitions.
 */

#include "io/loop.h"
#include "kube/apiclient.h"

#define DEFINITION_WATCH_MAX 2u
#define DEFINITION_WATCH_SOON_MS 2000u
#define DEFINITION_WATCH_TRY_MS 30000u
#define DEFINITION_WATCH_RARELY_MS 300000u

struct definition_watch;

/* Follows nothing yet. Loop and client are borrowed and must outlive it. */
MUST_USE int definition_watch_new(struct loop *loop, struct apiclient *client, uint64_t seed,
				  struct definition_watch **ret_watch, struct error *err);
/* The client must have been freed before: it runs the reflectors. Accepts NULL. */
void definition_watch_free(struct definition_watch *watch);
/*
 * Follows the definition of that name, which is borrowed for good, and has the reflector of its kind look
 * when it changes. The reflector is borrowed, and run by the client. Fails with ERROR_NO_MEMORY or
 * ERROR_LIMIT.
 */
MUST_USE int definition_watch_add(struct definition_watch *watch, const char *name,
				  struct reflector *reflector, struct error *err);
/* From now on calls told(owner) when what the two below say may have changed. */
void definition_watch_on_told(struct definition_watch *watch, void (*told)(void *owner), void *owner);
/*
 * True while there is a definition of that name, which has been added. One that is written while it is
 * followed counts after DEFINITION_WATCH_TRY_MS. Its kind need not be served: it may have other versions of
 * the kind only, or have just been written.
 */
bool definition_watch_is_there(const struct definition_watch *watch, const char *name);
/* True once definition_watch_is_there() can say so, or the definition could not be listed. */
bool definition_watch_is_known(const struct definition_watch *watch, const char *name);
