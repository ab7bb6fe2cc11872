/* SPDX-License-Identifier: Apache-2.0 */

/* In virtual time no call takes any, and there are no processes: NVML is called in the agent's turn. */

#include "lib/fake_nvml_process.inc"
