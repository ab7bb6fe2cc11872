/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Defaults are parsed by the same functions as what is typed, so a default that would be refused
 * is found by the first run. The environment is read before the command line, which so overrides.
 * --help and --version are rows like any other, so they are found, listed and suggested like others.
 */

#include "base/option.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define NAME_MAX_BYTES 64
#define MAX_ROWS 100

static const struct option_row built_in[] = {
	{"help", OPTION_BOOL, .help = "Shows this.", .letter = 'h'},
	{"version", OPTION_BOOL, .help = "Shows the version."},
};

/* By option_type: the value in --help, and what an error says that it should be. */
static const struct {
	const char *placeholder, *expected;
} types[] = {
	[OPTION_TEXT] = {"=TEXT", "a text"},
	[OPTION_PATH] = {"=PATH", "an absolute path"},
	[OPTION_INT] = {"=NUMBER", "a whole number"},
	[OPTION_BOOL] = {"", "true or false"},
	[OPTION_DURATION] = {"=DURATION", "a duration such as 500ms, 10s or 1h30m"},
	[OPTION_BYTES] = {"=SIZE", "a size such as 4096, 64KiB or 16MiB"},
	[OPTION_CHOICE] = {"=WORD", "a word"},
};

struct parser {
	const struct option_program *program;
	char *const *at; /* the argument being read */
	void *settings;
	enum option_outcome outcome;
	struct error *err;
};

struct suffix {
	const char *text;
	int64_t factor;
};

/* A number and its unit off the front; longest suffixes first. */
static bool take_quantity(struct view *text, const struct suffix *suffixes, int64_t *ret)
{
	size_t n_digits = 0;
	while (n_digits < text->len && text->ptr[n_digits] >= '0' && text->ptr[n_digits] <= '9')
		n_digits++;
	int64_t number;
	if (!view_parse_i64((struct view){text->ptr, n_digits}, &number))
		return false;
	struct view rest = view_from_offset(*text, n_digits);
	for (; suffixes->text; suffixes++) {
		if (!view_starts_with(rest, view_from(suffixes->text)))
			continue;
		*text = view_from_offset(rest, strlen(suffixes->text));
		return !__builtin_mul_overflow(number, suffixes->factor, ret);
	}
	return false;
}

bool option_parse_duration(struct view text, int64_t *ret_ms)
{
	static const struct suffix suffixes[] = {
		{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {NULL, 0},
	};
	int64_t total = 0, part;
	if (view_equal(text, VIEW("0"))) {
		*ret_ms = 0;
		return true;
	}
	do {
		if (!take_quantity(&text, suffixes, &part) ||
		    __builtin_add_overflow(total, part, &total))
			return false;
	} while (text.len > 0);
	*ret_ms = total;
	return true;
}

bool option_parse_bytes(struct view text, int64_t *ret_bytes)
{
	static const struct suffix suffixes[] = {
		{"KiB", INT64_C(1) << 10}, {"MiB", INT64_C(1) << 20}, {"GiB", INT64_C(1) << 30},
		{"", 1}, {NULL, 0},
	};
	int64_t bytes;
	if (!take_quantity(&text, suffixes, &bytes) || text.len > 0)
		return false;
	*ret_bytes = bytes;
	return true;
}

static bool parse_bool(struct view text, bool *ret)
{
	bool yes = view_equal(text, VIEW("true")) || view_equal(text, VIEW("1"));
	if (!yes && !view_equal(text, VIEW("false")) && !view_equal(text, VIEW("0")))
		return false;
	*ret = yes;
	return true;
}

static bool parse_number(const struct option_row *row, struct view text, int64_t *ret)
{
	switch (row->type) {
	case OPTION_DURATION:
		return option_parse_duration(text, ret);
	case OPTION_BYTES:
		return option_parse_bytes(text, ret);
	default:
		return view_parse_i64(text, ret);
	}
}

static bool in_bounds(const struct option_row *row, int64_t value)
{
	if (row->low == 0 && row->high == 0)
		return value >= 0;
	return value >= row->low && value <= row->high;
}

/* A bound as it would be typed. */
static void write_quantity(struct sbuf *buf, enum option_type type, int64_t value)
{
	static const struct suffix durations[] = {
		{"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}, {NULL, 0},
	};
	static const struct suffix sizes[] = {
		{"GiB", INT64_C(1) << 30}, {"MiB", INT64_C(1) << 20}, {"KiB", INT64_C(1) << 10},
		{"", 1}, {NULL, 0},
	};
	static const struct suffix plain[] = {{"", 1}, {NULL, 0}};
	const struct suffix *suffix = plain;
	if (type == OPTION_DURATION)
		suffix = durations;
	else if (type == OPTION_BYTES)
		suffix = sizes;
	/* The largest unit without a remainder. */
	while (value % suffix->factor != 0)
		suffix++;
	if (value == 0)
		sbuf_append_char(buf, '0');
	else
		sbuf_printf(buf, "%lld%s", (long long)(value / suffix->factor), suffix->text);
}

static int out_of_bounds(const struct option_row *row, const char *origin, struct error *err)
{
	if (row->low == 0 && row->high == 0)
		return error_set(err, ERROR_REJECTED, 0, "%s: must not be negative", origin);
	CLEANUP(sbuf_deinit) struct sbuf low;
	CLEANUP(sbuf_deinit) struct sbuf high;
	sbuf_init(&low, 40);
	sbuf_init(&high, 40);
	write_quantity(&low, row->type, row->low);
	write_quantity(&high, row->type, row->high);
	return error_set(err, ERROR_REJECTED, 0, "%s: must be %.*s to %.*s", origin,
			 VIEW_ARG(sbuf_view(&low)), VIEW_ARG(sbuf_view(&high)));
}

static void write_choices(const struct option_row *row, struct sbuf *buf)
{
	for (size_t i = 0; row->choices[i]; i++)
		sbuf_printf(buf, "%s%s", i > 0 ? ", " : "", row->choices[i]);
}

static int store_choice(const struct option_row *row, const char *text, const char *origin,
			int *place, struct error *err)
{
	CLEANUP(sbuf_deinit) struct sbuf words;
	sbuf_init(&words, 120);
	for (int i = 0; row->choices[i]; i++) {
		if (strcmp(row->choices[i], text) == 0) {
			*place = i;
			return 0;
		}
	}
	write_choices(row, &words);
	return error_set(err, ERROR_REJECTED, 0, "%s: \"%.40s\" is none of %.*s", origin, text,
			 VIEW_ARG(sbuf_view(&words)));
}

/* Stores a value as it was typed; origin is the flag or variable, for the error. */
static int store(const struct option_row *row, const char *text, const char *origin,
		 void *settings, struct error *err)
{
	void *place = (char *)settings + row->offset;
	int64_t number;
	bool ok = true;
	if (row->take)
		return row->take(settings, row, text, err);
	switch (row->type) {
	case OPTION_CHOICE:
		return store_choice(row, text, origin, place, err);
	case OPTION_PATH:
		ok = text[0] == '\0' || text[0] == '/';
		/* fall through */
	case OPTION_TEXT:
		if (ok)
			*(const char **)place = text;
		break;
	case OPTION_BOOL:
		ok = parse_bool(view_from(text), place);
		break;
	case OPTION_INT:
	case OPTION_DURATION:
	case OPTION_BYTES:
		ok = parse_number(row, view_from(text), &number);
		if (ok && !in_bounds(row, number))
			return out_of_bounds(row, origin, err);
		if (ok)
			*(int64_t *)place = number;
		break;
	}
	return ok ? 0 : error_set(err, ERROR_REJECTED, 0, "%s: \"%.40s\" is not %s", origin, text,
				  types[row->type].expected);
}

static int store_defaults(const struct option_program *program, void *settings, struct error *err)
{
	for (size_t i = 0; i < program->n_rows; i++) {
		const struct option_row *row = &program->rows[i];
		if (row->text && store(row, row->text, row->name, settings, err) != 0)
			return error_wrap(err, "default");
	}
	return 0;
}

/* The name of an option in the environment. */
static void variable_name(const struct option_program *program, const struct option_row *row,
			  char to[static NAME_MAX_BYTES])
{
	int len = snprintf(to, NAME_MAX_BYTES, "%s%s", program->environment, row->name);
	assert(len > 0 && len < NAME_MAX_BYTES);
	for (char *c = to; *c; c++) {
		if (*c == '-')
			*c = '_';
		else if (*c >= 'a' && *c <= 'z')
			*c = (char)(*c - ('a' - 'A'));
	}
}

/* The value of a variable, NULL where it is not set or empty. */
static const char *find_variable(char *const *environment, const char *name)
{
	size_t len = strlen(name);
	for (; *environment; environment++) {
		if (strncmp(*environment, name, len) == 0 && (*environment)[len] == '=')
			return (*environment)[len + 1] ? *environment + len + 1 : NULL;
	}
	return NULL;
}

static int store_environment(const struct option_program *program, char *const *environment,
			     void *settings, struct error *err)
{
	for (size_t i = 0; program->environment && i < program->n_rows; i++) {
		char name[NAME_MAX_BYTES];
		variable_name(program, &program->rows[i], name);
		const char *text = find_variable(environment, name);
		if (text && store(&program->rows[i], text, name, settings, err) != 0)
			return -1;
	}
	return 0;
}

/* How many characters must be put in, taken out or changed to get from a to b. */
static size_t distance(struct view a, struct view b)
{
	size_t row[NAME_MAX_BYTES + 1];
	if (a.len > NAME_MAX_BYTES || b.len > NAME_MAX_BYTES)
		return SIZE_MAX;
	for (size_t j = 0; j <= b.len; j++)
		row[j] = j;
	for (size_t i = 1; i <= a.len; i++) {
		size_t diagonal = row[0];
		row[0] = i;
		for (size_t j = 1; j <= b.len; j++) {
			size_t best = diagonal + (a.ptr[i - 1] != b.ptr[j - 1]);
			diagonal = row[j];
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			if (row[j] + 1 < best)
				best = row[j] + 1;
			row[j] = best;
		}
	}
	return row[b.len];
}

const char *option_nearest(struct view word, const char *const *words)
{
	const char *nearest = NULL;
	size_t best = (word.len + 1) / 3; /* with more differences nobody can have meant it */
	for (; *words; words++) {
		size_t d = distance(word, view_from(*words));
		if (d < best + !nearest) {
			best = d;
			nearest = *words;
		}
	}
	return nearest;
}

/* The rows of the program, then those that are built in; NULL behind the last. */
static const struct option_row *row_at(const struct option_program *program, size_t i)
{
	if (i < program->n_rows)
		return &program->rows[i];
	i -= program->n_rows;
	return i < ARRAY_SIZE(built_in) ? &built_in[i] : NULL;
}

static const struct option_row *find_row(const struct option_program *program, struct view name,
					 char letter)
{
	const struct option_row *row;
	for (size_t i = 0; (row = row_at(program, i)); i++) {
		if (letter ? row->letter == letter : view_equal(name, view_from(row->name)))
			break;
	}
	return row;
}

static int unknown_flag(struct parser *parser)
{
	const char *names[MAX_ROWS + 1] = {NULL}, *dashes = (*parser->at)[1] == '-' ? "--" : "-";
	const struct option_row *row;
	struct view name, value;
	for (size_t i = 0; i < MAX_ROWS && (row = row_at(parser->program, i)); i++)
		names[i] = row->name;
	view_cut(view_from(*parser->at + strlen(dashes)), VIEW("="), &name, &value);
	const char *nearest = option_nearest(name, names);
	name.len = name.len < 40 ? name.len : 40;
	return error_set(parser->err, ERROR_REJECTED, 0, "unknown flag %s%.*s%s%s%s", dashes,
			 VIEW_ARG(name), nearest ? ", did you mean --" : "; --help lists all",
			 nearest ? nearest : "", nearest ? "?" : "");
}

/* --help or --version, each a bool without a place in the settings. */
static int take_built_in(struct parser *parser, const struct option_row *row, const char *text,
			 const char *origin)
{
	bool is_wanted;
	if (store(row, text, origin, &is_wanted, parser->err) != 0)
		return -1;
	if (is_wanted)
		parser->outcome = row == built_in ? OPTION_HELP : OPTION_VERSION;
	return 0;
}

/* attached: the value in the same argument; NULL: it is the next one, or "true" for a bool. */
static int take_flag(struct parser *parser, const struct option_row *row, const char *attached)
{
	char origin[NAME_MAX_BYTES + 2];
	const char *text = attached ? attached : "true";
	snprintf(origin, sizeof(origin), "--%s", row->name);
	if (row == &built_in[0] || row == &built_in[1])
		return take_built_in(parser, row, text, origin);
	if (!attached && row->type != OPTION_BOOL) {
		text = parser->at[1];
		if (!text)
			return error_set(parser->err, ERROR_REJECTED, 0, "%s: a value is missing",
					 origin);
		parser->at++;
	}
	return store(row, text, origin, parser->settings, parser->err);
}

/* "--name", "--name=value". */
static int take_long(struct parser *parser)
{
	struct view name, value;
	bool has_value = view_cut(view_from(*parser->at + 2), VIEW("="), &name, &value);
	const struct option_row *row = find_row(parser->program, name, 0);
	/* What is behind '=' reaches to the end of the argument and so is a C string. */
	const char *text = value.len > 0 ? value.ptr : "";
	return row ? take_flag(parser, row, has_value ? text : NULL) : unknown_flag(parser);
}

/* "-A", "-A=false", "-n NAME", "-nNAME", "-n=NAME", "-Ao wide". */
static int take_letters(struct parser *parser)
{
	for (const char *at = *parser->at + 1; *at; at++) {
		const struct option_row *row = find_row(parser->program, (struct view){0}, *at);
		if (!row)
			return unknown_flag(parser);
		bool has_value = at[1] == '=' || (at[1] && row->type != OPTION_BOOL);
		const char *value = at + 1 + (at[1] == '=');
		if (take_flag(parser, row, has_value ? value : NULL) != 0)
			return -1;
		if (has_value || row->type != OPTION_BOOL)
			return 0;
	}
	return 0;
}

static int take_word(struct parser *parser)
{
	if (parser->program->take_word)
		return parser->program->take_word(parser->settings, *parser->at, parser->err);
	return error_set(parser->err, ERROR_REJECTED, 0, "\"%.40s\" is not a flag", *parser->at);
}

static int take_arguments(struct parser *parser)
{
	bool is_rest = false; /* behind "--" */
	for (; *parser->at; parser->at++) {
		const char *argument = *parser->at;
		int result = 0;
		if (is_rest || argument[0] != '-' || argument[1] == '\0')
			result = take_word(parser);
		else if (parser->program->take_word && strcmp(argument, "--") == 0)
			is_rest = true;
		else
			result = argument[1] == '-' ? take_long(parser) : take_letters(parser);
		if (result != 0 && parser->outcome == OPTION_RUN)
			return -1;
	}
	return 0;
}

int option_parse(const struct option_program *program, char *const *argv,
		 char *const *environment, void *settings, enum option_outcome *ret_outcome,
		 struct error *err)
{
	struct parser parser = {program, argv + (*argv != NULL), settings, OPTION_RUN, err};
	if (store_defaults(program, settings, err) != 0 ||
	    store_environment(program, environment, settings, err) != 0 ||
	    take_arguments(&parser) != 0)
		return -1;
	*ret_outcome = parser.outcome;
	return 0;
}

/* The default, the bounds and the variable, as far as there are any. */
static void write_details(const struct option_program *program, const struct option_row *row,
			  struct sbuf *buf)
{
	char variable[NAME_MAX_BYTES];
	if (row->choices) {
		sbuf_append(buf, VIEW("      One of "));
		write_choices(row, buf);
		sbuf_append_char(buf, '\n');
	}
	if (!row->text)
		return;
	sbuf_printf(buf, "      %s%s", row->text[0] ? "Default " : "No default", row->text);
	if (row->low != 0 || row->high != 0) {
		sbuf_append(buf, VIEW(", from "));
		write_quantity(buf, row->type, row->low);
		sbuf_append(buf, VIEW(" to "));
		write_quantity(buf, row->type, row->high);
	}
	if (program->environment) {
		variable_name(program, row, variable);
		sbuf_printf(buf, "; environment %s", variable);
	}
	sbuf_append_char(buf, '\n');
}

void option_render_help(const struct option_program *program, struct sbuf *buf)
{
	const struct option_row *row;
	sbuf_printf(buf, "%s %s\n%s\n\nUsage: ", program->name, program->version,
		    program->purpose);
	if (program->usage)
		sbuf_append(buf, view_from(program->usage));
	else
		sbuf_printf(buf, "%s [flags]\n", program->name);
	sbuf_append_char(buf, '\n');
	for (size_t i = 0; (row = row_at(program, i)); i++) {
		if (!row->help || (row->scopes && !(row->scopes & program->scope)))
			continue;
		sbuf_append(buf, VIEW("  "));
		if (row->letter)
			sbuf_printf(buf, "-%c, ", row->letter);
		sbuf_printf(buf, "--%s%s\n      %s\n", row->name, types[row->type].placeholder,
			    row->help);
		write_details(program, row, buf);
	}
	if (program->more)
		sbuf_printf(buf, "\n%s", program->more);
}
