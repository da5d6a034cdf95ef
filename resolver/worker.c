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

/* ---- messages ---- */

/*
 * The header of each message, in the byte order of the machine, because messages are exchanged only
 * between processes of one program.
 */
struct header {
	uint32_t size; /* size of the body */
	uint32_t kind;
};

/*
 * The start of an answer's body. A number for each symbol follows, and then the symbols' strings.
 */
struct answer_head {
	uint64_t address, count;
};

enum {
	HAS_PARAMETERS = 1,
	HAS_FUNCTION = 2,
	HAS_FILE = 4,
	LINE_SHIFT = 32,
};

void message_put(FILE *to, enum message_kind kind, const void *body, size_t size)
{
	const struct header header = { .size = (uint32_t)size, .kind = kind };

	fwrite(&header, sizeof(header), 1, to);
	fwrite(body, size, 1, to);
}

void message_put_answer(FILE *to, uint64_t address, const struct symbol *symbols, unsigned count)
{
	const char *texts[2 * RESOLVE_FRAMES_MAX];
	size_t sizes[2 * RESOLVE_FRAMES_MAX], all = 0;
	uint64_t numbers[RESOLVE_FRAMES_MAX];
	struct answer_head head = { .address = address, .count = count };
	struct header header = { .kind = MESSAGE_ANSWER };

	if (head.count > RESOLVE_FRAMES_MAX)
		head.count = RESOLVE_FRAMES_MAX;
	for (size_t i = 0; i < head.count; i++) {
		const struct symbol *symbol = &symbols[i];

		numbers[i] = (uint64_t)symbol->line << LINE_SHIFT |
			     (symbol->has_parameters ? HAS_PARAMETERS : 0) |
			     (symbol->function ? HAS_FUNCTION : 0) | (symbol->file ? HAS_FILE : 0);
		texts[2 * i] = symbol->function;
		texts[2 * i + 1] = symbol->file;
	}
	for (size_t i = 0; i < 2 * head.count; i++) {
		sizes[i] = texts[i] ? strnlen(texts[i], MESSAGE_NAME_MAX) : 0;
		all += texts[i] ? sizes[i] + 1 : 0;
	}
	header.size = (uint32_t)(sizeof(head) + head.count * sizeof(*numbers) + all);
	fwrite(&header, sizeof(header), 1, to);
	fwrite(&head, sizeof(head), 1, to);
	fwrite(numbers, sizeof(*numbers), head.count, to);
	for (size_t i = 0; i < 2 * head.count; i++) {
		if (!texts[i])
			continue;
		fwrite(texts[i], 1, sizes[i], to);
		fputc(0, to);
	}
}

int message_next(const char *bytes, size_t count, size_t *used, struct message *message)
{
	size_t left = count - *used;
	struct header header;

	if (left < sizeof(header))
		return 0;
	memcpy(&header, bytes + *used, sizeof(header));
	if (header.size > MESSAGE_SIZE_MAX)
		return -EBADMSG;
	if (left - sizeof(header) < header.size)
		return 0;
	*message = (struct message){
		.kind = header.kind,
		.size = header.size,
		.body = bytes + *used + sizeof(header),
	};
	*used += sizeof(header) + header.size;
	return 1;
}

int message_get_facts(const struct message *message, struct facts *facts)
{
	if (message->kind != MESSAGE_FACTS || message->size != sizeof(*facts))
		return -EBADMSG;
	memcpy(facts, message->body, sizeof(*facts));
	if (facts->reason > RESOLVE_BROKEN || facts->build_id_size > sizeof(facts->build_id) ||
	    facts->layout.count > LAYOUT_SEGMENTS_MAX ||
	    !memchr(facts->text, 0, sizeof(facts->text)))
		return -EBADMSG;
	facts->is_known = true;
	return 0;
}

int message_get_want(const struct message *message, struct file_want *want)
{
	if (message->kind != MESSAGE_WANT || message->size != sizeof(*want))
		return -EBADMSG;
	memcpy(want, message->body, sizeof(*want));
	if (want->build_id_size > sizeof(want->build_id) ||
	    !memchr(want->name, 0, sizeof(want->name)) ||
	    !memchr(want->directory, 0, sizeof(want->directory)))
		return -EBADMSG;
	return 0;
}

/* Returns the string at *at, and advances *at. NULL: the string is not terminated. */
static const char *take_text(const char **at, const char *end)
{
	const char *text = *at, *stop = memchr(text, 0, (size_t)(end - text));

	*at = stop ? stop + 1 : end;
	return stop ? text : NULL;
}

int message_get_answer(const struct message *message, struct answer **result)
{
	const char *at = message->body, *end;
	struct answer_head head;
	struct answer *answer;
	size_t strings;

	if (message->kind != MESSAGE_ANSWER || message->size < sizeof(head))
		return -EBADMSG;
	memcpy(&head, at, sizeof(head));
	if (head.count == 0 || head.count > RESOLVE_FRAMES_MAX ||
	    message->size - sizeof(head) < head.count * sizeof(uint64_t))
		return -EBADMSG;
	/* in the result, the strings are stored after the symbols */
	strings = message->size - sizeof(head) - head.count * sizeof(uint64_t);
	answer = memory_alloc(sizeof(*answer) + head.count * sizeof(struct symbol) + strings);
	if (!answer)
		return -ENOMEM;
	*answer = (struct answer){ .address = head.address, .count = (unsigned)head.count };
	memcpy(&answer->symbols[head.count], message->body + message->size - strings, strings);
	at = (const char *)&answer->symbols[head.count];
	end = at + strings;
	for (size_t i = 0; i < head.count; i++) {
		struct symbol *symbol = &answer->symbols[i];
		uint64_t number;

		memcpy(&number, message->body + sizeof(head) + i * sizeof(number), sizeof(number));
		*symbol = (struct symbol){ .line = (unsigned)(number >> LINE_SHIFT),
					   .has_parameters = number & HAS_PARAMETERS };
		if (number & HAS_FUNCTION)
			symbol->function = take_text(&at, end);
		if (number & HAS_FILE)
			symbol->file = take_text(&at, end);
		if (!symbol->function != !(number & HAS_FUNCTION) ||
		    !symbol->file != !(number & HAS_FILE)) {
			free(answer);
			return -EBADMSG;
		}
	}
	*result = answer;
	return 0;
}

/* ---- processes ---- */

static void end_without_memory(void)
{
	_exit(STATUS_MEMORY);
}

/*
 * Closes the inherited descriptors except the socket and the file. Otherwise a process that reads
 * the parent's output to its end would wait for the child, too. Returns false on failure.
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

__attribute__((noreturn)) static void be_child(pid_t parent, int socket, worker_run *run, int file,
					       const void *job)
{
	const struct rlimit memory = { WORKER_MEMORY_MAX, WORKER_MEMORY_MAX };
	sigset_t none;

	/* reset all signal actions, because a child must not run the handlers of the parent */
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

int worker_next(struct worker *worker, struct message *message)
{
	for (;;) {
		int found = message_next(worker->in, worker->count, &worker->used, message);
		ssize_t size;

		if (found)
			return found < 0 ? found : 0;
		worker->count -= worker->used;
		memmove(worker->in, worker->in + worker->used, worker->count);
		worker->used = 0;
		if (worker->capacity - worker->count < READ_SIZE) {
			char *in = memory_resize(worker->in, worker->capacity * 2);

			if (!in)
				return -EPIPE;
			worker->in = in;
			worker->capacity *= 2;
		}
		/*
		 * a stop signal interrupts recv(). The next recv() restarts the time limit, because
		 * the child was stopped, too
		 */
		do
			size = recv(worker->socket, worker->in + worker->count, READ_SIZE, 0);
		while (size < 0 && errno == EINTR);
		if (size <= 0)
			return -EPIPE;
		worker->count += (size_t)size;
	}
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
	if (why) {
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
