/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * invocation - the command line of kubectl-gpus, by the habits of kubectl: flags may stand anywhere,
 * short ones may be written together with their value, "--" ends them, and the flags that say which
 * cluster and who are handed on to kubectl as they are.
 *
 * Threads: any.
 */

#include "base/arena.h"
#include "kubectl/output.h"

enum invocation_outcome {
	INVOCATION_RUN,
	INVOCATION_HELP, /* of `verb` */
	INVOCATION_VERSION,
};

enum invocation_verb {
	INVOCATION_FLEET, /* no command: all devices */
	INVOCATION_POD,
	INVOCATION_NODE,
	INVOCATION_DEVICE,
};

struct invocation {
	enum invocation_outcome outcome;
	enum invocation_verb verb;
	enum output_form form;
	bool all_namespaces;
	bool no_headers;
	const char *namespace;      /* NULL: not given; likewise below */
	const char *selector;
	const char *field_selector;
	const char **names;         /* of what the verb is about, each once */
	size_t n_names;
	const char **passed;        /* arguments for kubectl, as they were typed */
	size_t n_passed;
};

/*
 * Reads argv, NULL-terminated, whose first element is the program. Texts are borrowed from it, the
 * rest lies in arena. Fails with ERROR_REJECTED and a text that says what is wrong with the line,
 * or ERROR_NO_MEMORY.
 */
MUST_USE int invocation_parse(char *const *argv, struct arena *arena,
			      struct invocation *ret_invocation, struct error *err);
/* The verb as it is typed, "" for INVOCATION_FLEET. Static. */
const char *invocation_verb_name(enum invocation_verb verb);
