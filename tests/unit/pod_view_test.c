/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kubectl/pod_view.h"
#include "lib/gpu_world.h"

typedef void (*view_fn)(struct page *page, const struct seating *seating);

struct question {
	view_fn view;
	enum page_form form;
	const char *namespace; /* NULL: all */
	const char *names[8];  /* none: everybody */
	bool is_selection;     /* all pods of the namespace, as a selector gives them */
};

static void add_all(struct seating *seating, const struct roll *roll, const char *namespace)
{
	for (const struct roll_entry *entry = roll->oldest; entry; entry = entry->next) {
		if (view_equal(entry->card.namespace, view_from(namespace)))
			seating_add(seating, entry->card.namespace, entry->card.name, &entry->card);
	}
}

static void assert_pods(const struct question *question, const char *screen)
{
	CLEANUP(catalogue_deinit) struct catalogue catalogue;
	CLEANUP(roll_deinit) struct roll roll;
	CLEANUP(page_deinit) struct page page;
	struct seating seating;
	struct error err;
	gpu_world_devices(&catalogue);
	gpu_world_pods(&roll);
	page_init(&page, question->form, GPU_WORLD_NOW);
	assert_int_equal(seating_init(&seating, &roll.arena, 16, &err), 0);
	seating.namespace = view_from(question->namespace);
	seating.is_named = question->names[0];
	seating.is_everybody = !seating.is_named && !question->is_selection;
	for (size_t i = 0; question->names[i]; i++) {
		struct view name = view_from(question->names[i]);
		seating_add(&seating, seating.namespace, name, roll_find(&roll, name));
	}
	if (question->is_selection)
		add_all(&seating, &roll, question->namespace);
	seating_seal(&seating);
	assert_int_equal(seating_fill(&seating, catalogue.devices, catalogue.n_devices, &err), 0);
	page.is_many = seating.n_findings != 1;
	page.all_namespaces = !question->namespace;
	question->view(&page, &seating);
	gpu_world_assert_screen(&page, screen);
}

static void one_pod_has_a_line_for_each_container_and_device(void **state)
{
	(void)state;
	assert_pods(&(struct question){pod_view, PAGE_TABLE, "lab", {"notebook-b"}}, "pod");
}

static void pods_without_a_gpu_are_explained_below(void **state)
{
	(void)state;
	assert_pods(&(struct question){pod_view, PAGE_TABLE, "ml",
				       {"train-0", "train-1", "train-2", "web-0", "done-0", "nope"}},
		    "pods");
}

static void a_pod_whose_gpu_is_not_known_is_shown_with_question_marks(void **state)
{
	(void)state;
	assert_pods(&(struct question){pod_view, PAGE_WIDE, "inf",
				       {"llm-0", "llm-1", "llm-9", "far-0"}}, "pods_unknown_wide");
}

static void wide_names_the_others_on_the_device(void **state)
{
	(void)state;
	assert_pods(&(struct question){pod_view, PAGE_WIDE, "lab", {"notebook-b"}}, "pod_wide");
}

static void json_has_where_a_pod_was(void **state)
{
	(void)state;
	assert_pods(&(struct question){pod_view_json, PAGE_JSON, "ml", {"train-1"}}, "pod_past_json");
}

static void all_namespaces_have_a_column(void **state)
{
	(void)state;
	assert_pods(&(struct question){pod_view, PAGE_TABLE, NULL, {NULL}}, "pods_all");
}

static void of_selected_pods_those_without_interest_are_passed_over(void **state)
{
	(void)state;
	assert_pods(&(struct question){pod_view, PAGE_TABLE, "ml", {NULL}, true}, "pods_selected");
}

static void names_are_those_of_the_devices_each_once(void **state)
{
	(void)state;
	assert_pods(&(struct question){pod_view_names, PAGE_NAME, "lab", {NULL}}, "pod_names");
}

static void json_has_pods_and_what_they_hold(void **state)
{
	(void)state;
	assert_pods(&(struct question){pod_view_json, PAGE_JSON, "inf", {"llm-0", "llm-1"}},
		    "pod_json");
}

static const struct pod_card_request request = {VIEW_INIT("main"), VIEW_INIT("nvidia.com/gpu"),
						VIEW_INIT("1")};
static const struct pod_card card = {.node = VIEW_INIT("n"), .uid = VIEW_INIT("u")};

static void a_pod_on_no_known_gpu_has_a_line_for_each_request(void **state)
{
	(void)state;
	CLEANUP(page_deinit) struct page page;
	struct pod_card asking = card;
	struct view id = VIEW("nvidia7");
	struct attribution_unplaced unplaced = {.device_ids = {&id, 1, true}};
	struct seating_finding finding = {.namespace = VIEW("ml"), .name = VIEW("a"),
					  .card = &asking, .verdict = SEATING_UNPLACED,
					  .unplaced = &unplaced};
	struct seating seating = {.is_named = true, .findings = &finding, .n_findings = 1};
	asking.requests = (struct array){(void *)(uintptr_t)&request, 1, true};
	page_init(&page, PAGE_TABLE, GPU_WORLD_NOW);
	page.has_headers = false;
	pod_view(&page, &seating);
	const char *body = sbuf_text(&page.body);
	assert_true(strncmp(body, "main ", 5) == 0);
	assert_non_null(strstr(body, " Unknown*\n"));
	assert_non_null(strstr(sbuf_text(&page.notes), "pod/a: holds device IDs on n that belong to "
						       "no known GPU: nvidia7\n"));
}

static void a_sharer_on_no_known_gpu_has_a_line_without_a_resource(void **state)
{
	(void)state;
	CLEANUP(page_deinit) struct page page;
	struct pod_card_request share = {.container = VIEW("main")};
	struct pod_card sharing = card;
	struct seating_finding finding = {.namespace = VIEW("ml"), .name = VIEW("a"),
					  .card = &sharing, .verdict = SEATING_UNKNOWN};
	struct seating seating = {.is_named = true, .findings = &finding, .n_findings = 1};
	sharing.requests = (struct array){&share, 1, true};
	page_init(&page, PAGE_WIDE, GPU_WORLD_NOW);
	page.has_headers = false;
	pod_view(&page, &seating);
	const char *body = sbuf_text(&page.body);
	assert_true(strncmp(body, "main ", 5) == 0);
	assert_non_null(strstr(body, " Unknown*   ?   "));
}

static void a_selected_pod_that_uses_a_gpu_without_a_slot_is_worth_a_note(void **state)
{
	(void)state;
	struct attribution device = {.uuid = VIEW("U")};
	struct attribution_user user = {.command = VIEW("p"), .pid = 1};
	for (int is_user = 0; is_user < 2; is_user++) {
		CLEANUP(page_deinit) struct page page;
		struct seating_finding finding = {.namespace = VIEW("ml"), .name = VIEW("a"),
						  .card = &card, .verdict = SEATING_NO_REQUEST,
						  .user = is_user ? &user : NULL,
						  .used_device = &device};
		struct seating seating = {.findings = &finding, .n_findings = 1};
		page_init(&page, PAGE_TABLE, GPU_WORLD_NOW);
		pod_view(&page, &seating);
		sbuf_append_char(&page.notes, '\0');
		assert_string_equal(page.notes.ptr,
				    is_user ? "pod/a: asks for no GPU; yet its process p[1] is on U "
					      "(?, index 0), without a slot of it\n"
					    : "");
	}
}

static void json_says_by_what_a_seat_was_found(void **state)
{
	(void)state;
	struct attribution_tenant tenant = {.container = VIEW("c")};
	struct attribution device = {.uuid = VIEW("U")};
	for (int is_by_name = 0; is_by_name < 2; is_by_name++) {
		CLEANUP(page_deinit) struct page page;
		struct seat seat = {&device, &tenant, is_by_name};
		struct seating seating = {.seats = &seat, .n_seats = 1};
		page_init(&page, PAGE_JSON, GPU_WORLD_NOW);
		pod_view_json(&page, &seating);
		assert_non_null(strstr(sbuf_text(&page.body), is_by_name ? "\"matchedBy\": \"Name\""
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
	cmocka_unit_test(json_says_by_what_a_seat_was_found),
};
TEST_MAIN(tests)
