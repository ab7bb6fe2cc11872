/* SPDX-License-Identifier: Apache-2.0 */
#include "nvml_file.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "agent/nvml_abi.h"
#include "nvml_names.h"
#include "nvml_profile.h"

/*
 * How it works: one table per kind of object says which keys it may have and what each holds. One
 * walk over document and tables finds everything that a table can say. An unknown key is refused,
 * because in a test's input it is a spelling mistake. The rest (UUIDs occur once, MIG devices need
 * MIG mode, events rise) is checked after the walk.
 */

enum field_kind {
	FIELD_TEXT,
	FIELD_NUMBER, /* whole, not negative */
	FIELD_FLAG,
	FIELD_WORD,   /* one of names */
	FIELD_OBJECT, /* as fields say */
	FIELD_LIST,   /* of objects as fields say */
	FIELD_ERRORS, /* function name -> return code */
	FIELD_HANGS,  /* function name -> for how long */
};

struct field {
	const char *key; /* NULL ends a table */
	enum field_kind kind;
	bool required;
	const struct field *fields;
	const struct nvml_name *names;
};

/* Where a complaint goes, and the path walked so far. */
struct walk {
	char *reason;
	size_t reason_size;
	char path[256];
};

static const struct field ecc_aggregate_fields[] = {
	{"corrected", FIELD_NUMBER, true, NULL, NULL},
	{"uncorrected", FIELD_NUMBER, true, NULL, NULL},
	{0},
};

static const struct field ecc_fields[] = {
	{"current", FIELD_FLAG, true, NULL, NULL},
	{"pending", FIELD_FLAG, false, NULL, NULL},
	{"corrected", FIELD_NUMBER, false, NULL, NULL},
	{"uncorrected", FIELD_NUMBER, false, NULL, NULL},
	{"aggregate", FIELD_OBJECT, false, ecc_aggregate_fields, NULL},
	{0},
};

static const struct field utilization_fields[] = {
	{"gpu", FIELD_NUMBER, true, NULL, NULL},
	{"memory", FIELD_NUMBER, true, NULL, NULL},
	{0},
};

static const struct field remapped_fields[] = {
	{"correctable", FIELD_NUMBER, false, NULL, NULL},
	{"uncorrectable", FIELD_NUMBER, false, NULL, NULL},
	{"pending", FIELD_FLAG, false, NULL, NULL},
	{"failed", FIELD_FLAG, false, NULL, NULL},
	{0},
};

static const struct field retired_fields[] = {
	{"pending", FIELD_FLAG, true, NULL, NULL},
	{0},
};

/* NVLinks, or lanes of PCIe, or its generation. */
static const struct field links_fields[] = {
	{"total", FIELD_NUMBER, true, NULL, NULL},
	{"active", FIELD_NUMBER, true, NULL, NULL},
	{0},
};

static const struct field mig_fields[] = {
	{"current", FIELD_FLAG, true, NULL, NULL},
	{"pending", FIELD_FLAG, false, NULL, NULL},
	{"maxDevices", FIELD_NUMBER, false, NULL, NULL},
	{0},
};

static const struct field engine_fields[] = {
	{"copy", FIELD_NUMBER, false, NULL, NULL},
	{"decoder", FIELD_NUMBER, false, NULL, NULL},
	{"encoder", FIELD_NUMBER, false, NULL, NULL},
	{"jpeg", FIELD_NUMBER, false, NULL, NULL},
	{"ofa", FIELD_NUMBER, false, NULL, NULL},
	{0},
};

static const struct field mig_device_fields[] = {
	{"uuid", FIELD_TEXT, true, NULL, NULL},
	{"profile", FIELD_TEXT, true, NULL, NULL},
	{"gpuInstanceID", FIELD_NUMBER, true, NULL, NULL},
	{"computeInstanceID", FIELD_NUMBER, true, NULL, NULL},
	{"memoryMiB", FIELD_NUMBER, true, NULL, NULL},
	{"memoryUsedMiB", FIELD_NUMBER, false, NULL, NULL},
	{"multiprocessors", FIELD_NUMBER, false, NULL, NULL},
	{"engines", FIELD_OBJECT, false, engine_fields, NULL},
	{"graphicsUtilization", FIELD_NUMBER, false, NULL, NULL},
	{"name", FIELD_TEXT, false, NULL, NULL},
	{"errors", FIELD_ERRORS, false, NULL, NULL},
	{"hangs", FIELD_HANGS, false, NULL, NULL},
	{0},
};

static const struct field process_fields[] = {
	{"pid", FIELD_NUMBER, true, NULL, NULL},
	{"kind", FIELD_WORD, true, NULL, nvml_names_process},
	{"memoryMiB", FIELD_NUMBER, false, NULL, NULL},
	{"gpuInstanceID", FIELD_NUMBER, false, NULL, NULL},
	{"computeInstanceID", FIELD_NUMBER, false, NULL, NULL},
	{0},
};

static const struct field device_fields[] = {
	{"uuid", FIELD_TEXT, true, NULL, NULL},
	{"name", FIELD_TEXT, true, NULL, NULL},
	{"minor", FIELD_NUMBER, true, NULL, NULL},
	{"pciBusID", FIELD_TEXT, true, NULL, NULL},
	{"pciDeviceID", FIELD_NUMBER, false, NULL, NULL},
	{"memoryMiB", FIELD_NUMBER, true, NULL, NULL},
	{"memoryUsedMiB", FIELD_NUMBER, false, NULL, NULL},
	{"serial", FIELD_TEXT, false, NULL, NULL},
	{"computeCapability", FIELD_TEXT, false, NULL, NULL},
	{"computeMode", FIELD_WORD, false, NULL, nvml_names_compute_mode},
	{"brand", FIELD_WORD, false, NULL, nvml_names_brand},
	{"architecture", FIELD_WORD, false, NULL, nvml_names_architecture},
	{"numaNode", FIELD_NUMBER, false, NULL, NULL},
	{"ecc", FIELD_OBJECT, false, ecc_fields, NULL},
	{"utilization", FIELD_OBJECT, false, utilization_fields, NULL},
	{"temperatureC", FIELD_NUMBER, false, NULL, NULL},
	{"powerMilliwatts", FIELD_NUMBER, false, NULL, NULL},
	{"powerLimitMilliwatts", FIELD_NUMBER, false, NULL, NULL},
	{"clocksEventReasons", FIELD_NUMBER, false, NULL, NULL},
	{"remappedRows", FIELD_OBJECT, false, remapped_fields, NULL},
	{"retiredPages", FIELD_OBJECT, false, retired_fields, NULL},
	{"recoveryAction", FIELD_NUMBER, false, NULL, NULL},
	{"nvlinks", FIELD_OBJECT, false, links_fields, NULL},
	{"fabric", FIELD_WORD, false, NULL, nvml_names_fabric},
	{"fabricStatus", FIELD_NUMBER, false, NULL, NULL},
	{"pcieLanes", FIELD_OBJECT, false, links_fields, NULL},
	{"pcieGeneration", FIELD_OBJECT, false, links_fields, NULL},
	{"mig", FIELD_OBJECT, false, mig_fields, NULL},
	{"migDevices", FIELD_LIST, false, mig_device_fields, NULL},
	{"processes", FIELD_LIST, false, process_fields, NULL},
	{"attachment", FIELD_NUMBER, false, NULL, NULL},
	{"eventTypes", FIELD_NUMBER, false, NULL, NULL},
	{"eventTypesTold", FIELD_NUMBER, false, NULL, NULL},
	{"lost", FIELD_FLAG, false, NULL, NULL},
	{"resetRequired", FIELD_FLAG, false, NULL, NULL},
	{"errors", FIELD_ERRORS, false, NULL, NULL},
	{"hangs", FIELD_HANGS, false, NULL, NULL},
	{0},
};

static const struct field event_fields[] = {
	{"sequence", FIELD_NUMBER, true, NULL, NULL},
	{"uuid", FIELD_TEXT, true, NULL, NULL},
	{"type", FIELD_WORD, true, NULL, nvml_names_event},
	{"code", FIELD_NUMBER, false, NULL, NULL},
	{"gpuInstanceID", FIELD_NUMBER, false, NULL, NULL},
	{"computeInstanceID", FIELD_NUMBER, false, NULL, NULL},
	{0},
};

static const struct field world_fields[] = {
	{"driverVersion", FIELD_TEXT, true, NULL, NULL},
	{"nvmlVersion", FIELD_TEXT, false, NULL, NULL},
	{"cudaVersion", FIELD_TEXT, true, NULL, NULL},
	{"devices", FIELD_LIST, true, device_fields, NULL},
	{"events", FIELD_LIST, false, event_fields, NULL},
	{"errors", FIELD_ERRORS, false, NULL, NULL},
	{"hangs", FIELD_HANGS, false, NULL, NULL},
	{0},
};

__attribute__((format(printf, 2, 3))) static bool complain(struct walk *walk,
							   const char *format, ...)
{
	va_list args;
	char what[160];

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	snprintf(walk->reason, walk->reason_size, "%s: %s", walk->path[0] ? walk->path : ".", what);
	return false;
}

static bool check_object(struct walk *walk, json_t *object, const struct field *fields);

static bool check_list(struct walk *walk, json_t *list, const struct field *fields)
{
	size_t i;
	json_t *element;
	size_t length = strlen(walk->path);

	if (!json_is_array(list))
		return complain(walk, "a list is wanted");
	json_array_foreach(list, i, element)
	{
		snprintf(walk->path + length, sizeof(walk->path) - length, "[%zu]", i);
		if (!check_object(walk, element, fields))
			return false;
	}
	walk->path[length] = '\0';
	return true;
}

static bool check_symbol(struct walk *walk, const char *symbol)
{
	return strcmp(symbol, "*") == 0 || strncmp(symbol, "nvml", 4) == 0 ||
	       complain(walk, "\"%s\" is no function of NVML", symbol);
}

static bool check_hangs(struct walk *walk, json_t *hangs)
{
	const char *symbol;
	json_t *until;

	if (!json_is_object(hangs))
		return complain(walk, "an object of function names and words is wanted");
	json_object_foreach(hangs, symbol, until)
	{
		if (!check_symbol(walk, symbol))
			return false;
		if (!nvml_names_has(nvml_names_hang, json_string_value(until)))
			return complain(walk, "%s: an unknown word", symbol);
	}
	return true;
}

static bool check_errors(struct walk *walk, json_t *errors)
{
	const char *symbol;
	json_t *code;

	if (!json_is_object(errors))
		return complain(walk, "an object of function names and return codes is wanted");
	json_object_foreach(errors, symbol, code)
	{
		if (!check_symbol(walk, symbol))
			return false;
		if (!json_is_integer(code))
			return complain(walk, "%s wants a whole number", symbol);
	}
	return true;
}

static bool check_value(struct walk *walk, json_t *value, const struct field *field)
{
	switch (field->kind) {
	case FIELD_TEXT:
		return json_is_string(value) || complain(walk, "a text is wanted");
	case FIELD_NUMBER:
		return (json_is_integer(value) && json_integer_value(value) >= 0) ||
		       complain(walk, "a whole number from 0 up is wanted");
	case FIELD_FLAG:
		return json_is_boolean(value) || complain(walk, "true or false is wanted");
	case FIELD_WORD:
		return nvml_names_has(field->names, json_string_value(value)) ||
		       complain(walk, "an unknown word");
	case FIELD_OBJECT:
		return check_object(walk, value, field->fields);
	case FIELD_LIST:
		return check_list(walk, value, field->fields);
	case FIELD_ERRORS:
		return check_errors(walk, value);
	case FIELD_HANGS:
		return check_hangs(walk, value);
	}
	return complain(walk, "a field of no known kind");
}

static const struct field *field_named(const struct field *fields, const char *key)
{
	for (; fields->key; fields++)
		if (strcmp(fields->key, key) == 0)
			return fields;
	return NULL;
}

static bool check_required(struct walk *walk, json_t *object, const struct field *fields)
{
	for (; fields->key; fields++)
		if (fields->required && !json_object_get(object, fields->key))
			return complain(walk, "\"%s\" is missing", fields->key);
	return true;
}

static bool check_object(struct walk *walk, json_t *object, const struct field *fields)
{
	const char *key;
	json_t *value;
	size_t length = strlen(walk->path);

	if (!json_is_object(object))
		return complain(walk, "an object is wanted");
	json_object_foreach(object, key, value)
	{
		const struct field *field = field_named(fields, key);

		snprintf(walk->path + length, sizeof(walk->path) - length, ".%s", key);
		if (!field)
			return complain(walk, "an unknown key");
		if (!check_value(walk, value, field))
			return false;
	}
	walk->path[length] = '\0';
	return check_required(walk, object, fields);
}

/* Notes a UUID in seen; false if it is too long for NVML's buffers or was there before. */
static bool note_uuid(struct walk *walk, json_t *seen, const json_t *object)
{
	const char *uuid = nvml_file_text(object, "uuid");

	if (strlen(uuid) >= NVML_ABI_UUID_SIZE)
		return complain(walk, "the UUID %.40s... is too long", uuid);
	if (json_object_get(seen, uuid))
		return complain(walk, "the UUID %s occurs twice", uuid);
	json_object_set_new(seen, uuid, json_true());
	return true;
}

static bool check_mig_devices(struct walk *walk, json_t *seen, const json_t *device)
{
	json_t *list = json_object_get(device, "migDevices");
	bool enabled = nvml_file_number(device, "mig.current", 0) != 0;
	struct nvml_profile profile;
	size_t i;
	json_t *mig;

	if (json_array_size(list) > 0 && !enabled)
		return complain(walk, "%s has MIG devices but mig.current is not true",
				nvml_file_text(device, "uuid"));
	json_array_foreach(list, i, mig)
	{
		const char *name = nvml_file_text(mig, "profile");

		if (!note_uuid(walk, seen, mig))
			return false;
		if (!nvml_profile_parse(name, 0, &profile))
			return complain(walk, "\"%s\" is no MIG profile", name);
	}
	return true;
}

static bool check_devices(struct walk *walk, json_t *seen, json_t *devices)
{
	uint32_t parts[3];
	size_t i;
	json_t *device;

	json_array_foreach(devices, i, device)
	{
		const char *bus_id = nvml_file_text(device, "pciBusID");

		if (!note_uuid(walk, seen, device) || !check_mig_devices(walk, seen, device))
			return false;
		if (nvml_file_parse_bus_id(bus_id, parts) < 0)
			return complain(walk, "\"%s\" is no PCI bus ID", bus_id);
	}
	return true;
}

static bool check_events(struct walk *walk, json_t *events)
{
	int64_t last = 0;
	size_t i;
	json_t *event;

	json_array_foreach(events, i, event)
	{
		int64_t sequence = nvml_file_number(event, "sequence", 0);

		if (sequence <= last)
			return complain(walk, "events[%zu].sequence does not rise", i);
		last = sequence;
	}
	return true;
}

static bool check_world(struct walk *walk, json_t *world)
{
	if (!check_object(walk, world, world_fields))
		return false;
	json_t *seen = json_object();
	bool good = seen && check_devices(walk, seen, json_object_get(world, "devices"));

	json_decref(seen);
	return good && check_events(walk, json_object_get(world, "events"));
}

json_t *nvml_file_parse(const char *text, size_t length, char *ret_reason, size_t reason_size)
{
	json_error_t error;
	struct walk walk = {.reason = ret_reason, .reason_size = reason_size};
	json_t *world = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);

	if (!world) {
		snprintf(ret_reason, reason_size, "line %d: %s", error.line, error.text);
		return NULL;
	}
	if (!check_world(&walk, world)) {
		json_decref(world);
		return NULL;
	}
	return world;
}

json_t *nvml_file_at(const json_t *object, const char *path)
{
	for (;;) {
		size_t length = strcspn(path, ".");
		char key[64];

		snprintf(key, sizeof(key), "%.*s", (int)length, path);
		json_t *value = json_object_get(object, key);

		if (!value || path[length] == '\0')
			return value;
		object = value;
		path += length + 1;
	}
}

int64_t nvml_file_number(const json_t *object, const char *path, int64_t absent)
{
	const json_t *value = nvml_file_at(object, path);

	if (!value)
		return absent;
	return json_is_boolean(value) ? json_is_true(value) : json_integer_value(value);
}

uint32_t nvml_file_instance(const json_t *object, const char *path)
{
	return (uint32_t)nvml_file_number(object, path, NVML_ABI_NO_INSTANCE);
}

const char *nvml_file_text(const json_t *object, const char *path)
{
	return json_string_value(nvml_file_at(object, path));
}

int nvml_file_parse_bus_id(const char *text, uint32_t ret_parts[3])
{
	unsigned domain;
	unsigned bus;
	unsigned device;
	int end = 0;

	if (sscanf(text, "%8x:%2x:%2x.0%n", &domain, &bus, &device, &end) != 3 || end == 0 ||
	    text[end] != '\0')
		return -1;
	ret_parts[0] = domain;
	ret_parts[1] = bus;
	ret_parts[2] = device;
	return 0;
}
