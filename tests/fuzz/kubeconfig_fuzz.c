/* SPDX-License-Identifier: Apache-2.0 */

/* Any text either gives a server address that begins with http, or a reason why not. */

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kube/kubeconfig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err;
	struct kubeconfig config;
	struct view text = {(const char *)data, size};
	if (kubeconfig_parse(text, "/folder", size % 2 ? "one" : NULL, &config, &err) != 0) {
		assert(err.kind != ERROR_NONE && err.text[0]);
		return 0;
	}
	assert(view_starts_with(config.server, VIEW("http")));
	assert(strlen(config.server.ptr) == config.server.len);
	assert(strlen(config.context.ptr) == config.context.len);
	kubeconfig_deinit(&config);
	return 0;
}
