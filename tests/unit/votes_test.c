/* SPDX-License-Identifier: Apache-2.0 */

/* What each source is worth: what is published of pod a on gpu0 shows which votes it cast. */

#include "lib/scenario.h"

#define START "again; gpu 0 exclusive; gpu 1 exclusive; patience 0;"
/* The sources say that of pod a, of which nothing is published, or, as of gpu0, such witnesses. */
#define NEW(say, expected) START say "expect " expected ";"
#define SAID(by, say, expected)                                                                \
	START "run a on gpu0; publish; forge by=" by "; kubelet forgets; pod a;" say           \
	"expect " expected ";"
#define ALL "Checkpoint,PodResources,PodStatus"
#define BOTH_FAIL "lose checkpoint; lose list;"
#define GONE "none; expect recent a"

static const struct scenario_promise promises[] = {
	PROMISE(all_that_name_a_tenant_are_listed_and_no_other,
		NEW("run a on gpu0 status=gpu0;", "a Confirmed by=" ALL)
		SAID(ALL, "book a gpu0; list a gpu0;", "a Confirmed by=Checkpoint,PodResources")),
	PROMISE(who_names_another_device_contradicts_who_names_this_one,
		SAID(ALL, "pod a status=gpu0; book a gpu0; list a gpu1;", "a Disputed by=Checkpoint,PodStatus")
		"expect disagreement a Checkpoint=1 PodResources=0 PodStatus=1;"
		SAID(ALL, "pod a status=gpu0; book a gpu1; list a gpu1;", "a Disputed by=PodStatus")
		"expect disagreement a Checkpoint=0 PodResources=0 PodStatus=1;"
		SAID("PodResources", "list a gpu0; later;", "a Disputed by=PodResources")
		"expect disagreement a Checkpoint=0 PodResources=1"),
	PROMISE(a_checkpoint_that_cannot_be_read_stays_a_witness_of_what_it_said,
		SAID("PodResources", "list a gpu0; lose checkpoint;", "a NameOnly by=PodResources")
		SAID(ALL, "list a gpu0; lose checkpoint;", "a Confirmed by=Checkpoint,PodResources")),
	PROMISE(what_cannot_be_read_says_nothing,
		SAID(ALL, BOTH_FAIL, "a Confirmed by=" ALL)
		SAID(ALL, "pod a status=gpu1;" BOTH_FAIL, "a Confirmed by=Checkpoint,PodResources")
		SAID(ALL, "list a gpu1; lose checkpoint;", "a Confirmed by=Checkpoint,PodStatus")),
	PROMISE(the_checkpoint_alone_ends_nobody_while_the_list_lacks_a_pod,
		SAID(ALL, "", "a Confirmed by=PodStatus")
		SAID(ALL, "lose list;", "a Confirmed by=PodResources,PodStatus")
		SAID(ALL, "book a gpu1; list a gpu1;", GONE)),
	PROMISE(the_api_server_ends_whom_none_but_it_ever_named,
		SAID("PodStatus", "pod a status=gpu1;" BOTH_FAIL, GONE)
		SAID("PodStatus", BOTH_FAIL, "a Confirmed by=PodStatus")
		SAID("ResourceClaim", BOTH_FAIL, GONE) SAID("KAI", BOTH_FAIL, GONE)
		SAID("PodResources,KAI", BOTH_FAIL, "a NameOnly by=PodResources")),
};

SCENARIO_MAIN(promises)
