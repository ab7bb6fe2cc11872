/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The input is a program. Objects of a small API server come, change and go, and time passes. The server
 * answers well or badly, in pieces of any size, and answers are cut. Behind the program it answers well, and
 * nothing changes. Here are the server and the steps; reflector_judge.inc has the reflector and its store.
 * The first byte chooses the encoding, the form of the first list and what versions look like, the second
 * the seed of the jitter. Of a step the first byte is the kind, the second an operand.
 *
 * What holds:
 * - each event and object is told once, with the bytes that complete it, and nothing else is;
 * - a complete state is told exactly when one has come. Then the store has what the server had at that
 *   version, and after each event what it had at that one;
 * - a watch asks for what comes after all that was told, and a list for nothing older;
 * - one request is under way at a time, and no answer is given up before its time;
 * - a request follows the last one at once only where that has brought something, or where another form is
 *   tried. Else it follows after a back-off that doubles;
 * - what is said to be followed, synced, absent or denied is so;
 * - in the end the store has what the server has, and there is no trouble.
 *
 * A restored server gives no object a version that this object had before (object_history.c), and takes
 * no token of a page from before. It has not reached the version that a watch goes on from.
 */

#include "fuzz/reflector_judge.inc"

#include "lib/kube_bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX_STEPS 400
#define PAGE_SIZE 2u
/* Until all is well: a list that fails is waited for, and then there is one. */
#define SETTLE_MS 110000u
/* The same for a server that was restored: a watch in vain to its end, and a second one. */
#define SETTLE_RESTORED_MS 900000u

static const struct resource pods = {"", "v1", "pods", "Pod", RESOURCE_PROTOBUF, NULL};
static const struct resource things = {"a.b", "v1", "things", "Thing", RESOURCE_JSON, NULL};

/* The server does as it should */

static void refuse_version(int code, const char *cause)
{
	const struct kube_bytes_status status = {.code = code, .reason = "Expired", .message = "told",
						 .cause_reason = cause, .cause_message = "told"};
	kube_bytes_status(&body.bytes, body.resource->encoding, &status);
	answer(code, 0, true);
}

static unsigned count(const struct object_state states[N_NAMES])
{
	unsigned n = 0;
	for (unsigned name = 0; name < N_NAMES; name++)
		n += states[name].serial > 0;
	return n;
}

/* A list, or a page of it, of the state of this version. */
static void answer_list(uint64_t version, bool is_of_others)
{
	char token[MARKED_BODY_TEXT];
	unsigned limit = exchange.page_end, first = exchange.form == FORM_PAGE ? page_end : 0;
	object_history_at(&history, version, exchange.states);
	bool is_last = limit == 0 || first + limit >= count(exchange.states);
	snprintf(token, sizeof(token), "%llu", (unsigned long long)version);
	const struct marked_body_list list = {
		.version = version,
		.objects = exchange.states,
		.first = first,
		.n = limit > 0 ? limit : N_NAMES,
		.continue_token = is_last ? NULL : token,
		.is_of_others = is_of_others,
	};
	marked_body_list(&body, &list);
	exchange.is_of_others = is_of_others;
	exchange.sent = version;
	exchange.page_end = is_last ? 0 : first + limit;
	exchange.may_be_rejected |= is_of_others;
	answer(200, 0, true);
}

/* In an order of its own. */
static void answer_stream(uint64_t version, unsigned from)
{
	object_history_at(&history, version, exchange.states);
	for (unsigned i = 0; i < N_NAMES; i++) {
		unsigned name = (from + i * 5) % N_NAMES;
		const struct object_history_change change = {OBJECT_HISTORY_ADDED, name, false,
							     exchange.states[name]};
		if (change.state.serial > 0)
			marked_body_event(&body, &change);
	}
	exchange.sent = version;
	answer(200, 0, true);
}

static void answer_watch(bool tells_by_event)
{
	if (exchange.version >= history.compacted) {
		exchange.sent = exchange.version;
		answer(200, 0, true);
		return;
	}
	exchange.may_be_expired = true;
	if (tells_by_event) {
		marked_body_error(&body, 410, 0);
		answer(200, 0, true);
		return;
	}
	refuse_version(410, NULL);
}

/* A server whose cache lags may answer a list with anything that is not older than was asked for. */
static uint64_t version_of_list(unsigned lag)
{
	if (exchange.version == 0)
		return history.version;
	return history.version - (history.version - exchange.version) * lag / 3;
}

static void answer_well(uint8_t how)
{
	if (!exchange.is_busy || exchange.is_answered)
		return;
	bool is_too_new = exchange.version > history.version;
	if (exchange.form == FORM_WATCH)
		answer_watch(how & 1u);
	else if (exchange.form == FORM_PAGE)
		page_version < history.compacted || is_page_lost
			? refuse_version(410, NULL)
			: answer_list(page_version, false);
	else if (is_too_new)
		refuse_version(504, "ResourceVersionTooLarge");
	else if (exchange.form == FORM_STREAM)
		answer_stream(version_of_list(how & 3u), how >> 2);
	else
		answer_list(version_of_list(how & 3u), (how & 0xf0u) == 0xf0u);
}

static bool can_send(void)
{
	return exchange.is_busy && exchange.is_good && is_watch() &&
	       marked_body_has_room(&body) &&
	       (body.n_marks == 0 || body.marks[body.n_marks - 1].part != MARKED_BODY_FAULT);
}

/* Events that the watch has not been sent. */
static void send_events(unsigned n)
{
	const struct object_history_change *change;
	while (n-- > 0 && can_send() && (change = object_history_after(&history, exchange.sent))) {
		marked_body_event(&body, change);
		exchange.sent = change->state.version;
	}
}

/* All events up to the version of a bookmark come before it. */
static void send_bookmark(bool is_end)
{
	if (!can_send() || exchange.sent > history.version)
		return;
	if (!object_history_after(&history, exchange.sent))
		exchange.sent = history.version;
	marked_body_bookmark(&body, exchange.sent, is_end);
	exchange.sends_initial = exchange.sends_initial && !is_end;
}

/* Events that were sent before, from one that is n before the last. */
static void send_again(unsigned n)
{
	size_t first = history.n_changes;
	if (!can_send() || exchange.sends_initial || is_opaque || is_restored())
		return;
	for (; first > 0 && n > 0; first--)
		n -= history.changes[first - 1].state.version <= exchange.sent;
	for (; first < history.n_changes && can_send(); first++)
		if (!history.changes[first].is_lost &&
		    history.changes[first].state.version <= exchange.sent)
			marked_body_event(&body, &history.changes[first]);
}

/* Answers, and whatever there is comes, in pieces of this size. */
static void serve(uint8_t how, size_t piece)
{
	const unsigned serial = exchange.serial;
	answer_well(how);
	send_events(N_NAMES);
	if (exchange.sends_initial)
		send_bookmark(true);
	feed_in_pieces(piece);
	if (exchange.is_busy && exchange.is_answered && exchange.serial == serial &&
	    !(exchange.is_good && is_watch()))
		end_exchange(NULL);
}

/* The server does not */

static void answer_badly(uint8_t how)
{
	static const struct {
		int status;
		int retry_after_s;
		bool is_of_others; /* of 200: of another type */
	} rows[] = {{500}, {503}, {503, 1}, {429}, {429, 1}, {429, 2}, {410}, {504},
		    {401}, {403}, {403}, {404}, {400}, {422}, {302}, {200, 0, true}};
	const unsigned row = how % ARRAY_SIZE(rows);
	const struct kube_bytes_status status = {
		.code = rows[row].status,
		.reason = "Told",
		.message = how & 64u ? "Too large resource version: 9" : "told",
		.retry_after_s = how & 128u ? rows[row].retry_after_s : 0,
	};
	const uint32_t retry_ms = (uint32_t)rows[row].retry_after_s * 1000;
	if (!exchange.is_busy || exchange.is_answered)
		return;
	if (how & 16u)
		kube_bytes_status(&body.bytes, body.resource->encoding, &status);
	else if (how & 32u)
		sbuf_append(&body.bytes, VIEW("<html>no</html>"));
	exchange.retry_ms = retry_ms;
	answer(rows[row].status, how & 128u ? 0 : retry_ms, !rows[row].is_of_others);
}

static void send_nonsense(uint8_t how)
{
	static const int codes[] = {410, 500, 429, 403, 404};
	if (!can_send())
		return;
	if (how & 128u) {
		send_again(1 + how % 4);
		return;
	}
	if (how < 64) {
		marked_body_useless(&body, how);
		return;
	}
	const int code = codes[how % ARRAY_SIZE(codes)];
	exchange.may_be_expired |= code == 410;
	exchange.may_be_denied |= code == 403;
	exchange.may_be_rejected = true; /* a stream is then listed */
	if (code == 429)
		exchange.retry_ms = 1000;
	if (how & 32u)
		marked_body_broken(&body);
	else
		marked_body_error(&body, code, code == 429);
}

static void cut(uint8_t how)
{
	struct error error;
	if (!exchange.is_busy)
		return;
	error_set(&error, how & 1u ? ERROR_DENIED : ERROR_RETRY, 0, "cut");
	end_exchange(&error);
}

/* Its connections end, and it has what it had before. */
static void restore(uint8_t how)
{
	uint64_t version = history.version > how % 8u ? history.version - how % 8u : 0;
	if (is_opaque)
		return;
	if (version < history.compacted)
		version = history.compacted;
	object_history_restore(&history, version);
	look_at_ceiling();
	cut(0);
	is_page_lost = true;
}

/* Something else has shortened the wait, perhaps. */
static void look_at_wait(uint64_t at)
{
	struct reflector_request request;
	if (exchange.is_busy || at >= waits_until)
		return;
	assert(reflector_next(reflector, now, &request) == REFLECTOR_WAIT);
	assert(request.wait_until == at || request.wait_until == waits_until);
	waits_until = request.wait_until;
}

static void hasten(uint8_t how)
{
	const enum reflector_haste haste = (enum reflector_haste)(how % 3u);
	const uint64_t at = now + 1 + how;
	reflector_hasten(reflector, at, haste);
	forbidden_at = 0;
	if (haste == REFLECTOR_BACK) {
		has_progress = true;
		n_backoffs = 0;
	}
	look_at_wait(at);
}

static void look_again(uint8_t how)
{
	struct reflector_request request;
	reflector_look_again(reflector, how & 1u ? 1000 : ABSENT_RETRY_MS, now);
	if (!is_absent || exchange.is_busy)
		return;
	waits_until = now;
	assert(reflector_next(reflector, now, &request) == REFLECTOR_REQUEST);
	begin_exchange(&request);
}

/* The program */

struct program {
	const uint8_t *at, *end;
};

static uint8_t next_byte(struct program *program)
{
	return program->at < program->end ? *program->at++ : 0;
}

static void take_rare_step(uint8_t how)
{
	switch (how % 4) {
	case 0:
		restore(how / 4);
		break;
	case 1:
		hasten(how / 4);
		break;
	case 2:
		look_again(how / 4);
		break;
	default:
		refuses_next = true;
	}
}

/* What the server has. */
static bool take_step_of_objects(unsigned kind, uint8_t how)
{
	switch (kind) {
	case 0:
		object_history_put(&history, how % N_NAMES);
		return true;
	case 1:
		object_history_delete(&history, how % N_NAMES);
		return true;
	case 2:
		object_history_pass(&history, 1 + how % 4u);
		return true;
	case 3:
		object_history_compact(&history, history.version - (how % 4u < history.version ? how % 4u : 0));
		return true;
	default:
		return false;
	}
}

static void take_step_of_answers(unsigned kind, uint8_t how)
{
	switch (kind) {
	case 4:
		serve(how, how ? how : SIZE_MAX);
		break;
	case 5:
		answer_well(how);
		break;
	case 6:
		answer_badly(how);
		break;
	case 7:
		feed(how);
		break;
	case 8:
		feed_in_pieces(1u + how);
		break;
	case 9:
		send_events(1 + how % 4u);
		break;
	case 10:
		send_bookmark(how & 1u);
		break;
	case 11:
		send_nonsense(how);
		break;
	case 12:
		if (exchange.is_busy && exchange.is_answered)
			end_exchange(NULL);
		break;
	default:
		cut(how);
	}
}

static void take_step(struct program *program)
{
	const unsigned kind = next_byte(program) % 16;
	const uint8_t how = next_byte(program);
	if (take_step_of_objects(kind, how))
		return;
	if (kind == 14)
		now += UINT64_C(1) << how % 20;
	else if (kind == 15)
		take_rare_step(how);
	else
		take_step_of_answers(kind, how);
}

/* All that there is has been sent, and the watch is open. */
static bool is_settled(void)
{
	return exchange.is_busy && exchange.is_good && is_watching() && !is_restored() &&
	       exchange.n_fed == body.bytes.len && exchange.sent == position &&
	       !object_history_after(&history, exchange.sent);
}

static bool is_served(void)
{
	return !exchange.is_busy ||
	       (exchange.is_good && is_watching() && exchange.n_fed == body.bytes.len &&
		!object_history_after(&history, exchange.sent));
}

/* The server answers well from now on, and nothing changes. */
static void settle(void)
{
	const uint64_t until = now + (is_restored() ? SETTLE_RESTORED_MS : SETTLE_MS);
	struct reflector_request request;
	refuses_next = false;
	while (!is_settled()) {
		if (!is_served()) {
			serve(0, SIZE_MAX);
		} else {
			(void)reflector_next(reflector, now, &request);
			now = request.wait_until;
		}
		turn();
		check_all();
		assert(now <= until);
	}
	assert(is_synced && is_followed && !is_denied && !is_replacing && !needs_list);
	assert(reflector_trouble(reflector)[0] == '\0');
	for (unsigned name = 0; name < N_NAMES; name++)
		assert(told[name].serial == history.objects[name].serial);
}

static void forget(void)
{
	now = 1000000;
	position = page_version = forbidden_at = waits_until = n_useless = 0;
	page_end = n_backoffs = n_exchanges = 0;
	is_page_lost = is_replacing = needs_list = is_synced = is_absent = is_followed = is_denied = false;
	was_listed = has_progress = has_tried_whole = refuses_next = said_followed = false;
	exchange = (struct exchange){0};
	memset(told, 0, sizeof(told));
	for (unsigned name = 0; name < N_NAMES; name++)
		snprintf(records[name].name, sizeof(records[name].name), "object-%u", name);
}

static void start(uint8_t form, uint8_t seed)
{
	static const enum reflector_initial initials[] = {REFLECTOR_LIST, REFLECTOR_STREAM,
							  REFLECTOR_PAGES, REFLECTOR_STREAM};
	const struct resource *resource = form & 1u ? &things : &pods;
	has_absent = !(form & 8u);
	is_opaque = form & 16u;
	const struct reflector_sink sink = {NULL, on_begin, on_end, on_object,
					    has_absent ? on_absent : NULL, on_denied, on_followed};
	const struct reflector_config config = {resource, initials[form >> 1 & 3u], PAGE_SIZE,
						ABSENT_RETRY_MS, seed};
	struct error err;
	forget();
	object_history_init(&history);
	for (unsigned name = 0; name < form >> 5 && name < N_NAMES; name++)
		object_history_put(&history, name);
	marked_body_init(&body, resource, is_opaque);
	store_init(&store, key_of);
	if (reflector_new(&config, &sink, &reflector, &err) != 0)
		abort();
}

static void stop(void)
{
	reflector_free(reflector);
	store_deinit(&store);
	marked_body_deinit(&body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct program program = {data, data + size};
	const uint8_t form = next_byte(&program);
	start(form, next_byte(&program));
	for (unsigned n = 0; n < MAX_STEPS && program.at < program.end; n++) {
		turn();
		take_step(&program);
		check_all();
	}
	turn();
	settle();
	stop();
	return 0;
}
