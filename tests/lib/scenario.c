/* SPDX-License-Identifier: Apache-2.0 */

/* Each statement is one function, and one row of a table: here, in scenario_pods.c or in scenario_intent.c. */

#include "lib/scenario.h"

#include <stdlib.h>

#include "lib/scenario_expect.h"
#include "lib/scenario_intent.h"
#include "lib/scenario_pods.h"

static struct build_world world;
static struct report whole; /* what is taken out of a report, to be put back */
static enum scenario_stage stage;
static const struct pod *lacking[BUILD_WORLD_MAX];
static struct view without_claim; /* the UID of a pod whose claim is not here */

/* Sources */

static void do_nvml(struct scenario_line *line)
{
	if (scenario_line_accept(line, "shows")) {
		world.report.devices = whole.devices;
	} else if (scenario_line_accept(line, "hides")) {
		whole.devices = world.report.devices;
		world.report.devices.count = 0;
	} else if (scenario_line_accept(line, "uncut")) {
		world.devices[0].partitions.count = 0;
	} else if (scenario_line_accept(line, "renumbers")) {
		for (size_t i = 0; scenario_line_has_more(line); i++)
			world.devices[i].minor = scenario_line_accept(line, "none")
							 ? -1
							 : (int64_t)scenario_line_number(line);
	}
}

static const char *const sources[] = {"list", "checkpoint", "nvml", "report", NULL};

static struct report_source *source_of(int source)
{
	return source == 0   ? &world.report.sources.pod_resources
	       : source == 1 ? &world.report.sources.checkpoint
			     : &world.report.sources.nvml;
}

static void do_lose(struct scenario_line *line)
{
	static void (*const fail[])(struct build_world *) = {
		build_world_fail_list, build_world_fail_book, build_world_fail_nvml};
	int source = scenario_line_choose(line, scenario_line_take(line), sources);

	if (source == 3) {
		world.input.report = NULL;
		world.input.report_age_ms = 0;
		return;
	}
	if (source == 0)
		whole.pod_resources = world.report.pod_resources,
		whole.allocatable = world.report.allocatable;
	else if (source == 1)
		whole.checkpoint = world.report.checkpoint;
	else
		whole.devices = world.report.devices;
	fail[source](&world);
	if (scenario_line_has_more(line))
		source_of(source)->message = scenario_line_take(line);
}

static void do_old(struct scenario_line *line)
{
	int source = scenario_line_choose(line, scenario_line_take(line), sources);
	source_of(source)->state = REPORT_SOURCE_ERROR;
	source_of(source)->hangs = scenario_line_accept(line, "hangs");
}

static void do_restore(struct scenario_line *line)
{
	int source = scenario_line_choose(line, scenario_line_take(line), sources);

	if (source == 3) {
		world.input.report = &world.report;
		return;
	}
	source_of(source)->state = REPORT_SOURCE_OK;
	source_of(source)->hangs = false;
	if (source == 0 && whole.pod_resources.items)
		world.report.pod_resources = whole.pod_resources,
		world.report.allocatable = whole.allocatable;
	else if (source == 1 && whole.checkpoint.present)
		world.report.checkpoint = whole.checkpoint;
	else if (source == 2)
		world.report.devices = whole.devices;
}

static void do_report(struct scenario_line *line)
{
	(void)line;
	build_world_report(&world);
}

static void do_heartbeat(struct scenario_line *line)
{
	(void)line;
	world.input.report_age_ms = 0;
}

static void do_boot(struct scenario_line *line)
{
	world.input.is_of_former_boot = scenario_line_accept(line, "former");
	if (!world.input.is_of_former_boot)
		world.report.boot_id = view_from(scenario_line_text(line, scenario_line_take(line)));
}

static void do_age(struct scenario_line *line)
{
	world.input.report_age_ms = scenario_line_duration(line);
}

static void do_listed(struct scenario_line *line)
{
	world.input.listed_at += scenario_line_duration(line);
}

static void do_restart(struct scenario_line *line)
{
	(void)line;
	build_world_restart(&world);
}

static void do_agentless(struct scenario_line *line)
{
	(void)line;
	build_world_without_agent(&world);
}

static void do_kubelet(struct scenario_line *line)
{
	if (scenario_line_accept(line, "forgets")) {
		build_world_list_nothing(&world);
		build_world_book_nothing(&world);
	} else if (scenario_line_accept(line, "settled")) {
		world.report.kubelet_restarted_at = 0;
	} else if (scenario_line_accept(line, "restarts")) {
		int64_t before = scenario_line_has_more(line) ? scenario_line_duration(line) : 10;
		world.report.kubelet_restarted_at = world.report.observed_at - before;
	}
}

static void do_claims(struct scenario_line *line)
{
	static const char *const words[] = {"known", "unknown", "denied", NULL};
	int known = scenario_line_choose(line, scenario_line_take(line), words);
	world.input.grants_unknown = known > 0;
	world.input.grants_denied = known > 1;
}

static void do_lacks(struct scenario_line *line)
{
	struct view name;
	without_claim = (struct view){0};
	if (scenario_line_accept(line, "none"))
		return;
	name = scenario_line_take(line);
	without_claim = build_world_text(&world, "uid-%.*s", VIEW_ARG(name));
}

static void do_pods(struct scenario_line *line)
{
	static const char *const words[] = {"current", "stale", "denied", NULL};
	world.input.pods_age = (enum inventory_age)scenario_line_choose(line, scenario_line_take(line),
								    words);
}

static void do_operator(struct scenario_line *line)
{
	build_world_govern(&world, scenario_line_take(line).ptr);
}

/* Nodes and what is published */

static struct attribution *alter_object(struct scenario_line *line)
{
	struct join_previous *previous = build_world_previous(&world, 0);
	struct attribution *object = arena_alloc(&world.arena, 1, sizeof(*object));
	if (!previous || !object)
		scenario_line_fail(line, "gpu0 has no object");
	*object = *previous->object;
	previous->object = object;
	return object;
}

static void do_node(struct scenario_line *line)
{
	if (scenario_line_accept(line, "gone"))
		world.input.node = NULL;
	else if (scenario_line_accept(line, "back"))
		world.input.node = &world.node;
	else if (scenario_line_accept(line, "taken"))
		alter_object(line)->status.node_name = VIEW("gpu-b");
}

static void do_claimed(struct scenario_line *line)
{
	struct join_previous *previous = build_world_previous(&world, 0);
	assert_non_null(previous);
	previous->claimed_age_ms = scenario_line_duration(line);
	if (scenario_line_has_more(line))
		previous->claimed_for_ms = scenario_line_duration(line);
}

static struct array witnesses_of(struct scenario_line *line, struct view names)
{
	struct view *texts = arena_alloc(&world.arena, 8, sizeof(*texts)), rest = names;
	uint32_t n = 0;
	assert_non_null(texts);
	while (rest.len > 0) {
		struct view first;
		assert_true(n < 8);
		(void)view_cut(rest, VIEW(","), &first, &rest);
		texts[n++] = view_from(scenario_line_text(line, first));
	}
	return (struct array){texts, n, true};
}

static void do_forge(struct scenario_line *line)
{
	static const char *const confidences[] = {
		"Unset", "Confirmed", "NameOnly", "Unconfirmed", "Annotated", "Disputed", NULL};
	struct attribution *object = alter_object(line);
	struct attribution_tenant *tenant = arena_alloc(&world.arena, 1, sizeof(*tenant));

	assert_non_null(tenant);
	assert_true(object->status.tenants.count > 0);
	*tenant = *ARRAY_AT(object->status.tenants, struct attribution_tenant, 0);
	object->status.tenants = (struct array){tenant, 1, true};
	while (scenario_line_has_more(line)) {
		struct view key, value;
		(void)view_cut(scenario_line_take(line), VIEW("="), &key, &value);
		if (view_equal(key, VIEW("by")))
			tenant->witnesses = witnesses_of(line, value);
		else if (view_equal(key, VIEW("confidence")))
			tenant->confidence = scenario_line_choose(line, value, confidences);
		else if (view_equal(key, VIEW("uid")))
			tenant->pod_uid = value;
		else if (view_equal(key, VIEW("since")))
			tenant->start_time = scenario_line_duration_of(line, value);
		else
			scenario_line_fail(line, "there is no key %.*s", VIEW_ARG(key));
	}
}

/* Time */

static void do_wait(struct scenario_line *line)
{
	build_world_wait(&world, scenario_line_duration(line));
}

static void do_later(struct scenario_line *line)
{
	(void)line;
	build_world_publish(&world);
	build_world_wait(&world, world.limits.disagreement_ms);
	world.input.report_age_ms = 0;
	build_world_publish(&world);
}

static void do_patience(struct scenario_line *line)
{
	world.limits.disagreement_ms = scenario_line_duration(line);
}

static void do_clock(struct scenario_line *line)
{
	world.input.now_wall_ms += scenario_line_duration(line);
}

static void do_publish(struct scenario_line *line)
{
	(void)line;
	build_world_publish(&world);
}

static void do_join(struct scenario_line *line)
{
	(void)line;
	build_world_join(&world);
	stage = SCENARIO_JOINED;
}

static void do_again(struct scenario_line *line)
{
	(void)line;
	without_claim = (struct view){0};
	build_world_deinit(&world);
	build_world_init(&world);
}

static void do_expect(struct scenario_line *line)
{
	scenario_expect(line, &stage);
}

static const struct scenario_statement statements[] = {
	{"nvml", "nvml hides | shows | uncut | renumbers N...", do_nvml},
	{"lose", "lose list|checkpoint|nvml|report [TEXT]", do_lose},
	{"old", "old list|checkpoint|nvml [hangs]", do_old},
	{"restore", "restore list|checkpoint|nvml|report", do_restore},
	{"report", "report", do_report},
	{"heartbeat", "heartbeat", do_heartbeat},
	{"boot", "boot NAME | former", do_boot},
	{"age", "age T", do_age},
	{"listed", "listed T", do_listed},
	{"restart", "restart", do_restart},
	{"agentless", "agentless", do_agentless},
	{"kubelet", "kubelet restarts [T] | settled | forgets", do_kubelet},
	{"claims", "claims known | unknown | denied", do_claims},
	{"lacks", "lacks P | none", do_lacks},
	{"pods", "pods current | stale | denied", do_pods},
	{"operator", "operator NAMESPACE", do_operator},
	{"node", "node gone | back | taken", do_node},
	{"claimed", "claimed T [T]", do_claimed},
	{"forge", "forge KEY=VALUE...", do_forge},
	{"wait", "wait T", do_wait},
	{"later", "later", do_later},
	{"patience", "patience T", do_patience},
	{"clock", "clock T", do_clock},
	{"publish", "publish", do_publish},
	{"join", "join", do_join},
	{"again", "again", do_again},
	{"expect", "expect ...", do_expect},
	{NULL, NULL, NULL},
};

/* While claims are not known, those of no pod that uses one are here. */
static bool is_lacking(const struct pod *pod)
{
	if (without_claim.len > 0 && view_equal(pod_uid(pod), without_claim))
		return true;
	return world.input.grants_unknown && pod_gpu(pod)->claims.count > 0 && !pod_is_over(pod);
}

static void find_lacking(void)
{
	world.input.lacking = lacking;
	world.input.n_lacking = 0;
	for (size_t i = 0; i < world.input.n_pods; i++)
		if (is_lacking(world.pods[i]))
			lacking[world.input.n_lacking++] = world.pods[i];
}

/* The statement of that word, which is taken; NULL: there is none. */
static const struct scenario_statement *find(struct scenario_line *line,
					     const struct scenario_statement *among)
{
	while (among->word && !scenario_line_accept(line, among->word))
		among++;
	return among->word ? among : NULL;
}

static void run_statement(struct scenario_line *line)
{
	const struct scenario_statement *statement = find(line, scenario_pods);
	if (!statement)
		statement = find(line, scenario_intent);
	if (!statement)
		statement = find(line, statements);
	if (!statement) {
		scenario_line_fail(line, "there is no such statement");
		return;
	}
	if (statement->run != do_expect)
		stage = SCENARIO_CHANGED;
	statement->run(line);
	find_lacking();
	if (scenario_line_has_more(line))
		scenario_line_fail(line, "it ends too late; usage: %s", statement->usage);
}

void scenario_run(const char *sentence, const char *script)
{
	struct scenario_line line = {.world = &world, .sentence = sentence};
	build_world_init(&world);
	without_claim = (struct view){0};
	whole = (struct report){0};
	stage = SCENARIO_CHANGED;
	while (scenario_line_next(&line, &script))
		run_statement(&line);
	build_world_deinit(&world);
}

static void run_promise(void **state)
{
	const struct scenario_promise *promise = *state;
	scenario_run(promise->sentence, promise->script);
}

int scenario_main(char **argv, const struct scenario_promise *promises, size_t n_promises,
		  const struct CMUnitTest *tests, size_t n_tests)
{
	const size_t n = n_promises + n_tests;
	struct CMUnitTest *all = calloc(n, sizeof(*all));
	assert_non_null(all);
	for (size_t i = 0; i < n; i++)
		all[i] = i < n_promises
				 ? (struct CMUnitTest){promises[i].sentence, run_promise, NULL,
						       NULL, (void *)(uintptr_t)&promises[i]}
				 : tests[i - n_promises];
	if (argv[1] && !test_main_select(2, argv, all, n)) {
		free(all);
		return 2;
	}
	int failed = _cmocka_run_group_tests("promises", all, n, NULL, NULL);
	free(all);
	return failed;
}
