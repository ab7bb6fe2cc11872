/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A pod keeps the marks of what happened to it, each with the modes by which it had devices then.
 * Whenever a status lists the pod, its marks meet the witnesses listed. What has met is a bit for
 * the history, and one more in the counts when the history ends.
 */

#include "sim/matrix.h"

#include <string.h>

#include "base/compiler.h"
#include "model/attribution.h"
#include "sim/check.h"
#include "sim/claims.h"
#include "sim/oracle.h"
#include "sim/sharers.h"
#include "sim/word_counts.h"

enum mode {
	EXCLUSIVE,
	TIME_SLICED,
	MPS,
	MIG,
	MIG_TIME_SLICED,
	HAMI,
	KAI,
	CLAIMS,
	MIG_CLAIMS,
	N_MODES,
};

enum witness { POD_RESOURCES, CHECKPOINT, POD_STATUS, RESOURCE_CLAIM, BY_HAMI, BY_KAI, PROCESSES };

#define N_WITNESSES 7
#define N_COLUMNS 9
#define BIT(n) (1u << (n))
#define ALL_MODES (BIT(N_MODES) - 1)
#define BY_CLAIMS (BIT(CLAIMS) | BIT(MIG_CLAIMS))

static const char *const mode_names[] = {"Exclusive", "TimeSliced",    "MPS",
					 "MIG",       "MIGTimeSliced", "HAMi",
					 "KAI",       "claims",        "MIG by claims"};

static const char *const witness_names[] = {
	"PodResources", "Checkpoint", "PodStatus", "ResourceClaim", "HAMi", "KAI", "Processes"};

static const char *const life_names[] = {
	[MATRIX_INIT] = "init container",
	[MATRIX_SIDECAR] = "sidecar",
	[MATRIX_RESTARTED] = "container restarted in place",
	[MATRIX_GRACE] = "grace period",
	[MATRIX_FORCED] = "force-deleted",
	[MATRIX_LIVES_ON] = "force-deleted, process lives on",
	[MATRIX_TERMINAL] = "terminal, and listed still",
	[MATRIX_REFUSED] = "UnexpectedAdmissionError",
	[MATRIX_STATIC] = "static pod",
	[MATRIX_VALIDATION] = "validation pod",
	[MATRIX_REUSED] = "name reused",
	[MATRIX_POD_FIRST] = "pod before report",
	[MATRIX_REPORT_FIRST] = "report before pod",
	[MATRIX_NODE_AGAIN] = "node removed and re-added",
	[MATRIX_MOVED] = "card moved to another node",
	[MATRIX_TWO_NODES] = "same UUID from two nodes",
	[MATRIX_DIVIDED] = "MIG reconfigured",
	[MATRIX_PLUGIN] = "plugin lost",
	[MATRIX_KUBELET] = "kubelet restarted",
	[MATRIX_WIPED] = "kubelet state wiped",
	[MATRIX_AGENT] = "agent upgraded",
	[MATRIX_CONTROLLER] = "controller down",
	[MATRIX_REBOOT] = "node rebooted",
};

/* Cells that cannot be: rows and columns as bits, and why. */
struct impossible {
	unsigned rows, columns;
	const char *why;
};

struct table {
	const char *title;
	int n_rows, n_columns;
	const char *const *rows, *const *columns;
	const struct impossible *impossible; /* the last one has no reason */
	unsigned seen[MATRIX_N_LIVES];       /* in this history: columns as bits */
	unsigned counts[MATRIX_N_LIVES][N_COLUMNS];
};

#define OF_APP_ONLY "KAI gives devices to app containers"
#define NOT_LISTED "the kubelet's List names devices of its plugins only"
#define NOT_STATIC "static pods pass by those who give these devices"
#define NOT_OPERATORS "the operator's pods ask for a device of their own"
#define NOT_REPORTED "no report tells who has a claim"
#define NOT_DIVIDED "a device that is given out whole this way is not put under MIG meanwhile"
#define NOT_REFUSED "a pod of a group asks the kubelet for nothing that it could refuse"

static const struct impossible lives_in_modes[] = {
	{BIT(MATRIX_INIT) | BIT(MATRIX_SIDECAR), BIT(KAI), OF_APP_ONLY},
	{BIT(MATRIX_TERMINAL), BIT(KAI) | BY_CLAIMS, NOT_LISTED},
	{BIT(MATRIX_STATIC), BIT(HAMI) | BIT(KAI) | BY_CLAIMS, NOT_STATIC},
	{BIT(MATRIX_VALIDATION), BIT(KAI), NOT_OPERATORS},
	{BIT(MATRIX_POD_FIRST) | BIT(MATRIX_REPORT_FIRST), BY_CLAIMS, NOT_REPORTED},
	{BIT(MATRIX_DIVIDED), BIT(HAMI) | BIT(CLAIMS), NOT_DIVIDED},
	{0},
};

static const struct impossible lives_by_witnesses[] = {
	{BIT(MATRIX_INIT), BIT(POD_RESOURCES),
	 "the kubelet's List has no ordinary init containers"},
	{BIT(MATRIX_INIT) | BIT(MATRIX_SIDECAR), BIT(POD_STATUS),
	 "the kubelet writes into the status what app containers have"},
	{BIT(MATRIX_INIT) | BIT(MATRIX_SIDECAR), BIT(BY_KAI), OF_APP_ONLY},
	{BIT(MATRIX_TERMINAL), BIT(RESOURCE_CLAIM) | BIT(BY_KAI), NOT_LISTED},
	{BIT(MATRIX_REFUSED), BIT(BY_KAI), NOT_REFUSED},
	{BIT(MATRIX_STATIC), BIT(RESOURCE_CLAIM) | BIT(BY_HAMI) | BIT(BY_KAI), NOT_STATIC},
	{BIT(MATRIX_VALIDATION), BIT(BY_KAI), NOT_OPERATORS},
	{BIT(MATRIX_POD_FIRST) | BIT(MATRIX_REPORT_FIRST), BIT(RESOURCE_CLAIM), NOT_REPORTED},
	{BIT(MATRIX_DIVIDED), BIT(BY_HAMI), NOT_DIVIDED},
	{0},
};

static const struct impossible modes_by_witnesses[] = {
	{ALL_MODES & ~BY_CLAIMS, BIT(RESOURCE_CLAIM), "what a plugin gives is of no claim"},
	{ALL_MODES & ~BIT(HAMI), BIT(BY_HAMI), "HAMi's annotation counts where HAMi gives devices"},
	{ALL_MODES & ~BIT(KAI), BIT(BY_KAI), "KAI's labels count where KAI reserves a device"},
	{BY_CLAIMS, BIT(POD_RESOURCES) | BIT(CHECKPOINT) | BIT(POD_STATUS),
	 "what the kubelet says of a claim names no device"},
	{0},
};

static struct table life_mode = {
	.title = "life cycles in modes",
	.n_rows = MATRIX_N_LIVES,
	.n_columns = N_MODES,
	.rows = life_names,
	.columns = mode_names,
	.impossible = lives_in_modes,
};

static struct table life_witness = {
	.title = "life cycles by witnesses",
	.n_rows = MATRIX_N_LIVES,
	.n_columns = N_WITNESSES,
	.rows = life_names,
	.columns = witness_names,
	.impossible = lives_by_witnesses,
};

static struct table mode_witness = {
	.title = "modes by witnesses",
	.n_rows = N_MODES,
	.n_columns = N_WITNESSES,
	.rows = mode_names,
	.columns = witness_names,
	.impossible = modes_by_witnesses,
};

static struct table *const tables[] = {&life_mode, &life_witness, &mode_witness};

struct mark {
	unsigned modes[MATRIX_N_LIVES]; /* by which it had devices when that happened */
};

static struct mark marks[WORLD_MAX_PODS]; /* by holder */
static bool is_counting;
static unsigned n_histories;

void matrix_begin(void)
{
	is_counting = true;
	word_counts_begin();
	memset(marks, 0, sizeof(marks));
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		memset(tables[i]->seen, 0, sizeof(tables[i]->seen));
}

static void count(struct table *table)
{
	for (int row = 0; row < table->n_rows; row++)
		for (int column = 0; column < table->n_columns; column++)
			table->counts[row][column] += table->seen[row] >> column & 1;
}

void matrix_end(bool is_clean)
{
	is_counting = false;
	for (size_t i = 0; is_clean && i < ARRAY_SIZE(tables); i++)
		count(tables[i]);
	n_histories += is_clean;
	word_counts_end(is_clean);
}

/* By what a pod has devices */

static unsigned mode_of_slot(const struct world_pod *pod, const struct world_container *container,
			     const struct world_slot *slot)
{
	bool is_part = slot->partition >= 0, is_replica = strstr(slot->id, "::") != NULL;

	if (slot->is_admin)
		return 0;
	if (pod->claim >= 0)
		return BIT(is_part ? MIG_CLAIMS : CLAIMS);
	if (pod->is_reservation)
		return BIT(KAI);
	if (pod->hami[0] && world.nodes[pod->node].mode == WORLD_HAMI)
		return BIT(HAMI);
	if (is_part)
		return BIT(is_replica ? MIG_TIME_SLICED : MIG);
	return BIT(is_replica ? container->mps ? MPS : TIME_SLICED : EXCLUSIVE);
}

/* gpu: -1, any. */
static unsigned modes_on(const struct world_pod *holder, int gpu)
{
	const struct world_pod *reservation = sharers_reservation(holder);
	unsigned modes = reservation && modes_on(reservation, gpu) ? BIT(KAI) : 0;

	for (int c = 0; c < holder->n_containers; c++) {
		const struct world_container *container = &holder->containers[c];

		for (int i = 0; i < container->n_slots; i++)
			if (container->held_from != WORLD_NEVER &&
			    container->held_until == WORLD_NEVER &&
			    (gpu < 0 || container->slots[i].gpu == gpu))
				modes |= mode_of_slot(holder, container, &container->slots[i]);
	}
	return modes;
}

/* By what it would have got them. */
static unsigned mode_wanted(const struct world_pod *pod)
{
	static const unsigned modes[WORLD_N_MODES] = {
		[WORLD_EXCLUSIVE] = EXCLUSIVE,
		[WORLD_TIME_SLICED] = TIME_SLICED,
		[WORLD_MPS] = MPS,
		[WORLD_MIG] = MIG,
		[WORLD_MIG_TIME_SLICED] = MIG_TIME_SLICED,
		[WORLD_CLAIMS] = CLAIMS,
		[WORLD_MIG_CLAIMS] = MIG_CLAIMS,
		[WORLD_HAMI] = HAMI,
	};

	return BIT(pod->is_reservation ? KAI : modes[world.nodes[pod->node].mode]);
}

/* What is published */

static unsigned witnesses_of(const struct attribution_tenant *tenant)
{
	unsigned found = 0, n = 0;

	for (uint32_t i = 0; i < tenant->witnesses.count; i++)
		for (unsigned w = 0; w < N_WITNESSES; w++)
			if (view_equal(*ARRAY_AT(tenant->witnesses, struct view, i),
				       view_from(witness_names[w]))) {
				found |= BIT(w);
				n++;
			}
	check(n == tenant->witnesses.count);
	return found;
}

static const struct world_pod *find_pod(struct view uid)
{
	for (int i = 0; i < world.n_pods; i++)
		if (view_equal(view_from(world.pods[i].uid), uid))
			return &world.pods[i];
	return NULL;
}

/* Of all its tenancies that are published now. */
static unsigned published(const struct world_pod *holder)
{
	unsigned found = 0;

	for (int gpu = 0; gpu < world.n_gpus; gpu++) {
		const struct attribution_status *status = oracle_status(gpu);

		for (uint32_t i = 0; status && i < status->tenants.count; i++) {
			const struct attribution_tenant *tenant = ARRAY_AT(
				status->tenants, struct attribution_tenant, i);
			const struct world_pod *pod = find_pod(tenant->pod_uid);

			if (pod && world_holder(pod) == holder)
				found |= witnesses_of(tenant);
		}
	}
	return found;
}

static void meet(struct table *table, unsigned row, unsigned columns)
{
	table->seen[row] |= columns;
}

/* What happens */

void matrix_pod(enum matrix_life life, const struct world_pod *pod)
{
	const struct world_pod *holder = world_holder(pod);
	unsigned modes, witnesses;

	if (!is_counting)
		return;
	modes = modes_on(holder, -1);
	if (modes == 0 && life == MATRIX_REFUSED)
		meet(&life_mode, life, mode_wanted(holder));
	if (modes == 0)
		return;
	marks[world_index(holder)].modes[life] |= modes;
	witnesses = published(holder);
	if (witnesses)
		meet(&life_mode, life, modes);
	meet(&life_witness, life, witnesses);
}

void matrix_node(enum matrix_life life, int node)
{
	for (int i = 0; is_counting && i < world.n_pods; i++)
		if (world.pods[i].node == node && world.pods[i].mirror_of < 0)
			matrix_pod(life, &world.pods[i]);
}

void matrix_fleet(enum matrix_life life)
{
	for (int node = 0; node < world.n_nodes; node++)
		matrix_node(life, node);
}

void matrix_gpu(enum matrix_life life, const struct world_gpu *gpu)
{
	for (int i = 0; is_counting && i < world.n_pods; i++)
		if (world.pods[i].mirror_of < 0 &&
		    modes_on(&world.pods[i], (int)(gpu - world.gpus)))
			matrix_pod(life, &world.pods[i]);
}

/* What is seen in a status */

static bool had_devices(const struct world_pod *pod)
{
	for (int c = 0; c < pod->n_containers; c++)
		if (pod->containers[c].held_from != WORLD_NEVER)
			return true;
	return false;
}

static bool has_name_of_another(const struct world_pod *holder)
{
	for (const struct world_pod *pod = world.pods; pod < holder; pod++)
		if (pod->mirror_of < 0 && strcmp(pod->name, holder->name) == 0 && had_devices(pod))
			return true;
	return false;
}

/* A pod of a group has its device since the group's reservation has. */
static uint64_t held_since(const struct world_pod *holder)
{
	const struct world_pod *reservation = sharers_reservation(holder);
	uint64_t since = WORLD_NEVER;

	if (reservation)
		holder = reservation;
	for (int c = 0; c < holder->n_containers; c++)
		if (holder->containers[c].held_from < since)
			since = holder->containers[c].held_from;
	return since;
}

static bool is_ahead_of_pod(const struct attribution_tenant *tenant, const struct world_pod *pod)
{
	return tenant->phase == ATTRIBUTION_PHASE_PENDING ||
	       tenant->phase == ATTRIBUTION_PHASE_UNRESOLVED ||
	       (sharers_reservation(pod) && pod->created_at > held_since(pod));
}

static unsigned lives_of(const struct attribution_tenant *tenant, const struct world_pod *pod)
{
	const struct world_pod *holder = world_holder(pod);

	return (tenant->phase == ATTRIBUTION_PHASE_TERMINATING ? BIT(MATRIX_GRACE) : 0) |
	       (holder->hash[0] ? BIT(MATRIX_STATIC) : 0) |
	       (tenant->role == ATTRIBUTION_ROLE_VALIDATION && pod->system ? BIT(MATRIX_VALIDATION) : 0) |
	       (has_name_of_another(holder) ? BIT(MATRIX_REUSED) : 0) |
	       (pod->claim < 0 && pod->known_at <= held_since(holder) ? BIT(MATRIX_POD_FIRST) : 0) |
	       (is_ahead_of_pod(tenant, pod) ? BIT(MATRIX_REPORT_FIRST) : 0);
}

/* Of a container, not of its pod. */
static void meet_container(const struct attribution_tenant *tenant, const struct world_pod *holder,
			   unsigned modes, unsigned witnesses)
{
	for (int c = 0; c < holder->n_containers; c++) {
		const struct world_container *container = &holder->containers[c];

		if (container->kind == WORLD_MAIN ||
		    !view_equal(view_from(container->name), tenant->container))
			continue;
		meet(&life_mode, container->kind == WORLD_INIT ? MATRIX_INIT : MATRIX_SIDECAR,
		     modes);
		meet(&life_witness, container->kind == WORLD_INIT ? MATRIX_INIT : MATRIX_SIDECAR,
		     witnesses);
	}
}

static void meet_marks(const struct mark *mark, unsigned witnesses)
{
	for (unsigned life = 0; life < MATRIX_N_LIVES; life++) {
		meet(&life_mode, life, mark->modes[life]);
		meet(&life_witness, life, mark->modes[life] ? witnesses : 0);
	}
}

static void see_tenant(const struct attribution_tenant *tenant, const struct world_pod *pod,
		       int gpu)
{
	const struct world_pod *holder = world_holder(pod);
	unsigned modes = modes_on(holder, gpu), witnesses = witnesses_of(tenant);
	struct mark *mark = &marks[world_index(holder)];
	unsigned lives = modes ? lives_of(tenant, pod) : 0;

	for (unsigned life = 0; life < MATRIX_N_LIVES; life++)
		mark->modes[life] |= lives >> life & 1 ? modes : 0;
	for (unsigned mode = 0; mode < N_MODES; mode++)
		meet(&mode_witness, mode, modes >> mode & 1 ? witnesses : 0);
	meet_container(tenant, holder, modes, witnesses);
	meet_marks(mark, witnesses);
}

void matrix_wrote(const struct attribution_status *status, int gpu)
{
	if (is_counting)
		word_counts_wrote(status);
	for (uint32_t i = 0; is_counting && i < status->tenants.count; i++) {
		const struct attribution_tenant *tenant = ARRAY_AT(status->tenants,
								   struct attribution_tenant, i);
		const struct world_pod *pod = find_pod(tenant->pod_uid);

		if (pod)
			see_tenant(tenant, pod, gpu);
	}
}

/* Printing */

static const char *why_not(const struct table *table, int row, int column)
{
	for (const struct impossible *it = table->impossible; it->why; it++)
		if (it->rows >> row & 1 && it->columns >> column & 1)
			return it->why;
	return NULL;
}

static void print_counts(const struct table *table, FILE *file)
{
	fprintf(file, "\n%-32s", table->title);
	for (int column = 0; column < table->n_columns; column++)
		fprintf(file, " %13s", table->columns[column]);
	for (int row = 0; row < table->n_rows; row++) {
		fprintf(file, "\n%-32s", table->rows[row]);
		for (int column = 0; column < table->n_columns; column++)
			if (why_not(table, row, column))
				fprintf(file, " %13s", "-");
			else
				fprintf(file, " %13u", table->counts[row][column]);
	}
	fprintf(file, "\n");
}

static void print_names(const char *const *names, int n, unsigned chosen, FILE *file)
{
	const char *between = "";

	for (int i = 0; i < n; i++)
		if (chosen >> i & 1) {
			fprintf(file, "%s%s", between, names[i]);
			between = ", ";
		}
}

static void print_reasons(const struct table *table, FILE *file)
{
	for (const struct impossible *it = table->impossible; it->why; it++) {
		fprintf(file, "- ");
		print_names(table->rows, table->n_rows, it->rows, file);
		fprintf(file, " x ");
		print_names(table->columns, table->n_columns, it->columns, file);
		fprintf(file, ": %s\n", it->why);
	}
}

/* Returns how many cells are not as they should be. */
static int print_faults(const struct table *table, FILE *file)
{
	int n = 0;

	for (int row = 0; row < table->n_rows; row++)
		for (int column = 0; column < table->n_columns; column++) {
			bool is_possible = !why_not(table, row, column);

			if (is_possible == (table->counts[row][column] > 0))
				continue;
			fprintf(file, "%s: %s x %s %s\n", table->title, table->rows[row],
				table->columns[column],
				is_possible ? "is in no history"
					    : "is said to be impossible, and was seen");
			n++;
		}
	return n;
}

bool matrix_print(FILE *file)
{
	int n = 0;

	fprintf(file, "\nin how many of %u histories without a violation they met\n", n_histories);
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		print_counts(tables[i], file);
		print_reasons(tables[i], file);
	}
	fprintf(file, "\n");
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		n += print_faults(tables[i], file);
	n += word_counts_print(file);
	return n == 0;
}
