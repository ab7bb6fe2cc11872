/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * nvml_file - reads a device file and checks that it makes sense
 *
 * The checked JSON itself is the model: readers may rely on the types, on required keys and on
 * words being known, so a query is one look-up. README.md beside this file describes the format.
 *
 * Threads: any; no state.
 */

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Reads and checks text (length bytes). Returns the document, owned by the caller (json_decref()),
 * or NULL with one line in ret_reason (reason_size bytes) that names the place.
 */
json_t *nvml_file_parse(const char *text, size_t length, char *ret_reason, size_t reason_size);

/* A number at a dotted path below object ("ecc.corrected"); absent if a part of it is missing. */
int64_t nvml_file_number(const json_t *object, const char *path, int64_t absent);

/* The ID of an instance at a path; NVML's "none" if it is missing. */
uint32_t nvml_file_instance(const json_t *object, const char *path);

/* A text at a dotted path; NULL if a part of it is missing. Borrowed from object. */
const char *nvml_file_text(const json_t *object, const char *path);

/* Whatever is at a dotted path; NULL if a part of it is missing. Borrowed from object. */
json_t *nvml_file_at(const json_t *object, const char *path);

/* Splits "domain:bus:device.0" as the file has it. 0, or -1 if it does not look like that. */
int nvml_file_parse_bus_id(const char *text, uint32_t ret_parts[3]);
