/* SPDX-License-Identifier: MIT */
#include "resolver/worker.h"

#include "base/memory.h"
#include "base/sandbox.h"
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

/* Exit status of a child that has run out of memory. */
#define STATUS_MEMORY 101

static void end_without_memory(void)
{
	_exit(STATUS_MEMORY);
}

/*
 * Closes inherited descriptors except the socket and the file, because a process that reads the
 * parent's output to its end must not wait for a child. Returns false on failure.
 */
static bool drop_descriptors(int *socket, int *file)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int high = fcntl(*socket, F_DUPFD, 5), given = *file < 0 ? -1 : fcntl(*file, F_DUPFD, 5);

	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
		return false;
	/*
	 * replace standard error, too, because it may be a pipe; but keep it for a sanitizer, which
	 * writes its report there
	 */
	if (!IS_SANITIZED && dup2(null, STDERR_FILENO) < 0)
		return false;
	if (high < 0 || dup2(high, 3) < 0 || (*file >= 0 && (given < 0 || dup2(given, 4) < 0)))
		return false;
	*socket = 3;
	*file = *file < 0 ? -1 : 4;
	syscall(SYS_close_range, *file < 0 ? 4u : 5u, ~0u, 0u);
	return true;
}

/* Resets all signal actions, because a child must not run the handlers of the parent. */
static void restore_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	for (int number = 1; number < 32; number++) {
		/* keep a sanitizer's handlers for the signals that it reports */
		if (!IS_SANITIZED || number == SIGPROF || number == SIGPIPE)
			signal(number, SIG_DFL);
	}
	/* only the parent handles Ctrl-C */
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

__attribute__((noreturn)) static void be_child(pid_t parent, int socket, worker_run *run, int file,
					       const void *job)
{
	const struct rlimit memory = { WORKER_MEMORY_MAX, WORKER_MEMORY_MAX };

	restore_signals();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "holdtrace-names");
	if (!drop_descriptors(&socket, &file) || getppid() != parent)
		_exit(1);
	memory_set_end(end_without_memory);
	sandbox_enter(&(struct sandbox_options){ .opens_nothing = true });
	if (!IS_SANITIZED)
		setrlimit(RLIMIT_DATA, &memory);
	worker_restart_clock();
	run(socket, file, job);
	_exit(0);
}

int worker_start(struct worker *worker, worker_run *run, int file, const void *job)
{
	const struct timeval silence = { .tv_sec = WORKER_SILENCE_MAX };
	pid_t parent = getpid();
	int sockets[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
		return -errno;
	*worker = (struct worker){ .socket = sockets[0],
				   .in = memory_alloc(2 * READ_SIZE),
				   .capacity = 2 * READ_SIZE };
	worker->pid = worker->in ? fork() : -1;
	if (worker->pid == 0)
		be_child(parent, sockets[1], run, file, job);
	close(sockets[1]);
	if (worker->pid < 0) {
		worker_end(worker, NULL, 0);
		return -EAGAIN;
	}
	setsockopt(worker->socket, SOL_SOCKET, SO_RCVTIMEO, &silence, sizeof(silence));
	return 0;
}

int worker_ask(struct worker *worker, const uint64_t *addresses, size_t count)
{
	uint64_t question[WORKER_BATCH_MAX + 1] = { count };
	size_t size = (count + 1) * sizeof(*question);

	memcpy(question + 1, addresses, count * sizeof(*addresses));
	/*
	 * If the child has read all earlier requests, this request fits into the socket's buffer.
	 * Otherwise send() fails instead of waiting for the child.
	 */
	return send(worker->socket, question, size, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)size
		       ? 0
		       : -EPIPE;
}

/* A message that consists of a number and, optionally, a descriptor. */
struct parcel {
	int64_t number;
	struct iovec bytes;
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
	struct msghdr message;
};

static void init_parcel(struct parcel *parcel, bool has_file)
{
	parcel->bytes = (struct iovec){ &parcel->number, sizeof(parcel->number) };
	parcel->message = (struct msghdr){ .msg_iov = &parcel->bytes, .msg_iovlen = 1 };
	if (!has_file)
		return;
	parcel->message.msg_control = parcel->control;
	parcel->message.msg_controllen = sizeof(parcel->control);
}

int worker_give(struct worker *worker, int file)
{
	struct parcel parcel = { .number = file < 0 ? file : 0 };
	struct cmsghdr *head;

	init_parcel(&parcel, file >= 0);
	head = CMSG_FIRSTHDR(&parcel.message);
	if (head) {
		*head = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
					  .cmsg_type = SCM_RIGHTS,
					  .cmsg_len = CMSG_LEN(sizeof(file)) };
		memcpy(CMSG_DATA(head), &file, sizeof(file));
	}
	return sendmsg(worker->socket, &parcel.message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -EPIPE
											 : 0;
}

int worker_take(int socket)
{
	struct parcel parcel = { 0 };
	struct cmsghdr *head;
	int file;

	init_parcel(&parcel, true);
	if (recvmsg(socket, &parcel.message, MSG_CMSG_CLOEXEC | MSG_WAITALL) !=
	    sizeof(parcel.number))
		_exit(0); /* the parent has closed the socket */
	head = CMSG_FIRSTHDR(&parcel.message);
	if (parcel.number < 0 || !head || head->cmsg_type != SCM_RIGHTS)
		return parcel.number < 0 ? (int)parcel.number : -EMFILE;
	memcpy(&file, CMSG_DATA(head), sizeof(file));
	return file;
}

/* Enlarges the buffer for bytes from the child. Returns false if memory runs out. */
static bool make_room(struct worker *worker)
{
	char *in;

	worker->count -= worker->used;
	memmove(worker->in, worker->in + worker->used, worker->count);
	worker->used = 0;
	if (worker->capacity - worker->count >= READ_SIZE)
		return true;
	in = memory_resize(worker->in, worker->capacity * 2);
	if (!in)
		return false;
	worker->in = in;
	worker->capacity *= 2;
	return true;
}

int worker_next(struct worker *worker, struct message *message)
{
	for (;;) {
		int found = message_next(worker->in, worker->count, &worker->used, message);
		ssize_t size;

		if (found)
			return found < 0 ? found : 0;
		if (!make_room(worker))
			return -EPIPE;
		/*
		 * a stop signal interrupts recv(); the next recv() restarts the time limit, which
		 * is right, because the child was stopped, too
		 */
		do
			size = recv(worker->socket, worker->in + worker->count, READ_SIZE, 0);
		while (size < 0 && errno == EINTR);
		if (size <= 0)
			return -EPIPE;
		worker->count += (size_t)size;
	}
}

static void describe_death(int status, char *why, size_t size)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == STATUS_MEMORY)
		snprintf(why, size, "reading it took more than %d GiB of memory",
			 (int)(WORKER_MEMORY_MAX >> 30));
	else if (!WIFSIGNALED(status))
		snprintf(why, size, "reading it ended with status %d", WEXITSTATUS(status));
	else if (WTERMSIG(status) == SIGPROF)
		snprintf(why, size, "reading it took more than %d s of processor time",
			 WORKER_SECONDS_MAX);
	else if (WTERMSIG(status) == SIGKILL)
		snprintf(why, size, "reading it took too long and was stopped");
	else
		snprintf(why, size, "reading it crashed (%s)", strsignal(WTERMSIG(status)));
}

void worker_end(struct worker *worker, char *why, size_t size)
{
	int status = 0;
	pid_t ended = 0;

	if (worker->pid > 0) {
		/*
		 * a child that closed its socket is about to end: wait up to 20 ms for its exit
		 * status instead of killing it
		 */
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
	}
	if (worker->socket >= 0)
		close(worker->socket);
	if (why)
		describe_death(status, why, size);
	free(worker->in);
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

void worker_restart_clock(void)
{
	const struct itimerval limit = { .it_value = { .tv_sec = WORKER_SECONDS_MAX } };

	setitimer(ITIMER_PROF, &limit, NULL);
}
