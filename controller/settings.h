/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * settings - what an operator can set, by flag or environment; the table is settings.def.
 *
 * Threads: filled by the main thread before others start, then read-only.
 */

#include "base/option.h"
#include "controller/pod_selection.h"
#include "kube/reflector.h"

struct settings {
#define SETTING(field, name, type, ...) OPTION_CTYPE_##type field;
#include "controller/settings.def"
#undef SETTING
	enum reflector_initial initial_state; /* from `initial` */
	enum pod_selection_policy pod_selection_policy; /* from `pod_selection` */
};

/* The program as base/option.h wants it: for parsing, --help and the README's table. */
extern const struct option_program settings_program;

/*
 * Parses arguments and environment and checks what belongs together; sets level and format of the
 * log. Fails with ERROR_REJECTED and a text that names the flag.
 */
MUST_USE int settings_parse(char *const *argv, char *const *environment,
			    struct settings *ret_settings, enum option_outcome *ret_outcome,
			    struct error *err);
