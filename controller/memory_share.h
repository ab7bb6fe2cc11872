/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * memory_share - what one node holds of a memory account (controller/memory_account.h). It lives as
 * long as something is charged to it, also when the node's record is gone.
 *
 * Threads: one charges; any may release.
 */

#include "base/error.h"
#include "controller/memory_account.h"

struct memory_share;

/* Nothing is charged. One reference, the caller's; it has one to the account. NULL with
 * ERROR_NO_MEMORY. */
MUST_USE struct memory_share *memory_share_new(struct memory_account *account, struct error *err);
/* Gives up the caller's reference. Accepts NULL. */
void memory_share_unref(struct memory_share *share);
/* Charges so many bytes. False: the account has no room for them, nothing was charged. */
bool memory_share_charge(struct memory_share *share, size_t size);
/*
 * The same for what replaces an earlier charge of `replaced` bytes, which is released soon, or was. See
 * memory_account_replace().
 */
bool memory_share_replace(struct memory_share *share, size_t replaced, size_t size);
/* They are free again; once for each charge, with its size. */
void memory_share_release(struct memory_share *share, size_t size);
/* What is charged. */
size_t memory_share_held(const struct memory_share *share);
