/* SPDX-License-Identifier: Apache-2.0 */

/* Both sides of a comparison are texts, so that a failure shows all of it. */

#include "lib/scenario_expect.h"

#include "lib/scenario_show.h"
#include "lib/test_main.h"

static const char *const confidences[] = {"Unset",     "Confirmed", "NameOnly", "Unconfirmed",
					  "Annotated", "Disputed",  NULL};
static const char *const phases[] = {"Unset",   "Pending",  "Unresolved",  "Starting",
				     "Running", "Reserved", "Terminating", NULL};
static const char *const statuses[] = {"Unset", "True", "False", "Unknown"};
static const char *const actions[] = {"Keep", "Write", "Delete"};

static void compare(const struct scenario_line *line, struct scenario_text *shown,
		    const char *expected)
{
	scenario_text_shorten(shown);
	const char *text = shown->len > 0 ? shown->bytes : "none";
	if (strcmp(text, expected) != 0)
		scenario_line_fail(line, "it is \"%s\", not \"%s\"", text, expected);
}

static void expect_member(const struct scenario_line *line, const struct attribution_tenant *tenant,
			  struct view word)
{
	struct scenario_text text = {.len = 0};
	struct view key, value;

	if (!view_cut(word, VIEW("="), &key, &value)) {
		bool is_phase = false;
		for (int i = 0; phases[i]; i++)
			is_phase |= view_equal(word, view_from(phases[i]));
		(void)scenario_line_choose(line, word, is_phase ? phases : confidences);
		scenario_text_add(&text, "%s",
				  is_phase ? phases[tenant->phase]
					   : confidences[tenant->confidence]);
		compare(line, &text, word.ptr);
		return;
	}
	if (!scenario_show_tenant(tenant, key, &text))
		scenario_line_fail(line, "a tenant has no %.*s", VIEW_ARG(key));
	compare(line, &text, value.len > 0 ? value.ptr : "none");
}

static void expect_tenant_of(struct scenario_line *line, const struct attribution_status *status,
			     struct view who)
{
	for (uint32_t i = 0; i < status->tenants.count; i++) {
		const struct attribution_tenant *t = ARRAY_AT(status->tenants,
							      struct attribution_tenant, i);
		struct scenario_text key = {.len = 0};
		scenario_show_key(&key, t->pod_uid, t->container);
		scenario_text_shorten(&key);
		if (!view_equal(view_from(key.bytes), who))
			continue;
		while (scenario_line_has_more(line))
			expect_member(line, t, scenario_line_take(line));
		return;
	}
	scenario_line_fail(line, "%.*s is no tenant", VIEW_ARG(who));
}

static void expect_condition_of(struct scenario_line *line, const struct condition *condition)
{
	struct scenario_text text = {.len = 0}, expected;
	bool has_message = line->n_words - line->at > 2;
	scenario_text_add(&text, "%s %.*s", statuses[condition->status],
			  VIEW_ARG(condition->reason));
	if (has_message)
		scenario_text_add(&text, " %.*s", VIEW_ARG(condition->message));
	scenario_line_rest(line, &expected);
	compare(line, &text, expected.bytes);
}

/* The words, or the part of them, that a witness of the disagreement names. */
static void expect_ids(struct scenario_line *line, const struct attribution_status *status)
{
	struct view who = scenario_line_take(line), witness = scenario_line_take(line);
	struct scenario_text text = {.len = 0}, expected;

	for (uint32_t i = 0; i < status->source_disagreements.count; i++) {
		const struct attribution_disagreement *d = ARRAY_AT(
			status->source_disagreements, struct attribution_disagreement, i);
		struct scenario_text key = {.len = 0};
		scenario_show_key(&key, d->pod_uid, d->container);
		scenario_text_shorten(&key);
		for (uint32_t j = 0; view_equal(view_from(key.bytes), who) && j < d->says.count;
		     j++) {
			const struct attribution_statement *s = ARRAY_AT(
				d->says, struct attribution_statement, j);
			if (view_equal(s->witness, witness))
				scenario_show_texts(&text, s->device_ids);
		}
	}
	scenario_line_rest(line, &expected);
	compare(line, &text, expected.bytes);
}

static void expect_since(struct scenario_line *line, const struct attribution_status *status)
{
	const struct condition *condition = attribution_find_condition(status,
								       scenario_line_take(line));
	struct scenario_text text = {.len = 0}, expected;
	if (!condition)
		scenario_line_fail(line, "there is no such condition");
	else
		scenario_text_add(&text, "%lld",
				  (long long)(condition->last_transition_time - BUILD_WORLD_NOW));
	scenario_line_rest(line, &expected);
	compare(line, &text, expected.bytes);
}

static void expect_status(struct scenario_line *line, const struct attribution_status *status)
{
	struct view what = scenario_line_take(line);
	const struct condition *condition = attribution_find_condition(status, what);
	struct scenario_text text = {.len = 0}, expected;

	if (condition) {
		expect_condition_of(line, condition);
		return;
	}
	if (view_equal(what, VIEW("ids"))) {
		expect_ids(line, status);
		return;
	}
	if (view_equal(what, VIEW("since"))) {
		expect_since(line, status);
		return;
	}
	if (view_equal(what, VIEW("none"))) {
		(void)scenario_show_status(status, VIEW("tenants"), &text);
		compare(line, &text, "none");
		return;
	}
	if (scenario_show_status(status, what, &text)) {
		scenario_line_rest(line, &expected);
		compare(line, &text, expected.bytes);
		return;
	}
	expect_tenant_of(line, status, what);
}

/* What the result says beside the statuses. */

static void expect_again(struct scenario_line *line)
{
	int64_t again = line->world->result.again_in_ms;
	int64_t expected = scenario_line_accept(line, "never") ? -1 : scenario_line_duration(line);
	if (again != expected)
		scenario_line_fail(line, "it is %lld ms", (long long)again);
}

static void show_awaits(const struct join_result *result, struct scenario_text *text)
{
	scenario_text_add(text, "%s", result->recall.is_hearing_awaited ? "yes" : "no");
}

static void show_refused(const struct join_result *result, struct scenario_text *text)
{
	scenario_show_count(text, result->refused.entries);
}

static void show_unknown_ids(const struct join_result *result, struct scenario_text *text)
{
	scenario_show_count(text, result->refused.ids);
}

static void show_devices(const struct join_result *result, struct scenario_text *text)
{
	scenario_show_count(text, (int64_t)result->n_devices);
}

static void show_buried(const struct join_result *result, struct scenario_text *text)
{
	scenario_text_add(text, "%s", result->is_buried ? "yes" : "no");
}

static void show_by_names(const struct join_result *result, struct scenario_text *text)
{
	for (size_t i = 0; i < result->n_devices; i++)
		scenario_text_add(text, "%s%s", scenario_show_gap(text),
				  result->devices[i].is_by_names ? "yes" : "no");
}

static void show_actions(const struct join_result *result, struct scenario_text *text)
{
	for (size_t i = 0; i < result->n_devices; i++)
		scenario_text_add(text, "%s%s", scenario_show_gap(text),
				  actions[result->devices[i].action]);
}

static void show_ended(const struct join_result *result, struct scenario_text *text)
{
	for (size_t i = 0; i < result->recall.n_ended; i++)
		scenario_text_add(text, "%s%.*s", scenario_show_gap(text),
				  VIEW_ARG(result->recall.ended[i]));
}

static const struct {
	const char *what;
	void (*show)(const struct join_result *result, struct scenario_text *text);
} of_result[] = {
	{"awaits", show_awaits},           /* a heartbeat may change the result */
	{"refused", show_refused},         /* entries of pods that are on another node */
	{"unknown-ids", show_unknown_ids}, /* how often one was named that is no device's */
	{"devices", show_devices},         /* how many the result has */
	{"buried", show_buried},           /* the node is gone for good */
	{"by-names", show_by_names},       /* of each device: names alone decided */
	{"actions", show_actions},         /* of each device: Keep, Write, Delete */
	{"ended", show_ended},             /* UIDs that the next join must know as such */
};

static bool expect_of_result(struct scenario_line *line)
{
	struct scenario_text text = {.len = 0}, expected;
	for (size_t i = 0; i < ARRAY_SIZE(of_result); i++) {
		if (!scenario_line_accept(line, of_result[i].what))
			continue;
		of_result[i].show(&line->world->result, &text);
		scenario_line_rest(line, &expected);
		compare(line, &text, expected.bytes);
		return true;
	}
	return false;
}

static void expect_writes(struct scenario_line *line, enum scenario_stage *stage)
{
	unsigned n = build_world_count_writes(line->world);
	unsigned expected = scenario_line_number(line);
	if (n != expected)
		scenario_line_fail(line, "it is %u", n);
	*stage = *stage == SCENARIO_PUBLISHED ? *stage : SCENARIO_JOINED;
}

static void bring_up_to_date(struct scenario_line *line, enum scenario_stage *stage)
{
	if (*stage != SCENARIO_CHANGED)
		return;
	build_world_publish(line->world);
	*stage = SCENARIO_PUBLISHED;
	unsigned writes = build_world_count_writes(line->world);
	if (writes > 0)
		scenario_line_fail(line, "%u objects would be written again", writes);
}

void scenario_expect(struct scenario_line *line, enum scenario_stage *stage)
{
	unsigned device = 0;

	if (scenario_line_accept(line, "writes")) {
		expect_writes(line, stage);
		return;
	}
	bring_up_to_date(line, stage);
	if (scenario_line_accept(line, "again")) {
		expect_again(line);
		return;
	}
	if (expect_of_result(line))
		return;
	if (scenario_line_has_more(line) && view_starts_with(line->words[line->at], VIEW("gpu")))
		device = scenario_line_device(line);
	if (!build_world_joined(line->world, device))
		scenario_line_fail(line, "nothing is said of gpu%u", device);
	expect_status(line, build_world_status(line->world, device));
}
