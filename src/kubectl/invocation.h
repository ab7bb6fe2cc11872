/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * invocation - the command line of kubectl-gpus. Flags may stand anywhere, as in kubectl. Flags that
 * choose the cluster and the user are handed on to kubectl.
 *
 * Threads: any.
 */

#include "base/arena.h"
#include "base/option.h"
#include "kubectl/output.h"

enum invocation_verb {
	INVOCATION_FLEET, /* no command: all devices */
	INVOCATION_POD,
	INVOCATION_NODE,
	INVOCATION_DEVICE,
	INVOCATION_FAILING,
	INVOCATION_IDLE,
	INVOCATION_DRIFT,
	INVOCATION_WHY,
};

struct invocation {
	enum option_outcome outcome;
	enum invocation_verb verb;
	int form; /* enum output_form */
	bool all_namespaces;
	bool no_headers;
	bool watch;
	bool check;
	bool all;
	int64_t interval_ms;        /* between two questions of a watch; 0: there is none */
	const char *namespace;      /* NULL: not given; likewise below */
	const char *controller_namespace; /* never NULL */
	const char *selector;
	const char *field_selector;
	const char **names;         /* of pods, nodes or devices, each once */
	bool is_of_pod;             /* INVOCATION_WHY: the name is a pod's, and no device's */
	size_t n_names;
	const char **passed;        /* arguments for kubectl, each as --name=value */
	size_t n_passed;
	struct arena *arena;
};

/*
 * Reads argv, NULL-terminated, whose first element is the program. Texts are borrowed from it, the
 * rest lies in arena. Fails with ERROR_REJECTED and a text that says what to change, or with
 * ERROR_NO_MEMORY.
 */
MUST_USE int invocation_parse(char *const *argv, struct arena *arena,
			      struct invocation *ret_invocation, struct error *err);
/* Appends what --help prints for a verb. Failure is the buffer's. */
void invocation_render_help(enum invocation_verb verb, struct sbuf *buf);
