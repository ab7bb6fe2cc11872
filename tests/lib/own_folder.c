/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/own_folder.h"

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[] = "/tmp/own_folder.XXXXXX";

int own_folder_enter(void **state)
{
	(void)state;
	return mkdtemp(folder) ? chdir(folder) : -1;
}

int own_folder_leave(void **state)
{
	(void)state;
	DIR *entries = opendir(".");
	if (!entries)
		return -1;
	for (struct dirent *entry; (entry = readdir(entries));)
		unlink(entry->d_name);
	closedir(entries);
	return chdir("/") == 0 ? rmdir(folder) : -1;
}
