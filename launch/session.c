/* SPDX-License-Identifier: MIT */
#include "launch/session.h"

#include "base/cleanup.h"
#include "base/hash_table.h"
#include "base/memory.h"
#include "collect/shared.h"
#include "contract.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SETTLE_STEPS 100 /* maximum number of waits for the collector, 20 ms each */

/*
 * Moves a descriptor above 2, because a standard descriptor that the caller has closed must stay
 * closed in the traced program.
 */
static int move_above_standard(int *fd, struct error *err)
{
	int moved = *fd > STDERR_FILENO ? *fd : fcntl(*fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

	if (moved < 0)
		return error_system(err, errno, "cannot move the descriptor of the shared memory");
	if (moved != *fd)
		close(*fd);
	*fd = moved;
	return 0;
}

int session_create(struct session *session, struct error *err)
{
	int status;

	memset(session, 0, sizeof(*session));
	session->fd = session->reports = -1;
	status = place_find(PART_LIBRARY, &session->library, err);
	if (!status)
		status = make_control(&session->control, &session->fd, err);
	return status ? status : move_above_standard(&session->fd, err);
}

int session_collect(struct session *session, struct error *err)
{
	cleanup_free char *path = NULL;
	const struct timespec step = { .tv_nsec = 50000000 };
	struct control_page *control = session->control;
	const char *out = control->settings.out;
	int status = place_find(PART_COLLECTOR, &path, err), sink = -1;
	char numbers[3][16];

	if (status)
		return status;
	if (strcmp(out, "stdout") == 0)
		sink = STDOUT_FILENO;
	else if (strncmp(out, "fd:", 3) == 0 && out[3])
		sink = atoi(out + 3);
	/*
	 * use a memfd, not a pipe: the list is read only after the program has ended, and a pipe
	 * might be full by then
	 */
	session->reports = memfd_create("holdtrace-reports", MFD_CLOEXEC);
	if (session->reports < 0)
		return error_system(err, errno, "cannot create the list of traces");
	status = move_above_standard(&session->reports, err);
	if (status)
		return status;
	session->collector = fork();
	if (session->collector < 0)
		return error_system(err, errno, "cannot start the collector");
	if (!session->collector) {
		/*
		 * let the collector inherit the descriptors, at their present numbers; drop the
		 * libraries that are preloaded into the program: tcmalloc's libunwind closes
		 * descriptors that the collector has opened
		 */
		fcntl(session->fd, F_SETFD, 0);
		fcntl(session->reports, F_SETFD, 0);
		snprintf(numbers[0], sizeof(*numbers), "%d", session->fd);
		snprintf(numbers[1], sizeof(*numbers), "%d", sink);
		snprintf(numbers[2], sizeof(*numbers), "%d", session->reports);
		unsetenv("LD_PRELOAD");
		execl(path, "holdtrace-collect", numbers[0], numbers[1], numbers[2], (char *)NULL);
		_exit(127);
	}

	/* wait until the collector is ready */
	for (;;) {
		uint32_t state = __atomic_load_n(&control->state, __ATOMIC_ACQUIRE);

		if (state == CONTROL_FAILED)
			return error_set(err, EIO, "%.*s", (int)sizeof(control->failure),
					 control->failure);
		if (state != CONTROL_STARTING)
			return 0;
		if (waitpid(session->collector, NULL, WNOHANG) == session->collector &&
		    __atomic_load_n(&control->state, __ATOMIC_ACQUIRE) == CONTROL_STARTING)
			return error_set(err, EIO, "the collector ended before it was ready");
		syscall(SYS_futex, &control->state, FUTEX_WAIT, CONTROL_STARTING, &step, NULL, 0);
	}
}

void session_name(const struct session *session, char text[SESSION_TEXT_MAX])
{
	const struct control_page *control = session->control;
	const char mark[] = { CONTROL_FIRST, 0 };

	snprintf(text, SESSION_TEXT_MAX,
		 "%016" PRIx64 "%016" PRIx64 "%016" PRIx64 "%016" PRIx64 ":%d:%d%s",
		 control->session[1], control->session[0], control->secret[1], control->secret[0],
		 (int)session->collector, session->fd,
		 strcmp(control->settings.follow, "no") == 0 ? mark : "");
}

/*
 * Replaces the session's run by another run of this user, and keeps that run's collector from
 * ending while the session exists. name: from session_name(). Returns false if that run has ended.
 */
static bool join_run(struct session *session, const char *name)
{
	const char *place = strchr(name, ':');
	struct control_page *control;
	struct session other;
	char path[64], found[SESSION_TEXT_MAX];
	struct stat facts;
	int fd;

	if (!place || sscanf(place, ":%d:%d", &other.collector, &other.fd) != 2)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)other.collector, other.fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	/* take a shared lock: the collector ends only if it can lock the page exclusively */
	if (fd < 0 || fstat(fd, &facts) || facts.st_size != (off_t)sizeof(*control) ||
	    flock(fd, LOCK_SH | LOCK_NB) || move_above_standard(&fd, &(struct error){ 0 })) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	control = mmap(NULL, sizeof(*control), PROT_READ, MAP_SHARED, fd, 0);
	if (control == MAP_FAILED) {
		close(fd);
		return false;
	}
	other.control = control;
	session_name(&other, found);
	if (control->magic != CONTROL_MAGIC || control->contract != CONTRACT_HASH ||
	    __atomic_load_n(&control->state, __ATOMIC_ACQUIRE) != CONTROL_RUNNING ||
	    strcmp(found, name) != 0) {
		munmap(control, sizeof(*control));
		close(fd);
		return false;
	}
	munmap(session->control, sizeof(*session->control));
	close(session->fd);
	session->control = control;
	session->fd = fd;
	session->joined = memory_text(name);
	return true;
}

pid_t session_start(const struct session *session, const char *path, char **argv, struct error *err)
{
	int tell[2], number;
	ssize_t got;
	pid_t pid;

	if (pipe2(tell, O_CLOEXEC))
		return error_system(err, errno, "cannot make a pipe");
	pid = fork();
	if (!pid) {
		const char *others = getenv("LD_PRELOAD");
		char run[SESSION_TEXT_MAX];

		signals_give_back();
		if (session) {
			session_name(session, run);
			/* the name of a joined run has the collector's descriptor, not ours */
			if (session->joined)
				snprintf(run, sizeof(run), "%s", session->joined);
			setenv("LD_PRELOAD",
			       memory_format("%s%s%s", session->library,
					     others && *others ? ":" : "", others ? others : ""),
			       1);
			setenv(CONTROL_ENVIRONMENT, run, 1);
			if (session->control->settings.python == PYTHON_MALLOC)
				setenv("PYTHONMALLOC", "malloc", 1);
			/*
			 * packets are written to standard output, so the program's output is
			 * redirected to standard error
			 */
			if (strcmp(session->control->settings.out, "stdout") == 0)
				dup2(STDERR_FILENO, STDOUT_FILENO);
		}
		/*
		 * execvp() lets the shell run a file without a #! line. It does not search PATH,
		 * because `path` contains a slash.
		 */
		execvp(path, argv);
		if (write(tell[1], &errno, sizeof(errno)) < 0)
			_exit(126);
		_exit(126);
	}
	close(tell[1]);
	if (pid < 0) {
		number = errno;
		close(tell[0]);
		return error_system(err, number, "cannot start %s", argv[0]);
	}
	got = read(tell[0], &number, sizeof(number));
	close(tell[0]);
	if (got != sizeof(number))
		return pid;
	waitpid(pid, NULL, 0);
	return error_system(err, number, "%s: cannot be run", argv[0]);
}

/*
 * Sleeps until the word differs from `value`, but at most 20 ms. Returns false if the collector has
 * ended, because then nothing changes the word.
 */
static bool wait_for_word(const struct session *session, const uint32_t *word, uint32_t value)
{
	const struct timespec step = { .tv_nsec = 20000000 };

	if (waitpid(session->collector, NULL, WNOHANG) == session->collector)
		return false;
	syscall(SYS_futex, word, FUTEX_WAIT, value, &step, NULL, 0);
	return true;
}

void session_tell(struct session *session, pid_t pid, int status)
{
	struct control_page *control = session->control;

	control->told_status = status;
	__atomic_store_n(&control->told_pid, (int32_t)pid, __ATOMIC_SEQ_CST);
	shared_wake(&control->sleeping);
	/*
	 * wait at most 2 s, because the collector may be stopped (SIGSTOP); then its counts may be
	 * incomplete
	 */
	for (int i = 0; i < SETTLE_STEPS && !session->has_ended &&
			!__atomic_load_n(&control->settled, __ATOMIC_ACQUIRE);
	     i++)
		session->has_ended = !wait_for_word(session, &control->settled, 0);
}

int session_wait(struct session *session, struct error *err)
{
	const struct control_page *control = session->control;
	bool is_alive = !session->has_ended;
	uint32_t complete;

	/* the collector counts a process in `detached` when the process's stream is complete */
	while (is_alive && (complete = __atomic_load_n(&control->detached, __ATOMIC_ACQUIRE)) <
				   SESSION_COUNT(session, attached) - SESSION_COUNT(session, alive))
		is_alive = wait_for_word(session, &control->detached, complete);
	if (!is_alive && control->state == CONTROL_RUNNING)
		return error_set(err, EIO, "the collector was killed: the traces end at that time");

	cleanup_file FILE *reports = fdopen(dup(session->reports), "r");
	cleanup_free char *line = NULL;
	size_t room = 0;

	if (!reports)
		return error_system(err, errno, "cannot read the list of traces");
	for (size_t i = 0; i < session->stream_count; i++)
		free(session->streams[i].path);
	session->stream_count = 0;
	rewind(reports);
	while (getline(&line, &room, reports) > 0) {
		size_t count = session->stream_count;
		const char *last = count ? session->streams[count - 1].path : "";
		struct session_stream stream = { 0 };
		int path = 0;

		line[strcspn(line, "\n")] = '\0';
		/* list a file only once: a bundle has all its streams in one file */
		if (sscanf(line, "%u %d %n", &stream.number, &stream.pid, &path) < 2 || !path ||
		    (*last && !strcmp(last, line + path)))
			continue;
		stream.path = memory_text(line + path);
		session->streams = memory_resize(session->streams,
						 (session->stream_count + 1) * sizeof(stream));
		session->streams[session->stream_count++] = stream;
	}
	return 0;
}

void session_destroy(struct session *session)
{
	for (size_t i = 0; i < session->stream_count; i++)
		free(session->streams[i].path);
	free(session->streams);
	free(session->library);
	free(session->joined);
	if (session->reports >= 0)
		close(session->reports);
	if (session->control)
		munmap(session->control, sizeof(*session->control));
	if (session->fd >= 0)
		close(session->fd);
}

/* ---- all ranks of a node ---- */

int node_enter(struct node *node, struct session *session, struct error *err)
{
	char name[SESSION_TEXT_MAX] = "";
	struct stat facts = { .st_nlink = 0 };

	cleanup_free char *here = getcwd(NULL, 0);
	cleanup_free char *text = memory_format("%s\n%s\n%s", labels_job(), here ? here : "",
						session->control->settings.out);
	const char *directory = getenv("XDG_RUNTIME_DIR");

	node->path = memory_format("%s/holdtrace-node-%u-%016" PRIx64,
				   directory && *directory ? directory : "/tmp",
				   (unsigned)geteuid(), hash_bytes(0, text, strlen(text)));
	/*
	 * Open and lock the file, which may be removed while we wait for the lock. Another user
	 * must not be able to choose the run, so the file must be ours.
	 */
	while (!facts.st_nlink) {
		if (node->fd >= 0)
			close(node->fd);
		node->fd = open(node->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (node->fd < 0 || fstat(node->fd, &facts))
			return error_system(err, errno, "--node: %s", node->path);
		if (!S_ISREG(facts.st_mode) || facts.st_uid != geteuid() || facts.st_mode & 077)
			return error_set(err, EPERM, "--node: %s: belongs to another user",
					 node->path);
		while (flock(node->fd, LOCK_EX) && errno == EINTR)
			;
		if (fstat(node->fd, &facts))
			return error_system(err, errno, "--node: %s", node->path);
	}
	if (read(node->fd, name, sizeof(name) - 1) > 0 && !join_run(session, name))
		/* all ranks so far have ended: do not overwrite their file */
		session->control->settings.force = 0;
	return 0;
}

void node_announce(struct node *node, const struct session *session)
{
	char name[SESSION_TEXT_MAX];

	session_name(session, name);
	/* if this fails, the other ranks create runs of their own */
	if (!session->joined && (ftruncate(node->fd, 0) ||
				 pwrite(node->fd, name, strlen(name), 0) != (ssize_t)strlen(name)))
		unlink(node->path);
	close(node->fd);
	node->fd = -1;
}

void node_leave(struct node *node, struct session *session)
{
	unsigned running;

	/* wait until no process of the run is running, or the collector has ended */
	while (!session->has_ended && (running = SESSION_COUNT(session, alive)) != 0)
		session->has_ended = !wait_for_word(session, &session->control->alive, running);
	unlink(node->path);
	free(node->path);
}
