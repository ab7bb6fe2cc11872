/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * shares - whether a device is shared and divided as it is intended, by the world alone. Each function
 * is a row of sim/differences.h, and is asked of a device that is in a node.
 *
 * Threads: the program's only one.
 */

#include "sim/differences.h"

/* Shared by another means, or not at all, or though it shall not be. */
enum difference_state shares_mode(int gpu);
/* Shared, by another number. */
enum difference_state shares_replicas(int gpu);
/* On offer under the resource's own name, or under that of shared ones, otherwise than it shall be. */
enum difference_state shares_name(int gpu);
/* Shared as the key said before. */
enum difference_state shares_not_loaded(int gpu);
/* Meant to be shared by MPS, without its daemon or its compute mode. */
enum difference_state shares_mps_not_running(int gpu);
/* In the compute mode of MPS, which nobody means and nobody runs. */
enum difference_state shares_mps_left_behind(int gpu);
/* MIG devices of its node are on offer by another strategy. */
enum difference_state shares_strategy(int gpu);
/* In MIG mode, and its node's label says that none shall be. */
enum difference_state shares_layout(int gpu);
/* The text of the key asks for MPS, and the strategy is mixed. */
bool shares_is_refused(int node);
/* It refuses the text's MPS, if it is with strategy single and finds a device in MIG mode. */
bool shares_is_refused_for_mig(int node);
