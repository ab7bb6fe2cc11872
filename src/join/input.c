/* SPDX-License-Identifier: Apache-2.0 */
#include "join/input.h"

bool input_is_fresh(const struct join_input *input)
{
	return input->report_age_ms < input->limits->report_stale_ms;
}

bool input_is_heard(const struct join_input *input)
{
	return input->report && input_is_fresh(input);
}

bool input_is_agentless(const struct join_input *input)
{
	return !input->report && input->report_age_ms >= input->limits->agentless_ms;
}
