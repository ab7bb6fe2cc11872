/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core_dump.h"

#include <sys/prctl.h>
#include <sys/resource.h>

void core_dump_forbid(void)
{
	const struct rlimit none = {0, 0};
	(void)setrlimit(RLIMIT_CORE, &none);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}
