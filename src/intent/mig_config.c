/* SPDX-License-Identifier: Apache-2.0 */
#include "intent/mig_config.h"

#include <assert.h>
#include <stddef.h>

static const struct compact_row index_rows[] = {
	{COMPACT_PLAIN, 0, sizeof(int64_t), NULL},
	{0},
};

static const struct compact_row count_rows[] = {
	COMPACT_TEXTS_ROW(mig_config_count, profile, profile),
	COMPACT_PLAIN_ROW(mig_config_count, count, count),
	{0},
};

static const struct compact_row part_rows[] = {
	COMPACT_PLAIN_ROW(mig_config_part, is_for_all, is_for_all),
	COMPACT_ARRAY_ROW(mig_config_part, indices, int64_t, index_rows),
	COMPACT_ARRAY_ROW(mig_config_part, filters, struct view, compact_text),
	COMPACT_PLAIN_ROW(mig_config_part, is_enabled, is_enabled),
	COMPACT_ARRAY_ROW(mig_config_part, counts, struct mig_config_count, count_rows),
	{0},
};

static const struct compact_row layout_rows[] = {
	COMPACT_TEXTS_ROW(mig_config, name, name),
	COMPACT_ARRAY_ROW(mig_config, parts, struct mig_config_part, part_rows),
	{0},
};

const struct compact_row mig_config_rows[] = {
	COMPACT_TEXTS_ROW(mig_configs, name, error),
	COMPACT_ARRAY_ROW(mig_configs, layouts, struct mig_config, layout_rows),
	{0},
};

struct view mig_config_node(const struct mig_configs *configs)
{
	const struct view suffix = VIEW(MIG_CONFIG_SUFFIX);

	return view_ends_with(configs->name, suffix)
		       ? (struct view){configs->name.ptr, configs->name.len - suffix.len}
		       : (struct view){0};
}

const struct mig_config *mig_config_find(const struct mig_configs *configs, struct view name)
{
	for (uint32_t i = 0; i < configs->layouts.count; i++) {
		const struct mig_config *layout = ARRAY_AT(configs->layouts, struct mig_config, i);

		if (view_equal(layout->name, name))
			return layout;
	}
	return NULL;
}

static bool is_for(const struct mig_config_part *part, int64_t index)
{
	for (uint32_t i = 0; i < part->indices.count; i++)
		if (*ARRAY_AT(part->indices, int64_t, i) == index)
			return true;
	return part->is_for_all;
}

/* Filters */

/* Whether a filter lets a device through. */
enum passing {
	STOPS,
	MAY_PASS, /* the filter, or what it goes by, is not known here */
	PASSES,
};

/* "0x20B010DE": the PCI device ID, and the vendor's in the lower 16 bits. */
static bool parse_id(struct view text, uint32_t *ret_id)
{
	static const char digits[] = "0123456789abcdefABCDEF";
	uint32_t id = 0;

	if (text.len < 3 || text.len > 10 ||
	    !(view_starts_with(text, VIEW("0x")) || view_starts_with(text, VIEW("0X"))))
		return false;
	for (size_t i = 2; i < text.len; i++) {
		const ptrdiff_t digit = view_find_char(VIEW(digits), text.ptr[i]);

		if (digit < 0)
			return false;
		id = id << 4 | (uint32_t)(digit < 16 ? digit : digit - 6);
	}
	*ret_id = id;
	return true;
}

/* mig-parted of 2026 allows the ID of the board behind it, which no report tells: "0x20B010DE:0x134F10DE". */
static enum passing passes_filter(struct view filter, struct view pci_device_id)
{
	struct view primary, board;
	const bool has_board = view_cut(filter, VIEW(":"), &primary, &board);
	uint32_t wanted, there;

	if (!parse_id(primary, &wanted) || !parse_id(pci_device_id, &there))
		return MAY_PASS;
	if (wanted != there)
		return STOPS;
	return has_board ? MAY_PASS : PASSES;
}

/* One of them suffices; without any each device passes. */
static enum passing passes(struct array filters, struct view pci_device_id)
{
	enum passing best = filters.count > 0 ? STOPS : PASSES;

	for (uint32_t i = 0; i < filters.count; i++) {
		const enum passing one = passes_filter(*ARRAY_AT(filters, struct view, i),
						       pci_device_id);

		best = one > best ? one : best;
	}
	return best;
}

const struct mig_config_part *mig_config_part_of(const struct mig_config *layout, int64_t index,
						 struct view pci_device_id, bool *ret_is_uncertain)
{
	const struct mig_config_part *last = NULL;

	*ret_is_uncertain = false;
	for (uint32_t i = 0; i < layout->parts.count; i++) {
		const struct mig_config_part *part = ARRAY_AT(layout->parts, struct mig_config_part, i);
		const enum passing passing = is_for(part, index) ? passes(part->filters, pci_device_id)
								 : STOPS;

		if (passing == STOPS)
			continue;
		last = part;
		*ret_is_uncertain = passing == MAY_PASS;
	}
	assert(!last || last->is_for_all || last->indices.count > 0);
	return last;
}
