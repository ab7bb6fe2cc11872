/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * agent_settings - what an operator can set of the agent, by flag or environment; the table is
 * agent_settings.def.
 *
 * Threads: filled by the main thread at the start, then read-only.
 */

#include "base/option.h"

struct agent_settings {
#define SETTING(field, name, type, ...) OPTION_CTYPE_##type field;
#include "agent/agent_settings.def"
#undef SETTING
};

/* The program as base/option.h wants it: for parsing, --help and the README's table. */
extern const struct option_program agent_settings_program;

/*
 * Parses arguments and environment (texts stay borrowed from both) and checks what belongs
 * together; sets level and format of the log. Fails with ERROR_REJECTED and a text that names the
 * flag; *ret_settings is then unspecified.
 */
MUST_USE int agent_settings_parse(char *const *argv, char *const *environment,
				  struct agent_settings *ret_settings,
				  enum option_outcome *ret_outcome, struct error *err);
