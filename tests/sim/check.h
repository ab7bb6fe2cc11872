/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * check - what must hold of the simulation itself: a failure is its own fault, never a violation
 * of the code under test, and ends the program at once.
 */

#define check(condition) ((condition) ? (void)0 : check_failed(#condition, __FILE__, __LINE__))

/* Says what failed and in which history, and aborts. */
_Noreturn void check_failed(const char *condition, const char *file, int line);
