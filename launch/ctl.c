/* SPDX-License-Identifier: MIT */
#include "launch/command.h"

#include "base/cleanup.h"
#include "collect/shared.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#define MEMORY_NAME "/memfd:holdtrace (deleted)"
#define TURN_MS	    2000 /* how long another ctl may take */
#define ANSWER_MS   5000 /* how long the collector may take */

static const struct {
	const char *word;
	enum control_command command;
	bool takes_text;
} words[] = {
	{ "start", CONTROL_START, false },
	{ "stop", CONTROL_STOP, false },
	{ "mark", CONTROL_MARK, true },
	{ "snapshot", CONTROL_SNAPSHOT, false },
};

#define WORDS (sizeof(words) / sizeof(words[0]))

/* The shared memory of a run, as the list of a process's mappings names it. */
struct memory {
	unsigned major, minor;
	unsigned long inode;
};

/* Reading another user's mappings is refused when they are opened or when they are read. */
static int refused(int number, int pid, struct error *err)
{
	if (number == ENOENT || number == ESRCH)
		return error_set(err, ESRCH, "there is no process %d", pid);
	if (number == EACCES || number == EPERM)
		return error_set(err, EACCES,
				 "process %d is another user's, or changed its user: not permitted "
				 "but to root",
				 pid);
	return error_system(err, number, "cannot see the mappings of process %d", pid);
}

/* By its mappings and not by its environment: a fork's child has them, and nobody clears them. */
static int find_memory(int pid, struct memory *memory, struct error *err)
{
	char path[64], line[512];
	cleanup_file FILE *maps = NULL;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	if (!maps)
		return refused(errno, pid, err);
	while (fgets(line, sizeof(line), maps))
		if (strstr(line, MEMORY_NAME) &&
		    sscanf(line, "%*x-%*x %*4s %*x %x:%x %lu", &memory->major, &memory->minor,
			   &memory->inode) == 3)
			return 0;
	if (ferror(maps))
		return refused(errno, pid, err);
	return error_set(err, ENOENT, "process %d is not traced by holdtrace", pid);
}

static bool is_number(const char *text)
{
	return *text && text[strspn(text, "0123456789")] == '\0';
}

/* The memory, opened through a descriptor of this process; -1 if it has none. */
static int open_through(const char *pid, const struct memory *memory)
{
	char path[PATH_MAX], target[64];
	const struct dirent *entry;
	DIR *directory;
	int found = -1;

	snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	directory = opendir(path);
	if (!directory)
		return -1;
	while (found < 0 && (entry = readdir(directory)) != NULL) {
		ssize_t length;
		struct stat st;

		snprintf(path, sizeof(path), "/proc/%s/fd/%s", pid, entry->d_name);
		length = readlink(path, target, sizeof(target) - 1);
		target[length > 0 ? length : 0] = '\0';
		if (strcmp(target, MEMORY_NAME) == 0 && stat(path, &st) == 0 &&
		    st.st_ino == memory->inode && major(st.st_dev) == memory->major &&
		    minor(st.st_dev) == memory->minor)
			found = open(path, O_RDWR | O_CLOEXEC);
	}
	closedir(directory);
	return found;
}

/* Programs that are traced keep no descriptor of it; their collector does. */
static int open_memory(int pid, const struct memory *memory, int *fd, struct error *err)
{
	DIR *directory = opendir("/proc");
	const struct dirent *entry;

	*fd = -1;
	while (directory && *fd < 0 && (entry = readdir(directory)) != NULL)
		if (is_number(entry->d_name))
			*fd = open_through(entry->d_name, memory);
	if (directory)
		closedir(directory);
	if (*fd >= 0)
		return 0;
	return error_set(
		err, ENOENT,
		"the collector of process %d is gone, or is another user's: nothing can be "
		"asked of it",
		pid);
}

static void sleep_ms(long ms)
{
	const struct timespec time = { .tv_nsec = ms * 1000000 };

	nanosleep(&time, NULL);
}

/* One request at a time; one whose sender has died is forgotten. */
static int take_turn(struct arena_control *control, struct error *err)
{
	for (int waited = 0; waited < TURN_MS; waited += 10) {
		uint32_t holder = __atomic_load_n(&control->holder, __ATOMIC_RELAXED);

		if (holder && kill((pid_t)holder, 0) < 0 && errno == ESRCH) {
			__atomic_compare_exchange_n(&control->holder, &holder, 0, false,
						    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
			continue;
		}
		holder = 0;
		if (__atomic_compare_exchange_n(&control->holder, &holder, (uint32_t)getpid(),
						false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return 0;
		sleep_ms(10);
	}
	return error_set(err, EBUSY, "another holdtrace ctl has asked and has no answer yet");
}

static int wait_for_answer(struct arena *arena, uint32_t number, struct error *err)
{
	struct arena_control *control = &arena->control;

	for (int waited = 0; waited < ANSWER_MS; waited += 50) {
		uint32_t answered = __atomic_load_n(&control->answered, __ATOMIC_ACQUIRE);

		if (answered == number)
			return 0;
		if (__atomic_load_n(&arena->state, __ATOMIC_ACQUIRE) != ARENA_RUNNING)
			return error_set(err, ESRCH, "the run has ended");
		shared_futex_wait(&control->answered, answered, 50000000);
	}
	return error_set(err, ETIMEDOUT, "the collector does not answer");
}

/* Asks, waits, and prints what the collector says. */
static int ask(struct arena *arena, enum control_command command, int pid, const char *text,
	       struct error *err)
{
	struct arena_control *control = &arena->control;
	int status = take_turn(control, err);
	uint32_t number = control->answered + 1;

	if (status)
		return status;
	control->command = (uint32_t)command;
	control->pid = pid;
	control->answer[0] = '\0';
	snprintf(control->text, sizeof(control->text), "%s", text);
	__atomic_store_n(&control->asked, number, __ATOMIC_RELEASE);
	__atomic_store_n(&arena->sleeping, 0, __ATOMIC_SEQ_CST);
	shared_futex_wake(&arena->sleeping);
	status = wait_for_answer(arena, number, err);
	if (!status)
		printf("%.*s", (int)sizeof(control->answer), control->answer);
	__atomic_store_n(&control->holder, 0, __ATOMIC_RELEASE);
	return status;
}

static int ask_run(int pid, enum control_command command, const char *text, struct error *err)
{
	struct memory memory;
	struct shared shared;
	cleanup_fd int fd = -1;
	int status = find_memory(pid, &memory, err);

	if (!status)
		status = open_memory(pid, &memory, &fd, err);
	if (!status)
		status = shared_open(&shared, fd, err);
	return status ? status : ask(shared.arena, command, pid, text, err);
}

static int find_word(const char *text)
{
	for (size_t i = 0; i < WORDS; i++)
		if (strcmp(words[i].word, text) == 0)
			return (int)i;
	return -1;
}

int command_ctl(int argc, char **argv, struct error *err)
{
	int word = argc > 2 ? find_word(argv[2]) : -1;

	if (word < 0 || !is_number(argv[1]) || strlen(argv[1]) > 9 ||
	    argc != (words[word].takes_text ? 4 : 3)) {
		say("ctl: one process id and start, stop, mark TEXT or snapshot are needed");
		return STATUS_USAGE;
	}
	if (ask_run(atoi(argv[1]), words[word].command, words[word].takes_text ? argv[3] : "", err))
		return STATUS_OWN_FAILURE;
	return fflush(stdout) ? STATUS_OWN_FAILURE : 0;
}
