/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/nvml_events.h"

static const struct nvml_known_device *find_known(const struct nvml_events *events,
						  const struct nvml_abi_device *handle)
{
	for (size_t i = 0; i < LIMIT_REPORT_DEVICES; i++)
		if (events->known[i].handle == handle)
			return &events->known[i];
	return NULL;
}

/* What the waiter has called is waited for here too, and so announced as if it was called here. */
static int ask_waiter(struct nvml_events *events)
{
	bool has_new_state;
	nvml_call_begin(events->library->call, NVML_LIBRARY_NUMBER_event_wait);
	int code = nvml_call_end(events->library->call,
				 nvml_waiter_ask(events->waiter, &has_new_state));
	events->has_new_state |= has_new_state;
	return code;
}

static int next_raw(struct nvml_events *events, struct nvml_abi_event *ret_raw)
{
	*ret_raw = (struct nvml_abi_event){.gpu_instance = NVML_ABI_NO_INSTANCE,
					   .compute_instance = NVML_ABI_NO_INSTANCE};
	return NVML_LIBRARY_CALL(events->library, event_wait, events->set, ret_raw, 0);
}

/* False, with the code that says why, when there is no XID error. */
static bool take_event(struct nvml_events *events, struct nvml_event *ret_event, int *ret_code)
{
	struct nvml_abi_event raw;
	while ((*ret_code = next_raw(events, &raw)) == NVML_ABI_SUCCESS) {
		const struct nvml_known_device *known = find_known(events, raw.device);
		events->has_new_state |= (raw.type & NVML_ABI_STATE_EVENTS) != 0;
		if (raw.type != NVML_ABI_EVENT_XID || !known)
			continue;
		*ret_event = nvml_event_of(&raw, known->uuid);
		return true;
	}
	return false;
}

/* Nobody is in the driver any more, or this does not return. */
static void leave_events(struct nvml_events *events)
{
	if (!events->waiter)
		return;
	events->is_waited_for = false;
	nvml_call_begin(events->library->call, NVML_LIBRARY_NUMBER_event_wait);
	nvml_waiter_leave(events->waiter);
	(void)nvml_call_end(events->library->call, NVML_ABI_SUCCESS);
	(void)ask_waiter(events);
}

void nvml_events_open(struct nvml_events *events, struct device_reader *reader)
{
	events->n_unwatched = 0;
	if (events->failure)
		device_reader_note(reader, "XID errors may be missing: %s",
				   nvml_library_meaning(events->library, events->failure));
	events->has_missed = events->failure != NVML_ABI_SUCCESS;
	events->failure = NVML_ABI_SUCCESS;
	if (events->set)
		return;
	int code = NVML_ABI_FUNCTION_NOT_FOUND;
	if (events->library->event_wait)
		code = NVML_LIBRARY_CALL(events->library, event_set_create, &events->set);
	events->watch++;
	if (code != NVML_ABI_SUCCESS)
		device_reader_note(reader, "XID errors are not watched: %s",
				   nvml_library_meaning(events->library, code));
}

void nvml_events_await(struct nvml_events *events)
{
	if (!events->waiter || !events->set || events->is_waited_for)
		return;
	nvml_waiter_watch(events->waiter, events->library->event_wait, events->set);
	events->is_waited_for = true;
}

/* Older drivers do not know the other types, and refuse all of what they do not know. */
static int register_device(const struct nvml_events *events, const struct nvml_known_device *known)
{
	const struct nvml_library *library = events->library;
	unsigned long long types = 0;
	int code = NVML_LIBRARY_CALL(library, supported_events, known->handle, &types);
	types &= NVML_ABI_STATE_EVENTS;
	if (code == NVML_ABI_SUCCESS && types != 0 &&
	    NVML_LIBRARY_CALL(library, register_events, known->handle, NVML_ABI_EVENT_XID | types,
			      events->set) == NVML_ABI_SUCCESS)
		return NVML_ABI_SUCCESS;
	return NVML_LIBRARY_CALL(library, register_events, known->handle, NVML_ABI_EVENT_XID,
				 events->set);
}

static void watch_device(struct nvml_events *events, struct device_reader *reader,
			 struct nvml_known_device *known)
{
	if (!events->set || known->has_events)
		return;
	int code = register_device(events, known);
	known->has_events = code == NVML_ABI_SUCCESS;
	events->watch++;
	if (!known->has_events)
		device_reader_note(reader, "%s: XID errors are not watched: %s", known->uuid,
				   nvml_library_meaning(events->library, code));
}

void nvml_events_watch(struct nvml_events *events, struct device_reader *reader,
		       struct nvml_known_device *known)
{
	if (events->waiter)
		nvml_waiter_name(events->waiter, (unsigned)(known - events->known), known->handle,
				 known->uuid);
	watch_device(events, reader, known);
	events->n_unwatched += !known->has_events;
}

/* The set is of no use any more; the next reading says so and makes a new one. */
static void drop_events(struct nvml_events *events, int code)
{
	(void)NVML_LIBRARY_CALL(events->library, event_set_free, events->set);
	events->set = NULL;
	events->is_waited_for = false;
	events->failure = code;
	for (size_t i = 0; i < LIMIT_REPORT_DEVICES; i++)
		events->known[i].has_events = false;
}

bool nvml_events_next(struct nvml_events *events, struct nvml_event *ret_event)
{
	int code;
	if (!events->set)
		return false;
	if (events->waiter)
		code = ask_waiter(events);
	else if (take_event(events, ret_event, &code))
		return true;
	if (code != NVML_ABI_TIMEOUT)
		drop_events(events, code);
	return false;
}

void nvml_events_close(struct nvml_events *events)
{
	leave_events(events);
	if (events->set)
		(void)NVML_LIBRARY_CALL(events->library, event_set_free, events->set);
	events->set = NULL;
}
