/* SPDX-License-Identifier: Apache-2.0 */

/*
 * liburcu's memb flavour. Its readers pay a compiler barrier, for the writer makes the kernel run
 * a barrier on the cores of all our threads (membarrier(2); without it liburcu falls back to real
 * barriers in readers). The qsbr flavour would be free for readers, but each would have to report
 * when it is quiescent and go offline before it waits in its event loop; forgetting one such place
 * would stop the writer for good, and nothing would tell.
 *
 * The writer waits for the readers by itself (synchronize_rcu) instead of leaving that to a
 * call_rcu thread: publications are rare, sections short, and so there stay two threads, and an
 * object is freed by the thread that made it.
 *
 * liburcu 0.13 orders memory with assembly, which the thread sanitizer does not see: it is told
 * that a free happens after the sections that ended before it. The pointer is changed by the
 * compiler's atomics, which it does see (_Atomic would keep clang 14 from initialising with {0}).
 */

#include "base/snapshot.h"

#include <urcu/urcu-memb.h>

#if defined(__SANITIZE_THREAD__)
#define WITH_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WITH_TSAN 1
#endif
#endif

#ifdef WITH_TSAN
void __tsan_acquire(void *address);
void __tsan_release(void *address);
/* A place that stands for "all read sections that have ended". */
static char ended_sections;
#define SECTION_ENDED() __tsan_release(&ended_sections)
#define SECTIONS_HAVE_ENDED() __tsan_acquire(&ended_sections)
#else
#define SECTION_ENDED() ((void)0)
#define SECTIONS_HAVE_ENDED() ((void)0)
#endif

void snapshot_publish(struct snapshot *snapshot, void *take_object, snapshot_free_fn free_object)
{
	snapshot_free_fn free_old = snapshot->free;
	snapshot->free = free_object;
	void *old = __atomic_exchange_n(&snapshot->object, take_object, __ATOMIC_ACQ_REL);
	if (!old)
		return;
	urcu_memb_synchronize_rcu();
	SECTIONS_HAVE_ENDED();
	if (free_old)
		free_old(old);
}

void snapshot_deinit(struct snapshot *snapshot)
{
	snapshot_publish(snapshot, NULL, NULL);
}

void snapshot_reader_register(void)
{
	urcu_memb_register_thread();
}

void snapshot_reader_unregister(void)
{
	urcu_memb_unregister_thread();
}

void snapshot_read_begin(void)
{
	urcu_memb_read_lock();
}

void snapshot_read_end(void)
{
	SECTION_ENDED();
	urcu_memb_read_unlock();
}

const void *snapshot_get(const struct snapshot *snapshot)
{
	return __atomic_load_n(&snapshot->object, __ATOMIC_ACQUIRE);
}
