/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * deed - what the actions of a history do to the world: one function a kind, called with its
 * arguments. One that makes no sense now (there is no such pod) does nothing. What goes on by
 * itself afterwards (a restart, a fault with an end) is planned, and what it may cause is noted.
 *
 * Pods and users are in deed_pods.c, nodes and hardware in deed_nodes.c. What ails devices is in
 * deed_illness.c, what is intended in deed_policies.c, and how pods are read in deed_forms.c. Programs,
 * the API server and the ways between them are in deed_faults.c.
 *
 * Threads: the program's only one.
 */

#include "sim/cause.h"
#include "sim/world.h"

#define DEED_N_NAMES 7 /* of pods */
#define DEED_N_UNWATCHED 10 /* of what may happen while no agent, or one process of it, watches */

/* Nothing has been done yet. */
void deed_reset(void);
/* Until when what was done so far goes on by itself. */
uint64_t deed_busy_until(void);
/* The moment `ms` from now, until which there is something under way. */
uint64_t deed_for_ms(int ms);
/* The node, or device, that an argument means; -1, or NULL: there is none. */
int deed_node(int arg);
struct world_gpu *deed_gpu(int arg);
/* There is such a cause on the node (-1: on all) for so long. */
void deed_excuse(enum cause cause, int node, int ms);
/* Starts the node's agent, if it has one and power; a clockwork_fn. */
void deed_start_agent(void *owner, uint64_t node);

/* The actions of the table in sim/action.c, each with the arguments of its row. */
void deed_add_node(const int *args);
void deed_create_pod(const int *args);
void deed_delete_pod(const int *args);
void deed_force_pod(const int *args);
void deed_abandon_pod(const int *args);
void deed_use_without_slot(const int *args);
void deed_replace_pod(const int *args);
void deed_replace_unbooked(const int *args);
void deed_finish_pod(const int *args);
void deed_restart_container(const int *args);
void deed_reserve_gpu(const int *args);
void deed_unreserve_gpu(const int *args);
void deed_share_gpu(const int *args);
void deed_spoil_hami(const int *args);
void deed_forge_pod(const int *args);
void deed_spoil_claim(const int *args);
void deed_spoil_slices(const int *args);
void deed_renumber(const int *args);
void deed_add_static(const int *args);
void deed_remove_static(const int *args);
void deed_delete_mirror(const int *args);
void deed_restart_kubelet(const int *args);
void deed_wipe_kubelet(const int *args);
void deed_hang_kubelet(const int *args);
void deed_throttle_kubelet(const int *args);
void deed_damage_checkpoint(const int *args);
void deed_lose_plugin(const int *args);
void deed_configure_plugin(const int *args);
void deed_divide_gpu(const int *args);
void deed_lose_gpu(const int *args);
void deed_raise_xid(const int *args);
void deed_raise_error(const int *args);
void deed_fall_ill(const int *args);
void deed_reset_gpu(const int *args);
void deed_raise_partial(const int *args);
void deed_flood(const int *args);
void deed_stall(const int *args);
void deed_slow(const int *args);
void deed_crash(const int *args);
void deed_fail_driver(const int *args);
void deed_reboot_node(const int *args);
void deed_move_gpu(const int *args);
void deed_remove_node(const int *args);
void deed_restart_agent(const int *args);
void deed_restart_controller(const int *args);
void deed_spoil_api(const int *args);
void deed_kill_api(const int *args);
void deed_part_network(const int *args);
void deed_hold_watch(const int *args);
void deed_deny(const int *args);
void deed_cut_watch(const int *args);
void deed_expire_watches(const int *args);
void deed_edit_object(const int *args);
void deed_delete_object(const int *args);
void deed_put_policy(const int *args);
void deed_spoil_wire(const int *args);
void deed_forge_report(const int *args);
void deed_step_clock(const int *args);
void deed_silence_inotify(const int *args);
void deed_intend(const int *args);
void deed_operate(const int *args);
void deed_deny_config(const int *args);
void deed_arrange(const int *args);
void deed_arrange_node(const int *args);
void deed_lay_out(const int *args);
void deed_obey(const int *args);
void deed_ask_mode(const int *args);
void deed_leave_exclusive(const int *args);
void deed_mismatch(const int *args);
void deed_leak(const int *args);
void deed_take_out(const int *args);
void deed_change_over(const int *args);
void deed_spoil_node_watch(const int *args);
void deed_throttle_lists(const int *args);
void deed_flap_label(const int *args);
void deed_add_late_node(const int *args);
void deed_lose_streams(const int *args);
void deed_fail_unwatched(const int *args);
void deed_fail_call(const int *args);
