/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/scenario_pods.h"

#include "lib/test_main.h"

/* Keys */

enum { TEXT, FLAG, UNITS, AFTER_LIST, WORD };

struct key {
	const char *name;
	size_t offset;
	int kind;
	const char *const *words; /* of a WORD: by the value of its enumeration */
};

static const char *const pod_phases[] = {"Unknown",   "Pending", "Running",
					 "Succeeded", "Failed",  NULL};
static const char *const kinds[] = {"Main", "Init", "Sidecar", "Ephemeral", NULL};
static const char *const operands[] = {"none", "driver", "toolkit",  "plugin", "mps",
				       "gfd",  "dcgm",   "exporter", "mig",    NULL};
static const char *const states[] = {"Unknown", "Waiting", "Running", "Terminated", NULL};

#define POD(name) offsetof(struct build_pod, name)
static const struct key pod_keys[] = {
	{"name", POD(name), TEXT, NULL},
	{"uid", POD(uid), TEXT, NULL},
	{"namespace", POD(namespace), TEXT, NULL},
	{"hash", POD(hash), TEXT, NULL},
	{"owner", POD(owner), TEXT, NULL},
	{"container", POD(container), TEXT, NULL},
	{"second", POD(second), TEXT, NULL},
	{"init", POD(init), TEXT, NULL},
	{"claim", POD(claim), TEXT, NULL},
	{"hami", POD(hami), TEXT, NULL},
	{"group", POD(kai_group), TEXT, NULL},
	{"group-1", POD(kai_groups[0]), TEXT, NULL},
	{"group-2", POD(kai_groups[1]), TEXT, NULL},
	{"sharer", POD(kai_container), TEXT, NULL},
	{"reserved", POD(kai_device), TEXT, NULL},
	{"phase", POD(phase), WORD, pod_phases},
	{"kind", POD(kind), WORD, kinds},
	{"state", POD(state), WORD, states},
	{"unseen", POD(is_unseen), FLAG, NULL},
	{"deleting", POD(deleting), FLAG, NULL},
	{"rejected", POD(admission_failed), FLAG, NULL},
	{"nogpu", POD(wants_no_gpu), FLAG, NULL},
	{"system", POD(system), FLAG, NULL},
	{"cut", POD(is_cut), FLAG, NULL},
	{"more", POD(has_more), FLAG, NULL},
	{"reservation", POD(reservation), FLAG, NULL},
	{"operand", POD(operand), WORD, operands},
	{"ready", POD(is_ready), FLAG, NULL},
	{"refused", POD(was_refused), FLAG, NULL},
	{"status", POD(told), UNITS, NULL},
	{"status2", POD(told_of_second), UNITS, NULL},
	{"started", POD(started_at), AFTER_LIST, NULL},
};

#define GRANT(name) offsetof(struct grant, name)
enum { VIEW_OF = WORD + 1 };
static const struct key grant_keys[] = {
	{"device", GRANT(device), VIEW_OF, NULL}, {"uuid", GRANT(uuid), VIEW_OF, NULL},
	{"partition", GRANT(partition), VIEW_OF, NULL},
	{"part", GRANT(is_part), FLAG, NULL},     {"admin", GRANT(is_admin), FLAG, NULL},
	{"share", GRANT(is_share), FLAG, NULL},
};

static void read_units(struct scenario_line *line, struct view units, struct view *to)
{
	struct view first, rest = units;
	for (size_t i = 0; rest.len > 0; i++) {
		assert_true(i < BUILD_WORLD_MAX_TOLD);
		(void)view_cut(rest, VIEW(","), &first, &rest);
		to[i] = scenario_line_unit(line, view_from(scenario_line_text(line, first)));
	}
}

static void read_key(struct scenario_line *line, const struct key *key, struct view value,
		     void *object)
{
	void *at = (char *)object + key->offset;

	switch (key->kind) {
	case TEXT:
		*(const char **)at = scenario_line_text(line, value);
		break;
	case FLAG:
		*(bool *)at = true;
		break;
	case UNITS:
		read_units(line, value, at);
		break;
	case AFTER_LIST:
		*(int64_t *)at = line->world->input.listed_at +
				 scenario_line_duration_of(line, value);
		break;
	case VIEW_OF:
		*(struct view *)at = scenario_line_unit(line,
							view_from(scenario_line_text(line, value)));
		break;
	default:
		*(int *)at = scenario_line_choose(line, value, key->words);
	}
}

/* Takes the rest of the statement. */
static void read_keys(struct scenario_line *line, const struct key *keys, size_t n_keys,
		      void *object)
{
	while (scenario_line_has_more(line)) {
		struct view word = scenario_line_take(line), name, value;
		size_t i = 0;
		(void)view_cut(word, VIEW("="), &name, &value);
		while (i < n_keys && !view_equal(name, view_from(keys[i].name)))
			i++;
		if (i == n_keys)
			scenario_line_fail(line, "there is no key %.*s", VIEW_ARG(name));
		else
			read_key(line, &keys[i], value, object);
	}
}

/* Pods and books */

struct who {
	const char *name, *uid, *container;
};

static struct who take_who(struct scenario_line *line)
{
	struct view word = scenario_line_take(line), name, container;
	struct who who;

	if (!view_cut(word, VIEW("/"), &name, &container))
		container = VIEW("main");
	who.container = scenario_line_text(line, container);
	who.name = scenario_line_text(line, name);
	who.uid = name.ptr[0] == '='
			  ? who.name + 1
			  : build_world_text(line->world, "uid-%.*s", VIEW_ARG(name)).ptr;
	return who;
}

static struct build_pod take_pod(struct scenario_line *line, const struct who *who)
{
	struct build_pod pod = {.name = who->name};
	if (strcmp(who->container, "main") != 0)
		pod.container = who->container;
	read_keys(line, pod_keys, ARRAY_SIZE(pod_keys), &pod);
	return pod;
}

static void do_pod(struct scenario_line *line)
{
	struct who who = take_who(line);
	build_world_pod(line->world, take_pod(line, &who));
}

/* U, or U@RESOURCE. */
struct given {
	struct view id, resource;
};

static struct given take_given(struct scenario_line *line)
{
	struct view word = scenario_line_take(line), id, resource;
	if (!view_cut(word, VIEW("@"), &id, &resource))
		resource = VIEW("nvidia.com/gpu");
	id = view_from(scenario_line_text(line, id));
	return (struct given){scenario_line_unit(line, id), resource};
}

static void list_one(struct scenario_line *line, const struct who *who)
{
	struct given given = take_given(line);
	build_world_list(line->world, who->name, who->container, given.id)->resource =
		given.resource;
}

static void book_one(struct scenario_line *line, const struct who *who)
{
	struct given given = take_given(line);
	build_world_book(line->world, who->uid, who->container, given.id)->resource =
		given.resource;
}

static bool is_unit(struct view word)
{
	return view_starts_with(word, VIEW("gpu")) || view_starts_with(word, VIEW("mig"));
}

static void do_run(struct scenario_line *line)
{
	struct who who = take_who(line);
	unsigned first, n = 0;

	if (!scenario_line_accept(line, "on"))
		scenario_line_fail(line, "\"on\" is missing");
	first = line->at;
	do {
		(void)take_given(line);
		n++;
	} while (scenario_line_has_more(line) && is_unit(line->words[line->at]));
	struct build_pod pod = take_pod(line, &who);
	const struct pod *put = build_world_pod(line->world, pod);
	who.container = pod.container ? pod.container : "main";
	who.uid = pod.hash ? pod.hash : scenario_line_text(line, pod_uid(put));
	for (unsigned i = 0; i < n; i++) {
		if (pod.kind != POD_CONTAINER_INIT)
			line->at = first + i, list_one(line, &who);
		line->at = first + i;
		book_one(line, &who);
	}
	line->at = line->n_words;
}

static void do_list(struct scenario_line *line)
{
	if (scenario_line_accept(line, "none")) {
		build_world_list_nothing(line->world);
		return;
	}
	struct who who = take_who(line);
	if (!scenario_line_has_more(line)) /* it has the container, without a device */
		build_world_list(line->world, who.name, who.container, VIEW(""))->device_ids.count =
			0;
	while (scenario_line_has_more(line))
		list_one(line, &who);
}

static void do_book(struct scenario_line *line)
{
	if (scenario_line_accept(line, "none")) {
		build_world_book_nothing(line->world);
		return;
	}
	struct who who = take_who(line);
	do {
		book_one(line, &who);
	} while (scenario_line_has_more(line));
}

static void do_delete(struct scenario_line *line)
{
	build_world_remove_pod(line->world, take_who(line).uid);
}

static void do_end(struct scenario_line *line)
{
	struct who who = take_who(line);
	build_world_remove_pod(line->world, who.uid);
	build_world_end(line->world, who.uid);
}

static void do_over(struct scenario_line *line)
{
	struct who who = take_who(line);
	build_world_pod(line->world,
			(struct build_pod){.name = who.name, .phase = POD_PHASE_SUCCEEDED});
}

static struct join_end ends[4];

static void do_told(struct scenario_line *line)
{
	if (scenario_line_accept(line, "others")) {
		line->world->input.ended_for_ms = scenario_line_duration(line);
		return;
	}
	assert_true(line->world->input.n_ends < ARRAY_SIZE(ends));
	struct view uid = view_from(take_who(line).uid);
	ends[line->world->input.n_ends++] = (struct join_end){uid, scenario_line_duration(line)};
	line->world->input.ends = ends;
}

static void do_late(struct scenario_line *line)
{
	static const struct pod *late[1];
	line->world->input.told_later = late;
	line->world->input.n_told_later = 0;
	if (scenario_line_accept(line, "none"))
		return;
	const struct view uid = view_from(take_who(line).uid);
	for (size_t i = 0; i < line->world->input.n_pods; i++)
		if (view_equal(pod_uid(line->world->pods[i]), uid))
			late[line->world->input.n_told_later++] = line->world->pods[i];
}

static void do_elsewhere(struct scenario_line *line)
{
	build_world_move_away(line->world, take_who(line).uid);
}

static void do_grant(struct scenario_line *line)
{
	if (scenario_line_accept(line, "none")) {
		line->world->n_granted = 0;
	} else if (scenario_line_accept(line, "unplaced")) {
		for (size_t i = 0; i < line->world->n_granted; i++) {
			line->world->granted[i].grant.uuid = (struct view){0};
			line->world->granted[i].grant.partition = (struct view){0};
		}
	} else {
		struct who who = take_who(line);
		struct grant *grant = build_world_grant(line->world, who.uid, who.container,
							     scenario_line_device(line));
		read_keys(line, grant_keys, ARRAY_SIZE(grant_keys), grant);
	}
	build_world_regrant(line->world);
}

static void do_process(struct scenario_line *line)
{
	static int64_t pid;
	if (scenario_line_accept(line, "none")) {
		build_world_see_no_processes(line->world);
		return;
	}
	struct who who = take_who(line);
	build_world_process(line->world, scenario_line_device(line), ++pid,
			    strcmp(who.name, "host") == 0 ? "" : who.uid);
}

/* Devices */

static void do_gpu(struct scenario_line *line)
{
	unsigned n = scenario_line_number(line);
	if (scenario_line_accept(line, "exclusive"))
		build_world_exclusive(line->world, n);
	else if (scenario_line_accept(line, "shared"))
		build_world_shared(line->world, n, scenario_line_number(line));
	else if (scenario_line_accept(line, "mig"))
		build_world_cut(line->world, n, scenario_line_number(line));
	else
		build_world_device(line->world, n);
}

static void do_offer(struct scenario_line *line)
{
	if (scenario_line_accept(line, "resource")) {
		line->world->allocatable.resource = line->world->registered.resource =
			scenario_line_take(line);
		return;
	}
	if (scenario_line_accept(line, "none"))
		build_world_offer_nothing(line->world);
	if (scenario_line_accept(line, "lost"))
		build_world_lose_plugin(line->world);
	while (scenario_line_has_more(line))
		build_world_offer(line->world, scenario_line_unit(line, scenario_line_take(line)));
}

static void do_slice(struct scenario_line *line)
{
	if (scenario_line_accept(line, "none")) {
		line->world->input.n_slice_devices = 0;
		return;
	}
	struct slice_device *slice = build_world_slice(line->world,
							    scenario_line_number(line));
	slice->is_nameless = scenario_line_accept(line, "nameless");
	slice->is_whole = scenario_line_accept(line, "whole");
	if (scenario_line_accept(line, "minor"))
		slice->minor = scenario_line_number(line);
}

const struct scenario_statement scenario_pods[] = {
	{"gpu", "gpu N [exclusive | shared N | mig N]", do_gpu},
	{"offer", "offer U... | none | lost | resource NAME", do_offer},
	{"pod", "pod P [KEY[=VALUE]...]", do_pod},
	{"run", "run P on U... [KEY[=VALUE]...]", do_run},
	{"list", "list P[/C] [U...] | list none", do_list},
	{"book", "book P[/C] U... | book none", do_book},
	{"delete", "delete P", do_delete},
	{"over", "over P", do_over},
	{"end", "end P", do_end},
	{"told", "told P T | told others T", do_told},
	{"late", "late P | late none", do_late},
	{"elsewhere", "elsewhere P", do_elsewhere},
	{"grant", "grant P[/C] gpuN [KEY[=VALUE]...] | grant none | unplaced", do_grant},
	{"slice", "slice N [nameless] [whole] [minor N] | slice none", do_slice},
	{"process", "process P gpuN | process host gpuN | process none", do_process},
	{NULL, NULL, NULL},
};
