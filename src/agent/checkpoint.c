/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The kubelet replaces the file by rename, so it is never seen half written; one that does not
 * parse has been damaged, by a full disk or by hand. The kubelet would start from it with empty
 * records, while the devices are still in use: that is why the last good contents stay.
 */

#include "agent/checkpoint.h"

#include "base/sbuf.h"
#include "io/file.h"
#include "schema/checkpoint_doc.h"
#include "schema/report_doc.h"

#define ARENA_CAP (2u * LIMIT_CHECKPOINT_BYTES)

void checkpoint_init(struct checkpoint *checkpoint, const char *path)
{
	*checkpoint = (struct checkpoint){.path = path};
	arena_init(&checkpoint->arena, ARENA_CAP);
}

void checkpoint_deinit(struct checkpoint *checkpoint)
{
	arena_deinit(&checkpoint->arena);
	checkpoint->last = (struct report_checkpoint){0};
}

static int load(const struct checkpoint *checkpoint, struct arena *arena,
		struct report_checkpoint *ret, struct error *err)
{
	CLEANUP(sbuf_deinit) struct sbuf json;
	sbuf_init(&json, LIMIT_CHECKPOINT_BYTES);
	if (file_read(checkpoint->path, &json, err) < 0)
		return -1;
	return checkpoint_doc_decode(sbuf_view(&json), arena, ret, err);
}

static bool is_same(const struct report_checkpoint *a, const struct report_checkpoint *b)
{
	const struct report left = {.checkpoint = *a};
	const struct report right = {.checkpoint = *b};
	return report_doc_same_evidence(&left, &right);
}

bool checkpoint_read(struct checkpoint *checkpoint, int64_t wall_now)
{
	CLEANUP(arena_deinit) struct arena arena;
	struct report_checkpoint fresh;
	struct error err;
	arena_init(&arena, ARENA_CAP);
	if (load(checkpoint, &arena, &fresh, &err) < 0) {
		if (err.kind == ERROR_NOT_FOUND)
			return source_state_vanish(&checkpoint->source, view_from(err.text));
		return source_state_fail(&checkpoint->source, &err);
	}
	bool is_news = source_state_succeed(&checkpoint->source, wall_now, VIEW(""));
	is_news |= !is_same(&checkpoint->last, &fresh);
	arena_deinit(&checkpoint->arena);
	checkpoint->arena = arena;
	checkpoint->last = fresh;
	arena_init(&arena, ARENA_CAP);
	return is_news;
}

void checkpoint_tell(const struct checkpoint *checkpoint, struct report *report)
{
	report->sources.checkpoint = checkpoint->source.said;
	report->checkpoint = checkpoint->last;
}
