/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "io/file.h"
#include "io/filewatch.h"
#include "io/tls.h"
#include "sim/check.h"
#include "sim/clockwork.h"
#include "sim/kubelet.h"
#include "sim/wire.h"
#include "sim/world.h"

static const char kubeconfig[] = "apiVersion: v1\nkind: Config\ncurrent-context: sim\n"
				 "contexts:\n- {name: sim, context: {cluster: c, user: u}}\n"
				 "clusters:\n- {name: c, cluster: "
				 "{server: 'https://apiserver.sim', "
				 "insecure-skip-tls-verify: true}}\n"
				 "users:\n- {name: u, user: {token: controller}}\n";

struct filewatch {
	struct filewatch *next;
	int node;
	enum host_folder folder;
	filewatch_fn changed;
	void *owner;
};

struct tls_identity {
	int unused;
};

/* A change on its way to the agent. */
struct change {
	int node;
	enum host_folder folder;
	bool appeared;
	char name[64];
};

static struct filewatch *watches;
static uint64_t silent_until[WORLD_MAX_NODES];

static void tell(void *owner, uint64_t number);

void host_reset(void)
{
	clockwork_on_drop(tell, free);
	memset(silent_until, 0, sizeof(silent_until));
}

void host_silence(int node, uint64_t until)
{
	silent_until[node] = until;
}

/* Files */

static bool ends_with(const char *path, const char *end)
{
	return view_ends_with(view_from(path), view_from(end));
}

static int read_checkpoint(struct sbuf *buf, struct error *err)
{
	struct view file;

	switch (kubelet_checkpoint(clockwork_actor, &file)) {
	case KUBELET_FILE_THERE:
		sbuf_append(buf, file);
		return 0;
	case KUBELET_FILE_UNREADABLE:
		return error_set(err, ERROR_RETRY, 0, "Input/output error");
	case KUBELET_FILE_ABSENT:
		break;
	}
	return error_set(err, ERROR_NOT_FOUND, 0, "no such file");
}

int file_read(const char *path, struct sbuf *buf, struct error *err)
{
	if (ends_with(path, HOST_CHECKPOINT))
		return read_checkpoint(buf, err);
	if (ends_with(path, "boot_id"))
		sbuf_printf(buf, "%s\n", world.nodes[clockwork_actor].boot_id);
	else if (ends_with(path, "token"))
		sbuf_printf(buf, "%s", wire_token(clockwork_actor));
	else if (ends_with(path, "kubeconfig"))
		sbuf_printf(buf, "%s", kubeconfig);
	else
		sbuf_printf(buf, "-----BEGIN CERTIFICATE-----\n");
	return sbuf_check(buf, path, err);
}

int __wrap_stat(const char *path, struct stat *ret);
int __wrap_stat(const char *path, struct stat *ret)
{
	uint64_t inode;
	int64_t made_at;

	check(ends_with(path, HOST_SOCKET));
	if (!kubelet_socket(clockwork_actor, &inode, &made_at)) {
		errno = ENOENT;
		return -1;
	}
	memset(ret, 0, sizeof(*ret));
	ret->st_mode = S_IFSOCK | 0600;
	ret->st_ino = inode;
	ret->st_mtim = (struct timespec){made_at / 1000, made_at % 1000 * 1000000};
	return 0;
}

int __wrap_access(const char *path, int mode);
int __wrap_access(const char *path, int mode)
{
	struct stat ignored;

	(void)mode;
	return __wrap_stat(path, &ignored);
}

/* Folders */

int filewatch_new(struct loop *loop, const char *path, filewatch_fn changed, void *owner,
		  struct filewatch **ret_watch, struct error *err)
{
	struct filewatch *watch = calloc(1, sizeof(*watch));

	(void)loop;
	if (!watch)
		return error_no_memory(err);
	watch->node = clockwork_actor;
	watch->folder = strstr(path, "device-plugins") ? HOST_PLUGINS : HOST_SOCKETS;
	watch->changed = changed;
	watch->owner = owner;
	watch->next = watches;
	watches = watch;
	*ret_watch = watch;
	return 0;
}

void filewatch_free(struct filewatch *watch)
{
	struct filewatch **link = &watches;

	if (!watch)
		return;
	while (*link != watch)
		link = &(*link)->next;
	*link = watch->next;
	free(watch);
}

bool filewatch_is_armed(const struct filewatch *watch)
{
	(void)watch;
	return true;
}

static void tell(void *owner, uint64_t number)
{
	struct change *change = owner;

	(void)number;
	for (struct filewatch *watch = watches; watch; watch = watch->next) {
		if (watch->node != change->node || watch->folder != change->folder)
			continue;
		clockwork_actor = watch->node;
		watch->changed(watch->owner, change->appeared ? FILEWATCH_APPEARED : FILEWATCH_GONE,
			       view_from(change->name));
		break;
	}
	free(change);
}

void host_changed(int node, enum host_folder folder, const char *name, bool appeared)
{
	struct change *change;

	if (clockwork_now() < silent_until[node])
		return;
	change = calloc(1, sizeof(*change));
	check(change);
	*change = (struct change){.node = node, .folder = folder, .appeared = appeared};
	snprintf(change->name, sizeof(change->name), "%s", name);
	clockwork_in(1, tell, change, 0);
}

/* Certificates are always good; digests tell bytes apart. */

int tls_identity_new(struct view cert_pem, struct view key_pem,
		     struct tls_identity **ret_identity, struct error *err)
{
	(void)cert_pem, (void)key_pem;
	*ret_identity = calloc(1, sizeof(**ret_identity));
	return *ret_identity ? 0 : error_no_memory(err);
}

int tls_identity_update(struct tls_identity *identity, struct view cert_pem, struct view key_pem,
			struct error *err)
{
	(void)identity, (void)cert_pem, (void)key_pem, (void)err;
	return 0;
}

void tls_identity_replace(struct tls_identity *identity, struct tls_identity *take_other)
{
	(void)identity;
	free(take_other);
}

void tls_identity_free(struct tls_identity *identity)
{
	free(identity);
}

int tls_make_certificate(const struct tls_certificate_request *request, struct sbuf *ret_cert_pem,
			 struct sbuf *ret_key_pem, struct error *err)
{
	(void)request, (void)ret_cert_pem, (void)ret_key_pem;
	return error_set(err, ERROR_REJECTED, 0, "none are made here");
}

int tls_certificate_begin(struct view cert_pem, int64_t *ret_begin, struct error *err)
{
	(void)cert_pem, (void)err;
	*ret_begin = 0;
	return 0;
}

int tls_certificate_end(struct view cert_pem, int64_t *ret_end, struct error *err)
{
	(void)cert_pem, (void)err;
	*ret_end = INT64_MAX;
	return 0;
}

static uint64_t mix(uint64_t hash, struct view bytes)
{
	for (size_t i = 0; i < bytes.len; i += sizeof(hash)) {
		size_t left = bytes.len - i;
		uint64_t word = 0;

		memcpy(&word, bytes.ptr + i, left < sizeof(word) ? left : sizeof(word));
		hash = (hash ^ word ^ hash >> 31) * UINT64_C(0x9e3779b97f4a7c15);
	}
	return hash ^ bytes.len;
}

/* A quick hash, spread over the digest: enough to tell a history's texts apart. */
int tls_digest_parts(const struct view *parts, size_t n_parts,
		     unsigned char ret[static TLS_DIGEST_SIZE], struct error *err)
{
	uint64_t hash = UINT64_C(14695981039346656037);

	for (size_t p = 0; p < n_parts; p++)
		hash = mix(hash, parts[p]);
	for (unsigned lane = 0; lane < TLS_DIGEST_SIZE / sizeof(hash); lane++) {
		memcpy(ret + sizeof(hash) * lane, &hash, sizeof(hash));
		hash = (hash ^ hash >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
	}
	(void)err;
	return 0;
}

int tls_digest(struct view bytes, unsigned char ret[static TLS_DIGEST_SIZE], struct error *err)
{
	return tls_digest_parts(&bytes, 1, ret, err);
}
