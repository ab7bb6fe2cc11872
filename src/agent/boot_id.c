/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/boot_id.h"

#include <string.h>

#include "io/file.h"

struct view boot_id_view(const struct boot_id *id)
{
	return (struct view){id->text, id->len};
}

int boot_id_read(const char *path, struct boot_id *ret_id, struct error *err)
{
	CLEANUP(sbuf_deinit) struct sbuf file;
	sbuf_init(&file, sizeof(ret_id->text));
	if (file_read(path, &file, err) < 0)
		return error_wrap(err, "boot ID");
	struct view id = view_trim(sbuf_view(&file));
	if (id.len == 0)
		return error_set(err, ERROR_REJECTED, 0, "boot ID file %s is empty", path);
	memcpy(ret_id->text, id.ptr, id.len);
	ret_id->len = id.len;
	return 0;
}
