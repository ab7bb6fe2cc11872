/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * uuid_prefix - shortens UUIDs as git shortens hashes, and finds the device that the beginning of a
 * UUID means.
 *
 * Threads: owner.
 * Limits:  UUID_PREFIX_MAX_DEVICES are known.
 */

#include "base/arena.h"
#include "model/attribution.h"

#define UUID_PREFIX_NAME_SIZE 41u /* of an object's name, and a NUL */
#define UUID_PREFIX_MIN 12u       /* characters, "GPU-" among them */
#define UUID_PREFIX_MAX_DEVICES 1000000u

/* The UUIDs of all devices that are known. */
struct uuid_prefix {
	struct arena arena;
	struct view *names; /* in lower case */
	size_t n_names;
	size_t room;
	size_t n_sorted; /* of the names, the first ones: in order, each once */
};

/* No UUIDs; allocates nothing. */
void uuid_prefix_init(struct uuid_prefix *known);
/* Accepts a zeroed object. For CLEANUP. */
void uuid_prefix_deinit(struct uuid_prefix *known);
/* Adds a UUID, which may be known already. Fails with ERROR_LIMIT or ERROR_NO_MEMORY. */
MUST_USE int uuid_prefix_add(struct uuid_prefix *known, struct view uuid, struct error *err);
/*
 * How many characters of a UUID begin no other that is known: at least UUID_PREFIX_MIN, or all that
 * it has.
 */
size_t uuid_prefix_len(struct uuid_prefix *known, struct view uuid);

/*
 * Does the text begin the UUID of the device or of one of its partitions? Case does not matter, and
 * "GPU-" and "MIG-" may be left out.
 */
bool uuid_prefix_fits(struct view text, const struct attribution *device);
/* True for the whole UUID of a device: the name of its object. */
bool uuid_prefix_object_name(struct view text, char ret[static UUID_PREFIX_NAME_SIZE]);
