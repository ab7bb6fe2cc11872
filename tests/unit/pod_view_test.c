/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kubectl/pod_view.h"
#include "lib/gpu_world.h"

typedef void (*view_fn)(struct output *output, const struct assignment_set *set);

struct question {
	view_fn view;
	enum output_form form;
	const char *namespace; /* NULL: all */
	const char *names[8];  /* none: everybody */
	bool is_selection;     /* all pods of the namespace, as a selector gives them */
};

static void add_all(struct assignment_set *set, const struct pod_list *pods, const char *namespace)
{
	for (const struct pod_list_entry *entry = pods->oldest; entry; entry = entry->next) {
		if (view_equal(entry->card.namespace, view_from(namespace)))
			assignment_add(set, entry->card.namespace, entry->card.name, &entry->card);
	}
}

static void assert_pods(const struct question *question, const char *screen)
{
	CLEANUP(device_list_deinit) struct device_list list;
	CLEANUP(pod_list_deinit) struct pod_list pods;
	CLEANUP(output_deinit) struct output output;
	struct assignment_set set;
	struct error err;
	gpu_world_devices(&list);
	gpu_world_pods(&pods);
	output_init(&output, question->form, GPU_WORLD_NOW);
	output.uuids = gpu_world_uuids();
	assert_int_equal(assignment_init(&set, &pods.arena, 16, &err), 0);
	set.namespace = view_from(question->namespace);
	set.is_named = question->names[0];
	set.is_everybody = !set.is_named && !question->is_selection;
	for (size_t i = 0; question->names[i]; i++) {
		struct view name = view_from(question->names[i]);
		assignment_add(&set, set.namespace, name, pod_list_find(&pods, name));
	}
	if (question->is_selection)
		add_all(&set, &pods, question->namespace);
	assignment_seal(&set);
	assert_int_equal(assignment_fill(&set, list.devices, list.n_devices, &err), 0);
	output.is_many = set.n_findings != 1;
	output.all_namespaces = !question->namespace;
	question->view(&output, &set);
	gpu_world_assert_screen(&output, screen);
}

static void one_pod_has_a_line_for_each_container_and_device(void **state)
{
	(void)state;
	assert_pods(&(struct question){pod_view, OUTPUT_TABLE, "lab", {"notebook-b"}}, "pod");
}

static void pods_without_a_gpu_are_explained_below(void **state)
{
	(void)state;
	assert_pods(&(struct question){pod_view, OUTPUT_TABLE, "ml",
				       {"train-0", "train-1", "train-2", "web-0", "done-0", "nope"}},
		    "pods");
}

static void a_pod_whose_gpu_is_not_known_is_shown_with_question_marks(void **state)
{
	(void)state;
	assert_pods(&(struct question){pod_view, OUTPUT_WIDE, "inf",
				       {"llm-0", "llm-1", "llm-9", "far-0"}}, "pods_unknown_wide");
}

static void wide_names_the_others_on_the_device(void **state)
{
	(void)state;
	assert_pods(&(struct question){pod_view, OUTPUT_WIDE, "lab", {"notebook-b"}}, "pod_wide");
}

static void json_has_where_a_pod_was(void **state)
{
	(void)state;
	assert_pods(&(struct question){pod_view_json, OUTPUT_JSON, "ml", {"train-1"}}, "pod_past_json");
}

static void all_namespaces_have_a_column(void **state)
{
	(void)state;
	assert_pods(&(struct question){pod_view, OUTPUT_TABLE, NULL, {NULL}}, "pods_all");
}

static void of_selected_pods_those_without_interest_are_passed_over(void **state)
{
	(void)state;
	assert_pods(&(struct question){pod_view, OUTPUT_TABLE, "ml", {NULL}, true}, "pods_selected");
}

static void names_are_those_of_the_devices_each_once(void **state)
{
	(void)state;
	assert_pods(&(struct question){pod_view_names, OUTPUT_NAME, "lab", {NULL}}, "pod_names");
}

static void json_has_pods_and_what_they_hold(void **state)
{
	(void)state;
	assert_pods(&(struct question){pod_view_json, OUTPUT_JSON, "inf", {"llm-0", "llm-1"}},
		    "pod_json");
}

static const struct pod_card_request request = {VIEW_INIT("main"), VIEW_INIT("nvidia.com/gpu"),
						VIEW_INIT("1")};
static const struct pod_card card = {.node = VIEW_INIT("n"), .uid = VIEW_INIT("u")};

static void a_pod_on_no_known_gpu_has_a_line_for_each_request(void **state)
{
	(void)state;
	CLEANUP(output_deinit) struct output output;
	struct pod_card asking = card;
	struct view id = VIEW("nvidia7");
	struct attribution_unplaced unplaced = {.device_ids = {&id, 1, true}};
	struct assignment_finding finding = {.namespace = VIEW("ml"), .name = VIEW("a"),
					  .card = &asking, .verdict = ASSIGNMENT_UNPLACED,
					  .unplaced = &unplaced};
	struct assignment_set set = {.is_named = true, .findings = &finding, .n_findings = 1};
	asking.requests = (struct array){(void *)(uintptr_t)&request, 1, true};
	output_init(&output, OUTPUT_TABLE, GPU_WORLD_NOW);
	output.uuids = gpu_world_uuids();
	output.has_headers = false;
	pod_view(&output, &set);
	const char *body = sbuf_text(&output.body);
	assert_true(strncmp(body, "main ", 5) == 0);
	assert_non_null(strstr(body, " Unknown*\n"));
	assert_non_null(strstr(sbuf_text(&output.notes), "pod/a: holds device IDs on n that belong to "
						       "no known GPU: nvidia7\n"));
}

static void a_sharer_on_no_known_gpu_has_a_line_without_a_resource(void **state)
{
	(void)state;
	CLEANUP(output_deinit) struct output output;
	struct pod_card_request share = {.container = VIEW("main")};
	struct pod_card sharing = card;
	struct assignment_finding finding = {.namespace = VIEW("ml"), .name = VIEW("a"),
					  .card = &sharing, .verdict = ASSIGNMENT_UNKNOWN};
	struct assignment_set set = {.is_named = true, .findings = &finding, .n_findings = 1};
	sharing.requests = (struct array){&share, 1, true};
	output_init(&output, OUTPUT_WIDE, GPU_WORLD_NOW);
	output.uuids = gpu_world_uuids();
	output.has_headers = false;
	pod_view(&output, &set);
	const char *body = sbuf_text(&output.body);
	assert_true(strncmp(body, "main ", 5) == 0);
	assert_non_null(strstr(body, " Unknown*   ?   "));
}

static void a_selected_pod_that_uses_a_gpu_without_a_slot_is_worth_a_note(void **state)
{
	(void)state;
	struct attribution device = {.uuid = VIEW("U")};
	struct attribution_user user = {.command = VIEW("p"), .pid = 1};
	for (int is_user = 0; is_user < 2; is_user++) {
		CLEANUP(output_deinit) struct output output;
		struct assignment_finding finding = {.namespace = VIEW("ml"), .name = VIEW("a"),
						  .card = &card, .verdict = ASSIGNMENT_NO_REQUEST,
						  .user = is_user ? &user : NULL,
						  .used_device = &device};
		struct assignment_set set = {.findings = &finding, .n_findings = 1};
		output_init(&output, OUTPUT_TABLE, GPU_WORLD_NOW);
		output.uuids = gpu_world_uuids();
		pod_view(&output, &set);
		sbuf_append_char(&output.notes, '\0');
		assert_string_equal(output.notes.ptr,
				    is_user ? "pod/a: asks for no GPU; yet its process p[1] is on U "
					      "(?, index 0), without a slot of it\n"
					    : "");
	}
}

static void json_says_by_what_an_assignment_was_found(void **state)
{
	(void)state;
	struct attribution_tenant tenant = {.container = VIEW("c")};
	struct attribution device = {.uuid = VIEW("U")};
	for (int is_by_name = 0; is_by_name < 2; is_by_name++) {
		CLEANUP(output_deinit) struct output output;
		struct assignment assignment = {&device, &tenant, is_by_name};
		struct assignment_set set = {.assignments = &assignment, .n_assignments = 1};
		output_init(&output, OUTPUT_JSON, GPU_WORLD_NOW);
		output.uuids = gpu_world_uuids();
		pod_view_json(&output, &set);
		assert_non_null(strstr(sbuf_text(&output.body), is_by_name ? "\"matchedBy\": \"Name\""
									 : "\"matchedBy\": \"UID\""));
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(one_pod_has_a_line_for_each_container_and_device),
	cmocka_unit_test(pods_without_a_gpu_are_explained_below),
	cmocka_unit_test(a_pod_whose_gpu_is_not_known_is_shown_with_question_marks),
	cmocka_unit_test(wide_names_the_others_on_the_device),
	cmocka_unit_test(json_has_where_a_pod_was),
	cmocka_unit_test(all_namespaces_have_a_column),
	cmocka_unit_test(of_selected_pods_those_without_interest_are_passed_over),
	cmocka_unit_test(names_are_those_of_the_devices_each_once),
	cmocka_unit_test(json_has_pods_and_what_they_hold),
	cmocka_unit_test(a_pod_on_no_known_gpu_has_a_line_for_each_request),
	cmocka_unit_test(a_sharer_on_no_known_gpu_has_a_line_without_a_resource),
	cmocka_unit_test(a_selected_pod_that_uses_a_gpu_without_a_slot_is_worth_a_note),
	cmocka_unit_test(json_says_by_what_an_assignment_was_found),
};
TEST_MAIN(tests)
