/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/illness.h"

#include <stdlib.h>
#include <string.h>

#include "agent/hardware.h"
#include "agent/nvml_abi.h"
#include "base/compiler.h"
#include "model/attribution.h"
#include "sim/cause.h"
#include "sim/clockwork.h"

#define STREAM UINT64_C(0xd1b54a32d192ed03)
#define MAX_SPELLS 96
#define MAX_LOOKS 96     /* of a device, that told something new */
#define MAX_POSTED 64    /* of a node, the last ones */
#define HEAD_BYTES 400u  /* a report begins with node, boot, instance and sequence */
#define BIT(name) ILLNESS_BIT(ILLNESS_##name)
/* What a driver that errs does not tell. */
#define ERRED                                                                                      \
	(BIT(ECC) | BIT(IMEX) | BIT(REBOOT) | BIT(RESET) | BIT(DRAIN) | BIT(DRAIN_P2P) | BIT(OTHER_ACTION))
#define ACTION_OTHER 77u /* no driver has it yet */

enum { IN_BOTH_MODES = -1 };

/* A device's being ill. */
struct spell {
	int gpu;
	enum illness illness;
	uint64_t from, until;
	int of_mode; /* its driver tells of it in this MIG mode (0, 1) only, or IN_BOTH_MODES */
};

/* What a reading of the device told that the reading before did not. */
struct look {
	uint64_t at;
	int node;
	unsigned told, unread;
};

/* What the node's agent saw of a device's uncorrected errors. */
struct watch {
	unsigned n_reads; /* one after another that told of some */
	unsigned n_lows;  /* and then of none */
	uint64_t first_at, last_at; /* of those that told of some */
	uint64_t reset_since; /* then there were none any more; 0: not seen */
};

/* A call that fails alone. */
struct failure {
	enum illness_part part;
	uint64_t until;
};

/* Which reading a report is of. */
struct posted {
	int boot;
	int64_t instance, sequence;
	uint64_t read_at; /* 0: not known */
	bool is_unread;   /* a later one failed */
};

static struct prng stream;
static bool is_there;
static unsigned parts[WORLD_MAX_NODES]; /* that its driver can read, a bit each */
static struct spell spells[MAX_SPELLS];
static int n_spells;
static uint64_t cured_at[WORLD_MAX_GPUS];
static uint64_t back_at[WORLD_MAX_GPUS]; /* listed again, and not lost */
static struct look looks[WORLD_MAX_GPUS][MAX_LOOKS];
static int n_looks[WORLD_MAX_GPUS];
static uint64_t read_at[WORLD_MAX_NODES]; /* the last good reading of this agent; 0: none */
static bool is_unread[WORLD_MAX_NODES];   /* the last one failed */
static uint64_t failed_at[WORLD_MAX_NODES]; /* or did not any more, since */
static uint64_t held_until[WORLD_MAX_NODES]; /* that is not told before */
static bool is_known[WORLD_MAX_GPUS];     /* to the agent, which read it while it was not lost */
static struct watch watches[WORLD_MAX_GPUS];
static struct failure failures[WORLD_MAX_GPUS];
static bool errs_next[WORLD_MAX_GPUS]; /* the driver, once */
static uint64_t erred_at[WORLD_MAX_GPUS];
static struct posted posted[WORLD_MAX_NODES][MAX_POSTED];
static unsigned n_posted[WORLD_MAX_NODES];

bool illness_is_there(uint64_t seed)
{
	struct prng prng;

	prng_init(&prng, seed ^ STREAM);
	return prng_between(&prng, 0, 1) != 0;
}

void illness_reset(uint64_t seed)
{
	prng_init(&stream, seed ^ STREAM);
	is_there = prng_between(&stream, 0, 1) != 0;
	n_spells = 0;
	memset(parts, 0, sizeof(parts));
	memset(cured_at, 0, sizeof(cured_at));
	memset(back_at, 0, sizeof(back_at));
	memset(n_looks, 0, sizeof(n_looks));
	memset(read_at, 0, sizeof(read_at));
	memset(n_posted, 0, sizeof(n_posted));
	memset(is_unread, 0, sizeof(is_unread));
	memset(failed_at, 0, sizeof(failed_at));
	memset(held_until, 0, sizeof(held_until));
	memset(is_known, 0, sizeof(is_known));
	memset(watches, 0, sizeof(watches));
	memset(failures, 0, sizeof(failures));
	memset(errs_next, 0, sizeof(errs_next));
	memset(erred_at, 0, sizeof(erred_at));
}

/* Three of four drivers tell everything. */
void illness_set_up(int node)
{
	uint64_t dice = prng_between(&stream, 0, 63);

	parts[node] = !is_there ? 0 : dice < 16 ? (unsigned)dice : 15;
}

/* Being ill */

static bool is_told_in(const struct spell *spell, bool is_mig)
{
	return spell->of_mode == IN_BOTH_MODES || spell->of_mode == (int)is_mig;
}

static struct spell *find_spell(int gpu, enum illness illness)
{
	for (int i = n_spells - 1; i >= 0; i--)
		if (spells[i].gpu == gpu && spells[i].illness == illness &&
		    spells[i].until > clockwork_now() && is_told_in(&spells[i], world.gpus[gpu].mig))
			return &spells[i];
	return NULL;
}

bool illness_had_ecc(int gpu)
{
	for (int i = 0; i < n_spells; i++)
		if (spells[i].gpu == gpu && spells[i].illness == ILLNESS_ECC)
			return true;
	return false;
}

bool illness_has(int gpu, enum illness illness)
{
	const bool is_erred = erred_at[gpu] == clockwork_now() && ILLNESS_BIT(illness) & ERRED;

	return find_spell(gpu, illness) && !is_erred;
}

void illness_begin(int gpu, enum illness illness, uint64_t until)
{
	if (n_spells < MAX_SPELLS && !find_spell(gpu, illness))
		spells[n_spells++] =
			(struct spell){gpu, illness, clockwork_now(), until, IN_BOTH_MODES};
}

void illness_moved(int gpu)
{
	cured_at[gpu] = clockwork_now();
}

void illness_end(int gpu, unsigned illnesses)
{
	for (int i = 0; i < n_spells; i++)
		if (spells[i].gpu == gpu && spells[i].until > clockwork_now() &&
		    illnesses & ILLNESS_BIT(spells[i].illness))
			spells[i].until = clockwork_now();
}

void illness_keep_to_mode(int gpu, unsigned illnesses, bool is_mig)
{
	for (int i = 0; i < n_spells; i++)
		if (spells[i].gpu == gpu && spells[i].until > clockwork_now() &&
		    is_told_in(&spells[i], is_mig) && illnesses & ILLNESS_BIT(spells[i].illness))
			spells[i].of_mode = is_mig;
}

void illness_fail_call(int gpu, enum illness_part part, uint64_t until)
{
	failures[gpu] = (struct failure){part, until};
}

void illness_err_once(int gpu)
{
	errs_next[gpu] = true;
}

void illness_cure(int gpu)
{
	illness_end(gpu, ~BIT(REMAP_FAILED));
	cured_at[gpu] = clockwork_now();
}

void illness_boot(int node)
{
	for (int i = 0; i < world.n_gpus; i++)
		if (world.gpus[i].node == node)
			illness_cure(i);
}

uint64_t illness_cured_at(int gpu)
{
	return cured_at[gpu];
}

uint64_t illness_back_at(int gpu)
{
	return back_at[gpu];
}

/* What the driver says */

bool illness_can_read(int gpu, enum illness_part part)
{
	const struct world_gpu *g = &world.gpus[gpu];
	bool hides_rows = part == ILLNESS_PART_ROWS && g->mig;

	return g->node >= 0 && parts[g->node] & 1u << part && !hides_rows;
}

bool illness_fails(int gpu, enum illness_part part)
{
	return illness_can_read(gpu, part) && failures[gpu].part == part &&
	       failures[gpu].until > clockwork_now();
}

/* Now. */
static bool is_read(int gpu, enum illness_part part)
{
	return illness_can_read(gpu, part) && !illness_fails(gpu, part);
}

static const struct {
	enum illness illness;
	unsigned number;
} actions[] = {
	{ILLNESS_RESET, NVML_ABI_RECOVERY_RESET},
	{ILLNESS_REBOOT, NVML_ABI_RECOVERY_REBOOT},
	{ILLNESS_DRAIN_P2P, NVML_ABI_RECOVERY_DRAIN_P2P},
	{ILLNESS_DRAIN, NVML_ABI_RECOVERY_DRAIN_AND_RESET},
	{ILLNESS_IMEX, NVML_ABI_RECOVERY_RECOVER_IMEX_DOMAIN},
	{ILLNESS_OTHER_ACTION, ACTION_OTHER},
};

/* The driver has one action: the first of the table. -1: none. */
static int action_index(int gpu)
{
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++)
		if (illness_has(gpu, actions[i].illness))
			return (int)i;
	return -1;
}

unsigned illness_action(int gpu)
{
	int i = action_index(gpu);

	return i < 0 ? NVML_ABI_RECOVERY_NONE : actions[i].number;
}

static unsigned told_by(int gpu, enum illness_part part, enum illness illness)
{
	return is_read(gpu, part) && illness_has(gpu, illness) ? ILLNESS_BIT(illness) : 0;
}

static bool reads_any(int gpu)
{
	for (int part = ILLNESS_PART_ECC; part <= ILLNESS_PART_ACTION; part++)
		if (is_read(gpu, (enum illness_part)part))
			return true;
	return false;
}

unsigned illness_told(int gpu)
{
	unsigned told = ILLNESS_LISTED;
	int action = action_index(gpu);

	if (world.gpus[gpu].lost)
		return 0;
	if (illness_has(gpu, ILLNESS_LOST))
		return told | ILLNESS_BIT(ILLNESS_LOST);
	if (illness_has(gpu, ILLNESS_RESET_REQUIRED))
		return reads_any(gpu) ? told | ILLNESS_BIT(ILLNESS_RESET_REQUIRED) : told;
	if (action >= 0)
		told |= told_by(gpu, ILLNESS_PART_ACTION, actions[action].illness);
	return told | told_by(gpu, ILLNESS_PART_ROWS, ILLNESS_REMAP_FAILED) |
	       told_by(gpu, ILLNESS_PART_ROWS, ILLNESS_REMAP_PENDING) |
	       told_by(gpu, ILLNESS_PART_PAGES, ILLNESS_PAGES_PENDING) |
	       told_by(gpu, ILLNESS_PART_ECC, ILLNESS_ECC);
}

static unsigned hidden_by(int gpu, enum illness_part part, unsigned illnesses)
{
	return is_read(gpu, part) ? 0 : illnesses;
}

unsigned illness_unread_of(int gpu)
{
	unsigned all = ILLNESS_LISTED - 1, others = all & ~ILLNESS_BIT(ILLNESS_LOST);
	unsigned unread = 0;

	if (world.gpus[gpu].lost)
		return all;
	if (illness_has(gpu, ILLNESS_LOST) || !reads_any(gpu))
		return others;
	if (illness_has(gpu, ILLNESS_RESET_REQUIRED))
		return others & ~(ILLNESS_BIT(ILLNESS_RESET_REQUIRED) | ILLNESS_BIT(ILLNESS_RESET));
	/* Where there is no action to tell, any answer tells that none asks for a reset first. */
	if (illness_fails(gpu, ILLNESS_PART_ACTION))
		unread |= ILLNESS_BIT(ILLNESS_RESET_REQUIRED) | ILLNESS_BIT(ILLNESS_RESET);
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++)
		if (actions[i].illness != ILLNESS_RESET)
			unread |= hidden_by(gpu, ILLNESS_PART_ACTION, ILLNESS_BIT(actions[i].illness));
	return unread | hidden_by(gpu, ILLNESS_PART_PAGES, ILLNESS_BIT(ILLNESS_PAGES_PENDING)) |
	       hidden_by(gpu, ILLNESS_PART_ECC, ILLNESS_BIT(ILLNESS_ECC)) |
	       hidden_by(gpu, ILLNESS_PART_ROWS,
			 ILLNESS_BIT(ILLNESS_REMAP_FAILED) | ILLNESS_BIT(ILLNESS_REMAP_PENDING));
}

/* Readings and reports */

void illness_started(int node)
{
	read_at[node] = 0;
	held_until[node] = 0;
	is_unread[node] = false;
	for (int i = 0; i < world.n_gpus; i++) {
		if (world.gpus[i].node != node)
			continue;
		is_known[i] = false;
		watches[i] = (struct watch){0};
	}
}

static void set_unread(int node, bool unread)
{
	if (is_unread[node] != unread)
		failed_at[node] = clockwork_now();
	is_unread[node] = unread;
}

void illness_unread(int node)
{
	if (!is_unread[node] && read_at[node] > 0)
		held_until[node] = clockwork_now() + HARDWARE_HOLD_MS;
	set_unread(node, true);
}

static bool is_away(unsigned told)
{
	return !(told & ILLNESS_LISTED) || (told & ILLNESS_BIT(ILLNESS_LOST)) != 0;
}

static bool answers(int gpu)
{
	return !is_away(illness_told(gpu));
}

/*
 * Two readings or more with errors and then two without any show a reset to an agent, if one process read
 * all of them.
 */
static void watch(int gpu, const struct look *now)
{
	struct watch *w = &watches[gpu];

	if (now->told & BIT(ECC)) {
		w->n_reads = w->n_lows > 0 ? 1 : w->n_reads + 1;
		if (w->n_reads == 1)
			w->first_at = now->at;
		w->n_lows = 0;
		w->last_at = now->at;
		return;
	}
	if (w->n_reads >= 2 && !is_away(now->told) && !(now->unread & BIT(ECC)) && ++w->n_lows < 2)
		return;
	if (w->n_lows == 2 && cured_at[gpu] >= w->last_at &&
	    !cause_since(CAUSE_DRIVER_HANGS, now->node, -1, w->first_at))
		w->reset_since = w->last_at;
	w->n_reads = w->n_lows = 0;
}

uint64_t illness_reset_since(int gpu)
{
	return watches[gpu].reset_since;
}

/* What was away and is there again does not need the reboot that it may have asked for. */
static void look(int gpu)
{
	struct look now = {clockwork_now(), world.gpus[gpu].node, illness_told(gpu),
			   illness_unread_of(gpu)};
	const struct look *last = n_looks[gpu] > 0 ? &looks[gpu][n_looks[gpu] - 1] : NULL;

	is_known[gpu] |= answers(gpu);
	watch(gpu, &now);
	if (last && last->node == now.node && is_away(last->told) && !is_away(now.told))
		back_at[gpu] = now.at;
	if (now.told & ILLNESS_BIT(ILLNESS_LOST) && is_known[gpu])
		now.told |= ILLNESS_KNOWN;
	if ((!last || last->told != now.told || last->unread != now.unread ||
	     last->node != now.node) &&
	    n_looks[gpu] < MAX_LOOKS)
		looks[gpu][n_looks[gpu]++] = now;
}

/* For all that is asked at this moment, if there are errors not to tell of. */
static void err(int gpu)
{
	if (errs_next[gpu] && illness_has(gpu, ILLNESS_ECC))
		erred_at[gpu] = clockwork_now();
	errs_next[gpu] = false;
}

/* One in which the agent is told of no device that it knows is not taken over. */
void illness_read(int node)
{
	bool is_good = false;

	for (int i = 0; i < world.n_gpus; i++) {
		if (world.gpus[i].node != node)
			continue;
		err(i);
		look(i);
		is_good |= answers(i) || (is_known[i] && illness_has(i, ILLNESS_LOST) &&
					  !world.gpus[i].lost);
	}
	if (is_good)
		read_at[node] = clockwork_now();
	held_until[node] = 0;
	set_unread(node, !is_good);
}

/* The text does not end in NUL. */
static int64_t number_after(struct view text, struct view key)
{
	const char *at = memmem(text.ptr, text.len, key.ptr, key.len);
	int64_t number = 0;

	if (!at)
		return -1;
	for (at += key.len; at < text.ptr + text.len && *at >= '0' && *at <= '9'; at++)
		number = 10 * number + (*at - '0');
	return number;
}

struct attribution_report illness_report_of(int node, struct view body)
{
	const struct view head = {body.ptr, body.len < HEAD_BYTES ? body.len : HEAD_BYTES};

	return (struct attribution_report){
		.boot_id = view_from(world.nodes[node].boot_id),
		.instance = number_after(head, VIEW("\"instance\":")),
		.sequence = number_after(head, VIEW("\"sequence\":")),
	};
}

static void keep(int node, struct view body, uint64_t at, bool unread)
{
	const struct attribution_report report = illness_report_of(node, body);

	posted[node][n_posted[node]++ % MAX_POSTED] = (struct posted){
		.boot = world.nodes[node].boot,
		.instance = report.instance,
		.sequence = report.sequence,
		.read_at = at,
		.is_unread = unread,
	};
}

/* A report that is due is made before a sample that is due at that moment, or of it. */
static bool is_news(int node)
{
	if (failed_at[node] == clockwork_now() || held_until[node] == clockwork_now())
		return true;
	for (int i = 0; i < world.n_gpus; i++)
		if (world.gpus[i].node == node && n_looks[i] > 0 &&
		    looks[i][n_looks[i] - 1].at == clockwork_now())
			return true;
	return false;
}

void illness_posted(int node, struct view body)
{
	keep(node, body, is_news(node) ? 0 : read_at[node],
	     is_unread[node] && clockwork_now() >= held_until[node]);
}

void illness_forged(int node, struct view body)
{
	unsigned n = n_posted[node];
	const struct posted none = {0}, *last = &none;

	/* The driver may have failed since the agent made that one. */
	if (n > 0)
		last = &posted[node][(n - 1) % MAX_POSTED];
	keep(node, body, last->read_at, last->is_unread);
}

/* NULL: it is not known, or there are two of one number, and not which of them was taken. */
static const struct posted *find_posted(int node, const struct attribution_report *report)
{
	const unsigned n = n_posted[node] < MAX_POSTED ? n_posted[node] : MAX_POSTED;
	const struct posted *found = NULL;

	for (unsigned i = 0; i < n; i++) {
		const struct posted *p = &posted[node][i];

		if (p->boot != world.nodes[node].boot || p->instance != report->instance ||
		    p->sequence != report->sequence)
			continue;
		if (p->read_at == 0 || found)
			return NULL;
		found = p;
	}
	return found;
}

uint64_t illness_read_at(int node, const struct attribution_report *report)
{
	const struct posted *found = find_posted(node, report);
	bool is_of_boot = view_equal(report->boot_id, view_from(world.nodes[node].boot_id));

	return found && is_of_boot ? found->read_at : 0;
}

bool illness_reported(int node, const struct attribution_report *report, int gpu, unsigned *ret,
		      unsigned *ret_unread)
{
	const struct posted *found = find_posted(node, report);

	if (!found || !view_equal(report->boot_id, view_from(world.nodes[node].boot_id)) ||
	    n_looks[gpu] == MAX_LOOKS)
		return false;
	for (int i = n_looks[gpu] - 1; i >= 0; i--)
		if (looks[gpu][i].at <= found->read_at) {
			*ret = looks[gpu][i].told | (found->is_unread ? ILLNESS_UNREAD : 0);
			*ret_unread = looks[gpu][i].unread;
			return looks[gpu][i].node == node;
		}
	return false;
}
