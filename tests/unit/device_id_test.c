/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <ctype.h>
#include <stdlib.h>

#include "model/device_id.h"

#define UUID "11ba558d-3437-2335-2fd8-a78c8502f87f"

struct row {
	const char *text;
	enum device_id_form form;
	const char *uuid;
	int64_t minor, gi;
	bool is_replica, is_hami, is_odd;
};

/* In memory of its own, where a sanitizer sees who reads past the end. */
static struct device_id parse(const char *text, char **ret_copy)
{
	size_t len = strlen(text);

	*ret_copy = malloc(len);
	assert_true(*ret_copy || len == 0);
	for (size_t i = 0; i < len; i++)
		(*ret_copy)[i] = text[i];
	return device_id_parse((struct view){*ret_copy, len});
}

static void check(const struct row *row)
{
	char *copy;
	struct device_id id = parse(row->text, &copy);

	if (id.form != row->form)
		fail_msg("%s: form %d", row->text, (int)id.form);
	assert_true(view_equal(id.uuid, view_from(row->uuid)));
	assert_int_equal(id.minor, row->minor);
	assert_int_equal(id.gpu_instance, row->gi);
	assert_int_equal(id.is_replica, row->is_replica);
	assert_int_equal(id.is_hami, row->is_hami);
	assert_int_equal(id.is_odd, row->is_odd);
	free(copy);
}

static void every_known_form_is_taken_apart(void **state)
{
	static const struct row rows[] = {
		{"GPU-" UUID, DEVICE_ID_GPU, "GPU-" UUID, -1, -1, false, false},
		{"GPU-" UUID "::0", DEVICE_ID_GPU, "GPU-" UUID, -1, -1, true, false},
		{"GPU-" UUID "::47", DEVICE_ID_GPU, "GPU-" UUID, -1, -1, true, false},
		{"GPU-" UUID "-3", DEVICE_ID_GPU, "GPU-" UUID, -1, -1, true, true},
		{"MIG-" UUID, DEVICE_ID_MIG, "MIG-" UUID, -1, -1, false, false},
		{"MIG-" UUID "::2", DEVICE_ID_MIG, "MIG-" UUID, -1, -1, true, false},
		{"MIG-GPU-" UUID "/7/0", DEVICE_ID_MIG_OLD, "GPU-" UUID, -1, 7, false, false},
		{"nvidia0", DEVICE_ID_MINOR, NULL, 0, -1, false, false},
		{"nvidia12/gi5", DEVICE_ID_MINOR, NULL, 12, 5, false, false},
		{"nvidia1/vgpu3", DEVICE_ID_MINOR, NULL, 1, -1, true, false},
		{"nvidia1/gi2/vgpu0", DEVICE_ID_MINOR, NULL, 1, 2, true, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check(&rows[i]);
}

static void anything_else_is_unknown_and_names_nothing(void **state)
{
	static const char *const texts[] = {
		"", "::", "::1", "GPU-", "MIG-", "gpu-" UUID, UUID, "GPU-::1",
		"GPU-11ba558d-3437-2335-2fd8-a78c8502f87g", "GPU-g1ba558d-3437-2335-2fd8-a78c8502f87f",
		"GPU-11ba558d-3437-2335-2fd8-a78c8502f87", "MIG-11ba558d-3437-2335-2fd8-a78c8502f87",
		"MIG-GPU-" UUID, "MIG-GPU-" UUID "/1", "MIG-GPU-" UUID "/x/1", "MIG-GPU-" UUID "/1/x",
		"MIG-GPU-" UUID "//", "MIG-GPU-11ba558d/1/2", "nvidia", "nvidia-1", "nvidia1/",
		"nvidia1/x", "nvidia1/gi", "nvidia1/gi1/", "nvidia1/vgpu", "nvidia1/gi1/vgpu1x",
		"nvidia1::2", "all", "0",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct row row = {texts[i], DEVICE_ID_UNKNOWN, NULL, -1, -1};

		check(&row);
	}
}

static void a_whole_uuid_tells_the_device_whatever_follows_it(void **state)
{
	static const char *const tails[] = {"::", "::x", "::-1", "::1::2", "-",	 "-a",
					    "-1::2", "0", "/1/2", " ", "#1"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(tails); i++) {
		char gpu[64], mig[64];

		snprintf(gpu, sizeof(gpu), "GPU-%s%s", UUID, tails[i]);
		snprintf(mig, sizeof(mig), "MIG-%s%s", UUID, tails[i]);
		check(&(struct row){gpu, DEVICE_ID_GPU, "GPU-" UUID, -1, -1, .is_odd = true});
		check(&(struct row){mig, DEVICE_ID_MIG, "MIG-" UUID, -1, -1, .is_odd = true});
	}
	/* HAMi's form is a physical device's only. */
	check(&(struct row){"MIG-" UUID "-3", DEVICE_ID_MIG, "MIG-" UUID, -1, -1,
			    .is_odd = true});
}

static void uuids_are_told_from_what_looks_like_them(void **state)
{
	(void)state;
	assert_true(device_id_is_gpu_uuid(VIEW("GPU-" UUID)));
	assert_false(device_id_is_gpu_uuid(VIEW("MIG-" UUID)));
	assert_false(device_id_is_gpu_uuid(VIEW("GPU-" UUID "::1")));
	assert_true(device_id_is_mig_uuid(VIEW("MIG-" UUID)));
	assert_true(device_id_is_mig_uuid(VIEW("MIG-GPU-" UUID "/1/2")));
	assert_false(device_id_is_mig_uuid(VIEW("GPU-" UUID)));
	assert_false(device_id_is_mig_uuid(VIEW("MIG-" UUID "#1")));
	assert_false(device_id_is_mig_uuid(VIEW("MIG-" UUID "::1")));
	assert_false(device_id_is_mig_uuid(VIEW("MIG-GPU-" UUID)));
}

/* RFC 9562: dashes and hexadecimal digits of either case, each in its place. */
static void each_character_of_a_uuid_is_looked_at(void **state)
{
	static const char form[] = "GPU-hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh";
	char text[] = "GPU-" UUID;
	(void)state;
	for (size_t at = 4; at < sizeof(form) - 1; at++) {
		const char before = text[at];
		for (int c = 0; c < 256; c++) {
			text[at] = (char)c;
			assert_int_equal(device_id_is_gpu_uuid((struct view){text, sizeof(text) - 1}),
					 form[at] == '-' ? c == '-' : isxdigit(c) != 0);
		}
		text[at] = before;
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(every_known_form_is_taken_apart),
	cmocka_unit_test(anything_else_is_unknown_and_names_nothing),
	cmocka_unit_test(a_whole_uuid_tells_the_device_whatever_follows_it),
	cmocka_unit_test(uuids_are_told_from_what_looks_like_them),
	cmocka_unit_test(each_character_of_a_uuid_is_looked_at),
};

TEST_MAIN(tests)
