/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * option - a program's settings from its command line and environment, by one table. --help and the
 * tables of flags in the README are made from it too.
 *
 * A program's table may be a .def file, included twice:
 *
 *	settings.def	SETTING(listen, "listen", TEXT, ":8443", 0, 0, "Address that reports arrive at.")
 *			SETTING(stale_ms, "stale-after", DURATION, "2m", 1000, 3600000, "...")
 *	struct		#define SETTING(field, name, type, ...) OPTION_CTYPE_##type field;
 *	rows		#define SETTING(field, name, type, text, low, high, help) \
 *				{name, OPTION_##type, offsetof(struct settings, field), text, low, high, help},
 *
 * A flag wins over the environment, the environment over the default. Accepted are --name=value,
 * --name value, and --name for a true bool. A row with a letter takes -n value, -nvalue and -n=value
 * too. Letters of bools may be written together. --help and --version are bools of every program.
 *
 * The variable of a flag in the environment is the program's prefix and the flag's name. The name is
 * in upper case, with '_' for '-'. An empty variable counts as not set.
 *
 * Threads: the main thread before others start; settings are then read-only.
 */

#include "base/sbuf.h"

enum option_type {
	OPTION_TEXT,     /* const char *; borrowed from argv, environment or table */
	OPTION_PATH,     /* const char *; the same, an absolute path or empty */
	OPTION_INT,      /* int64_t */
	OPTION_BOOL,     /* bool; "true", "false", "1", "0" */
	OPTION_DURATION, /* int64_t in ms; "500ms", "10s", "5m", "1h", "1h30m", "0" */
	OPTION_BYTES,    /* int64_t; "4096", "64KiB", "16MiB", "1GiB" */
	OPTION_CHOICE,   /* int; the place of the word in `choices` */
};

#define OPTION_CTYPE_TEXT const char *
#define OPTION_CTYPE_PATH const char *
#define OPTION_CTYPE_INT int64_t
#define OPTION_CTYPE_BOOL bool
#define OPTION_CTYPE_DURATION int64_t
#define OPTION_CTYPE_BYTES int64_t

struct option_row {
	const char *name; /* lower case and '-', without leading dashes */
	enum option_type type;
	size_t offset;    /* in the settings struct */
	const char *text; /* the default, as it would be typed; NULL: the member is left as it is */
	int64_t low;      /* bounds of INT, DURATION (ms) and BYTES, both included; */
	int64_t high;     /* both 0: any value that is not negative */
	const char *help; /* a sentence; NULL: --help does not list it */
	char letter;      /* of the short form, or 0 */
	uint32_t scopes;  /* the programs that list it, by their `scope`; 0: all */
	const char *const *choices; /* of CHOICE; ends with NULL */
	/* Takes a value as it was typed, instead of the member at `offset`. Fails as it likes. */
	int (*take)(void *settings, const struct option_row *row, const char *text,
		    struct error *err);
};

struct option_program {
	const char *name;        /* as typed */
	const char *purpose;     /* a sentence or more */
	const char *version;
	const struct option_row *rows;
	size_t n_rows;
	const char *environment; /* the prefix of its variables; NULL: the environment is not read */
	const char *usage;       /* lines; NULL: "name [flags]" */
	const char *more;        /* what --help ends with, or NULL */
	uint32_t scope;          /* a bit of option_row.scopes */
	/* Takes an argument that is no flag, or stands behind "--"; NULL: there may be none. */
	int (*take_word)(void *settings, const char *word, struct error *err);
};

enum option_outcome {
	OPTION_RUN,     /* settings are filled in */
	OPTION_HELP,    /* --help was given: print option_render_help() and end */
	OPTION_VERSION, /* --version was given */
};

/*
 * Fills the settings struct, of which members without a default keep their value. environment is a
 * NULL-terminated list of "NAME=value" (environ). Fails with ERROR_REJECTED for an unknown flag, a
 * missing or bad value, and an argument that is no flag. The text names a flag that is spelled like an
 * unknown one. Fails as a function of the table does, too. settings is then unspecified. Behind --help
 * or --version nothing is refused.
 */
MUST_USE int option_parse(const struct option_program *program, char *const *argv,
			  char *const *environment, void *settings,
			  enum option_outcome *ret_outcome, struct error *err);
/* Appends what --help shows. Failure is the buffer's. */
void option_render_help(const struct option_program *program, struct sbuf *buf);

/* The one of the words, ended by NULL, that is spelled most like `word`; NULL: none is. */
const char *option_nearest(struct view word, const char *const *words);

/* Reads a text of OPTION_DURATION, such as "1h30m". False, and *ret_ms untouched, if it is none. */
bool option_parse_duration(struct view text, int64_t *ret_ms);
/* Reads a text of OPTION_BYTES, such as "16MiB". False, and *ret_bytes untouched, if it is none. */
bool option_parse_bytes(struct view text, int64_t *ret_bytes);
