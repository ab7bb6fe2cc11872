/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * yaml_output - writes a JSON document as YAML. The only file of the plugin that uses libyaml.
 *
 * Threads: any.
 */

#include "base/sbuf.h"

/*
 * Appends json, which is well-formed, as one YAML document in block style. Texts that YAML would
 * read as something else are quoted. Failure is the buffer's.
 */
void yaml_output(struct view json, struct sbuf *buf);
