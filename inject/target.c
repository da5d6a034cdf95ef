/* SPDX-License-Identifier: MIT */
#include "inject/target.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "process/proc.h"
#include "injected.h"
#include "inject/arch.h"
#include "inject/modules.h"
#include "inject/symbols.h"

/* ---- /proc ---- */

static void proc_path(char *path, size_t room, pid_t pid, const char *name)
{
	snprintf(path, room, "/proc/%d/%s", (int)pid, name);
}

static bool status_has(pid_t pid, const char *name, const char *word)
{
	cleanup_free char *text = proc_text(pid, 0, "status");
	const char *value = proc_value(text, name);
	const char *found = value ? strstr(value, word) : NULL;

	return found && found < value + strcspn(value, "\n");
}

int target_read_maps(struct target *target, struct error *err)
{
	int status;

	maps_free(&target->subject.maps);
	status = maps_read(&target->subject.maps, target->subject.pid);
	if (status == -ENODATA)
		return error_set(err, ESRCH, "process %d has ended, or is of the kernel",
				 (int)target->subject.pid);
	return status ? error_system(err, -status, "cannot see the mappings of process %d",
				     (int)target->subject.pid)
		      : 0;
}

int target_write(const struct target *target, uint64_t address, const void *bytes, size_t size)
{
	return pwrite(target->subject.memory, bytes, size, (off_t)address) == (ssize_t)size
		       ? 0
		       : -EFAULT;
}

/* ---- the target's libc ---- */

#if ARCH_INJECTS
static uint64_t find_code(const struct target *target, const uint8_t *code, size_t size)
{
	uint64_t room = target->code_high - target->code_low;

	for (uint64_t from = 0; from < room; from++) {
		const uint8_t *at = memmem(target->code + from, room - from, code, size);

		if (!at)
			return 0;
		from = (uint64_t)(at - target->code);
		/* elsewhere these bytes are parts of other instructions, or data */
		if (from % ARCH_CODE_STEP == 0)
			return target->code_low + from;
	}
	return 0;
}

/* Finds the restorer in libc, else in the vdso. */
static uint64_t find_restorer(const struct target *target)
{
	uint64_t found = find_code(target, arch_restorer_code, sizeof(arch_restorer_code));
	uint8_t code[sizeof(arch_restorer_code)];

	for (size_t i = 0; i < target->subject.maps.count && !found; i++) {
		const struct mapping *map = &target->subject.maps.items[i];

		if (strcmp(map->path, "[vdso]") != 0)
			continue;
		for (uint64_t at = map->from; at < map->to - sizeof(code) && !found;
		     at += ARCH_CODE_STEP)
			if (!subject_get(&target->subject, at, code, sizeof(code)) &&
			    !memcmp(code, arch_restorer_code, sizeof(code)))
				found = at;
	}
	return found;
}

/* Copies libc's code, and finds the instructions in it that we use. */
static int read_code(struct target *target, struct error *err)
{
	for (size_t i = 0; i < target->subject.maps.count && !target->code; i++) {
		const struct mapping *map = &target->subject.maps.items[i];

		if (!(map->flags & MAPPING_EXECUTE) ||
		    strncmp(mapping_name(map), "libc.so.6", 9) != 0)
			continue;
		target->code_low = map->from;
		target->code_high = map->to;
		target->code = memory_alloc(map->to - map->from);
		if (subject_get(&target->subject, map->from, target->code, map->to - map->from))
			return error_set(err, EIO, "the code of its libc cannot be read");
	}
	if (!target->code)
		return error_set(err, ENOEXEC, "its libc has no code");
	target->syscall = find_code(target, arch_syscall_code, sizeof(arch_syscall_code));
	target->restorer = find_restorer(target);
	return target->syscall ? 0
			       : error_set(err, ENOEXEC, "its libc has no system call to borrow");
}
#endif

/* ---- refusals ---- */

/* The text for a process that the kernel does not let us examine. */
static int refuse_rights(pid_t pid, int number, struct error *err)
{
	char path[64], scope = proc_yama();
	struct stat status;

	proc_path(path, sizeof(path), pid, "");
	if (number == ENOENT || number == ESRCH || stat(path, &status))
		return error_set(err, ESRCH, "there is no process %d", (int)pid);
	if (number != EACCES && number != EPERM)
		return error_system(err, number, "process %d", (int)pid);
	if (scope != '0' && status.st_uid == geteuid())
		return error_set(err, EPERM,
				 "only its parents and root may attach to process %d "
				 "(kernel.yama.ptrace_scope is %c): do it as root, or `sysctl "
				 "kernel.yama.ptrace_scope=0`, or start the program by `holdtrace "
				 "record --start=off`",
				 (int)pid, scope);
	return error_set(err, EPERM,
			 "process %d is another user's, or cannot be examined (it has changed "
			 "its privileges): attach as root or with CAP_SYS_PTRACE, or start the "
			 "program by `holdtrace record --start=off`",
			 (int)pid);
}

static int check_machine(const struct target *target, struct error *err)
{
	unsigned char head[20] = { 0 };
	char path[64];
	cleanup_fd int fd = -1;

	proc_path(path, sizeof(path), target->subject.pid, "exe");
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0 && errno == ENOENT)
		return error_set(err, ESRCH, "process %d has ended, or is of the kernel",
				 (int)target->subject.pid);
	if (fd < 0)
		return refuse_rights(target->subject.pid, errno, err);
#if ARCH_INJECTS
	if (read(fd, head, sizeof(head)) != sizeof(head) || head[EI_CLASS] != ELFCLASS64 ||
	    head[18] != (ARCH_MACHINE & 0xff) || head[19] != ARCH_MACHINE >> 8)
		return error_set(err, ENOTSUP,
				 "it is not a 64-bit program for this processor, and holdtrace has "
				 "no library for it");
	return 0;
#else
	(void)head;
	return error_set(err, ENOTSUP,
			 "holdtrace cannot attach on this processor; start the program by "
			 "`holdtrace record --start=off`");
#endif
}

static int check_state(pid_t pid, struct error *err)
{
	int64_t tracer = proc_status(pid, 0, "TracerPid", 10);

	if (tracer > 0)
		return error_set(err, EBUSY,
				 "it is being traced by process %d (a debugger, strace?): end that "
				 "first",
				 (int)tracer);
	if (status_has(pid, "State", "T (stopped)"))
		return error_set(err, EBUSY, "it is stopped: `kill -CONT %d` first", (int)pid);
	if (status_has(pid, "State", "Z (zombie)"))
		return error_set(err, ESRCH, "process %d has ended", (int)pid);
	if (status_has(pid, "x86_Thread_features", "shstk"))
		return error_set(err, ENOTSUP,
				 "it has a shadow stack, which forbids what attaching needs: start "
				 "it by `holdtrace record --start=off`");
	return 0;
}

/* The library opens itself by a path below /proc. */
static int check_proc(pid_t pid, struct error *err)
{
	char path[64];

	proc_path(path, sizeof(path), pid, "root/proc/meminfo");
	if (access(path, F_OK) == 0)
		return 0;
	return error_set(err, ENOTSUP,
			 "its root directory has no /proc (chroot?), which loading the library "
			 "needs: mount it there, or start it by `holdtrace record --start=off`");
}

static int check_modules(const struct target *target, struct error *err)
{
	if (maps_named(&target->subject.maps, "ld-musl"))
		return error_set(err, ENOTSUP, "its libc is musl, which holdtrace cannot enter");
	if (target->has_sanitizer || maps_named(&target->subject.maps, "libasan.so") ||
	    maps_named(&target->subject.maps, "libtsan.so") ||
	    maps_named(&target->subject.maps, "libmsan.so") ||
	    maps_named(&target->subject.maps, "libclang_rt."))
		return error_set(err, ENOTSUP,
				 "it is built with a sanitizer, which has the same functions as "
				 "holdtrace: run one without");
	if (maps_named(&target->subject.maps, "memfd:" LATE_STUCK))
		return error_set(err, ENOTRECOVERABLE,
				 "an attach was given up within its loader, so it can load no more "
				 "libraries: restart it");
	if (!maps_named(&target->subject.maps, "libc.so.6") ||
	    !(maps_named(&target->subject.maps, "ld-linux") ||
	      maps_named(&target->subject.maps, "ld64")))
		return error_set(err, ENOTSUP,
				 "it is statically linked, or has not come to its libc: no library "
				 "can enter it");
	return 0;
}

static int read_libc(struct target *target, struct error *err)
{
	const struct mapping *map = maps_named(&target->subject.maps, "libc.so.6");
	struct symbols libc, loader;
	bool is_old;
	uint64_t offset;

	if (symbols_read(&libc, target, map))
		return error_set(err, EIO, "the symbols of its libc cannot be read");
	target->dlopen = symbols_address(&libc, "dlopen");
	target->dlclose = symbols_address(&libc, "dlclose");
	target->dlerror = symbols_address(&libc, "dlerror");
	modules_forbid_libc(target, &libc);
	is_old = !symbols_address(&libc, "_dl_find_object");
	symbols_free(&libc);
	if (!target->dlopen || !target->dlclose)
		return error_set(err, ENOTSUP,
				 "its libc is older than 2.34, and no library can be brought in "
				 "safely: start it by `holdtrace record --start=off`");
	map = maps_named(&target->subject.maps, "ld-linux");
	if (map && !symbols_read(&loader, target, map)) {
		offset = symbols_address(&loader, "__rseq_offset");
		if (offset)
			subject_get(&target->subject, offset, &target->rseq, sizeof(target->rseq));
		symbols_free(&loader);
	}
	if (is_old)
		return error_set(err, ENOTSUP,
				 "its libc is older than 2.35, which the library needs");
	return 0;
}

static int learn(struct target *target, struct error *err)
{
	int status = check_machine(target, err);

	if (!status)
		status = check_state(target->subject.pid, err);
	if (status)
		return status;
	status = subject_open_memory(&target->subject, O_RDWR);
	if (status)
		return refuse_rights(target->subject.pid, -status, err);
	status = target_read_maps(target, err);
	if (!status)
		modules_read(target);
	if (!status)
		status = check_modules(target, err);
	if (!status)
		status = check_proc(target->subject.pid, err);
	if (!status)
		status = read_libc(target, err);
#if ARCH_INJECTS
	if (!status)
		status = read_code(target, err);
#endif
	return status;
}

int target_open(struct target *target, pid_t pid, struct error *err)
{
	int status;

	memset(target, 0, sizeof(*target));
	subject_begin(&target->subject, pid);
	if (pid == getpid() || pid <= 0)
		return error_set(err, EINVAL, "process %d cannot be attached to", (int)pid);
	if (proc_status(pid, 0, "Pid", 10) < 0)
		return error_set(err, ESRCH, "there is no process %d", (int)pid);
	status = learn(target, err);
	if (!status)
		return 0;
	target_close(target);
	/* the process may have ended during the attempt */
	if (proc_status(pid, 0, "Pid", 10) < 0 || status_has(pid, "State", "Z (zombie)"))
		return error_set(err, ESRCH, "process %d has ended", (int)pid);
	return status;
}

void target_close(struct target *target)
{
	subject_end(&target->subject);
	free(target->ranges.items);
	free(target->code);
	target->code = NULL;
	target->ranges.items = NULL;
}
