/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Both counts only rise, modulo 2^32, and an error's place is its number modulo the size. The release of
 * a count makes visible what was done before: an error is there when n_put says so, and its place is free
 * when n_taken says so.
 */

#include "agent/nvml_ring.h"

#include <assert.h>
#include <sys/mman.h>

static_assert((UINT32_MAX % LIMIT_NVML_EVENTS) + 1 == LIMIT_NVML_EVENTS, "places go on at 2^32");

struct nvml_ring *nvml_ring_new(void)
{
	struct nvml_ring *ring = mmap(NULL, sizeof(*ring), PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return ring == MAP_FAILED ? NULL : ring;
}

void nvml_ring_free(struct nvml_ring *ring)
{
	if (ring)
		munmap(ring, sizeof(*ring));
}

bool nvml_ring_has_room(const struct nvml_ring *ring)
{
	const uint32_t n_put = atomic_load_explicit(&ring->n_put, memory_order_relaxed);
	return n_put - atomic_load_explicit(&ring->n_taken, memory_order_acquire) < LIMIT_NVML_EVENTS;
}

void nvml_ring_put(struct nvml_ring *ring, const struct nvml_event *event)
{
	const uint32_t n_put = atomic_load_explicit(&ring->n_put, memory_order_relaxed);
	ring->events[n_put % LIMIT_NVML_EVENTS] = *event;
	atomic_store_explicit(&ring->n_put, n_put + 1, memory_order_release);
}

void nvml_ring_take(struct nvml_ring *ring, struct nvml_ring_reader *reader,
		    struct nvml_ring_taken *ret_taken)
{
	const uint32_t n_put = atomic_load_explicit(&ring->n_put, memory_order_acquire);
	const uint32_t n_new = n_put - reader->n_taken;
	const uint32_t n = n_new <= LIMIT_NVML_EVENTS ? n_new : 0;
	for (uint32_t i = 0; i < n; i++)
		ret_taken->raw[i] = ring->events[(reader->n_taken + i) % LIMIT_NVML_EVENTS];
	/* They are all copied by then: what the other process does from now on changes nothing of them. */
	reader->n_taken = n_put;
	atomic_store_explicit(&ring->n_taken, n_put, memory_order_release);
	ret_taken->n = 0;
	for (uint32_t i = 0; i < n; i++)
		ret_taken->n += nvml_event_describe(&ret_taken->raw[i], ret_taken->n,
						    &ret_taken->items[ret_taken->n]);
}
