/* SPDX-License-Identifier: Apache-2.0 */

/*
 * NVIDIA's catalogue (docs.nvidia.com/deploy/xid-errors) as of its Ampere and newer columns. Where
 * the catalogue names a workflow and not an action, the class is "look closer".
 */

#include "assess/xid.h"

#include <assert.h>
#include <stddef.h>

static const struct xid table[] = {
	{11, XID_APPLICATION, VIEW_INIT("invalid or corrupted push buffer stream")},
	{13, XID_APPLICATION, VIEW_INIT("graphics engine exception")},
	{25, XID_APPLICATION, VIEW_INIT("invalid or illegal push buffer address")},
	{31, XID_APPLICATION, VIEW_INIT("memory page fault")},
	{32, XID_APPLICATION, VIEW_INIT("corrupted push buffer stream")},
	{43, XID_APPLICATION, VIEW_INIT("GPU stopped processing for a program")},
	{44, XID_APPLICATION, VIEW_INIT("fault during a context switch")},
	{45, XID_APPLICATION, VIEW_INIT("channel removed after another error"),
	 VIEW_INIT("look at the error that came before it")},
	{46, XID_NEEDS_RESET, VIEW_INIT("GPU stopped processing")},
	{48, XID_LOOK_CLOSER, VIEW_INIT("double-bit ECC error"),
	 VIEW_INIT("look at the errors 63, 64, 94 and 95 of that time: they say whether the GPU must be reset")},
	{62, XID_NEEDS_RESET, VIEW_INIT("power management unit halted")},
	{63, XID_INFORMATIONAL, VIEW_INIT("row remapping or page retirement recorded"),
	 VIEW_INIT("nothing now: it takes effect when the GPU is reset next")},
	{64, XID_NEEDS_RESET, VIEW_INIT("row remapping or page retirement failed"),
	 VIEW_INIT("drain the GPU and reset it; if it happens again, replace it")},
	{68, XID_APPLICATION, VIEW_INIT("video decoder exception")},
	{69, XID_APPLICATION, VIEW_INIT("graphics engine class error")},
	{74, XID_LOOK_CLOSER, VIEW_INIT("NVLink error"),
	 VIEW_INIT("check the NVLinks of the GPU, and the device or switch at their other end")},
	{79, XID_NEEDS_REBOOT, VIEW_INIT("GPU has fallen off the bus"),
	 VIEW_INIT("drain the node and reboot it; if it happens again, check the GPU's seat, power and cooling")},
	{92, XID_INFORMATIONAL, VIEW_INIT("high rate of single-bit ECC errors"),
	 VIEW_INIT("nothing now: watch the count of corrected errors")},
	{93, XID_INFORMATIONAL, VIEW_INIT("InfoROM is wearing out"),
	 VIEW_INIT("nothing now: plan to replace the GPU")},
	{94, XID_APPLICATION, VIEW_INIT("contained memory error"),
	 VIEW_INIT("start the program again: the error hit no other")},
	{95, XID_NEEDS_RESET, VIEW_INIT("uncontained memory error"),
	 VIEW_INIT("drain the GPU and reset it: any program on it may have been hit")},
	{109, XID_NEEDS_RESET, VIEW_INIT("context switch timed out")},
	{110, XID_NEEDS_RESET, VIEW_INIT("security fault")},
	{119, XID_NEEDS_RESET, VIEW_INIT("GSP call timed out")},
	{120, XID_NEEDS_RESET, VIEW_INIT("GSP error")},
	{121, XID_INFORMATIONAL, VIEW_INIT("chip-to-chip link error")},
	{136, XID_NEEDS_RESET, VIEW_INIT("NVLink training failed"),
	 VIEW_INIT("drain the GPU and reset it; if it happens again, check its NVLinks")},
	{137, XID_LOOK_CLOSER, VIEW_INIT("NVLink privilege error")},
	{140, XID_NEEDS_RESET, VIEW_INIT("unrecovered ECC error")},
	{143, XID_NEEDS_RESET, VIEW_INIT("GPU initialisation failed")},
	{144, XID_LOOK_CLOSER, VIEW_INIT("NVLink error of a unit"),
	 VIEW_INIT("check the NVLinks of the GPU, and the device or switch at their other end")},
	{145, XID_LOOK_CLOSER, VIEW_INIT("NVLink error of a unit"),
	 VIEW_INIT("check the NVLinks of the GPU, and the device or switch at their other end")},
	{146, XID_LOOK_CLOSER, VIEW_INIT("NVLink error of a unit"),
	 VIEW_INIT("check the NVLinks of the GPU, and the device or switch at their other end")},
	{147, XID_LOOK_CLOSER, VIEW_INIT("NVLink error of a unit"),
	 VIEW_INIT("check the NVLinks of the GPU, and the device or switch at their other end")},
	{148, XID_LOOK_CLOSER, VIEW_INIT("NVLink error of a unit"),
	 VIEW_INIT("check the NVLinks of the GPU, and the device or switch at their other end")},
	{149, XID_LOOK_CLOSER, VIEW_INIT("NVLink error of a unit"),
	 VIEW_INIT("check the NVLinks of the GPU, and the device or switch at their other end")},
	{150, XID_LOOK_CLOSER, VIEW_INIT("NVLink error of a unit"),
	 VIEW_INIT("check the NVLinks of the GPU, and the device or switch at their other end")},
	{154, XID_INFORMATIONAL, VIEW_INIT("recovery action changed"),
	 VIEW_INIT("do what status.health.recoveryAction says")},
	{155, XID_NEEDS_RESET, VIEW_INIT("NVLink software error")},
	{156, XID_NEEDS_RESET, VIEW_INIT("resource retirement")},
	{157, XID_INFORMATIONAL, VIEW_INIT("resource retirement failed")},
	{158, XID_NEEDS_RESET, VIEW_INIT("fatal timeout")},
	{160, XID_INFORMATIONAL, VIEW_INIT("channel retirement failed")},
	{161, XID_INFORMATIONAL, VIEW_INIT("channel retirement")},
	{171, XID_LOOK_CLOSER, VIEW_INIT("double-bit ECC error of the DRAM"),
	 VIEW_INIT("look at the errors 63, 64, 94 and 95 of that time: they say whether the GPU must be reset")},
	{172, XID_LOOK_CLOSER, VIEW_INIT("double-bit ECC error of the SRAM"),
	 VIEW_INIT("look at the errors 63, 64, 94 and 95 of that time: they say whether the GPU must be reset")},
};

/* What to do where the row says nothing of its own. */
static const struct view actions[] = {
	[XID_INFORMATIONAL] = VIEW_INIT("nothing needs to be done"),
	[XID_APPLICATION] = VIEW_INIT("look at the program that used the GPU: the GPU needs nothing"),
	[XID_LOOK_CLOSER] = VIEW_INIT("look at status.health.recoveryAction, and at the node's kernel "
				      "log of that time"),
	[XID_NEEDS_RESET] = VIEW_INIT("drain the GPU and reset it"),
	[XID_NEEDS_REBOOT] = VIEW_INIT("drain the node and reboot it"),
};

struct xid xid_look_up(int64_t code)
{
	struct xid xid = {code, XID_LOOK_CLOSER, VIEW("not in the catalogue of this version")};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].code == code)
			xid = table[i];
	assert((size_t)xid.class < sizeof(actions) / sizeof(actions[0]));
	if (xid.action.len == 0)
		xid.action = actions[xid.class];
	return xid;
}
