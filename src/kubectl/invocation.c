/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A flag is a row. kubectl's own flags are known by name, for one must know which of them take a
 * value to tell a value from the name of a pod; a flag that neither knows is refused here.
 */

#include "kubectl/invocation.h"

#include <string.h>

enum flag_kind {
	FLAG_TEXT,      /* const char *, in the invocation */
	FLAG_BOOL,      /* bool, in the invocation */
	FLAG_FORM,      /* -o */
	FLAG_HELP,
	FLAG_VERSION,
	FLAG_WATCH,     /* known, to say what to use instead */
	FLAG_PASS_TEXT, /* kubectl's, with a value */
	FLAG_PASS_BOOL,
};

struct flag {
	const char *name;
	char letter;
	enum flag_kind kind;
	size_t offset;
};

#define AT(member) offsetof(struct invocation, member)

static const struct flag flags[] = {
	{"all-namespaces", 'A', FLAG_BOOL, AT(all_namespaces)},
	{"field-selector", 0, FLAG_TEXT, AT(field_selector)},
	{"help", 'h', FLAG_HELP, 0},
	{"namespace", 'n', FLAG_TEXT, AT(namespace)},
	{"no-headers", 0, FLAG_BOOL, AT(no_headers)},
	{"output", 'o', FLAG_FORM, 0},
	{"selector", 'l', FLAG_TEXT, AT(selector)},
	{"version", 0, FLAG_VERSION, 0},
	{"watch", 'w', FLAG_WATCH, 0},
	{"as", 0, FLAG_PASS_TEXT, 0},
	{"as-group", 0, FLAG_PASS_TEXT, 0},
	{"as-uid", 0, FLAG_PASS_TEXT, 0},
	{"as-user-extra", 0, FLAG_PASS_TEXT, 0},
	{"cache-dir", 0, FLAG_PASS_TEXT, 0},
	{"certificate-authority", 0, FLAG_PASS_TEXT, 0},
	{"client-certificate", 0, FLAG_PASS_TEXT, 0},
	{"client-key", 0, FLAG_PASS_TEXT, 0},
	{"cluster", 0, FLAG_PASS_TEXT, 0},
	{"context", 0, FLAG_PASS_TEXT, 0},
	{"disable-compression", 0, FLAG_PASS_BOOL, 0},
	{"insecure-skip-tls-verify", 0, FLAG_PASS_BOOL, 0},
	{"kubeconfig", 0, FLAG_PASS_TEXT, 0},
	{"kuberc", 0, FLAG_PASS_TEXT, 0},
	{"log-flush-frequency", 0, FLAG_PASS_TEXT, 0},
	{"match-server-version", 0, FLAG_PASS_BOOL, 0},
	{"password", 0, FLAG_PASS_TEXT, 0},
	{"request-timeout", 0, FLAG_PASS_TEXT, 0},
	{"server", 's', FLAG_PASS_TEXT, 0},
	{"tls-server-name", 0, FLAG_PASS_TEXT, 0},
	{"token", 0, FLAG_PASS_TEXT, 0},
	{"user", 0, FLAG_PASS_TEXT, 0},
	{"username", 0, FLAG_PASS_TEXT, 0},
	{"v", 'v', FLAG_PASS_TEXT, 0},
	{"vmodule", 0, FLAG_PASS_TEXT, 0},
	{"warnings-as-errors", 0, FLAG_PASS_BOOL, 0},
};

static const struct {
	const char *name;
	enum invocation_verb verb;
} verbs[] = {
	{"pod", INVOCATION_POD},        {"pods", INVOCATION_POD},  {"po", INVOCATION_POD},
	{"node", INVOCATION_NODE},      {"nodes", INVOCATION_NODE}, {"no", INVOCATION_NODE},
	{"device", INVOCATION_DEVICE},  {"devices", INVOCATION_DEVICE}, {"gpu", INVOCATION_DEVICE},
};

struct parser {
	char *const *at; /* the argument being read */
	struct invocation invocation;
	bool has_verb;
	bool is_rest; /* behind "--" */
	struct error *err;
};

const char *invocation_verb_name(enum invocation_verb verb)
{
	static const char *const names[] = {"", "pod", "node", "device"};
	return names[verb];
}

static bool takes_value(const struct flag *flag)
{
	return flag->kind == FLAG_TEXT || flag->kind == FLAG_FORM || flag->kind == FLAG_PASS_TEXT;
}

static const struct flag *find_flag(struct view name, char letter)
{
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		if (letter ? flags[i].letter == letter
			   : view_equal(view_from(flags[i].name), name))
			return &flags[i];
	}
	return NULL;
}

static void pass(struct parser *parser, const char *argument)
{
	parser->invocation.passed[parser->invocation.n_passed++] = argument;
}

static int set_form(struct parser *parser, const char *value)
{
	static const struct {
		const char *name;
		enum output_form form;
	} forms[] = {{"wide", OUTPUT_WIDE}, {"json", OUTPUT_JSON}, {"name", OUTPUT_NAME}};
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		if (strcmp(forms[i].name, value) == 0) {
			parser->invocation.form = forms[i].form;
			return 0;
		}
	}
	return error_set(parser->err, ERROR_REJECTED, 0,
			 "-o %.40s: the forms are wide, json and name", value);
}

static int set_bool(struct parser *parser, const struct flag *flag, const char *value)
{
	bool *place = (bool *)((char *)&parser->invocation + flag->offset);
	if (!value || strcmp(value, "true") == 0)
		*place = true;
	else if (strcmp(value, "false") == 0)
		*place = false;
	else
		return error_set(parser->err, ERROR_REJECTED, 0,
				 "--%s: \"%.40s\" is neither true nor false", flag->name, value);
	return 0;
}

/* value: NULL for a flag without one. */
static int set_flag(struct parser *parser, const struct flag *flag, const char *value)
{
	switch (flag->kind) {
	case FLAG_TEXT:
		*(const char **)((char *)&parser->invocation + flag->offset) = value;
		return 0;
	case FLAG_BOOL:
		return set_bool(parser, flag, value);
	case FLAG_FORM:
		return set_form(parser, value);
	case FLAG_HELP:
		parser->invocation.outcome = INVOCATION_HELP;
		return 0;
	case FLAG_VERSION:
		parser->invocation.outcome = INVOCATION_VERSION;
		return 0;
	case FLAG_WATCH:
		return error_set(parser->err, ERROR_REJECTED, 0,
				 "this does not watch; use: kubectl get gpuattributions --watch");
	case FLAG_PASS_TEXT:
	case FLAG_PASS_BOOL:
		break;
	}
	return 0;
}

/* The value in the next argument, which is then read, too. */
static const char *next_value(struct parser *parser, const struct flag *flag)
{
	if (!parser->at[1]) {
		error_set(parser->err, ERROR_REJECTED, 0, "--%s needs a value", flag->name);
		return NULL;
	}
	return *++parser->at;
}

static int read_flag(struct parser *parser, const struct flag *flag, const char *value)
{
	const char *typed = *parser->at;
	bool is_passed = flag->kind == FLAG_PASS_TEXT || flag->kind == FLAG_PASS_BOOL;
	const char *found = value;
	if (takes_value(flag) && !found) {
		found = next_value(parser, flag);
		if (!found)
			return -1;
	}
	if (is_passed) {
		pass(parser, typed);
		if (!value && found)
			pass(parser, found);
	}
	return set_flag(parser, flag, found);
}

static int read_long(struct parser *parser)
{
	struct view name, value;
	bool has_value = view_cut(view_from(*parser->at + 2), VIEW("="), &name, &value);
	const struct flag *flag = find_flag(name, 0);
	if (!flag)
		return error_set(parser->err, ERROR_REJECTED, 0, "unknown flag: --%.*s",
				 (int)(name.len < 60 ? name.len : 60), name.ptr);
	/* What is behind '=' reaches to the end of the argument and so is a C string. */
	const char *text = value.len > 0 ? value.ptr : "";
	return read_flag(parser, flag, has_value ? text : NULL);
}

/* "-A", "-A=false", "-n NAME", "-nNAME", "-n=NAME", "-Ao wide". */
static int read_short(struct parser *parser)
{
	for (const char *letter = *parser->at + 1; *letter; letter++) {
		const struct flag *flag = find_flag((struct view){0}, *letter);
		if (!flag)
			return error_set(parser->err, ERROR_REJECTED, 0,
					 "unknown flag: '%c' in %.60s", *letter, *parser->at);
		const char *rest = letter + 1;
		bool has_value = *rest == '=';
		if (!takes_value(flag) && !has_value) {
			if (set_flag(parser, flag, NULL) != 0)
				return -1;
			continue;
		}
		rest += has_value;
		return read_flag(parser, flag, has_value || *rest ? rest : NULL);
	}
	return 0;
}

static int set_verb(struct parser *parser, struct view word)
{
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		if (!view_equal(word, view_from(verbs[i].name)))
			continue;
		if (parser->has_verb && parser->invocation.verb != verbs[i].verb)
			return error_set(parser->err, ERROR_REJECTED, 0,
					 "%.60s: all names must be of one kind", *parser->at);
		parser->has_verb = true;
		parser->invocation.verb = verbs[i].verb;
		return 0;
	}
	return error_set(parser->err, ERROR_REJECTED, 0,
			 "unknown command \"%.*s\": there are pod, node and device",
			 (int)(word.len < 60 ? word.len : 60), word.ptr);
}

/* Kubernetes' names have none but these; anything else would mean something else to kubectl. */
static bool is_name(struct view name)
{
	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];
		bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
		if (!is_letter && !(c >= '0' && c <= '9') && c != '-' && c != '.')
			return false;
	}
	return name.len > 0 && name.ptr[0] != '-';
}

static int add_name(struct parser *parser, const char *name)
{
	struct invocation *invocation = &parser->invocation;
	if (!is_name(view_from(name)))
		return error_set(parser->err, ERROR_REJECTED, 0, "\"%.80s\" is no name", name);
	for (size_t i = 0; i < invocation->n_names; i++) {
		if (strcmp(invocation->names[i], name) == 0)
			return 0;
	}
	invocation->names[invocation->n_names++] = name;
	return 0;
}

/* "pod", "pod/NAME", or a name behind a verb. */
static int read_word(struct parser *parser)
{
	const char *word = *parser->at;
	struct view kind, name;
	bool has_slash = view_cut(view_from(word), VIEW("/"), &kind, &name);
	if (parser->has_verb && !has_slash)
		return add_name(parser, word);
	if (!has_slash && strcmp(word, "help") == 0) {
		parser->invocation.outcome = INVOCATION_HELP;
		return 0;
	}
	if (set_verb(parser, kind) != 0)
		return -1;
	return has_slash ? add_name(parser, name.len > 0 ? name.ptr : "") : 0;
}

static int read_argument(struct parser *parser)
{
	const char *argument = *parser->at;
	if (parser->is_rest || argument[0] != '-' || argument[1] == '\0')
		return read_word(parser);
	if (strcmp(argument, "--") == 0) {
		parser->is_rest = true;
		return 0;
	}
	return argument[1] == '-' ? read_long(parser) : read_short(parser);
}

/* What does not go together. */
static int check(const struct invocation *invocation, struct error *err)
{
	bool is_pod = invocation->verb == INVOCATION_POD;
	bool is_fleet = invocation->verb == INVOCATION_FLEET;
	const char *wrong = NULL;
	if (invocation->selector && !is_pod && !is_fleet)
		wrong = "-l goes with pod, or without a command";
	else if (invocation->field_selector && !is_fleet)
		wrong = "--field-selector goes without a command only";
	else if (invocation->selector && invocation->n_names > 0)
		wrong = "a name and a selector do not go together";
	else if (is_pod && invocation->all_namespaces && invocation->n_names > 0)
		wrong = "a pod is named in one namespace: -A does not go with a name";
	else if (invocation->verb == INVOCATION_DEVICE && invocation->n_names != 1)
		wrong = "device takes one UUID, or the beginning of one";
	return wrong ? error_set(err, ERROR_REJECTED, 0, "%s", wrong) : 0;
}

static size_t count(char *const *argv)
{
	size_t n = 0;
	while (argv[n])
		n++;
	return n;
}

int invocation_parse(char *const *argv, struct arena *arena, struct invocation *ret_invocation,
		     struct error *err)
{
	struct parser parser = {.err = err};
	size_t n = count(argv);
	parser.invocation.names = arena_alloc(arena, n, sizeof(char *));
	parser.invocation.passed = arena_alloc(arena, n, sizeof(char *));
	if (!parser.invocation.names || !parser.invocation.passed)
		return error_no_memory(err);
	for (parser.at = argv + (n > 0); *parser.at; parser.at++) {
		if (read_argument(&parser) != 0)
			return -1;
	}
	if (parser.invocation.outcome == INVOCATION_RUN && check(&parser.invocation, err) != 0)
		return -1;
	*ret_invocation = parser.invocation;
	return 0;
}
