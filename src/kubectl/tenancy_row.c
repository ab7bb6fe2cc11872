/* SPDX-License-Identifier: Apache-2.0 */

/*
 * HOLD lists the witnesses that say yes. KEEP lists those that may still name the tenant, and its
 * confidence is what the table gives for these (src/join/tenants.c).
 */

#include "kubectl/tenancy_row.h"

#include <assert.h>

#include "join/wording.h"

#define BY_UID (WITNESS_CHECKPOINT | WITNESS_POD_STATUS | WITNESS_RESOURCE_CLAIM)
#define BY_ANNOTATION (WITNESS_HAMI | WITNESS_KAI)
#define BOOKS (WITNESS_CHECKPOINT | WITNESS_POD_RESOURCES)
/* That can be asked whenever what is known of pods is current, and whose silence takes them off the list. */
#define OF_API (WITNESS_RESOURCE_CLAIM | WITNESS_KAI)

struct tenancy {
	const struct attribution_tenant *tenant;
	unsigned witnesses; /* of enum witness, that are listed */
	unsigned no;        /* that said no, where they differ */
	unsigned maybe;     /* that may have said no: what was left out would tell */
	bool may_be_kept;   /* no witness named it when it was written, and it stayed */
};

static const char *const texts[ARBITRATE_N_ROWS] = {
	[ARBITRATE_ROW_ELSEWHERE] = "the API server has the pod on another node",
	[ARBITRATE_ROW_OVER] = "the pod is over or deleted",
	[ARBITRATE_ROW_UNKNOWN_POD] =
		"a witness that names the pod's UID names it here, and the API server has never "
		"known that pod",
	[ARBITRATE_ROW_UNKNOWN_SILENT] =
		"the API server has never known the pod, no witness names it now, and none said "
		"that it left",
	[ARBITRATE_ROW_UNKNOWN_GONE] =
		"the API server has never known the pod, and what named it does so no more",
	[ARBITRATE_ROW_PLACEHOLDER_BY_UID] =
		"a witness that names the pod's UID names an ID of HAMi's, which need not mean "
		"this device",
	[ARBITRATE_ROW_PLACEHOLDER_LISTED] =
		"the kubelet's List names an ID of HAMi's, which need not mean this device",
	[ARBITRATE_ROW_CONTRADICTION] =
		"of the witnesses that name the pod's UID one says yes, and one says no or less",
	[ARBITRATE_ROW_NOT_LISTED] =
		"a witness that names the pod's UID names it here, and the kubelet's List, which "
		"has the pod, does not",
	[ARBITRATE_ROW_BY_UID] =
		"a witness that names the pod's UID names it here, and neither another one nor "
		"the kubelet's List contradicts that",
	[ARBITRATE_ROW_LISTED_AGAINST_UID] =
		"the kubelet's List names it here, and a witness that names the pod's UID says no",
	[ARBITRATE_ROW_ANNOTATED] =
		"an annotation or label names it here, which anybody who may edit the pod can write",
	[ARBITRATE_ROW_LISTED] = "only the kubelet's List names it here, which has names and no UIDs",
	[ARBITRATE_ROW_ANNOTATED_AWAY] = "the annotation that named it here names other devices",
	[ARBITRATE_ROW_GONE] = "a witness that names the pod's UID says that it is not here",
	[ARBITRATE_ROW_SILENCE] =
		"no witness names it now, and none that can be read says that it left: it is kept",
	[ARBITRATE_ROW_NOTHING] = "nothing names it here",
};

struct view tenancy_row_text(enum arbitrate_row row)
{
	assert(row < ARBITRATE_N_ROWS);
	return view_from(texts[row]);
}

/* What the status tells */

static const struct attribution_disagreement *
find_disagreement(const struct attribution_status *status, const struct attribution_tenant *tenant)
{
	for (uint32_t i = 0; i < status->source_disagreements.count; i++) {
		const struct attribution_disagreement *found = ARRAY_AT(
			status->source_disagreements, struct attribution_disagreement, i);
		if (view_equal(found->pod_uid, tenant->pod_uid) &&
		    view_equal(found->container, tenant->container))
			return found;
	}
	return NULL;
}

static bool names(const struct attribution_statement *statement, struct view id)
{
	return view_is_among(id, statement->device_ids.items, statement->device_ids.count);
}

/* Some statement names an ID that this one does not. */
static bool says_less(const struct attribution_disagreement *all,
		      const struct attribution_statement *statement)
{
	for (uint32_t i = 0; i < all->says.count; i++) {
		const struct attribution_statement *other =
			ARRAY_AT(all->says, struct attribution_statement, i);
		if (other->slots > statement->slots)
			return true;
		for (uint32_t k = 0; k < other->device_ids.count; k++) {
			if (!names(statement, *ARRAY_AT(other->device_ids, struct view, k)) &&
			    statement->device_ids_left_out == 0)
				return true;
		}
	}
	return false;
}

/* A witness says no if it names fewer IDs of the device than all of them together (join/votes.c). */
static void hear_disagreement(struct tenancy *tenancy, const struct attribution_disagreement *all)
{
	bool is_cut = false;
	for (uint32_t i = 0; all && i < all->says.count; i++)
		is_cut |= ARRAY_AT(all->says, struct attribution_statement, i)->device_ids_left_out > 0;
	for (uint32_t i = 0; all && i < all->says.count; i++) {
		const struct attribution_statement *statement =
			ARRAY_AT(all->says, struct attribution_statement, i);
		unsigned witness = wording_witnesses_of(array_of(&statement->witness, 1));
		if (says_less(all, statement))
			tenancy->no |= witness;
		else if (is_cut)
			tenancy->maybe |= witness;
	}
	if (!all && tenancy->tenant->confidence == ATTRIBUTION_CONFIDENCE_DISPUTED)
		tenancy->maybe = BY_UID | WITNESS_POD_RESOURCES;
}

/*
 * A witness that could be asked, and does not name the tenant, is not listed. So where one that is
 * listed could be asked, the tenant was not kept. Where Attributed is not Unknown, pods and claims could
 * be; where it is True, the checkpoint or the List. Which of the two, only its message tells, by
 * which nothing is decided.
 */
static bool may_be_kept(const struct attribution_status *status, unsigned witnesses)
{
	const struct condition *attributed =
		attribution_find_condition(status, wording_condition(CONDITION_ATTRIBUTED));
	const int is_so = attributed ? attributed->status : CONDITION_UNKNOWN;
	if (is_so == CONDITION_TRUE && (witnesses & BOOKS) == BOOKS)
		return false;
	return !(witnesses & OF_API) || (is_so != CONDITION_TRUE && is_so != CONDITION_FALSE);
}

static struct tenancy read_tenancy(const struct attribution_status *status,
				   const struct attribution_tenant *tenant)
{
	struct tenancy tenancy = {
		.tenant = tenant,
		.witnesses = wording_witnesses_of(tenant->witnesses),
	};
	tenancy.may_be_kept = may_be_kept(status, tenancy.witnesses);
	hear_disagreement(&tenancy, find_disagreement(status, tenant));
	return tenancy;
}

/* What fits it */

static bool fits_pod(const struct tenancy *tenancy, enum arbitrate_pod pod)
{
	bool is_hami = wording_placeholder_of(tenancy->tenant->placeholder) == PLACEHOLDER_HAMI;
	if (pod == ARBITRATE_POD_UNKNOWN)
		return attribution_is_unknown(tenancy->tenant);
	if (pod == ARBITRATE_POD_PLACEHOLDER)
		return is_hami && !attribution_is_unknown(tenancy->tenant);
	return pod == ARBITRATE_POD_KNOWN && !is_hami && !attribution_is_unknown(tenancy->tenant);
}

/* A List that names it, and less of it than others do, says no, and is listed all the same. */
static bool fits_vote(const struct tenancy *tenancy, enum arbitrate_vote vote, unsigned of)
{
	const bool is_listed = tenancy->witnesses & of, has_no = tenancy->no & of;
	const bool may_have_no = (tenancy->no | tenancy->maybe) & of;
	switch (vote) {
	case ARBITRATE_YES:
		return is_listed && !has_no;
	case ARBITRATE_NO:
		return may_have_no && (!is_listed || of == WITNESS_POD_RESOURCES);
	case ARBITRATE_BOTH:
		return is_listed && may_have_no;
	default:
		return !is_listed && !has_no;
	}
}

static bool is_held_so(const struct tenancy *tenancy, const struct arbitrate_input *input,
		       struct arbitrate_result result)
{
	return result.verdict == ARBITRATE_HOLD && fits_vote(tenancy, input->uid, BY_UID) &&
	       fits_vote(tenancy, input->name, WITNESS_POD_RESOURCES) &&
	       (input->annotation == ARBITRATE_YES) ==
		       ((tenancy->witnesses & BY_ANNOTATION) != 0) &&
	       result.confidence == tenancy->tenant->confidence;
}

static enum arbitrate_vote vote_of(const struct tenancy *tenancy, unsigned witnesses)
{
	return tenancy->witnesses & witnesses ? ARBITRATE_YES : ARBITRATE_SILENT;
}

/* Nobody said yes then: what is listed are witnesses that could not be asked. */
static bool is_kept_so(const struct tenancy *tenancy, const struct arbitrate_input *input,
		       struct arbitrate_result result)
{
	const struct arbitrate_input left = {
		.uid = vote_of(tenancy, BY_UID),
		.name = vote_of(tenancy, WITNESS_POD_RESOURCES),
		.annotation = vote_of(tenancy, BY_ANNOTATION),
		.pod = input->pod,
		.was_published = true,
		.was_disputed = tenancy->tenant->confidence == ATTRIBUTION_CONFIDENCE_DISPUTED,
		.is_seen = input->is_seen,
	};
	return result.verdict == ARBITRATE_KEEP && tenancy->may_be_kept &&
	       arbitrate_keep(&left) == tenancy->tenant->confidence;
}

static unsigned try(const struct tenancy *tenancy, struct arbitrate_input input)
{
	const struct arbitrate_result result = arbitrate_decide(&input);
	if (!fits_pod(tenancy, input.pod) || (!is_held_so(tenancy, &input, result) &&
					      !is_kept_so(tenancy, &input, result)))
		return 0;
	return 1u << result.row;
}

unsigned tenancy_row_find(const struct attribution_status *status,
			  const struct attribution_tenant *tenant)
{
	const struct tenancy tenancy = read_tenancy(status, tenant);
	unsigned rows = 0;
	for (int pod = 0; pod < ARBITRATE_N_PODS; pod++)
		for (int uid = 0; uid < ARBITRATE_N_VOTES; uid++)
			for (int name = 0; name < ARBITRATE_BOTH; name++)
				for (int annotation = 0; annotation < ARBITRATE_BOTH; annotation++)
					rows |= try(&tenancy,
						    (struct arbitrate_input){
							    .uid = (enum arbitrate_vote)uid,
							    .name = (enum arbitrate_vote)name,
							    .annotation =
								    (enum arbitrate_vote)annotation,
							    .pod = (enum arbitrate_pod)pod,
							    .was_published = true,
							    .is_seen = tenancy.witnesses &
								       WITNESS_PROCESSES,
						    });
	return rows;
}
