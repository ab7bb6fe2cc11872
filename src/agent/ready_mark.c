/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The mark is one line: BOOT_ID ACCEPTED_MS UNTIL_MS. A machine may be put back in time within one
 * boot. The time of acceptance shows that: the mark is of the future then, and does not count. The
 * next accepted report writes a good one.
 */

#include "agent/ready_mark.h"

#include <inttypes.h>

#include "base/log.h"
#include "io/file.h"
#include "io/filewrite.h"

#define MARK_CAP 256u
#define HEARTBEATS 2u

struct times {
	struct view boot_id;
	uint64_t accepted_ms;
	uint64_t until_ms;
};

int ready_mark_init(struct ready_mark *mark, const char *path, const char *boot_id_file,
		    struct error *err)
{
	*mark = (struct ready_mark){.path = path};
	return boot_id_read(boot_id_file, &mark->boot_id, err);
}

int ready_mark_clear(const struct ready_mark *mark, struct error *err)
{
	return mark->path[0] ? filewrite_remove(mark->path, err) : 0;
}

static int write_mark(const struct ready_mark *mark, uint64_t now_ms, uint32_t heartbeat_ms,
		      struct error *err)
{
	CLEANUP(sbuf_deinit) struct sbuf text;
	sbuf_init(&text, MARK_CAP);
	sbuf_printf(&text, "%.*s %" PRIu64 " %" PRIu64 "\n", VIEW_ARG(boot_id_view(&mark->boot_id)),
		    now_ms, now_ms + (uint64_t)HEARTBEATS * heartbeat_ms);
	if (sbuf_check(&text, "readiness mark", err) < 0)
		return -1;
	return filewrite_replace(mark->path, sbuf_view(&text), err);
}

void ready_mark_accepted(struct ready_mark *mark, uint64_t now_ms, uint32_t heartbeat_ms)
{
	struct error err;
	if (!mark->path[0])
		return;
	bool failed = write_mark(mark, now_ms, heartbeat_ms, &err) < 0;
	if (failed && !mark->failed)
		LOG_ERROR("Readiness mark could not be written", LOG_ERROR_FIELD(&err));
	mark->failed = failed;
}

static bool parse(struct view text, struct times *ret_times)
{
	struct view rest, accepted, until;
	return view_cut(view_trim(text), VIEW(" "), &ret_times->boot_id, &rest) &&
	       view_cut(rest, VIEW(" "), &accepted, &until) &&
	       view_parse_u64(accepted, &ret_times->accepted_ms) &&
	       view_parse_u64(until, &ret_times->until_ms);
}

static int judge(const struct times *times, struct view boot_id, uint64_t now_ms, struct error *err)
{
	if (!view_equal(times->boot_id, boot_id) || times->accepted_ms > now_ms)
		return error_set(err, ERROR_REJECTED, 0,
				 "no report was accepted since the machine started or was put back "
				 "in time");
	if (now_ms >= times->until_ms)
		return error_set(err, ERROR_RETRY, 0,
				 "no report was accepted for %" PRIu64 " s: the agent's log says why",
				 (now_ms - times->accepted_ms) / 1000);
	return 0;
}

int ready_mark_check(const struct ready_mark *mark, uint64_t now_ms, struct error *err)
{
	CLEANUP(sbuf_deinit) struct sbuf text;
	struct times times;
	sbuf_init(&text, MARK_CAP);
	if (file_read(mark->path, &text, err) < 0) {
		if (err->kind == ERROR_NOT_FOUND)
			error_set(err, ERROR_NOT_FOUND, 0,
				  "no report was accepted since the agent started: its log says why");
		return -1;
	}
	if (!parse(sbuf_view(&text), &times))
		return error_set(err, ERROR_REJECTED, 0, "%s holds no readiness mark", mark->path);
	return judge(&times, boot_id_view(&mark->boot_id), now_ms, err);
}
