/* SPDX-License-Identifier: MIT */
/* The collector of a run: the start, the loop, and the end of processes. */
#include "base/cleanup.h"
#include "base/options.h"
#include "base/out.h"
#include "collect/collect_parts.h"
#include "machine.h"
#include "process/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * How the loop sleeps. After a round that took BUSY_BYTES, the next round follows immediately.
 * Otherwise the length of the sleep is adapted so that a round takes ENOUGH_BYTES to MUCH_BYTES. A
 * producer with more than ARENA_WAKE_STEP in its ring wakes the collector. The numbers here are
 * lower, so that the traced program seldom has to do this. A collector that lags a little costs the
 * program less than one that keeps up closely. Each round interrupts the program by a membarrier,
 * uses a processor on which the program could run, and reads cache lines that the program is still
 * writing.
 */
#define BUSY_BYTES   (192u << 10)
#define MUCH_BYTES   (160u << 10)
#define ENOUGH_BYTES (64u << 10)
#define SLEEP_LEAST  (1 * MS)
#define SLEEP_MOST   (32 * MS)
/* time between two checks of all processes, if no notification arrives */
#define POLL_NS (50 * MS)
/* how long the collector waits when no process is left: one may still attach after an exec */
#define LINGER_NS (200 * MS)
/* how long the collector waits for the first process to attach */
#define FIRST_NS (10000 * MS)
/* how long a collector that got SIGTERM waits for the programs to end: they may have got it, too */
#define LEAVE_NS (3000 * MS)
#define TIDY_NS	 (1000 * MS)
/* how long a call of RESOURCE_CALL must last to be recorded (control_page.lasting) */
#define LASTING_NS (1 * MS)
/* all rings together may use 1/16 of the memory, and one ring 1/256 */
#define RINGS_PART 16u
/* the definitions (backtraces, names) of all streams together may use 1/8 of the memory */
#define KNOWN_PART 8u

/*
 * Indexes of the descriptors that the collector inherits; a missing descriptor is -1. FD_CONTROL:
 * the control page; FD_SINK: the output, if settings.out is stdout or fd:N; FD_REPORTS: gets a line
 * "STREAM PID PATH\n" for each stream that begins.
 */
enum { FD_CONTROL, FD_SINK, FD_REPORTS, FDS };

/* ---- detaching from the parent process ---- */

/*
 * Detaches the collector from its parent, the traced program or its launcher: leaves the terminal,
 * raises the limits and ignores signals. Must be called before the collector opens anything.
 */
static void detach(void)
{
	static const int limits[] = { RLIMIT_AS, RLIMIT_DATA, RLIMIT_CPU, RLIMIT_FSIZE,
				      RLIMIT_NOFILE };
	static const int ignored[] = { SIGINT,	SIGHUP,	 SIGQUIT, SIGPIPE, SIGTSTP, SIGTTIN,
				       SIGTTOU, SIGUSR1, SIGUSR2, SIGALRM, SIGXFSZ, SIGXCPU };
	struct rlimit limit;
	sigset_t kept;
	int null;

	setsid();
	/* the traced program may have lowered its own soft limits */
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		if (getrlimit((__rlimit_resource_t)limits[i], &limit) < 0)
			continue;
		limit.rlim_cur = limit.rlim_max;
		setrlimit((__rlimit_resource_t)limits[i], &limit);
	}
	/* opens /dev/null for closed standard descriptors, so no other file gets their numbers */
	do
		null = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (null >= 0 && null <= STDERR_FILENO);
	if (null >= 0)
		close(null);
	/* Ctrl-C is meant for the program; SIGTERM stays blocked, and heed_sigterm() polls it */
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	sigemptyset(&kept);
	sigaddset(&kept, SIGTERM);
	sigprocmask(SIG_SETMASK, &kept, NULL);
	/* a command that the collector starts must not inherit the program's descriptors */
	syscall(SYS_close_range, 3, ~0u, CLOSE_RANGE_CLOEXEC);
}

static int compare_numbers(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/*
 * Closes the inherited descriptors, and replaces the inherited standard descriptors (0, 1, 2) by
 * /dev/null. The reader of an inherited pipe may wait until its writers have closed it. Called
 * after all descriptors that the collector needs have been opened.
 */
static void close_inherited(const struct collector *collector)
{
	enum { KEPT = 7 + LISTENER_DESCRIPTORS };
	struct stat st;
	/* standard error stays open if it is a regular file: no process waits for its close */
	bool keeps_error = fstat(STDERR_FILENO, &st) == 0 && S_ISREG(st.st_mode);
	int keep[KEPT] = { keeps_error ? STDERR_FILENO : -1,
			   collector->shared.fd,
			   collector->first.fd,
			   collector->inherited,
			   collector->starter,
			   collector->reports,
			   collector->place.directory };
	bool is_kept[STDERR_FILENO + 1] = { false };
	unsigned from = 0;
	int null;

	listener_descriptors(collector->listener, keep + 7);
	qsort(keep, KEPT, sizeof(keep[0]), compare_numbers);
	for (int i = 0; i < KEPT; i++) {
		if (keep[i] < 0 || (unsigned)keep[i] < from)
			continue;
		if (keep[i] <= STDERR_FILENO)
			is_kept[keep[i]] = true;
		if ((unsigned)keep[i] > from)
			syscall(SYS_close_range, from, (unsigned)keep[i] - 1, 0);
		from = (unsigned)keep[i] + 1;
	}
	syscall(SYS_close_range, from, ~0u, 0);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int i = 0; null >= 0 && i <= STDERR_FILENO; i++)
		if (i != null && !is_kept[i])
			dup2(null, i);
	if (null > STDERR_FILENO)
		close(null);
}

/* ---- members ---- */

void collect_tell_failure(struct collector *collector, const struct stream *stream)
{
	uint64_t events = collector->unwritten;

	for (uint32_t i = 0; i < collector->count; i++)
		events += collector->active[i]->stream->unwritten;
	snprintf(collector->failure, sizeof(collector->failure),
		 "%.400s: %" PRIu64 " events dropped", stream->failure.text, events);
	shared_fail(&collector->shared, collector->failure);
	/* a reader that closes its pipe wants no further data: this is not a failure */
	collector->has_failed |= stream->failure.number != EPIPE;
}

void collect_beat(struct collector *collector)
{
	/* atomic, since the threads that write files increment the heartbeat, too */
	__atomic_add_fetch(&collector->shared.control->heartbeat, 1, __ATOMIC_RELEASE);
}

bool collect_has_turn(struct collector *collector, struct user *user)
{
	bool has_turn = collector->leaving || collector->is_last_chance ||
			merge_has_time(collector->merge, &user->merge);

	collector->is_late |= !has_turn;
	return has_turn;
}

void collect_charge(struct collector *collector, struct user *user, uint64_t begun_ns)
{
	merge_charge(collector->merge, &user->merge, ticks_clock_ns() - begun_ns);
}

void collect_crowd(struct collector *collector, struct member *member, bool is_of_crowd)
{
	if (member->is_of_crowd != is_of_crowd)
		listener_crowd(collector->listener, member->user->uid, is_of_crowd ? 1 : -1);
	member->is_of_crowd = is_of_crowd;
}

void collect_end_member(struct collector *collector, struct member *member)
{
	if (member->phase != PHASE_ALIVE)
		return;
	member->phase = PHASE_ENDED;
	merge_end(member->process);
	collect_crowd(collector, member, true);
	__atomic_sub_fetch(&collector->shared.control->alive, 1, __ATOMIC_RELEASE);
}

/* ---- events ---- */

static void on_event(void *context, void *owner, const struct merge_event *event)
{
	struct member *member = owner;
	struct collector *collector = context;

	stream_event(member->stream, event);
	if (__builtin_expect(collector->before && event->record->kind == RECORD_NOTE, 0))
		collect_heed_note(collector, member, event);
}

static bool on_fast(void *context, void *owner, const struct fast_call *fast)
{
	const struct member *member = owner;

	(void)context;
	return stream_fast(member->stream, fast);
}

static bool starves(void *context, void *owner, int32_t thread, uint64_t *ran_ns)
{
	const struct member *member = owner;

	(void)context;
	return watch_starves(&member->watch, thread, ran_ns);
}

static void on_growth(void *context, void *owner)
{
	/* finds spares (struct arena_spare) that a process which cannot create memory has taken */
	collect_receive(context);
	collect_extend(context, owner);
}

/* ---- the end of a process ---- */

/* Removes a member whose stream is written. A command that reads the stream has ended, too. */
static void leave_run(struct collector *collector, uint32_t place)
{
	struct member *member = collector->active[place];
	struct control_page *control = collector->shared.control;

	if (member->stream->broken)
		collect_tell_failure(collector, member->stream);
	collector->ancestors[member->number % ANCESTORS] =
		(struct ancestor){ .key = { member->hello.key[0], member->hello.key[1] },
				   .number = member->number,
				   .parent_stream = member->parent_stream };
	collect_keep_leave(collector, member);
	__atomic_add_fetch(&control->detached, 1, __ATOMIC_RELEASE);
	shared_futex_wake(&control->detached);
	collector->active[place] = collector->active[--collector->count];
	collect_index_remove(collector, member);
	if (!collector->count && collector->bundle)
		bundle_rest(collector->bundle);
	collector->gone_ns = ticks_clock_ns();
	collector->unwritten += member->stream->unwritten;
	collect_crowd(collector, member, false);
	collect_give_back(collector, member);
	stream_free(member->stream);
	free(member);
}

/*
 * Receives all late guests (processes that want to attach, listener.h) before the last stream ends,
 * since a later refusal could not be reported in any stream. A guest is late if its user had no
 * time left in earlier rounds.
 */
static void receive_late(struct collector *collector, const struct member *next)
{
	if (!collector->late)
		return;
	for (uint32_t i = 0; i < collector->count; i++)
		if (collector->active[i] != next && collector->active[i]->phase != PHASE_CLOSING)
			return;
	collector->is_last_chance = true;
	collect_receive(collector);
	collector->is_last_chance = false;
}

/* Finishes ended members. If the file is full, finishes none: their rings still have records. */
static void finish_ended(struct collector *collector, bool is_full)
{
	for (uint32_t i = 0; i < collector->count;) {
		struct member *member = collector->active[i];

		if (member->phase == PHASE_ENDED && !member->scan && !is_full &&
		    !merge_has_more(member->process) && collect_has_turn(collector, member->user)) {
			uint64_t begun = ticks_clock_ns();

			receive_late(collector, member);
			collect_finish(collector, member);
			collect_charge(collector, member->user, begun);
		}
		if (member->phase == PHASE_CLOSING && stream_finished(member->stream))
			leave_run(collector, i);
		else
			i++;
	}
}

/*
 * Handles SIGTERM. Programs that also got the signal have LEAVE_NS to end, since their last events
 * belong to the trace. A second SIGTERM ends the collector immediately: each stream ends with the
 * records that are there.
 */
static void heed_sigterm(struct collector *collector, uint64_t now_ns)
{
	static const struct timespec now = { 0 };
	sigset_t asked;

	sigemptyset(&asked);
	sigaddset(&asked, SIGTERM);
	if (sigtimedwait(&asked, NULL, &now) == SIGTERM)
		collector->leave_ns = collector->leave_ns ? now_ns : now_ns + LEAVE_NS;
	if (!collector->leave_ns || now_ns < collector->leave_ns)
		return;
	collector->leaving = true;
	/* the next round is the last round before members finish: it must take all records */
	merge_hurry(collector->merge);
	for (uint32_t i = 0; i < collector->count; i++) {
		struct member *member = collector->active[i];

		if (member->phase == PHASE_ALIVE)
			member->watch.end = WATCH_LEFT;
		collect_end_member(collector, member);
	}
}

/* Whether the program has ended and the launcher waits for the collector to count all processes. */
static bool must_settle(const struct collector *collector)
{
	const struct control_page *control = collector->shared.control;

	return __atomic_load_n(&control->told_pid, __ATOMIC_ACQUIRE) && !control->settled;
}

/* Finds processes that have ended. Called before merge_round(), which takes their last records. */
static void look_around(struct collector *collector, uint64_t now_ns)
{
	const uint32_t *crowded = &collector->shared.control->crowded;
	bool noticed = listener_noticed(collector->listener) || must_settle(collector);
	bool has_ended = false;

	if (!noticed && !__atomic_load_n(crowded, __ATOMIC_RELAXED) &&
	    now_ns - collector->polled_ns < POLL_NS)
		return;
	collector->polled_ns = now_ns;
	collect_hear_ends(collector);
	for (uint32_t i = 0; i < collector->count; i++) {
		struct member *member = collector->active[i];
		int32_t our_pid = member->watch.our_pid;
		struct merge_user *user = &member->user->merge;
		bool is_silent, is_over;
		uint64_t events, begun;

		collect_beat(collector);
		if (member->phase != PHASE_ALIVE)
			continue;
		/* a close check slows the process, so only a process without new events gets it */
		events = merge_counts(member->process)->events;
		is_silent = events == member->seen;
		member->seen = events;
		begun = ticks_clock_ns();
		/* the library declares that it no longer records this process */
		is_over = __atomic_load_n(&member->chunks[0]->head->flags, __ATOMIC_ACQUIRE) &
			  PROCESS_DETACHED;
		if (is_over)
			member->watch.end = WATCH_DETACHED;
		else
			is_over = watch_has_ended(&member->watch, &collector->shared, now_ns,
						  (is_silent || !our_pid) &&
							  merge_has_time(collector->merge, user));
		merge_charge(collector->merge, user, ticks_clock_ns() - begun);
		if (member->watch.our_pid != our_pid)
			collect_index(collector, member);
		if (!is_over) {
			collect_crowd(collector, member, false);
			continue;
		}
		collect_schedule_last(collector, member);
		collect_end_member(collector, member);
		has_ended = true;
	}
	/* the collector must know the children before the stream of their parent is complete */
	if (has_ended)
		collect_receive(collector);
	heed_sigterm(collector, now_ns);
}

/* ---- the loop ---- */

static bool is_complete(struct collector *collector, uint64_t now_ns)
{
	/* a pidfd: readable if the process that was expected to attach first has ended */
	struct pollfd starter = { .fd = collector->starter, .events = POLLIN };
	bool expected = !collector->any && (starter.fd < 0 || poll(&starter, 1, 0) != 1) &&
			!__atomic_load_n(&collector->shared.control->told_pid, __ATOMIC_ACQUIRE);
	uint64_t since = collector->any ? collector->gone_ns : collector->started_ns;
	uint64_t patience = expected ? FIRST_NS : LINGER_NS;

	if (collector->count || collector->late)
		return false;
	if (collector->leave_ns)
		return true;
	/* now_ns may be before gone_ns: the last member may have left after now_ns was read */
	if (now_ns < since + patience)
		return false;
	if (!shared_deserted(&collector->shared, true))
		return false;
	/* no process can attach any more, but one may have attached and ended already */
	collect_receive(collector);
	if (collector->count || collector->late)
		shared_release(&collector->shared);
	return !collector->count && !collector->late;
}

/*
 * Sleeps for at most `ns`. A producer (a traced thread) wakes the collector, except if is_full:
 * then the collector cannot take records.
 */
static void sleep_for(struct collector *collector, uint64_t ns, bool is_full)
{
	uint32_t *sleeping = &collector->shared.control->sleeping;
	uint32_t sleep = (__atomic_load_n(sleeping, __ATOMIC_RELAXED) + 1) | 1;

	if (collect_scan_waits(collector))
		return;
	/* a producer that waits for space would wake the collector, which cannot take records */
	if (is_full) {
		poll(NULL, 0, (int)(ns / MS));
		return;
	}
	/* sleeps only briefly: a user without time has time again soon (merge_has_time()) */
	if (collector->is_late)
		ns = SLEEP_LEAST;
	__atomic_store_n(sleeping, sleep, __ATOMIC_SEQ_CST);
	if (!merge_is_behind(collector->merge) && !listener_has_guests(collector->listener) &&
	    !must_settle(collector))
		shared_futex_wait(sleeping, sleep, ns);
	__atomic_store_n(sleeping, sleep + 1, __ATOMIC_RELEASE);
}

/* Collects until the last process of the run has ended and everything is written. */
static void collect_run(struct collector *collector)
{
	uint64_t sleep = SLEEP_LEAST;

	for (;;) {
		uint64_t now = ticks_clock_ns();
		uint64_t taken;
		bool settling, is_full;

		settling = must_settle(collector);
		collector->is_late = false;
		if (settling || collector->late || listener_has_guests(collector->listener) ||
		    listener_is_unwatched(collector->listener))
			collect_receive(collector);
		else
			collect_receive_spares(collector);
		look_around(collector, now);
		if (settling) {
			__atomic_store_n(&collector->shared.control->settled, 1, __ATOMIC_RELEASE);
			shared_futex_wake(&collector->shared.control->settled);
		}
		ticks_compare(&collector->ticks, now);
		/* a collector that was asked to end takes all records, even if the file is full */
		is_full = !collector->leaving && collect_keep_is_full(collector);
		taken = is_full ? 0 : merge_round(collector->merge);
		collect_toggle(collector);
		collect_obey(collector);
		collect_scan(collector, now);
		if (now - collector->tidied_ns >= TIDY_NS) {
			collector->tidied_ns = now;
			merge_tidy(collector->merge);
			collect_say_counts(collector, NULL);
		}
		collect_sample(collector, now);
		collect_schedule(collector, now);
		collect_keep(collector);
		finish_ended(collector, is_full);
		if (taken >= BUSY_BYTES) {
			sleep = SLEEP_LEAST;
			continue;
		}
		for (uint32_t i = 0; i < collector->count; i++) {
			struct stream *stream = collector->active[i]->stream;

			stream_idle(stream, now);
			collect_say_stalled(collector, collector->active[i]);
			collect_say_past(collector, collector->active[i]);
			if (stream->broken)
				collect_tell_failure(collector, stream);
		}
		if (is_complete(collector, now))
			break;
		if (taken > MUCH_BYTES)
			sleep = sleep / 2 > SLEEP_LEAST ? sleep / 2 : SLEEP_LEAST;
		else if (taken < ENOUGH_BYTES)
			sleep = sleep * 2 < SLEEP_MOST ? sleep * 2 : SLEEP_MOST;
		sleep_for(collector, sleep, is_full);
	}
	collect_keep_end(collector);
	sink_discard(&collector->first);
	bundle_close(collector->bundle);
	listener_close(collector->listener);
	shared_state(&collector->shared, CONTROL_COMPLETE);
	merge_destroy(collector->merge);
}

/* ---- start ---- */

static int open_first(struct collector *collector, struct error *err)
{
	const char *out = collector->settings.out;
	struct sink_options options = collect_options(collector);
	int ret = sink_place_open(&collector->place, out, err);

	options.program = collector->starter_name;
	options.pid = collector->starter_pid;
	collector->first.fd = -1;
	if (ret < 0 || (sink_needs_program(&collector->place) && !collector->starter_pid)) {
		collector->inherited = -1;
		return ret;
	}
	/* the descriptor was not open at the start, or a file of the collector got its number */
	if (options.inherited >= 0 &&
	    (options.inherited == collector->shared.fd || options.inherited == collector->reports))
		return error_set(err, EBADF, "cannot write to %s: it is not open", out);
	if (*collector->settings.keep && options.force && sink_is_link(&collector->place))
		return error_set(
			err, EINVAL,
			"--keep cannot replace %s: it is a symbolic link (-o needs the name of the "
			"file itself)",
			out);
	ret = sink_open(&collector->first, &options, err);
	/* the sink has a duplicate of the inherited descriptor */
	if (ret == 0 && collector->inherited > STDERR_FILENO)
		close(collector->inherited);
	collector->inherited = -1;
	return ret;
}

/* Limits the memory of all rings, since the kernel charges it to a control group. */
static void limit_rings(struct control_page *control)
{
	uint64_t budget = budget_memory() / RINGS_PART;

	control->rings_budget = budget < ARENA_RINGS_BUDGET ? (uint32_t)budget : ARENA_RINGS_BUDGET;
	control->ring_most = ARENA_RING_MOST;
	while (control->ring_most > ARENA_RING_LEAST && control->ring_most > budget / RINGS_PART)
		control->ring_most /= 4;
}

/*
 * Whether the process that holdtrace attaches to is in the same control groups as the collector.
 * guest: pid of that process; 0: holdtrace attaches to no process, and the result is true.
 */
static bool is_of_our_group(int32_t guest)
{
	cleanup_free char *its = guest ? proc_text(guest, 0, "cgroup") : NULL;
	cleanup_free char *ours = guest ? proc_text(getpid(), 0, "cgroup") : NULL;

	return !guest || (its && ours && !strcmp(its, ours));
}

static int start_parts(struct collector *collector, struct error *err)
{
	struct control_page *control = collector->shared.control;
	struct merge_handler handler = {
		.event = on_event,
		.fast = on_fast,
		.grown = on_growth,
		.starves = starves,
		.context = collector,
	};
	struct rlimit files = { .rlim_cur = RLIM_INFINITY };
	uint64_t known_most, before_ns;
	struct timespec real;
	int ret;

	collector->settings = control->settings;
	collector->settings.out[SETTINGS_TEXT_MAX - 1] = 0;
	collector->starter_pid = control->starter;
	memcpy(collector->starter_name, control->starter_name, sizeof(collector->starter_name));
	collector->starter_name[sizeof(collector->starter_name) - 1] = 0;
	/* an emulated program reads a different counter than the collector */
	if (control->machine != EM_NONE && control->machine != MACHINE_OWN)
		control->clock = CONTROL_CLOCK_MONOTONIC;
	ticks_measure(&collector->ticks, control->clock);
	limit_rings(control);
	collector->memory_kills = is_of_our_group(control->guest)
					  ? budget_kills(BUDGET_GROUPS, BUDGET_MOUNT)
					  : UINT64_MAX;
	getrlimit(RLIMIT_NOFILE, &files);
	bounds_fit(budget_memory(), files.rlim_cur);
	known_most = budget_memory() / KNOWN_PART;
	if (known_most > (uint64_t)KNOWN_IN_ALL << 20)
		known_most = (uint64_t)KNOWN_IN_ALL << 20;
	collector->known.most = known_most;
	collector->known_by_others = (struct bounds_known){
		.most = known_most * KNOWN_OF_OTHERS / KNOWN_IN_ALL,
		.above = &collector->known,
	};
	collector->merge = merge_create(control, &handler);
	if (!collector->merge)
		return error_system(err, ENOMEM, "cannot start the collector");
	ret = open_first(collector, err);
	if (ret < 0)
		return ret;
	collector->listener = listener_open(&collector->shared, err);
	if (!collector->listener)
		return err->number ? -err->number : -ENOMEM;
	if (!control->collector)
		control->collector = getpid();
	collector->starter = collector->starter_pid ? watch_open(collector->starter_pid) : -1;
	before_ns = ticks_clock_ns();
	clock_gettime(CLOCK_REALTIME, &real);
	collector->realtime_ns = (uint64_t)real.tv_sec * 1000000000u + (uint64_t)real.tv_nsec -
				 before_ns - (ticks_clock_ns() - before_ns) / 2;
	collector->begun = time(NULL);
	collector->paused = collector->settings.start == START_OFF;
	control->paused = collector->paused;
	ticks_begin(&collector->ticks);
	control->lasting = ((uint64_t)LASTING_NS << 32) / collector->ticks.lines[0].factor;
	ret = collect_keep_begin(collector, err);
	if (ret < 0)
		return ret;
	collector->begun_ticks = ticks_now(control->clock);
	collector->started_ns = ticks_clock_ns();
	return 0;
}

/*
 * Takes over the control page, opens the first output and the socket, leaves the terminal, closes
 * every other descriptor, and sets the state to running. Returns NULL on failure; the control page
 * then has the error text, too.
 */
static struct collector *collect_start(const int fds[FDS], struct error *err)
{
	struct collector *collector = calloc(1, sizeof(*collector));
	struct error ignored;

	if (!collector) {
		error_system(err, ENOMEM, "cannot start the collector");
		return NULL;
	}
	collector->inherited = fds[FD_SINK];
	collector->reports = fds[FD_REPORTS];
	collector->first.fd = -1;
	collector->place.directory = -1;
	detach();
	chunk_survive_losses();
	if (shared_open(&collector->shared, fds[FD_CONTROL], err) < 0 ||
	    start_parts(collector, err) < 0) {
		if (collector->shared.control) {
			shared_fail(&collector->shared, err->text);
			shared_state(&collector->shared, CONTROL_FAILED);
		}
		merge_destroy(collector->merge);
		free(collector);
		return NULL;
	}
	close_inherited(collector);
	listener_start(collector->listener, &ignored);
	collect_look_before(collector);
	shared_state(&collector->shared, CONTROL_RUNNING);
	return collector;
}

/* ---- the program ---- */

static const char usage[] =
	"Usage: holdtrace-collect CONTROL [SINK [REPORTS]]\n"
	"Collects the events that libholdtrace.so records in traced programs.\n"
	"\n"
	"The library or `holdtrace` starts this program; users do not start it themselves.\n"
	"The arguments are numbers of open descriptors: the run's control page; the output\n"
	"if it is `stdout` or `fd:N`, otherwise -1; and a pipe that gets a line for each\n"
	"stream that begins.\n"
	"\n"
	"      --help     print this text and exit\n"
	"      --version  print the version and exit\n";

static int refuse(const char *why, const char *what)
{
	print_message(stderr, "holdtrace-collect: %s%s", why, what);
	fputs("Try 'holdtrace-collect --help'.\n", stderr);
	return 2;
}

int main(int argc, char **argv)
{
	int fds[FDS] = { -1, -1, -1 };
	struct collector *collector;
	struct error err = { 0 };
	char terminal[64];
	int about = options_about(argc, argv, usage), fd;

	if (about >= 0)
		return about;
	if (argc < 2 || argc > 4)
		return refuse("expected one to three descriptors", "");
	for (int i = 1; i < argc; i++) {
		char *end;
		long number;

		errno = 0;
		number = strtol(argv[i], &end, 10);
		if (end == argv[i] || *end || errno || number < -1 || number > INT_MAX)
			return refuse("not a descriptor: ", argv[i]);
		fds[i - 1] = (int)number; /* -1: no descriptor */
	}
	if (ttyname_r(STDERR_FILENO, terminal, sizeof(terminal)))
		terminal[0] = 0;
	collector = collect_start(fds, &err);
	if (!collector) {
		/* if there is a launcher, it prints the error text of the control page */
		if (fds[FD_REPORTS] < 0)
			print_message(stderr, "holdtrace-collect: %s", err.text);
		return 1;
	}
	collect_run(collector);
	/* without a launcher, no other program reports a failure that happened after the start */
	if (fds[FD_REPORTS] >= 0 || !collector->has_failed || !*collector->failure)
		return 0;
	/* standard error was kept open only if it is a file; a terminal is opened again */
	fd = *terminal ? open(terminal, O_WRONLY | O_NOCTTY) : -1;
	if (fd >= 0)
		dup2(fd, STDERR_FILENO);
	print_message(stderr, "holdtrace-collect: %s", collector->failure);
	return 0;
}
