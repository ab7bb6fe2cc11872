/* SPDX-License-Identifier: Apache-2.0 */

/* Field numbers: generated.proto of k8s.io/api/core/v1, and of meta/v1. */

#include "sim/policies.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "controller/config_watch.h"
#include "lib/kube_bytes.h"
#include "sim/apiserver.h"
#include "sim/clockwork.h"
#include "sim/drifts.h"

#define STREAM UINT64_C(0xa0761d6478bd642f)
#define STREAM_OF_MORE UINT64_C(0xe7037ed1a0b428db)
#define STREAM_OF_LAYOUTS UINT64_C(0x589965cc75374cc3)
#define MAX_FORMER 8 /* values of a key, the last ones */
#define CAP (1u << 20)
#define NAMESPACE "ml" /* the operator's; its validators are there, too */
#define PLENTY 64 /* more than any node's devices make, however they are shared */
#define CONFIG_NAME "plugin-config"
#define MIG_CONFIG_NAME "default-mig-parted-config"
#define MIG_MANAGER_VERSION "v0.13.1" /* it goes by that ConfigMap, where none is named */
#define FIRST_CREATED_S 1767000000 /* before the history; the second comes later, if it comes */

#define N_SHARINGS 8
static const struct policies_sharing sharings[N_SHARINGS] = {
	{.replicas = 1},
	{.replicas = 2},
	{.replicas = 3},
	{.replicas = 2, .is_renamed = true},
	{.replicas = 2, .is_mps = true},
	{.replicas = 3, .is_renamed = true},
	{.replicas = 3, .is_mps = true},
	{.replicas = 1, .is_unsupported = true},
};

struct row {
	int most;
	unsigned chances[4]; /* of the values 1 to 4 at the beginning, of 100 */
};

static const struct row knobs[POLICIES_N_KNOBS] = {
	[POLICIES_FIRST] = {1, {88}},
	[POLICIES_SECOND] = {1, {6}},
	[POLICIES_CLUSTER] = {1, {6}},
	[POLICIES_UNREADABLE] = {1, {4}},
	[POLICIES_STATE] = {2, {70, 8}},
	[POLICIES_VERSION] = {3, {50, 10, 10}},
	[POLICIES_CONFIG] = {1, {60}},
	[POLICIES_DEFAULT] = {3, {50, 10, 5}},
	[POLICIES_SWITCH + POLICIES_DRIVER] = {2, {25, 15}},
	[POLICIES_SWITCH + POLICIES_PLUGIN] = {2, {25, 8}},
	[POLICIES_SWITCH + POLICIES_GFD] = {2, {25, 10}},
	[POLICIES_SWITCH + POLICIES_EXPORTER] = {2, {25, 20}},
	[POLICIES_SWITCH + POLICIES_MIG_MANAGER] = {2, {25, 15}},
	[POLICIES_MAP] = {1, {92}},
	[POLICIES_KEY_A] = {3, {84, 5, 6}},
	[POLICIES_KEY_B] = {3, {50, 10, 10}},
	[POLICIES_SHARING_A] = {N_SHARINGS - 1, {15, 15, 10, 15}},
	[POLICIES_SHARING_B] = {N_SHARINGS - 1, {15, 15, 10, 15}},
	[POLICIES_STRATEGY] = {3, {10, 30, 15}},
	[POLICIES_MIG_CONFIG] = {2, {50, 4}},
	[POLICIES_MIG_MAP] = {2, {85, 5}},
	[POLICIES_BALANCED] = {4, {10, 20, 50, 10}},
};

static const struct row node_knobs[POLICIES_N_NODE_KNOBS] = {
	[POLICIES_LABEL_ALL] = {3, {5, 0, 4}},
	[POLICIES_LABEL + POLICIES_DRIVER] = {3, {90, 0, 2}},
	[POLICIES_LABEL + POLICIES_PLUGIN] = {3, {90, 0, 2}},
	[POLICIES_LABEL + POLICIES_GFD] = {3, {90, 0, 2}},
	[POLICIES_LABEL + POLICIES_EXPORTER] = {3, {88, 0, 6}},
	[POLICIES_LABEL + POLICIES_MIG_MANAGER] = {3, {80, 0, 4}},
	[POLICIES_LABEL_CONFIG] = {3, {15, 10, 3}},
	[POLICIES_LABEL_LAYOUT] = {1, {40}},
	[POLICIES_LABEL_STATE] = {4, {50, 5, 3, 1}},
	[POLICIES_LABEL_UPGRADE] = {4, {40, 3, 2, 2}},
	[POLICIES_LABEL_GPUS] = {2, {85, 6}},
	[POLICIES_ALLOCATABLE] = {1, {92}},
	[POLICIES_POD + POLICIES_DRIVER] = {2, {5, 75}},
	[POLICIES_POD + POLICIES_PLUGIN] = {2, {5, 85}},
	[POLICIES_POD + POLICIES_GFD] = {2, {5, 85}},
	[POLICIES_POD + POLICIES_EXPORTER] = {2, {5, 80}},
	[POLICIES_POD + POLICIES_MIG_MANAGER] = {2, {5, 75}},
	[POLICIES_POD_OF_MPS] = {2, {10, 50}},
	[POLICIES_LAYOUT] = {1, {50}},
};

/* An object that the API server has, or had. */
struct object {
	bool is_known;
	unsigned made; /* how often */
};

static struct prng stream;
static bool is_there;
static int values[POLICIES_N_KNOBS];
static int node_values[WORLD_MAX_NODES][POLICIES_N_NODE_KNOBS];
static bool has_operator[WORLD_MAX_NODES];
static int64_t created_s[2];
static uint64_t denied_at, denied_until;
static bool is_taken_as_read;
static struct object policy_objects[2], cluster_object, config_object, mig_object;
static struct object pod_objects[WORLD_MAX_NODES][POLICIES_N_PODS];
static struct prng stream_of_more;
static bool is_rich;
static uint64_t unnamed_until;
static int64_t failed_s; /* when the first policy became notReady last */

/* What a key meant before: its text, and what that shares. */
static struct key {
	int present; /* value, see meaning_of() */
	struct {
		int value;
		uint64_t until;
	} former[MAX_FORMER];
	unsigned n_former; /* ever */
} of_keys[2];

bool policies_are_there(uint64_t seed)
{
	struct prng prng;

	prng_init(&prng, seed ^ STREAM);
	return prng_between(&prng, 0, 2) == 0;
}

bool policies_are_rich(uint64_t seed)
{
	struct prng prng;

	prng_init(&prng, seed ^ STREAM_OF_MORE);
	return policies_are_there(seed) && prng_between(&prng, 0, 1) == 0;
}

bool policies_have_layouts(uint64_t seed)
{
	struct prng prng;

	prng_init(&prng, seed ^ STREAM_OF_LAYOUTS);
	return policies_are_there(seed) && prng_between(&prng, 0, 1) == 0;
}

static int draw(struct prng *prng, const struct row *row)
{
	uint64_t dice = prng_between(prng, 0, 99);

	for (int i = 0; i < row->most && i < (int)ARRAY_SIZE(row->chances); i++) {
		if (dice < row->chances[i])
			return i + 1;
		dice -= row->chances[i];
	}
	return 0;
}

static void reset_layouts(uint64_t seed)
{
	struct prng prng;
	bool are_edited;

	prng_init(&prng, seed ^ STREAM_OF_LAYOUTS);
	are_edited = prng_between(&prng, 0, 1) == 0;
	for (int i = POLICIES_LAYOUT_KNOBS; is_there && are_edited && i < POLICIES_N_KNOBS; i++)
		values[i] = draw(&prng, &knobs[i]);
	if (!is_there || are_edited)
		return;
	values[POLICIES_MIG_MAP] = POLICIES_MIG_MAP_THERE;
	values[POLICIES_BALANCED] = POLICIES_BALANCED_BY_FILTER;
}

void policies_reset(uint64_t seed)
{
	prng_init(&stream, seed ^ STREAM);
	is_there = prng_between(&stream, 0, 2) == 0;
	memset(values, 0, sizeof(values));
	memset(node_values, 0, sizeof(node_values));
	memset(has_operator, 0, sizeof(has_operator));
	memset(policy_objects, 0, sizeof(policy_objects));
	memset(&cluster_object, 0, sizeof(cluster_object));
	memset(&config_object, 0, sizeof(config_object));
	memset(&mig_object, 0, sizeof(mig_object));
	memset(pod_objects, 0, sizeof(pod_objects));
	denied_at = denied_until = 0;
	created_s[0] = FIRST_CREATED_S;
	created_s[1] = FIRST_CREATED_S + 1;
	for (int i = 0; is_there && i < POLICIES_MORE_KNOBS; i++)
		values[i] = draw(&stream, &knobs[i]);
	prng_init(&stream_of_more, seed ^ STREAM_OF_MORE);
	is_rich = prng_between(&stream_of_more, 0, 1) == 0 && is_there;
	for (int i = POLICIES_MORE_KNOBS; is_rich && i < POLICIES_LAYOUT_KNOBS; i++)
		values[i] = draw(&stream_of_more, &knobs[i]);
	reset_layouts(seed);
	memset(of_keys, 0, sizeof(of_keys));
	unnamed_until = 0;
}

struct policies_sharing policies_sharing(int value)
{
	return sharings[value];
}

bool policies_have_plugin_obey(void)
{
	return is_rich && prng_between(&stream_of_more, 0, 3) > 0;
}

int policies_of(enum policies_knob knob)
{
	return values[knob];
}

int policies_of_node(int node, enum policies_node_knob knob)
{
	return node_values[node][knob];
}

int policies_most(enum policies_knob knob)
{
	return knobs[knob].most;
}

int policies_most_of_node(enum policies_node_knob knob)
{
	return node_knobs[knob].most;
}

const char *policies_name(int policy)
{
	return policy == 0 ? "policy" : "another";
}

/* The oldest, then the lowest name. */
int policies_counts(void)
{
	if (!is_there)
		return apiserver_has_policy() ? 0 : -1;
	if (!values[POLICIES_FIRST] || !values[POLICIES_SECOND])
		return values[POLICIES_FIRST] ? 0 : values[POLICIES_SECOND] ? 1 : -1;
	if (created_s[0] != created_s[1])
		return created_s[0] < created_s[1] ? 0 : 1;
	return strcmp(policies_name(0), policies_name(1)) < 0 ? 0 : 1;
}

bool policies_are_denied(void)
{
	return clockwork_now() < denied_until && !is_taken_as_read;
}

void policies_take_as_read(bool is_on)
{
	is_taken_as_read = is_on;
}

/* For so long the controller goes by what it read before. */
bool policies_were_just_denied(void)
{
	return clockwork_now() < denied_until && clockwork_now() < denied_at + CONFIG_WATCH_WAIT_MS;
}

void policies_deny(uint64_t until)
{
	if (clockwork_now() >= denied_until)
		denied_at = clockwork_now();
	denied_until = until;
	apiserver_deny(APISERVER_CONFIGS, 403, until);
	drifts_look();
}

/* ClusterPolicies */

/* Seconds since 1970, of the years 2025 to 2027, as the API server writes them. */
static void write_time(int64_t at_s, struct sbuf *out)
{
	static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	int64_t days = at_s / 86400 - 20089, of_day = at_s % 86400; /* since 2025 */
	int year = 2025, month = 0;

	for (; days >= 365; days -= 365)
		year++;
	for (; days >= lengths[month]; days -= lengths[month])
		month++;
	sbuf_printf(out, "%d-%02d-%02dT%02d:%02d:%02dZ", year, month + 1, (int)days + 1,
		    (int)(of_day / 3600), (int)(of_day / 60 % 60), (int)(of_day % 60));
}

static void write_enabled(const char *name, enum policies_operand operand, struct sbuf *out)
{
	const int value = values[POLICIES_SWITCH + operand];

	sbuf_printf(out, ",\"%s\":{", name);
	if (value != POLICIES_UNSET)
		sbuf_printf(out, "\"enabled\":%s", value == POLICIES_ON ? "true" : "false");
	else
		sbuf_printf(out, "\"image\":\"x\"");
}

static void write_spec(struct sbuf *out)
{
	static const char *const strategies[] = {"", "none", "single", "mixed"};
	static const char *const versions[] = {"", "580.65.06-ubuntu22.04", "550.90.07", "latest"};
	static const char *const keys[] = {"", "a", "b", "nowhere"};

	sbuf_printf(out, "\"operator\":{\"runtimeClass\":\"nvidia\"}");
	write_enabled("driver", POLICIES_DRIVER, out);
	if (values[POLICIES_VERSION])
		sbuf_printf(out, ",\"version\":\"%s\"", versions[values[POLICIES_VERSION]]);
	sbuf_printf(out, "}");
	write_enabled("devicePlugin", POLICIES_PLUGIN, out);
	if (values[POLICIES_CONFIG])
		sbuf_printf(out, ",\"config\":{\"name\":\"" CONFIG_NAME "\",\"default\":\"%s\"}",
			    keys[values[POLICIES_DEFAULT]]);
	sbuf_printf(out, "}");
	write_enabled("gfd", POLICIES_GFD, out);
	sbuf_printf(out, "}");
	write_enabled("dcgmExporter", POLICIES_EXPORTER, out);
	sbuf_printf(out, "}");
	write_enabled("migManager", POLICIES_MIG_MANAGER, out);
	sbuf_printf(out, ",\"version\":\"" MIG_MANAGER_VERSION "\"");
	if (values[POLICIES_MIG_CONFIG])
		sbuf_printf(out, ",\"config\":{\"name\":\"%s\"}",
			    values[POLICIES_MIG_CONFIG] == POLICIES_OWN ? MIG_CONFIG_NAME : "elsewhere");
	sbuf_printf(out, "}");
	if (values[POLICIES_STRATEGY])
		sbuf_printf(out, ",\"mig\":{\"strategy\":\"%s\"}",
			    strategies[values[POLICIES_STRATEGY]]);
	if (values[POLICIES_UNREADABLE])
		sbuf_printf(out, ",\"toolkit\":{\"enabled\":\"perhaps\"}");
}

int64_t policies_failed_at(void)
{
	return is_rich && values[POLICIES_STATE] == 2 ? failed_s * 1000 : 0;
}

/* What the operator says of the first policy. Where there is more, it dates what is not ready. */
static void write_state(struct sbuf *out)
{
	static const char *const states[] = {"", ",\"state\":\"ready\"", ",\"state\":\"notReady\""};

	sbuf_printf(out, "%s", states[values[POLICIES_STATE]]);
	if (policies_failed_at() == 0)
		return;
	sbuf_printf(out, ",\"conditions\":[{\"type\":\"Error\",\"status\":\"True\","
		    "\"lastTransitionTime\":\"");
	write_time(failed_s, out);
	sbuf_printf(out, "\"}]");
}

static void write_policy(int policy, uint64_t version, struct sbuf *out)
{
	sbuf_printf(out,
		    "{\"apiVersion\":\"nvidia.com/v1\",\"kind\":\"ClusterPolicy\",\"metadata\":{"
		    "\"name\":\"%s\",\"uid\":\"p%d-%u\",\"resourceVersion\":\"%" PRIu64
		    "\",\"creationTimestamp\":\"",
		    policies_name(policy), policy, policy_objects[policy].made, version);
	write_time(created_s[policy], out);
	sbuf_printf(out, "\"},\"spec\":{");
	if (policy == 0)
		write_spec(out);
	else
		sbuf_printf(out, "\"migManager\":{\"version\":\"" MIG_MANAGER_VERSION "\"}");
	sbuf_printf(out, "},\"status\":{\"namespace\":\"" NAMESPACE "\"");
	if (policy == 0)
		write_state(out);
	sbuf_printf(out, "}}");
}

static void write_cluster(uint64_t version, struct sbuf *out)
{
	sbuf_printf(out,
		    "{\"apiVersion\":\"nvidia.com/v1alpha1\",\"kind\":\"GPUCluster\",\"metadata\":{"
		    "\"name\":\"gpu-cluster\",\"uid\":\"c-%u\",\"resourceVersion\":\"%" PRIu64
		    "\"},\"spec\":{}}",
		    cluster_object.made, version);
}

/* The ConfigMap */

static void text_field(struct sbuf *out, uint32_t number, const char *text)
{
	kube_bytes_field(out, number, view_from(text));
}

static void close_field(struct sbuf *out, uint32_t number, struct sbuf *from)
{
	kube_bytes_field(out, number, sbuf_view(from));
	sbuf_deinit(from);
}

static void map_entry(struct sbuf *out, uint32_t number, const char *key, const char *value)
{
	struct sbuf entry;

	sbuf_init(&entry, CAP);
	text_field(&entry, 1, key);
	text_field(&entry, 2, value);
	close_field(out, number, &entry);
}

static void write_metadata(struct sbuf *out, const char *name, const char *uid, uint64_t version,
			   const char *app)
{
	struct sbuf meta;
	char text[24];

	sbuf_init(&meta, CAP);
	snprintf(text, sizeof(text), "%" PRIu64, version);
	text_field(&meta, 1, name);
	text_field(&meta, 3, NAMESPACE);
	text_field(&meta, 5, uid);
	text_field(&meta, 6, text);
	if (app)
		map_entry(&meta, 11, "app", app);
	close_field(out, 1, &meta);
}

static void write_sharing(int value, struct sbuf *text)
{
	const struct policies_sharing sharing = sharings[value];

	sbuf_printf(text, "version: v1\n");
	if (sharing.is_unsupported)
		sbuf_printf(text, "flags: !!map\n  failOnInitError: true\n");
	if (sharing.replicas == 1)
		return;
	sbuf_printf(text, "sharing:\n  %s:\n", sharing.is_mps ? "mps" : "timeSlicing");
	if (sharing.is_renamed)
		sbuf_printf(text, "    renameByDefault: true\n");
	sbuf_printf(text, "    resources:\n    - name: nvidia.com/gpu\n      replicas: &n %d\n",
		    sharing.replicas);
	if (!sharing.is_mps)
		sbuf_printf(text, "    - name: nvidia.com/mig-1g.5gb\n      replicas: *n\n");
}

static void write_key(const char *name, int text, int sharing, struct sbuf *out)
{
	static const char *const texts[] = {
		[POLICIES_INVALID] = "version: v1\nsharing:\n  timeSlicing:\n    resources:\n"
				     "    - {name: nvidia.com/gpu, replicas: four}\n",
		[POLICIES_DEAD] = "version: v1\nresources:\n  gpus:\n  - pattern: '*'\n"
				  "    name: nvidia.com/gpu\n",
	};
	struct sbuf good;

	sbuf_init(&good, CAP);
	write_sharing(sharing, &good);
	sbuf_append_char(&good, '\0');
	if (text)
		map_entry(out, 2, name,
			  text == POLICIES_GOOD ? sbuf_view(&good).ptr : texts[text]);
	sbuf_deinit(&good);
}

static void write_config(uint64_t version, struct sbuf *out)
{
	char uid[24];

	snprintf(uid, sizeof(uid), "m-%u", config_object.made);
	write_metadata(out, CONFIG_NAME, uid, version, NULL);
	write_key("a", values[POLICIES_KEY_A], values[POLICIES_SHARING_A], out);
	write_key("b", values[POLICIES_KEY_B], values[POLICIES_SHARING_B], out);
}

static void write_mig_config(uint64_t version, struct sbuf *out)
{
	static const char *const balanced[] = {
		[POLICIES_NO_BALANCED] = "",
		[POLICIES_BALANCED_OFF] = "  all-balanced:\n  - devices: all\n    mig-enabled: false\n",
		[POLICIES_BALANCED_TWO] = "  all-balanced:\n  - devices: all\n    mig-enabled: true\n"
					  "    mig-devices:\n      1g.5gb: 2\n",
		[POLICIES_BALANCED_THREE] = "  all-balanced:\n  - devices: all\n    mig-enabled: true\n"
					    "    mig-devices:\n      1g.5gb: 3\n",
		[POLICIES_BALANCED_BY_FILTER] =
			"  all-balanced:\n  - device-filter: \"0x20B010DE\"\n    devices: all\n"
			"    mig-enabled: true\n    mig-devices:\n      1g.5gb: 3\n"
			"  - device-filter: [\"0x233010DE\", \"0x233110DE\"]\n    devices: all\n"
			"    mig-enabled: true\n    mig-devices:\n      1g.5gb: 7\n",
	};
	struct sbuf text;
	char uid[24];

	snprintf(uid, sizeof(uid), "l-%u", mig_object.made);
	write_metadata(out, MIG_CONFIG_NAME, uid, version, NULL);
	sbuf_init(&text, CAP);
	sbuf_printf(&text, "version: v1\nmig-configs:\n  all-disabled:\n  - devices: all\n"
			   "    mig-enabled: false\n%s",
		    balanced[values[POLICIES_BALANCED]]);
	sbuf_append_char(&text, '\0');
	map_entry(out, 2, values[POLICIES_MIG_MAP] == POLICIES_MIG_MAP_BROKEN ? "other" : "config.yaml",
		  sbuf_view(&text).ptr);
	sbuf_deinit(&text);
}

/* What a text shares, or -1: it was not in effect, or is not there. Only that counts of a former one. */
static int meaning_of(enum policies_knob text, enum policies_knob sharing)
{
	if (!values[POLICIES_MAP] || !values[text] || values[text] == POLICIES_INVALID)
		return -1;
	return values[text] == POLICIES_GOOD ? values[sharing] : 0;
}

static void note_key(struct key *key, int value)
{
	if (value == key->present)
		return;
	key->former[key->n_former % MAX_FORMER].value = key->present;
	key->former[key->n_former++ % MAX_FORMER].until = clockwork_now();
	key->present = value;
}

static void note_keys(void)
{
	note_key(&of_keys[0], meaning_of(POLICIES_KEY_A, POLICIES_SHARING_A));
	note_key(&of_keys[1], meaning_of(POLICIES_KEY_B, POLICIES_SHARING_B));
}

int policies_former(int key, int n, uint64_t *ret_until)
{
	const struct key *of_key = &of_keys[key == POLICIES_A ? 0 : 1];
	const unsigned back = (unsigned)n + 1;

	if (back > of_key->n_former || back > MAX_FORMER)
		return POLICIES_NO_FORMER;
	*ret_until = of_key->former[(of_key->n_former - back) % MAX_FORMER].until;
	return of_key->former[(of_key->n_former - back) % MAX_FORMER].value;
}

uint64_t policies_unnamed_until(void)
{
	return unnamed_until;
}

/* Pods of the operator */

static void write_ready(struct sbuf *status, bool is_ready)
{
	struct sbuf condition;

	sbuf_init(&condition, CAP);
	text_field(&condition, 1, "Ready");
	text_field(&condition, 2, is_ready ? "True" : "False");
	close_field(status, 2, &condition);
}

static void write_pod(int node, enum policies_operand operand, uint64_t version, struct sbuf *out)
{
	static const char *const apps[] = {
		[POLICIES_MPS] = "nvidia-device-plugin-mps-control-daemon",
		[POLICIES_DRIVER] = "nvidia-driver-daemonset",
		[POLICIES_PLUGIN] = "nvidia-device-plugin-daemonset",
		[POLICIES_GFD] = "gpu-feature-discovery",
		[POLICIES_EXPORTER] = "nvidia-dcgm-exporter",
		[POLICIES_MIG_MANAGER] = "nvidia-mig-manager",
	};
	const unsigned made = pod_objects[node][operand].made;
	struct sbuf spec, status;
	char name[64], uid[48];

	snprintf(name, sizeof(name), "%s-%d-%u", apps[operand], node, made);
	snprintf(uid, sizeof(uid), "%08x-0000-4000-8000-%012x", 0xf0000000u + made,
		 (unsigned)(node * POLICIES_N_PODS) + operand);
	write_metadata(out, name, uid, version, apps[operand]);
	sbuf_init(&spec, CAP);
	text_field(&spec, 10, world.nodes[node].name);
	close_field(out, 2, &spec);
	sbuf_init(&status, CAP);
	text_field(&status, 1, "Running");
	write_ready(&status, node_values[node][POLICIES_POD + operand] == POLICIES_READY);
	close_field(out, 3, &status);
}

/* Telling */

/* NULL: nothing is to be told. */
static const char *change(struct object *object, bool is_there_now, bool was_there)
{
	object->is_known = is_there_now;
	object->made += is_there_now && !was_there;
	return !is_there_now ? "DELETED" : was_there ? "MODIFIED" : "ADDED";
}

static void tell_policy(int policy)
{
	struct object *object = &policy_objects[policy];
	const bool is_there_now = values[policy == 0 ? POLICIES_FIRST : POLICIES_SECOND];
	const bool was_there = object->is_known;
	struct sbuf message;

	if (!is_there_now && !was_there)
		return;
	if (!was_there && clockwork_now() > CLOCKWORK_START_MS)
		created_s[policy] = clockwork_wall(CLOCKWORK_CONTROLLER) / 1000;
	sbuf_init(&message, CAP);
	const char *type = change(object, is_there_now, was_there);
	write_policy(policy, apiserver_next_version(), &message);
	apiserver_log(APISERVER_POLICIES, type, &message);
}

static void tell_cluster(void)
{
	const bool was_there = cluster_object.is_known;
	struct sbuf message;

	if (!values[POLICIES_CLUSTER] && !was_there)
		return;
	sbuf_init(&message, CAP);
	const char *type = change(&cluster_object, values[POLICIES_CLUSTER], was_there);
	write_cluster(apiserver_next_version(), &message);
	apiserver_log(APISERVER_CLUSTERS, type, &message);
}

static void tell_config(void)
{
	const bool was_there = config_object.is_known;
	struct sbuf message;

	if (!values[POLICIES_MAP] && !was_there)
		return;
	sbuf_init(&message, CAP);
	const char *type = change(&config_object, values[POLICIES_MAP], was_there);
	write_config(apiserver_next_version(), &message);
	apiserver_log(APISERVER_CONFIGS, type, &message);
}

static void tell_mig_config(void)
{
	const bool was_there = mig_object.is_known;
	const bool is_there_now = values[POLICIES_MIG_MAP] != POLICIES_NO_MIG_MAP;
	struct sbuf message;

	if (!is_there_now && !was_there)
		return;
	sbuf_init(&message, CAP);
	const char *type = change(&mig_object, is_there_now, was_there);
	write_mig_config(apiserver_next_version(), &message);
	apiserver_log(APISERVER_CONFIGS, type, &message);
}

static void tell_pod(int node, enum policies_operand operand)
{
	struct object *object = &pod_objects[node][operand];
	const bool is_there_now = node_values[node][POLICIES_POD + operand] != POLICIES_NO_POD;
	const bool was_there = object->is_known;
	struct sbuf message;

	if (!is_there_now && !was_there)
		return;
	sbuf_init(&message, CAP);
	const char *type = change(object, is_there_now, was_there);
	write_pod(node, operand, apiserver_next_version(), &message);
	apiserver_log_of(APISERVER_PODS, node, type, &message);
}

void policies_begin(void)
{
	if (!is_there)
		return;
	failed_s = clockwork_wall(CLOCKWORK_CONTROLLER) / 1000;
	tell_policy(0);
	tell_policy(1);
	tell_cluster();
	tell_config();
	tell_mig_config();
	of_keys[0].present = meaning_of(POLICIES_KEY_A, POLICIES_SHARING_A);
	of_keys[1].present = meaning_of(POLICIES_KEY_B, POLICIES_SHARING_B);
}

/* Some nodes are none of the operator's. */
void policies_set_up(int node)
{
	if (!is_there)
		return;
	has_operator[node] = prng_between(&stream, 0, 9) > 0;
	for (int i = 0; has_operator[node] && i < POLICIES_MORE_NODE_KNOBS; i++)
		node_values[node][i] = draw(&stream, &node_knobs[i]);
	for (int i = POLICIES_MORE_NODE_KNOBS; has_operator[node] && is_rich && i < POLICIES_N_NODE_KNOBS;
	     i++)
		node_values[node][i] = draw(&stream_of_more, &node_knobs[i]);
	for (int i = 0; i < POLICIES_N_PODS; i++)
		tell_pod(node, (enum policies_operand)i);
}

void policies_set(enum policies_knob knob, int value)
{
	if (!is_there || values[knob] == value)
		return;
	if (policies_counts() != 0 || !values[POLICIES_CONFIG] || values[POLICIES_UNREADABLE])
		unnamed_until = clockwork_now();
	values[knob] = value;
	if (knob == POLICIES_STATE)
		failed_s = clockwork_wall(CLOCKWORK_CONTROLLER) / 1000;
	if (knob == POLICIES_SECOND)
		tell_policy(1);
	else if (knob == POLICIES_CLUSTER)
		tell_cluster();
	else if (knob == POLICIES_MIG_MAP || knob == POLICIES_BALANCED)
		tell_mig_config();
	else if (knob >= POLICIES_MAP && knob < POLICIES_STRATEGY)
		tell_config();
	else
		tell_policy(0);
	note_keys();
	drifts_look();
}

void policies_set_of_node(int node, enum policies_node_knob knob, int value)
{
	if (!is_there || node_values[node][knob] == value)
		return;
	node_values[node][knob] = value;
	if (knob >= POLICIES_POD && knob <= POLICIES_POD_OF_MPS)
		tell_pod(node, (enum policies_operand)(knob - POLICIES_POD));
	else
		apiserver_put_node(&world.nodes[node]);
	drifts_look();
}

/* Lists */

bool policies_list(struct sbuf *message)
{
	bool is_first = true;

	for (int i = 0; is_there && i < 2; i++) {
		if (!policy_objects[i].is_known)
			continue;
		if (!is_first)
			sbuf_append_char(message, ',');
		write_policy(i, apiserver_version(), message);
		is_first = false;
	}
	return is_there;
}

void policies_list_clusters(struct sbuf *message)
{
	if (cluster_object.is_known)
		write_cluster(apiserver_version(), message);
}

void policies_list_configs(void (*item)(struct sbuf *message, struct sbuf *item),
			   struct sbuf *message)
{
	struct sbuf config;

	if (config_object.is_known) {
		sbuf_init(&config, CAP);
		write_config(apiserver_version(), &config);
		item(message, &config);
	}
	if (mig_object.is_known) {
		sbuf_init(&config, CAP);
		write_mig_config(apiserver_version(), &config);
		item(message, &config);
	}
}

void policies_list_pods(int of_node, void (*item)(struct sbuf *message, struct sbuf *item),
			struct sbuf *message)
{
	struct sbuf pod;

	for (int node = 0; node < world.n_nodes; node++)
		for (int i = 0; i < POLICIES_N_PODS; i++) {
			if (!pod_objects[node][i].is_known || (of_node >= 0 && of_node != node))
				continue;
			sbuf_init(&pod, CAP);
			write_pod(node, (enum policies_operand)i, apiserver_version(), &pod);
			item(message, &pod);
		}
}

int policies_allocatable(const struct world_node *node)
{
	if (!is_there)
		return -1;
	return node_values[node - world.nodes][POLICIES_ALLOCATABLE] ? PLENTY : 0;
}

/* Labels */

typedef void label_fn(struct sbuf *out, uint32_t number, const char *key, const char *value);

static void label_deploys(const int *of_node, label_fn *label, struct sbuf *metadata)
{
	static const char *const operands[] = {
		[POLICIES_DRIVER] = "nvidia.com/gpu.deploy.driver",
		[POLICIES_PLUGIN] = "nvidia.com/gpu.deploy.device-plugin",
		[POLICIES_GFD] = "nvidia.com/gpu.deploy.gpu-feature-discovery",
		[POLICIES_EXPORTER] = "nvidia.com/gpu.deploy.dcgm-exporter",
		[POLICIES_MIG_MANAGER] = "nvidia.com/gpu.deploy.mig-manager",
	};
	static const char *const words[] = {"", "true", "paused-for-driver-upgrade", "false"};

	if (of_node[POLICIES_LABEL_ALL])
		label(metadata, 11, "nvidia.com/gpu.deploy.operands",
		      words[of_node[POLICIES_LABEL_ALL]]);
	for (int i = 0; i < POLICIES_N_OPERANDS; i++)
		if (of_node[POLICIES_LABEL + i])
			label(metadata, 11, operands[i], words[of_node[POLICIES_LABEL + i]]);
}

void policies_label(const struct world_node *node, label_fn *label, struct sbuf *metadata)
{
	static const char *const keys[] = {"", "a", "b", "nowhere"};
	static const char *const states[] = {"", "success", "failed", "pending", "rebooting"};
	static const char *const upgrades[] = {"", "upgrade-done", "upgrade-failed",
					       "upgrade-required", "drain-required"}; /* the last is work */
	const int *of_node = node_values[node - world.nodes];

	if (!is_there)
		return;
	label_deploys(of_node, label, metadata);
	if (of_node[POLICIES_LABEL_CONFIG])
		label(metadata, 11, "nvidia.com/device-plugin.config",
		      keys[of_node[POLICIES_LABEL_CONFIG]]);
	if (of_node[POLICIES_LABEL_LAYOUT])
		label(metadata, 11, "nvidia.com/mig.config",
		      of_node[POLICIES_LAYOUT] ? "all-disabled" : "all-balanced");
	if (of_node[POLICIES_LABEL_STATE])
		label(metadata, 11, "nvidia.com/mig.config.state",
		      states[of_node[POLICIES_LABEL_STATE]]);
	if (of_node[POLICIES_LABEL_UPGRADE])
		label(metadata, 11, "nvidia.com/gpu-driver-upgrade-state",
		      upgrades[of_node[POLICIES_LABEL_UPGRADE]]);
	if (of_node[POLICIES_LABEL_GPUS])
		label(metadata, 11, "nvidia.com/gpu.product",
		      of_node[POLICIES_LABEL_GPUS] == 1 ? "NVIDIA-A100-SXM4-40GB" : "Tesla-T4");
}
