/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The condition of one device, asked from a library whose answers are a table in here: numbers that
 * no device file can hold, and every call failing alone.
 */

#include "lib/test_main.h"

#include "agent/condition_reader.h"
#include "model/condition_parts.h"

enum call {
	ECC_VOLATILE_CORRECTED,
	ECC_VOLATILE_UNCORRECTED,
	ECC_AGGREGATE_CORRECTED,
	ECC_AGGREGATE_UNCORRECTED,
	REMAPPED_ROWS,
	RETIRED_PAGES,
	FIELDS,
	NVLINKS,
	FABRIC,
	MAX_PCIE_WIDTH,
	PCIE_WIDTH,
	MAX_PCIE_GENERATION,
	PCIE_GENERATION,
	CLOCKS,
	N_CALLS,
};

/* What the library answers. */
static struct {
	int codes[N_CALLS];
	unsigned asked[N_CALLS];
	unsigned long long ecc[2][2]; /* by counter and error */
	unsigned rows[4];
	int retired;
	struct nvml_abi_field field;
	int links[NVML_ABI_MAX_NVLINKS];
	unsigned n_links;
	int bad_link; /* one that answers the code of NVLINKS; -1: all do */
	unsigned state;
	int status; /* of a registration with the fabric */
	unsigned width[2];
	unsigned generation[2];
	unsigned long long reasons;
} driver;

static int answer(int call)
{
	driver.asked[call]++;
	return driver.codes[call];
}

static int ecc_errors(struct nvml_abi_device *device, int error, int counter,
		      unsigned long long *ret)
{
	(void)device;
	*ret = driver.ecc[counter][error];
	return answer(ECC_VOLATILE_CORRECTED + 2 * counter + error);
}

static int remapped_rows(struct nvml_abi_device *device, unsigned *a, unsigned *b, unsigned *c,
			 unsigned *d)
{
	(void)device;
	*a = driver.rows[0];
	*b = driver.rows[1];
	*c = driver.rows[2];
	*d = driver.rows[3];
	return answer(REMAPPED_ROWS);
}

static int retired_pages(struct nvml_abi_device *device, int *ret)
{
	(void)device;
	*ret = driver.retired;
	return answer(RETIRED_PAGES);
}

static int fields(struct nvml_abi_device *device, int n, struct nvml_abi_field *ret)
{
	(void)device;
	assert_int_equal(n, 1);
	assert_int_equal(ret->id, 230);
	*ret = driver.field;
	return answer(FIELDS);
}

static int nvlink_state(struct nvml_abi_device *device, unsigned link, int *ret)
{
	(void)device;
	int code = answer(NVLINKS);
	*ret = driver.links[link];
	if (driver.bad_link >= 0 && driver.bad_link != (int)link)
		code = NVML_ABI_SUCCESS;
	return link < driver.n_links || code ? code : (int)NVML_ABI_INVALID_ARGUMENT;
}

static int fabric_info(struct nvml_abi_device *device, struct nvml_abi_fabric_info *ret)
{
	(void)device;
	*ret = (struct nvml_abi_fabric_info){.status = driver.status, .state = (uint8_t)driver.state};
	return answer(FABRIC);
}

static int max_pcie_width(struct nvml_abi_device *device, unsigned *ret)
{
	(void)device;
	*ret = driver.width[0];
	return answer(MAX_PCIE_WIDTH);
}

static int pcie_width(struct nvml_abi_device *device, unsigned *ret)
{
	(void)device;
	*ret = driver.width[1];
	return answer(PCIE_WIDTH);
}

static int max_pcie_generation(struct nvml_abi_device *device, unsigned *ret)
{
	(void)device;
	*ret = driver.generation[0];
	return answer(MAX_PCIE_GENERATION);
}

static int pcie_generation(struct nvml_abi_device *device, unsigned *ret)
{
	(void)device;
	*ret = driver.generation[1];
	return answer(PCIE_GENERATION);
}

static int clocks_event_reasons(struct nvml_abi_device *device, unsigned long long *ret)
{
	(void)device;
	*ret = driver.reasons;
	return answer(CLOCKS);
}

static const struct nvml_library library = {
	.ecc_errors = ecc_errors,
	.remapped_rows = remapped_rows,
	.retired_pages = retired_pages,
	.fields = fields,
	.nvlink_state = nvlink_state,
	.fabric_info = fabric_info,
	.max_pcie_width = max_pcie_width,
	.pcie_width = pcie_width,
	.max_pcie_generation = max_pcie_generation,
	.pcie_generation = pcie_generation,
	.clocks_event_reasons = clocks_event_reasons,
};

static struct device_reader reader;

static int set_up(void **state)
{
	(void)state;
	memset(&driver, 0, sizeof(driver));
	driver.ecc[0][0] = 14;
	driver.ecc[0][1] = 2;
	driver.ecc[1][0] = 140;
	driver.ecc[1][1] = 20;
	driver.rows[0] = 3;
	driver.rows[1] = 1;
	driver.rows[2] = 1;
	driver.retired = 1;
	driver.field = (struct nvml_abi_field){.type = NVML_ABI_VALUE_UINT, .value.word = 1};
	driver.n_links = 12;
	driver.bad_link = -1;
	for (unsigned i = 0; i < 11; i++)
		driver.links[i] = 1;
	driver.state = NVML_ABI_FABRIC_COMPLETED;
	driver.width[0] = 16;
	driver.width[1] = 8;
	driver.generation[0] = 4;
	driver.generation[1] = 1;
	driver.reasons = 0x41;
	reader = (struct device_reader){.library = &library};
	return 0;
}

static struct report_condition read_with(struct device_subject *subject)
{
	struct report_condition condition;
	memset(&condition, 0xa5, sizeof(condition));
	reader.message[0] = '\0';
	*subject = (struct device_subject){.reader = &reader, .label = "GPU-a"};
	condition_reader_read(subject, &condition);
	return condition;
}

static struct report_condition read_now(void)
{
	struct device_subject subject;
	return read_with(&subject);
}

/* Which values were read, as bits of enum call. */
static unsigned values_in(const struct report_condition *condition)
{
	const bool is_read[N_CALLS] = {
		[ECC_VOLATILE_CORRECTED] = condition->ecc_volatile.corrected >= 0,
		[ECC_VOLATILE_UNCORRECTED] = condition->ecc_volatile.uncorrected >= 0,
		[ECC_AGGREGATE_CORRECTED] = condition->ecc_aggregate.corrected >= 0,
		[ECC_AGGREGATE_UNCORRECTED] = condition->ecc_aggregate.uncorrected >= 0,
		[REMAPPED_ROWS] = condition->remapped_rows.present,
		[RETIRED_PAGES] = condition->retired_pages.present,
		[FIELDS] = condition->recovery != REPORT_RECOVERY_UNREAD,
		[NVLINKS] = condition->nvlinks.present,
		[FABRIC] = condition->fabric != REPORT_FABRIC_UNREAD,
		[MAX_PCIE_WIDTH] = condition->pcie_lanes.present,
		[PCIE_WIDTH] = condition->pcie_lanes.present,
		[MAX_PCIE_GENERATION] = condition->pcie_generation.present,
		[PCIE_GENERATION] = condition->pcie_generation.present,
		[CLOCKS] = condition->clocks_event_reasons >= 0,
	};
	unsigned values = 0;
	for (unsigned i = 0; i < N_CALLS; i++)
		values |= (unsigned)is_read[i] << i;
	return values;
}

#define ALL_VALUES ((1u << N_CALLS) - 1)
#define WIDTHS (1u << MAX_PCIE_WIDTH | 1u << PCIE_WIDTH)
#define GENERATIONS (1u << MAX_PCIE_GENERATION | 1u << PCIE_GENERATION)

/* What is lacking when one call fails. */
static unsigned values_without(unsigned call)
{
	if (WIDTHS >> call & 1)
		return ALL_VALUES & ~WIDTHS;
	if (GENERATIONS >> call & 1)
		return ALL_VALUES & ~GENERATIONS;
	return ALL_VALUES & ~(1u << call);
}

TEST(everything_that_a_device_tells_is_read)
{
	struct report_condition condition = read_now();
	assert_true(condition.present);
	assert_false(condition.lost || condition.reset_required);
	assert_int_equal(condition.ecc_volatile.corrected, 14);
	assert_int_equal(condition.ecc_volatile.uncorrected, 2);
	assert_int_equal(condition.ecc_aggregate.corrected, 140);
	assert_int_equal(condition.ecc_aggregate.uncorrected, 20);
	assert_int_equal(condition.remapped_rows.counts.corrected, 3);
	assert_int_equal(condition.remapped_rows.counts.uncorrected, 1);
	assert_true(condition.remapped_rows.pending);
	assert_false(condition.remapped_rows.failed);
	assert_true(condition.retired_pages.pending);
	assert_int_equal(condition.recovery, REPORT_RECOVERY_RESET);
	assert_int_equal(condition.nvlinks.total, 12);
	assert_int_equal(condition.nvlinks.active, 11);
	assert_int_equal(condition.fabric, REPORT_FABRIC_COMPLETED);
	assert_int_equal(condition.pcie_lanes.total, 16);
	assert_int_equal(condition.pcie_lanes.active, 8);
	assert_int_equal(condition.pcie_generation.highest, 4);
	assert_int_equal(condition.pcie_generation.current, 1);
	assert_int_equal(condition.clocks_event_reasons, 0x40);
	assert_int_equal(values_in(&condition), ALL_VALUES);
	assert_string_equal(reader.message, "");
}

TEST(a_call_that_fails_costs_its_own_value_only)
{
	static const struct {
		int code;
		bool lost, needs_reset, noted;
	} rows[] = {
		{NVML_ABI_NOT_SUPPORTED, false, false, false},
		{NVML_ABI_FUNCTION_NOT_FOUND, false, false, false},
		{NVML_ABI_GPU_IS_LOST, true, false, false},
		{NVML_ABI_RESET_REQUIRED, false, true, false},
		{NVML_ABI_UNKNOWN, false, false, true},
	};
	for (unsigned call = 0; call < N_CALLS; call++) {
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
			struct device_subject subject;
			set_up(state);
			driver.codes[call] = rows[i].code;
			struct report_condition condition = read_with(&subject);
			if (values_in(&condition) != values_without(call) ||
			    subject.lost != rows[i].lost || subject.missing ||
			    subject.needs_reset != rows[i].needs_reset ||
			    (reader.message[0] != '\0') != rows[i].noted)
				fail_msg("call %u, code %d: %#x, %s", call, rows[i].code,
					 values_in(&condition), reader.message);
		}
	}
}

/* A smaller number of links would look like links that went down. So all of them are unread, and only they. */
TEST(one_nvlink_that_cannot_be_read_hides_nvlinks_and_no_other_link)
{
	for (driver.bad_link = 0; driver.bad_link < (int)driver.n_links; driver.bad_link++) {
		driver.codes[NVLINKS] = NVML_ABI_UNKNOWN;
		struct report_condition condition = read_now();
		assert_int_equal(condition_parts_find(&condition),
				 REPORT_PART_ALL & ~REPORT_PART_NVLINK);
	}
}

TEST(each_kind_of_link_is_read_alone)
{
	static const struct {
		enum call failing;
		unsigned part;
	} rows[] = {
		{NVLINKS, REPORT_PART_NVLINK},	{FABRIC, REPORT_PART_FABRIC},
		{PCIE_WIDTH, REPORT_PART_PCIE},	{MAX_PCIE_WIDTH, REPORT_PART_PCIE},
		{PCIE_GENERATION, 0},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		driver.codes[rows[i].failing] = NVML_ABI_NOT_SUPPORTED;
		struct report_condition condition = read_now();
		assert_int_equal(condition_parts_find(&condition), REPORT_PART_ALL & ~rows[i].part);
		driver.codes[rows[i].failing] = NVML_ABI_SUCCESS;
	}
}

/* Any other code is a failure, and not what MIG leads to. */
TEST(that_remapped_rows_are_not_supported_is_told_where_the_library_says_so)
{
	static const struct {
		enum call call;
		int code;
		bool is_unsupported;
	} rows[] = {
		{REMAPPED_ROWS, NVML_ABI_SUCCESS, false},
		{REMAPPED_ROWS, NVML_ABI_NOT_SUPPORTED, true},
		{REMAPPED_ROWS, NVML_ABI_UNKNOWN, false},
		{REMAPPED_ROWS, NVML_ABI_FUNCTION_NOT_FOUND, false},
		{RETIRED_PAGES, NVML_ABI_NOT_SUPPORTED, false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		driver.codes[rows[i].call] = rows[i].code;
		struct report_condition condition = read_now();
		assert_int_equal(condition.rows_unsupported, rows[i].is_unsupported);
		driver.codes[rows[i].call] = NVML_ABI_SUCCESS;
	}
}

/* A call that fails otherwise may succeed the next time. */
TEST(that_there_is_no_recovery_action_is_told_where_the_library_says_so)
{
	static const struct {
		int call, field; /* what they answer */
		bool is_unsupported;
	} rows[] = {
		{NVML_ABI_SUCCESS, NVML_ABI_SUCCESS, false},
		{NVML_ABI_SUCCESS, NVML_ABI_NOT_SUPPORTED, true},
		{NVML_ABI_SUCCESS, NVML_ABI_INVALID_ARGUMENT, true},
		{NVML_ABI_SUCCESS, NVML_ABI_NOT_FOUND, true},
		{NVML_ABI_SUCCESS, NVML_ABI_UNKNOWN, false},
		{NVML_ABI_SUCCESS, NVML_ABI_RESET_REQUIRED, false},
		{NVML_ABI_NOT_SUPPORTED, NVML_ABI_SUCCESS, true},
		{NVML_ABI_FUNCTION_NOT_FOUND, NVML_ABI_SUCCESS, true},
		{NVML_ABI_UNKNOWN, NVML_ABI_SUCCESS, false},
		{NVML_ABI_GPU_IS_LOST, NVML_ABI_SUCCESS, false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		driver.codes[FIELDS] = rows[i].call;
		driver.field.code = rows[i].field;
		if (read_now().recovery_unsupported != rows[i].is_unsupported)
			fail_msg("row %zu", i);
	}
}

TEST(a_failure_names_the_device_and_the_value_once)
{
	driver.codes[NVLINKS] = NVML_ABI_UNKNOWN;
	read_now();
	assert_string_equal(reader.message, "GPU-a: NVLinks: unknown error");
}

TEST(a_library_without_the_functions_tells_nothing)
{
	static const struct nvml_library none = {.object = NULL};
	reader.library = &none;
	struct report_condition condition = read_now();
	assert_true(condition.present);
	assert_int_equal(values_in(&condition), 0);
	assert_int_equal(condition.remapped_rows.counts.uncorrected, -1);
	assert_string_equal(reader.message, "");
}

TEST(nothing_is_asked_of_a_device_that_is_lost_or_missing)
{
	static const struct device_subject subjects[] = {
		{.reader = &reader, .label = "GPU-a", .lost = true},
		{.reader = &reader, .label = "GPU-a", .missing = true},
	};
	for (size_t i = 0; i < ARRAY_SIZE(subjects); i++) {
		struct device_subject subject = subjects[i];
		struct report_condition condition;
		condition_reader_read(&subject, &condition);
		assert_true(condition.present);
		assert_int_equal(values_in(&condition), 0);
		for (unsigned call = 0; call < N_CALLS; call++)
			assert_int_equal(driver.asked[call], 0);
	}
}

TEST(a_count_of_errors_that_cannot_be_true_is_not_read)
{
	static const unsigned long long rows[] = {UINT64_MAX, INT64_MAX, LIMIT_NUMBER_ERRORS + 1};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		driver.ecc[0][0] = driver.ecc[1][1] = rows[i];
		struct report_condition condition = read_now();
		assert_int_equal(condition.ecc_volatile.corrected, -1);
		assert_int_equal(condition.ecc_volatile.uncorrected, 2);
		assert_int_equal(condition.ecc_aggregate.corrected, 140);
		assert_int_equal(condition.ecc_aggregate.uncorrected, -1);
	}
	driver.ecc[0][0] = LIMIT_NUMBER_ERRORS;
	assert_true(read_now().ecc_volatile.corrected == (int64_t)LIMIT_NUMBER_ERRORS);
}

TEST(remapped_rows_that_cannot_be_true_are_not_read)
{
	static const struct {
		unsigned rows[4];
		bool present;
		int64_t corrected, uncorrected;
	} rows[] = {
		{{0, 0, 0, 0}, true, 0, 0},
		{{UINT32_MAX, 5, 0, 1}, true, -1, 5},
		{{5, UINT32_MAX, 0, 1}, true, 5, -1},
		{{5, 5, 2, 0}, false, -1, -1},
		{{5, 5, 0, UINT32_MAX}, false, -1, -1},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		memcpy(driver.rows, rows[i].rows, sizeof(driver.rows));
		struct report_condition condition = read_now();
		assert_int_equal(condition.remapped_rows.present, rows[i].present);
		assert_int_equal(condition.remapped_rows.counts.corrected, rows[i].corrected);
		assert_int_equal(condition.remapped_rows.counts.uncorrected, rows[i].uncorrected);
		assert_int_equal(condition.remapped_rows.failed,
				 rows[i].present && rows[i].rows[3] == 1);
	}
}

TEST(retired_pages_are_pending_or_not_or_unread)
{
	static const struct {
		int answer;
		bool present, pending;
	} rows[] = {{0, true, false}, {1, true, true}, {2, false, false}, {-1, false, false}};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		driver.retired = rows[i].answer;
		struct report_condition condition = read_now();
		assert_int_equal(condition.retired_pages.present, rows[i].present);
		assert_int_equal(condition.retired_pages.pending, rows[i].pending);
	}
}

TEST(a_recovery_action_is_read_from_a_field_of_any_type)
{
	static const struct {
		struct nvml_abi_field field;
		int recovery;
	} rows[] = {
		{{.type = NVML_ABI_VALUE_UINT, .value.whole = 0xffffffff00000000}, REPORT_RECOVERY_NONE},
		{{.type = NVML_ABI_VALUE_UINT, .value.word = 1}, REPORT_RECOVERY_RESET},
		{{.type = NVML_ABI_VALUE_ULONG, .value.whole = 2}, REPORT_RECOVERY_REBOOT},
		{{.type = NVML_ABI_VALUE_ULONG_LONG, .value.whole = 3}, REPORT_RECOVERY_DRAIN_P2P},
		{{.type = NVML_ABI_VALUE_LONG_LONG, .value.signed_whole = 4},
		 REPORT_RECOVERY_DRAIN_AND_RESET},
		{{.type = NVML_ABI_VALUE_INT, .value.signed_word = 5},
		 REPORT_RECOVERY_RECOVER_IMEX_DOMAIN},
		{{.type = NVML_ABI_VALUE_USHORT, .value.whole = 0xffff0002}, REPORT_RECOVERY_REBOOT},
		{{.type = NVML_ABI_VALUE_UINT, .value.word = 6}, REPORT_RECOVERY_OTHER},
		{{.type = NVML_ABI_VALUE_UINT, .value.word = 255}, REPORT_RECOVERY_OTHER},
		{{.type = NVML_ABI_VALUE_UINT, .value.word = 256}, REPORT_RECOVERY_UNREAD},
		{{.type = NVML_ABI_VALUE_ULONG_LONG, .value.whole = UINT64_MAX}, REPORT_RECOVERY_UNREAD},
		{{.type = NVML_ABI_VALUE_INT, .value.signed_word = -1}, REPORT_RECOVERY_UNREAD},
		{{.type = NVML_ABI_VALUE_DOUBLE, .value.real = 1}, REPORT_RECOVERY_UNREAD},
		{{.type = 4000, .value.word = 1}, REPORT_RECOVERY_UNREAD},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		driver.field = rows[i].field;
		if (read_now().recovery != rows[i].recovery)
			fail_msg("row %zu: %d", i, read_now().recovery);
	}
}

TEST(a_field_fails_by_a_code_of_its_own)
{
	static const struct {
		int code;
		bool lost, noted;
	} rows[] = {
		{NVML_ABI_NOT_SUPPORTED, false, false},
		{NVML_ABI_INVALID_ARGUMENT, false, false},
		{NVML_ABI_NOT_FOUND, false, false},
		{NVML_ABI_GPU_IS_LOST, true, false},
		{NVML_ABI_UNKNOWN, false, true},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct device_subject subject;
		driver.field.code = rows[i].code;
		assert_int_equal(read_with(&subject).recovery, REPORT_RECOVERY_UNREAD);
		assert_int_equal(subject.lost, rows[i].lost);
		assert_int_equal(reader.message[0] != '\0', rows[i].noted);
	}
}

TEST(links_are_those_that_answer)
{
	static const struct {
		unsigned n_links;
		bool present;
		int64_t total, active;
	} rows[] = {{0, false, 0, 0}, {1, true, 1, 1}, {12, true, 12, 11}, {18, true, 18, 11}};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		driver.n_links = rows[i].n_links;
		struct report_condition condition = read_now();
		assert_int_equal(condition.nvlinks.present, rows[i].present);
		assert_int_equal(condition.nvlinks.total, rows[i].total);
		assert_int_equal(condition.nvlinks.active, rows[i].active);
	}
}

TEST(one_link_that_fails_hides_them_all)
{
	driver.bad_link = 7;
	driver.codes[NVLINKS] = NVML_ABI_UNKNOWN;
	assert_false(read_now().nvlinks.present);
	driver.codes[NVLINKS] = NVML_ABI_RESET_REQUIRED;
	assert_false(read_now().nvlinks.present);
	/* One that is not there is no failure. */
	driver.codes[NVLINKS] = NVML_ABI_NOT_SUPPORTED;
	assert_int_equal(read_now().nvlinks.total, 11);
}

TEST(links_in_an_impossible_state_are_not_read)
{
	static const int rows[] = {4000, 2, -1};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		driver.links[3] = rows[i];
		assert_false(read_now().nvlinks.present);
	}
}

TEST(a_fabric_is_told_while_the_device_is_on_one)
{
	static const struct {
		unsigned state;
		int status; /* counts only if the registration is completed */
		int fabric;
	} rows[] = {
		{0, 0, REPORT_FABRIC_UNREAD},
		{1, 0, REPORT_FABRIC_NOT_STARTED},
		{1, NVML_ABI_UNKNOWN, REPORT_FABRIC_NOT_STARTED},
		{2, 0, REPORT_FABRIC_IN_PROGRESS},
		{2, NVML_ABI_UNKNOWN, REPORT_FABRIC_IN_PROGRESS},
		{3, 0, REPORT_FABRIC_COMPLETED},
		{3, NVML_ABI_UNKNOWN, REPORT_FABRIC_NOT_STARTED},
		{3, NVML_ABI_GPU_IS_LOST, REPORT_FABRIC_NOT_STARTED},
		{4, 0, REPORT_FABRIC_UNREAD},
		{255, 0, REPORT_FABRIC_UNREAD},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		driver.state = rows[i].state;
		driver.status = rows[i].status;
		assert_int_equal(read_now().fabric, rows[i].fabric);
	}
}

TEST(lanes_that_cannot_be_true_are_not_read)
{
	static const struct {
		unsigned total, active;
		bool present;
	} rows[] = {
		{16, 16, true}, {32, 1, true},	   {1, 1, true},     {16, 0, false},
		{0, 0, false},	{4000, 16, false}, {33, 16, false},  {8, 16, false},
		{16, UINT32_MAX, false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		driver.width[0] = rows[i].total;
		driver.width[1] = rows[i].active;
		assert_int_equal(read_now().pcie_lanes.present, rows[i].present);
	}
}

TEST(a_generation_that_cannot_be_true_is_not_read)
{
	static const struct {
		unsigned highest, current;
		bool present;
	} rows[] = {
		{4, 4, true}, {4, 1, true},  {LIMIT_NUMBER_PCIE, 1, true}, {4, 0, false},
		{4, 5, false}, {0, 0, false}, {LIMIT_NUMBER_PCIE + 1, 1, false},
		{UINT32_MAX, 4, false}, {4, UINT32_MAX, false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		driver.generation[0] = rows[i].highest;
		driver.generation[1] = rows[i].current;
		assert_int_equal(read_now().pcie_generation.present, rows[i].present);
	}
}

/* Idle, power cap, application clocks and the like are no trouble, nor is what no release knows. */
TEST(of_the_reasons_for_low_clocks_those_are_read_that_mean_trouble)
{
	static const struct {
		unsigned long long answer;
		int64_t reasons;
	} rows[] = {
		{0, 0},		    {0x1, 0},	   {0x2, 0},	{0x4, 0},     {0x8, 0x8},
		{0x10, 0},	    {0x20, 0x20},  {0x40, 0x40}, {0x80, 0x80}, {0x100, 0},
		{0xfe, 0xe8},	    {UINT64_MAX, 0xe8}, {4000000000, 0},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		driver.reasons = rows[i].answer;
		struct report_condition condition = read_now();
		assert_int_equal(condition.clocks_event_reasons, rows[i].reasons);
		assert_true(condition.slowdown.present);
	}
	driver.codes[CLOCKS] = NVML_ABI_NOT_SUPPORTED;
	assert_false(read_now().slowdown.present);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(
		of_the_reasons_for_low_clocks_those_are_read_that_mean_trouble, set_up, NULL),
	cmocka_unit_test_setup_teardown(everything_that_a_device_tells_is_read, set_up, NULL),
	cmocka_unit_test_setup_teardown(a_call_that_fails_costs_its_own_value_only, set_up, NULL),
	cmocka_unit_test_setup_teardown(
		one_nvlink_that_cannot_be_read_hides_nvlinks_and_no_other_link, set_up, NULL),
	cmocka_unit_test_setup_teardown(each_kind_of_link_is_read_alone, set_up, NULL),
	cmocka_unit_test_setup_teardown(
		that_remapped_rows_are_not_supported_is_told_where_the_library_says_so, set_up, NULL),
	cmocka_unit_test_setup_teardown(
		that_there_is_no_recovery_action_is_told_where_the_library_says_so, set_up, NULL),
	cmocka_unit_test_setup_teardown(
		a_failure_names_the_device_and_the_value_once, set_up, NULL),
	cmocka_unit_test_setup_teardown(a_library_without_the_functions_tells_nothing, set_up, NULL),
	cmocka_unit_test_setup_teardown(
		nothing_is_asked_of_a_device_that_is_lost_or_missing, set_up, NULL),
	cmocka_unit_test_setup_teardown(
		a_count_of_errors_that_cannot_be_true_is_not_read, set_up, NULL),
	cmocka_unit_test_setup_teardown(
		remapped_rows_that_cannot_be_true_are_not_read, set_up, NULL),
	cmocka_unit_test_setup_teardown(retired_pages_are_pending_or_not_or_unread, set_up, NULL),
	cmocka_unit_test_setup_teardown(
		a_recovery_action_is_read_from_a_field_of_any_type, set_up, NULL),
	cmocka_unit_test_setup_teardown(a_field_fails_by_a_code_of_its_own, set_up, NULL),
	cmocka_unit_test_setup_teardown(links_are_those_that_answer, set_up, NULL),
	cmocka_unit_test_setup_teardown(one_link_that_fails_hides_them_all, set_up, NULL),
	cmocka_unit_test_setup_teardown(links_in_an_impossible_state_are_not_read, set_up, NULL),
	cmocka_unit_test_setup_teardown(
		a_fabric_is_told_while_the_device_is_on_one, set_up, NULL),
	cmocka_unit_test_setup_teardown(lanes_that_cannot_be_true_are_not_read, set_up, NULL),
	cmocka_unit_test_setup_teardown(a_generation_that_cannot_be_true_is_not_read, set_up, NULL),
};

TEST_MAIN(tests)
