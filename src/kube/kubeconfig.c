/* SPDX-License-Identifier: Apache-2.0 */

/*
 * libyaml loads the document as nodes. The few keys we know are looked up by name, and all others
 * are ignored. Unsupported keys that would change who we are or where we connect are refused. A
 * controller that silently works under another identity is worse than none.
 */

#include "kube/kubeconfig.h"

#include <assert.h>
#include <string.h>
#include <yaml.h>

#include "base/limits.h"
#include "base/sbuf.h"
#include "wire/base64.h"

#define ARENA_CAP (4u * LIMIT_KUBECONFIG_BYTES)

struct reader {
	yaml_document_t *document;
	struct arena *arena;
	const char *folder;
	struct error *err;
};

/* A key that holds text: where it goes, and how. */
struct text_row {
	const char *key;
	struct view *ret;
	enum { PLAIN, FILE_PATH, BASE64 } how;
};

static void config_deinitp(struct kubeconfig *config)
{
	kubeconfig_deinit(config);
}

void kubeconfig_deinit(struct kubeconfig *config)
{
	arena_deinit(&config->arena);
	*config = (struct kubeconfig){0};
}

/* Nodes. */

static struct view scalar(const yaml_node_t *node)
{
	assert(node->type == YAML_SCALAR_NODE);
	return (struct view){(const char *)node->data.scalar.value, node->data.scalar.length};
}

/* The value of a key; NULL where there is none, or it is null, or the node is no mapping. */
static yaml_node_t *member(const struct reader *reader, const yaml_node_t *map, const char *key)
{
	if (!map || map->type != YAML_MAPPING_NODE)
		return NULL;
	for (yaml_node_pair_t *pair = map->data.mapping.pairs.start;
	     pair < map->data.mapping.pairs.top; pair++) {
		yaml_node_t *name = yaml_document_get_node(reader->document, pair->key);
		yaml_node_t *value = yaml_document_get_node(reader->document, pair->value);
		if (!name || !value || name->type != YAML_SCALAR_NODE ||
		    !view_equal(scalar(name), view_from(key)))
			continue;
		bool is_null = value->type == YAML_SCALAR_NODE &&
			       value->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
			       (scalar(value).len == 0 || view_equal(scalar(value), VIEW("null")) ||
				view_equal(scalar(value), VIEW("~")));
		return is_null ? NULL : value;
	}
	return NULL;
}

static int out_of_room(struct reader *reader)
{
	return error_set(reader->err, ERROR_LIMIT, 0, "kubeconfig: over %u bytes", ARENA_CAP);
}

static int keep(struct reader *reader, struct view text, struct view *ret)
{
	return arena_copy(reader->arena, text, ret) ? 0 : out_of_room(reader);
}

static int keep_path(struct reader *reader, struct view text, struct view *ret)
{
	CLEANUP(sbuf_deinit) struct sbuf path = {0};
	if (text.len == 0 || text.ptr[0] == '/')
		return keep(reader, text, ret);
	sbuf_init(&path, LIMIT_KUBECONFIG_BYTES);
	sbuf_printf(&path, "%s/%.*s", reader->folder, VIEW_ARG(text));
	if (sbuf_check(&path, "path in a kubeconfig", reader->err) != 0)
		return -1;
	return keep(reader, sbuf_view(&path), ret);
}

static int keep_base64(struct reader *reader, const char *key, struct view text, struct view *ret)
{
	CLEANUP(sbuf_deinit) struct sbuf bytes = {0};
	sbuf_init_secret(&bytes, LIMIT_KUBECONFIG_BYTES);
	if (!base64_decode(text, &bytes))
		return error_set(reader->err, ERROR_REJECTED, 0, "kubeconfig: %s is not base64",
				 key);
	return keep(reader, sbuf_view(&bytes), ret);
}

static int read_text(struct reader *reader, const yaml_node_t *map, const struct text_row *row)
{
	const yaml_node_t *node = member(reader, map, row->key);
	if (!node)
		return 0;
	if (node->type != YAML_SCALAR_NODE || memchr(node->data.scalar.value, '\0',
						     node->data.scalar.length))
		return error_set(reader->err, ERROR_REJECTED, 0, "kubeconfig: %s is not a string",
				 row->key);
	switch (row->how) {
	case PLAIN:
		return keep(reader, scalar(node), row->ret);
	case FILE_PATH:
		return keep_path(reader, scalar(node), row->ret);
	case BASE64:
		return keep_base64(reader, row->key, scalar(node), row->ret);
	}
	return 0;
}

static int read_texts(struct reader *reader, const yaml_node_t *map, const struct text_row *rows,
		      size_t n_rows)
{
	for (size_t i = 0; i < n_rows; i++) {
		if (read_text(reader, map, &rows[i]) != 0)
			return -1;
	}
	return 0;
}

/* Fails when the mapping has one of the keys, with what to do instead. */
static int refuse_keys(struct reader *reader, const yaml_node_t *map, const char *const keys[],
		       const char *advice)
{
	for (; *keys; keys++) {
		if (member(reader, map, *keys))
			return error_set(reader->err, ERROR_REJECTED, 0,
					 "kubeconfig: %s is not supported: %s", *keys, advice);
	}
	return 0;
}

/* The part `kind` of the entry of that name in the list `kind` + "s"; the name must be unique. */
static int find_named(struct reader *reader, const char *kind, struct view name,
		      const yaml_node_t **ret)
{
	char list_key[16];
	yaml_node_t *root = yaml_document_get_root_node(reader->document);
	const yaml_node_t *found = NULL;
	assert(strlen(kind) + sizeof("s") <= sizeof(list_key));
	snprintf(list_key, sizeof(list_key), "%ss", kind);
	const yaml_node_t *list = member(reader, root, list_key);
	if (list && list->type == YAML_SEQUENCE_NODE) {
		for (yaml_node_item_t *item = list->data.sequence.items.start;
		     item < list->data.sequence.items.top; item++) {
			yaml_node_t *entry = yaml_document_get_node(reader->document, *item);
			const yaml_node_t *own = member(reader, entry, "name");
			if (!own || own->type != YAML_SCALAR_NODE || !view_equal(scalar(own), name))
				continue;
			if (found)
				return error_set(reader->err, ERROR_REJECTED, 0,
						 "kubeconfig: two %s have the name %.*s", list_key,
						 VIEW_ARG(name));
			found = entry;
		}
	}
	if (!found)
		return error_set(reader->err, ERROR_REJECTED, 0,
				 "kubeconfig: no %s has the name \"%.*s\": see `kubectl config view`",
				 kind, VIEW_ARG(name));
	*ret = member(reader, found, kind);
	return 0;
}

/* The three parts. */

static int check_server(struct reader *reader, struct view *server)
{
	while (view_ends_with(*server, VIEW("/")))
		server->len--;
	bool is_http = view_starts_with(*server, VIEW("https://")) ||
		       view_starts_with(*server, VIEW("http://"));
	if (!is_http)
		return error_set(reader->err, ERROR_REJECTED, 0,
				 "kubeconfig: server must begin with https://, not \"%.*s\"",
				 VIEW_ARG(*server));
	/* Cut in place: the text must end in NUL for its users. */
	return keep(reader, *server, server);
}

static int read_insecure(struct reader *reader, const yaml_node_t *map, struct kubeconfig *config)
{
	struct view text = {NULL, 0};
	const struct text_row row = {"insecure-skip-tls-verify", &text, PLAIN};
	if (read_text(reader, map, &row) != 0)
		return -1;
	config->insecure = view_equal(text, VIEW("true"));
	if (text.len > 0 && !config->insecure && !view_equal(text, VIEW("false")))
		return error_set(reader->err, ERROR_REJECTED, 0,
				 "kubeconfig: %s is neither true nor false", row.key);
	if (config->insecure) {
		config->ca_pem = (struct view){NULL, 0};
		config->ca_file = (struct view){NULL, 0};
	}
	return 0;
}

static int read_cluster(struct reader *reader, const yaml_node_t *map, struct kubeconfig *config)
{
	static const char *const refused[] = {"proxy-url", NULL};
	const struct text_row rows[] = {
		{"server", &config->server, PLAIN},
		{"tls-server-name", &config->tls_server_name, PLAIN},
		{"certificate-authority", &config->ca_file, FILE_PATH},
		{"certificate-authority-data", &config->ca_pem, BASE64},
	};
	if (refuse_keys(reader, map, refused, "connect to the API server directly") != 0 ||
	    read_texts(reader, map, rows, ARRAY_SIZE(rows)) != 0 ||
	    check_server(reader, &config->server) != 0)
		return -1;
	return read_insecure(reader, map, config);
}

static int read_user(struct reader *reader, const yaml_node_t *map, struct kubeconfig *config)
{
	static const char *const plugins[] = {"exec", "auth-provider", NULL};
	static const char *const passwords[] = {"username", "password", NULL};
	static const char *const others[] = {"as", "as-uid", "as-groups", "as-user-extra", NULL};
	const struct text_row rows[] = {
		{"token", &config->token, PLAIN},
		{"tokenFile", &config->token_file, FILE_PATH},
		{"client-certificate", &config->client_cert_file, FILE_PATH},
		{"client-certificate-data", &config->client_cert_pem, BASE64},
		{"client-key", &config->client_key_file, FILE_PATH},
		{"client-key-data", &config->client_key_pem, BASE64},
	};
	if (refuse_keys(reader, map, plugins,
			"no programs are run; use a token, a token file or a client certificate, "
			"for example of a service account") != 0 ||
	    refuse_keys(reader, map, passwords, "use a token or a client certificate") != 0 ||
	    refuse_keys(reader, map, others, "use the credentials of the user itself") != 0 ||
	    read_texts(reader, map, rows, ARRAY_SIZE(rows)) != 0)
		return -1;
	bool has_cert = config->client_cert_pem.len > 0 || config->client_cert_file.len > 0;
	bool has_key = config->client_key_pem.len > 0 || config->client_key_file.len > 0;
	if (has_cert != has_key)
		return error_set(reader->err, ERROR_REJECTED, 0,
				 "kubeconfig: the client %s has no %s",
				 has_cert ? "certificate" : "key",
				 has_cert ? "key" : "certificate");
	return 0;
}

static int read_context(struct reader *reader, const char *wanted, struct kubeconfig *config)
{
	yaml_node_t *root = yaml_document_get_root_node(reader->document);
	const yaml_node_t *context, *cluster, *user = NULL;
	struct view cluster_name = {NULL, 0}, user_name = {NULL, 0};
	const struct text_row current = {"current-context", &config->context, PLAIN};
	const struct text_row rows[] = {
		{"cluster", &cluster_name, PLAIN},
		{"user", &user_name, PLAIN},
		{"namespace", &config->namespace, PLAIN},
	};
	int result = wanted ? keep(reader, view_from(wanted), &config->context)
			    : read_text(reader, root, &current);
	if (result != 0)
		return -1;
	if (config->context.len == 0)
		return error_set(reader->err, ERROR_REJECTED, 0,
				 "kubeconfig: no current-context: set one, or give --context");
	if (find_named(reader, "context", config->context, &context) != 0 ||
	    read_texts(reader, context, rows, ARRAY_SIZE(rows)) != 0 ||
	    find_named(reader, "cluster", cluster_name, &cluster) != 0)
		return -1;
	if (user_name.len > 0 && find_named(reader, "user", user_name, &user) != 0)
		return -1;
	if (read_cluster(reader, cluster, config) != 0)
		return -1;
	return read_user(reader, user, config);
}

static void parser_deinit(yaml_parser_t *parser)
{
	yaml_parser_delete(parser);
}

static void document_deinit(yaml_document_t *document)
{
	yaml_document_delete(document);
}

static int load(struct view text, yaml_document_t *ret_document, struct error *err)
{
	CLEANUP(parser_deinit) yaml_parser_t parser;
	if (!yaml_parser_initialize(&parser))
		return error_no_memory(err);
	const char *input = text.ptr ? text.ptr : "";
	yaml_parser_set_input_string(&parser, (const unsigned char *)input, text.len);
	if (yaml_parser_load(&parser, ret_document))
		return 0;
	memset(ret_document, 0, sizeof(*ret_document));
	if (parser.error == YAML_MEMORY_ERROR)
		return error_no_memory(err);
	return error_set(err, ERROR_REJECTED, 0, "kubeconfig: line %zu: %s",
			 parser.problem_mark.line + 1,
			 parser.problem ? parser.problem : "not YAML");
}

int kubeconfig_parse(struct view text, const char *folder, const char *context,
		     struct kubeconfig *ret_config, struct error *err)
{
	CLEANUP(document_deinit) yaml_document_t document = {0};
	CLEANUP(config_deinitp) struct kubeconfig config = {0};
	struct reader reader = {&document, &config.arena, folder, err};
	arena_init_secret(&config.arena, ARENA_CAP);
	if (text.len > LIMIT_KUBECONFIG_BYTES)
		return error_set(err, ERROR_LIMIT, 0, "kubeconfig: over %u bytes",
				 LIMIT_KUBECONFIG_BYTES);
	if (load(text, &document, err) != 0)
		return -1;
	const yaml_node_t *root = yaml_document_get_root_node(&document);
	if (!root || root->type != YAML_MAPPING_NODE)
		return error_set(err, ERROR_REJECTED, 0, "kubeconfig: not a mapping");
	if (read_context(&reader, context, &config) != 0)
		return -1;
	*ret_config = config;
	config = (struct kubeconfig){0};
	return 0;
}

/* In a pod. */

static int keep_printed(struct reader *reader, struct view *ret, const char *a, const char *b,
			const char *c)
{
	CLEANUP(sbuf_deinit) struct sbuf text = {0};
	sbuf_init(&text, LIMIT_URL);
	sbuf_printf(&text, "%s%s%s", a, b, c);
	if (sbuf_check(&text, "address of the API server", reader->err) != 0)
		return -1;
	return keep(reader, sbuf_view(&text), ret);
}

static int set_in_cluster(struct reader *reader, const char *host, const char *port,
			  struct kubeconfig *config)
{
	CLEANUP(sbuf_deinit) struct sbuf address = {0};
	bool is_ipv6 = strchr(host, ':') != NULL;
	sbuf_init(&address, LIMIT_URL);
	sbuf_printf(&address, "%s%s%s:%s", is_ipv6 ? "[" : "", host, is_ipv6 ? "]" : "", port);
	const char *text = sbuf_text(&address);
	if (!text || sbuf_check(&address, "address of the API server", reader->err) != 0)
		return text ? -1 : error_no_memory(reader->err);
	if (keep_printed(reader, &config->server, "https://", text, "") != 0 ||
	    keep_printed(reader, &config->ca_file, reader->folder, "/ca.crt", "") != 0)
		return -1;
	return keep_printed(reader, &config->token_file, reader->folder, "/token", "");
}

int kubeconfig_in_cluster(const char *host, const char *port, const char *folder,
			  struct view namespace, struct kubeconfig *ret_config, struct error *err)
{
	CLEANUP(config_deinitp) struct kubeconfig config = {0};
	struct reader reader = {NULL, &config.arena, folder, err};
	arena_init_secret(&config.arena, ARENA_CAP);
	if (!host || !*host || !port || !*port)
		return error_set(err, ERROR_REJECTED, 0,
				 "not in a pod (KUBERNETES_SERVICE_HOST and _PORT are not set): "
				 "give a kubeconfig");
	if (set_in_cluster(&reader, host, port, &config) != 0 ||
	    keep(&reader, view_trim(namespace), &config.namespace) != 0 ||
	    keep(&reader, VIEW("in-cluster"), &config.context) != 0)
		return -1;
	*ret_config = config;
	config = (struct kubeconfig){0};
	return 0;
}
