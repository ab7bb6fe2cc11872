/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/intents.h"

#include "sim/world.h"

/* The ClusterPolicy named "another", in which nothing is written, says what the operator's code does. */
int intents_written(enum policies_knob knob)
{
	return policies_counts() == 0 ? policies_of(knob) : 0;
}

enum intents_want intents_want(int node, enum policies_operand operand)
{
	const int label = policies_of_node(node, (enum policies_node_knob)(POLICIES_LABEL + operand));

	if (intents_written((enum policies_knob)(POLICIES_SWITCH + operand)) == POLICIES_OFF)
		return INTENTS_OFF;
	if (!world.nodes[node].in_api)
		return INTENTS_UNKNOWN;
	if (policies_of_node(node, POLICIES_LABEL_ALL) == POLICIES_FALSE || label == POLICIES_FALSE)
		return INTENTS_OFF;
	return label == POLICIES_NO_LABEL ? INTENTS_NOT_HERE : INTENTS_WANTED;
}

enum policies_pod intents_pod(int node, enum policies_operand operand)
{
	return (enum policies_pod)policies_of_node(node,
						   (enum policies_node_knob)(POLICIES_POD + operand));
}

/* The plugin's configuration */

enum policies_key intents_key(int node)
{
	const int label = policies_of_node(node, POLICIES_LABEL_CONFIG);

	return (enum policies_key)(label ? label : intents_written(POLICIES_DEFAULT));
}

enum policies_text intents_text(int node)
{
	const enum policies_key key = intents_key(node);

	return (enum policies_text)(key == POLICIES_A	? policies_of(POLICIES_KEY_A)
				    : key == POLICIES_B ? policies_of(POLICIES_KEY_B)
							: POLICIES_ABSENT);
}

bool intents_is_config_denied(int node)
{
	return policies_are_denied() && intents_written(POLICIES_CONFIG) &&
	       intents_want(node, POLICIES_PLUGIN) == INTENTS_WANTED;
}

/* Without a key the plugin has its defaults. */
static enum intents_config read_key(int node, struct policies_sharing *ret_sharing)
{
	const enum policies_key key = intents_key(node);
	const enum policies_text text = intents_text(node);

	*ret_sharing = policies_sharing(0);
	if (key == POLICIES_NO_KEY)
		return INTENTS_CONFIG;
	if (text == POLICIES_ABSENT || text == POLICIES_INVALID)
		return INTENTS_NO_CONFIG;
	if (text == POLICIES_GOOD)
		*ret_sharing = policies_sharing(policies_of(
			key == POLICIES_A ? POLICIES_SHARING_A : POLICIES_SHARING_B));
	return ret_sharing->is_unsupported ? INTENTS_UNREAD_CONFIG : INTENTS_CONFIG;
}

enum intents_config intents_config(int node, struct policies_sharing *ret_sharing)
{
	const enum intents_want want = intents_want(node, POLICIES_PLUGIN);

	if (policies_counts() < 0 || !intents_written(POLICIES_CONFIG))
		return INTENTS_NO_CONFIG;
	if (intents_written(POLICIES_UNREADABLE) || want == INTENTS_UNKNOWN ||
	    intents_is_config_denied(node))
		return INTENTS_UNREAD_CONFIG;
	return want == INTENTS_WANTED && policies_of(POLICIES_MAP) ? read_key(node, ret_sharing)
								    : INTENTS_NO_CONFIG;
}

/* Layouts of MIG devices */

static enum intents_layout read_balanced(int node, int *ret_n)
{
	static const int n_devices[] = {
		[POLICIES_BALANCED_OFF] = -1,
		[POLICIES_BALANCED_TWO] = 2,
		[POLICIES_BALANCED_THREE] = 3,
		[POLICIES_BALANCED_BY_FILTER] = 3,
	};
	const int balanced = policies_of(POLICIES_BALANCED);

	*ret_n = n_devices[balanced];
	if (balanced == POLICIES_NO_BALANCED)
		return INTENTS_MISSING_LAYOUT;
	return balanced == POLICIES_BALANCED_BY_FILTER && world.nodes[node].hides_compute_mode
		       ? INTENTS_NO_LAYOUT
		       : INTENTS_LAYOUT;
}

/* Whoever names no ConfigMap means the operator's; that one has all-disabled, whether it can be read or not. */
enum intents_layout intents_layout(int node, int *ret_n)
{
	const bool is_disabled = policies_of_node(node, POLICIES_LAYOUT);
	const int named = intents_written(POLICIES_MIG_CONFIG), map = policies_of(POLICIES_MIG_MAP);
	const enum intents_layout unread = named == POLICIES_UNNAMED && is_disabled
						   ? INTENTS_LAYOUT
						   : INTENTS_UNREAD_LAYOUT;

	*ret_n = -1;
	if (policies_are_denied())
		return unread;
	if (named == POLICIES_ELSEWHERE)
		return INTENTS_MISSING_LAYOUT;
	if (map == POLICIES_MIG_MAP_BROKEN)
		return INTENTS_UNREAD_LAYOUT;
	if (map == POLICIES_NO_MIG_MAP)
		return named == POLICIES_UNNAMED ? unread : INTENTS_MISSING_LAYOUT;
	return is_disabled ? INTENTS_LAYOUT : read_balanced(node, ret_n);
}

bool intents_is_layout_unread(int node)
{
	int n;

	return intents_want(node, POLICIES_MIG_MANAGER) == INTENTS_WANTED &&
	       policies_of_node(node, POLICIES_LABEL_LAYOUT) &&
	       intents_layout(node, &n) == INTENTS_UNREAD_LAYOUT;
}
