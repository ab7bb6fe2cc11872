/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/scenario_line.h"

#include <stdlib.h>

#include "lib/test_main.h"

void scenario_text_add(struct scenario_text *text, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int len = vsnprintf(text->bytes + text->len, sizeof(text->bytes) - text->len, format, args);
	va_end(args);
	assert_true(len >= 0 && (size_t)len < sizeof(text->bytes) - text->len);
	text->len += (size_t)len;
}

/* The short form of what is at `from`, and how much of it that is; 0: it has none. */
static size_t shorten_one(const char *from, struct scenario_text *shortened)
{
	unsigned device, partition;
	int len = 0;

	if (sscanf(from, "GPU-%8x-0000-4000-8000-0123456789ab%n", &device, &len) == 1 && len > 0)
		scenario_text_add(shortened, "gpu%u", device);
	else if (sscanf(from, "MIG-%8x-0000-4000-8000-%12x%n", &device, &partition, &len) == 2 &&
		 len > 0)
		scenario_text_add(shortened, "mig%u.%u", device, partition);
	else if (strncmp(from, "uid-", 4) == 0)
		len = 4;
	return (size_t)len;
}

void scenario_text_shorten(struct scenario_text *text)
{
	static struct scenario_text shortened;
	shortened.len = 0;
	for (size_t i = 0; i < text->len;) {
		size_t len = shorten_one(text->bytes + i, &shortened);
		if (len == 0)
			scenario_text_add(&shortened, "%c", text->bytes[i]);
		i += len > 0 ? len : 1;
	}
	shortened.bytes[shortened.len] = '\0';
	*text = shortened;
}

void scenario_line_fail(const struct scenario_line *line, const char *format, ...)
{
	char why[512];
	va_list args;
	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	fail_msg("%s, statement %u \"%.*s\": %s", line->sentence, line->number,
		 VIEW_ARG(line->text), why);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

/* Reads one word, without its quotes, and what is behind it. */
static const char *read_word(struct scenario_line *line, const char *from)
{
	char word[512];
	size_t len = 0;
	bool is_quoted = false;

	for (; *from && (is_quoted || (!is_blank(*from) && *from != ';')); from++) {
		if (*from == '`')
			is_quoted = !is_quoted;
		else if (len < sizeof(word))
			word[len++] = *from;
	}
	if (is_quoted || len == sizeof(word) || line->n_words == SCENARIO_WORDS)
		scenario_line_fail(line, "a quote without an end, or too long, or too many words");
	line->words[line->n_words++] = build_world_text(line->world, "%.*s", (int)len, word);
	return from;
}

bool scenario_line_next(struct scenario_line *line, const char **script)
{
	const char *from = *script;
	while (is_blank(*from) || *from == ';')
		from++;
	line->text = (struct view){from, strlen(from) < 80 ? strlen(from) : 80};
	line->n_words = line->at = 0;
	if (!*from)
		return false;
	line->number++;
	const char *begin = from;
	while (*from && *from != ';') {
		if (is_blank(*from))
			from++;
		else
			from = read_word(line, from);
	}
	line->text = (struct view){begin, (size_t)(from - begin)};
	*script = from;
	return true;
}

bool scenario_line_has_more(const struct scenario_line *line)
{
	return line->at < line->n_words;
}

struct view scenario_line_take(struct scenario_line *line)
{
	if (!scenario_line_has_more(line))
		scenario_line_fail(line, "a word is missing");
	return line->words[line->at++];
}

bool scenario_line_accept(struct scenario_line *line, const char *word)
{
	bool is_it = scenario_line_has_more(line) &&
		     view_equal(line->words[line->at], view_from(word));
	line->at += is_it;
	return is_it;
}

void scenario_line_rest(struct scenario_line *line, struct scenario_text *rest)
{
	rest->len = 0;
	rest->bytes[0] = '\0';
	while (scenario_line_has_more(line)) {
		struct view word = scenario_line_take(line);
		scenario_text_add(rest, "%s%.*s", rest->len > 0 ? " " : "", VIEW_ARG(word));
	}
}

int64_t scenario_line_duration_of(const struct scenario_line *line, struct view word)
{
	static const struct {
		const char *unit;
		int64_t ms;
	} units[] = {{"", 1}, {"ms", 1}, {"s", 1000}, {"min", 60000}, {"h", 3600000}};
	char *end;
	long long n = strtoll(word.ptr, &end, 10);

	for (size_t i = 0; end != word.ptr && i < ARRAY_SIZE(units); i++) {
		if (strcmp(end, units[i].unit) == 0)
			return n * units[i].ms;
	}
	scenario_line_fail(line, "%.*s is no duration", VIEW_ARG(word));
	return 0;
}

int64_t scenario_line_duration(struct scenario_line *line)
{
	return scenario_line_duration_of(line, scenario_line_take(line));
}

unsigned scenario_line_number(struct scenario_line *line)
{
	struct view word = scenario_line_take(line);
	uint64_t number;
	if (!view_parse_u64(word, &number))
		scenario_line_fail(line, "%.*s is no number", VIEW_ARG(word));
	return (unsigned)number;
}

const char *scenario_line_text(const struct scenario_line *line, struct view text)
{
	return build_world_text(line->world, "%.*s", VIEW_ARG(text)).ptr;
}

struct view scenario_line_unit(const struct scenario_line *line, struct view word)
{
	unsigned device, partition;
	int len = 0;

	if (sscanf(word.ptr, "gpu%u%n", &device, &len) == 1 && len > 0)
		return build_world_text(line->world, "%s%s",
					build_world_uuid(line->world, device).ptr, word.ptr + len);
	if (sscanf(word.ptr, "mig%u.%u%n", &device, &partition, &len) == 2 && len > 0)
		return build_world_text(line->world, "%s%s",
					build_world_mig(line->world, device, partition).ptr,
					word.ptr + len);
	return word;
}

unsigned scenario_line_device(struct scenario_line *line)
{
	struct view word = scenario_line_take(line);
	unsigned device = 0;
	int len = 0;
	if (sscanf(word.ptr, "gpu%u%n", &device, &len) != 1 || (size_t)len != word.len)
		scenario_line_fail(line, "%.*s is no device", VIEW_ARG(word));
	return device;
}

int scenario_line_choose(const struct scenario_line *line, struct view word,
			 const char *const *choices)
{
	for (int i = 0; choices[i]; i++) {
		if (view_equal(word, view_from(choices[i])))
			return i;
	}
	scenario_line_fail(line, "unknown word %.*s", VIEW_ARG(word));
	return -1;
}
