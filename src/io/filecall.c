/* SPDX-License-Identifier: Apache-2.0 */
#include "io/filecall.h"

#include <errno.h>
#include <unistd.h>

void filecall_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

int filecall_fail(const char *path, const char *verb, int os_errno, struct error *err)
{
	enum error_kind kind = ERROR_RETRY;
	if (os_errno == ENOENT || os_errno == ENOTDIR)
		kind = ERROR_NOT_FOUND;
	else if (os_errno == EACCES || os_errno == EPERM)
		kind = ERROR_DENIED;
	return error_set(err, kind, os_errno, "%s %s", verb, path);
}
