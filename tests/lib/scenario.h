/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * scenario - promises of the join, each a sentence and a script that is run over a build_world. A
 * script names only what goes into the join and what is published, so that a promise outlives the
 * code.
 *
 *	static const struct scenario_promise promises[] = {
 *		PROMISE(a_tenant_stays_while_the_checkpoint_cannot_be_read,
 *			"gpu 0 exclusive; run a on gpu0; lose checkpoint; wait 20s;"
 *			"expect a Confirmed Running by=Checkpoint,PodResources; delete a; expect none"),
 *	};
 *	SCENARIO_MAIN(promises)
 *
 * Statements end with ';'. `Back quotes` keep blanks and ';' in a word.
 *
 *	| word | meaning                                                   |
 *	|------|-----------------------------------------------------------|
 *	| P    | a pod, with the UID "uid-P"; =U is the pod with the UID U |
 *	| P/C  | container C of the pod; "main" without /C                 |
 *	| U    | a device ID: gpu0, gpu0::3, mig1.2, or any other text     |
 *	| T    | a time: 10s, 5min, 300                                    |
 *	| W    | checkpoint, list, nvml or report                          |
 *	| K    | KEY or KEY=VALUE, see below                               |
 *	| [x]  | may be left out                                           |
 *	| x... | may be repeated                                           |
 *
 * Devices:
 *
 *	| statement              | effect                                                  |
 *	|------------------------|---------------------------------------------------------|
 *	| gpu N                  | NVML lists device N, and nothing of it is offered       |
 *	| gpu N exclusive        | it is offered whole                                     |
 *	| gpu N shared N         | it is offered as that many replicas                     |
 *	| gpu N mig N            | it is cut into that many MIG devices, which are offered |
 *	| offer U..., offer none | offers further IDs; offers none any more                |
 *	| offer resource NAME    | the resource that the IDs are offered as                |
 *	| nvml hides, nvml shows | NVML lists no device; those of before                   |
 *	| nvml uncut             | NVML lists the first device without its MIG devices     |
 *	| nvml renumbers N...    | the first devices have these minor numbers, or none     |
 *
 * Pods, and who gives them devices:
 *
 *	| statement                | effect                                                    |
 *	|--------------------------|-----------------------------------------------------------|
 *	| pod P [K]...             | the API server has the pod; replaces the one of that UID  |
 *	| run P on U[@R]... [K]... | it, and List and checkpoint name it (resource R)          |
 *	| list P[/C] [U[@R]...]    | the kubelet's List names it by P's name                   |
 *	| book P[/C] U[@R]...      | the kubelet's checkpoint names it by UID                  |
 *	| list none, book none     | the List, the checkpoint is empty                         |
 *	| over P                   | the pod is Succeeded                                      |
 *	| delete P                 | gone from the API server                                  |
 *	| end P                    | gone from the API server; its end is remembered           |
 *	| told P T, told others T  | how long ago the API server told of its end; of others'   |
 *	| late P, late none        | the API server told of it after the List had come; of all  |
 *	|                          | before                                                    |
 *	| elsewhere P              | the API server has that UID on another node               |
 *	| grant P[/C] gpuN [K]...  | a ResourceClaim gives it the device                       |
 *	| grant none               | no claim gives a device                                   |
 *	| grant unplaced           | no slice tells any more where the granted devices are     |
 *	| lacks P, lacks none      | the claim of P is not here; all are                       |
 *	| slice none               | no ResourceSlice describes a device                       |
 *	| slice N [nameless]       | a ResourceSlice describes the device; a claim gives it to |
 *	|       [whole] [minor N]  | a consumer that is no pod; by its name it is the whole    |
 *	|                          | device, of that minor number                              |
 *	| process P gpuN           | a process of P on the device                              |
 *	| process host gpuN        | a process of the host on the device                       |
 *	| process none             | no process is on any device                               |
 *
 * What is intended:
 *
 *	| statement                  | effect                                                  |
 *	|----------------------------|---------------------------------------------------------|
 *	| policy [K]...              | there is a ClusterPolicy, of namespace gpu-operator     |
 *	| policy none, policy unread | there is none; they cannot be read                      |
 *	| config KEY SHARING[:N]     | its ConfigMap has that: none, time-slicing:N or mps:N   |
 *	| config was KEY SHARING[:N] | it had that before                                      |
 *	| config is unreadable       | it cannot be read; "is missing": there is none          |
 *	| label KEY=[VALUE]          | a label of the node, without "nvidia.com/"              |
 *	| capacity N                 | the node's allocatable of nvidia.com/gpu                |
 *
 * What can be read, and what time passes:
 *
 *	| statement                | effect                                                    |
 *	|--------------------------|-----------------------------------------------------------|
 *	| lose W [TEXT], restore W | W cannot be read; can be read again                       |
 *	| old W [hangs]            | W cannot be read: the report has what it said last        |
 *	| report, heartbeat        | a report with new content arrives; one that says the same |
 *	| boot NAME, boot former   | the report is of that boot of the node; of an earlier one |
 *	| listed T                 | the List was read again, T later than before              |
 *	| restart                  | the controller starts anew                                |
 *	| agentless                | no agent ever reported                                    |
 *	| kubelet restarts [T]     | the kubelet started T before the List                     |
 *	| kubelet settled          | it started long ago                                       |
 *	| kubelet forgets          | it started with empty books                               |
 *	| claims known             | claims are known                                          |
 *	| claims unknown           | claims are not known                                      |
 *	| claims denied            | claims are not known, because the API server denies them  |
 *	| pods current             | the watch of pods is open                                 |
 *	| pods stale, pods denied  | it has been away for long; the API server denies it       |
 *	| node gone, node back     | the node goes from the API server; comes back             |
 *	| node taken               | the device's object is gpu-b's                            |
 *	| claimed T [T]            | another node reports gpu0: how long ago, for how long     |
 *	| operator NAMESPACE       | there is a ClusterPolicy                                  |
 *	| forge K...               | alters the first tenant published on gpu0                 |
 *	| clock T, age T           | the wall clock is set by T; the report is T old           |
 *	| patience T               | a contradiction counts after T                            |
 *	| wait T                   | joins, then time passes                                   |
 *	| publish, join            | joins and writes; joins only                              |
 *	| later                    | publish; wait 10s; heartbeat; publish                     |
 *	| again                    | begins with a new world                                   |
 *	| expect ...               | see scenario_expect.h                                     |
 *
 * Keys:
 *
 *	| of      | keys                                                                       |
 *	|---------|----------------------------------------------------------------------------|
 *	| a pod   | name, uid, namespace, hash, owner, phase, deleting, rejected, container,   |
 *	|         | second, init, cut, more, nogpu, system, hami, group, reservation, claim    |
 *	|         | group-1, group-2: of several GPUs; sharer: KAI's word for the container;   |
 *	|         | reserved: the device by the annotation of KAI's reservation                |
 *	|         | kind (Init, Sidecar), state (Waiting, Running, Terminated)                 |
 *	|         | unseen: it has no state                                                    |
 *	|         | operand (plugin, exporter, ...), ready, refused (for want of devices)       |
 *	| a policy| plugin, exporter, gfd, mig, driver (on, off), name, namespace, state,      |
 *	|         | version, config, default, strategy, unreadable                             |
 *	|         | status, status2: device IDs in its status, of the container and the second |
 *	|         | started: T after the List was read                                         |
 *	| a grant | device, uuid, partition, part, admin, share                                |
 *	| forge   | by, confidence, uid, since                                                 |
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

/* The main function of promises and of the TEST()s of a file, which have these two (test_main.h). */
#define SCENARIO_MAIN_WITH(promises, set_up, tear_down)                         \
	int main(int argc, char **argv)                                         \
	{                                                                       \
		(void)argc;                                                     \
		test_main_equip(set_up, tear_down);                             \
		return scenario_main(argv, promises, ARRAY_SIZE(promises),      \
				     test_main_entered, test_main_n_entered);   \
	}
#define SCENARIO_MAIN(promises) SCENARIO_MAIN_WITH(promises, NULL, NULL)
