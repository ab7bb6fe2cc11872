/* SPDX-License-Identifier: Apache-2.0 */

/* https://protobuf.dev/programming-guides/encoding/#maps */

#include "schema/map_entry.h"

#include "wire/pbscan.h"

enum { ENTRY_KEY = 1, ENTRY_VALUE = 2, QUANTITY_STRING = 1 };

int map_entry_decode(struct view message, struct map_entry *ret_entry, struct error *err)
{
	struct map_entry entry = {0};
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.wire != PBSCAN_BYTES)
			continue;
		if (field.number == ENTRY_KEY)
			entry.key = field.bytes;
		else if (field.number == ENTRY_VALUE)
			entry.value = field.bytes;
	}
	if (pbscan_check(&scan, "map entry", err) != 0)
		return -1;
	*ret_entry = entry;
	return 0;
}

int map_entry_decode_quantity(struct view message, struct map_entry *ret_entry, struct error *err)
{
	struct map_entry entry;
	struct view text = {0};
	struct pbscan scan;
	struct pbscan_field field;

	if (map_entry_decode(message, &entry, err) != 0)
		return -1;
	pbscan_init(&scan, entry.value);
	while (pbscan_next(&scan, &field)) {
		if (field.number == QUANTITY_STRING && field.wire == PBSCAN_BYTES)
			text = field.bytes;
	}
	if (pbscan_check(&scan, "quantity", err) != 0)
		return -1;
	*ret_entry = (struct map_entry){entry.key, text};
	return 0;
}
