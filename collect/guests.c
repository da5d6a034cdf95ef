/* SPDX-License-Identifier: MIT */
#include "collect/collect_parts.h"
#include "process/proc.h"
#include "notes.h"

#include "base/array.h"
#include "base/hash_table.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* how many batches of guests collect_receive() takes: enough to empty a full socket (somaxconn) */
#define TURNS_MAX    64
#define LABELS_BYTES 1000 /* maximum length of all labels, so that they fit into a note */
/* mappings of a member: first chunk, stream's columns, writing thread's stack and guard page */
#define MEMBER_MAPPINGS 4

/* ---- indexes ---- */

static struct member **index_place(struct collector *collector, enum member_index index,
				   uint64_t value)
{
	return &collector->index[index][hash_two(0, index, value) % INDEX_PLACES];
}

static void take_out(struct collector *collector, struct member *member, enum member_index index)
{
	struct member **at = index_place(collector, index, member->indexed[index]);

	while (*at && *at != member)
		at = &(*at)->next[index];
	if (*at)
		*at = member->next[index];
}

void collect_index(struct collector *collector, struct member *member)
{
	const uint64_t values[MEMBER_INDEXES] = {
		[BY_PID] = (uint32_t)member->hello.pid,
		[BY_OUR_PID] = (uint32_t)member->watch.our_pid,
		[BY_KEY] = collect_key(member->hello.key),
	};

	for (int i = 0; i < MEMBER_INDEXES; i++) {
		struct member **at = index_place(collector, i, values[i]);

		take_out(collector, member, i);
		member->indexed[i] = values[i];
		member->next[i] = *at;
		*at = member;
	}
}

void collect_index_remove(struct collector *collector, struct member *member)
{
	for (int i = 0; i < MEMBER_INDEXES; i++)
		take_out(collector, member, i);
}

struct member *collect_find(const struct collector *collector, enum member_index index,
			    uint64_t value, const struct member *last)
{
	struct member *member =
		last ? last->next[index]
		     : *index_place((struct collector *)(uintptr_t)collector, index, value);

	while (member && member->indexed[index] != value)
		member = member->next[index];
	return member;
}

/* ---- the stream of a process ---- */

struct sink_options collect_options(const struct collector *collector)
{
	return (struct sink_options){
		.place = &collector->place,
		.force = collector->settings.force,
		.waits_for_room = *collector->settings.keep,
		.prefers_htr = collector->settings.format == FORMAT_HTR,
		.first = !collector->any,
		.inherited = collector->inherited,
		.begun = collector->begun,
	};
}

/* Opens a sink for the stream, or begins the stream in the bundle, one file for all streams. */
static void open_sink(struct collector *collector, struct member *member)
{
	struct sink_options options = collect_options(collector);
	struct stream *stream = member->stream;
	struct error err = { 0 };

	options.program = member->hello.name;
	options.pid = member->hello.pid;
	if (!collector->bundle && options.first && collector->first.fd >= 0) {
		stream->sink = collector->first;
		collector->first.fd = -1;
	} else if (!collector->bundle && sink_open(&stream->sink, &options, &err) < 0) {
		stream_break(stream, &err);
		collect_tell_failure(collector, stream);
	}
	stream->sink.heartbeat = &collector->shared.control->heartbeat;
	stream->wake = &collector->shared.control->sleeping;
	/* a single output file gets all streams; in a directory, each process has a file */
	if (!collector->any && stream->sink.regular && stream->sink.is_htr &&
	    (collector->place.form == SINK_FILE || !*collector->place.out))
		collector->bundle = bundle_create(&stream->sink);
	if (!collector->bundle)
		return;
	stream->bundle = bundle_begin(collector->bundle);
	stream->sink = *bundle_sink(collector->bundle);
	stream->sink.fd = -1;
}

static bool same_key(const uint64_t a[2], const uint64_t b[2])
{
	return a[0] == b[0] && a[1] == b[1];
}

/* Returns the parent's stream, by the number or key in the child's message; or WIRE_NO_STREAM. */
static uint32_t parent_stream(const struct collector *collector, const struct arena_hello *hello)
{
	const struct member *member = NULL;

	if (!hello->parent[0] && !hello->parent[1])
		return WIRE_NO_STREAM;
	if (hello->parent_stream < collector->next_stream)
		return hello->parent_stream;
	while ((member = collect_find(collector, BY_KEY, collect_key(hello->parent), member)))
		if (same_key(member->hello.key, hello->parent))
			return member->number;
	for (uint32_t i = 0; i < ANCESTORS; i++)
		if (same_key(collector->ancestors[i].key, hello->parent))
			return collector->ancestors[i].number;
	return WIRE_NO_STREAM;
}

/* Writes a note at the start of the stream, if the note has any values. */
static void say_at_start(struct member *member, const char *name, const struct facts *facts)
{
	if (facts->count)
		facts_write(facts, member->stream,
			    (struct encode_note){ .name = name, .time = member->hello.start });
}

/* Copies the process's rank from its environment; "": unknown. Ranks may differ within a run. */
static void find_rank(int32_t pid, char *rank, size_t size)
{
	static const char *const names[] = { RANK_VARIABLES };
	int fd = pid ? proc_open(pid, 0, "environ") : -1;
	FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
	char *entry = NULL;
	size_t room = 0, best = sizeof(names) / sizeof(*names);

	*rank = '\0';
	while (file && getdelim(&entry, &room, '\0', file) > 0)
		for (size_t i = 0; i < best; i++) {
			size_t length = strlen(names[i]);
			const char *value = entry + length + 1;

			if (strncmp(entry, names[i], length) != 0 || entry[length] != '=' ||
			    !*value || value[strspn(value, "0123456789")] || strlen(value) >= size)
				continue;
			strcpy(rank, value);
			best = i;
		}
	free(entry);
	if (file)
		fclose(file);
	else if (fd >= 0)
		close(fd);
}

/* Writes the run's labels. The library does not check that they are NAME=VALUE,NAME=VALUE. */
static void say_labels(const struct collector *collector, struct member *member)
{
	struct facts facts = { .count = 0 };
	char labels[LABELS_BYTES + 1], rank[12], *save = NULL;
	bool is_node = false, has_rank = false;

	snprintf(labels, sizeof(labels), "%.*s", LABELS_BYTES, collector->settings.labels);
	for (char *label = strtok_r(labels, ",", &save); label && facts.count < FACTS_MAX;
	     label = strtok_r(NULL, ",", &save)) {
		char *value = strchr(label, '=');

		if (!value || value == label)
			continue;
		*value = 0;
		is_node |= !strcmp(label, "node");
		has_rank |= !strcmp(label, "rank");
		facts_add(&facts, label, value + 1);
	}
	if (is_node && !has_rank && facts.count < FACTS_MAX) {
		find_rank(member->watch.our_pid, rank, sizeof(rank));
		if (*rank)
			facts_add(&facts, "rank", rank);
	}
	say_at_start(member, NOTE_LABELS, &facts);
}

static void begin_stream(struct collector *collector, struct member *member)
{
	const struct control_page *control = collector->shared.control;
	const struct settings *settings = &collector->settings;
	const struct arena_hello *hello = &member->hello;
	struct facts facts = { .count = 0 };
	unsigned major = 0, minor = 0;
	struct encode_process start = {
		.pid = hello->pid,
		.parent_pid = hello->parent_pid,
		.name = hello->name,
		.machine = control->machine,
		.depth = (uint32_t)collector->settings.backtrace.depth,
		.session = { control->session[0], control->session[1] },
		.stream = member->number,
		.parent_stream = member->parent_stream,
		.start = hello->start,
		.realtime_ns = collector->realtime_ns,

	};
	const struct encode_note off = {
		.name = NOTE_RECORDING,
		.values = &(const struct wire_value){ "state", "off" },
		.count = 1,
		.time = hello->start,
	};

	sscanf(PACKAGE_VERSION, "%u.%u", &major, &minor);
	start.version = major << 16 | minor;
	code_begin(&member->stream->code, &member->watch, member->user->uid,
		   member->user->bounds.is_owner,
		   (time_t)((collector->realtime_ns + ticks_ns(&collector->ticks, hello->start)) /
			    1000000000));
	stream_begin(member->stream, &start);
	collect_sample_begin(collector, member, hello->start);
	/* writes the settings that exclude events, if there are any */
	if (strcmp(settings->events, "all") != 0)
		facts_add(&facts, "events", settings->events);
	if (strcmp(settings->follow, "all") != 0)
		facts_add(&facts, "follow", settings->follow);
	if (settings->sample)
		facts_format(&facts, "sample", "%" PRId64, settings->sample);
	if (settings->locks == LOCKS_CONTENDED)
		facts_add(&facts, "locks", "contended");
	say_at_start(member, NOTE_SETTINGS, &facts);
	say_labels(collector, member);
	if (collector->paused & 1)
		stream_note(member->stream, &off);
	/* writes the header, so that tools recognize the file from now on */
	if (!collector->any || !collector->bundle)
		stream_flush(member->stream);
	else
		stream_postpone(member->stream, ticks_clock_ns());
}

/* ---- identity ---- */

/*
 * Of two members with the same pid, ends the member that started first. This is usually the known
 * member: `later` is a new program of the same process, or another process that got the pid. If one
 * of the two attached by the socket and the other by a spare, `later` may have started first.
 */
static void end_predecessor(struct collector *collector, struct member *later)
{
	const struct watch *watch = &later->watch;
	struct member *member = NULL;

	while (watch->our_pid &&
	       (member = collect_find(collector, BY_OUR_PID, (uint32_t)watch->our_pid, member))) {
		struct member *first = member->hello.start > later->hello.start ? later : member;

		if (member->phase == PHASE_CLOSING || member == later ||
		    /* a member in doubt ends only members that are in doubt and of its family */
		    (later->doubt && (!member->doubt || member->family != later->family)))
			continue;
		/*
		 * after an exec, the process's new program is another member with the same pid. If
		 * the new program ended before the collector accepted it, the old program seems to
		 * have ended in the same way, although it ended by exec.
		 */
		first->has_successor = true;
		if (first->phase == PHASE_ALIVE && !watch_is_dead(&first->watch))
			first->watch.end = WATCH_EXEC;
		collect_end_member(collector, first);
	}
}

static void clean_name(char *name, size_t size)
{
	name[size - 1] = '\0';
	if (!*name)
		strcpy(name, "unknown");
	for (; *name; name++)
		if ((unsigned char)*name < ' ' || *name == '/' || *name == 127)
			*name = '_';
}

/* ---- programs that --follow did not choose ---- */

static void count_unsaid(struct collector *collector)
{
	uint64_t sum = 0;

	for (int i = 0; i < LEFT_OUT_NAMES; i++)
		sum += collector->left_out[i].count;
	__atomic_store_n(&collector->shared.control->left_unsaid, (uint32_t)sum, __ATOMIC_RELEASE);
}

static void leave_out(struct collector *collector, const struct guest *guest)
{
	struct control_page *control = collector->shared.control;
	struct left_out *place = collector->left_out;
	char name[sizeof(place->name)];
	struct member *member = NULL;

	snprintf(name, sizeof(name), "%.63s", guest->request.text);
	clean_name(name, sizeof(name));
	__atomic_add_fetch(&control->left_out, 1, __ATOMIC_RELEASE);
	/* all names after the first LEFT_OUT_NAMES - 1 share the last entry */
	while (place->count && place < collector->left_out + LEFT_OUT_NAMES - 1 &&
	       strcmp(place->name, name) != 0)
		place++;
	if (!place->count++)
		snprintf(place->name, sizeof(place->name), "%s",
			 place == collector->left_out + LEFT_OUT_NAMES - 1 ? "others" : name);
	count_unsaid(collector);
	/*
	 * Ends the member that executed the excluded program, if there is one. Ends none if the
	 * guest is in doubt: another process may have sent the message, or may have the pid by now.
	 */
	while (!guest->doubt && guest->pid &&
	       (member = collect_find(collector, BY_OUR_PID, (uint32_t)guest->pid, member))) {
		if (member->phase == PHASE_CLOSING)
			continue;
		watch_left_out(&member->watch);
		collect_end_member(collector, member);
	}
}

/* ---- bounds ---- */

static const char *const refusals[] = {
#define BOUND(name, of_user, of_others, in_all, what) what,
#define REFUSAL(name, why)			      why,
#include "collect/bounds.def"
#undef BOUND
#undef REFUSAL
};

/* Returns the reason for a refusal, with the limits. The text is valid until the next call. */
static const char *refusal_text(enum refusal why)
{
	static char text[256];
	const struct bound_limits *limits;

	if ((int)why >= (int)BOUND_COUNT)
		return refusals[why];
	limits = &bounds[why];
	snprintf(text, sizeof(text),
		 "%s (limits: %u for a user, %u for all users except the owner, %u in all)",
		 refusals[why], limits->of_user, limits->of_others, limits->in_all);
	return text;
}

static struct user *find_user(struct collector *collector, uid_t uid)
{
	struct user **users = &collector->users[hash_two(0, 0, uid) % INDEX_PLACES], *user = *users;

	while (user && user->uid != uid)
		user = user->next;
	if (user)
		return user;
	user = calloc(1, sizeof(*user));
	if (!user)
		return NULL;
	*user = (struct user){ .next = *users, .uid = uid };
	user->bounds.is_owner = listener_is_owner(collector->listener, uid);
	user->merge.is_bounded = !user->bounds.is_owner;
	user->known.most = user->bounds.is_owner ? UINT64_MAX : (uint64_t)KNOWN_OF_USER << 20;
	user->known.above = user->bounds.is_owner ? &collector->known : &collector->known_by_others;
	*users = user;
	return user;
}

void collect_give_back(struct collector *collector, const struct member *member)
{
	struct bounds_user *user = &member->user->bounds;

	bounds_use(&collector->used, user, BOUND_THREADS, -(int32_t)member->slots);
	bounds_use(&collector->used, user, BOUND_MAPPINGS, -(int32_t)member->mappings);
	bounds_use(&collector->used, user, BOUND_MEMBERS, -1);
}

void collect_say_counts(struct collector *collector, struct member *member)
{
	for (uint32_t i = 0; !member && i < collector->count; i++)
		if (collector->active[i]->phase != PHASE_CLOSING)
			member = collector->active[i];
	collector->refused[REFUSED_WAIT] += merge_ended_waits(collector->merge);
	for (int i = 0; member && i < LEFT_OUT_NAMES && collector->left_out[i].count; i++) {
		struct facts facts = { .count = 0 };

		facts_add(&facts, "program", collector->left_out[i].name);
		facts_number(&facts, "count", collector->left_out[i].count);
		collect_say(collector, member, NOTE_NOT_FOLLOWED, &facts);
		collector->left_out[i].count = 0;
	}
	if (member && __atomic_load_n(&collector->shared.control->left_unsaid, __ATOMIC_RELAXED))
		count_unsaid(collector);
	for (int i = 0; member && i < REFUSAL_COUNT; i++) {
		struct facts facts = { .count = 0 };

		if (!collector->refused[i])
			continue;
		facts_add(&facts, "what", refusal_text((enum refusal)i));
		facts_number(&facts, "count", collector->refused[i]);
		collector->refused[i] = 0;
		collect_say(collector, member, NOTE_REFUSED, &facts);
	}
}

/* ---- members ---- */

static bool add_chunk(struct collector *collector, struct member *member, struct chunk *chunk,
		      enum refusal *why)
{
	uint32_t mappings = member->chunk_count ? 1 : MEMBER_MAPPINGS;

	*why = REFUSED_THREADS;
	if (!bounds_allow(&collector->used, &member->user->bounds, BOUND_THREADS, chunk->slots))
		return false;
	*why = REFUSED_MAPPINGS;
	if (!bounds_allow(&collector->used, &member->user->bounds, BOUND_MAPPINGS, mappings))
		return false;
	*why = REFUSED_NO_MEMORY;
	if (member->chunk_count == ARENA_CHUNKS || !merge_add_chunk(member->process, chunk))
		return false;
	bounds_use(&collector->used, &member->user->bounds, BOUND_THREADS, (int32_t)chunk->slots);
	bounds_use(&collector->used, &member->user->bounds, BOUND_MAPPINGS, (int32_t)mappings);
	member->slots += chunk->slots;
	member->mappings += mappings;
	member->chunks[member->chunk_count++] = chunk;
	return true;
}

/* The facts about a process that attaches. */
struct newcomer {
	const struct arena_hello *hello;
	struct chunk *chunk;
	struct watch_start start;
	uid_t uid;
	const char *doubt;
	/* the member that owns the spare's memory; NULL: the process sent its own memory */
	const struct member *family;
};

/* Makes a member, which takes over the chunk. On refusal, returns NULL, with the reason in *why. */
static struct member *make_member(struct collector *collector, const struct newcomer *newcomer,
				  enum refusal *why)
{
	uint64_t now = ticks_now(collector->shared.control->clock);
	struct user *user = find_user(collector, newcomer->uid);
	uint32_t our_pid = (uint32_t)newcomer->start.our_pid, images = 0;
	struct member *member = NULL;

	*why = REFUSED_IMAGES;
	while (our_pid && (member = collect_find(collector, BY_OUR_PID, our_pid, member)))
		images++;
	if (images >= bounds[BOUND_IMAGES].of_user)
		return NULL;
	*why = REFUSED_MEMBERS;
	if (user && !bounds_allow(&collector->used, &user->bounds, BOUND_MEMBERS, 1))
		return NULL;
	*why = REFUSED_NO_MEMORY;
	if (collector->count < collector->room ||
	    !array_grow(&collector->active, &collector->room, sizeof(*collector->active)))
		member = user ? calloc(1, sizeof(*member)) : NULL;
	if (!member)
		return NULL;
	member->user = user;
	bounds_use(&collector->used, &user->bounds, BOUND_MEMBERS, 1);
	member->hello = *newcomer->hello;
	member->doubt = newcomer->doubt;
	clean_name(member->hello.name, sizeof(member->hello.name));
	if (member->hello.start > now || member->hello.start < collector->begun_ticks)
		member->hello.start = now;
	member->process = merge_add(collector->merge, member, &user->merge);
	member->stream = stream_create(
		collector->settings.format == FORMAT_RTRACE_1_4 ? PROTOCOL_1_4 : PROTOCOL_2_0,
		&collector->ticks, &user->known);
	if (member->process && member->stream && add_chunk(collector, member, newcomer->chunk, why))
		return member;
	collect_give_back(collector, member);
	if (member->process)
		merge_remove(collector->merge, member->process);
	stream_free(member->stream);
	free(member);
	return NULL;
}

/* Makes a process a member. On refusal, returns false, and the caller keeps chunk and pidfd. */
static bool adopt(struct collector *collector, const struct newcomer *newcomer, enum refusal *why)
{
	struct member *member = make_member(collector, newcomer, why);
	struct control_page *control = collector->shared.control;
	struct watch_start known = newcomer->start;
	struct facts doubt = { .count = 0 };

	collect_beat(collector);
	if (!member)
		return false;
	/* the first process may be dead by now, so its pidfd was opened early */
	if (known.pidfd < 0 && known.pid == collector->starter_pid) {
		known.pidfd = collector->starter;
		collector->starter = -1;
	}
	watch_begin(&member->watch, &collector->shared, &known,
		    merge_has_time(collector->merge, &member->user->merge));
	/* a process that runs for a short time may be dead by now */
	if (member->watch.pidfd >= 0 && !watch_has_died(&member->watch))
		listener_watch(collector->listener, member->watch.pidfd);
	else
		collector->polled_ns = 0;
	member->number = collector->next_stream++;
	member->family = newcomer->family ? newcomer->family->family : member->number;
	collect_index(collector, member);
	member->parent_stream = parent_stream(collector, &member->hello);
	open_sink(collector, member);
	begin_stream(collector, member);
	if (member->doubt)
		facts_add(&doubt, "why", member->doubt);
	if (member->doubt && member->hello.chunk)
		facts_add(&doubt, "part", "threads");
	say_at_start(member, NOTE_UNPROVEN, &doubt);
	/* reports the file name: only the collector knows which name was unused */
	if (collector->reports >= 0 && (!collector->bundle || !member->number))
		dprintf(collector->reports, "%u %d %s\n", member->number, member->hello.pid,
			member->stream->sink.regular ? member->stream->sink.name : "");
	/* look_around() takes the member out of the crowd, or notices that its process has ended */
	collect_crowd(collector, member, true);
	collector->any = true;
	collector->active[collector->count++] = member;
	__atomic_store_n(&newcomer->chunk->head->stream, member->number + 1, __ATOMIC_RELEASE);
	__atomic_add_fetch(&control->alive, 1, __ATOMIC_RELEASE);
	__atomic_add_fetch(&control->attached, 1, __ATOMIC_RELEASE);
	/* only a process's first chunk (0) shows that an earlier member with this pid has ended */
	if (!newcomer->hello->chunk)
		end_predecessor(collector, member);
	return true;
}

/* ---- arrivals ---- */

/* Counts a refusal for the trace, and writes the reason to the control page for the launcher. */
static void refuse(struct collector *collector, const struct arena_hello *hello, int pid,
		   enum refusal refusal, const char *why)
{
	char sentence[ERROR_TEXT_MAX + 128];

	collector->refused[refusal]++;
	snprintf(sentence, sizeof(sentence), "process %d%s not traced: %.400s", pid,
		 hello->chunk ? ": some threads are" : " is", why);
	shared_fail(&collector->shared, sentence);
	collector->has_failed = true;
}

void collect_extend(struct collector *collector, struct member *member)
{
	const struct arena *head = member->chunks[0]->head;
	const struct chunk *last = member->chunks[0];

	for (uint32_t i = 1; i < member->chunk_count; i++)
		if (!member->chunks[i]->spare)
			last = member->chunks[i];
	while (!last->spare && !member->is_cut_off && member->chunk_count < ARENA_CHUNKS &&
	       __atomic_load_n(&head->chunks, __ATOMIC_ACQUIRE) > member->chunk_count) {
		enum refusal why = REFUSED_MEMORY;
		struct error err;
		struct chunk *chunk = chunk_next(last, &err);

		last = chunk;
		if (!chunk && !err.text[0])
			return;
		if (chunk && add_chunk(collector, member, chunk, &why))
			continue;
		member->is_cut_off = true;
		__atomic_store_n(&member->chunks[0]->head->refused, member->chunk_count + 1,
				 __ATOMIC_RELAXED);
		refuse(collector, &(struct arena_hello){ .chunk = 1 }, member->hello.pid, why,
		       chunk ? refusal_text(why) : err.text);
		chunk_close(chunk);
	}
}

/* Checks the guest's pid in its own pid namespace. Returns NULL, or the reason for doubt. */
static const char *check_number(struct guest *guest)
{
	int32_t own;

	if (guest->doubt || guest->hello.pid == guest->pid)
		return guest->doubt;
	own = proc_own_number(guest->pid, 0);
	if (own == guest->hello.pid)
		return NULL;
	if (!own)
		return "the process had ended before its pid could be checked";
	guest->hello.pid = own;
	return "the process reported the pid of another process";
}

/*
 * Adds a further chunk that the process sent in a message. Usually, further chunks are in the file
 * of the first chunk, and need no message. A process sends further chunks if it cannot map memory
 * twice (in emulators). Accepts the chunk only if the kernel confirms that the same process and
 * user sent it.
 */
static bool add_piece(struct collector *collector, const struct guest *guest, struct chunk *chunk,
		      enum refusal *why)
{
	struct member *member = NULL;

	*why = REFUSED_PIECE;
	while (!guest->doubt && guest->pid &&
	       (member = collect_find(collector, BY_OUR_PID, (uint32_t)guest->pid, member))) {
		if (member->phase != PHASE_CLOSING && member->user->uid == guest->uid &&
		    same_key(member->hello.key, guest->hello.key))
			return add_chunk(collector, member, chunk, why);
	}
	return false;
}

static void admit(struct collector *collector, struct guest *guest)
{
	struct error err = { .text = "" };
	struct chunk *chunk =
		collector->leaving ? NULL : chunk_open(guest->memory, &guest->hello, &err);
	const char *doubt = chunk ? check_number(guest) : NULL;
	const struct newcomer newcomer = {
		.hello = &guest->hello,
		.chunk = chunk,
		.start = { .pid = guest->hello.pid, .our_pid = guest->pid, .pidfd = guest->pidfd },
		.uid = guest->uid,
		.doubt = doubt
	};
	enum refusal why = REFUSED_MEMORY;
	bool taken = false, is_piece = false;

	if (collector->leaving)
		return;
	if (chunk && guest->hello.chunk)
		is_piece = add_piece(collector, guest, chunk, &why);
	else if (chunk)
		taken = adopt(collector, &newcomer, &why);
	if (taken) {
		guest->pidfd = -1;
	} else if (!is_piece) {
		if (chunk)
			__atomic_store_n(&chunk->head->refused, 1, __ATOMIC_RELAXED);
		chunk_close(chunk);
		refuse(collector, &guest->hello, guest->pid, why,
		       chunk ? refusal_text(why) : err.text);
	}
}

/*
 * Whether all processes that can write to this member's spares (struct arena_spare) belong to the
 * same user, so that forging a spare gives a process no rights. This is certain if the member has
 * no privileges that would let one of its children change to another user.
 */
static bool has_spares_of_one_user(struct member *family)
{
	if (family->spares == SPARES_UNASKED)
		family->spares =
			!family->doubt && family->user->uid != 0 &&
					proc_has_no_rights(family->watch.our_pid, family->user->uid)
				? SPARES_OF_ONE_USER
				: SPARES_OF_ANY;
	return family->spares == SPARES_OF_ONE_USER;
}

/*
 * Accepts a spare that a sandboxed child process, or a thread of such a process, has taken. Every
 * process that shares this memory can overwrite all facts about the spare. So the spare becomes a
 * part of another member only if all these processes belong to one user.
 */
static void take_spare(struct collector *collector, struct member *family, uint32_t i)
{
	struct arena_hello hello;
	struct chunk *chunk = chunk_take_spare(family->chunks[0], i, &hello);
	bool is_of_one_user = chunk && has_spares_of_one_user(family);
	struct member *relative = NULL;
	const struct newcomer newcomer = {
		.hello = &hello,
		.chunk = chunk,
		.start = { .pid = hello.pid, .foreign = family->watch.foreign, .pidfd = -1 },
		.uid = family->user->uid,
		.doubt = is_of_one_user ? "the process could not connect to the collector, and "
					  "wrote its events to "
					  "memory that other processes of its user share"
					: "the process could not connect to the collector, and "
					  "wrote its events to "
					  "memory that processes of other users may have changed",
		.family = family,
	};
	enum refusal why;
	bool taken;

	if (!chunk || collector->leaving) {
		chunk_close(chunk);
		return;
	}
	/* a further chunk belongs to the member of the same family that has the same key */
	while (hello.chunk && is_of_one_user &&
	       (relative = collect_find(collector, BY_KEY, collect_key(hello.key), relative)))
		if (relative->family == family->family && relative->phase != PHASE_CLOSING &&
		    same_key(relative->hello.key, hello.key))
			break;
	taken = relative ? add_chunk(collector, relative, chunk, &why)
			 : adopt(collector, &newcomer, &why);
	if (!taken) {
		chunk_close(chunk);
		refuse(collector, &hello, hello.pid, why, refusal_text(why));
	}
}

void collect_receive_spares(struct collector *collector)
{
	for (uint32_t i = 0; i < collector->count; i++) {
		struct member *family = collector->active[i];
		uint32_t used;
		uint64_t begun;

		if (family->phase == PHASE_CLOSING || family->chunks[0]->spare)
			continue;
		used = chunk_spares_used(family->chunks[0]);
		if (!used || !collect_has_turn(collector, family->user))
			continue;
		begun = ticks_clock_ns();
		for (uint32_t k = 0; k < used; k++)
			take_spare(collector, family, k);
		collect_charge(collector, family->user, begun);
	}
}

/* Receives the guests in list *at whose users have time left. Returns the end of the list. */
static struct guest **receive_guests(struct collector *collector, struct guest **at)
{
	while (*at) {
		struct guest *guest = *at, **last;
		uint64_t begun = ticks_clock_ns();
		struct user *user;

		if (!guest->user)
			guest->user = find_user(collector, guest->uid);
		user = guest->user;
		if (user && !collect_has_turn(collector, user)) {
			at = &guest->next;
			continue;
		}
		*at = guest->next;
		listener_attend(collector->listener, guest);
		if (guest->memory < 0 && guest->request.command != CONTROL_LEFT_OUT) {
			for (last = &collector->requests; *last; last = &(*last)->next)
				;
			guest->next = NULL;
			*last = guest;
		} else {
			if (guest->memory >= 0)
				admit(collector, guest);
			else
				leave_out(collector, guest);
			listener_dismiss(guest);
		}
		if (user)
			collect_charge(collector, user, begun);
	}
	return at;
}

void collect_receive(struct collector *collector)
{
	struct guest **at = &collector->late;
	bool has_more = true;

	for (enum refusal why = 0; why < REFUSAL_COUNT; why++)
		collector->refused[why] += listener_refused(collector->listener, why);
	for (unsigned turn = 0; has_more && turn < TURNS_MAX; turn++) {
		struct guest **end = at;

		while (*end)
			end = &(*end)->next;
		*end = listener_take(collector->listener, &has_more);
		/* spares first: a process that connects may have used one before its last exec */
		collect_receive_spares(collector);
		at = receive_guests(collector, at);
		collect_beat(collector);
	}
}
