/* SPDX-License-Identifier: Apache-2.0 */

/*
 * GPUAttributions are asked for by their full name, so that no other resource with that name is
 * meant. "--" stands before names. Field selectors for custom resources came with Kubernetes 1.31. An
 * older API server refuses them and is then asked for all objects. The caller chooses from the answer
 * in any case.
 */

#include "kubectl/query.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "kubectl/child.h"
#include "kubectl/printable.h"
#include "wire/rfc3339.h"

#define MAX_ARGUMENTS 32 /* of our own */
#define NAMESPACE_BYTES 256u
#define MAX_NAMES_BYTES (UUID_PREFIX_MAX_DEVICES * 100u)
#define NAMESPACE_FILE "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
#define RESOURCE "gpuattributions.gpuattribution.dev"

/* A command line in the making. */
struct line {
	const char *argv[MAX_ARGUMENTS];
	size_t n;
	const char *const *names; /* what stands behind "--" */
	size_t n_names;
};

void query_init(struct query *query, const char *program, const struct invocation *invocation)
{
	*query = (struct query){.program = program, .invocation = invocation, .what = ""};
	kubectl_error_init(&query->said);
}

void query_deinit(struct query *query)
{
	kubectl_error_deinit(&query->said);
}

static void add(struct line *line, const char *argument)
{
	assert(line->n < MAX_ARGUMENTS);
	line->argv[line->n++] = argument;
}

static void add_option(struct line *line, const char *option, const char *value)
{
	if (!value)
		return;
	add(line, option);
	add(line, value);
}

static int judge(struct query *query, int status, struct error *err)
{
	if (status == 0)
		return 0;
	query->cause = kubectl_error_cause(sbuf_view(&query->said.held));
	return error_set(err, query->cause == KUBECTL_ERROR_FORBIDDEN ? ERROR_DENIED : ERROR_RETRY, 0,
			 "%s failed with exit status %d", query->program, status);
}

/* kubectl's whole command line: our arguments, those handed on, and names behind "--". */
static const char **make_argv(const struct query *query, const struct line *line,
			      struct arena *arena)
{
	const struct invocation *invocation = query->invocation;
	size_t n = 0, room = 3 + line->n + invocation->n_passed + line->n_names;
	const char **argv = arena_alloc(arena, room, sizeof(char *));
	if (!argv)
		return NULL;
	argv[n++] = query->program;
	for (size_t i = 0; i < line->n; i++)
		argv[n++] = line->argv[i];
	for (size_t i = 0; i < invocation->n_passed; i++)
		argv[n++] = invocation->passed[i];
	if (line->n_names > 0)
		argv[n++] = "--";
	for (size_t i = 0; i < line->n_names; i++)
		argv[n++] = line->names[i];
	return argv;
}

static int run(struct query *query, const struct line *line, child_take_fn take, void *context,
	       struct error *err)
{
	CLEANUP(arena_deinit) struct arena arena;
	arena_init(&arena, LIMIT_MIB);
	const char **argv = make_argv(query, line, &arena);
	if (!argv)
		return error_set(err, ERROR_LIMIT, 0, "too many arguments");
	kubectl_error_deinit(&query->said);
	kubectl_error_init(&query->said);
	query->cause = KUBECTL_ERROR_OTHER;
	int status;
	if (child_run(argv, take, context, &query->said, &status, err) != 0) {
		query->is_program_missing = err->kind == ERROR_NOT_FOUND;
		return -1;
	}
	return judge(query, status, err);
}

static int feed_stream(void *context, struct view bytes, struct error *err)
{
	return object_stream_feed(context, bytes, err);
}

static int get(struct query *query, const struct line *line, enum object_stream_form form,
	       object_stream_take_fn take, void *context, struct error *err)
{
	CLEANUP(object_stream_deinit) struct object_stream stream;
	object_stream_init(&stream, form, take, context);
	if (run(query, line, feed_stream, &stream, err) != 0)
		return -1;
	return object_stream_finish(&stream, err);
}

static struct line line_of(struct query *query, const char *resource, const char *what)
{
	struct line line = {0};
	query->what = what;
	add(&line, "get");
	add(&line, resource);
	add_option(&line, "-o", "json");
	return line;
}

int query_devices(struct query *query, const char *narrow, object_stream_take_fn take,
		  void *context, struct error *err)
{
	const struct invocation *invocation = query->invocation;
	struct line line = line_of(query, RESOURCE, "gpuattributions"), narrowed;
	if (invocation->verb != INVOCATION_POD)
		add_option(&line, "-l", invocation->selector);
	add_option(&line, "--field-selector", invocation->field_selector);
	if (!narrow)
		return get(query, &line, OBJECT_STREAM_LIST, take, context, err);
	assert(!invocation->field_selector); /* kubectl takes one */
	narrowed = line;
	add_option(&narrowed, "--field-selector", narrow);
	if (get(query, &narrowed, OBJECT_STREAM_LIST, take, context, err) == 0)
		return 0;
	if (query->cause != KUBECTL_ERROR_FIELD_NOT_SELECTABLE)
		return -1;
	return get(query, &line, OBJECT_STREAM_LIST, take, context, err);
}

int query_device(struct query *query, const char *name, object_stream_take_fn take, void *context,
		 struct error *err)
{
	struct line line = line_of(query, RESOURCE, "gpuattributions");
	add(&line, "--ignore-not-found");
	line.names = &name;
	line.n_names = 1;
	return get(query, &line, OBJECT_STREAM_NAMED, take, context, err);
}

int query_pods(struct query *query, const char *namespace, object_stream_take_fn take, void *context,
	       struct error *err)
{
	const struct invocation *invocation = query->invocation;
	struct line line = line_of(query, "pods", "pods");
	if (invocation->all_namespaces)
		add(&line, "--all-namespaces");
	else
		add_option(&line, "-n", namespace);
	add_option(&line, "-l", invocation->selector);
	if (invocation->n_names > 0)
		add(&line, "--ignore-not-found");
	line.names = invocation->names;
	line.n_names = invocation->n_names;
	return get(query, &line, line.n_names > 0 ? OBJECT_STREAM_NAMED : OBJECT_STREAM_LIST, take, context, err);
}

int query_claims(struct query *query, const char *namespace, object_stream_take_fn take,
		 void *context, struct error *err)
{
	struct line line = line_of(query, "resourceclaims.resource.k8s.io", "resourceclaims");
	if (query->invocation->all_namespaces)
		add(&line, "--all-namespaces");
	else
		add_option(&line, "-n", namespace);
	if (get(query, &line, OBJECT_STREAM_LIST, take, context, err) == 0)
		return 0;
	return query->cause == KUBECTL_ERROR_NOT_INSTALLED ? 0 : -1;
}

static int take_text(void *context, struct view bytes, struct error *err)
{
	struct sbuf *text = context;
	sbuf_append(text, bytes);
	return sbuf_check(text, "what kubectl printed", err);
}

int query_uuids(struct query *query, struct uuid_prefix *ret, struct error *err)
{
	CLEANUP(sbuf_deinit) struct sbuf text;
	struct line line = {0};
	struct view rest, name, kind;
	sbuf_init(&text, MAX_NAMES_BYTES);
	query->what = "gpuattributions";
	add(&line, "get");
	add(&line, RESOURCE);
	add_option(&line, "-o", "name");
	if (run(query, &line, take_text, &text, err) != 0)
		return -1;
	for (rest = view_trim(sbuf_view(&text)); rest.len > 0;) {
		view_cut(rest, VIEW("\n"), &name, &rest);
		view_cut(name, VIEW("/"), &kind, &name);
		if (uuid_prefix_add(ret, name, err) != 0)
			return -1;
	}
	return 0;
}

int query_node(struct query *query, const char *name, bool *ret_is_there, struct error *err)
{
	CLEANUP(sbuf_deinit) struct sbuf text;
	struct line line = {0};
	sbuf_init(&text, LIMIT_KIB);
	query->what = "nodes";
	add(&line, "get");
	add(&line, "nodes");
	add_option(&line, "-o", "name");
	add(&line, "--ignore-not-found");
	line.names = &name;
	line.n_names = 1;
	if (run(query, &line, take_text, &text, err) != 0)
		return -1;
	*ret_is_there = text.len > 0;
	return 0;
}

/* What failed is not what the user asked for: nothing of it is to be explained. */
static int forget(struct query *query, int result)
{
	if (result != 0) {
		sbuf_clear(&query->said.held);
		query->cause = KUBECTL_ERROR_OTHER;
	}
	return result;
}

int query_lease(struct query *query, const char *namespace, const char *name,
		object_stream_take_fn take, void *context, struct error *err)
{
	struct line line = line_of(query, "leases.coordination.k8s.io", "leases");
	add_option(&line, "-n", namespace);
	add(&line, "--ignore-not-found");
	line.names = &name;
	line.n_names = 1;
	return forget(query, get(query, &line, OBJECT_STREAM_NAMED, take, context, err));
}

int query_time(struct query *query, int64_t *ret_ms, struct error *err)
{
	CLEANUP(sbuf_deinit) struct sbuf text;
	struct line line = {0};
	sbuf_init(&text, LIMIT_KIB);
	query->what = "selfsubjectreviews";
	add(&line, "auth");
	add(&line, "whoami");
	add_option(&line, "-o", "jsonpath={.metadata.creationTimestamp}");
	if (forget(query, run(query, &line, take_text, &text, err)) != 0)
		return -1;
	if (!rfc3339_parse(view_trim(sbuf_view(&text)), ret_ms))
		return error_set(err, ERROR_REJECTED, 0, "the API server does not say what time it is");
	return 0;
}

/* Within a pod that has no kubeconfig kubectl uses the namespace of its service account. */
static bool read_own_namespace(struct sbuf *ret)
{
	char text[NAMESPACE_BYTES];
	FILE *file = fopen(NAMESPACE_FILE, "re");
	if (!file)
		return false;
	size_t len = fread(text, 1, sizeof(text), file);
	fclose(file);
	struct view namespace = view_trim((struct view){text, len});
	sbuf_append(ret, namespace);
	return namespace.len > 0;
}

int query_namespace(struct query *query, struct sbuf *ret, struct error *err)
{
	CLEANUP(sbuf_deinit) struct sbuf text;
	struct line line = {0};
	sbuf_init(&text, NAMESPACE_BYTES);
	query->what = "config";
	add(&line, "config");
	add(&line, "view");
	add(&line, "--minify");
	add_option(&line, "-o", "jsonpath={.contexts[0].context.namespace}");
	bool has_context = run(query, &line, take_text, &text, err) == 0;
	if (!has_context && (query->is_program_missing || sbuf_check(&text, "", err) != 0))
		return -1;
	struct view namespace = view_trim(sbuf_view(&text));
	if (has_context && namespace.len > 0)
		sbuf_append(ret, namespace);
	else if (has_context || !read_own_namespace(ret))
		sbuf_append(ret, VIEW("default"));
	return sbuf_check(ret, "namespace", err);
}

static void explain_forbidden(const struct query *query, struct sbuf *text)
{
	if (strcmp(query->what, "gpuattributions") != 0) {
		sbuf_printf(text, "This needs the rights to get and list %s.\n", query->what);
		return;
	}
	sbuf_append(text,
		    VIEW("This needs the rights to get and list gpuattributions of "
			 "gpuattribution.dev, cluster-wide.\nThe ClusterRole gpu-attribution-viewer "
			 "has them (manifests/controller/rbac.yaml) and is part of the role\n"
			 "\"view\" when that is bound cluster-wide. To give them to somebody:\n"
			 "  kubectl create clusterrolebinding gpu-viewer "
			 "--clusterrole=gpu-attribution-viewer --user=NAME\n"));
}

void query_explain(const struct query *query, const struct error *err, struct sbuf *text)
{
	struct view rest = view_trim(sbuf_view(&query->said.held)), line;
	if (query->is_program_missing) {
		sbuf_printf(text, "error: cannot run %s: %s\nIt must be on PATH, or be named by "
				  "the environment variable KUBECTL.\n", query->program, err->text);
		return;
	}
	if (rest.len == 0)
		sbuf_printf(text, "error: %s\n", err->text);
	while (rest.len > 0) {
		view_cut(rest, VIEW("\n"), &line, &rest);
		printable_append(text, line);
		sbuf_append_char(text, '\n');
	}
	if (query->cause == KUBECTL_ERROR_NOT_INSTALLED)
		sbuf_append(text, VIEW("This cluster has no GPUAttributions. Is it the right one? "
				       "(kubectl config current-context)\nTo install GPU Attribution: "
				       "kubectl apply -f manifests/install.yaml\n"));
	if (query->cause == KUBECTL_ERROR_FORBIDDEN)
		explain_forbidden(query, text);
}
