/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * listing - the kubelet's List, entry by entry: whose pod each means, for it names pods by name.
 *
 * Threads: any.
 */

#include "join/book.h"
#include "join/ledger.h"

struct listing {
	struct facts *facts; /* what its books are worth has been judged */
	struct book *book;               /* the checkpoint, which knows pods by UID */
	const struct past *past;
	struct ledger *ledger;
};

/*
 * Notes in the ledger who holds what by the List of the input's report, in the book which of its
 * entries the List supports, and in the facts how many of the List's are refused. Adds at most
 * an owner an entry.
 */
void listing_read(struct listing *listing);
