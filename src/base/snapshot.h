/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * snapshot - shows an object that never changes again to other threads. The writer replaces it as
 * a whole; readers see the old one or the new one, wait for nobody, and take no lock.
 *
 * Threads: publish and clear: one writer. Everything else: readers that have registered.
 * Limits:  a publication waits until each reader has left the section it was in: sections must be
 *          short and must not wait for anything, least of all for the writer.
 */

/* Frees an object; NULL where it need not be. */
typedef void (*snapshot_free_fn)(void *object);

/* To be embedded. All zero is a snapshot of nothing. */
struct snapshot {
	void *object;          /* owned; changed atomically */
	snapshot_free_fn free; /* of object; the writer's */
};

/*
 * Shows take_object (NULL: nothing) from now on; frees the object it replaces, when no reader can
 * see that one any more, by the free_object given with it. Must not be called in a read section.
 */
void snapshot_publish(struct snapshot *snapshot, void *take_object, snapshot_free_fn free_object);
/* Publishes nothing. For the end of the program and CLEANUP. */
void snapshot_deinit(struct snapshot *snapshot);

/* A thread's first and last call, outside of read sections. */
void snapshot_reader_register(void);
void snapshot_reader_unregister(void);

/* What snapshot_get() returns is valid until the matching end. Sections nest. */
void snapshot_read_begin(void);
void snapshot_read_end(void);
/* The object now shown, or NULL. Only in a read section, and in the writer. */
const void *snapshot_get(const struct snapshot *snapshot);
