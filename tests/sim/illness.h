/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * illness - what ails the devices: what their driver can tell of it, and when it was told. In every
 * second fleet, chosen by its seed, devices fall ill, are reset, and raise XID errors of their MIG
 * devices or many in a row. What is chosen comes from a stream of its own.
 *
 * An illness that the driver cannot tell (it cannot read it here, or MIG hides it) is there all the
 * same. What each reading of a node's driver told is kept, and which reading each report is of: so a
 * status can be compared with what its own report said.
 *
 * Threads: the program's only one.
 * Limits:  what does not fit does not happen, or is not judged.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/view.h"
#include "model/attribution.h"
#include "sim/world.h"

enum illness {
	ILLNESS_LOST,         /* NVML: GPU is lost. It answers nothing else meanwhile */
	ILLNESS_REMAP_FAILED, /* for ever */
	ILLNESS_IMEX,         /* this and the next ones: the recovery action */
	ILLNESS_REBOOT,
	ILLNESS_RESET,
	ILLNESS_DRAIN,
	ILLNESS_DRAIN_P2P,
	ILLNESS_OTHER_ACTION,   /* a number that nobody knows */
	ILLNESS_RESET_REQUIRED, /* NVML: GPU requires reset, to whatever is asked of its condition */
	ILLNESS_REMAP_PENDING,
	ILLNESS_PAGES_PENDING,
	ILLNESS_ECC, /* uncorrected errors since the last reset */
	ILLNESS_N,
};

#define ILLNESS_BIT(illness) (1u << (illness))
#define ILLNESS_LISTED ILLNESS_BIT(ILLNESS_N)       /* NVML lists the device */
#define ILLNESS_KNOWN ILLNESS_BIT(ILLNESS_N + 1)    /* and it is lost, and the agent knew it before */
#define ILLNESS_UNREAD ILLNESS_BIT(ILLNESS_N + 2)   /* that is of before: NVML does not answer */

enum illness_part { ILLNESS_PART_ECC, ILLNESS_PART_ROWS, ILLNESS_PART_PAGES, ILLNESS_PART_ACTION };

/* Whether devices fall ill in a history of that seed. */
bool illness_is_there(uint64_t seed);
/* After the world's. */
void illness_reset(uint64_t seed);
/* What the node's driver can read. */
void illness_set_up(int node);

/* The device is ill until it is reset or booted, or until that moment if it is not WORLD_NEVER. */
void illness_begin(int gpu, enum illness illness, uint64_t until);
/* It has these illnesses (bits) no more, and was not reset. */
void illness_end(int gpu, unsigned illnesses);
/*
 * The driver tells of these illnesses (bits) in that MIG mode only: not in the other one, and again when the
 * mode is back, if nothing has ended them meanwhile.
 */
void illness_keep_to_mode(int gpu, unsigned illnesses, bool is_mig);
/* The driver's call for that part fails until then, and no other does. */
void illness_fail_call(int gpu, enum illness_part part, uint64_t until);
/* If it has errors at its next reading the driver tells of none then, and of no action. */
void illness_err_once(int gpu);
/* The device was reset: but for what no reset mends it is well. */
void illness_cure(int gpu);
/* It is in another node. */
void illness_moved(int gpu);
/* Each device of the node was. */
void illness_boot(int node);
/* When the device was last reset, or booted; 0: never. */
uint64_t illness_cured_at(int gpu);
/* The node's present agent saw that the device was reset after that; 0: it saw no reset. */
uint64_t illness_reset_since(int gpu);
/* When a reading last found it listed again after it was away; 0: never. */
uint64_t illness_back_at(int gpu);

/* What the driver says. */
bool illness_has(int gpu, enum illness illness);
bool illness_can_read(int gpu, enum illness_part part);
/* It can, and the call fails now. */
bool illness_fails(int gpu, enum illness_part part);
/* The number of the recovery action. */
unsigned illness_action(int gpu);
/* It had uncorrected errors, ever. */
bool illness_had_ecc(int gpu);
/* Bits of what the driver tells of the device now. */
unsigned illness_told(int gpu);
/* Bits of what the driver could not tell of it now, whether it is so or not. */
unsigned illness_unread_of(int gpu);

/* The node's agent was started; its driver was read, or did not answer; it posted that report. */
void illness_started(int node);
void illness_read(int node);
void illness_unread(int node);
void illness_posted(int node, struct view body);
/* One that repeats what the node's last report said was posted in its name. */
void illness_forged(int node, struct view body);
/* Which report that was, of the node's present boot. */
struct attribution_report illness_report_of(int node, struct view body);
/* Of which reading the report is that a status rests on; 0: that is not known. */
uint64_t illness_read_at(int node, const struct attribution_report *report);
/* What it told of the device, and what it could not tell. False: that is not known. */
bool illness_reported(int node, const struct attribution_report *report, int gpu, unsigned *ret,
		      unsigned *ret_unread);
