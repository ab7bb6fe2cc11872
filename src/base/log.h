/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * log - one line per record on stderr, as logfmt or JSON, for people and for collectors.
 *
 *	LOG_WARN("Watch failed", LOG_TEXT("resource", name), LOG_ERROR_FIELD(&err));
 * gives
 *	ts=2026-01-02T03:04:05.678Z level=warn msg="Watch failed" resource=pods error="..." kind=retry
 *
 * The message is a constant that no other call uses; values go into fields. Values from outside
 * cannot forge lines or reach a terminal: control characters, quotes and malformed UTF-8 are
 * escaped.
 *
 * Threads: any. A short lock is held while a line is written.
 * Limits:  a value is at most 256 bytes (cut values end in "..."), a line 4096. A message is
 *          written at most 10 times in 10 s; the next one says how many were suppressed. If the
 *          sink cannot take a line at once, the line is dropped and counted. The caller never
 *          waits.
 */

#include "base/error.h"
#include "base/view.h"

enum log_level {
	LOG_LEVEL_DEBUG,
	LOG_LEVEL_INFO,
	LOG_LEVEL_WARN,
	LOG_LEVEL_ERROR,
};

enum log_format {
	LOG_FORMAT_LOGFMT,
	LOG_FORMAT_JSON,
};

enum log_type {
	LOG_TYPE_END, /* behind the last field */
	LOG_TYPE_TEXT,
	LOG_TYPE_I64,
	LOG_TYPE_U64,
	LOG_TYPE_BOOL,
	LOG_TYPE_ERROR, /* two fields: the error's text and its kind */
};

struct log_field {
	const char *key; /* [A-Za-z0-9_]+ */
	enum log_type type;
	union {
		struct view text;
		int64_t i64;
		uint64_t u64;
		bool boolean;
		const struct error *error;
	} value;
};

#define LOG_TEXT(k, v) ((struct log_field){.key = (k), .type = LOG_TYPE_TEXT, .value.text = (v)})
#define LOG_I64(k, v) ((struct log_field){.key = (k), .type = LOG_TYPE_I64, .value.i64 = (v)})
#define LOG_U64(k, v) ((struct log_field){.key = (k), .type = LOG_TYPE_U64, .value.u64 = (v)})
#define LOG_BOOL(k, v) ((struct log_field){.key = (k), .type = LOG_TYPE_BOOL, .value.boolean = (v)})
/* A pointer to a struct error. */
#define LOG_ERROR_FIELD(e) \
	((struct log_field){.key = "error", .type = LOG_TYPE_ERROR, .value.error = (e)})

/* LOG_INFO("message") or LOG_INFO("message", field, ...); message is a string literal. */
#define LOG_DEBUG(...) LOG_RECORD_(LOG_LEVEL_DEBUG, __VA_ARGS__, LOG_END_)
#define LOG_INFO(...) LOG_RECORD_(LOG_LEVEL_INFO, __VA_ARGS__, LOG_END_)
#define LOG_WARN(...) LOG_RECORD_(LOG_LEVEL_WARN, __VA_ARGS__, LOG_END_)
#define LOG_ERROR(...) LOG_RECORD_(LOG_LEVEL_ERROR, __VA_ARGS__, LOG_END_)

#define LOG_END_ ((struct log_field){.type = LOG_TYPE_END})
#define LOG_RECORD_(level, message, ...) \
	log_write((level), "" message "", (const struct log_field[]){__VA_ARGS__})

/* Writes one record; fields end with LOG_TYPE_END. Call it by the macros above. */
void log_write(enum log_level level, const char *message, const struct log_field *fields);

/* Records below this level are not written; LOG_LEVEL_INFO at the start. */
void log_set_level(enum log_level level);
/* LOG_FORMAT_LOGFMT at the start. */
void log_set_format(enum log_format format);
/* Where lines go, borrowed; 2 at the start. */
void log_set_fd(int fd);
/* Lines dropped since the start because the sink took no more. */
uint64_t log_dropped(void);
/* "debug", "info", "warn", "error". False leaves *ret untouched. */
bool log_level_parse(struct view text, enum log_level *ret);
/* "logfmt", "json". False leaves *ret untouched. */
bool log_format_parse(struct view text, enum log_format *ret);
