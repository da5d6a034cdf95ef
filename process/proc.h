/* SPDX-License-Identifier: MIT */
#ifndef PROCESS_PROC_H
#define PROCESS_PROC_H

/* What /proc says of a process, or of a thread of it (thread 0: of the process). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROC_STAT_SIZE 1024

/* Opens a file of its directory. Returns a descriptor, or -1 with errno. */
int proc_open(int32_t pid, int32_t thread, const char *name);

/* The text of such a file, to be freed. NULL: errno says why. */
char *proc_text(int32_t pid, int32_t thread, const char *name);

/* The value in a text of lines "name: value", up to the end of the text; NULL: there is none. */
const char *proc_value(const char *text, const char *name);

/* Such a value of its status file as a number; -1: none. */
int64_t proc_status(int32_t pid, int32_t thread, const char *name, int base);

/* The names in a directory that are numbers, to be freed. NULL: there are none, and count is 0. */
int32_t *proc_numbers(const char *path, size_t *count);

/* The ids of its threads, to be freed. NULL: there are none, and count is 0. */
int32_t *proc_threads(int32_t pid, size_t *count);

/* Its stat file from the third field, the state, on: in text. NULL: there is none. */
const char *proc_stat(int32_t pid, int32_t thread, char text[PROC_STAT_SIZE]);

/* It is no more, or is left behind by pthread_exit() or unwaited for: it runs no more. */
bool proc_has_ended(int32_t pid, int32_t thread);

/* A field of proc_pid_stat(5) behind the state, by its number there, as text; NULL: there is none.
 */
const char *proc_field(const char *stat, int number);

/* What it calls itself in its own namespace of pids; 0: unknown. */
int32_t proc_own_number(int32_t pid, int32_t thread);

/* All its users are this one, and it has no capabilities: it cannot become another one. */
bool proc_has_no_rights(int32_t pid, uid_t uid);

/* When a thread ran last, in the clock of its processor; 0: the kernel does not say. */
uint64_t proc_ran_ns(int32_t pid, int32_t thread);

/* A system call that a thread sleeps in. number: -1: it is in none. */
struct proc_call {
	int64_t number;
	uint64_t argument[6], sp, pc;
};

/*
 * To be asked before the thread is stopped: some kernels (aarch64) forget by then that it was in a
 * call, and what its first argument was. Returns 0, or a negative errno: only those that may trace
 * the thread are told.
 */
int proc_call(int32_t pid, int32_t thread, struct proc_call *call);

/* It is in another namespace ("net", "pid") than we are. False, too, where nothing says so. */
bool proc_is_elsewhere(int32_t pid, const char *space);

/* kernel.yama.ptrace_scope; '0' where there is none. */
char proc_yama(void);

#endif
