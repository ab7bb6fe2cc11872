/* SPDX-License-Identifier: Apache-2.0 */
#include "nvml_call.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/nvml_abi.h"
#include "nvml_file.h"
#include "nvml_names.h"

/*
 * How it works: the device file is checked with one stat() per call. If it is another file or has
 * other times than the one last looked at, it is read and checked as a whole. A good file replaces
 * the old document in one step under the lock. A bad file is named once on standard error, and the
 * old document stays. So several programs that share a file see a change at their next call, with
 * no messages between them.
 */

/* Larger than any test needs, small enough to notice a wrong path. */
enum { FILE_SIZE_LIMIT = 4 * 1024 * 1024 };

struct nvml_handle {
	struct nvml_handle *next;
	enum nvml_kind kind;
	char uuid[NVML_ABI_UUID_SIZE]; /* of the device, or of the MIG device */
	unsigned gpu_instance;	       /* instances only */
	unsigned compute_instance;     /* compute instances only */
	int64_t attachment;	       /* of the device, when the handle was given out */
};

static struct {
	pthread_mutex_t lock;
	unsigned starts;
	json_t *world;	     /* last good document, or NULL */
	struct stat seen;    /* of the file last looked at, good or not */
	bool has_seen;
	bool is_still; /* nothing changes any more: the file is not looked at again */
	struct nvml_handle *handles;
} library = {.lock = PTHREAD_MUTEX_INITIALIZER};

__attribute__((destructor)) static void unload(void)
{
	while (library.handles) {
		struct nvml_handle *next = library.handles->next;

		free(library.handles);
		library.handles = next;
	}
	json_decref(library.world);
	library.world = NULL;
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       same_time(&a->st_mtim, &b->st_mtim) && same_time(&a->st_ctim, &b->st_ctim);
}

/* Reads up to size bytes; the number read, or -1. */
static ssize_t read_file(int fd, char *buffer, size_t size)
{
	size_t length = 0;

	while (length < size) {
		ssize_t n = read(fd, buffer + length, size - length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		length += (size_t)n;
	}
	return (ssize_t)length;
}

/* The checked document in an open file; NULL with a reason. */
static json_t *load(int fd, size_t file_size, char *ret_reason, size_t reason_size)
{
	json_t *world = NULL;
	char *buffer = file_size < FILE_SIZE_LIMIT ? malloc(file_size + 1) : NULL;
	ssize_t length = buffer ? read_file(fd, buffer, file_size + 1) : -1;

	if (length < 0)
		snprintf(ret_reason, reason_size, "cannot be read, or is too large");
	else
		world = nvml_file_parse(buffer, (size_t)length, ret_reason, reason_size);
	free(buffer);
	return world;
}

static void reload(const char *path, int fd, const struct stat *now)
{
	char reason[320];
	json_t *world = load(fd, (size_t)now->st_size, reason, sizeof(reason));

	library.seen = *now;
	library.has_seen = true;
	if (!world) {
		fprintf(stderr, "stand-in NVML: %s: %s (the last good state stays)\n", path,
			reason);
		return;
	}
	json_decref(library.world);
	library.world = world;
	library.is_still = getenv("FAKE_NVML_STILL") != NULL;
}

/* Takes over the file if it is not the one last looked at. A file that is gone changes nothing. */
static void refresh(void)
{
	const char *path = library.is_still ? NULL : getenv("FAKE_NVML_FILE");
	struct stat now;

	if (!path || stat(path, &now) < 0 || (library.has_seen && same_file(&now, &library.seen)))
		return;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (fstat(fd, &now) == 0)
		reload(path, fd, &now);
	close(fd);
}

/* What the owner has under this key for the function, or for all. */
static const json_t *entry(const json_t *owner, const char *key, const char *symbol)
{
	const json_t *entries = json_object_get(owner, key);
	const json_t *own = json_object_get(entries, symbol);

	return own ? own : json_object_get(entries, "*");
}

static const json_t *injection(const json_t *owner, const char *symbol)
{
	return entry(owner, "errors", symbol);
}

/* For how long the call hangs, as nvml_names_hang says; 0: it does not. */
static int64_t hang_of(const struct nvml_target *target)
{
	const json_t *owners[] = {target->mig, target->device, target->world};

	for (size_t i = 0; i < sizeof(owners) / sizeof(owners[0]); i++) {
		const json_t *until = entry(owners[i], "hangs", target->symbol);

		if (until)
			return nvml_names_number(nvml_names_hang, json_string_value(until), 0);
	}
	return 0;
}

/* Waits outside of the lock, once or without end. */
static void hang(int64_t how)
{
	const struct timespec step = {.tv_nsec = 5000000};

	pthread_mutex_unlock(&library.lock);
	do
		nanosleep(&step, NULL);
	while (how == NVML_NAMES_FOREVER);
	pthread_mutex_lock(&library.lock);
}

/* What finds and names a device, which one that requires a reset still answers. */
static bool is_naming(const char *symbol)
{
	static const char find[] = "nvmlDeviceGetHandleBy";

	return strncmp(symbol, find, sizeof(find) - 1) == 0 ||
	       strcmp(symbol, "nvmlDeviceGetUUID") == 0;
}

/* What the state of the device makes its calls answer. */
static int state_code(const struct nvml_target *target)
{
	if (nvml_file_number(target->device, "lost", 0))
		return NVML_ABI_GPU_IS_LOST;
	if (nvml_file_number(target->device, "resetRequired", 0) && !is_naming(target->symbol))
		return NVML_ABI_RESET_REQUIRED;
	return NVML_ABI_SUCCESS;
}

int nvml_call_injected(const struct nvml_target *target)
{
	const json_t *code = injection(target->mig, target->symbol);

	if (!code)
		code = injection(target->device, target->symbol);
	if (!code && state_code(target) != NVML_ABI_SUCCESS)
		return state_code(target);
	if (!code)
		code = injection(target->world, target->symbol);
	return (int)json_integer_value(code);
}

static bool has_uuid(const json_t *object, const char *uuid)
{
	return strcmp(nvml_file_text(object, "uuid"), uuid) == 0;
}

static bool find_mig(struct nvml_target *target, const json_t *device, const char *uuid)
{
	const json_t *list = json_object_get(device, "migDevices");

	for (size_t i = 0; i < json_array_size(list); i++) {
		if (!has_uuid(json_array_get(list, i), uuid))
			continue;
		target->mig = json_array_get(list, i);
		target->mig_index = i;
		return true;
	}
	return false;
}

int nvml_call_find(struct nvml_target *target, const char *uuid)
{
	const json_t *list = json_object_get(target->world, "devices");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *device = json_array_get(list, i);

		if (!has_uuid(device, uuid) && !find_mig(target, device, uuid))
			continue;
		target->device = device;
		target->device_index = i;
		return NVML_ABI_SUCCESS;
	}
	return NVML_ABI_NOT_FOUND;
}

/* Finds the first MIG device that lies in the instance. */
static int find_instance(struct nvml_target *target, const struct nvml_handle *handle)
{
	const json_t *list = json_object_get(target->device, "migDevices");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *mig = json_array_get(list, i);

		if (nvml_file_instance(mig, "gpuInstanceID") != handle->gpu_instance)
			continue;
		if (handle->kind == NVML_KIND_COMPUTE_INSTANCE &&
		    nvml_file_instance(mig, "computeInstanceID") != handle->compute_instance)
			continue;
		target->mig = mig;
		target->mig_index = i;
		return NVML_ABI_SUCCESS;
	}
	return NVML_ABI_NOT_FOUND;
}

static const struct nvml_handle *known_handle(const void *handle)
{
	for (const struct nvml_handle *h = library.handles; h; h = h->next)
		if (h == handle)
			return h;
	return NULL;
}

static int64_t attachment_of(const struct nvml_target *target)
{
	return nvml_file_number(target->device, "attachment", 0);
}

static int resolve(struct nvml_target *target, unsigned accepts, const void *opaque)
{
	const struct nvml_handle *handle = known_handle(opaque);

	if (!handle)
		return NVML_ABI_INVALID_ARGUMENT;
	if (!(accepts & handle->kind))
		return NVML_ABI_NOT_SUPPORTED;
	if (nvml_call_find(target, handle->uuid) != NVML_ABI_SUCCESS)
		return handle->kind == NVML_KIND_MIG ? NVML_ABI_NOT_FOUND : NVML_ABI_GPU_IS_LOST;
	if (handle->attachment != attachment_of(target))
		return NVML_ABI_GPU_IS_LOST;
	if (handle->kind == NVML_KIND_GPU_INSTANCE || handle->kind == NVML_KIND_COMPUTE_INSTANCE)
		return find_instance(target, handle);
	return NVML_ABI_SUCCESS;
}

static int call_locked(struct nvml_target *target, unsigned accepts, const void *handle)
{
	if (library.starts == 0 && accepts != NVML_KIND_LIBRARY)
		return NVML_ABI_UNINITIALIZED;
	refresh();
	target->world = library.world;
	if (!target->world)
		return NVML_ABI_UNINITIALIZED;
	bool is_about_system = accepts == NVML_KIND_SYSTEM || accepts == NVML_KIND_LIBRARY;
	int code = is_about_system ? 0 : resolve(target, accepts, handle);

	return code ? code : nvml_call_injected(target);
}

int nvml_call(const char *symbol, unsigned accepts, const void *handle, nvml_call_fn query,
	      void *arg)
{
	struct nvml_target target = {.symbol = symbol};

	pthread_mutex_lock(&library.lock);
	int code = call_locked(&target, accepts, handle);

	while (hang_of(&target)) {
		hang(hang_of(&target));
		target = (struct nvml_target){.symbol = symbol};
		code = call_locked(&target, accepts, handle);
	}
	if (code == NVML_ABI_SUCCESS)
		code = query(&target, arg);
	pthread_mutex_unlock(&library.lock);
	return code;
}

int nvml_call_start(const char *symbol)
{
	struct nvml_target target = {.symbol = symbol};
	int code = NVML_ABI_DRIVER_NOT_LOADED;

	pthread_mutex_lock(&library.lock);
	refresh();
	target.world = library.world;
	while (hang_of(&target)) {
		hang(hang_of(&target));
		refresh();
		target.world = library.world;
	}
	if (library.world)
		code = nvml_call_injected(&target);
	if (code == NVML_ABI_SUCCESS)
		library.starts++;
	pthread_mutex_unlock(&library.lock);
	return code;
}

int nvml_call_stop(void)
{
	int code = NVML_ABI_UNINITIALIZED;

	pthread_mutex_lock(&library.lock);
	if (library.starts > 0) {
		library.starts--;
		code = NVML_ABI_SUCCESS;
	}
	pthread_mutex_unlock(&library.lock);
	return code;
}

static bool is_handle(const struct nvml_handle *a, const struct nvml_handle *b)
{
	return a->kind == b->kind && a->attachment == b->attachment &&
	       a->gpu_instance == b->gpu_instance && a->compute_instance == b->compute_instance &&
	       strcmp(a->uuid, b->uuid) == 0;
}

void *nvml_call_handle(const struct nvml_target *target, enum nvml_kind kind)
{
	const json_t *named = kind == NVML_KIND_MIG ? target->mig : target->device;
	struct nvml_handle wanted = {.kind = kind, .attachment = attachment_of(target)};

	snprintf(wanted.uuid, sizeof(wanted.uuid), "%s", nvml_file_text(named, "uuid"));
	if (kind == NVML_KIND_GPU_INSTANCE || kind == NVML_KIND_COMPUTE_INSTANCE)
		wanted.gpu_instance = nvml_file_instance(target->mig, "gpuInstanceID");
	if (kind == NVML_KIND_COMPUTE_INSTANCE)
		wanted.compute_instance = nvml_file_instance(target->mig, "computeInstanceID");
	for (struct nvml_handle *h = library.handles; h; h = h->next)
		if (is_handle(h, &wanted))
			return h;
	struct nvml_handle *handle = malloc(sizeof(*handle));

	if (!handle)
		return NULL;
	*handle = wanted;
	handle->next = library.handles;
	library.handles = handle;
	return handle;
}

int nvml_call_copy(const char *text, char *ret_text, size_t size)
{
	size_t length = strlen(text);

	if (length >= size)
		return NVML_ABI_INSUFFICIENT_SIZE;
	memcpy(ret_text, text, length + 1);
	return NVML_ABI_SUCCESS;
}
