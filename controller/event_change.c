/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/event_change.h"

static const struct {
	struct view reason;
	struct view action;
} types[] = {
#define TYPE(name, reason, type, action, ...) {VIEW_INIT(reason), VIEW_INIT(action)},
	EVENT_TABLE(TYPE)
};

struct view event_change_reason(enum event_type type)
{
	return types[type].reason;
}

struct view event_change_action(enum event_type type)
{
	return types[type].action;
}
