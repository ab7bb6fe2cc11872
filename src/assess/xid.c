/* SPDX-License-Identifier: Apache-2.0 */

/*
 * NVIDIA's catalogue (docs.nvidia.com/deploy/xid-errors) as of its Ampere and newer columns. Where
 * the catalogue names a workflow and not an action, the class is "look closer".
 */

#include "assess/xid.h"

#include <stddef.h>

static const struct xid table[] = {
	{13, XID_APPLICATION, VIEW_INIT("graphics engine exception")},
	{31, XID_APPLICATION, VIEW_INIT("memory page fault")},
	{32, XID_APPLICATION, VIEW_INIT("corrupted push buffer stream")},
	{43, XID_APPLICATION, VIEW_INIT("GPU stopped processing for a program")},
	{44, XID_APPLICATION, VIEW_INIT("fault during a context switch")},
	{45, XID_APPLICATION, VIEW_INIT("channel removed after another error")},
	{46, XID_NEEDS_RESET, VIEW_INIT("GPU stopped processing")},
	{48, XID_LOOK_CLOSER, VIEW_INIT("double-bit ECC error")},
	{62, XID_NEEDS_RESET, VIEW_INIT("power management unit halted")},
	{63, XID_INFORMATIONAL, VIEW_INIT("row remapping or page retirement recorded")},
	{64, XID_NEEDS_RESET, VIEW_INIT("row remapping or page retirement failed")},
	{68, XID_APPLICATION, VIEW_INIT("video decoder exception")},
	{69, XID_APPLICATION, VIEW_INIT("graphics engine class error")},
	{74, XID_LOOK_CLOSER, VIEW_INIT("NVLink error")},
	{79, XID_NEEDS_REBOOT, VIEW_INIT("GPU has fallen off the bus")},
	{92, XID_INFORMATIONAL, VIEW_INIT("high rate of single-bit ECC errors")},
	{93, XID_INFORMATIONAL, VIEW_INIT("InfoROM is wearing out")},
	{94, XID_APPLICATION, VIEW_INIT("contained memory error")},
	{95, XID_NEEDS_RESET, VIEW_INIT("uncontained memory error")},
	{109, XID_NEEDS_RESET, VIEW_INIT("context switch timed out")},
	{110, XID_NEEDS_RESET, VIEW_INIT("security fault")},
	{119, XID_NEEDS_RESET, VIEW_INIT("GSP call timed out")},
	{120, XID_NEEDS_RESET, VIEW_INIT("GSP error")},
	{121, XID_INFORMATIONAL, VIEW_INIT("chip-to-chip link error")},
	{136, XID_NEEDS_RESET, VIEW_INIT("NVLink training failed")},
	{137, XID_LOOK_CLOSER, VIEW_INIT("NVLink privilege error")},
	{140, XID_NEEDS_RESET, VIEW_INIT("unrecovered ECC error")},
	{143, XID_NEEDS_RESET, VIEW_INIT("GPU initialisation failed")},
	{144, XID_LOOK_CLOSER, VIEW_INIT("NVLink error of a unit")},
	{145, XID_LOOK_CLOSER, VIEW_INIT("NVLink error of a unit")},
	{146, XID_LOOK_CLOSER, VIEW_INIT("NVLink error of a unit")},
	{147, XID_LOOK_CLOSER, VIEW_INIT("NVLink error of a unit")},
	{148, XID_LOOK_CLOSER, VIEW_INIT("NVLink error of a unit")},
	{149, XID_LOOK_CLOSER, VIEW_INIT("NVLink error of a unit")},
	{150, XID_LOOK_CLOSER, VIEW_INIT("NVLink error of a unit")},
	{154, XID_INFORMATIONAL, VIEW_INIT("recovery action changed")},
	{155, XID_NEEDS_RESET, VIEW_INIT("NVLink software error")},
	{156, XID_NEEDS_RESET, VIEW_INIT("resource retirement")},
	{158, XID_NEEDS_RESET, VIEW_INIT("fatal timeout")},
	{160, XID_INFORMATIONAL, VIEW_INIT("channel retirement failed")},
	{161, XID_INFORMATIONAL, VIEW_INIT("channel retirement")},
};

struct xid xid_look_up(int64_t code)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (table[i].code == code)
			return table[i];
	}
	return (struct xid){code, XID_LOOK_CLOSER, VIEW("not in the catalogue of this version")};
}
