/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Defaults are parsed by the same functions as what is typed, so a default that would be refused
 * is found by the first run. The environment is read before the command line, which so overrides.
 */

#include "base/option.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define ENVIRONMENT_PREFIX "GPU_ATTRIBUTION_"
#define NAME_MAX_BYTES 64

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

static const char *expected(enum option_type type)
{
	switch (type) {
	case OPTION_TEXT:
		return "a text";
	case OPTION_PATH:
		return "an absolute path";
	case OPTION_INT:
		return "a whole number";
	case OPTION_BOOL:
		return "true or false";
	case OPTION_DURATION:
		return "a duration such as 500ms, 10s or 1h30m";
	case OPTION_BYTES:
		return "a size such as 4096, 64KiB or 16MiB";
	}
	return "";
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

/* Stores a value as it was typed; origin is the flag or variable, for the error. */
static int store(const struct option_row *row, const char *text, const char *origin,
		 void *settings, struct error *err)
{
	void *place = (char *)settings + row->offset;
	struct view typed = view_from(text);
	int64_t number;
	bool ok = true;
	switch (row->type) {
	case OPTION_PATH:
		ok = text[0] == '\0' || text[0] == '/';
		/* fall through */
	case OPTION_TEXT:
		if (ok)
			*(const char **)place = text;
		break;
	case OPTION_BOOL:
		ok = parse_bool(typed, place);
		break;
	case OPTION_INT:
	case OPTION_DURATION:
	case OPTION_BYTES:
		ok = parse_number(row, typed, &number);
		if (ok && !in_bounds(row, number))
			return out_of_bounds(row, origin, err);
		if (ok)
			*(int64_t *)place = number;
		break;
	}
	if (!ok)
		return error_set(err, ERROR_REJECTED, 0, "%s: \"%.40s\" is not %s", origin, text,
				 expected(row->type));
	return 0;
}

static int store_defaults(const struct option_program *program, void *settings, struct error *err)
{
	for (size_t i = 0; i < program->n_rows; i++) {
		const struct option_row *row = &program->rows[i];
		if (store(row, row->text, row->name, settings, err) != 0)
			return error_wrap(err, "default");
	}
	return 0;
}

/* The name of an option in the environment. */
static void variable_name(const struct option_row *row, char to[static NAME_MAX_BYTES])
{
	int len = snprintf(to, NAME_MAX_BYTES, ENVIRONMENT_PREFIX "%s", row->name);
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
	for (size_t i = 0; i < program->n_rows; i++) {
		char name[NAME_MAX_BYTES];
		variable_name(&program->rows[i], name);
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

static int unknown_flag(const struct option_program *program, struct view name, struct error *err)
{
	const char *nearest = "help";
	size_t best = distance(name, VIEW("help"));
	for (size_t i = 0; i < program->n_rows; i++) {
		size_t d = distance(name, view_from(program->rows[i].name));
		if (d < best) {
			best = d;
			nearest = program->rows[i].name;
		}
	}
	struct view shown = name.len < 40 ? name : (struct view){name.ptr, 40};
	return error_set(err, ERROR_REJECTED, 0, "unknown flag --%.*s, did you mean --%s?",
			 VIEW_ARG(shown), nearest);
}

static const struct option_row *find_row(const struct option_program *program, struct view name)
{
	for (size_t i = 0; i < program->n_rows; i++) {
		if (view_equal(name, view_from(program->rows[i].name)))
			return &program->rows[i];
	}
	return NULL;
}

/* The flag at *argv, and its value: behind '=', the next argument, or "true". */
static int store_flag(const struct option_program *program, char *const **argv, void *settings,
		      struct error *err)
{
	const char *argument = **argv;
	struct view name, value;
	bool has_value = view_cut(view_from(argument + (argument[1] == '-' ? 2 : 1)), VIEW("="),
				  &name, &value);
	const struct option_row *row = find_row(program, name);
	if (!row)
		return unknown_flag(program, name, err);
	/* What is behind '=' reaches to the end of the argument and so is a C string. */
	const char *text = has_value ? value.ptr : "true";
	if (has_value && value.len == 0)
		text = "";
	if (!has_value && row->type != OPTION_BOOL) {
		text = (*argv)[1];
		if (!text)
			return error_set(err, ERROR_REJECTED, 0, "--%s: a value is missing", row->name);
		(*argv)++;
	}
	char origin[NAME_MAX_BYTES + 2];
	snprintf(origin, sizeof(origin), "--%s", row->name);
	return store(row, text, origin, settings, err);
}

static bool is_flag(const char *argument, const char *name)
{
	return argument[0] == '-' && strcmp(argument + (argument[1] == '-' ? 2 : 1), name) == 0;
}

int option_parse(const struct option_program *program, char *const *argv,
		 char *const *environment, void *settings, enum option_outcome *ret_outcome,
		 struct error *err)
{
	if (store_defaults(program, settings, err) != 0 ||
	    store_environment(program, environment, settings, err) != 0)
		return -1;
	for (argv += *argv != NULL; *argv; argv++) {
		bool help = is_flag(*argv, "help") || is_flag(*argv, "h");
		if (help || is_flag(*argv, "version")) {
			*ret_outcome = help ? OPTION_HELP : OPTION_VERSION;
			return 0;
		}
		if ((*argv)[0] != '-' || (*argv)[1] == '\0' || strcmp(*argv, "--") == 0)
			return error_set(err, ERROR_REJECTED, 0, "\"%.40s\" is not a flag", *argv);
		if (store_flag(program, &argv, settings, err) != 0)
			return -1;
	}
	*ret_outcome = OPTION_RUN;
	return 0;
}

static const char *placeholder(enum option_type type)
{
	switch (type) {
	case OPTION_TEXT:
		return "TEXT";
	case OPTION_PATH:
		return "PATH";
	case OPTION_INT:
		return "NUMBER";
	case OPTION_BOOL:
		return "";
	case OPTION_DURATION:
		return "DURATION";
	case OPTION_BYTES:
		return "SIZE";
	}
	return "";
}

static void write_bounds(struct sbuf *buf, const struct option_row *row)
{
	if (row->low == 0 && row->high == 0)
		return;
	sbuf_append(buf, VIEW(", from "));
	write_quantity(buf, row->type, row->low);
	sbuf_append(buf, VIEW(" to "));
	write_quantity(buf, row->type, row->high);
}

void option_render_help(const struct option_program *program, struct sbuf *buf)
{
	sbuf_printf(buf, "%s %s\n%s\n\nUsage: %s [flags]\n\n", program->name, program->version,
		    program->purpose, program->name);
	for (size_t i = 0; i < program->n_rows; i++) {
		const struct option_row *row = &program->rows[i];
		char variable[NAME_MAX_BYTES];
		variable_name(row, variable);
		sbuf_printf(buf, "  --%s", row->name);
		if (row->type != OPTION_BOOL)
			sbuf_printf(buf, "=%s", placeholder(row->type));
		sbuf_printf(buf, "\n      %s\n      ", row->help);
		if (row->text[0])
			sbuf_printf(buf, "Default %s", row->text);
		else
			sbuf_append(buf, VIEW("No default"));
		write_bounds(buf, row);
		sbuf_printf(buf, "; environment %s\n", variable);
	}
	sbuf_append(buf, VIEW("  --help\n      Shows this.\n"
			      "  --version\n      Shows the version.\n"));
}
