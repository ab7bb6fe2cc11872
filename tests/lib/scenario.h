/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * scenario - promises of the join, each a sentence and a script that is run over a build_world. Only
 * what goes into the join and what is published by it is named, so that a promise outlives the code.
 *
 *	static const struct scenario_promise promises[] = {
 *		PROMISE(a_tenant_stays_while_the_checkpoint_cannot_be_read,
 *			"gpu 0 exclusive; run a on gpu0; lose checkpoint; wait 20s;"
 *			"expect a Confirmed Running by=Checkpoint,PodResources; delete a; expect none"),
 *	};
 *	SCENARIO_MAIN(promises)
 *
 * Statements end with ';'. `Back quotes` keep blanks and ';' in a word. P is a pod (its UID is
 * "uid-P"; =U is the UID U), P/C its container C ("main" without). U is a device ID: gpu0, gpu0::3,
 * mig1.2, or any other text. T is a time: 10s, 5min, 300. [x] may be left out, x... repeated.
 *
 *	gpu N [exclusive | shared N | mig N]  a device that NVML lists, and what is on offer of it
 *	offer U... | none | resource NAME   further IDs on offer; none any more; their resource
 *	nvml hides | shows | uncut | renumbers N   NVML lists no device; those of before; the first
 *	                                    without its MIG devices; with this minor number
 *	pod P [KEY[=VALUE]...]              the API server has the pod; replaces the one of that UID
 *	run P on U[@R]... [KEY[=VALUE]...]  it, and the List and the checkpoint name it (resource R)
 *	list P[/C] [U[@R]...] | none        the kubelet's List names it (by P's name); is empty
 *	book P[/C] U[@R]... | none          the kubelet's checkpoint names it (by UID); is empty
 *	delete P | over P | end P           gone from the API server; Succeeded; gone, remembered so
 *	told P T | others T                 how long ago the API server told of its end; of others'
 *	elsewhere P                         the API server has that UID on another node
 *	grant P[/C] gpuN [KEY[=VALUE]...] | none   a ResourceClaim gives it the device
 *	slice N [nameless] [named NAME]     a ResourceSlice describes the device; a claim gives it to
 *	                                    what is no pod; the driver's name of it
 *	process P|host gpuN | none          a process on the device; no process is on any
 *	lose W [TEXT] | restore W           W (list, checkpoint, nvml, report) cannot be read; can
 *	old W                               W cannot be read: the report has what it said last
 *	report | heartbeat                  a report with new content arrives; one that says the same
 *	listed T                            the List was read again, T later than before
 *	restart | agentless                 the controller starts anew; no agent ever reported
 *	kubelet restarts [T] | settled | forgets   T before the List; long ago; with empty books
 *	claims known | unknown | denied     what is known of claims; denied ones are unknown too
 *	pods current | stale | denied       what is known of pods
 *	node gone | back | taken            from the API server; the device's object is gpu-b's
 *	claimed T [T]                       another node reports gpu0: how long ago, for how long
 *	operator NAMESPACE                  there is a ClusterPolicy
 *	forge KEY=VALUE...                  alters the first tenant published on gpu0
 *	clock T | age T                     the wall clock is set by T; the report is T old
 *	wait T                              joins, then time passes
 *	later                               publish; wait 10s; heartbeat; publish
 *	publish | join | again              joins and writes; joins only; begins with a new world
 *	expect ...                          see scenario_expect.h
 *
 * Keys of a pod: name, uid, namespace, hash, owner, phase, deleting, rejected, container, kind (Init,
 * Sidecar), state (Waiting, Running, Terminated), unseen (it has no state), second, init, status and
 * status2 (the device IDs that its status names, of the container and of the second), cut, more,
 * nogpu, system, started (T after the List was read), hami, group, reservation, claim. Of a grant:
 * device, name, partition, part, admin, share. Of a tenant that is forged: by, confidence, uid, since.
 *
 * Threads: a test's own.
 */

#include <stddef.h>

#include "lib/test_main.h"

struct scenario_promise {
	const char *sentence;
	const char *script;
};

/* clang-format off */
#define PROMISE(sentence, script) {#sentence, script}
/* clang-format on */

/* Runs the script; what is wrong ends the test and is said with the statement. */
void scenario_run(const char *sentence, const char *script);
/* Each promise and each further test as a test of its own; see TEST_MAIN(). */
int scenario_main(char **argv, const struct scenario_promise *promises, size_t n_promises,
		  const struct CMUnitTest *tests, size_t n_tests);

#define SCENARIO_MAIN(promises)                                                      \
	int main(int argc, char **argv)                                              \
	{                                                                            \
		(void)argc;                                                          \
		return scenario_main(argv, promises, ARRAY_SIZE(promises), NULL, 0); \
	}
#define SCENARIO_MAIN_WITH(promises, tests)                                       \
	int main(int argc, char **argv)                                           \
	{                                                                         \
		(void)argc;                                                       \
		return scenario_main(argv, promises, ARRAY_SIZE(promises), tests, \
				     ARRAY_SIZE(tests));                          \
	}
