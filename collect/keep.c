/* SPDX-License-Identifier: MIT */
#include "collect/keep.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "collect/spawn.h"
#include "collect/collect_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>

/*
 * Limits for --keep=TIME. A section (a part of a stream that can be read alone) covers a quarter of
 * the time to keep. The file is shortened when it has TIME_MOST sections, which cover one and a
 * half times that time.
 */
#define SECTIONS  4u
#define TIME_MOST 6u
/*
 * Limits for --keep=SIZE. While the shortened file is made from the current file, both exist; both
 * contain the live objects and the new data. More live objects raise these limits (part_of()): then
 * the file is shortened less often and becomes longer.
 */
#define SIZE_PART 32u /* a section is 1/32 of the size to keep */
/* the file is shortened when it reaches this percentage of the size */
#define SIZE_MOST 36u
/* percentage of the size that the shortened file keeps */
#define SIZE_KEPT 20u
/*
 * at this percentage, the collector takes no records until the file is shorter, but for at most
 * PATIENCE_NS
 */
#define SIZE_FULL 48u
/* if live objects use more than this percentage, both files together exceed the size */
#define SIZE_HELD   9u
#define PATIENCE_NS (10000 * MS)
#define RETRY_NS    (10000 * MS)

enum keep_state { KEEP_WRITING, KEEP_CUTTING, KEEP_SHORTENING };

struct keeper {
	struct keep_options options;
	enum keep_state state;
	uint64_t cut_ns, cut_size; /* time and file size when the latest sections began */
	/* the file has all events from this time on, and perhaps earlier ones */
	uint64_t oldest_ns;
	uint64_t grown_ns,
		seen; /* when the file last grew, and its size when it was last checked */
	uint64_t retry_ns, started_ns;
	/* bytes in the file for objects that were live at the beginning of the kept part */
	uint64_t held;
	uint64_t gone; /* number of processes whose events are no longer in the file */
	bool has_told; /* whether it was reported that the file exceeds its size limit */
	pid_t pid;
	struct sink_next next;
	int exchange;
	ARRAY_OF(struct keep_ended) ended;
};

static uint64_t trace_now(const struct collector *collector)
{
	return ticks_ns(&collector->ticks, ticks_now(collector->shared.control->clock));
}

static void keep_report(struct collector *collector, const char *what, const char *why)
{
	snprintf(collector->failure, sizeof(collector->failure), "--keep: %s%s%.400s", what,
		 *why ? ": " : "", why);
	shared_fail(&collector->shared, collector->failure);
	collector->has_failed = true;
}

int collect_keep_begin(struct collector *collector, struct error *err)
{
	struct keep_options options;
	int ret = keep_parse(&options, collector->settings.keep, err);

	if (ret < 0 || (!options.ns && !options.bytes))
		return ret;
	collector->keeper = calloc(1, sizeof(*collector->keeper));
	if (!collector->keeper)
		return error_system(err, ENOMEM, "cannot start the flight recorder");
	*collector->keeper = (struct keeper){
		.options = options, .next.fd = -1, .exchange = -1, .oldest_ns = trace_now(collector)
	};
	return 0;
}

/* Returns `hundredths` percent of the size to keep, plus 120 percent of live objects' bytes. */
static uint64_t part_of(const struct keeper *keeper, uint32_t hundredths)
{
	return keeper->options.bytes / 100 * hundredths + keeper->held + keeper->held / 5;
}

/* ---- a shorter file ---- */

static int keep_start(struct collector *collector, uint64_t now_ns, struct error *err)
{
	struct keeper *keeper = collector->keeper;
	const struct sink *sink = bundle_sink(collector->bundle);
	uint64_t number = keeper->options.ns ? now_ns - keeper->options.ns
					     : keeper->options.bytes / 100 * SIZE_KEPT;
	size_t size = keeper->ended.count * sizeof(*keeper->ended.items);
	char path[32], texts[4][24];
	char *argv[] = { NULL,
			 texts[0],
			 texts[1],
			 texts[2],
			 (char *)(keeper->options.ns ? "since" : "bytes"),
			 texts[3],
			 NULL };
	cleanup_fd int old = -1;
	int rc;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", sink->fd);
	old = open(path, O_RDONLY | O_CLOEXEC);
	if (old < 0)
		return error_system(err, errno, "cannot read %s", sink->name);
	rc = sink_make_next(sink, &keeper->next, err);
	if (rc < 0)
		return rc;
	keeper->exchange = memfd_create("holdtrace-keep", MFD_CLOEXEC);
	if (keeper->exchange < 0 || pwrite(keeper->exchange, keeper->ended.items, size, 0) < 0)
		return error_system(err, errno, "cannot create a memfd");
	for (int i = 0; i < 3; i++)
		snprintf(texts[i], sizeof(texts[i]), "%d", SPAWN_FIRST + i);
	snprintf(texts[3], sizeof(texts[3]), "%" PRIu64, number);
	rc = spawn_start(&keeper->pid, "holdtrace-keep", argv,
			 (const int[]){ old, keeper->next.fd, keeper->exchange }, 3);
	return rc ? error_system(err, rc, "cannot start holdtrace-keep") : 0;
}

static void keep_stop(struct collector *collector)
{
	struct keeper *keeper = collector->keeper;

	spawn_end(&keeper->pid);
	if (keeper->next.fd >= 0)
		sink_forget_next(bundle_sink(collector->bundle), &keeper->next);
	if (keeper->exchange >= 0)
		close(keeper->exchange);
	keeper->exchange = -1;
	keeper->state = KEEP_WRITING;
}

/* Reports why the file was not shortened. The file grows until the next attempt, RETRY_NS later. */
static void keep_fail(struct collector *collector, uint64_t now_ns, const char *why)
{
	keep_report(collector, "cannot shorten the trace", why);
	collector->keeper->retry_ns = now_ns + RETRY_NS;
	keep_stop(collector);
}

/* Reads the answer of holdtrace-keep. Returns NULL if its size is wrong, or there is no memory. */
static struct keep_done *read_answer(int exchange)
{
	struct keep_done *done;
	struct stat st;
	size_t size;

	if (fstat(exchange, &st) < 0 || (size_t)st.st_size < sizeof(*done))
		return NULL;
	size = (size_t)st.st_size;
	done = malloc(size);
	if (done && pread(exchange, done, size, 0) == (ssize_t)size &&
	    done->streams == (size - sizeof(*done)) / sizeof(struct keep_stream))
		return done;
	free(done);
	return NULL;
}

static void keep_take(struct collector *collector, uint64_t now_ns)
{
	struct keeper *keeper = collector->keeper;
	cleanup_free struct keep_done *done = read_answer(keeper->exchange);
	size_t kept = 0;
	struct error err = { 0 };

	if (!done) {
		keep_fail(collector, now_ns, "holdtrace-keep returned an invalid result");
		return;
	}
	if (done->read && bundle_shorten(collector->bundle, &keeper->next, done,
					 (const struct keep_stream *)(done + 1), &err) < 0) {
		keep_fail(collector, now_ns, err.text);
		return;
	}
	if (done->read) {
		char text[64];

		keeper->held = done->held;
		if (!keeper->has_told && keeper->options.bytes &&
		    keeper->held >= keeper->options.bytes / 100 * SIZE_HELD) {
			keeper->has_told = true;
			snprintf(text, sizeof(text), "the live objects use %" PRIu64 " MB",
				 keeper->held / 1000000);
			keep_report(collector, "the trace exceeds its size limit", text);
		}
	}
	for (size_t i = 0; i < keeper->ended.count; i++)
		if (keeper->ended.items[i].ended_ns >= done->since_ns)
			keeper->ended.items[kept++] = keeper->ended.items[i];
	keeper->gone += keeper->ended.count - kept;
	keeper->ended.count = kept;
	keeper->oldest_ns = done->since_ns;
	keeper->cut_size = keeper->seen = bundle_size(collector->bundle);
	keep_stop(collector);
}

static void look_after(struct collector *collector, uint64_t now_ns)
{
	struct keeper *keeper = collector->keeper;
	char why[256];
	ssize_t got = 0;
	int status = 0;
	pid_t pid = waitpid(keeper->pid, &status, WNOHANG);

	if (!pid || (pid < 0 && errno == EINTR))
		return;
	keeper->pid = 0;
	if (pid > 0 && WIFEXITED(status) && !WEXITSTATUS(status)) {
		keep_take(collector, now_ns);
		return;
	}
	status = pid > 0 ? status : 0;
	/* with this status, the exchange file contains the reason */
	if (WIFEXITED(status) && WEXITSTATUS(status) == KEEP_SAID)
		got = pread(keeper->exchange, why, sizeof(why) - 1, 0);
	why[got > 0 ? got : 0] = '\0';
	if (!*why && WIFSIGNALED(status))
		snprintf(why, sizeof(why), "holdtrace-keep was killed by signal %d",
			 WTERMSIG(status));
	else if (!*why)
		snprintf(why, sizeof(why), "holdtrace-keep failed (status %d)",
			 WEXITSTATUS(status));
	keep_fail(collector, now_ns, why);
}

/* ---- for the loop ---- */

static void go_on(struct collector *collector, uint64_t now_ns)
{
	struct keeper *keeper = collector->keeper;
	uint64_t size = bundle_size(collector->bundle);
	struct error err = { 0 };

	if (size != keeper->seen)
		keeper->grown_ns = now_ns;
	keeper->seen = size;
	switch (keeper->state) {
	case KEEP_WRITING:
		if (keeper->options.ns
			    ? now_ns - keeper->cut_ns < keeper->options.ns / SECTIONS
			    : size - keeper->cut_size < keeper->options.bytes / SIZE_PART)
			break;
		for (uint32_t i = 0; i < collector->count; i++)
			if (collector->active[i]->phase != PHASE_CLOSING)
				stream_section(collector->active[i]->stream);
		keeper->cut_ns = now_ns;
		keeper->cut_size = size;
		keeper->state = KEEP_CUTTING;
		break;
	case KEEP_CUTTING:
		for (uint32_t i = 0; i < collector->count; i++)
			if (collector->active[i]->phase != PHASE_CLOSING &&
			    !stream_has_sections(collector->active[i]->stream))
				return;
		keeper->state = KEEP_WRITING;
		/* if the file has not grown since its kept part began, nothing can be removed */
		if (now_ns < keeper->retry_ns ||
		    (keeper->options.ns ? keeper->oldest_ns >= keeper->grown_ns ||
						  now_ns - keeper->oldest_ns <
							  keeper->options.ns / SECTIONS * TIME_MOST
					: size < part_of(keeper, SIZE_MOST)))
			break;
		keeper->state = KEEP_SHORTENING;
		keeper->started_ns = now_ns;
		if (keep_start(collector, now_ns, &err) < 0)
			keep_fail(collector, now_ns, err.text);
		break;
	case KEEP_SHORTENING:
		look_after(collector, now_ns);
		break;
	}
}

void collect_keep(struct collector *collector)
{
	if (!collector->keeper || !collector->any)
		return;
	if (collector->bundle) {
		go_on(collector, trace_now(collector));
		return;
	}
	keep_report(collector, "only an .htr file can be shortened", "");
	free(collector->keeper);
	collector->keeper = NULL;
}

uint64_t collect_keep_gone(const struct collector *collector)
{
	return collector->keeper ? collector->keeper->gone : 0;
}

bool collect_keep_is_full(const struct collector *collector)
{
	const struct keeper *keeper = collector->keeper;

	return keeper && keeper->options.bytes && keeper->state == KEEP_SHORTENING &&
	       bundle_size(collector->bundle) >= part_of(keeper, SIZE_FULL) &&
	       trace_now(collector) - keeper->started_ns < PATIENCE_NS;
}

void collect_keep_leave(struct collector *collector, const struct member *member)
{
	struct keep_ended *ended = collector->keeper ? ARRAY_ADD(&collector->keeper->ended) : NULL;

	if (!ended)
		return;
	/* the end of a process counts as growth, since all its events can be removed later */
	collector->keeper->grown_ns = trace_now(collector);
	*ended = (struct keep_ended){ .stream = member->stream->bundle.number,
				      .ended_ns = trace_now(collector) };
}

void collect_keep_end(struct collector *collector)
{
	if (!collector->keeper)
		return;
	keep_stop(collector);
	free(collector->keeper->ended.items);
	free(collector->keeper);
	collector->keeper = NULL;
}
