/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Whatever the kernel's text is, these hold:
 * - A pod that is found has a UID of one of the two forms, and the text contains it.
 * - Groups made below the container's change nothing.
 * - The same text again in another hierarchy changes nothing.
 */

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "agent/cgroup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_hex(const char *text, size_t len)
{
	return strspn(text, "0123456789abcdefABCDEF") >= len;
}

static void check_uid(const char *uid)
{
	size_t len = strlen(uid);
	assert(len == 32 || len == 36);
	if (len == 32) {
		assert(is_hex(uid, 32));
		return;
	}
	static const size_t starts[] = {0, 9, 14, 19, 24}, lengths[] = {8, 4, 4, 4, 12};
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
		assert(is_hex(uid + starts[i], lengths[i]));
		assert(i == 0 || uid[starts[i] - 1] == '-');
	}
}

/* Whether the UID stands in the text, with '-' or with '_'. */
static bool is_in(const char *uid, struct view text)
{
	size_t len = strlen(uid);
	for (size_t at = 0; at + len <= text.len; at++) {
		size_t same = 0;
		while (same < len && (text.ptr[at + same] == uid[same] ||
				      (uid[same] == '-' && text.ptr[at + same] == '_')))
			same++;
		if (same == len)
			return true;
	}
	return false;
}

static void check_same(struct view text, const struct cgroup_owner *expected, bool expects_found)
{
	struct cgroup_owner owner;
	assert(cgroup_find_owner(text, &owner) == expects_found);
	assert(strcmp(owner.pod_uid, expected->pod_uid) == 0);
	assert(strcmp(owner.container_id, expected->container_id) == 0);
}

/* Text, end, and text again if asked for, in memory of exactly that size. */
static void check_with(struct view text, const char *end, struct view again,
		       const struct cgroup_owner *expected, bool expects_found)
{
	size_t end_len = strlen(end);
	size_t len = text.len + end_len + again.len;
	char *copy = malloc(len + !len);
	assert(copy);
	if (text.len > 0)
		memcpy(copy, text.ptr, text.len);
	memcpy(copy + text.len, end, end_len);
	if (again.len > 0)
		memcpy(copy + text.len + end_len, again.ptr, again.len);
	check_same((struct view){copy, len}, expected, expects_found);
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char below[] =
		"/kubepods/burstable/pod11111111-2222-3333-4444-555555555555/x";
	struct view text = {(const char *)data, size};
	struct cgroup_owner owner;
	bool found = cgroup_find_owner(text, &owner);
	assert(found == (owner.pod_uid[0] != '\0'));
	if (found) {
		check_uid(owner.pod_uid);
		assert(is_in(owner.pod_uid, text));
	} else {
		assert(!owner.container_id[0]);
	}
	if (owner.container_id[0]) {
		assert(strlen(owner.container_id) == 64 && is_hex(owner.container_id, 64));
		assert(is_in(owner.container_id, text));
	}
	check_with(text, "\n", text, &owner, found);
	/* Of one hierarchy that names a container: what is below is the container's business. */
	if (owner.container_id[0] && !memchr(text.ptr, '\n', text.len) &&
	    !view_ends_with(text, VIEW(" (deleted)")))
		check_with(text, below, (struct view){0}, &owner, found);
	return 0;
}
