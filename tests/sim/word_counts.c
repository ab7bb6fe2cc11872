/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/word_counts.h"

#include <string.h>

#include "assess/drift.def"
#include "assess/health.def"
#include "assess/xid.h"
#include "base/compiler.h"
#include "join/wording.h"

enum kind {
	TYPE_OF_DRIFT,
	REASON_OF_IN_SYNC,
	REASON_OF_OTHERS,
	REASON_OF_HEALTH,
	RECOVERY,
	ACTIVITY,
	N_KINDS
};

static const char *const titles[N_KINDS] = {"types of drift", "other reasons of InSync",
					    "reasons of other conditions", "reasons of health",
					    "recovery actions", "states of activity"};

#define RECOVERY_ACTIONS(X) \
	X(NONE) X(RESET) X(REBOOT) X(REPLACE) X(DRAIN_P2P) X(DRAIN_AND_RESET) \
	X(RECOVER_IMEX_DOMAIN) X(UNKNOWN)
#define ACTIVITY_STATES(X) X(ACTIVE) X(IDLE) X(UNKNOWN)

static const struct view recoveries[] = {
#define NAME(word) [ATTRIBUTION_RECOVERY_##word] = VIEW_INIT(#word),
	RECOVERY_ACTIONS(NAME)
#undef NAME
};
_Static_assert(ARRAY_SIZE(recoveries) == ATTRIBUTION_RECOVERY_UNKNOWN + 1, "a name each");

static const struct view activities[] = {
#define NAME(word) [ATTRIBUTION_ACTIVITY_##word] = VIEW_INIT(#word),
	ACTIVITY_STATES(NAME)
#undef NAME
};
_Static_assert(ARRAY_SIZE(activities) == ATTRIBUTION_ACTIVITY_UNKNOWN + 1, "a name each");

static const struct view xid_classes[] = {
	[XID_LOOK_CLOSER] = VIEW_INIT("XID_LOOK_CLOSER"),
	[XID_NEEDS_RESET] = VIEW_INIT("XID_NEEDS_RESET"),
	[XID_NEEDS_REBOOT] = VIEW_INIT("XID_NEEDS_REBOOT"),
};

static const struct word {
	enum kind kind;
	struct view text;
} words[] = {
#define TYPE(name, word, ...) {TYPE_OF_DRIFT, VIEW_INIT(word)},
#define SETTLING(name, word, ...) {REASON_OF_IN_SYNC, VIEW_INIT(word)},
#define REASON(name, word) {REASON_OF_IN_SYNC, VIEW_INIT(word)},
#define OTHER(name, word) {REASON_OF_OTHERS, VIEW_INIT(word)},
#define FINDING(name, word, ...) {REASON_OF_HEALTH, VIEW_INIT(word)},
#define XIDS(class, ...) {REASON_OF_HEALTH, VIEW_INIT(#class)},
#define ACTION(word) {RECOVERY, VIEW_INIT(#word)},
#define STATE(word) {ACTIVITY, VIEW_INIT(#word)},
	DRIFT_TABLE(TYPE)
	DRIFT_SETTLING_TABLE(SETTLING)
	DRIFT_REASON_TABLE(REASON)
	WORDING_REASONS(OTHER)
	/* InSync has these of its own. */
	{REASON_OF_IN_SYNC, VIEW_INIT("ReportStale")},
	{REASON_OF_IN_SYNC, VIEW_INIT("NoAgent")},
	HEALTH_TABLE(FINDING, XIDS)
	RECOVERY_ACTIONS(ACTION)
	ACTIVITY_STATES(STATE)
};

static const struct exception {
	struct view text;
	const char *why;
	bool is_possible; /* only rare */
} exceptions[] = {
	{VIEW_INIT("ReservedOtherwise"), "no claim is reserved for a PodGroup", false},
	{VIEW_INIT("SlotHeldTwice"), "records contradict each other for ten seconds too rarely", true},
};

static const struct view others[] = {VIEW_INIT("Attributed"), VIEW_INIT("Ready"),
				     VIEW_INIT("ReportFresh")};

#define N_WORDS ARRAY_SIZE(words)

static bool is_seen[N_WORDS]; /* in this history */
static unsigned counts[N_WORDS];

void word_counts_begin(void)
{
	memset(is_seen, 0, sizeof(is_seen));
}

void word_counts_end(bool is_clean)
{
	for (size_t i = 0; is_clean && i < N_WORDS; i++)
		counts[i] += is_seen[i];
}

static void see(enum kind kind, struct view text)
{
	for (size_t i = 0; i < N_WORDS; i++)
		is_seen[i] |= words[i].kind == kind && view_equal_ignoring_case(text, words[i].text);
}

static void see_condition(const struct attribution_status *status, struct view type, enum kind kind)
{
	const struct condition *condition = attribution_find_condition(status, type);

	if (condition)
		see(kind, condition->reason);
}

/* Errors by what they ask for. */
static void see_health(struct view reason)
{
	const struct view xid = VIEW(HEALTH_XID_REASON);
	int64_t code;

	if (view_starts_with(reason, xid) && view_parse_i64(view_from_offset(reason, xid.len), &code))
		reason = xid_classes[xid_look_up(code).class];
	see(REASON_OF_HEALTH, reason);
}

void word_counts_wrote(const struct attribution_status *status)
{
	const struct array drifts = status->intent.drifts, reasons = status->health.reasons;

	for (uint32_t i = 0; i < reasons.count; i++)
		see_health(*ARRAY_AT(reasons, struct view, i));
	see(RECOVERY, recoveries[status->health.recovery_action]);
	see(ACTIVITY, activities[status->activity.state]);
	for (uint32_t i = 0; i < drifts.count; i++)
		see(TYPE_OF_DRIFT, ARRAY_AT(drifts, struct attribution_drift, i)->type);
	see_condition(status, VIEW("InSync"), REASON_OF_IN_SYNC);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		see_condition(status, others[i], REASON_OF_OTHERS);
}

/* NULL: it must be met. */
static const struct exception *exception_of(const struct word *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(exceptions); i++)
		if (view_equal(exceptions[i].text, word->text))
			return &exceptions[i];
	return NULL;
}

/* Two rows have one word. */
static bool is_repeated(size_t number)
{
	for (size_t i = 0; i < number; i++)
		if (words[i].kind == words[number].kind &&
		    view_equal(words[i].text, words[number].text))
			return true;
	return false;
}

static void print(enum kind kind, FILE *file)
{
	fprintf(file, "\n%-32s %13s\n", titles[kind], "published");
	for (size_t i = 0; i < N_WORDS; i++) {
		const struct exception *exception = exception_of(&words[i]);

		if (words[i].kind != kind || is_repeated(i))
			continue;
		if (exception && counts[i] == 0)
			fprintf(file, "%-32.*s %13s %s\n", VIEW_ARG(words[i].text), "-", exception->why);
		else
			fprintf(file, "%-32.*s %13u\n", VIEW_ARG(words[i].text), counts[i]);
	}
}

int word_counts_print(FILE *file)
{
	int n = 0;

	for (enum kind kind = 0; kind < N_KINDS; kind++)
		print(kind, file);
	for (size_t i = 0; i < N_WORDS; i++) {
		const struct exception *exception = exception_of(&words[i]);
		const bool is_missed = counts[i] == 0 && !exception;
		const bool is_wrong = counts[i] > 0 && exception && !exception->is_possible;

		if ((!is_missed && !is_wrong) || is_repeated(i))
			continue;
		fprintf(file, "%.*s %s\n", VIEW_ARG(words[i].text),
			is_missed ? "is in no history" : "is said to be impossible, and was seen");
		n++;
	}
	return n;
}
