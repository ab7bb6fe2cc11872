/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * own_folder - an empty working directory for a test program, so that its files and sockets can
 * have short relative names though others run at the same time. For TEST_MAIN_WITH().
 *
 * Threads: the main thread of a test program.
 */

/* Makes the folder and goes there. 0 or -1. */
int own_folder_enter(void **state);
/* Goes back and removes the folder with all that is directly in it. 0 or -1. */
int own_folder_leave(void **state);
