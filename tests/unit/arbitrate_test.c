/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Visits every combination of votes. With ARBITRATE_TABLE set in the environment the test of the
 * document prints the table as src/README.md must have it.
 */

#include "lib/test_main.h"

#include <stdlib.h>

#include "base/sbuf.h"
#include "join/arbitrate.h"
#include "model/attribution.h"

#define README TESTS_FOLDER "/../src/README.md"
#define BEGIN "<!-- table: join/arbitrate.c -->\n"
#define END "<!-- end of table -->\n"
#define MAX_COMBINATIONS 360u
#define CONFIRMED ATTRIBUTION_CONFIDENCE_CONFIRMED

static struct arbitrate_input combinations[MAX_COMBINATIONS];
static size_t n_combinations;

static int list_combinations(void **state)
{
	(void)state;
	for (unsigned i = 0; i < MAX_COMBINATIONS; i++) {
		combinations[n_combinations++] = (struct arbitrate_input){
			.uid = (enum arbitrate_vote)(i % 4),
			.name = (enum arbitrate_vote)(i / 4 % 3),
			.annotation = (enum arbitrate_vote)(i / 12 % 3),
			.pod = (enum arbitrate_pod)(i / 36 % 5),
			.was_published = i / 180,
		};
	}
	return 0;
}

static bool has_yes(const struct arbitrate_input *in)
{
	return in->uid == ARBITRATE_YES || in->uid == ARBITRATE_BOTH ||
	       in->name == ARBITRATE_YES || in->annotation == ARBITRATE_YES;
}

static bool has_no(const struct arbitrate_input *in)
{
	return in->uid == ARBITRATE_NO || in->uid == ARBITRATE_BOTH || in->name == ARBITRATE_NO ||
	       in->annotation == ARBITRATE_NO;
}

static bool is_alive(const struct arbitrate_input *in)
{
	return in->pod != ARBITRATE_POD_ELSEWHERE && in->pod != ARBITRATE_POD_OVER;
}

static bool stays(const struct arbitrate_input *in)
{
	enum arbitrate_verdict verdict = arbitrate_decide(in).verdict;
	return verdict == ARBITRATE_HOLD || verdict == ARBITRATE_KEEP;
}

/* A promise of one combination: whether it is about that one, and whether it is kept. */
struct promise {
	bool (*concerns)(const struct arbitrate_input *in, const struct arbitrate_result *result);
	bool (*is_kept)(const struct arbitrate_input *in, const struct arbitrate_result *result);
};

static void check(const struct promise *promise)
{
	unsigned n = 0;
	for (size_t i = 0; i < n_combinations; i++) {
		const struct arbitrate_input *in = &combinations[i];
		const struct arbitrate_result result = arbitrate_decide(in);
		if (!promise->concerns(in, &result))
			continue;
		n++;
		if (!promise->is_kept(in, &result))
			fail_msg("uid %d name %d annotation %d pod %d published %d: row %d",
				 in->uid, in->name, in->annotation, in->pod, in->was_published,
				 result.row);
	}
	assert_true(n > 0);
	print_message("%zu combinations, %u checks\n", n_combinations, n);
}

#define CLAIM(sentence, condition, claim)                                                        \
	static bool sentence##_concerns(const struct arbitrate_input *in,                          \
					const struct arbitrate_result *result)                     \
	{                                                                                          \
		(void)in;                                                                          \
		(void)result;                                                                      \
		return condition;                                                                  \
	}                                                                                          \
	static bool sentence##_is_kept(const struct arbitrate_input *in,                           \
				       const struct arbitrate_result *result)                      \
	{                                                                                          \
		(void)in;                                                                          \
		(void)result;                                                                      \
		return claim;                                                                      \
	}                                                                                          \
	static void sentence(void **state)                                                         \
	{                                                                                          \
		(void)state;                                                                       \
		check(&(struct promise){sentence##_concerns, sentence##_is_kept});                 \
	}

CLAIM(nobody_holds_without_a_yes, result->verdict == ARBITRATE_HOLD, has_yes(in))
CLAIM(no_living_pod_ends_without_a_no, is_alive(in) && result->verdict == ARBITRATE_END,
	has_no(in))
CLAIM(nobody_published_vanishes_without_an_end, in->was_published,
	result->verdict != ARBITRATE_NONE)
CLAIM(nobody_ends_or_is_kept_who_was_not_published, !in->was_published,
	result->verdict == ARBITRATE_HOLD || result->verdict == ARBITRATE_NONE)
CLAIM(confirmed_is_by_a_uid_that_nobody_contradicts, result->confidence == CONFIRMED,
	in->uid == ARBITRATE_YES && in->name != ARBITRATE_NO)
CLAIM(no_pod_that_is_over_or_elsewhere_stays, !is_alive(in),
	result->verdict == ARBITRATE_END || result->verdict == ARBITRATE_NONE)
CLAIM(a_tenant_has_a_confidence_and_nobody_else_has, true,
	(result->confidence != ATTRIBUTION_CONFIDENCE_UNSET) == stays(in))
CLAIM(a_placeholder_is_never_disputed_by_those_who_name_it,
	in->pod == ARBITRATE_POD_PLACEHOLDER && result->verdict == ARBITRATE_HOLD &&
		in->annotation != ARBITRATE_YES,
	result->confidence == ATTRIBUTION_CONFIDENCE_UNCONFIRMED)

/* Each no alone, so that any number of them one after another. */
static void a_no_turned_into_silence_takes_nobody_away(void **state)
{
	(void)state;
	unsigned n = 0;
	for (size_t i = 0; i < n_combinations; i++) {
		struct arbitrate_input quiet[] = {combinations[i], combinations[i], combinations[i]};
		if (!stays(&combinations[i]))
			continue;
		if (quiet[0].uid == ARBITRATE_NO)
			quiet[0].uid = ARBITRATE_SILENT;
		if (quiet[0].uid == ARBITRATE_BOTH)
			quiet[0].uid = ARBITRATE_YES;
		if (quiet[1].name == ARBITRATE_NO)
			quiet[1].name = ARBITRATE_SILENT;
		if (quiet[2].annotation == ARBITRATE_NO)
			quiet[2].annotation = ARBITRATE_SILENT;
		for (size_t k = 0; k < ARRAY_SIZE(quiet); k++, n++)
			assert_true(stays(&quiet[k]));
	}
	print_message("%zu combinations, %u checks\n", n_combinations, n);
}

static void whether_somebody_was_published_does_not_decide_whether_he_holds(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_combinations; i++) {
		struct arbitrate_input other = combinations[i];
		other.was_published = !other.was_published;
		const struct arbitrate_result a = arbitrate_decide(&combinations[i]);
		const struct arbitrate_result b = arbitrate_decide(&other);
		assert_int_equal(a.verdict == ARBITRATE_HOLD, b.verdict == ARBITRATE_HOLD);
		if (a.verdict == ARBITRATE_HOLD)
			assert_int_equal(a.confidence, b.confidence);
	}
}

static void a_process_that_is_seen_confirms_whom_an_annotation_names_and_nobody_else(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_combinations; i++) {
		struct arbitrate_input seen = combinations[i];
		seen.is_seen = true;
		const struct arbitrate_result a = arbitrate_decide(&combinations[i]);
		const struct arbitrate_result b = arbitrate_decide(&seen);
		const bool is_annotated = a.confidence == ATTRIBUTION_CONFIDENCE_ANNOTATED;
		assert_int_equal(a.verdict, b.verdict);
		assert_int_equal(a.row, b.row);
		assert_int_equal(b.confidence, is_annotated ? CONFIRMED : a.confidence);
	}
}

/* What is left of a tenant's witnesses says yes, or is silent. */
static void who_is_kept_is_as_sure_as_the_witnesses_left_and_a_dispute_stays_until_none_is(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_combinations; i++) {
		struct arbitrate_input left = combinations[i];
		if (has_no(&left))
			continue;
		assert_int_equal(arbitrate_keep(&left), arbitrate_decide(&left).confidence);
		left.was_disputed = true;
		assert_int_equal(arbitrate_keep(&left), has_yes(&left)
								? ATTRIBUTION_CONFIDENCE_DISPUTED
								: arbitrate_decide(&left).confidence);
	}
}

static void each_row_is_reached_and_has_a_name(void **state)
{
	(void)state;
	unsigned n_reached[ARBITRATE_N_ROWS] = {0};
	for (size_t i = 0; i < n_combinations; i++)
		n_reached[arbitrate_decide(&combinations[i]).row]++;
	for (unsigned row = 0; row < ARBITRATE_N_ROWS; row++) {
		assert_true(n_reached[row] > 0);
		assert_true(arbitrate_rule(row)->name.len > 0);
	}
}

/* The table in src/README.md */

static const char *const votes[] = {"silent", "yes", "no", "both"};
static const char *const pods[] = {"on another node", "over or deleted", "never known",
				   "holds by HAMi's ID", "here"};
static const char *const verdicts[] = {"NONE", "HOLD", "KEEP if published",
				       "END if published, else NONE"};
static const char *const confidences[] = {"–",         "Confirmed",   "NameOnly",
					  "Unconfirmed", "Annotated", "Disputed"};

static void print_cell(struct sbuf *out, const char *const *names, size_t n, unsigned mask)
{
	const char *separator = "";
	for (size_t i = 0; i < n; i++) {
		if (!(mask & (1u << i)))
			continue;
		sbuf_printf(out, "%s%s", separator, names[i]);
		separator = " or ";
	}
	sbuf_printf(out, "%s | ", mask ? "" : "any");
}

static void print_table(struct sbuf *out)
{
	sbuf_printf(out, "| # | row | pod | by UID | by name | by annotation | verdict | "
			 "confidence |\n|---|---|---|---|---|---|---|---|\n");
	for (unsigned row = 0; row < ARBITRATE_N_ROWS; row++) {
		const struct arbitrate_rule *rule = arbitrate_rule(row);
		sbuf_printf(out, "| %u | %.*s | ", row + 1, VIEW_ARG(rule->name));
		print_cell(out, pods, ARRAY_SIZE(pods), rule->pod);
		print_cell(out, votes, ARRAY_SIZE(votes), rule->uid);
		print_cell(out, votes, ARRAY_SIZE(votes), rule->by_name);
		print_cell(out, votes, ARRAY_SIZE(votes), rule->annotation);
		sbuf_printf(out, "%s | %s |\n", verdicts[rule->verdict],
			    confidences[rule->confidence]);
	}
}

static void read_readme(struct sbuf *buf)
{
	char chunk[4096];
	size_t n;
	FILE *file = fopen(README, "rb");
	assert_non_null(file);
	while ((n = fread(chunk, 1, sizeof(chunk), file)) > 0)
		sbuf_append(buf, (struct view){chunk, n});
	fclose(file);
}

static void the_document_has_this_table(void **state)
{
	(void)state;
	CLEANUP(sbuf_deinit) struct sbuf table, readme;
	sbuf_init(&table, 16384);
	sbuf_init(&readme, 1048576);
	print_table(&table);
	if (getenv("ARBITRATE_TABLE"))
		printf("%s", sbuf_text(&table));
	read_readme(&readme);
	const char *begin = strstr(sbuf_text(&readme), BEGIN);
	assert_non_null(begin);
	begin += strlen(BEGIN);
	const char *end = strstr(begin, END);
	assert_non_null(end);
	assert_int_equal((size_t)(end - begin), strlen(sbuf_text(&table)));
	assert_memory_equal(begin, sbuf_text(&table), (size_t)(end - begin));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(nobody_holds_without_a_yes),
	cmocka_unit_test(no_living_pod_ends_without_a_no),
	cmocka_unit_test(nobody_published_vanishes_without_an_end),
	cmocka_unit_test(nobody_ends_or_is_kept_who_was_not_published),
	cmocka_unit_test(confirmed_is_by_a_uid_that_nobody_contradicts),
	cmocka_unit_test(no_pod_that_is_over_or_elsewhere_stays),
	cmocka_unit_test(a_tenant_has_a_confidence_and_nobody_else_has),
	cmocka_unit_test(a_placeholder_is_never_disputed_by_those_who_name_it),
	cmocka_unit_test(a_no_turned_into_silence_takes_nobody_away),
	cmocka_unit_test(whether_somebody_was_published_does_not_decide_whether_he_holds),
	cmocka_unit_test(a_process_that_is_seen_confirms_whom_an_annotation_names_and_nobody_else),
	cmocka_unit_test(
		who_is_kept_is_as_sure_as_the_witnesses_left_and_a_dispute_stays_until_none_is),
	cmocka_unit_test(each_row_is_reached_and_has_a_name),
	cmocka_unit_test(the_document_has_this_table),
};

TEST_MAIN_WITH(tests, list_combinations, NULL)
