/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The plugin decodes by Go's encoding/json. So members of the document, of flags and of sharing may be
 * written in letters of either case. Within timeSlicing and mps the plugin looks for them by itself,
 * and there they may not.
 *
 * What is written and has no effect is noted as dead. Among the flags these are the ones that the
 * operator's DaemonSet sets by variables, which go before the file.
 *
 * A step returns 0 to go on, 1 when it has said why the configuration is of no use, or -1.
 */

#include "schema/plugin_config_doc.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/sbuf.h"
#include "wire/yaml_tree.h"

#define MAX_RESOURCE_NAME 63u /* the plugin's own limit */

struct reader {
	struct arena *arena; /* of what is kept */
	struct plugin_config *config;
	struct error *err;
};

/* A list of what is shared, under its name. */
struct section {
	const char *name; /* "timeSlicing" */
	bool is_renamed;
	struct array shared; /* struct plugin_config_shared */
	uint32_t dead;
};

static int keep(struct reader *reader, struct view text, struct view *ret)
{
	return arena_copy(reader->arena, text, ret) ? 0 : error_no_memory(reader->err);
}

/* 1, or -1; *ret_reason then says where and why. */
PRINTF_LIKE(4, 5)
static int say(struct reader *reader, const struct yaml_tree *where, struct view *ret_reason,
	       const char *format, ...)
{
	CLEANUP(sbuf_deinit) struct sbuf text;
	va_list args;
	char what[160];

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	sbuf_init(&text, LIMIT_KIB);
	sbuf_printf(&text, "line %u, column %u: %s", where->line, where->column, what);
	if (sbuf_check(&text, "reason", reader->err) < 0)
		return -1;
	return keep(reader, sbuf_view(&text), ret_reason) < 0 ? -1 : 1;
}

#define REFUSE(reader, where, ...) say(reader, where, &(reader)->config->error, __VA_ARGS__)
#define NOT_READ(reader, where, ...) say(reader, where, &(reader)->config->unsupported, __VA_ARGS__)

/* A mapping, or nothing. */
static int check_map(struct reader *reader, const struct yaml_tree *node, const char *name)
{
	if (yaml_tree_is_null(node) || node->kind == YAML_TREE_MAP)
		return 0;
	return REFUSE(reader, node, "%s is not a mapping", name);
}

static const struct yaml_tree *member(const struct yaml_tree *map, const char *name)
{
	return yaml_tree_member_ignoring_case(map, view_from(name));
}

static int read_version(struct reader *reader, const struct yaml_tree *root)
{
	const struct yaml_tree *version = member(root, "version");

	if (yaml_tree_is_null(version) ||
	    (version->kind == YAML_TREE_SCALAR &&
	     (version->text.len == 0 || view_equal(version->text, VIEW("v1")))))
		return 0;
	return REFUSE(reader, version, "the version is not v1");
}

/* flags */

static bool is_set_otherwise(const struct yaml_tree *map, const char *name, const char *value)
{
	const struct yaml_tree *node = member(map, name);

	return !yaml_tree_is_null(node) && node->kind == YAML_TREE_SCALAR &&
	       !view_equal(node->text, view_from(value));
}

static bool is_off(const struct yaml_tree *map, const char *name)
{
	const struct yaml_tree *node = member(map, name);
	bool value;

	return node && yaml_tree_bool(node, &value) && !value;
}

static uint32_t list_bit(const struct yaml_tree *strategy)
{
	static const struct {
		struct view name;
		uint32_t bit;
	} rows[] = {
		{VIEW_INIT("envvar"), PLUGIN_CONFIG_LIST_ENVVAR},
		{VIEW_INIT("cdi-annotations"), PLUGIN_CONFIG_LIST_CDI_ANNOTATIONS},
		{VIEW_INIT("cdi-cri"), PLUGIN_CONFIG_LIST_CDI_CRI},
	};

	if (yaml_tree_is_null(strategy) || strategy->kind != YAML_TREE_SCALAR)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (view_equal(strategy->text, rows[i].name))
			return rows[i].bit;
	return PLUGIN_CONFIG_LIST_OTHER;
}

/* To a type that decodes itself the plugin gives a plain number or truth value as what it is. */
static bool is_string(const struct yaml_tree *node)
{
	bool truth;
	int64_t n;

	return node->kind == YAML_TREE_SCALAR && !yaml_tree_bool(node, &truth) &&
	       !yaml_tree_i64(node, &n);
}

/* One strategy, or a list of them. Go decodes null as an empty string. */
static int read_device_lists(struct reader *reader, const struct yaml_tree *strategy)
{
	uint32_t *bits = &reader->config->device_lists;

	if (yaml_tree_is_null(strategy))
		return 0;
	if (strategy->kind != YAML_TREE_LIST && !is_string(strategy))
		return REFUSE(reader, strategy, "flags.plugin.deviceListStrategy is no string and no list");
	*bits = list_bit(strategy);
	for (const struct yaml_tree *item = strategy->first; item; item = item->next) {
		if (!is_string(item))
			return REFUSE(reader, item, "flags.plugin.deviceListStrategy has what is no string");
		*bits |= list_bit(item);
	}
	return 0;
}

/* The operator sets each of these variables to one value, whatever else its policy says. */
static uint32_t find_dead_flags(const struct yaml_tree *flags)
{
	const struct yaml_tree *plugin = member(flags, "plugin");
	uint32_t dead = 0;

	if (is_off(flags, "failOnInitError"))
		dead |= PLUGIN_CONFIG_DEAD_FAIL_ON_INIT_ERROR;
	if (is_set_otherwise(flags, "mpsRoot", "/run/nvidia/mps"))
		dead |= PLUGIN_CONFIG_DEAD_MPS_ROOT;
	if (is_off(plugin, "passDeviceSpecs"))
		dead |= PLUGIN_CONFIG_DEAD_PASS_DEVICE_SPECS;
	if (is_set_otherwise(plugin, "deviceIDStrategy", "uuid"))
		dead |= PLUGIN_CONFIG_DEAD_DEVICE_ID_STRATEGY;
	return dead;
}

/* Null is nothing written. A string may be any scalar: the plugin takes its text. */
static int check_flag(struct reader *reader, const struct yaml_tree *flags, const char *of,
		      const char *name, bool is_truth)
{
	const struct yaml_tree *node = member(of[0] ? member(flags, of) : flags, name);
	const char *dot = of[0] ? "." : "";
	bool truth;

	if (yaml_tree_is_null(node))
		return 0;
	if (is_truth && !yaml_tree_bool(node, &truth))
		return REFUSE(reader, node, "flags.%s%s%s is neither true nor false", of, dot, name);
	if (node->kind != YAML_TREE_SCALAR)
		return REFUSE(reader, node, "flags.%s%s%s is not a string", of, dot, name);
	return 0;
}

/* The types of k8s-device-plugin's api/config/v1/flags.go. */
static int check_flags(struct reader *reader, const struct yaml_tree *flags)
{
	static const struct {
		const char *of, *name;
		bool is_truth;
	} rows[] = {
		{"", "migStrategy", false},
		{"", "failOnInitError", true},
		{"", "mpsRoot", false},
		{"", "nvidiaDriverRoot", false},
		{"", "nvidiaDevRoot", false},
		{"", "gdrcopyEnabled", true},
		{"", "gdsEnabled", true},
		{"", "mofedEnabled", true},
		{"", "useNodeFeatureAPI", true},
		{"", "deviceDiscoveryStrategy", false},
		{"plugin", "passDeviceSpecs", true},
		{"plugin", "deviceIDStrategy", false},
		{"plugin", "cdiAnnotationPrefix", false},
		{"plugin", "nvidiaCTKPath", false},
		{"plugin", "containerDriverRoot", false},
		{"plugin", "sharedDevicesAllocationPolicy", false},
		{"gfd", "oneshot", true},
		{"gfd", "noTimestamp", true},
		{"gfd", "sleepInterval", false},
		{"gfd", "outputFile", false},
		{"gfd", "machineTypeFile", false},
	};
	int stop = check_map(reader, flags, "flags");

	if (stop == 0)
		stop = check_map(reader, member(flags, "plugin"), "flags.plugin");
	if (stop == 0)
		stop = check_map(reader, member(flags, "gfd"), "flags.gfd");
	for (size_t i = 0; stop == 0 && i < ARRAY_SIZE(rows); i++)
		stop = check_flag(reader, flags, rows[i].of, rows[i].name, rows[i].is_truth);
	return stop;
}

static int read_flags(struct reader *reader, const struct yaml_tree *root)
{
	const struct yaml_tree *flags = member(root, "flags"),
			       *strategy = member(flags, "migStrategy");
	int stop = check_flags(reader, flags);

	if (stop == 0)
		stop = read_device_lists(reader,
					 member(member(flags, "plugin"), "deviceListStrategy"));
	if (stop != 0)
		return stop;
	reader->config->dead |= find_dead_flags(flags);
	if (yaml_tree_is_null(strategy))
		return 0;
	if (strategy->text.len > LIMIT_TEXT_WORD)
		return REFUSE(reader, strategy, "flags.migStrategy is none of none, single, mixed");
	return keep(reader, strategy->text, &reader->config->mig_strategy);
}

/* sharing */

static bool is_alphanumeric(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* Labels of letters, digits and "-", with dots between them. */
static bool is_dns_subdomain(struct view name)
{
	for (size_t i = 0; i < name.len; i++) {
		bool is_inside = i > 0 && i + 1 < name.len && name.ptr[i - 1] != '.' &&
				 name.ptr[i + 1] != '.';

		if (!is_alphanumeric(name.ptr[i]) &&
		    !(is_inside && name.ptr[i] == '-') &&
		    !(i > 0 && i + 1 < name.len && name.ptr[i] == '.' &&
		      is_alphanumeric(name.ptr[i - 1])))
			return false;
	}
	return name.len > 0;
}

/* The plugin puts its domain before a name that has it not. */
static int read_resource_name(struct reader *reader, const struct yaml_tree *node,
			      struct view *ret_name)
{
	static const struct view domain = VIEW_INIT("nvidia.com/");
	char buffer[MAX_RESOURCE_NAME + 1];
	struct view tail, name;

	if (!is_string(node))
		return REFUSE(reader, node, "a resource's name is not a string");
	tail = view_from_offset(node->text,
				view_starts_with(node->text, domain) ? domain.len : 0);
	if (domain.len + tail.len > MAX_RESOURCE_NAME)
		return REFUSE(reader, node, "a resource's name has more than %u bytes",
			      MAX_RESOURCE_NAME);
	if (!is_dns_subdomain(tail))
		return REFUSE(reader, node, "this is no name of a resource");
	name = view_copy(domain, buffer);
	name.len += view_copy(tail, buffer + domain.len).len;
	return keep(reader, name, ret_name);
}

/* In any form that YAML has for numbers: the plugin may read it as a whole one. */
static bool may_be_number(const struct yaml_tree *node)
{
	static const char characters[] = "0123456789abcdefABCDEFxXo_+-.";
	const struct view text = node->text;

	if (node->kind != YAML_TREE_SCALAR || !node->is_plain || !strchr("0123456789+-.", text.ptr[0]))
		return false;
	for (size_t i = 0; i < text.len; i++)
		if (!strchr(characters, text.ptr[i]))
			return false;
	return true;
}

static int read_replicas(struct reader *reader, const struct yaml_tree *item, int64_t *ret_replicas)
{
	const struct yaml_tree *node = yaml_tree_member(item, VIEW("replicas"));

	if (!node)
		return REFUSE(reader, item, "there are no replicas");
	if (yaml_tree_is_null(node))
		return REFUSE(reader, node, "there are fewer than 2 replicas");
	if (!yaml_tree_i64(node, ret_replicas))
		return may_be_number(node)
			       ? NOT_READ(reader, node, "replicas is not a decimal number")
			       : REFUSE(reader, node, "replicas is not a number");
	return *ret_replicas < 2 ? REFUSE(reader, node, "there are fewer than 2 replicas") : 0;
}

/* The name that sharing gives by default is no other name. */
static int note_rename(struct reader *reader, const struct yaml_tree *item,
		       const struct plugin_config_shared *shared, struct section *section)
{
	static const struct view suffix = VIEW_INIT(".shared");
	const struct yaml_tree *node = yaml_tree_member(item, VIEW("rename"));
	struct view name = {0};
	int stop;

	if (!node)
		return 0;
	stop = read_resource_name(reader, node, &name);
	if (stop != 0)
		return stop;
	if (!section->is_renamed || !view_starts_with(name, shared->resource) ||
	    !view_equal(view_from_offset(name, shared->resource.len), suffix))
		section->dead |= PLUGIN_CONFIG_DEAD_RENAME;
	return 0;
}

static int note_devices(struct reader *reader, const struct yaml_tree *item,
			struct section *section)
{
	const struct yaml_tree *node = yaml_tree_member(item, VIEW("devices"));
	int64_t n;

	if (!node || (node->kind == YAML_TREE_SCALAR && view_equal(node->text, VIEW("all"))))
		return 0;
	if (node->kind == YAML_TREE_MAP ||
	    (node->kind == YAML_TREE_SCALAR && (!yaml_tree_i64(node, &n) || n <= 0)))
		return REFUSE(reader, node, "devices is neither all nor a number nor a list");
	section->dead |= PLUGIN_CONFIG_DEAD_DEVICES;
	return 0;
}

static int read_shared(struct reader *reader, const struct yaml_tree *item, struct section *section,
		       struct plugin_config_shared *shared)
{
	const struct yaml_tree *name = yaml_tree_member(item, VIEW("name"));
	int stop;

	if (item->kind != YAML_TREE_MAP)
		return REFUSE(reader, item, "a shared resource is not a mapping");
	if (!name)
		return REFUSE(reader, item, "a shared resource has no name");
	stop = read_resource_name(reader, name, &shared->resource);
	if (stop == 0)
		stop = note_devices(reader, item, section);
	if (stop == 0)
		stop = read_replicas(reader, item, &shared->replicas);
	return stop == 0 ? note_rename(reader, item, shared, section) : stop;
}

static int read_items(struct reader *reader, const struct yaml_tree *list, struct section *section)
{
	struct plugin_config_shared *shared;
	uint32_t n = 0;

	for (const struct yaml_tree *item = list->first; item; item = item->next)
		if (++n > LIMIT_CONFIG_RESOURCES)
			return NOT_READ(reader, item, "there are more than %u resources",
					LIMIT_CONFIG_RESOURCES);
	shared = arena_alloc(reader->arena, n, sizeof(*shared));
	if (!shared)
		return error_no_memory(reader->err);
	section->shared = array_of(shared, n);
	for (const struct yaml_tree *item = list->first; item; item = item->next) {
		int stop = read_shared(reader, item, section, shared++);

		if (stop != 0)
			return stop;
	}
	return 0;
}

static int read_section(struct reader *reader, const struct yaml_tree *node,
			struct section *section)
{
	const struct yaml_tree *list = yaml_tree_member(node, VIEW("resources")),
			       *rename = yaml_tree_member(node, VIEW("renameByDefault")),
			       *limit = yaml_tree_member(node, VIEW("failRequestsGreaterThanOne"));
	bool truth;

	if (!yaml_tree_is_null(node) && node->kind != YAML_TREE_MAP)
		return REFUSE(reader, node, "sharing.%s is not a mapping", section->name);
	if (!yaml_tree_is_null(rename) && !yaml_tree_bool(rename, &section->is_renamed))
		return REFUSE(reader, rename, "renameByDefault is neither true nor false");
	if (!yaml_tree_is_null(limit) && !yaml_tree_bool(limit, &truth))
		return REFUSE(reader, limit, "failRequestsGreaterThanOne is neither true nor false");
	if (!yaml_tree_is_null(list) && list->kind != YAML_TREE_LIST)
		return REFUSE(reader, list, "sharing.%s.resources is not a list", section->name);
	if (yaml_tree_is_null(list) || !list->first)
		return REFUSE(reader, list ? list : node, "sharing.%s has no resources",
			      section->name);
	return read_items(reader, list, section);
}

static void take(const struct section *section, int sharing, struct plugin_config *config)
{
	config->sharing = sharing;
	config->shared = section->shared;
	config->is_renamed = section->is_renamed;
	config->dead |= section->dead;
}

static int read_sharing(struct reader *reader, const struct yaml_tree *root)
{
	struct section slices = {.name = "timeSlicing"}, mps = {.name = "mps"};
	const struct yaml_tree *sharing = member(root, "sharing"),
			       *slices_node = member(sharing, "timeSlicing"),
			       *mps_node = member(sharing, "mps");
	bool has_mps = !yaml_tree_is_null(mps_node);
	int stop = check_map(reader, sharing, "sharing");

	if (stop == 0 && slices_node)
		stop = read_section(reader, slices_node, &slices);
	if (stop == 0 && has_mps)
		stop = read_section(reader, mps_node, &mps);
	if (stop != 0)
		return stop;
	if (has_mps)
		take(&mps, PLUGIN_CONFIG_MPS, reader->config);
	else if (slices_node)
		take(&slices, PLUGIN_CONFIG_TIME_SLICING, reader->config);
	if (has_mps && slices_node)
		reader->config->dead |= PLUGIN_CONFIG_DEAD_SLICING;
	return 0;
}

/* Each of them a list of patterns and names, which is read, and then not used. */
static int note_resources(struct reader *reader, const struct yaml_tree *root)
{
	static const char *const names[] = {"gpus", "mig"};
	const struct yaml_tree *resources = member(root, "resources");
	int stop = check_map(reader, resources, "resources");

	for (size_t i = 0; stop == 0 && i < ARRAY_SIZE(names); i++) {
		const struct yaml_tree *list = member(resources, names[i]);

		if (!yaml_tree_is_null(list) && list->kind != YAML_TREE_LIST)
			stop = REFUSE(reader, list, "resources.%s is not a list", names[i]);
		else if (list && list->first)
			reader->config->dead |= PLUGIN_CONFIG_DEAD_RESOURCES;
	}
	return stop;
}

/* The plugin takes no other channels than [] and [0]. Go decodes null as 0. */
static int check_channels(struct reader *reader, const struct yaml_tree *list)
{
	int64_t channel = 0;

	if (yaml_tree_is_null(list))
		return 0;
	if (list->kind != YAML_TREE_LIST)
		return REFUSE(reader, list, "imex.channelIDs is not a list");
	for (const struct yaml_tree *item = list->first; item; item = item->next) {
		bool is_read = yaml_tree_is_null(item) || yaml_tree_i64(item, &channel);

		if (!is_read && may_be_number(item))
			return NOT_READ(reader, item, "a channel is not a decimal number");
		if (!is_read || channel != 0 || item != list->first)
			return REFUSE(reader, item, "imex.channelIDs is neither [] nor [0]");
	}
	return 0;
}

static int check_imex(struct reader *reader, const struct yaml_tree *root)
{
	const struct yaml_tree *imex = member(root, "imex"), *required = member(imex, "required");
	bool truth;
	int stop = check_map(reader, imex, "imex");

	if (stop == 0 && !yaml_tree_is_null(required) && !yaml_tree_bool(required, &truth))
		stop = REFUSE(reader, required, "imex.required is neither true nor false");
	return stop == 0 ? check_channels(reader, member(imex, "channelIDs")) : stop;
}

static int read_root(struct reader *reader, const struct yaml_tree *root)
{
	static int (*const steps[])(struct reader *, const struct yaml_tree *) = {
		read_version, read_flags, note_resources, read_sharing, check_imex};
	int stop = check_map(reader, root, "the configuration");

	for (size_t i = 0; stop == 0 && i < ARRAY_SIZE(steps); i++)
		stop = steps[i](reader, root);
	return stop;
}

/* What could not be parsed: is it the plugin's failure too? */
static int note_failure(struct reader *reader, const struct error *why)
{
	if (why->kind == ERROR_NO_MEMORY) {
		*reader->err = *why;
		return -1;
	}
	return keep(reader, view_from(why->text),
		    why->kind == ERROR_REJECTED ? &reader->config->error
						: &reader->config->unsupported);
}

int plugin_config_doc_decode(struct view name, struct view text, struct arena *arena,
			     struct plugin_config *ret_config, struct error *err)
{
	CLEANUP(arena_deinit) struct arena scratch = {0};
	struct plugin_config config = {0};
	struct reader reader = {arena, &config, err};
	const struct yaml_tree *root;
	struct error why;
	int stop;

	arena_init(&scratch, LIMIT_YAML_ARENA);
	if (yaml_tree_parse(text, &scratch, &root, &why) < 0)
		stop = note_failure(&reader, &why) < 0 ? -1 : 1;
	else
		stop = read_root(&reader, root);
	if (stop < 0)
		return -1;
	*ret_config = stop == 0 ? config
				: (struct plugin_config){.error = config.error,
							 .unsupported = config.unsupported};
	return keep(&reader, name, &ret_config->name);
}
