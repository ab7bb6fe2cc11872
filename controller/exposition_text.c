/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A family is a chain of blocks, and a line lies in one block. So nothing is ever moved or copied on
 * the way to a socket, and what is left out of a family is found by looking into one block.
 */

#include "controller/exposition_text.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "controller/exposition_budget.h"

#define BLOCK_SIZE (16u * LIMIT_KIB)

struct block {
	struct block *next;
	size_t size; /* with this */
	size_t len;
	size_t n_samples;
	char bytes[];
};

struct family {
	struct block *first, *last;
	size_t n_samples;
};

struct exposition_text {
	atomic_uint references;
	enum error_kind failure;
	size_t n_blocks;
	struct view *parts; /* of a sealed text */
	size_t n_parts;
	size_t n_families;
	struct family families[];
};

int exposition_text_new(size_t n_families, struct exposition_text **ret_text, struct error *err)
{
	struct exposition_text *text =
		calloc(1, sizeof(*text) + n_families * sizeof(text->families[0]));

	if (!text)
		return error_no_memory(err);
	atomic_init(&text->references, 1);
	text->n_families = n_families;
	*ret_text = text;
	return 0;
}

struct exposition_text *exposition_text_ref(struct exposition_text *text)
{
	atomic_fetch_add_explicit(&text->references, 1, memory_order_relaxed);
	return text;
}

static void free_blocks(struct block *block)
{
	while (block) {
		struct block *next = block->next;

		exposition_budget_give(block->size);
		free(block);
		block = next;
	}
}

void exposition_text_unref(void *owner)
{
	struct exposition_text *text = owner;

	if (!text || atomic_fetch_sub_explicit(&text->references, 1, memory_order_acq_rel) > 1)
		return;
	for (size_t i = 0; i < text->n_families; i++)
		free_blocks(text->families[i].first);
	free(text->parts);
	free(text);
}

/* A line that is longer than a block gets one of its size. */
static struct block *add_block(struct exposition_text *text, struct family *family, size_t len)
{
	const size_t size = len > BLOCK_SIZE - sizeof(struct block) ? sizeof(struct block) + len
								    : BLOCK_SIZE;
	struct block *block;

	if (!exposition_budget_take(size)) {
		text->failure = ERROR_LIMIT;
		return NULL;
	}
	block = malloc(size);
	if (!block) {
		exposition_budget_give(size);
		text->failure = ERROR_NO_MEMORY;
		return NULL;
	}
	*block = (struct block){.size = size};
	if (family->last)
		family->last->next = block;
	else
		family->first = block;
	family->last = block;
	text->n_blocks++;
	return block;
}

void exposition_text_add(struct exposition_text *text, size_t n, struct view line, bool is_sample)
{
	struct family *family = &text->families[n];
	struct block *block = family->last;

	assert(n < text->n_families && !text->parts);
	if (text->failure != ERROR_NONE)
		return;
	if (!block || block->len + line.len + 1 > BLOCK_SIZE - sizeof(*block))
		block = add_block(text, family, line.len + 1);
	if (!block)
		return;
	memcpy(block->bytes + block->len, line.ptr, line.len);
	block->len += line.len;
	block->bytes[block->len++] = '\n';
	block->n_samples += is_sample;
	family->n_samples += is_sample;
}

void exposition_text_fail(struct exposition_text *text, enum error_kind failure)
{
	text->failure = failure;
}

size_t exposition_text_samples(const struct exposition_text *text, size_t family)
{
	size_t n = 0;

	assert(family < text->n_families || family == SIZE_MAX);
	if (family != SIZE_MAX)
		return text->families[family].n_samples;
	for (size_t i = 0; i < text->n_families; i++)
		n += text->families[i].n_samples;
	return n;
}

/* Keeps the lines that are no samples, and the first n that are. */
static void cut_block(struct block *block, size_t n)
{
	size_t at = 0;

	block->n_samples = n;
	while (at < block->len) {
		const char *end = memchr(block->bytes + at, '\n', block->len - at);

		if (block->bytes[at] != '#' && n-- == 0)
			break;
		at = (size_t)(end + 1 - block->bytes);
	}
	block->len = at;
}

void exposition_text_cut(struct exposition_text *text, size_t n_family, size_t n)
{
	struct family *family = &text->families[n_family];
	struct block *block = family->first;

	assert(n_family < text->n_families && !text->parts);
	if (n >= family->n_samples)
		return;
	family->n_samples = n;
	for (; block->n_samples <= n; block = block->next)
		n -= block->n_samples;
	cut_block(block, n);
	for (const struct block *left = block->next; left; left = left->next)
		text->n_blocks--;
	free_blocks(block->next);
	block->next = NULL;
	family->last = block;
}

int exposition_text_seal(struct exposition_text *text, struct error *err)
{
	if (text->failure != ERROR_NONE)
		return error_set(err, text->failure, 0, "the metrics of devices do not fit");
	text->parts = calloc(text->n_blocks + 1, sizeof(*text->parts));
	if (!text->parts)
		return error_no_memory(err);
	for (size_t i = 0; i < text->n_families; i++)
		for (const struct block *block = text->families[i].first; block; block = block->next)
			text->parts[text->n_parts++] = (struct view){block->bytes, block->len};
	return 0;
}

const struct view *exposition_text_parts(const struct exposition_text *text, size_t *ret_n)
{
	assert(text->parts);
	*ret_n = text->n_parts;
	return text->parts;
}
