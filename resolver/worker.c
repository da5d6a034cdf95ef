/* SPDX-License-Identifier: MIT */
#include "resolver/worker.h"

#include "base/sanitized.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define READ_SIZE (64 << 10)

static void limit(const struct sandbox_wish *wish)
{
	struct rlimit memory = { WORKER_MEMORY_MAX, WORKER_MEMORY_MAX };

	sandbox_enter(wish ? wish : &(struct sandbox_wish){ 0 });
	if (!IS_SANITIZED)
		setrlimit(RLIMIT_DATA, &memory);
}

/* Whoever waits for the end of our output must not wait for a child. */
static int drop_descriptors(int socket, const char *readable)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
		return -1;
	/* Standard error may be a pipe, too, but a sanitizer has things to say there. */
	if (!IS_SANITIZED && dup2(null, STDERR_FILENO) < 0)
		return -1;
	if (socket != 3 && dup2(socket, 3) < 0)
		return -1;
	syscall(SYS_close_range, 4u, ~0u, 0u);
	/* before the sandbox, which lets nobody pass through another process's root */
	if (readable && open(readable, O_PATH | O_DIRECTORY | O_CLOEXEC) > 4)
		return -1;
	return 3;
}

/* What the parent does with its signals is not for its children; a handler of its least of all. */
static void restore_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	for (int number = 1; number < 32; number++) {
		/* A sanitizer reports what it catches. */
		if (!IS_SANITIZED || number == SIGPROF || number == SIGPIPE)
			signal(number, SIG_DFL);
	}
	/* Interrupts from the terminal are the parent's to decide about. */
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

__attribute__((noreturn)) static void be_child(pid_t parent, int socket, worker_run *run,
					       const void *job, const struct sandbox_wish *wish)
{
	restore_signals();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "holdtrace-names");
	socket = drop_descriptors(socket, wish ? wish->readable : NULL);
	if (socket < 0 || getppid() != parent)
		_exit(1);
	limit(wish);
	worker_restart_clock();
	run(socket, job);
	_exit(0);
}

int worker_start(struct worker *worker, worker_run *run, const void *job,
		 const struct sandbox_wish *wish)
{
	pid_t parent = getpid();
	int sockets[2];

	*worker = (struct worker){ .socket = -1 };
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
		return -errno;
	worker->pid = fork();
	if (worker->pid == 0)
		be_child(parent, sockets[1], run, job, wish);
	close(sockets[1]);
	if (worker->pid < 0) {
		int failure = -errno;

		worker->pid = 0;
		close(sockets[0]);
		return failure;
	}
	worker->socket = sockets[0];
	return 0;
}

static int send_all(int socket, const char *bytes, size_t size, int flags)
{
	while (size > 0) {
		ssize_t sent = send(socket, bytes, size, flags | MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return -EPIPE;
		bytes += sent;
		size -= (size_t)sent;
	}
	return 0;
}

int worker_ask(struct worker *worker, const uint64_t *addresses, size_t count)
{
	uint64_t question[WORKER_BATCH_MAX + 1] = { count };

	memcpy(question + 1, addresses, count * sizeof(*addresses));
	/* It fits where all earlier ones were read; a child that does not read is not waited for.
	 */
	return send_all(worker->socket, (const char *)question, (count + 1) * sizeof(*question),
			MSG_DONTWAIT);
}

/* Makes room behind what is in the buffer; what was taken goes. */
static int make_room(struct worker *worker)
{
	struct message_buffer *in = &worker->in;
	size_t capacity = in->capacity;
	char *items;

	if (worker->used) {
		memmove(in->items, in->items + worker->used, in->count - worker->used);
		in->count -= worker->used;
		worker->used = 0;
	}
	if (capacity - in->count >= READ_SIZE)
		return 0;
	capacity = capacity ? capacity * 2 : 2 * READ_SIZE;
	items = realloc(in->items, capacity);
	if (!items)
		return -ENOMEM;
	in->items = items;
	in->capacity = capacity;
	return 0;
}

int worker_read(struct worker *worker)
{
	ssize_t size;

	if (make_room(worker) != 0)
		return -EPIPE;
	do
		size = recv(worker->socket, worker->in.items + worker->in.count, READ_SIZE, 0);
	while (size < 0 && errno == EINTR);
	if (size <= 0)
		return -EPIPE;
	worker->in.count += (size_t)size;
	return 0;
}

int worker_next(struct worker *worker, struct message *message)
{
	return message_next(&worker->in, &worker->used, message);
}

static void describe(int status, char *why, size_t size)
{
	if (!WIFSIGNALED(status))
		snprintf(why, size, "reading it ended with status %d", WEXITSTATUS(status));
	else if (WTERMSIG(status) == SIGPROF)
		snprintf(why, size, "reading it took more than %d s of processor time",
			 WORKER_SECONDS_MAX);
	else if (WTERMSIG(status) == SIGKILL)
		snprintf(why, size, "reading it led nowhere and was given up");
	else
		snprintf(why, size, "reading it crashed (%s)", strsignal(WTERMSIG(status)));
}

void worker_end(struct worker *worker, char *why, size_t size)
{
	int status = 0;
	pid_t ended = 0;

	if (worker->pid > 0) {
		/* One that closed its socket is about to end by itself, of what it died of. */
		for (int i = 0; why && i < 20 && ended == 0; i++) {
			ended = waitpid(worker->pid, &status, WNOHANG);
			if (ended == 0)
				usleep(1000);
		}
		if (ended == 0) {
			kill(worker->pid, SIGKILL);
			while (waitpid(worker->pid, &status, 0) < 0 && errno == EINTR)
				;
		}
		close(worker->socket);
	}
	if (why)
		describe(status, why, size);
	free(worker->in.items);
	*worker = (struct worker){ .socket = -1 };
}

size_t worker_question(int socket, uint64_t addresses[WORKER_BATCH_MAX])
{
	uint64_t count;

	if (recv(socket, &count, sizeof(count), MSG_WAITALL) != sizeof(count) ||
	    count > WORKER_BATCH_MAX)
		return 0;
	if (recv(socket, addresses, count * sizeof(*addresses), MSG_WAITALL) !=
	    (ssize_t)(count * sizeof(*addresses)))
		return 0;
	return count;
}

int worker_send(int socket, struct message_buffer *buffer)
{
	int failure = send_all(socket, buffer->items, buffer->count, 0);

	buffer->count = 0;
	return failure;
}

void worker_restart_clock(void)
{
	const struct itimerval limit = { .it_value = { .tv_sec = WORKER_SECONDS_MAX } };

	setitimer(ITIMER_PROF, &limit, NULL);
}
