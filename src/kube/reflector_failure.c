/* SPDX-License-Identifier: Apache-2.0 */

#include "kube/reflector_failure.h"

#include <assert.h>

#include "kube/reflector.h"

void reflector_failure_clear(struct reflector_failure *failure)
{
	error_clear(&failure->trouble);
}

void reflector_failure_set(struct reflector_failure *failure, const struct resource *resource,
			   bool is_watch, int status, const struct error *why)
{
	struct error *trouble = &failure->trouble;
	const char *verb = is_watch ? "watch" : "list";
	if (why->kind == ERROR_DENIED && status == 403)
		error_set(trouble, why->kind, 0,
			  "may not %s %s%s%s: grant this verb on it in the %s (%s)", verb,
			  resource->plural, resource->group[0] ? "." : "", resource->group,
			  resource->namespace ? "Role" : "ClusterRole", why->text);
	else if (why->kind == ERROR_DENIED && status == 401)
		error_set(trouble, why->kind, 0,
			  "%s %s: the API server does not accept our token or certificate (%s)",
			  verb, resource->plural, why->text);
	else if (why->kind == ERROR_DENIED)
		error_set(
			trouble, why->kind, 0,
			"%s %s: the server's certificate cannot be verified, check its name and "
			"dates, our CA and clock (%s)",
			verb, resource->plural, why->text);
	else
		error_set(trouble, why->kind, 0, "%s %s: %s", verb, resource->plural, why->text);
}

void reflector_failure_set_absent(struct reflector_failure *failure,
				  const struct resource *resource)
{
	error_set(&failure->trouble, ERROR_NOT_FOUND, 0,
		  "the API server has no %s%s%s of version %s: install the definition",
		  resource->plural, resource->group[0] ? "." : "", resource->group,
		  resource->version);
}

bool reflector_failure_note_refusal(struct reflector_failure *failure, bool is_refusal,
				    uint64_t now)
{
	assert(!failure->is_refused || now >= failure->refused_at);
	if (is_refusal && !failure->is_refused)
		failure->refused_at = now;
	if (is_refusal)
		failure->refused_last_at = now;
	failure->is_refused = is_refusal;
	return is_refusal && now - failure->refused_at >= REFLECTOR_DENIED_MS;
}

void reflector_failure_end_refusal(struct reflector_failure *failure)
{
	failure->is_refused = false;
}

uint64_t reflector_failure_refused_ms(const struct reflector_failure *failure)
{
	return failure->is_refused ? failure->refused_last_at - failure->refused_at : 0;
}
