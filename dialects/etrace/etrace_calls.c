/* SPDX-License-Identifier: MIT */
/*
 * Converts calls of hooked functions to etrace lines. Failed calls are converted only if the format
 * has a line for the failure. Relative paths are made absolute with the directories in the trace.
 * Symbolic links are not resolved, because they may have changed since the program ran.
 */
#include "dialects/etrace/etrace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/*
 * Begins a block of call->task. For pthread_setname_np(), this is the renamed task, not the caller.
 * First updates the task's last_ns, because the task's end must not precede the block.
 */
static void begin_block(struct etrace *etrace, const struct etrace_call *call)
{
	if (call->task->last_ns < call->event->time_ns)
		call->task->last_ns = call->event->time_ns;
	etrace_block(&etrace->lines, call->task, call->event->time_ns, call->event->cpu);
}

static bool has_failed(const struct event *event)
{
	return event->flags & CALL_FAILED;
}

/*
 * Sets the path of a descriptor. Does nothing in a child of vfork: its descriptors differ from
 * those of its parent, and are not tracked.
 */
static void set_fd(const struct etrace_call *call, uint64_t fd, const char *path)
{
	if (!(call->event->flags & CALL_OF_CHILD))
		places_set_fd(&call->process->places, fd, path);
}

/*
 * Whether the argument was a readable text. In a trace, "" means a NULL pointer and "*" an
 * unreadable text.
 */
static bool is_there(const char *text)
{
	return text && *text && strcmp(text, "*") != 0;
}

/*
 * Sets *path to an argument, as an absolute path. If the call has no such argument, *path becomes
 * empty.
 */
static void take_path(struct etrace *etrace, const struct etrace_call *call, const char *name,
		      int64_t dirfd, struct path *path)
{
	const char *text = etrace_value(etrace, call->event, name);

	path->length = 0;
	if (is_there(text))
		places_join(&call->process->places, dirfd, text, path);
}

/* Like take_path(), but removes empty parts, `.` and `..` from the path, as the kernel does. */
static void take_clean_path(struct etrace *etrace, const struct etrace_call *call, const char *name,
			    int64_t dirfd, struct path *path)
{
	take_path(etrace, call, name, dirfd, path);

	path_clean(path);
}

/* ---- open and other functions that open files by name ---- */

static void put_open(struct etrace *etrace, const struct etrace_call *call, uint32_t flags,
		     uint32_t mode)
{
	const struct path *given = &etrace->one, *known = &etrace->file.path;
	struct path *clean = &etrace->two;
	bool is_known = etrace->file.task == call->task && etrace->file.fd == call->event->object;

	if (!given->length)
		return;
	etrace->file.task = NULL;
	/* the path that the kernel resolved or, if that is unknown, the cleaned argument */
	path_set(clean, is_known ? known->text : given->text,
		 is_known ? known->length : given->length);
	if (!is_known)
		path_clean(clean);
	begin_block(etrace, call);
	etrace_line(&etrace->lines,
		    "Open|fnamesize=%zu,forigsize=%zu,flags=%" PRIu32 ",mode=%" PRIu32
		    ",fd=%" PRIu64,
		    clean->length, given->length, flags, mode, call->event->object);
	etrace_text(&etrace->lines, "FN", clean->text, clean->length);
	etrace_text(&etrace->lines, "FO", given->text, given->length);
	set_fd(call, call->event->object, clean->text);
}

static bool is_opening(const struct etrace_call *call)
{
	return call->event->resource->known == RESOURCE_FD && event_is_alloc(call->event);
}

static void call_open(struct etrace *etrace, const struct etrace_call *call)
{
	const struct event *event = call->event;

	if (!is_opening(call))
		return;
	take_path(etrace, call, "path", etrace_number(event, "dirfd", AT_FDCWD), &etrace->one);
	put_open(etrace, call, call->row->flags | (uint32_t)etrace_number(event, "flags", 0),
		 (uint32_t)etrace_number(event, "mode", call->row->mode));
}

static void call_fopen(struct etrace *etrace, const struct etrace_call *call)
{
	const char *mode;
	uint32_t flags;

	if (!is_opening(call))
		return;
	take_path(etrace, call, "path", AT_FDCWD, &etrace->one);
	mode = etrace_value(etrace, call->event, "mode") ?: "";
	/* the flags of open() for the mode, as in glibc's fileops.c */
	flags = *mode == 'w'   ? O_WRONLY | O_CREAT | O_TRUNC
		: *mode == 'a' ? O_WRONLY | O_CREAT | O_APPEND
			       : O_RDONLY;
	for (; *mode && *mode != ','; mode++) {
		if (*mode == '+')
			flags = (flags & ~(uint32_t)O_ACCMODE) | O_RDWR;
		flags |= *mode == 'x' ? O_EXCL : *mode == 'e' ? O_CLOEXEC : 0;
	}
	put_open(etrace, call, flags, 0666);
}

/*
 * Converts shm_open, tmpfile and other functions that choose the directory of the file themselves.
 */
static void call_open_there(struct etrace *etrace, const struct etrace_call *call)
{
	const struct event *event = call->event;
	const char *name = etrace_value(etrace, event, "name");
	struct path *path = &etrace->one;

	if (!is_opening(call))
		return;
	name = name ? name + strspn(name, "/") : "";
	path_set(path, call->row->before, strlen(call->row->before));
	path_append(path, name, strlen(name));
	put_open(etrace, call,
		 call->row->flags |
			 (uint32_t)etrace_number(event, "oflag", etrace_number(event, "flags", 0)),
		 (uint32_t)etrace_number(event, "mode", call->row->mode));
}

/* ---- descriptors ---- */

void etrace_close(struct etrace *etrace, const struct etrace_call *call)
{
	begin_block(etrace, call);
	etrace_line(&etrace->lines, "Close|fd=%" PRIu64, call->event->object);
	set_fd(call, call->event->object, NULL);
}

/*
 * Converts dup, dup2 and similar calls. The line of dup2 also covers the descriptor that dup2
 * closes. A descriptor that is duplicated to itself is not closed.
 */
static void call_dup(struct etrace *etrace, const struct etrace_call *call)
{
	const struct event *event = call->event;
	uint64_t old = (uint64_t)etrace_number(event, "oldfd", (int64_t)event->object);
	const char *path;

	if (has_failed(event) || event_is_free(event))
		return;
	begin_block(etrace, call);
	etrace_line(&etrace->lines, "Dup|oldfd=%" PRIu64 ",newfd=%" PRIu64 ",flags=%" PRId64, old,
		    event->object, etrace_number(event, "flags", 0));
	path = places_fd(&call->process->places, old);
	if (old != event->object)
		set_fd(call, event->object, path);
}

/*
 * Converts pipe. The trace has an event for each end of the pipe; the event of the read end comes
 * last and names the other descriptor.
 */
static void call_pipe(struct etrace *etrace, const struct etrace_call *call)
{
	const struct event *event = call->event;

	if (!is_opening(call) || event->part)
		return;
	begin_block(etrace, call);
	etrace_line(&etrace->lines, "Pipe|fd1=%" PRIu64 ",fd2=%" PRId64 ",flags=%" PRId64,
		    event->object, etrace_number(event, "peer", -1),
		    etrace_number(event, "flags", 0));
}

static void call_chdir(struct etrace *etrace, const struct etrace_call *call)
{
	if (has_failed(call->event) || call->event->flags & CALL_OF_CHILD)
		return;
	take_clean_path(etrace, call, "path", AT_FDCWD, &etrace->one);
	if (etrace->one.length)
		places_set_directory(&call->process->places, etrace->one.text);
}

static void call_fchdir(struct etrace *etrace, const struct etrace_call *call)
{
	uint64_t fd = (uint64_t)etrace_number(call->event, "fd", (int64_t)call->event->object);

	(void)etrace;
	if (has_failed(call->event) || call->event->flags & CALL_OF_CHILD)
		return;
	places_set_directory(&call->process->places, places_fd(&call->process->places, fd));
}

/* ---- names of files ---- */

/* Whether, according to errno, the kernel had resolved the first path when the call failed. */
static bool is_first_known(const struct etrace *etrace, const struct event *event)
{
	switch (event->error) {
	case ENOENT:
	case ENOTDIR:
	case ELOOP:
	case ENAMETOOLONG:
	case EFAULT:
	case EBADF:
		return false;
	default:
		return etrace->one.length > 0;
	}
}

struct name_form {
	const char *from, *from_flags, *from_tag;
	const char *to, *to_tag;
	const char *failed;
};

static void put_names(struct etrace *etrace, const struct etrace_call *call,
		      const struct name_form *form)
{
	const struct event *event = call->event;
	struct etrace_lines *lines = &etrace->lines;
	int64_t flags = etrace_number(event, "flags", -1);

	take_clean_path(etrace, call, "from", etrace_number(event, "fromfd", AT_FDCWD),
			&etrace->one);
	take_clean_path(etrace, call, "to", etrace_number(event, "tofd", AT_FDCWD), &etrace->two);
	begin_block(etrace, call);
	if (!has_failed(event) || is_first_known(etrace, event)) {
		if (flags < 0)
			etrace_line(lines, "%s|fnamesize=%zu", form->from, etrace->one.length);
		else
			etrace_line(lines, "%s|fnamesize=%zu,flags=%" PRId64, form->from_flags,
				    etrace->one.length, flags);
		etrace_text(lines, form->from_tag, etrace->one.text, etrace->one.length);
	}
	if (has_failed(event)) {
		etrace_line(lines, "%s|", form->failed);
		return;
	}
	etrace_line(lines, "%s|fnamesize=%zu", form->to, etrace->two.length);
	etrace_text(lines, form->to_tag, etrace->two.text, etrace->two.length);
}

static void call_rename(struct etrace *etrace, const struct etrace_call *call)
{
	static const struct name_form form = { "RenameFrom", "Rename2From", "RF",
					       "RenameTo",   "RT",	    "RenameFailed" };

	put_names(etrace, call, &form);
}

static void call_link(struct etrace *etrace, const struct etrace_call *call)
{
	static const struct name_form form = { "LinkFrom", "LinkatFrom", "LF",
					       "LinkTo",   "LT",	 "LinkFailed" };

	put_names(etrace, call, &form);
}

/* Converts symlink. If the link's target existed, a ~file note may have its resolved path. */
static void call_symlink(struct etrace *etrace, const struct etrace_call *call)
{
	const struct event *event = call->event;
	const char *target;
	bool is_known;
	size_t length;

	if (has_failed(event))
		return;
	take_clean_path(etrace, call, "path", etrace_number(event, "dirfd", AT_FDCWD),
			&etrace->one);
	target = etrace_value(etrace, event, "target");
	if (!target)
		return;
	length = strlen(target);
	is_known = etrace->file.task == call->task && etrace->file.fd == UINT64_MAX;
	etrace->file.task = NULL;
	begin_block(etrace, call);
	if (is_known)
		etrace_line(&etrace->lines,
			    "Symlink|targetnamesize=%zu,resolvednamesize=%zu,linknamesize=%zu",
			    length, etrace->file.path.length, etrace->one.length);
	else
		etrace_line(&etrace->lines, "Symlink|targetnamesize=%zu,linknamesize=%zu", length,
			    etrace->one.length);
	etrace_text(&etrace->lines, "ST", target, length);
	if (is_known)
		etrace_text(&etrace->lines, "SR", etrace->file.path.text, etrace->file.path.length);
	etrace_text(&etrace->lines, "SL", etrace->one.text, etrace->one.length);
}

/* ---- mounts ---- */

static void call_mount(struct etrace *etrace, const struct etrace_call *call)
{
	struct etrace_lines *lines = &etrace->lines;
	const struct event *event = call->event;
	const char *source, *type;
	char head[160];
	int at;

	take_clean_path(etrace, call, "target", AT_FDCWD, &etrace->one);
	source = etrace_value(etrace, event, "source");
	if (is_there(source)) {
		path_set(&etrace->two, source, strlen(source));
		path_clean(&etrace->two);
		source = etrace->two.text;
	} else {
		source = NULL;
	}
	type = etrace_value(etrace, event, "type");
	if (!is_there(type))
		type = NULL;
	at = source ? snprintf(head, sizeof(head), "sourcenamesize=%zu,", strlen(source)) : 0;
	at += snprintf(head + at, sizeof(head) - (size_t)at, "targetnamesize=%zu,",
		       etrace->one.length);
	if (type)
		at += snprintf(head + at, sizeof(head) - (size_t)at, "typenamesize=%zu,",
			       strlen(type));
	begin_block(etrace, call);
	etrace_line(lines, "Mount|%.*sflags=%" PRId64, at, head, etrace_number(event, "flags", 0));
	if (source)
		etrace_text(lines, "MS", source, strlen(source));
	etrace_text(lines, "MT", etrace->one.text, etrace->one.length);
	if (type)
		etrace_text(lines, "MX", type, strlen(type));
	if (has_failed(event))
		etrace_line(lines, "MountFailed|");
}

static void call_umount(struct etrace *etrace, const struct etrace_call *call)
{
	struct etrace_lines *lines = &etrace->lines;

	take_clean_path(etrace, call, "target", AT_FDCWD, &etrace->one);
	begin_block(etrace, call);
	if (!has_failed(call->event) || is_first_known(etrace, call->event)) {
		etrace_line(lines, "Umount|targetnamesize=%zu,flags=%" PRId64, etrace->one.length,
			    etrace_number(call->event, "flags", 0));
		etrace_text(lines, "MT", etrace->one.text, etrace->one.length);
	}
	if (has_failed(call->event))
		etrace_line(lines, "UmountFailed|");
}

/* ---- tasks ---- */

#define NAME_MAX_KERNEL 15 /* maximum bytes of a task's name: TASK_COMM_LEN without the NUL */

static void call_name(struct etrace *etrace, const struct etrace_call *call)
{
	const struct event *event = call->event;
	const char *name = etrace_value(etrace, event, "name");
	struct etrace_call renamed = *call;
	size_t length;

	if (has_failed(event) || !name || !etrace->has_names)
		return;
	if (event->object && event->object != event->pthread)
		renamed.task = tasks_by_handle(&etrace->tasks, call->process, event->object);
	if (!renamed.task)
		return;
	length = strnlen(name, NAME_MAX_KERNEL);
	begin_block(etrace, &renamed);
	etrace_line(&etrace->lines, "Comm|size=%zu", length);
	etrace_text(&etrace->lines, "CN", name, length);
}

static void call_fork(struct etrace *etrace, const struct etrace_call *call)
{
	if (!has_failed(call->event) && call->event->object)
		tasks_forked(&etrace->tasks, call->task, call->event, -1);
}

/* Converts clone. Also adds a task if the program has created a thread with clone. */
static void call_clone(struct etrace *etrace, const struct etrace_call *call)
{
	int64_t flags = etrace_number(call->event, "flags", 0);

	tasks_forked(&etrace->tasks, call->task, call->event, flags & UINT32_MAX);
}

static void call_thread(struct etrace *etrace, const struct etrace_call *call)
{
	if (event_is_alloc(call->event) || has_failed(call->event))
		tasks_cloned(&etrace->tasks, call->task, call->event);
}

static void call_join(struct etrace *etrace, const struct etrace_call *call)
{
	struct etrace_call ended = *call;

	if (has_failed(call->event) || call->event->moment == MOMENT_HALF)
		return;
	ended.task = tasks_joined(&etrace->tasks, call->process, call->event->object);
	if (ended.task)
		task_exits(ended.task, call->event->time_ns, 0, call->event->cpu);
}

/*
 * Converts a wait for a child. If the child was not traced, this call is the only evidence of its
 * end.
 */
static void call_wait(struct etrace *etrace, const struct etrace_call *call)
{
	const struct event *event = call->event;
	uint64_t status = (uint64_t)etrace_number(event, "wstatus", 0);
	struct task *child;

	if (!event_is_free(event))
		return;
	child = tasks_waited(&etrace->tasks, (uint32_t)event->object, event->time_ns);
	if (child && (status & 0x7f) == 0)
		task_exits(child, event->time_ns, status >> 8, UINT32_MAX);
}

/*
 * Converts exit. Only stores the status, because the process will still run handlers and
 * destructors. A child of vfork, however, ends with this call.
 */
static void call_exit(struct etrace *etrace, const struct etrace_call *call)
{
	uint64_t status = (uint64_t)etrace_number(call->event, "status", 0);

	(void)etrace;
	if (call->event->flags & CALL_OF_CHILD) {
		task_exits(call->task, call->event->time_ns, status, call->event->cpu);
		call->task->has_ended = true;
		return;
	}
	call->process->has_status = true;
	call->process->status = status;
}

void etrace_end_process(struct etrace *etrace, const struct etrace_call *call, const char *how,
			uint64_t time_ns)
{
	const struct event *event = call->event;
	struct task_process *process = call->process;
	bool is_exec = !strcmp(how, "exec"), is_known = strcmp(how, "killed") != 0;
	int64_t status =
		etrace_number(event, "status", process->has_status ? (int64_t)process->status : -1);

	if (is_exec)
		status = 0; /* exec ends the other threads, with status 0 */
	for (struct task *task = process->tasks; task; task = task->next) {
		if (task->has_ended || task->owner != process || (is_exec && task->is_leader))
			continue;
		if (is_known && status >= 0)
			task_exits(task, time_ns, (uint64_t)status, UINT32_MAX);
		tasks_end(&etrace->tasks, task);
	}
}

#define O_TMPFILE_EXCL 0x410082 /* O_TMPFILE, O_EXCL and O_RDWR, as on x86 */

/* clang-format off */
static const struct etrace_row rows[] = {
	{ "open",		call_open,   NULL, 0, 0 },
	{ "openat",		call_open,   NULL, 0, 0 },
	{ "__open_2",		call_open,   NULL, 0, 0 },
	{ "__open64_2",		call_open,   NULL, 0, 0 },
	{ "__openat_2",		call_open,   NULL, 0, 0 },
	{ "__openat64_2",	call_open,   NULL, 0, 0 },
	{ "creat",		call_open,   NULL, O_CREAT | O_WRONLY | O_TRUNC, 0 },
	{ "mkstemp",		call_open,   NULL, O_RDWR | O_CREAT | O_EXCL, 0600 },
	{ "mkstemps",		call_open,   NULL, O_RDWR | O_CREAT | O_EXCL, 0600 },
	{ "mkostemp",		call_open,   NULL, O_RDWR | O_CREAT | O_EXCL, 0600 },
	{ "mkostemps",		call_open,   NULL, O_RDWR | O_CREAT | O_EXCL, 0600 },
	{ "opendir",		call_open,   NULL, O_NONBLOCK | O_CLOEXEC | O_DIRECTORY, 0 },
	{ "fopen",		call_fopen,  NULL, 0, 0 },
	{ "freopen",		call_fopen,  NULL, 0, 0 },
	{ "shm_open",		call_open_there, "/dev/shm/", O_NOFOLLOW | O_CLOEXEC, 0 },
	{ "tmpfile",		call_open_there, "/tmp", O_TMPFILE_EXCL, 0600 },
	{ "posix_openpt",	call_open_there, "/dev/ptmx", 0, 0 },
	{ "getpt",		call_open_there, "/dev/ptmx", O_RDWR, 0 },
	{ "dup",		call_dup,    NULL, 0, 0 },
	{ "dup2",		call_dup,    NULL, 0, 0 },
	{ "dup3",		call_dup,    NULL, 0, 0 },
	{ "fcntl",		call_dup,    NULL, 0, 0 },
	{ "pipe",		call_pipe,   NULL, 0, 0 },
	{ "pipe2",		call_pipe,   NULL, 0, 0 },
	{ "chdir",		call_chdir,  NULL, 0, 0 },
	{ "fchdir",		call_fchdir, NULL, 0, 0 },
	{ "rename",		call_rename, NULL, 0, 0 },
	{ "renameat",		call_rename, NULL, 0, 0 },
	{ "renameat2",		call_rename, NULL, 0, 0 },
	{ "link",		call_link,   NULL, 0, 0 },
	{ "linkat",		call_link,   NULL, 0, 0 },
	{ "symlink",		call_symlink, NULL, 0, 0 },
	{ "symlinkat",		call_symlink, NULL, 0, 0 },
	{ "mount",		call_mount,  NULL, 0, 0 },
	{ "umount",		call_umount, NULL, 0, 0 },
	{ "umount2",		call_umount, NULL, 0, 0 },
	{ "prctl",		call_name,   NULL, 0, 0 },
	{ "pthread_setname_np",	call_name,   NULL, 0, 0 },
	{ "fork",		call_fork,   NULL, 0, 0 },
	{ "_Fork",		call_fork,   NULL, 0, 0 },
	{ "vfork",		call_fork,   NULL, 0, 0 },
	{ "clone",		call_clone,  NULL, 0, 0 },
	{ "wait",		call_wait,   NULL, 0, 0 },
	{ "waitpid",		call_wait,   NULL, 0, 0 },
	{ "wait3",		call_wait,   NULL, 0, 0 },
	{ "wait4",		call_wait,   NULL, 0, 0 },
	{ "waitid",		call_wait,   NULL, 0, 0 },
	{ "posix_spawn",	call_fork,   NULL, 0, 0 },
	{ "posix_spawnp",	call_fork,   NULL, 0, 0 },
	{ "pthread_create",	call_thread, NULL, 0, 0 },
	{ "thrd_create",	call_thread, NULL, 0, 0 },
	{ "pthread_join",	call_join,   NULL, 0, 0 },
	{ "pthread_tryjoin_np",	call_join,   NULL, 0, 0 },
	{ "pthread_timedjoin_np", call_join, NULL, 0, 0 },
	{ "pthread_clockjoin_np", call_join, NULL, 0, 0 },
	{ "thrd_join",		call_join,   NULL, 0, 0 },
	{ "exit",		call_exit,   NULL, 0, 0 },
	{ "_exit",		call_exit,   NULL, 0, 0 },
	{ "_Exit",		call_exit,   NULL, 0, 0 },
	{ "quick_exit",		call_exit,   NULL, 0, 0 },
};
/* clang-format on */

/* Functions whose names end with 64 have the row of the function without that ending. */
const struct etrace_row *etrace_row_of(const char *function)
{
	size_t length = strlen(function);

	if (length > 2 && !strcmp(function + length - 2, "64"))
		length -= 2;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (strlen(rows[i].name) == length && !strncmp(rows[i].name, function, length))
			return &rows[i];
	return NULL;
}
