/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A line is built on the caller's stack and written with one write(2). So lines of several threads,
 * and of children that share the sink, do not mix.
 *
 * The lock orders lines and guards the rate limiter. It is held over the write, because the write
 * does not block: poll(2) first tells whether the sink takes a line. A writable pipe has room for
 * PIPE_BUF bytes, which is the longest line. The write could block only if another process fills
 * the same pipe in between, and then only until its reader reads on. O_NONBLOCK is not used,
 * because it would apply to every process that shares the sink, such as the shell that started us.
 *
 * The limiter counts per message; the pointer of the constant identifies it. A slot is chosen by a
 * hash of the pointer. If two messages get the same slot, the newer one takes it over, so the worst
 * case is that too much is written.
 */

#include "base/log.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/utf8.h"

#define LINE_MAX_BYTES 4096
#define VALUE_MAX_BYTES 256
#define RATE_BURST 10
#define RATE_WINDOW_MS 10000
#define RATE_SLOTS 256

_Static_assert(LINE_MAX_BYTES <= PIPE_BUF, "a line must fit into a pipe that is writable");

struct rate {
	const char *message;
	uint64_t window_start_ms;
	uint32_t n_written;    /* in this window */
	uint32_t n_suppressed; /* since one was last written */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rate rates[RATE_SLOTS]; /* under the lock */
static uint64_t n_dropped_untold;     /* under the lock */
static _Atomic uint64_t n_dropped;
static _Atomic int lowest_level = LOG_LEVEL_INFO;
static _Atomic int line_format = LOG_FORMAT_LOGFMT;
static _Atomic int sink = STDERR_FILENO;

/* A line under construction; what does not fit whole is left out, and that is told. */
struct line {
	char bytes[LINE_MAX_BYTES];
	size_t len;
	bool json;
	bool full;
};

/* Room for what closes every line: the mark of a cut, '}' and the line end. */
#define LINE_TAIL sizeof(",\"cut\":true}\n")

static void put(struct line *line, struct view bytes)
{
	if (line->full || bytes.len > sizeof(line->bytes) - LINE_TAIL - line->len) {
		line->full = true;
		return;
	}
	memcpy(line->bytes + line->len, bytes.ptr, bytes.len);
	line->len += bytes.len;
}

static void put_escape(struct line *line, unsigned char c)
{
	char text[8];
	if (c == '"' || c == '\\')
		snprintf(text, sizeof(text), "\\%c", c);
	else if (c == '\n')
		snprintf(text, sizeof(text), "\\n");
	else if (c == '\t')
		snprintf(text, sizeof(text), "\\t");
	else
		snprintf(text, sizeof(text), "\\u%04x", c);
	put(line, view_from(text));
}

/* Whether the character of `len` bytes at p steers a terminal: C0, DEL, C1, bidirectional marks. */
static bool is_control(const char *p, size_t len)
{
	const unsigned char *c = (const unsigned char *)p;
	if (len == 1)
		return c[0] < 0x20 || c[0] == 0x7f;
	if (len == 2)
		return c[0] == 0xc2 && c[1] < 0xa0;
	if (len != 3 || c[0] != 0xe2)
		return false;
	return (c[1] == 0x80 && (c[2] == 0x8e || c[2] == 0x8f || (c[2] >= 0xa8 && c[2] <= 0xae))) ||
	       (c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9);
}

/* Writes one character of a quoted value; gives its length. */
static size_t put_character(struct line *line, struct view rest)
{
	size_t len = utf8_next(rest);
	unsigned char first = (unsigned char)rest.ptr[0];
	if (len == 0)
		put(line, VIEW("\xef\xbf\xbd"));
	else if (len == 1 && (is_control(rest.ptr, 1) || first == '"' || first == '\\'))
		put_escape(line, first);
	else if (is_control(rest.ptr, len))
		put(line, VIEW("?"));
	else
		put(line, (struct view){rest.ptr, len});
	return len ? len : 1;
}

static void put_quoted(struct line *line, struct view text)
{
	bool cut = text.len > VALUE_MAX_BYTES;
	/* Malformed text may be cut anywhere; each of its bytes is replaced anyway. */
	if (cut)
		text = utf8_truncate(text, VALUE_MAX_BYTES - 3);
	put(line, VIEW("\""));
	while (text.len > 0)
		text = view_from_offset(text, put_character(line, text));
	put(line, cut ? VIEW("...\"") : VIEW("\""));
}

static bool is_bare(struct view text)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];
		bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			    (c >= '0' && c <= '9') || (c != '\0' && strchr("-_./:@+,", c));
		if (!word)
			return false;
	}
	return text.len > 0 && text.len <= VALUE_MAX_BYTES;
}

static void put_key(struct line *line, const char *key)
{
	if (!line->json) {
		put(line, VIEW(" "));
		put(line, view_from(key));
		put(line, VIEW("="));
		return;
	}
	put(line, VIEW(",\""));
	put(line, view_from(key));
	put(line, VIEW("\":"));
}

static void put_text(struct line *line, const char *key, struct view text)
{
	put_key(line, key);
	if (!line->json && is_bare(text))
		put(line, text);
	else
		put_quoted(line, text);
}

static void put_number(struct line *line, const char *key, bool negative, uint64_t magnitude)
{
	char text[24];
	snprintf(text, sizeof(text), "%s%llu", negative ? "-" : "", (unsigned long long)magnitude);
	put_key(line, key);
	put(line, view_from(text));
}

static void put_value(struct line *line, const struct log_field *field)
{
	int64_t number = field->value.i64;
	switch (field->type) {
	case LOG_TYPE_TEXT:
		put_text(line, field->key, field->value.text);
		break;
	case LOG_TYPE_I64:
		put_number(line, field->key, number < 0,
			   number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
		break;
	case LOG_TYPE_U64:
		put_number(line, field->key, false, field->value.u64);
		break;
	case LOG_TYPE_BOOL:
		put_key(line, field->key);
		put(line, field->value.boolean ? VIEW("true") : VIEW("false"));
		break;
	case LOG_TYPE_ERROR:
		put_text(line, field->key, view_from(field->value.error->text));
		put_text(line, "kind", view_from(error_kind_name(field->value.error->kind)));
		break;
	case LOG_TYPE_END:
		break;
	}
}

/* A field that does not fit leaves nothing of itself behind. */
static void put_field(struct line *line, const struct log_field *field)
{
	size_t len_before = line->len;
	if (line->full)
		return;
	put_value(line, field);
	if (line->full)
		line->len = len_before;
}

static const char *const level_names[] = {
	[LOG_LEVEL_DEBUG] = "debug",
	[LOG_LEVEL_INFO] = "info",
	[LOG_LEVEL_WARN] = "warn",
	[LOG_LEVEL_ERROR] = "error",
};

static const char *const format_names[] = {
	[LOG_FORMAT_LOGFMT] = "logfmt",
	[LOG_FORMAT_JSON] = "json",
};

static void begin_line(struct line *line, enum log_level level, const char *message)
{
	struct timespec now;
	struct tm utc;
	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &utc);
	char ts[64], head[96];
	strftime(ts, sizeof(ts), "%Y-%m-%dT%H:%M:%S", &utc);
	snprintf(head, sizeof(head), line->json ? "{\"ts\":\"%.32s.%03uZ\"" : "ts=%.32s.%03uZ", ts,
		 (unsigned)(now.tv_nsec / 1000000) % 1000);
	put(line, view_from(head));
	put_text(line, "level", view_from(level_names[level]));
	put_text(line, "msg", view_from(message));
}

static void end_line(struct line *line)
{
	struct view tail = line->json ? VIEW("}\n") : VIEW("\n");
	if (line->full)
		tail = line->json ? VIEW(",\"cut\":true}\n") : VIEW(" cut=true\n");
	memcpy(line->bytes + line->len, tail.ptr, tail.len);
	line->len += tail.len;
}

static struct rate *rate_of(const char *message)
{
	uint64_t spread = (uint64_t)(uintptr_t)message * 0x9e3779b97f4a7c15u;
	struct rate *rate = &rates[spread >> 56];
	if (rate->message != message)
		*rate = (struct rate){.message = message};
	return rate;
}

/* Whether one more line of this message may be written, and how many were not before it. */
static bool may_write(const char *message, uint64_t now_ms, uint32_t *ret_suppressed)
{
	struct rate *rate = rate_of(message);
	if (rate->n_written == 0 || now_ms - rate->window_start_ms >= RATE_WINDOW_MS) {
		rate->window_start_ms = now_ms;
		rate->n_written = 0;
	}
	if (rate->n_written == RATE_BURST) {
		rate->n_suppressed += rate->n_suppressed < UINT32_MAX;
		return false;
	}
	rate->n_written++;
	*ret_suppressed = rate->n_suppressed;
	rate->n_suppressed = 0;
	return true;
}

static bool write_without_waiting(const struct line *line)
{
	int fd = atomic_load(&sink);
	struct pollfd ask = {.fd = fd, .events = POLLOUT};
	if (poll(&ask, 1, 0) != 1 || !(ask.revents & POLLOUT))
		return false;
	ssize_t n = write(fd, line->bytes, line->len);
	return n == (ssize_t)line->len;
}

static void count_drop(void)
{
	n_dropped_untold++;
	atomic_fetch_add_explicit(&n_dropped, 1, memory_order_relaxed);
}

static void write_locked(struct line *line, const char *message)
{
	uint32_t n_suppressed;
	if (!may_write(message, clock_monotonic_ms(), &n_suppressed))
		return;
	if (n_suppressed)
		put_number(line, "suppressed", false, n_suppressed);
	if (n_dropped_untold)
		put_number(line, "dropped", false, n_dropped_untold);
	end_line(line);
	if (write_without_waiting(line))
		n_dropped_untold = 0;
	else
		count_drop();
}

void log_write(enum log_level level, const char *message, const struct log_field *fields)
{
	if ((int)level < atomic_load_explicit(&lowest_level, memory_order_relaxed))
		return;
	/* The caller's errno survives a record about it. */
	int saved_errno = errno;
	struct line line;
	line.len = 0;
	line.full = false;
	line.json = atomic_load_explicit(&line_format, memory_order_relaxed) == LOG_FORMAT_JSON;
	begin_line(&line, level, message);
	for (; fields->type != LOG_TYPE_END; fields++)
		put_field(&line, fields);
	pthread_mutex_lock(&lock);
	write_locked(&line, message);
	pthread_mutex_unlock(&lock);
	errno = saved_errno;
}

void log_set_level(enum log_level level)
{
	atomic_store(&lowest_level, (int)level);
}

void log_set_format(enum log_format format)
{
	atomic_store(&line_format, (int)format);
}

void log_set_fd(int fd)
{
	atomic_store(&sink, fd);
}

uint64_t log_dropped(void)
{
	return atomic_load_explicit(&n_dropped, memory_order_relaxed);
}

static bool find_name(struct view text, const char *const *names, size_t n, size_t *ret)
{
	for (size_t i = 0; i < n; i++) {
		if (view_equal(text, view_from(names[i]))) {
			*ret = i;
			return true;
		}
	}
	return false;
}

bool log_level_parse(struct view text, enum log_level *ret)
{
	size_t index;
	if (!find_name(text, level_names, ARRAY_SIZE(level_names), &index))
		return false;
	*ret = (enum log_level)index;
	return true;
}

bool log_format_parse(struct view text, enum log_format *ret)
{
	size_t index;
	if (!find_name(text, format_names, ARRAY_SIZE(format_names), &index))
		return false;
	*ret = (enum log_format)index;
	return true;
}
