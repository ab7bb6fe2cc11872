/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A flag is a row. kubectl's own flags must be known by name: whether a flag takes a value decides
 * whether the next argument is the name of a pod.
 */

#include "kubectl/invocation.h"

#include <stdio.h>
#include <string.h>

#define DEFAULT_INTERVAL_MS 2000

#define WHY_TAKES "why takes one UUID, or a unique prefix of one, or pod/NAME"

#define AT(member) offsetof(struct invocation, member)
#define IN(verb) (1u << INVOCATION_##verb)
#define OF_DEVICES (IN(FLEET) | FINDING) /* chosen by selectors */
#define FINDING (IN(FAILING) | IN(IDLE) | IN(DRIFT)) /* with --check */
#define PASSED(name, type, abbreviation) {name, OPTION_##type, .take = pass, .letter = abbreviation}

/* Keeps a flag for kubectl. */
static int pass(void *settings, const struct option_row *row, const char *text, struct error *err)
{
	struct invocation *invocation = settings;
	size_t size = strlen(row->name) + strlen(text) + sizeof("--=");
	char *flag = arena_alloc(invocation->arena, size, 1);
	if (!flag)
		return error_no_memory(err);
	snprintf(flag, size, "--%s=%s", row->name, text);
	invocation->passed[invocation->n_passed++] = flag;
	return 0;
}

static const char *const forms[] = {
	[OUTPUT_TABLE] = "table", [OUTPUT_WIDE] = "wide", [OUTPUT_JSON] = "json",
	[OUTPUT_YAML] = "yaml",   [OUTPUT_NAME] = "name", NULL,
};

static const struct option_row rows[] = {
	{"all", OPTION_BOOL, AT(all), .scopes = IN(IDLE), .help = "Also devices that nobody holds."},
	{"all-namespaces", OPTION_BOOL, AT(all_namespaces), .letter = 'A', .scopes = IN(POD),
	 .help = "Pods of all namespaces."},
	{"check", OPTION_BOOL, AT(check), .scopes = FINDING,
	 .help = "Exit status 1 if any is found, 0 if none is, 3 if that is not known. It is not known\n"
		 "      where there is no device. With failing: where the health of a device is unknown.\n"
		 "      With idle: where devices are held, and the activity of none of them is known.\n"
		 "      With drift: where a device is settling, or its drift is unknown."},
	{"controller-namespace", OPTION_TEXT, AT(controller_namespace), .text = "gpu-attribution",
	 .help = "Where the controller is, and its Lease, which says whether one leads."},
	{"field-selector", OPTION_TEXT, AT(field_selector), .scopes = OF_DEVICES,
	 .help = "Devices with these fields only, for example status.sharing.mode=MIG."},
	{"namespace", OPTION_TEXT, AT(namespace), .letter = 'n', .scopes = IN(POD) | IN(WHY),
	 .help = "The namespace of the pods. Without it: that of the current context."},
	{"no-headers", OPTION_BOOL, AT(no_headers), .help = "Tables have no line of headers."},
	{"output", OPTION_CHOICE, AT(form), .letter = 'o', .choices = forms,
	 .help = "table: at most 120 characters wide. wide: all columns, never cut. json, yaml: a\n"
		 "      document for programs. name: the names of the GPUAttributions."},
	{"selector", OPTION_TEXT, AT(selector), .letter = 'l', .scopes = OF_DEVICES | IN(POD),
	 .help = "Devices with these labels only; with pod: the pods with these labels."},
	{"watch", OPTION_BOOL, AT(watch), .letter = 'w',
	 .help = "Shows the table again whenever it has changed, until Ctrl-C, with times instead of\n"
		 "      ages. Puts the same question every --interval; a failure is said and tried again."},
	{"interval", OPTION_DURATION, AT(interval_ms), .low = 1000, .high = 3600000,
	 .help = "With --watch: how long to wait between two questions, 1s to 1h; default 2s."},
	PASSED("as", TEXT, 0),
	PASSED("as-group", TEXT, 0),
	PASSED("as-uid", TEXT, 0),
	PASSED("as-user-extra", TEXT, 0),
	PASSED("cache-dir", TEXT, 0),
	PASSED("certificate-authority", TEXT, 0),
	PASSED("client-certificate", TEXT, 0),
	PASSED("client-key", TEXT, 0),
	PASSED("cluster", TEXT, 0),
	PASSED("context", TEXT, 0),
	PASSED("disable-compression", BOOL, 0),
	PASSED("insecure-skip-tls-verify", BOOL, 0),
	PASSED("kubeconfig", TEXT, 0),
	PASSED("kuberc", TEXT, 0),
	PASSED("log-flush-frequency", TEXT, 0),
	PASSED("match-server-version", BOOL, 0),
	PASSED("password", TEXT, 0),
	PASSED("request-timeout", TEXT, 0),
	PASSED("server", TEXT, 's'),
	PASSED("tls-server-name", TEXT, 0),
	PASSED("token", TEXT, 0),
	PASSED("user", TEXT, 0),
	PASSED("username", TEXT, 0),
	PASSED("v", TEXT, 'v'),
	PASSED("vmodule", TEXT, 0),
	PASSED("warnings-as-errors", BOOL, 0),
};

static int set_verb(struct invocation *invocation, struct view word, struct error *err)
{
	static const char *const words[] = {"pod",    "pods",    "po",  "node",    "nodes", "no",
					    "device", "devices", "gpu", "failing", "idle",  "drift", "why",   NULL};
	static const enum invocation_verb verbs[] = {
		INVOCATION_POD,    INVOCATION_POD,    INVOCATION_POD,    INVOCATION_NODE,
		INVOCATION_NODE,   INVOCATION_NODE,   INVOCATION_DEVICE, INVOCATION_DEVICE,
		INVOCATION_DEVICE, INVOCATION_FAILING, INVOCATION_IDLE,   INVOCATION_DRIFT,
		INVOCATION_WHY};
	struct view shown = {word.ptr, word.len < 60 ? word.len : 60};
	for (size_t i = 0; words[i]; i++) {
		if (!view_equal(word, view_from(words[i])))
			continue;
		if (invocation->verb != INVOCATION_FLEET && invocation->verb != verbs[i])
			return error_set(err, ERROR_REJECTED, 0,
					 "%.*s: all names must be of one kind", VIEW_ARG(shown));
		invocation->verb = verbs[i];
		return 0;
	}
	const char *nearest = option_nearest(word, words);
	return error_set(err, ERROR_REJECTED, 0, "unknown command \"%.*s\", %s%s%s", VIEW_ARG(shown),
			 nearest ? "did you mean " : "use pod, node, device, failing, idle, drift or why",
			 nearest ? nearest : "", nearest ? "?" : "");
}

/* Names in Kubernetes have no other characters, and others would mean something else to kubectl. */
static int add_name(struct invocation *invocation, const char *name, struct error *err)
{
	static const char allowed[] =
		"-.0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	if (!name[0] || name[0] == '-' || name[strspn(name, allowed)])
		return error_set(err, ERROR_REJECTED, 0,
				 "\"%.80s\" is no name: use letters, digits, '-' and '.'", name);
	for (size_t i = 0; i < invocation->n_names; i++) {
		if (strcmp(invocation->names[i], name) == 0)
			return 0;
	}
	invocation->names[invocation->n_names++] = name;
	return 0;
}

/* What is asked about: "pod/NAME"; or "device/UUID". */
static int take_subject(struct invocation *invocation, struct view kind, struct view name,
			struct error *err)
{
	struct invocation subject = {0};
	if (set_verb(&subject, kind, err) != 0)
		return -1;
	if (subject.verb != INVOCATION_POD && subject.verb != INVOCATION_DEVICE)
		return error_set(err, ERROR_REJECTED, 0, WHY_TAKES);
	invocation->is_of_pod = subject.verb == INVOCATION_POD;
	return add_name(invocation, name.len > 0 ? name.ptr : "", err);
}

/* "pod", "pod/NAME", or a name behind a verb. */
static int take_word(void *settings, const char *word, struct error *err)
{
	struct invocation *invocation = settings;
	struct view kind, name;
	bool has_slash = view_cut(view_from(word), VIEW("/"), &kind, &name);
	if (invocation->verb == INVOCATION_WHY && has_slash)
		return take_subject(invocation, kind, name, err);
	if (invocation->verb != INVOCATION_FLEET && !has_slash)
		return add_name(invocation, word, err);
	if (!has_slash && strcmp(word, "help") == 0) {
		invocation->outcome = OPTION_HELP;
		return 0;
	}
	if (set_verb(invocation, kind, err) != 0)
		return -1;
	return has_slash ? add_name(invocation, name.len > 0 ? name.ptr : "", err) : 0;
}

#define MARKS                                                                                      \
	"\n\n\"?\" means not known. A '*' in READY marks a status that is not current: the node's\n" \
	"agent is silent, or a slot has no known pod. A note gives the reason. A note says so,\n"  \
	"too, while no controller leads: all that is shown may be old then.\n\n"                   \
	"Examples:\n"

#define MORE                                                                                       \
	"  --context, --kubeconfig, --cluster, --user, --as, --as-group, --token, -s/--server,\n"  \
	"  --request-timeout and kubectl's other flags for reaching a cluster\n"                   \
	"      Are handed on to kubectl, which is found on PATH or named by $KUBECTL.\n"           \
	"\n"                                                                                       \
	"Exit status:\n"                                                                           \
	"  0    what was asked for was found\n"                                                    \
	"  1    it was not: no such pod, node or device, or no GPU is known for a pod;\n"          \
	"       with --check: something was found\n"                                               \
	"  2    the command line is wrong, or a UUID is ambiguous\n"                               \
	"  3    it is not known: kubectl failed, or something could not be read;\n"                \
	"       with --check also: it is not certain that there is none\n"                         \
	"  130  Ctrl-C ended --watch\n"

#define PROGRAM(of_verb, ...)                                                                      \
	[INVOCATION_##of_verb] = {.name = "kubectl gpus", .version = GPU_ATTRIBUTION_VERSION,      \
				  .rows = rows, .n_rows = ARRAY_SIZE(rows), .more = MORE,          \
				  .scope = IN(of_verb), .take_word = take_word, __VA_ARGS__}

static const struct option_program programs[] = {
	PROGRAM(FLEET,
		.purpose = "Shows which pods hold which physical GPUs: a line for each device, or for "
			   "each\nnode if there are more than 50 devices." MARKS
			   "  kubectl gpus\n"
			   "  kubectl gpus -o wide       # each device, all tenants, PCI address, driver\n"
			   "  kubectl gpus -w            # again whenever something of it has changed\n"
			   "  kubectl gpus --field-selector status.health.state!=Healthy\n"
			   "  kubectl gpus pod train-0 -n ml        # the GPUs of a pod\n"
			   "  kubectl gpus node gpu-a               # the pods on the GPUs of a node\n"
			   "  kubectl gpus device GPU-11ba558d      # all about one GPU; a unique prefix\n"
			   "                                        # of the UUID is enough\n"
			   "  kubectl gpus failing                  # which fail, and who was on them\n"
			   "  kubectl gpus idle                     # which are held and left idle\n"
			   "  kubectl gpus drift                    # what is not as it is intended\n"
			   "  kubectl gpus why pod/train-0 -n ml    # who says so, and by which rule",
		.usage = "kubectl gpus [flags]\n"
			 "       kubectl gpus pod [NAME... | -l SELECTOR] [flags]\n"
			 "       kubectl gpus node [NAME...] [flags]\n"
			 "       kubectl gpus device UUID [flags]\n"
			 "       kubectl gpus failing [flags]\n"
			 "       kubectl gpus idle [--all] [flags]\n"
			 "       kubectl gpus drift [NODE... | UUID...] [flags]\n"
			 "       kubectl gpus why UUID | pod/NAME [flags]\n"),
	PROGRAM(POD,
		.purpose = "Shows which GPUs pods hold: a line for each container and device.\n"
			   "\n"
			   "A pod is identified by its UID: it is never shown with the GPUs of an earlier\n"
			   "pod of its name. For a pod without a GPU a note says why. SLOTS are those of\n"
			   "the container, and those of the device. SHARED counts the other containers on\n"
			   "the device or, with MIG, on the same partition." MARKS
			   "  kubectl gpus pod train-0              # a pod of the current namespace\n"
			   "  kubectl gpus pod train-0 train-1 -n ml -o wide\n"
			   "  kubectl gpus pod -l app=train -n ml\n"
			   "  kubectl gpus pod -A                   # every pod that holds a GPU\n"
			   "  kubectl get -o yaml $(kubectl gpus pod train-0 -o name)",
		.usage = "kubectl gpus pod [NAME... | pod/NAME... | -l SELECTOR] [flags]\n"),
	PROGRAM(NODE,
		.purpose = "Shows the GPUs of nodes: a line for each tenant, and one for each device "
			   "without any." MARKS
			   "  kubectl gpus node gpu-a      # who must go before this node is serviced?\n"
			   "  kubectl gpus node            # all nodes",
		.usage = "kubectl gpus node [NAME... | node/NAME...] [flags]\n"),
	PROGRAM(DEVICE,
		.purpose = "Shows all about one GPU: tenants, former tenants, the evidence for the sharing "
			   "mode,\ndrifts, conditions, and health events with those who held it then.\n"
			   "\n"
			   "A unique prefix of the UUID is enough. The UUID of a MIG partition shows its\n"
			   "device. Holding a device when an error came is not being its cause." MARKS
			   "  kubectl gpus device GPU-11ba558d-3437-2335-2fd8-a78c8502f87f\n"
			   "  kubectl gpus device 11ba",
		.usage = "kubectl gpus device UUID [flags]\n"),
	PROGRAM(FAILING,
		.purpose = "Shows the GPUs that fail, the worst first: Unhealthy, Degraded, then Unknown "
			   "with a\nreason. Within these the one that fails for longest is first.\n"
			   "\n"
			   "ON IT WHEN IT FAILED are the pods that held the GPU at the error event that is the\n"
			   "worst reason. None of them need be its cause. It is \"-\" where that reason is no\n"
			   "event. A '*' behind REASON marks what was known last: the node's agent is silent.\n"
			   "A note counts the GPUs whose health is not known.\n\n"
			   "Examples:\n"
			   "  kubectl gpus failing\n"
			   "  kubectl gpus failing --check          # exit status 1 if any fails\n"
			   "  kubectl gpus failing --field-selector status.nodeName=gpu-a -o wide",
		.usage = "kubectl gpus failing [flags]\n"),
	PROGRAM(IDLE,
		.purpose = "Shows the GPUs that are held and idle, the one that is idle for longest first. "
			   "Of a\nMIG device that works in part: its partitions that are held and idle.\n"
			   "\n"
			   "A GPU that is shared by time or by MPS is idle if none of its tenants computes.\n"
			   "A note counts the GPUs whose activity is not known.\n\n"
			   "Examples:\n"
			   "  kubectl gpus idle\n"
			   "  kubectl gpus idle --all               # also those that nobody holds\n"
			   "  kubectl gpus idle -l team=vision --check",
		.usage = "kubectl gpus idle [--all] [flags]\n"),
	PROGRAM(DRIFT,
		.purpose = "Shows what is not as it is intended, the worst first. Each line has what is "
			   "intended\nand where that is written, what is there and who saw it, and what to do.\n"
			   "\n"
			   "What is intended is in the ClusterPolicy of the GPU operator, in the ConfigMaps that\n"
			   "it names and in the labels of nodes. Some differences need none of these. What is\n"
			   "found once a node is one line. A difference counts after its hold-off: before, it is\n"
			   "pending, and -o wide shows it. A '*' behind TYPE marks what was known last: the\n"
			   "node's agent is silent.\n\n"
			   "Examples:\n"
			   "  kubectl gpus drift\n"
			   "  kubectl gpus drift gpu-a              # of one node\n"
			   "  kubectl gpus drift GPU-11ba558d -o wide\n"
			   "  kubectl gpus drift --check            # exit status 1 if there is any",
		.usage = "kubectl gpus drift [NODE... | UUID...] [flags]\n"),
	PROGRAM(WHY,
		.purpose = "Shows on what each statement about a GPU rests: which witness or source said it, "
			   "when,\nand which row of which table decided. All of it is in the published status. "
			   "Where that\nfits several rows, all of them are shown.\n"
			   "\n"
			   "Of a pod: the same of each GPU that it holds, and of its own tenancy alone.\n\n"
			   "Examples:\n"
			   "  kubectl gpus why GPU-11ba558d\n"
			   "  kubectl gpus why pod/train-0 -n ml\n"
			   "  kubectl gpus why 11ba -o json",
		.usage = "kubectl gpus why UUID | pod/NAME [flags]\n"),
};

/* What does not go together. */
static int check(const struct invocation *invocation, struct error *err)
{
	bool is_pod = invocation->verb == INVOCATION_POD;
	bool is_of_devices = (1u << invocation->verb) & OF_DEVICES;
	bool is_finding = (1u << invocation->verb) & FINDING;
	const char *wrong = NULL;
	if (invocation->selector && !is_pod && !is_of_devices)
		wrong = "-l goes with pod, failing, idle, drift, or without a command";
	else if (invocation->field_selector && !is_of_devices)
		wrong = "--field-selector goes with failing, idle, drift, or without a command";
	else if (invocation->check && !is_finding)
		wrong = "--check goes with failing, idle or drift";
	else if (invocation->all && invocation->verb != INVOCATION_IDLE)
		wrong = "--all goes with idle only";
	else if (is_finding && invocation->verb != INVOCATION_DRIFT && invocation->n_names > 0)
		wrong = "failing and idle take no names: use --field-selector status.nodeName=NODE";
	else if (invocation->check && invocation->watch)
		wrong = "--check ends with an answer: it does not go with --watch";
	else if (invocation->selector && invocation->n_names > 0)
		wrong = "a name and a selector do not go together";
	else if (is_pod && invocation->all_namespaces && invocation->n_names > 0)
		wrong = "a pod is named in one namespace: -A does not go with a name";
	else if (invocation->verb == INVOCATION_DEVICE && invocation->n_names != 1)
		wrong = "device takes one UUID, or a unique prefix of one";
	else if (invocation->verb == INVOCATION_WHY && invocation->n_names != 1)
		wrong = WHY_TAKES;
	else if (invocation->interval_ms > 0 && !invocation->watch)
		wrong = "--interval goes with --watch only";
	else if (invocation->watch && invocation->form != OUTPUT_TABLE &&
		 invocation->form != OUTPUT_WIDE)
		wrong = "--watch shows tables: use -o wide or none; for programs: kubectl get "
			"gpuattributions --watch -o json";
	return wrong ? error_set(err, ERROR_REJECTED, 0, "%s", wrong) : 0;
}

int invocation_parse(char *const *argv, struct arena *arena, struct invocation *ret_invocation,
		     struct error *err)
{
	static char *const no_environment[] = {NULL};
	struct invocation invocation = {.arena = arena};
	enum option_outcome outcome;
	size_t n = 0;
	while (argv[n])
		n++;
	invocation.names = arena_alloc(arena, n, sizeof(char *));
	invocation.passed = arena_alloc(arena, n, sizeof(char *));
	if (!invocation.names || !invocation.passed)
		return error_no_memory(err);
	if (option_parse(&programs[INVOCATION_FLEET], argv, no_environment, &invocation, &outcome,
			 err) != 0)
		return -1;
	if (outcome != OPTION_RUN)
		invocation.outcome = outcome;
	if (invocation.outcome == OPTION_RUN && check(&invocation, err) != 0)
		return -1;
	if (invocation.watch && invocation.interval_ms == 0)
		invocation.interval_ms = DEFAULT_INTERVAL_MS;
	*ret_invocation = invocation;
	return 0;
}

void invocation_render_help(enum invocation_verb verb, struct sbuf *buf)
{
	option_render_help(&programs[verb], buf);
}
