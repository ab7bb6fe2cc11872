/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * nvml_fixture - the agent's NVML reader against the stand-in library of tests/fake. A test sets up a
 * device file, reads, changes the file, reads again. The file is replaced by a rename, as its users
 * do it. The build says where the library is (FAKE_NVML).
 *
 * Threads: a test's own.
 */

#include "lib/test_main.h"

#include <stdlib.h>
#include <unistd.h>

#include "agent/nvml.h"
#include "base/limits.h"

#ifndef FAKE_NVML
#define FAKE_NVML "libnvidia-ml.so.1"
#endif

#define GPU_A "GPU-11111111-1111-4111-8111-111111111111"
#define GPU_B "GPU-22222222-2222-4222-8222-222222222222"
#define MIG_1 "MIG-aaaaaaaa-aaaa-5aaa-8aaa-aaaaaaaaaaa1"
#define MIG_2 "MIG-aaaaaaaa-aaaa-5aaa-8aaa-aaaaaaaaaaa2"

#define NODE(devices, rest)                                                     \
	"{\"driverVersion\": \"580.65.06\", \"cudaVersion\": \"13.0\", " rest   \
	" \"devices\": [" devices "]}"

#define DEVICE(uuid, minor, rest)                                                             \
	"{\"uuid\": \"" uuid "\", \"name\": \"NVIDIA A100-SXM4-40GB\", \"minor\": " minor     \
	", \"pciBusID\": \"00000000:3B:0" minor ".0\", \"memoryMiB\": 40960, " rest           \
	" \"computeCapability\": \"8.0\"}"

#define MIG(uuid, profile, gi, memory, rest)                                            \
	"{\"uuid\": \"" uuid "\", \"profile\": \"" profile "\", \"gpuInstanceID\": " gi \
	", " rest " \"computeInstanceID\": 0, \"memoryMiB\": " memory "}"

#define TWO_DEVICES DEVICE(GPU_A, "0", "") ", " DEVICE(GPU_B, "1", "")

#define PROCESSES(list) "\"processes\": [" list "],"
#define XID(sequence, uuid, code)                                   \
	"{\"sequence\": " sequence ", \"uuid\": \"" uuid "\", "     \
	"\"type\": \"XID\", \"code\": " code "}"
#define PLAIN(pid) "{\"pid\": " pid ", \"kind\": \"Compute\"}"
#define RUNNING(pid, instance)                                      \
	"{\"pid\": " pid ", \"kind\": \"Compute\", "              \
	"\"gpuInstanceID\": " instance ", \"computeInstanceID\": 0}"

/* A reader, the file it depends on, and what the last reading gave. */
struct fixture {
	char folder[64];
	char file[96];
	struct nvml *nvml;
	struct arena arena;
	struct nvml_reading reading;
	struct error err;
};

/* Writes a file anew. */
static inline void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* Replaces the device file by a rename. */
static inline void set_world(const struct fixture *f, const char *text)
{
	char next[128];
	snprintf(next, sizeof(next), "%s.next", f->file);
	write_file(next, text);
	assert_int_equal(rename(next, f->file), 0);
}

/* A new reader of this library instead of the last one. */
static inline void open_reader(struct fixture *f, const char *library)
{
	nvml_free(f->nvml);
	assert_int_equal(nvml_new(library, &f->nvml, &f->err), 0);
}

/* Makes the folder of the device file, and a reader; a cmocka setup function. */
static inline int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	assert_non_null(f);
	snprintf(f->folder, sizeof(f->folder), "/tmp/nvml_test.XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	snprintf(f->file, sizeof(f->file), "%s/devices.json", f->folder);
	assert_int_equal(setenv("FAKE_NVML_FILE", f->file, 1), 0);
	arena_init(&f->arena, 16u << 20);
	open_reader(f, FAKE_NVML);
	*state = f;
	return 0;
}

/* Undoes it; a cmocka teardown function. */
static inline int tear_down(void **state)
{
	struct fixture *f = *state;
	nvml_free(f->nvml);
	arena_deinit(&f->arena);
	unlink(f->file);
	rmdir(f->folder);
	free(f);
	return 0;
}

/* By the wall clock, in ms. */
#define FIXTURE_BOOTED_AT 400

/* Reads into the fixture. */
static inline void read_at(struct fixture *f, int64_t wall_now)
{
	arena_reset(&f->arena);
	const struct wall_time now = {wall_now, wall_now - FIXTURE_BOOTED_AT};
	assert_int_equal(nvml_read(f->nvml, now, &f->arena, &f->reading, &f->err), 0);
}

/* Replaces the device file and reads. */
static inline void read_world(struct fixture *f, const char *text)
{
	set_world(f, text);
	read_at(f, 1000);
}

/* The i-th device that was read. */
static inline const struct report_device *device_at(const struct fixture *f, uint32_t i)
{
	assert_true(i < f->reading.devices.count);
	return ARRAY_AT(f->reading.devices, struct report_device, i);
}

/* The text is this one. */
static inline void assert_text(struct view actual, const char *expected)
{
	if (!view_equal(actual, view_from(expected)))
		fail_msg("\"%.*s\" is not \"%s\"", VIEW_ARG(actual), expected);
}

/* The source's message has this part. */
static inline void assert_message_has(const struct fixture *f, const char *part)
{
	if (!strstr(f->reading.source.message.ptr, part))
		fail_msg("\"%s\" is not in \"%s\"", part, f->reading.source.message.ptr);
}

/* The source answered, with as many devices. */
static inline void assert_ok(const struct fixture *f, uint32_t n_devices)
{
	assert_int_equal(f->reading.source.state, REPORT_SOURCE_OK);
	assert_true(f->reading.devices.present);
	assert_int_equal(f->reading.devices.count, n_devices);
}
