/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/recorded.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LINE 512

static struct {
	uint64_t seed;
	char rule[32];
	char reason[LINE];
} known[RECORDED_MAX];
static unsigned n_known;

static bool read_line(char *line)
{
	int end = 0;

	line[strcspn(line, "\n")] = '\0';
	if (line[0] == '\0' || line[0] == '#')
		return true;
	if (n_known == RECORDED_MAX ||
	    sscanf(line, "%" SCNu64 " %31[A-Z_] %n", &known[n_known].seed, known[n_known].rule,
		   &end) != 2 ||
	    line[end] == '\0')
		return false;
	snprintf(known[n_known].reason, sizeof(known[n_known].reason), "%s", line + end);
	n_known++;
	return true;
}

bool recorded_read(const char *path)
{
	char line[LINE];
	bool good = true;
	unsigned n = 0;
	FILE *file = fopen(path, "r");

	if (!file) {
		perror(path);
		return false;
	}
	while (good && fgets(line, sizeof(line), file)) {
		n++;
		good = read_line(line);
	}
	fclose(file);
	if (!good)
		fprintf(stderr, "sim: %s:%u: no seed, rule and reason\n", path, n);
	return good;
}

const char *recorded_reason(uint64_t seed, const char *rule)
{
	for (unsigned i = 0; i < n_known; i++)
		if (known[i].seed == seed && strcmp(known[i].rule, rule) == 0)
			return known[i].reason;
	return NULL;
}
