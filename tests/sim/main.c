/* SPDX-License-Identifier: Apache-2.0 */

/*
 * sim - runs histories of a simulated fleet and judges what the controller published; see
 * tests/README.md.
 */

#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/prng.h"
#include "sim/check.h"
#include "sim/forms.h"
#include "sim/history.h"
#include "sim/matrix.h"
#include "sim/programs.h"
#include "sim/recorded.h"

#define TUNABLES "GLIBC_TUNABLES" /* of the environment */
#define RARE_EVERY 3

enum { EXIT_VIOLATED = 1, EXIT_USAGE = 2 };

struct options {
	uint64_t from;
	uint64_t count;
	const char *replay;
	bool verbose, shrink, goes_on, matrix, digest, by_node;
};

static const char help[] =
	"usage: sim [--from N] [--count N] [--seed N] [--fresh] [--hours N] [--no-shrink]\n"
	"           [--keep-going] [--recorded FILE] [--verbose] [--matrix] [--digest]\n"
	"           [--by-node]\n"
	"       sim --replay FILE\n"
	"\n"
	"Runs histories of a simulated fleet with the real controller and agents in virtual time,\n"
	"and judges every status that is published.\n"
	"\n"
	"  --from N      the first seed (1)\n"
	"  --count N     how many seeds (1000)\n"
	"  --seed N      this one only\n"
	"  --hours N     all goes on for so long, at most 240, before it comes to rest, and memory is\n"
	"                to stay as it is\n"
	"  --fresh       start at a seed that nobody has run before, and say which\n"
	"  --replay FILE run the history in the file, as printed for a violation\n"
	"  --no-shrink   do not look for a shorter history that violates the same rule\n"
	"  --keep-going  go on after a violation\n"
	"  --recorded FILE  violations in the file are counted and do not fail\n"
	"  --verbose     tell each history, and let the programs log\n"
	"  --matrix      count which life cycles met which modes and witnesses, and run histories of\n"
	"                what is rare (seeds from 2^63 on) between the others, so that none is missing\n"
	"  --by-node     histories in which pods are read by node, too: the same seeds from 2^62 on\n"
	"  --digest      print a digest of all that was written and when, as of texts that are reworded\n"
	"\n"
	"Exit status: 0 nothing was violated, 1 something was or the matrix has an empty cell,\n"
	"2 usage.\n";

static void say_history(const char *why)
{
	char text[256];
	int len = 0;

	if (history_under_way)
		len = snprintf(text, sizeof(text),
			       "sim: %s in seed %" PRIu64 "; again: sim --verbose --seed %" PRIu64
			       "\n",
			       why, history_under_way->seed, history_under_way->seed);
	if (len > 0 && write(STDERR_FILENO, text, (size_t)len) < 0)
		_exit(EXIT_VIOLATED);
}

void check_failed(const char *condition, const char *file, int line)
{
	fprintf(stderr, "sim: %s:%d: the simulation itself is wrong: %s\n", file, line, condition);
	abort();
}

/* CPU time that a history may take, and each of its hours where it has some. Usual is less than a second. */
#define MAX_CPU_S 60

/* A history that takes longer would not end. Where it is made shorter, there is no limit. */
static void limit_cpu(bool is_limited)
{
	const time_t max_s = MAX_CPU_S * (1 + (time_t)history_hours);
	const struct itimerval limit = {.it_value.tv_sec = is_limited ? max_s : 0};

	if (setitimer(ITIMER_VIRTUAL, &limit, NULL) < 0)
		abort();
}

static void on_crash(int number)
{
	say_history(number == SIGABRT ? "aborted" : number == SIGVTALRM ? "hung" : "crashed");
	signal(number, SIG_DFL);
	raise(number);
}

static void tell(struct history *history, const struct oracle_violation *found,
		 const struct options *options)
{
	struct oracle_violation shrunk = *found;

	printf("seed %" PRIu64 " violates %s at %.3f s: %s\n", history->seed,
	       oracle_rule_name(found->rule), (double)(found->at - 1000000) / 1000, found->text);
	if (options->shrink) {
		history_shrink(history, found->rule);
		shrunk = history_run(history);
	}
	printf("--- %d actions, then %s at %.3f s: %s\n", history->n_actions,
	       oracle_rule_name(shrunk.rule), (double)(shrunk.at - 1000000) / 1000, shrunk.text);
	history_describe(history, stdout);
	printf("--- again: sim --seed %" PRIu64 ", or sim --replay FILE with\n", history->seed);
	history_write(history, stdout);
	printf("---\n");
}

/* False: a rule is violated that is not recorded of this seed, as which it is counted. */
static bool run_one(struct history *history, const struct options *options, unsigned *recorded)
{
	struct oracle_violation found;

	if (options->verbose)
		history_describe(history, stdout);
	if (options->matrix)
		matrix_begin();
	limit_cpu(true);
	found = history_run(history);
	limit_cpu(false);
	matrix_end(found.rule == ORACLE_NONE);
	if (found.rule == ORACLE_NONE)
		return true;
	const char *reason = recorded_reason(history->seed, oracle_rule_name(found.rule));
	if (reason) {
		printf("seed %" PRIu64 " violates %s, as recorded: %s\n", history->seed,
		       oracle_rule_name(found.rule), reason);
		(*recorded)++;
		return true;
	}
	tell(history, &found, options);
	return false;
}

/* Of this process, so that what else the machine does counts not. */
static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Some histories of what is rare belong to the matrix, between the others. */
static bool is_rare_due(const struct options *options, uint64_t n)
{
	return options->matrix && n % RARE_EVERY == 0;
}

struct tally {
	uint64_t n, writes, events, digest;
	unsigned violations, recorded;
};

static void run_seed(uint64_t seed, const struct options *options, struct tally *tally)
{
	static struct history history;

	history_make(&history, seed);
	tally->violations += !run_one(&history, options, &tally->recorded);
	tally->writes += history_writes;
	tally->events += history_events;
	tally->digest = tally->digest * 31 + history_digest;
	tally->n++;
}

/* Of which many are wanted. */
static void tell_changes(const struct options *options)
{
	if (options->by_node)
		printf("%u change-overs between pods of the cluster and pods by node\n",
		       forms_n_changes());
}

static int run_many(const struct options *options)
{
	double start = seconds(), took;
	struct tally tally = {0};

	printf("seeds %" PRIu64 " to %" PRIu64 "\n", options->from,
	       options->from + options->count - 1);
	fflush(stdout);
	for (uint64_t n = 0;
	     n < options->count && (tally.violations == 0 || options->goes_on); n++) {
		run_seed(options->from + n, options, &tally);
		if (is_rare_due(options, n))
			run_seed((options->from + n) | HISTORY_RARE, options, &tally);
	}
	took = seconds() - start;
	printf("%" PRIu64 " histories, %" PRIu64 " writes, %" PRIu64 " Events, %u violations, "
	       "%u recorded ones, %.2f ms of CPU each\n",
	       tally.n, tally.writes, tally.events, tally.violations, tally.recorded,
	       took * 1000 / (double)tally.n);
	tell_changes(options);
	if (options->digest)
		printf("digest %016" PRIx64 "\n", tally.digest);
	if (tally.violations > 0 && !options->goes_on)
		return EXIT_VIOLATED;
	if (options->matrix && !matrix_print(stdout))
		return EXIT_VIOLATED;
	return tally.violations == 0 ? EXIT_SUCCESS : EXIT_VIOLATED;
}

static int run_file(const struct options *options)
{
	static struct history history;
	unsigned recorded = 0;

	if (!history_read(&history, options->replay))
		return EXIT_USAGE;
	if (!run_one(&history, options, &recorded))
		return EXIT_VIOLATED;
	printf("nothing is violated\n");
	return EXIT_SUCCESS;
}

static bool parse_number(const char *text, uint64_t *ret)
{
	if (view_parse_u64(view_from(text), ret))
		return true;
	fprintf(stderr, "sim: not a number: %s\n", text);
	return false;
}

static bool parse_hours(const char *text)
{
	uint64_t hours;

	if (!parse_number(text, &hours) || hours > 240)
		return false;
	history_hours = (unsigned)hours;
	return true;
}

static bool parse_option(int option, struct options *options)
{
	switch (option) {
	case 'f':
		return parse_number(optarg, &options->from);
	case 'c':
		return parse_number(optarg, &options->count) && options->count > 0;
	case 's':
		options->count = 1;
		return parse_number(optarg, &options->from);
	case 'H':
		return parse_hours(optarg);
	case 'n':
		options->from = ((uint64_t)time(NULL) << 20) + (uint64_t)getpid();
		return true;
	case 'r':
		options->replay = optarg;
		return true;
	case 'x':
		options->shrink = false;
		return true;
	case 'k':
		options->goes_on = true;
		return true;
	case 'R':
		return recorded_read(optarg);
	case 'm':
		options->matrix = true;
		return true;
	case 'd':
		options->digest = true;
		return true;
	case 'b':
		options->by_node = true;
		return true;
	case 'v':
		options->verbose = true;
		oracle_is_verbose = true;
		return true;
	default:
		return false;
	}
}

static bool parse(int argc, char **argv, struct options *options)
{
	static const struct option names[] = {
		{"from", required_argument, NULL, 'f'},   {"count", required_argument, NULL, 'c'},
		{"seed", required_argument, NULL, 's'},   {"fresh", no_argument, NULL, 'n'},
		{"replay", required_argument, NULL, 'r'}, {"no-shrink", no_argument, NULL, 'x'},
		{"keep-going", no_argument, NULL, 'k'},   {"verbose", no_argument, NULL, 'v'},
		{"digest", no_argument, NULL, 'd'},       {"matrix", no_argument, NULL, 'm'},
		{"help", no_argument, NULL, 'h'},	  {"hours", required_argument, NULL, 'H'},
		{"by-node", no_argument, NULL, 'b'},
		{"recorded", required_argument, NULL, 'R'},
		{0},
	};
	int option;

	*options = (struct options){.from = 1, .count = 1000, .shrink = true};
	while ((option = getopt_long(argc, argv, "", names, NULL)) >= 0) {
		if (option == 'h') {
			fputs(help, stdout);
			exit(EXIT_SUCCESS);
		}
		if (!parse_option(option, options))
			return false;
	}
	if (options->by_node)
		options->from |= HISTORY_BY_NODE;
	return optind == argc;
}

/*
 * The C library keeps freed blocks at hand for the next one of their size. mallinfo2() counts them as in use,
 * and they become more for days. So where memory is judged it is told not to.
 */
static void keep_no_freed_blocks(char **argv)
{
	if (!getenv(TUNABLES) && setenv(TUNABLES, "glibc.malloc.tcache_count=0", 1) == 0)
		execv("/proc/self/exe", argv); /* without success: what is kept counts, too */
}

int main(int argc, char **argv)
{
	struct options options;

	if (!parse(argc, argv, &options)) {
		fputs(help, stderr);
		return EXIT_USAGE;
	}
	if (history_hours > 0)
		keep_no_freed_blocks(argv);
	programs_log = options.verbose;
	signal(SIGABRT, on_crash);
	signal(SIGSEGV, on_crash);
	signal(SIGVTALRM, on_crash);
	return options.replay ? run_file(&options) : run_many(&options);
}
