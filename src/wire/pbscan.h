/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * pbscan - walks the fields of one protobuf message that is whole in memory, without a schema and
 * without copying. https://protobuf.dev/programming-guides/encoding/
 *
 * Threads: any; an object belongs to its caller.
 */

#include "base/error.h"
#include "base/view.h"

enum pbscan_wire {
	PBSCAN_VARINT = 0,
	PBSCAN_FIXED64 = 1,
	PBSCAN_BYTES = 2,
	PBSCAN_FIXED32 = 5,
};

struct pbscan {
	struct view rest;
	bool failed;
};

struct pbscan_field {
	uint32_t number;
	enum pbscan_wire wire;
	uint64_t value;    /* VARINT, FIXED32, FIXED64 */
	struct view bytes; /* BYTES: text, bytes or a message, borrowed from the input */
};

/* Before the first field; message is borrowed. Nothing to free. */
void pbscan_init(struct pbscan *scan, struct view message);
/*
 * The next field. False at the end and on malformed input (truncated, field number 0, groups);
 * pbscan_check() tells the two apart.
 */
bool pbscan_next(struct pbscan *scan, struct pbscan_field *ret_field);
/* 0, or -1 with ERROR_REJECTED and `what` when the message was malformed. */
MUST_USE int pbscan_check(const struct pbscan *scan, const char *what, struct error *err);
/*
 * One varint from the front of *bytes, which is advanced. Returns its length in bytes, 0 when more
 * bytes are needed, -1 when malformed (over 10 bytes). For streams.
 */
int pbscan_varint(struct view *bytes, uint64_t *ret_value);
