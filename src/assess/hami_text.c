/* SPDX-License-Identifier: Apache-2.0 */
#include "assess/hami_text.h"

struct view hami_text_uuid(struct view device)
{
	struct view uuid, rest;
	view_cut(device, VIEW(","), &uuid, &rest);
	return uuid;
}

bool hami_text_is_empty(struct view part)
{
	return hami_text_uuid(part).len == 0;
}

size_t hami_text_count(struct view text, bool with_empty)
{
	struct view part;
	size_t n = 0;
	while (text.len > 0) {
		view_cut(text, VIEW(";"), &part, &text);
		n += with_empty || !hami_text_is_empty(part);
	}
	return n;
}
