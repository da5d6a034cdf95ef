/* SPDX-License-Identifier: MIT */
#include "runs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "console.h"
#include "postproc/request/newest.h"
#include "trace/bundle.h"

#define WORKERS_MAX 64
#define READ_SIZE   (256u << 10)
#define RUNS_MAX    256u /* number of runs after which the resolver is restarted */

/* ---- work on many items in several processes ---- */

struct parallel {
	size_t count; /* number of items */
	/*
	 * Called in a worker, for one item after the other. The output must not contain the bytes
	 * of enum parallel_end.
	 */
	enum parallel_end (*work)(void *user, size_t item, struct out *out);
	/* Called in a worker after its last item; may be NULL. */
	void (*end)(void *user);
	/*
	 * Called in the process that called parallel_run(), with the output for an item, in any
	 * order. The output has `length` bytes and a NUL, and may be modified.
	 */
	void (*take)(void *user, size_t item, enum parallel_end end, char *output, size_t length);
	void *user, *take_user; /* user: for work() and end(); take_user: for take() */
};

/* A process that works on some of the items. Its output arrives in pieces. */
struct parallel_worker {
	pid_t pid;
	int fd;
	size_t item; /* the item whose output arrives next */
	char *bytes; /* the start of this output */
	size_t used;
};

static int start_worker(struct parallel_worker *worker, const struct parallel *parallel,
			size_t first, size_t step, struct error *err)
{
	struct out out;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return error_system(err, errno, "cannot make a pipe");
	*worker = (struct parallel_worker){ .fd = ends[0], .item = first, .pid = fork() };
	if (worker->pid < 0) {
		int number = errno;

		close(ends[0]);
		close(ends[1]);
		return error_system(err, number, "cannot start a process");
	}
	if (!worker->pid) {
		out_open(&out, ends[1]);
		for (size_t i = first; i < parallel->count && !out_error(&out); i += step)
			out_char(&out, (char)parallel->work(parallel->user, i, &out));
		if (parallel->end)
			parallel->end(parallel->user);
		_exit(out_close(&out) ? 1 : 0);
	}
	close(ends[1]);
	return 0;
}

/* Reads what the worker has written. Returns false at the end of its output. */
static bool read_worker(const struct parallel *parallel, struct parallel_worker *worker,
			size_t step)
{
	size_t start = 0, seen = worker->used;
	ssize_t got;

	worker->bytes = memory_resize(worker->bytes, worker->used + READ_SIZE);
	got = read(worker->fd, worker->bytes + worker->used, READ_SIZE);
	if (got <= 0)
		return got < 0 && errno == EINTR;
	worker->used += (size_t)got;
	for (size_t at = seen; at < worker->used; at++) {
		enum parallel_end end = (enum parallel_end)worker->bytes[at];

		if (!(worker->bytes[at] == PARALLEL_WHOLE || worker->bytes[at] == PARALLEL_PART ||
		      worker->bytes[at] == PARALLEL_FAILED))
			continue;
		worker->bytes[at] = '\0';
		parallel->take(parallel->take_user, worker->item, end, worker->bytes + start,
			       at - start);
		worker->item += step;
		start = at + 1;
	}
	worker->used -= start;
	memmove(worker->bytes, worker->bytes + start, worker->used);
	return true;
}

/*
 * Starts a worker for each processor, and waits for the workers. If a worker is killed, take() is
 * not called for its remaining items. Returns 0 or a negative errno.
 */
static int parallel_run(const struct parallel *parallel, struct error *err)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	struct parallel_worker workers[WORKERS_MAX];
	size_t count = processors < 1 ? 1 : (size_t)processors, started = 0;
	struct pollfd polled[WORKERS_MAX];
	size_t open;
	int rc = 0;

	count = count > WORKERS_MAX ? WORKERS_MAX : count;
	count = count > parallel->count ? parallel->count : count;
	for (; rc == 0 && started < count; started += rc == 0)
		rc = start_worker(&workers[started], parallel, started, count, err);
	for (size_t i = 0; i < started; i++)
		polled[i] = (struct pollfd){ .fd = workers[i].fd, .events = POLLIN };
	open = started;
	while (open) {
		if (poll(polled, started, -1) < 0)
			continue;
		for (size_t i = 0; i < started; i++) {
			if (!polled[i].revents || read_worker(parallel, &workers[i], count))
				continue;
			polled[i].fd = -1;
			open--;
		}
	}
	for (size_t i = 0; i < started; i++) {
		while (waitpid(workers[i].pid, NULL, 0) < 0 && errno == EINTR)
			;
		close(workers[i].fd);
		free(workers[i].bytes);
	}
	return rc;
}

/* ---- which traces are a run ---- */

struct runs_search {
	const char *const *paths;
	const struct trace_options *reading;
	char **found; /* indexed by path: the output of write_heads() */
};

/* Writes a line for a trace: the number of its stream or nothing, the id of its run, its rank. */
static void write_head(const struct newest_trace *head, const char *number, struct out *out)
{
	size_t length = 0;
	const char *rank = *number ? trace_label(head->labels, "rank", &length) : NULL;

	out_format(out, "%s\t%" PRIx64 "\t%" PRIx64 "\t", number, head->session[0],
		   head->session[1]);
	out_name(out, rank ? rank : "", length, ESCAPE_ALL);
	out_char(out, '\n');
}

/* Writes one line for a trace file, or a line for each of its streams if it has several ranks. */
static enum parallel_end write_heads(void *user, size_t item, struct out *out)
{
	struct runs_search *search = user;
	const char *path = search->paths[item];
	struct newest_trace head = { .path = (char *)(uintptr_t)path };
	struct inputs inputs = { 0 };
	struct stat facts;
	size_t length;

	console_hush(search->reading->user);
	/* only the report itself may open a named pipe, and only once */
	if ((stat(path, &facts) || S_ISREG(facts.st_mode)) && newest_head(&head, search->reading) &&
	    trace_label(head.labels, "node", &length))
		inputs_expand(&inputs, &path, 1, search->reading, NULL);
	if (!inputs.made.count)
		write_head(&head, "", out);
	for (size_t i = 0; i < inputs.made.count; i++) {
		struct newest_trace part = { .path = inputs.made.items[i] };

		newest_head(&part, search->reading);
		write_head(&part, strrchr(part.path, '#') + 1, out);
		free(part.labels);
	}
	free(head.labels);
	inputs_free(&inputs);
	return PARALLEL_WHOLE;
}

static void take_heads(void *user, size_t item, enum parallel_end end, char *output, size_t length)
{
	struct runs_search *search = user;

	(void)end;
	search->found[item] = memory_text_part(output, length);
}

static bool is_run(const void *item, const void *key)
{
	const struct run *one = item, *two = key;

	return one->session[0] == two->session[0] && one->session[1] == two->session[1] &&
	       !strcmp(one->rank, two->rank);
}

/* Adds a trace to its run. line: a line of write_head(). */
static void add_trace(struct runs *runs, const char *path, char *line)
{
	const char *number = strsep(&line, "\t");
	struct run key = { .session[0] = strtoull(strsep(&line, "\t"), NULL, 16) };
	struct run *run = NULL;
	uint64_t hash;

	key.session[1] = strtoull(strsep(&line, "\t"), NULL, 16);
	key.rank = line;
	hash = hash_two(runs->table.seed ^ hash_bytes(runs->table.seed, line, strlen(line)),
			key.session[0], key.session[1]);
	if (key.session[0] | key.session[1])
		run = hash_table_find(&runs->table, hash, is_run, &key);
	if (!run) {
		run = pool_zalloc(&runs->pool, sizeof(*run));
		*run = key;
		run->rank = pool_text(&runs->pool, line, strlen(line));
		hash_table_add(&runs->table, hash, run);
		*ARRAY_ADD(runs) = run;
	}
	if (*number) {
		size_t size = strlen(path) + strlen(number) + 2;
		char *part = pool_alloc(&runs->pool, size);

		snprintf(part, size, "%s#%s", path, number);
		path = part;
	}
	*ARRAY_ADD(&run->paths) = path;
}

int runs_find(struct runs *runs, const char *const *paths, size_t count,
	      const struct trace_options *reading, struct error *err)
{
	struct runs_search search = { .paths = paths,
				      .reading = reading,
				      .found = memory_zalloc(count, sizeof(*search.found)) };
	const struct parallel parallel = { .count = count,
					   .work = write_heads,
					   .take = take_heads,
					   .user = &search,
					   .take_user = &search };
	int rc = parallel_run(&parallel, err);

	hash_table_init(&runs->table);
	for (size_t i = 0; i < count; i++) {
		char nothing[] = "\t0\t0\t", *lines = search.found[i] ? search.found[i] : nothing;
		char *line;

		while ((line = strsep(&lines, "\n")) != NULL)
			if (*line)
				add_trace(runs, paths[i], line);
		free(search.found[i]);
	}
	free(search.found);
	return rc;
}

void runs_free(struct runs *runs)
{
	for (size_t i = 0; i < runs->count; i++)
		free(runs->items[i]->paths.items);
	free(runs->items);
	hash_table_free(&runs->table);
	pool_free(&runs->pool);
}

/* ---- reports on all runs ---- */

struct runs_work {
	const struct runs *runs;
	struct reporting_options how;
	struct resolve *resolve; /* keeps files open, because most runs have the same programs */
	size_t read;
};

static void end_work(void *user)
{
	naming_end_kept(&((struct runs_work *)user)->how.files);
}

static enum parallel_end write_report(void *user, size_t item, struct out *out)
{
	struct runs_work *work = user;
	const struct run *run = work->runs->items[item];
	struct select_tally *tally = work->how.reading.select.tally;
	struct reporting_result result = { 0 };
	struct error err = { 0 };
	int rc;

	*tally = (struct select_tally){ .filters = tally->filters };
	work->how.files.kept = &work->resolve;
	rc = reporting(run->paths.items, run->paths.count, &work->how, out, &result, &err);
	if (rc)
		console_error(run->paths.count == 1 ? NULL : run->paths.items[0], &err);
	/* restart the resolver, because it uses memory for each address of each run */
	if (++work->read % RUNS_MAX == 0)
		end_work(work);
	return rc || result.reading.unread ? PARALLEL_FAILED
	       : result.damaged		   ? PARALLEL_PART
					   : PARALLEL_WHOLE;
}

int runs_read(const struct runs *runs, const struct reporting_options *how,
	      void (*take)(void *user, size_t run, enum parallel_end end, char *output,
			   size_t length),
	      void *user, struct error *err)
{
	struct runs_work work = { .runs = runs, .how = *how };
	const struct parallel parallel = { .count = runs->count,
					   .work = write_report,
					   .end = end_work,
					   .take = take,
					   .user = &work,
					   .take_user = user };

	/* several processes cannot share the line of progress */
	work.how.reading.trace.progress = NULL;
	return parallel_run(&parallel, err);
}
