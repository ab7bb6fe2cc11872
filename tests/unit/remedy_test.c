/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "base/sbuf.h"
#include "kubectl/remedy.h"

#define DEGRADED ATTRIBUTION_HEALTH_DEGRADED
#define UNHEALTHY ATTRIBUTION_HEALTH_UNHEALTHY
#define UNKNOWN ATTRIBUTION_HEALTH_UNKNOWN
#define LOOK_CLOSER ATTRIBUTION_EVENT_LOOK_CLOSER
#define NEEDS_RESET ATTRIBUTION_EVENT_NEEDS_RESET
#define NEEDS_REBOOT ATTRIBUTION_EVENT_NEEDS_REBOOT

static void what_to_do_comes_from_the_event_the_action_or_the_reason(void **state)
{
	(void)state;
	static const struct {
		int health, action;
		const char *reason, *event; /* NULL: no event */
		const char *expected;
	} rows[] = {
		{UNHEALTHY, ATTRIBUTION_RECOVERY_RESET, "XID95", "as the event says", "as the event says"},
		{UNHEALTHY, ATTRIBUTION_RECOVERY_RESET, "XID95", "", "let work end, then reset the device"},
		{UNHEALTHY, ATTRIBUTION_RECOVERY_RESET, "ResetRequired", NULL,
		 "let work end, then reset the device"},
		{UNHEALTHY, ATTRIBUTION_RECOVERY_REBOOT, "GPULost", NULL, "drain the node, then restart it"},
		{UNHEALTHY, ATTRIBUTION_RECOVERY_REPLACE, "RowRemapFailed", NULL,
		 "drain the node, then replace the card"},
		{DEGRADED, ATTRIBUTION_RECOVERY_NONE, "ThermalSlowdown", NULL,
		 "look at fans, air and temperature of its node"},
		{DEGRADED, ATTRIBUTION_RECOVERY_RESET, "ThermalSlowdown", NULL,
		 "let work end, then reset the device"},
		{DEGRADED, ATTRIBUTION_RECOVERY_NONE, "OfALaterRelease", NULL,
		 "nothing is to be repaired: look at what the reason names"},
		{DEGRADED, ATTRIBUTION_RECOVERY_UNSET, "NotAdvertised", NULL,
		 "look at the log of the device plugin on its node"},
		{DEGRADED, ATTRIBUTION_RECOVERY_DRAIN_P2P, "DrainRequired", NULL,
		 "end the work that reaches the device from its peers"},
		{DEGRADED, ATTRIBUTION_RECOVERY_DRAIN_AND_RESET, "DrainRequired", NULL,
		 "give it no new work, let work end, then reset the device"},
		{UNHEALTHY, ATTRIBUTION_RECOVERY_RECOVER_IMEX_DOMAIN, "RecoverIMEXDomain", NULL,
		 "recover the multi-node memory domain (IMEX) that the device is in"},
		{DEGRADED, ATTRIBUTION_RECOVERY_UNKNOWN, "NVLinkDown", NULL,
		 "look at nvidia-smi nvlink -s, and at the kernel's log on its node"},
		{DEGRADED, ATTRIBUTION_RECOVERY_UNKNOWN, "OfALaterRelease", NULL,
		 "the remedy is not known: look at the kernel's log on its node"},
		{DEGRADED, ATTRIBUTION_RECOVERY_UNSET, "", NULL,
		 "the remedy is not known: look at the kernel's log on its node"},
		{DEGRADED, 1000, "", NULL,
		 "the remedy is not known: look at the kernel's log on its node"},
		{UNKNOWN, ATTRIBUTION_RECOVERY_RESET, "DeviceMissing", NULL,
		 "NVML does not list it: look at the kernel's log on its node"},
		{UNKNOWN, ATTRIBUTION_RECOVERY_UNKNOWN, "NVMLHangs", NULL,
		 "the driver does not answer: look at the kernel's log on its node"},
		{UNKNOWN, ATTRIBUTION_RECOVERY_UNKNOWN, "NVMLUnavailable", NULL,
		 "NVML does not work: look at the agent's log on its node"},
		{UNKNOWN, ATTRIBUTION_RECOVERY_UNKNOWN, "HealthUnread", NULL,
		 "look at the agent's log on its node"},
		{UNKNOWN, ATTRIBUTION_RECOVERY_UNKNOWN, "OfALaterRelease", NULL,
		 "look at the agent's log on its node"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(sbuf_deinit) struct sbuf buf;
		const struct view reason = view_from(rows[i].reason);
		const struct attribution_health_event event = {
			.xid = 95, .class = NEEDS_RESET, .action = view_from(rows[i].event)};
		const struct attribution device = {
			.status = {.health = {.state = rows[i].health,
					      .recovery_action = rows[i].action,
					      .reasons = array_of(&reason, reason.len > 0)}}};
		sbuf_init(&buf, 1000);
		remedy_write(&device, rows[i].event ? &event : NULL, &buf);
		assert_string_equal(sbuf_text(&buf), rows[i].expected);
	}
}

static void an_event_that_asks_for_something_else_than_the_recovery_action_is_not_heeded(void **state)
{
	(void)state;
	static const char *const heeded = "as the event says";
	static const char *const unknown =
		"the remedy is not known: look at the kernel's log on its node";
	static const struct {
		int class, action;
		const char *expected; /* NULL: what the event says */
	} rows[] = {
		{NEEDS_REBOOT, ATTRIBUTION_RECOVERY_REBOOT, NULL},
		{NEEDS_REBOOT, ATTRIBUTION_RECOVERY_RESET, "let work end, then reset the device"},
		{NEEDS_REBOOT, ATTRIBUTION_RECOVERY_REPLACE, "drain the node, then replace the card"},
		{NEEDS_RESET, ATTRIBUTION_RECOVERY_RESET, NULL},
		{NEEDS_RESET, ATTRIBUTION_RECOVERY_REBOOT, "drain the node, then restart it"},
		{NEEDS_RESET, ATTRIBUTION_RECOVERY_DRAIN_AND_RESET,
		 "give it no new work, let work end, then reset the device"},
		{LOOK_CLOSER, ATTRIBUTION_RECOVERY_UNKNOWN, NULL},
		{LOOK_CLOSER, ATTRIBUTION_RECOVERY_NONE, NULL},
		{LOOK_CLOSER, ATTRIBUTION_RECOVERY_UNSET, NULL},
		{LOOK_CLOSER, ATTRIBUTION_RECOVERY_RESET, "let work end, then reset the device"},
		{LOOK_CLOSER, ATTRIBUTION_RECOVERY_REPLACE, "drain the node, then replace the card"},
		/* Words of a later release: what the event asks for is not known, nor the action. */
		{ATTRIBUTION_EVENT_UNSET, ATTRIBUTION_RECOVERY_RESET, "let work end, then reset the device"},
		{ATTRIBUTION_EVENT_UNSET, ATTRIBUTION_RECOVERY_UNSET, unknown},
		{NEEDS_RESET, ATTRIBUTION_RECOVERY_UNSET, unknown},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(sbuf_deinit) struct sbuf buf;
		const struct attribution_health_event event = {.class = rows[i].class,
							       .action = view_from(heeded)};
		const struct attribution device = {
			.status = {.health = {.state = UNHEALTHY, .recovery_action = rows[i].action}}};
		sbuf_init(&buf, 1000);
		remedy_write(&device, &event, &buf);
		assert_string_equal(sbuf_text(&buf), rows[i].expected ? rows[i].expected : heeded);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(what_to_do_comes_from_the_event_the_action_or_the_reason),
	cmocka_unit_test(an_event_that_asks_for_something_else_than_the_recovery_action_is_not_heeded),
};
TEST_MAIN(tests)
