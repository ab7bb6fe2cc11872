/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A file has a line for each hierarchy, "4:memory:/PATH" with version 1, and "0::/PATH" for the one
 * of version 2. The path to a pod's container depends on who made it:
 *
 *	kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podUID.slice/cri-containerd-ID.scope
 *		the systemd driver, UIDs with '_'; also crio-ID.scope and docker-ID.scope, and with
 *		the kubelet below another slice "kubelet-kubepods-burstable-podUID.slice"
 *	kubepods/burstable/podUID/ID
 *		the cgroupfs driver, with CRI-O podUID/crio-ID
 *	system.slice/containerd.service/kubepods-burstable-podUID.slice:cri-containerd:ID
 *		a kubelet that names for systemd, a runtime that does not
 *
 * A guaranteed pod's path has no level of service in it. What is behind is the container's own
 * business: it may make groups below its own and give them any name, those of other pods too.
 * So the first pod of a path counts, which no container can name. Below user.slice the host's users
 * may do the same: nothing there counts.
 *
 * Seen from inside a cgroup namespace, as a container has it with version 2, a path starts at the
 * reader's own group: "/../../podUID/ID" is a pod beside the reader's. Only root makes groups so
 * far up, so that a pod directly behind such a start, or behind a level of service there, counts as
 * one below "kubepods".
 *
 * A runtime moves its processes in all hierarchies alike. Lines that name no pod are hierarchies
 * that it does not use; lines that name different ones are somebody's game, and tell nothing.
 */

#include "agent/cgroup.h"

#include <string.h>

#define UUID_LENGTH (CGROUP_POD_UID_SIZE - 1)
#define HASH_LENGTH 32u
#define ID_LENGTH (CGROUP_CONTAINER_ID_SIZE - 1)

static const struct view services[] = {VIEW_INIT("burstable"), VIEW_INIT("besteffort")};

static const struct view runtimes[] = {
	VIEW_INIT("cri-containerd"),
	VIEW_INIT("crio"),
	VIEW_INIT("docker"),
};

/* What a component of a path may be, by those before it. */
enum place {
	PLACE_ELSEWHERE,
	PLACE_ABOVE,   /* a start of "..": what follows is beside the reader or above it */
	PLACE_PODS,    /* below kubepods: pods, or a level of service */
	PLACE_SERVICE, /* below a level of service: pods */
};

static bool is_service(struct view name)
{
	for (size_t i = 0; i < ARRAY_SIZE(services); i++)
		if (view_equal(name, services[i]))
			return true;
	return false;
}

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_all_hex(struct view text)
{
	for (size_t i = 0; i < text.len; i++)
		if (!is_hex(text.ptr[i]))
			return false;
	return true;
}

static bool is_uuid(struct view text, char dash)
{
	if (text.len != UUID_LENGTH)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		bool wants_dash = i == 8 || i == 13 || i == 18 || i == 23;
		if (wants_dash ? text.ptr[i] != dash : !is_hex(text.ptr[i]))
			return false;
	}
	return true;
}

/* Takes a UID that is written with this character for '-'. False: it is none. */
static bool take_uid(struct view text, char dash, struct cgroup_owner *owner)
{
	bool is_hash = text.len == HASH_LENGTH && is_all_hex(text);
	if (!is_hash && !is_uuid(text, dash))
		return false;
	for (size_t i = 0; i < text.len; i++)
		owner->pod_uid[i] = text.ptr[i] == dash ? '-' : text.ptr[i];
	owner->pod_uid[text.len] = '\0';
	return true;
}

static void take_id(struct view text, struct cgroup_owner *owner)
{
	if (text.len != ID_LENGTH || !is_all_hex(text))
		return;
	memcpy(owner->container_id, text.ptr, text.len);
	owner->container_id[text.len] = '\0';
}

static bool is_runtime(struct view name)
{
	for (size_t i = 0; i < ARRAY_SIZE(runtimes); i++)
		if (view_equal(name, runtimes[i]))
			return true;
	return false;
}

/* The group of a container: "ID", "RUNTIME-ID" or "RUNTIME-ID.scope". */
static void take_container(struct view name, struct cgroup_owner *owner)
{
	const struct view scope = VIEW(".scope");
	if (view_ends_with(name, scope))
		name.len -= scope.len;
	for (size_t i = 0; i < ARRAY_SIZE(runtimes); i++) {
		size_t len = runtimes[i].len;
		if (view_starts_with(name, runtimes[i]) && name.len > len && name.ptr[len] == '-') {
			take_id(view_from_offset(name, len + 1), owner);
			return;
		}
	}
	take_id(name, owner);
}

/* Whether it is "kubepods", "kubepods-burstable" or the like, also behind "PARENT-". */
static bool is_slice_of_pods(struct view name)
{
	const struct view pods = VIEW("kubepods");
	for (size_t i = 0; i < ARRAY_SIZE(services); i++) {
		size_t tail = services[i].len + 1;
		if (name.len > tail && name.ptr[name.len - tail] == '-' &&
		    view_ends_with(name, services[i])) {
			name.len -= tail;
			break;
		}
	}
	return view_equal(name, pods) || view_ends_with(name, VIEW("-kubepods"));
}

/* "kubepods-burstable-podUID.slice", perhaps with ":RUNTIME:ID" behind. */
static bool take_slice(struct view name, struct cgroup_owner *owner)
{
	const struct view pod = VIEW("-pod"), end = VIEW(".slice");
	struct view slice, rest, runtime, id;
	bool has_rest = view_cut(name, VIEW(":"), &slice, &rest);
	if (!view_ends_with(slice, end))
		return false;
	slice.len -= end.len;
	/* A UID has no '-' here, so the last one is that before "pod". */
	size_t dash = slice.len;
	while (dash > 0 && slice.ptr[dash - 1] != '-')
		dash--;
	if (dash == 0 || !view_starts_with(view_from_offset(slice, dash - 1), pod))
		return false;
	if (!is_slice_of_pods((struct view){slice.ptr, dash - 1}) ||
	    !take_uid(view_from_offset(slice, dash - 1 + pod.len), '_', owner))
		return false;
	if (has_rest && view_cut(rest, VIEW(":"), &runtime, &id) && is_runtime(runtime))
		take_id(id, owner);
	return true;
}

/* A group that is a pod's, at this place. */
static bool take_pod(struct view name, enum place place, struct cgroup_owner *owner)
{
	const struct view pod = VIEW("pod");
	if (take_slice(name, owner))
		return true;
	return place != PLACE_ELSEWHERE && view_starts_with(name, pod) &&
	       take_uid(view_from_offset(name, pod.len), '-', owner);
}

static enum place place_behind(enum place place, struct view name, bool is_first)
{
	if (view_equal(name, VIEW("..")))
		return is_first || place == PLACE_ABOVE ? PLACE_ABOVE : PLACE_ELSEWHERE;
	if (view_equal(name, VIEW("kubepods")))
		return PLACE_PODS;
	if ((place == PLACE_PODS || place == PLACE_ABOVE) && is_service(name))
		return PLACE_SERVICE;
	return PLACE_ELSEWHERE;
}

/* The first pod of a path, and the container directly below it. */
static bool find_in_path(struct view path, struct cgroup_owner *owner)
{
	enum place place = PLACE_ELSEWHERE;
	struct view name;
	for (bool is_first = true; path.len > 0; is_first = false) {
		view_cut(path, VIEW("/"), &name, &path);
		if (view_equal(name, VIEW("user.slice")))
			return false;
		if (take_pod(name, place, owner)) {
			view_cut(path, VIEW("/"), &name, &path);
			if (!owner->container_id[0])
				take_container(name, owner);
			return true;
		}
		place = place_behind(place, name, is_first);
	}
	return false;
}

/* "NUMBER:CONTROLLERS:/PATH"; a path may have colons too. */
static bool find_in_line(struct view line, struct cgroup_owner *owner)
{
	const struct view deleted = VIEW(" (deleted)");
	struct view number, controllers, path;
	if (!view_cut(line, VIEW(":"), &number, &path) ||
	    !view_cut(path, VIEW(":"), &controllers, &path) || !view_starts_with(path, VIEW("/")))
		return false;
	if (view_ends_with(path, deleted))
		path.len -= deleted.len;
	return find_in_path(view_from_offset(path, 1), owner);
}

/* Adds what another line says. False: it contradicts. */
static bool agree(struct cgroup_owner *owner, const struct cgroup_owner *other)
{
	if (strcmp(owner->pod_uid, other->pod_uid) != 0)
		return false;
	if (strcmp(owner->container_id, other->container_id) != 0)
		owner->container_id[0] = '\0';
	return true;
}

bool cgroup_find_owner(struct view file, struct cgroup_owner *ret_owner)
{
	struct cgroup_owner found = {.pod_uid = ""};
	struct view line;
	*ret_owner = found;
	while (file.len > 0) {
		struct cgroup_owner owner = {.pod_uid = ""};
		view_cut(file, VIEW("\n"), &line, &file);
		if (!find_in_line(line, &owner))
			continue;
		if (!found.pod_uid[0])
			found = owner;
		else if (!agree(&found, &owner))
			return false;
	}
	*ret_owner = found;
	return found.pod_uid[0] != '\0';
}
