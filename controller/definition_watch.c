/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A refusal would be repeated every half a minute. So a reflector that may not read is ended after a
 * moment, and begun again when the kind is looked for by itself.
 */

#include "controller/definition_watch.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"

#define REFUSED_MS 10000u /* a server that has just started may refuse for a moment */

struct definition {
	struct definition_watch *watch;
	const char *name;
	char selector[128];
	struct resource resource;
	struct reflector *own;    /* of the definition; NULL: it may not be read */
	struct reflector *target; /* of the kind */
	struct loop_timer *timer; /* when to see whether it may be read: until it was, and if not; */
	struct loop_timer *calm;  /* and when to look rarely again */
	bool is_told;             /* it was logged that it may not be read */
	bool is_there;
	bool is_new;              /* its kind may not be served yet */
	bool is_listed;           /* in the list under way */
};

struct definition_watch {
	struct loop *loop;
	struct apiclient *client;
	uint64_t seed;
	struct definition definitions[DEFINITION_WATCH_MAX];
	unsigned n;
	void (*told)(void *owner);
	void *owner;
};

static void tell(const struct definition *definition)
{
	const struct definition_watch *watch = definition->watch;

	if (watch->told)
		watch->told(watch->owner);
}

static void set_there(struct definition *definition, bool is_there)
{
	definition->is_new = is_there && (definition->is_new ||
					  (!definition->is_there &&
					   reflector_is_synced(definition->own)));
	definition->is_there = is_there;
	tell(definition);
}

static void look(struct definition *definition, uint32_t every_ms)
{
	reflector_look_again(definition->target, every_ms, loop_now_ms(definition->watch->loop));
	apiclient_nudge(definition->watch->client, definition->target);
}

static void on_calm(void *owner)
{
	struct definition *definition = owner;

	look(definition, DEFINITION_WATCH_RARELY_MS);
	definition->is_new = false;
	tell(definition);
}

static int take_object(void *owner, enum reflector_change change, const struct object_meta *meta,
		       struct view document, struct error *err)
{
	struct definition *definition = owner;

	(void)document;
	(void)err;
	if (!view_equal(meta->name, view_from(definition->name)))
		return 0;
	set_there(definition, change != REFLECTOR_DELETE);
	if (change == REFLECTOR_DELETE)
		return 0;
	definition->is_listed = true;
	look(definition, DEFINITION_WATCH_SOON_MS);
	loop_timer_set(definition->calm, DEFINITION_WATCH_TRY_MS);
	return 0;
}

static void begin_list(void *owner)
{
	struct definition *definition = owner;

	definition->is_listed = false;
}

/* Also where the server has no definitions: then none is there. */
static void end_list(void *owner)
{
	struct definition *definition = owner;

	set_there(definition, definition->is_there && definition->is_listed);
}

static void set_absent(void *owner)
{
	begin_list(owner);
	end_list(owner);
}

static void note_denied(void *owner, bool is_denied)
{
	struct definition *definition = owner;

	if (is_denied)
		loop_timer_set(definition->timer, 0);
}

static int start(struct definition *definition, struct error *err)
{
	const struct reflector_sink sink = {
		.owner = definition,
		.replace_begin = begin_list,
		.replace_end = end_list,
		.object = take_object,
		.absent = set_absent,
		.denied = note_denied,
	};
	const struct reflector_config config = {
		.resource = &definition->resource,
		.initial = REFLECTOR_LIST,
		.absent_retry_ms = DEFINITION_WATCH_RARELY_MS,
		.seed = definition->watch->seed + (uint64_t)(definition - definition->watch->definitions),
	};

	loop_timer_set(definition->timer, REFUSED_MS);
	if (reflector_new(&config, &sink, &definition->own, err) < 0)
		return -1;
	if (apiclient_run(definition->watch->client, definition->own, err) == 0)
		return 0;
	reflector_free(TAKE(definition->own));
	return -1;
}

static void stop(struct definition *definition)
{
	if (!definition->is_told)
		LOG_INFO("Definition may not be followed, so its kind is looked for now and then",
			 LOG_TEXT("name", view_from(definition->name)),
			 LOG_TEXT("reason", view_from(reflector_trouble(definition->own))));
	definition->is_told = true;
	set_there(definition, false);
	apiclient_stop(definition->watch->client, definition->own);
	reflector_free(TAKE(definition->own));
	loop_timer_set(definition->timer, DEFINITION_WATCH_RARELY_MS);
}

/* As long as it is refused it is ended, and after a while begun anew. */
static void on_timer(void *owner)
{
	struct definition *definition = owner;
	struct error error = {0};

	if (!definition->own && start(definition, &error) < 0)
		LOG_WARN("Definition not followed", LOG_ERROR_FIELD(&error));
	else if (reflector_is_denied(definition->own))
		stop(definition);
	else if (!reflector_is_synced(definition->own))
		loop_timer_set(definition->timer, REFUSED_MS);
}

static const struct definition *find(const struct definition_watch *watch, const char *name)
{
	const struct definition *definition = watch->definitions;

	while (!view_equal(view_from(definition->name), view_from(name)))
		definition++;
	assert(definition < &watch->definitions[watch->n]);
	return definition;
}

bool definition_watch_is_there(const struct definition_watch *watch, const char *name)
{
	const struct definition *definition = find(watch, name);

	return definition->is_there && !definition->is_new;
}

bool definition_watch_is_known(const struct definition_watch *watch, const char *name)
{
	const struct reflector *own = find(watch, name)->own;

	return !own || reflector_is_synced(own) || reflector_trouble(own)[0] != '\0';
}

void definition_watch_on_told(struct definition_watch *watch, void (*told)(void *owner), void *owner)
{
	watch->told = told;
	watch->owner = owner;
}

int definition_watch_add(struct definition_watch *watch, const char *name,
			 struct reflector *reflector, struct error *err)
{
	struct definition *definition = &watch->definitions[watch->n];

	if (watch->n == DEFINITION_WATCH_MAX)
		return error_set(err, ERROR_LIMIT, 0, "more than %u definitions",
				 DEFINITION_WATCH_MAX);
	*definition = (struct definition){.watch = watch, .name = name, .target = reflector};
	snprintf(definition->selector, sizeof(definition->selector), "metadata.name=%s", name);
	definition->resource = (struct resource){
		.group = "apiextensions.k8s.io",
		.version = "v1",
		.plural = "customresourcedefinitions",
		.kind = RESOURCE_METADATA_KIND,
		.encoding = RESOURCE_JSON,
		.field_selector = definition->selector,
		.is_metadata = true,
	};
	watch->n++;
	if (loop_timer_new(watch->loop, on_timer, definition, &definition->timer, err) < 0 ||
	    loop_timer_new(watch->loop, on_calm, definition, &definition->calm, err) < 0)
		return -1;
	return start(definition, err);
}

int definition_watch_new(struct loop *loop, struct apiclient *client, uint64_t seed,
			 struct definition_watch **ret_watch, struct error *err)
{
	struct definition_watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return error_no_memory(err);
	watch->loop = loop;
	watch->client = client;
	watch->seed = seed;
	*ret_watch = watch;
	return 0;
}

void definition_watch_free(struct definition_watch *watch)
{
	if (!watch)
		return;
	for (unsigned i = 0; i < watch->n; i++) {
		reflector_free(watch->definitions[i].own);
		loop_timer_free(watch->definitions[i].timer);
		loop_timer_free(watch->definitions[i].calm);
	}
	free(watch);
}
