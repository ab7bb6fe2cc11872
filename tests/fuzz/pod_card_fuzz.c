/* SPDX-License-Identifier: Apache-2.0 */

/* Whatever kubectl prints, as a list or for names, is read within its limits or refused. */

#include <assert.h>

#include "kubectl/intake.h"
#include "kubectl/roll.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void feed(enum intake_form form, struct view text, size_t cut)
{
	struct roll roll;
	struct intake intake;
	struct error err;
	roll_init(&roll);
	intake_init(&intake, form, roll_take, &roll);
	if (intake_feed(&intake, (struct view){text.ptr, cut}, &err) == 0 &&
	    intake_feed(&intake, view_from_offset(text, cut), &err) == 0 &&
	    intake_finish(&intake, &err) == 0) {
		size_t n = 0;
		for (const struct roll_entry *entry = roll.oldest; entry; entry = entry->next) {
			assert(entry->card.name.len <= LIMIT_TEXT_NAME);
			n++;
		}
		assert(n == roll.n_pods);
	}
	intake_deinit(&intake);
	roll_deinit(&roll);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view text = {(const char *)data, size};
	size_t cut = size > 0 ? data[0] % size : 0;
	feed(INTAKE_LIST, text, cut);
	feed(INTAKE_NAMED, text, cut);
	return 0;
}
