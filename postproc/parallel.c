/* SPDX-License-Identifier: MIT */
#include "parallel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"

#define WORKERS_MAX 64
#define READ_SIZE   (256u << 10)

/* A process that works on some of the items. Its output arrives in pieces. */
struct parallel_worker {
	pid_t pid;
	int fd;
	size_t item; /* the item whose output arrives next */
	char *bytes; /* the start of this output */
	size_t used;
};

/* Works on every `step`th item, from item `first` on. */
static int work_on(const struct parallel *parallel, size_t first, size_t step, int fd)
{
	struct out out;

	out_open(&out, fd);
	for (size_t i = first; i < parallel->count && !out_error(&out); i += step)
		out_char(&out, (char)parallel->work(parallel->user, i, &out));
	if (parallel->end)
		parallel->end(parallel->user);
	return out_close(&out) ? 1 : 0;
}

static int start_worker(struct parallel_worker *worker, const struct parallel *parallel,
			size_t first, size_t step, struct error *err)
{
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
	if (!worker->pid)
		_exit(work_on(parallel, first, step, ends[1]));
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
		parallel->take(parallel->user, worker->item, end, worker->bytes + start,
			       at - start);
		worker->item += step;
		start = at + 1;
	}
	worker->used -= start;
	memmove(worker->bytes, worker->bytes + start, worker->used);
	return true;
}

int parallel_run(const struct parallel *parallel, struct error *err)
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
