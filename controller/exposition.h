/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * exposition - what /metrics says of devices, tenants, nodes and namespaces. The loop's thread writes
 * it, since it alone knows the inventory. It does so when somebody asks, and in slices between which
 * all else has its turn. What happens between two slices shows in one device and not in another.
 *
 * GPU time and XID errors are counted here as statuses are published, whether anybody asks or not, and
 * whoever has published them. GPU time stands still while another one leads.
 *
 * Threads: the loop's.
 * Limits:  max_series samples: tenants beyond are left out. LIMIT_HELD_NODE_SERIES nodes whose writes
 *          are held. controller/exposition_budget.h.
 */

#include "base/error.h"
#include "controller/exposition_text.h"
#include "controller/write_budget.h"
#include "io/loop.h"
#include "model/inventory.h"

struct exposition;

struct exposition_config {
	struct loop *loop;
	struct inventory *inventory;
	bool with_devices; /* false: of nodes and namespaces only */
	/* Only the replica that leads shows series, so that sums count once. NULL: there is one only. */
	bool (*leads)(void *owner);
	/* Asked while it leads, and not below 0: another number whenever another replica led meanwhile. */
	int64_t (*term)(void *owner);
	/* Which knows the nodes whose writes are held, NULL: there is none yet. NULL: none is shown. */
	const struct write_budget *(*writes)(void *owner);
	size_t max_series;
	uint64_t stale_ms; /* live figures of older reports are left out */
	/* A text that was asked for, with one reference; NULL: it could not be made, for that reason. */
	void (*done)(void *owner, struct exposition_text *take_text, enum error_kind failure);
	void *owner;
};

/*
 * Counts from now on: registers for the inventory's attributions. What the config points to must
 * outlive it. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int exposition_new(const struct exposition_config *config,
			    struct exposition **ret_exposition, struct error *err);
/* Accepts NULL. */
void exposition_free(struct exposition *exposition);
/* config.leads() has changed. Without this it is seen only when somebody asks for a text. */
void exposition_leader_changed(struct exposition *exposition);
/* Writes a text; done() is called later. Nothing to do while one is being written. */
void exposition_write(struct exposition *exposition);
