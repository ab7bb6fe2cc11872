/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kubectl/tenancy_row.h"

#define N_COMPARED 3

/* A device with one tenant, as the join would publish it. */
static struct {
	struct attribution_status status;
	struct attribution_tenant tenant;
	struct view witnesses[4];
	struct attribution_statement says[N_COMPARED];
	struct attribution_disagreement disagreement;
	struct condition attributed;
} made;

static const struct view id = VIEW_INIT("GPU-1");

static void testify(const char *witness)
{
	made.witnesses[made.tenant.witnesses.count] = view_from(witness);
	made.tenant.witnesses = array_of(made.witnesses, made.tenant.witnesses.count + 1);
}

static void say(const char *witness, bool is_yes)
{
	made.says[made.disagreement.says.count] = (struct attribution_statement){
		.witness = view_from(witness),
		.slots = is_yes,
		.device_ids = array_of(is_yes ? &id : NULL, is_yes)};
	made.disagreement.says = array_of(made.says, made.disagreement.says.count + 1);
}

static void begin(int confidence, int phase)
{
	memset(&made, 0, sizeof(made));
	made.tenant = (struct attribution_tenant){.pod_uid = VIEW("u"),
						  .container = VIEW("main"),
						  .phase = phase,
						  .confidence = confidence,
						  .slots = 1};
	made.disagreement = (struct attribution_disagreement){VIEW("u"), VIEW("main"), {0}};
	made.attributed = (struct condition){.type = VIEW("Attributed"),
					     .status = CONDITION_TRUE};
	made.status.conditions = array_of(&made.attributed, 1);
}

/* What the witnesses of those votes leave in the status. */
static void publish(const struct arbitrate_input *input, struct arbitrate_result result)
{
	const bool is_disputed = result.confidence == ATTRIBUTION_CONFIDENCE_DISPUTED;
	begin(result.confidence, input->pod == ARBITRATE_POD_UNKNOWN ? ATTRIBUTION_PHASE_PENDING
								     : ATTRIBUTION_PHASE_RUNNING);
	if (input->pod == ARBITRATE_POD_PLACEHOLDER)
		made.tenant.placeholder = VIEW("HAMi");
	if (input->uid == ARBITRATE_YES || input->uid == ARBITRATE_BOTH)
		testify("Checkpoint");
	if (input->name == ARBITRATE_YES)
		testify("PodResources");
	if (input->annotation == ARBITRATE_YES)
		testify("HAMi");
	if (!is_disputed)
		return;
	say("Checkpoint", input->uid != ARBITRATE_NO);
	if (input->name != ARBITRATE_SILENT)
		say("PodResources", input->name == ARBITRATE_YES);
	if (input->uid == ARBITRATE_BOTH)
		say("PodStatus", false);
	made.status.source_disagreements = array_of(&made.disagreement, 1);
	made.attributed.status = CONDITION_FALSE;
}

static unsigned find(void)
{
	made.status.tenants = array_of(&made.tenant, 1);
	return tenancy_row_find(&made.status, &made.tenant);
}

/* A no is published only where it disputes something (join/votes.c). */
static bool is_published(const struct arbitrate_input *input, struct arbitrate_result result)
{
	const bool has_no = input->uid == ARBITRATE_NO || input->uid == ARBITRATE_BOTH ||
			    input->name == ARBITRATE_NO || input->annotation == ARBITRATE_NO;
	return result.verdict == ARBITRATE_HOLD &&
	       (!has_no || (result.confidence == ATTRIBUTION_CONFIDENCE_DISPUTED &&
			    input->annotation != ARBITRATE_NO));
}

static unsigned visit(struct arbitrate_input input)
{
	const struct arbitrate_result result = arbitrate_decide(&input);
	if (!is_published(&input, result))
		return 0;
	publish(&input, result);
	const unsigned rows = find(), row = 1u << result.row;
	if (!(rows & row))
		fail_msg("pod %d, uid %d, name %d, annotation %d: row %d is not among %x", input.pod,
			 input.uid, input.name, input.annotation, result.row, rows);
	/* Whom the List and the checkpoint name was not kept where one of them could be read. */
	const bool is_read = made.attributed.status == CONDITION_TRUE && input.name == ARBITRATE_YES &&
			     (input.uid == ARBITRATE_YES || input.uid == ARBITRATE_BOTH);
	const unsigned kept = 1u << (input.pod == ARBITRATE_POD_UNKNOWN ? ARBITRATE_ROW_UNKNOWN_SILENT
									: ARBITRATE_ROW_SILENCE);
	if (rows != (is_read ? row : row | kept))
		fail_msg("row %d: %x", result.row, rows);
	return row;
}

static void each_row_that_makes_a_tenant_is_found_again(void **state)
{
	(void)state;
	unsigned seen = 0;
	for (int pod = 0; pod < ARBITRATE_N_PODS; pod++)
		for (int uid = 0; uid < ARBITRATE_N_VOTES; uid++)
			for (int name = 0; name < ARBITRATE_BOTH; name++)
				for (int annotation = 0; annotation < ARBITRATE_BOTH; annotation++)
					seen |= visit((struct arbitrate_input){
						.uid = (enum arbitrate_vote)uid,
						.name = (enum arbitrate_vote)name,
						.annotation = (enum arbitrate_vote)annotation,
						.pod = (enum arbitrate_pod)pod});
	for (unsigned row = 0; row < ARBITRATE_N_ROWS; row++)
		if (arbitrate_rule((enum arbitrate_row)row)->verdict == ARBITRATE_HOLD)
			assert_true(seen & (1u << row));
}

static void who_has_no_witness_left_was_kept(void **state)
{
	(void)state;
	begin(ATTRIBUTION_CONFIDENCE_UNCONFIRMED, ATTRIBUTION_PHASE_RUNNING);
	assert_int_equal(find(), 1u << ARBITRATE_ROW_SILENCE);
	testify("Processes"); /* corroborates only */
	assert_int_equal(find(), 1u << ARBITRATE_ROW_SILENCE);
	made.tenant.phase = ATTRIBUTION_PHASE_UNRESOLVED;
	assert_int_equal(find(), 1u << ARBITRATE_ROW_UNKNOWN_SILENT);
}

static void a_tenant_may_have_been_kept_unless_a_witness_it_has_could_be_asked(void **state)
{
	(void)state;
	const unsigned by_uid = 1u << ARBITRATE_ROW_BY_UID, kept = 1u << ARBITRATE_ROW_SILENCE;
	const struct {
		const char *witness, *other;
		int attributed;
		unsigned rows;
	} rows[] = {
		/* Where Attributed is True, one of these two could be read. */
		{"Checkpoint", "PodResources", CONDITION_TRUE, by_uid},
		{"Checkpoint", "PodResources", CONDITION_FALSE, by_uid | kept},
		{"Checkpoint", "PodResources", CONDITION_UNKNOWN, by_uid | kept},
		{"Checkpoint", "PodResources", CONDITION_UNSET, by_uid | kept},
		{"Checkpoint", NULL, CONDITION_TRUE, by_uid | kept},
		/* Claims can be asked while what is known of pods is current. */
		{"ResourceClaim", NULL, CONDITION_TRUE, by_uid},
		{"ResourceClaim", NULL, CONDITION_FALSE, by_uid},
		{"ResourceClaim", NULL, CONDITION_UNKNOWN, by_uid | kept},
		{"ResourceClaim", "Checkpoint", CONDITION_FALSE, by_uid},
		/* A container that has no status says nothing by it. */
		{"PodStatus", NULL, CONDITION_TRUE, by_uid | kept},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		begin(ATTRIBUTION_CONFIDENCE_CONFIRMED, ATTRIBUTION_PHASE_RUNNING);
		testify(rows[i].witness);
		if (rows[i].other)
			testify(rows[i].other);
		made.attributed.status = rows[i].attributed;
		if (find() != rows[i].rows)
			fail_msg("row %zu: %x", i, find());
	}
	made.status.conditions = (struct array){0};
	assert_int_equal(find(), by_uid | kept);
}

static void no_message_decides_on_the_row(void **state)
{
	(void)state;
	const char *const messages[] = {"", "every slot that is held has a pod (checkpoint: Permission denied)",
					"reworded"};
	for (size_t i = 0; i < ARRAY_SIZE(messages); i++) {
		begin(ATTRIBUTION_CONFIDENCE_CONFIRMED, ATTRIBUTION_PHASE_RUNNING);
		testify("Checkpoint");
		testify("PodResources");
		made.attributed.message = view_from(messages[i]);
		assert_int_equal(find(), 1u << ARBITRATE_ROW_BY_UID);
	}
}

static void a_process_bears_an_annotation_out(void **state)
{
	(void)state;
	begin(ATTRIBUTION_CONFIDENCE_CONFIRMED, ATTRIBUTION_PHASE_RUNNING);
	testify("KAI");
	testify("Processes");
	assert_int_equal(find(), 1u << ARBITRATE_ROW_ANNOTATED);
}

/* Of a disagreement that is not listed, for want of room, it is not known who says no. */
static void what_was_left_out_is_not_made_up(void **state)
{
	(void)state;
	begin(ATTRIBUTION_CONFIDENCE_DISPUTED, ATTRIBUTION_PHASE_RUNNING);
	testify("Checkpoint");
	testify("PodResources");
	assert_int_equal(find(), 1u << ARBITRATE_ROW_CONTRADICTION | 1u << ARBITRATE_ROW_NOT_LISTED);
	testify("NewWitness");
	made.tenant.confidence = ATTRIBUTION_CONFIDENCE_UNSET; /* a word that is not known here */
	assert_int_equal(find(), 0);
}

/* Sixteen IDs of each are listed: another one may be what they differ in. */
static void ids_that_were_left_out_may_differ(void **state)
{
	(void)state;
	begin(ATTRIBUTION_CONFIDENCE_DISPUTED, ATTRIBUTION_PHASE_RUNNING);
	testify("Checkpoint");
	testify("PodResources");
	say("Checkpoint", true);
	say("PodResources", true);
	made.status.source_disagreements = array_of(&made.disagreement, 1);
	assert_int_equal(find(), 0);
	made.says[0].device_ids_left_out = made.says[1].device_ids_left_out = 1;
	assert_int_equal(find(),
			 1u << ARBITRATE_ROW_CONTRADICTION | 1u << ARBITRATE_ROW_NOT_LISTED);
}

static void each_row_has_a_sentence(void **state)
{
	(void)state;
	for (int row = 0; row < ARBITRATE_N_ROWS; row++)
		assert_true(tenancy_row_text((enum arbitrate_row)row).len > 10);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(each_row_that_makes_a_tenant_is_found_again),
	cmocka_unit_test(who_has_no_witness_left_was_kept),
	cmocka_unit_test(a_tenant_may_have_been_kept_unless_a_witness_it_has_could_be_asked),
	cmocka_unit_test(no_message_decides_on_the_row),
	cmocka_unit_test(a_process_bears_an_annotation_out),
	cmocka_unit_test(what_was_left_out_is_not_made_up),
	cmocka_unit_test(ids_that_were_left_out_may_differ),
	cmocka_unit_test(each_row_has_a_sentence),
};
TEST_MAIN(tests)
