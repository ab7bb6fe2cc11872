/* SPDX-License-Identifier: Apache-2.0 */

#include "kube/request_counts.h"

#include <assert.h>
#include <string.h>

#include "base/compiler.h"

const char *const request_counts_methods[REQUEST_COUNTS_METHODS] = {"GET", "POST", "PUT", "PATCH",
								    "DELETE"};

static const int statuses[REQUEST_COUNTS_CODES - 1] = {
	0, 200, 201, 202, 400, 401, 403, 404, 405, 409, 410, 415, 422, 429, 500, 503, 504,
};

const char *const request_counts_codes[REQUEST_COUNTS_CODES] = {
	"<error>", "200", "201", "202", "400", "401", "403", "404",     "405",
	"409",     "410", "415", "422", "429", "500", "503", "504", "<other>",
};

void request_counts_init(struct request_counts *counts)
{
	memset(counts, 0, sizeof(*counts));
	for (size_t i = 0; i < REQUEST_COUNTS_METHODS; i++)
		counts->durations[i].bounds = histogram_seconds;
}

static size_t find_method(const char *method)
{
	for (size_t i = 0; i < REQUEST_COUNTS_METHODS; i++) {
		if (strcmp(request_counts_methods[i], method) == 0)
			return i;
	}
	return 0;
}

static size_t find_code(int status)
{
	size_t code = 0;
	while (code < ARRAY_SIZE(statuses) && statuses[code] != status)
		code++;
	assert(code < REQUEST_COUNTS_CODES);
	return code;
}

void request_counts_add(struct request_counts *counts, const char *method, int status)
{
	counts->counts[find_method(method)][find_code(status)]++;
}

void request_counts_time(struct request_counts *counts, const char *method, uint64_t ms)
{
	histogram_observe(&counts->durations[find_method(method)], (double)ms / 1000);
}
