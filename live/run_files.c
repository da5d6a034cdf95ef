/* SPDX-License-Identifier: MIT */
#include "live/run_files.h"

#include "base/array.h"
#include "base/checksum.h"
#include "base/memory.h"
#include "control/control.h"
#include "htr_table.h"
#include "live/live.h"
#include "notes.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PART_SIZE (64u << 10)
#define SETTLE_NS 2000000
#define LIST_PART 4096		/* maximum number of bytes of the list that one read() returns */
#define LOOK_NS	  1000000000ull /* time between two checks for replaced files */
#define LIST_MS	  1000		/* time between two requests to the collector for new files */

/* ---- a process ---- */

void watched_lock(struct watched *watched)
{
	__atomic_fetch_add(&watched->lookers, 1, __ATOMIC_RELAXED);
	pthread_mutex_lock(&watched->mutex);
	__atomic_fetch_sub(&watched->lookers, 1, __ATOMIC_RELAXED);
}

void watched_unlock(struct watched *watched)
{
	pthread_mutex_unlock(&watched->mutex);
}

static void on_move(void *user, const struct ledger_move *move)
{
	struct watched *watched = user;
	struct watched_site *site = ARRAY_AT(&watched->sites, move->site);

	site->count += (uint64_t)(int64_t)move->count;
	site->bytes += move->is_acquisition ? move->bytes : -move->bytes;
	site->variance += move->is_acquisition ? move->variance : -move->variance;
	if (move->is_acquisition && !move->is_no_call)
		site->acquired += (uint64_t)move->count;
}

/*
 * Reads and processes one event. Holds the lock only to process it, so that other threads can take
 * the lock while this one waits for the event.
 */
static int take_event(struct watched *watched, struct error *err)
{
	const struct event *event;
	int status = trace_next(watched->trace, &event, err);

	if (status <= 0)
		return status;
	/*
	 * let threads that wait for the mutex run first: they would starve if this thread locked it
	 * again immediately
	 */
	while (__atomic_load_n(&watched->lookers, __ATOMIC_RELAXED))
		sched_yield();
	pthread_mutex_lock(&watched->mutex);
	if (event->kind == EVENT_PROCESS) {
		watched->pid = event->process->pid;
		watched->stream = event->process->stream;
		if (!watched->start_ns)
			watched->start_ns = event->process->start_ns;
		snprintf(watched->name, sizeof(watched->name), "%s",
			 event->process->name ? event->process->name : "");
	}
	if (event->kind == EVENT_STREAM)
		space_begin_process(&watched->space);
	if (event->kind == EVENT_MAPPING)
		space_map(&watched->space, event->mapping);
	if (event->kind == EVENT_NOTE) {
		const char *count = event_argument(event, "count");
		const char *executable = event_argument(event, "executable");

		if (!strcmp(event->function->name, NOTE_DROPPED) && count)
			watched->lost += strtoull(count, NULL, 10);
		else if (!strcmp(event->function->name, NOTE_UNPROVEN))
			watched->is_unproven = true;
		else if (!strcmp(event->function->name, NOTE_END))
			watched->has_ended = true;
		else if (!strcmp(event->function->name, NOTE_PROCESS) && executable)
			space_add_program(&watched->space, executable);
	}
	watched->events += event->kind == EVENT_CALL;
	if (event_is_call(event) && event->time_ns > watched->time_ns)
		watched->time_ns = event->time_ns;
	if (event_is_call(event))
		ledger_event(watched->ledger, event);
	watched->damages = trace_tally(watched->trace)->damages;
	pthread_mutex_unlock(&watched->mutex);
	return status;
}

static void *read_stream(void *context)
{
	struct watched *watched = context;
	struct error err = { 0 };
	const struct trace_options options = { .taken = &watched->taken };
	int status = trace_open_fd(&watched->trace, watched->input, &options, &err);

	while (status >= 0 && (status = take_event(watched, &err)) > 0)
		;
	watched_lock(watched);
	watched->is_finished = true;
	if (status < 0)
		watched->error = err;
	watched_unlock(watched);
	close(watched->input);
	return NULL;
}

/* ---- the streams of a file ---- */

static int begin_stream(struct run_file *file, size_t stream, struct error *err)
{
	struct watched *watched;
	int ends[2], status;

	if (pipe2(ends, O_CLOEXEC))
		return error_system(err, errno, "cannot make a pipe");
	watched = memory_zalloc(1, sizeof(*watched));
	watched->file = file;
	watched->input = ends[0];
	pthread_mutex_init(&watched->mutex, NULL);
	space_init(&watched->space);
	watched->ledger = ledger_create(false);
	ledger_listen(watched->ledger, on_move, watched);
	status = naming_create(&watched->naming, &watched->space, NULL, err);
	/* the new thread owns the descriptor watched->input and closes it */
	if (!status)
		status = -pthread_create(&watched->thread, NULL, read_stream, watched);
	if (status) {
		free(watched);
		close(ends[0]);
		close(ends[1]);
		return error_system(err, -status, "stream");
	}
	*ARRAY_ADD(&file->run->processes) = watched;
	file->streams[stream] = (struct run_stream){ .input = ends[1], .reader = watched };
	if (file->stream_count <= stream)
		file->stream_count = stream + 1;
	return 0;
}

/*
 * Writes the next `size` bytes of the file to the pipe of the stream. The file must have these
 * bytes.
 */
static int pass_on(struct run_file *file, size_t number, uint64_t size, struct error *err)
{
	struct run_stream *stream = number < RUN_STREAMS_MAX ? &file->streams[number] : NULL;
	uint8_t bytes[PART_SIZE];

	while (size) {
		ssize_t got = pread(file->fd, bytes, size < PART_SIZE ? size : PART_SIZE,
				    (off_t)file->offset);
		size_t done = 0;

		if (got <= 0)
			return got ? error_system(err, errno, "cannot read") : 0;
		while (stream && stream->input >= 0 && done < (size_t)got) {
			ssize_t wrote = write(stream->input, bytes + done, (size_t)got - done);

			if (wrote >= 0) {
				done += (size_t)wrote;
			} else if (errno != EINTR) {
				/* the reader found damage, which it reports, and closed the pipe */
				close(stream->input);
				stream->input = -1;
			}
		}
		if (stream)
			stream->next += (uint64_t)got;
		file->offset += (uint64_t)got;
		size -= (uint64_t)got;
	}
	return 0;
}

static int pump_pieces(struct run_file *file, uint64_t size, struct error *err)
{
	/* each piece belongs to one stream; the last piece of the file may still be incomplete */
	while (size - file->offset >= HTR_SIZE_piece) {
		uint8_t bytes[HTR_SIZE_piece];
		struct htr_piece piece;
		struct run_stream *stream;
		int status;

		if (pread(file->fd, bytes, sizeof(bytes), (off_t)file->offset) != HTR_SIZE_piece)
			return 0;
		htr_get_piece(bytes, &piece);
		if (piece.magic != HTR_MAGIC_PIECE ||
		    piece.check != checksum(0, bytes + 8, HTR_SIZE_piece - 8))
			return error_set(err, EBADMSG, "is damaged at byte %llu",
					 (unsigned long long)file->offset);
		if (piece.size > size - file->offset - HTR_SIZE_piece)
			return 0;
		stream = piece.stream < RUN_STREAMS_MAX ? &file->streams[piece.stream] : NULL;

		file->offset += HTR_SIZE_piece;
		file->left_out += !stream && !piece.place;
		status = stream && !piece.place && !stream->next
				 ? begin_stream(file, piece.stream, err)
				 : 0;
		if (!status)
			status = pass_on(file, piece.stream, piece.size, err);
		if (status)
			return status;
	}
	return 0;
}

/*
 * Writes the new bytes of the file to the pipes. Blocks while a pipe is full, but never waits for
 * the writer of the file.
 */
static int pump_file(struct run_file *file, struct error *err)
{
	/* the writer holds a lock on the file until the file is complete */
	bool is_complete = flock(file->fd, LOCK_SH | LOCK_NB) == 0;
	uint8_t bytes[HTR_SIZE_bundle];
	const unsigned char *at = bytes;
	struct stat status;
	int result = 0;

	if (is_complete)
		flock(file->fd, LOCK_UN);
	/* called after flock(): if the file was complete then, this size is final */
	if (fstat(file->fd, &status))
		return error_system(err, errno, "trace");
	if (!file->is_known && pread(file->fd, bytes, sizeof(bytes), 0) == sizeof(bytes)) {
		file->is_known = true;
		file->is_bundle = htr_get_qword(&at) == HTR_MAGIC_BUNDLE;
		if (file->is_bundle)
			file->offset = HTR_SIZE_bundle;
		else
			result = begin_stream(file, 0, err);
	}
	if (!result && file->is_known && file->is_bundle)
		result = pump_pieces(file, (uint64_t)status.st_size, err);
	else if (!result && file->is_known && (uint64_t)status.st_size > file->offset)
		result = pass_on(file, 0, (uint64_t)status.st_size - file->offset, err);
	file->is_complete = is_complete;
	return result;
}

/* ---- files ---- */

/* Whether another file has the path now: --keep replaces its output from time to time. */
static bool has_moved(const struct run_file *file)
{
	struct stat facts;

	return stat(file->path, &facts) == 0 && S_ISREG(facts.st_mode) &&
	       (facts.st_ino != file->inode || facts.st_dev != file->device);
}

static int begin_file(struct run_file *file, struct error *err)
{
	struct stat status;

	*file = (struct run_file){ .run = file->run, .path = file->path };
	for (size_t i = 0; i < RUN_STREAMS_MAX; i++)
		file->streams[i].input = -1;
	file->fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (file->fd < 0)
		return error_system(err, errno, "%s", file->path);
	if (fstat(file->fd, &status) || !S_ISREG(status.st_mode)) {
		close(file->fd);
		file->fd = -1;
		return error_set(err, EINVAL, "%s is not a regular file, and cannot be followed",
				 file->path);
	}
	file->inode = status.st_ino;
	file->device = status.st_dev;
	return 0;
}

/* Closes the pipes, and waits until the readers have reached the ends of their streams. */
static void end_file(struct run_file *file)
{
	struct run *run = file->run;
	size_t kept = 0;

	for (size_t i = 0; i < file->stream_count; i++)
		if (file->streams[i].input >= 0)
			close(file->streams[i].input);
	if (file->fd >= 0)
		close(file->fd);
	for (size_t i = 0; i < run->processes.count; i++) {
		struct watched *watched = run->processes.items[i];

		if (watched->file != file) {
			run->processes.items[kept++] = watched;
			continue;
		}
		pthread_join(watched->thread, NULL);
		if (watched->trace)
			trace_close(watched->trace);
		naming_destroy(watched->naming);
		ledger_destroy(watched->ledger);
		space_free(&watched->space);
		free(watched->sites.items);
		free(watched);
	}
	run->processes.count = kept;
}

static bool is_known(const struct run *run, const char *path)
{
	for (size_t i = 0; i < run->file_count; i++)
		if (!strcmp(run->files[i]->path, path))
			return true;
	for (size_t i = 0; i < run->left_out.count; i++)
		if (!strcmp(run->left_out.items[i], path))
			return true;
	return false;
}

static bool is_number(const char *text)
{
	return *text && !text[strspn(text, "0123456789")];
}

/*
 * Adds the file whose path is the first `length` bytes of `text`. If the text is "+N", stores the
 * number of further files.
 */
static int add_file(struct run *run, const char *text, size_t length, struct error *err)
{
	char *path = memory_text_part(text, length);
	struct run_file *file;
	int status;

	/* "+N": the number of files whose names the collector could not send */
	if (*path == '+' && is_number(path + 1))
		run->unnamed = strtoull(path + 1, NULL, 10);
	if ((*path == '+' && is_number(path + 1)) || is_known(run, path)) {
		free(path);
		return 0;
	}
	if (run->file_count == RUN_FILES_MAX) {
		*ARRAY_ADD(&run->left_out) = path;
		return 0;
	}
	file = memory_zalloc(1, sizeof(*file));
	*file = (struct run_file){ .run = run, .path = path };
	status = begin_file(file, err);
	if (status) {
		free(path);
		free(file);
		return status;
	}
	run->files[run->file_count++] = file;
	return 0;
}

/* ---- the run of a process ---- */

struct lister {
	struct ctl_run *run;
	int pid, fd;
	char *told;
};

/*
 * Function of the thread that asks the collector for the files of the run; a separate thread,
 * because the answer may take seconds. Writes the paths to the pipe, one per line, whenever the
 * list has changed. Ends when the run ends or the reader closes the pipe.
 */
static void *list_files(void *user)
{
	struct lister *lister = user;
	struct pollfd reader = { .fd = lister->fd };

	while (poll(&reader, 1, LIST_MS) == 0) {
		struct error err = { 0 };
		char *paths = NULL;
		int status = ctl_paths(lister->run, lister->pid, &paths, &err);

		if (status && status != -ETIMEDOUT)
			break;
		if (status || !strcmp(lister->told, paths)) {
			free(paths);
			continue;
		}
		free(lister->told);
		lister->told = paths;
		if (write(lister->fd, paths, strlen(paths)) < 0)
			break;
	}
	close(lister->fd);
	free(lister->told);
	free(lister->run);
	free(lister);
	return NULL;
}

static int begin_list(struct run *run, const struct lister *plan, struct error *err)
{
	struct lister *lister = memory_alloc(sizeof(*lister));
	pthread_t thread;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC)) {
		free(lister);
		return error_system(err, errno, "cannot make a pipe");
	}
	run->list = ends[0];
	fcntl(run->list, F_SETFL, O_NONBLOCK);
	*lister = *plan;
	lister->fd = ends[1];
	if (pthread_create(&thread, NULL, list_files, lister) == 0)
		return pthread_detach(thread);
	close(ends[1]);
	free(lister);
	return error_set(err, EAGAIN, "cannot start a thread");
}

int run_open(struct run *run, char *const *names, struct error *err)
{
	int status = 0;

	*run = (struct run){ .list = -1 };
	if (names[0] && !names[1] && ctl_is_process(names[0])) {
		int pid = atoi(names[0]);
		struct lister lister = { .pid = pid };

		status = ctl_find(pid, &lister.run, err);

		if (!status)
			status = ctl_paths(lister.run, pid, &lister.told, err);
		if (!status && !*lister.told)
			status = error_set(err, ENOENT,
					   "the run of process %d does not write to a trace file",
					   pid);
		for (const char *at = lister.told, *end; !status && (end = strchr(at, '\n'));
		     at = end + 1)
			status = add_file(run, at, (size_t)(end - at), err);
		if (!status)
			status = begin_list(run, &lister, err);
		if (status) {
			free(lister.run);
			free(lister.told);
		}
		return status;
	}
	for (; !status && *names; names++) {
		const char *mark = strrchr(*names, '#'); /* in FILE#N */

		status = add_file(run, *names,
				  mark && is_number(mark + 1) ? (size_t)(mark - *names)
							      : strlen(*names),
				  err);
	}
	return status;
}

/* ---- new files ---- */

/*
 * Adds the files that list_files() has written to the pipe. Skips files that no longer exist or
 * cannot be followed.
 */
static void read_list(struct run *run)
{
	while (run->list >= 0) {
		char *start, *end;
		ssize_t got;

		run->heard = memory_resize(run->heard, run->heard_size + LIST_PART);
		got = read(run->list, run->heard + run->heard_size, LIST_PART);
		if (got < 0)
			return;
		if (!got) {
			close(run->list);
			run->list = -1;
			return;
		}
		run->heard_size += (size_t)got;
		for (start = run->heard;
		     (end = memchr(start, '\n', run->heard_size - (size_t)(start - run->heard)));
		     start = end + 1) {
			struct error ignored = { 0 };

			add_file(run, start, (size_t)(end - start), &ignored);
		}
		run->heard_size -= (size_t)(start - run->heard);
		memmove(run->heard, start, run->heard_size);
	}
}

int run_pump(struct run *run, struct error *err)
{
	uint64_t now = clock_ns();
	int status = 0;
	bool looks = now - run->looked_ns >= LOOK_NS;

	read_list(run);
	if (looks)
		run->looked_ns = now;
	for (size_t i = 0; looks && !status && i < run->file_count; i++) {
		if (!has_moved(run->files[i]))
			continue;
		end_file(run->files[i]);
		run->restarts++;
		status = begin_file(run->files[i], err);
	}
	for (size_t i = 0; !status && i < run->file_count; i++)
		status = pump_file(run->files[i], err);
	return status;
}

bool run_is_complete(const struct run *run)
{
	for (size_t i = 0; i < run->file_count; i++)
		if (!run->files[i]->is_complete || has_moved(run->files[i]))
			return false;
	return run->list < 0;
}

uint64_t run_left_out(const struct run *run)
{
	uint64_t count = run->left_out.count + run->unnamed;

	for (size_t i = 0; i < run->file_count; i++)
		count += run->files[i]->left_out;
	return count;
}

/*
 * Whether the reader has processed all bytes of the stream that were written to its pipe, or has
 * ended.
 */
static bool is_settled(const struct run_stream *stream)
{
	struct watched *watched = stream->reader;
	bool is_finished;

	if (!watched || __atomic_load_n(&watched->taken, __ATOMIC_ACQUIRE) >= stream->next)
		return true;
	watched_lock(watched);
	is_finished = watched->is_finished;
	watched_unlock(watched);
	return is_finished;
}

void run_settle(struct run *run)
{
	const struct timespec pause = { .tv_nsec = SETTLE_NS };

	for (size_t i = 0; i < run->file_count; i++)
		for (size_t k = 0; k < run->files[i]->stream_count; k++)
			while (!is_settled(&run->files[i]->streams[k]))
				nanosleep(&pause, NULL);
}

void run_free(struct run *run)
{
	for (size_t i = 0; i < run->file_count; i++) {
		end_file(run->files[i]);
		free(run->files[i]->path);
		free(run->files[i]);
	}
	for (size_t i = 0; i < run->left_out.count; i++)
		free(run->left_out.items[i]);
	if (run->list >= 0)
		close(run->list);
	free(run->left_out.items);
	free(run->heard);
	free(run->processes.items);
}
