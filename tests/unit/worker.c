/* SPDX-License-Identifier: MIT */
#include "resolver/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/memory.h"
#include "tests/lib/tap.h"

/* Children that behave as badly as libdw might with a hostile file. */

static void answer_all(int socket, int file, const void *job)
{
	uint64_t addresses[WORKER_BATCH_MAX];
	FILE *out = fdopen(socket, "w");
	size_t count;

	(void)file;
	while ((count = worker_question(socket, addresses)) > 0) {
		for (size_t i = 0; i < count; i++) {
			struct symbol symbol = { .function = job, .line = (unsigned)addresses[i] };

			message_put_answer(out, addresses[i], &symbol, 1);
		}
		fflush(out);
	}
}

static void crash(int socket, int file, const void *job)
{
	uint64_t addresses[WORKER_BATCH_MAX];

	(void)file;
	(void)job;
	signal(SIGSEGV, SIG_DFL); /* a sanitizer's handler would turn the signal into an exit */
	worker_question(socket, addresses);
	raise(SIGSEGV);
}

/* Runs for ever, with a hundredth of the time limit that worker_restart_clock() has set. */
static void run_for_ever(int socket, int file, const void *job)
{
	const struct itimerval soon = { .it_value = { .tv_usec = WORKER_SECONDS_MAX * 10000 } };
	struct itimerval clock;

	(void)socket;
	(void)file;
	(void)job;
	if (getitimer(ITIMER_PROF, &clock) != 0 || clock.it_value.tv_sec < WORKER_SECONDS_MAX - 1)
		_exit(3);
	setitimer(ITIMER_PROF, &soon, NULL);
	for (;;)
		__asm__ volatile("");
}

static void sleep_for_ever(int socket, int file, const void *job)
{
	(void)socket;
	(void)file;
	(void)job;
	for (;;)
		pause();
}

/* Not used with ASan, whose own memory would exceed the limit. */
__attribute__((unused)) static void take_all_memory(int socket, int file, const void *job)
{
	struct rlimit limit;

	(void)file;
	(void)job;
	getrlimit(RLIMIT_DATA, &limit);
	for (uint64_t bytes = 0; bytes < 2 * WORKER_MEMORY_MAX; bytes += 64 << 20) {
		if (mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED)
			break;
		if (bytes > WORKER_MEMORY_MAX)
			write(socket, "too much", 8) == 8 ? _exit(0) : _exit(1);
	}
	abort();
}

static void talk_nonsense(int socket, int file, const void *job)
{
	static const char bytes[64] = { -1, -1, -1, -1, -1, -1, -1, -1 };

	(void)file;
	(void)job;
	(void)!write(socket, bytes, sizeof(bytes));
	sleep_for_ever(socket, file, job);
}

/* Writes 0 if the child has no descriptors but those that it was given, and can read its file. */
static void tell_descriptors(int socket, int file, const void *job)
{
	char found = 0, bytes[4] = "";

	(void)job;
	for (int fd = 4; fd < 1024; fd++)
		found |= fd != file && fcntl(fd, F_GETFD) >= 0;
	found |= read(file, bytes, 4) != 4 || memcmp(bytes, "\177ELF", 4) != 0;
	(void)!write(socket, &found, 1);
	/* the child gets a second file when it asks for one, but no third */
	file = worker_take(socket);
	found = file < 0 || read(file, bytes, 4) != 4 || memcmp(bytes, "\177ELF", 4) != 0 ||
		worker_take(socket) != -ENOENT;
	(void)!write(socket, &found, 1);
}

/* Allocates more than the child may have, which ends the child with a message. */
__attribute__((unused)) static void ask_for_too_much(int socket, int file, const void *job)
{
	(void)socket;
	(void)file;
	(void)job;
	for (size_t size = 1 << 20; size < SIZE_MAX / 2; size *= 2)
		memory_alloc(size);
}

static void test_answers(void)
{
	const uint64_t addresses[] = { 1, 2, 3 };
	struct message message;
	struct worker worker;
	bool is_right = true;

	ok(worker_start(&worker, answer_all, -1, "name") == 0, "a child starts");
	for (int round = 0; round < 2; round++) {
		worker_ask(&worker, addresses, 3);
		for (unsigned i = 1; i <= 3; i++) {
			struct answer *answer = NULL;

			is_right &= worker_next(&worker, &message) == 0 &&
				    message_get_answer(&message, &answer) == 0 &&
				    answer->address == i && answer->symbols[0].line == i &&
				    !strcmp(answer->symbols[0].function, "name");
			free(answer);
		}
	}
	ok(is_right, "a child answers its requests in order");
	worker_end(&worker, NULL, 0);
	ok(worker.pid == 0 && kill(worker.pid, 0) == 0, "a child ends when its socket is closed");
}

/* Starts a child that dies, and checks that the reason contains `words`. */
static void dies(worker_run *run, const char *words, const char *sentence)
{
	const uint64_t address = 1;
	struct message message;
	struct worker worker;
	char why[256] = "";

	if (worker_start(&worker, run, -1, NULL) == 0) {
		worker_ask(&worker, &address, 1);
		while (worker_next(&worker, &message) == 0)
			;
		worker_end(&worker, why, sizeof(why));
	}
	if (!ok(strstr(why, words) != NULL, sentence))
		printf("# %s\n", why);
}

static void test_deaths(void)
{
	dies(crash, "crashed (Segmentation fault)", "the crash of a child is reported");
	dies(run_for_ever, "processor time", "a child that does not end is killed");
#ifndef __SANITIZE_ADDRESS__
	dies(take_all_memory, "crashed (Aborted)", "the memory of a child is limited");
	dies(ask_for_too_much, "of memory", "a child that runs out of memory is reported");
#endif
	dies(talk_nonsense, "took too long", "a child that sends nonsense is refused");
}

static void test_silence(void)
{
	struct worker worker;
	struct pollfd polled;

	worker_start(&worker, sleep_for_ever, -1, NULL);
	polled = (struct pollfd){ .fd = worker.socket, .events = POLLIN };
	ok(poll(&polled, 1, 50) == 0, "a silent child starts");
	alarm(10);
	worker_end(&worker, NULL, 0);
	ok(true, "a silent child is killed at once");
	alarm(0);
}

static void test_descriptors(void)
{
	int extra = open("/dev/null", O_RDONLY), file = open("/proc/self/exe", O_RDONLY);
	char found[2] = { 1, 1 };
	struct worker worker;

	worker_start(&worker, tell_descriptors, file, NULL);
	(void)!recv(worker.socket, &found[0], 1, MSG_WAITALL);
	ok(extra >= 0 && found[0] == 0, "a child has no descriptor but the one that it is given");
	lseek(file, 0, SEEK_SET);
	worker_give(&worker, file);
	worker_give(&worker, -ENOENT);
	(void)!recv(worker.socket, &found[1], 1, MSG_WAITALL);
	ok(found[1] == 0, "a child gets descriptors or the error of opening them");
	worker_end(&worker, NULL, 0);
	close(extra);
	close(file);
}

/* A truncated message, or one with a changed byte, is refused or read without harm. */
static void test_messages(void)
{
	const struct facts facts = {
		.text = "text",
		.build_id = { 1, 2 },
		.build_id_size = 2,
		.has_symbols = true,
		.layout = { .count = 2, .segments = { { .vaddr = 1 }, { .vaddr = 2 } } },
	};
	struct symbol symbols[2] = { { .function = "f", .file = "a.c", .line = 7 },
				     { .function = "g(int)", .has_parameters = true } };
	struct file_want want = { .kind = FILE_ALTERNATE, .name = "common" };
	struct message message = { 0 };
	unsigned taken = 0, refused = 0;
	struct answer *answer = NULL;
	struct facts found = { 0 };
	size_t used = 0, size;
	char *bytes;
	FILE *file = open_memstream(&bytes, &size);

	message_put(file, MESSAGE_FACTS, &facts, sizeof(facts));
	message_put_answer(file, 0x1234, symbols, 2);
	message_put(file, MESSAGE_WANT, &want, sizeof(want));
	fclose(file);
	ok(message_next(bytes, size, &used, &message) == 1 &&
		   message_get_facts(&message, &found) == 0 && !strcmp(found.text, "text") &&
		   found.build_id_size == 2 && found.has_symbols && found.layout.count == 2 &&
		   found.layout.segments[1].vaddr == 2,
	   "facts are read back as they were sent");
	ok(message_next(bytes, size, &used, &message) == 1 &&
		   message_get_answer(&message, &answer) == 0 && answer->count == 2 &&
		   answer->symbols[0].line == 7 && !answer->symbols[1].file &&
		   answer->symbols[1].has_parameters,
	   "an answer is read back as it was sent");
	free(answer);
	memset(&want, 0, sizeof(want));
	ok(message_next(bytes, size, &used, &message) == 1 &&
		   message_get_want(&message, &want) == 0 && want.kind == FILE_ALTERNATE &&
		   !strcmp(want.name, "common"),
	   "a request for a file is read back as it was sent");
	for (size_t at = 0; at < 8 * size; at++) {
		bytes[at / 8] ^= (char)(1 << at % 8);
		for (used = 0; message_next(bytes, size, &used, &message) == 1;) {
			bool is_answer = message_get_answer(&message, &answer) == 0;

			if (is_answer)
				free(answer);
			if (is_answer || message_get_facts(&message, &found) == 0 ||
			    message_get_want(&message, &want) == 0)
				taken++;
			else
				refused++;
		}
		bytes[at / 8] ^= (char)(1 << at % 8);
	}
	ok(taken > 0 && refused > 0,
	   "messages with any changed bit are accepted or refused without a crash");
	refused = 0;
	for (used = 0; message_next(bytes, size, &used, &message) == 1;) {
		for (; message.size > 0; refused++) {
			message.size--;
			if (message_get_answer(&message, &answer) == 0)
				break;
			if (message_get_facts(&message, &found) == 0 ||
			    message_get_want(&message, &want) == 0)
				break;
		}
		if (message.size > 0)
			break;
	}
	ok(used == size && refused > sizeof(facts), "a truncated message is refused");
	free(bytes);
}

int main(void)
{
	test_answers();
	test_deaths();
	test_silence();
	test_descriptors();
	test_messages();
	return tap_end();
}
