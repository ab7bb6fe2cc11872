/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Text is cut, never refused: an error that does not fit is still an error. The cut may fall into
 * a UTF-8 character; whoever writes the text out (log, JSON) repairs that.
 */

#include "base/error.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The functions themselves, not the header's way of calling them. */
#undef error_set
#undef error_wrap
#undef error_no_memory

static void replace_control_characters(char *text)
{
	for (; *text; text++) {
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = '?';
	}
}

static void append_os_meaning(struct error *err, int os_errno)
{
	char buffer[96];
	size_t len = strlen(err->text);
	/* The GNU variant returns the text, which may be static instead of in the buffer. */
	const char *meaning = strerror_r(os_errno, buffer, sizeof(buffer));
	snprintf(err->text + len, sizeof(err->text) - len, "%s%s", len ? ": " : "", meaning);
}

int error_set(struct error *err, enum error_kind kind, int os_errno, const char *format, ...)
{
	assert(err && kind != ERROR_NONE);
	/* Formatted apart, for the values may point into err->text. */
	char text[sizeof(err->text)];
	va_list values;
	va_start(values, format);
	if (vsnprintf(text, sizeof(text), format, values) < 0)
		text[0] = '\0';
	va_end(values);
	*err = (struct error){.kind = kind, .os_errno = os_errno};
	memcpy(err->text, text, strlen(text) + 1);
	if (os_errno != 0)
		append_os_meaning(err, os_errno);
	replace_control_characters(err->text);
	return -1;
}

int error_wrap(struct error *err, const char *format, ...)
{
	assert(err && err->kind != ERROR_NONE);
	char text[2 * sizeof(err->text)];
	va_list values;
	va_start(values, format);
	int len = vsnprintf(text, sizeof(err->text), format, values);
	va_end(values);
	if (len < 0)
		return -1;
	size_t used = strlen(text);
	snprintf(text + used, sizeof(text) - used, ": %s", err->text);
	text[sizeof(err->text) - 1] = '\0';
	memcpy(err->text, text, strlen(text) + 1);
	replace_control_characters(err->text);
	return -1;
}

int error_no_memory(struct error *err)
{
	*err = (struct error){.kind = ERROR_NO_MEMORY, .text = "out of memory"};
	return -1;
}

void error_clear(struct error *err)
{
	*err = (struct error){.kind = ERROR_NONE};
}

const char *error_kind_name(enum error_kind kind)
{
	switch (kind) {
	case ERROR_NONE:
		return "none";
	case ERROR_RETRY:
		return "retry";
	case ERROR_THROTTLED:
		return "throttled";
	case ERROR_CONFLICT:
		return "conflict";
	case ERROR_EXPIRED:
		return "expired";
	case ERROR_NOT_FOUND:
		return "not found";
	case ERROR_DENIED:
		return "denied";
	case ERROR_REJECTED:
		return "rejected";
	case ERROR_LIMIT:
		return "limit";
	case ERROR_NO_MEMORY:
		return "no memory";
	case ERROR_STOPPING:
		return "stopping";
	}
	assert(kind == ERROR_NONE && "a kind without a name");
	return "";
}
