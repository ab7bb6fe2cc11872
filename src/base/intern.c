/* SPDX-License-Identifier: Apache-2.0 */

#include "base/intern.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static struct interned *interned_of(const struct table_node *node)
{
	return CONTAINER_OF(node, struct interned, node);
}

static struct view key_of(const struct table_node *node)
{
	return interned_view(interned_of(node));
}

void intern_init(struct intern *intern)
{
	table_init(&intern->texts, key_of);
}

void intern_deinit(struct intern *intern)
{
	assert(intern->texts.count == 0 && "a reference was not given back");
	table_deinit(&intern->texts);
}

static struct interned *add(struct intern *intern, struct view text)
{
	size_t size;
	if (text.len >= UINT32_MAX || __builtin_add_overflow(sizeof(struct interned), text.len + 1, &size))
		return NULL;
	struct interned *interned = malloc(size);
	if (!interned)
		return NULL;
	*interned = (struct interned){.references = 1, .len = (uint32_t)text.len};
	if (text.len)
		memcpy(interned->text, text.ptr, text.len);
	interned->text[text.len] = '\0';
	struct error err;
	if (table_add(&intern->texts, &interned->node, &err) != 0) {
		free(interned);
		return NULL;
	}
	return interned;
}

struct interned *intern_ref(struct intern *intern, struct view text)
{
	struct table_node *node = table_find(&intern->texts, text);
	if (!node)
		return add(intern, text);
	struct interned *found = interned_of(node);
	assert(found->references < UINT32_MAX);
	found->references++;
	return found;
}

void intern_unref(struct intern *intern, struct interned *text)
{
	if (!text)
		return;
	assert(text->references > 0);
	if (--text->references > 0)
		return;
	table_remove(&intern->texts, &text->node);
	free(text);
}

struct view interned_view(const struct interned *text)
{
	return text ? (struct view){text->text, text->len} : (struct view){NULL, 0};
}
