/* SPDX-License-Identifier: MIT */
#ifndef PROCESS_PROC_H
#define PROCESS_PROC_H

/* The files of /proc/PID, or of one thread of the process (thread 0: of the process). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROC_STAT_SIZE 1024

/* Opens a file there. Returns a descriptor, or -1 with errno. */
int proc_open(int32_t pid, int32_t thread, const char *name);

/* The text of a file, to be freed. NULL: errno says why. */
char *proc_text(int32_t pid, int32_t thread, const char *name);

/* The value in a text of lines "name: value", up to the end of the text; NULL: no such line. */
const char *proc_value(const char *text, const char *name);

/* A value of the status file as a number; -1: no such line. */
int64_t proc_status(int32_t pid, int32_t thread, const char *name, int base);

/* The names in a directory that are numbers, to be freed. NULL: none, and count is 0. */
int32_t *proc_numbers(const char *path, size_t *count);

/* The ids of the threads, to be freed. NULL: none, and count is 0. */
int32_t *proc_threads(int32_t pid, size_t *count);

/* The stat file from its third field on, which is the state. NULL: it cannot be read. */
const char *proc_stat(int32_t pid, int32_t thread, char text[PROC_STAT_SIZE]);

/*
 * The process or thread has ended: it was reaped, or is a zombie (a leader after pthread_exit(),
 * or not waited for).
 */
bool proc_has_ended(int32_t pid, int32_t thread);

/* A later field of proc_pid_stat(5), by its number there, as text; NULL: no such field. */
const char *proc_field(const char *stat, int number);

/* Its id in its own pid namespace; 0: unknown. */
int32_t proc_own_number(int32_t pid, int32_t thread);

/* All its user ids are uid, and it has no capabilities, so it cannot become another user. */
bool proc_has_no_rights(int32_t pid, uid_t uid);

/* When the thread last ran, by the clock of its processor; 0: the kernel does not say. */
uint64_t proc_ran_ns(int32_t pid, int32_t thread);

/* The system call in which a thread sleeps. number: -1: it is in none. */
struct proc_call {
	int64_t number;
	uint64_t argument[6], sp, pc;
};

/*
 * Call it before the thread is stopped: when it has stopped, some kernels (aarch64) have forgotten
 * the call and its first argument. Returns 0, or a negative errno: only a process that may trace
 * the thread may know.
 */
int proc_call(int32_t pid, int32_t thread, struct proc_call *call);

/* Is the process in another namespace ("net", "pid") than we are? False if that is unknown. */
bool proc_is_elsewhere(int32_t pid, const char *space);

/* The value of kernel.yama.ptrace_scope; '0' on kernels without it. */
char proc_yama(void);

#endif
