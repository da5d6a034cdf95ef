/* SPDX-License-Identifier: MIT */
#include "control/control.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/out.h"
#include "contract.h"
#include "scan.h"
#include "process/maps.h"
#include "process/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define MEMORY_NAME "/memfd:" CONTROL_NAME " (deleted)"
/* time limit for the answer of the collector, except for a scan */
#define ANSWER_SECONDS 5
#define SCAN_SECONDS   660 /* time limit for the answer to a scan */

/* The identity of a run's control page, as /proc/PID/maps shows it. */
struct memory {
	dev_t device;
	ino_t inode;
};

/*
 * Finds the control page in the mappings of a process. The mappings are more reliable than the
 * environment, which a program may change: programs do not unmap the page by accident, and forked
 * children inherit the mapping.
 */
static int find_memory(int pid, struct memory *memory, struct error *err)
{
	struct maps maps = { 0 };
	int status = maps_read(&maps, pid);
	bool found = false;

	for (size_t i = 0; i < maps.count && !found; i++) {
		found = strstr(maps.items[i].path, MEMORY_NAME) != NULL;
		*memory = (struct memory){ maps.items[i].device, maps.items[i].inode };
	}
	maps_free(&maps);
	if (status == -ENOENT || status == -ESRCH)
		return error_set(err, ESRCH, "process %d does not exist", pid);
	/* the kernel reports EACCES or EPERM at open() or at read() */
	if (status == -EACCES || status == -EPERM)
		return error_set(err, EACCES,
				 "process %d belongs to another user, or has changed its user: run "
				 "this command as root",
				 pid);
	if (status && status != -ENODATA)
		return error_system(err, -status, "cannot read the mappings of process %d", pid);
	return found ? 0 : error_set(err, ENOENT, "process %d is not traced by holdtrace", pid);
}

bool ctl_is_process(const char *word)
{
	return *word && strlen(word) < 10 && word[strspn(word, "0123456789")] == '\0' &&
	       atoi(word) > 0;
}

/* Opens the control page through a descriptor of process `pid`. Returns -1 on failure. */
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
		    st.st_ino == memory->inode && st.st_dev == memory->device)
			found = open(path, O_RDONLY | O_CLOEXEC);
	}
	closedir(directory);
	return found;
}

/*
 * Searches all processes for a descriptor of the control page, and opens the page through it.
 * Traced programs close their descriptor of the page, but the collector keeps one.
 */
static int open_memory(int pid, const struct memory *memory, int *fd, struct error *err)
{
	DIR *directory = opendir("/proc");
	const struct dirent *entry;

	*fd = -1;
	while (directory && *fd < 0 && (entry = readdir(directory)) != NULL)
		if (ctl_is_process(entry->d_name))
			*fd = open_through(entry->d_name, memory);
	if (directory)
		closedir(directory);
	if (*fd >= 0)
		return 0;
	return error_set(err, ENOENT,
			 "the collector of process %d has ended, or belongs to another user, so it "
			 "cannot be sent a request",
			 pid);
}

static int read_control(int fd, struct control_page *control, struct error *err)
{
	ssize_t got = pread(fd, control, sizeof(*control), 0);

	if (got != sizeof(*control) || control->magic != CONTROL_MAGIC)
		return error_set(err, EBADMSG,
				 "the run's shared memory is not a control page of holdtrace");
	if (control->contract != CONTRACT_HASH)
		return error_set(err, EPROTO,
				 "another build of holdtrace started the run: use that build");
	if (control->state != CONTROL_RUNNING)
		return error_set(err, ESRCH, "the run has ended");
	return 0;
}

/* Connects to the collector, and sets a time limit for the answer. *owner: the collector's user. */
static int connect_collector(const struct control_page *control, enum control_command command,
			     int *fd, uid_t *owner, struct error *err)
{
	const struct timeval most = { .tv_sec = command == CONTROL_SCAN ? SCAN_SECONDS
									: ANSWER_SECONDS };
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int length = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1,
			      "%s%016" PRIx64 "%016" PRIx64, CONTROL_SOCKET_PREFIX,
			      control->session[1], control->session[0]);
	struct ucred peer;
	socklen_t size = sizeof(peer);

	*fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (*fd < 0)
		return error_system(err, errno, "cannot create a socket");
	setsockopt(*fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
	setsockopt(*fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most));
	if (connect(*fd, (struct sockaddr *)&address,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) < 0)
		return error_set(err, ESRCH,
				 "the collector has ended, or is in another network namespace");
	if (getsockopt(*fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 ||
	    peer.pid != control->collector)
		return error_set(err, EPERM, "the process that answers is not the collector");
	*owner = peer.uid;
	return 0;
}

/* Receives the collector's answer. *handle: the descriptor that came with the answer, or -1. */
static ssize_t receive_answer(int socket, char *text, int *handle)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = { text, CONTROL_ANSWER_MAX - 1 };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	const struct cmsghdr *header = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;

	*handle = -1;
	if (header && header->cmsg_type == SCM_RIGHTS)
		memcpy(handle, CMSG_DATA(header), sizeof(*handle));
	return got;
}

/*
 * Sends a request and waits for the answer. *answer: a text of lines, which the caller frees.
 * *handle: the descriptor that came with the answer, or -1. *owner: the collector's user.
 */
static int ask_collector(const struct control_page *control, struct control_request *request,
			 char **answer, int *handle, uid_t *owner, struct error *err)
{
	cleanup_fd int fd = -1;
	cleanup_free char *text = memory_zalloc(1, CONTROL_ANSWER_MAX);
	ssize_t got;
	int status =
		connect_collector(control, (enum control_command)request->command, &fd, owner, err);

	if (status)
		return status;
	request->contract = CONTRACT_HASH;
	memcpy(request->secret, control->secret, sizeof(request->secret));
	if (send(fd, request, sizeof(*request), MSG_NOSIGNAL) < 0)
		return error_system(err, errno, "cannot send a request to the collector");
	got = receive_answer(fd, text, handle);
	if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return error_set(err, ETIMEDOUT, "the collector does not answer");
	if (got <= 0)
		return error_set(err, ESRCH, "the run has ended");
	if (*text == '!' && request->command == CONTROL_SCAN)
		return error_set(err, EIO, "process %d was not scanned: %s", request->pid,
				 text + 1);
	if (*text == '!')
		return error_set(err, EPERM, "the collector has refused the request: %s", text + 1);
	*answer = text;
	text = NULL;
	return 0;
}

struct ctl_run {
	struct memory memory;
	struct control_page control;
};

int ctl_find(int pid, struct ctl_run **run, struct error *err)
{
	struct ctl_run *found = memory_zalloc(1, sizeof(*found));
	cleanup_fd int fd = -1;
	int status = find_memory(pid, &found->memory, err);

	if (!status)
		status = open_memory(pid, &found->memory, &fd, err);
	if (!status)
		status = read_control(fd, &found->control, err);
	if (status) {
		free(found);
		return status;
	}
	*run = found;
	return 0;
}

/*
 * Finds the pid of the pidfd that a collector has sent. A traced process can make a control page
 * and a collector of its own, which may name any process. So a collector of another user may name
 * only processes of that user.
 */
static int check_process(int handle, uid_t owner, int *pid, struct error *err)
{
	char name[32];
	cleanup_free char *facts = NULL;
	const char *number;
	int64_t user;

	snprintf(name, sizeof(name), "fdinfo/%d", handle);
	facts = proc_text(getpid(), 0, name);
	number = proc_value(facts, "Pid");
	*pid = number ? atoi(number) : 0;
	if (*pid <= 0)
		return error_set(err, ESRCH, "the process has ended");
	user = proc_status(*pid, 0, "Uid", 10);
	if (owner == 0 || owner == geteuid() || user == (int64_t)owner)
		return 0;
	return error_set(err, EPERM,
			 "the collector belongs to user %u, and names process %d of another user",
			 (unsigned)owner, *pid);
}

int ctl_process(const struct ctl_run *run, uint32_t stream, int *pid, int *handle,
		struct error *err)
{
	struct control_request request = { .command = CONTROL_PROCESS };
	cleanup_free char *answer = NULL;
	uid_t owner;
	int status;

	snprintf(request.text, sizeof(request.text), "%u", stream);
	status = ask_collector(&run->control, &request, &answer, handle, &owner, err);
	if (status || *handle < 0)
		return status;
	status = check_process(*handle, owner, pid, err);
	if (!status)
		return 0;
	close(*handle);
	*handle = -1;
	return status;
}

int ctl_ask(const struct ctl_run *run, int pid, enum control_command command, const char *text,
	    char **answer, struct error *err)
{
	struct control_request request = { .command = (uint32_t)command, .pid = pid };
	int handle, status;
	uid_t owner;

	snprintf(request.text, sizeof(request.text), "%s", text);
	status = ask_collector(&run->control, &request, answer, &handle, &owner, err);
	if (!status && handle >= 0)
		close(handle);
	return status;
}

int ctl_paths(const struct ctl_run *run, int pid, char **paths, struct error *err)
{
	return ctl_ask(run, pid, CONTROL_SNAPSHOT, "", paths, err);
}

int ctl_cut(char *paths, struct error *err)
{
	char *last = *paths == '+' ? paths : strstr(paths, "\n+");
	unsigned long count;

	if (!last)
		return 0;
	last += *last == '\n';
	count = strtoul(last + 1, NULL, 10);
	*last = '\0';
	return error_set(err, E2BIG,
			 "%lu more files of the run are left out: their names do not fit into the "
			 "collector's answer",
			 count);
}

void ctl_print(const char *paths)
{
	while (*paths) {
		int length = (int)strcspn(paths, "\n");

		if (isatty(STDOUT_FILENO))
			print_message(stdout, "%.*s", length, paths);
		else
			printf("%.*s\n", length, paths);
		paths += length + (paths[length] == '\n');
	}
}

int ctl_snapshot(int pid, char **paths, struct error *err)
{
	cleanup_free struct ctl_run *run = NULL;
	int status = ctl_find(pid, &run, err);

	if (!status)
		status = ctl_paths(run, pid, paths, err);
	if (status)
		return status;
	status = ctl_cut(*paths, err);
	if (!status && !**paths)
		status = error_set(err, ENOENT, "process %d writes no trace to a file", pid);
	if (status) {
		free(*paths);
		*paths = NULL;
	}
	return status;
}

int ctl_scan(int pid, bool is_light, struct error *err)
{
	cleanup_free struct ctl_run *run = NULL;
	cleanup_free char *answer = NULL;
	int status = ctl_find(pid, &run, err);

	return status ? status
		      : ctl_ask(run, pid, CONTROL_SCAN, is_light ? SCAN_LIGHT : "", &answer, err);
}
