/* SPDX-License-Identifier: MIT */
#ifndef PROCESS_PROC_H
#define PROCESS_PROC_H

/* Functions that read files in /proc/PID, or, if `thread` is not 0, in /proc/PID/task/THREAD. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROC_STAT_SIZE 1024

/* Opens a file. Returns a descriptor, or -1 with errno. */
int proc_open(int32_t pid, int32_t thread, const char *name);

/* Returns the text of a file, which the caller frees, or NULL with errno. */
char *proc_text(int32_t pid, int32_t thread, const char *name);

/* Reads the name of a thread, or of the process if `thread` is 0; "": unknown. */
void proc_name(int32_t pid, int32_t thread, char *name, size_t size);

/*
 * Reads the target of a link; "": unknown. A target that is too long is cut. Returns its length.
 */
size_t proc_link(int32_t pid, int32_t thread, const char *name, char *target, size_t size);

/*
 * Finds a value in a text of lines "name: value". Returns the text from the value on, or NULL if no
 * line has this name.
 */
const char *proc_value(const char *text, const char *name);

/* Returns a value of the status file as a number, or -1 if no line has this name. */
int64_t proc_status(int32_t pid, int32_t thread, const char *name, int base);

/*
 * Returns the names in a directory that are numbers; the caller frees them. Returns NULL, and sets
 * *count to 0, if the directory has no such names.
 */
int32_t *proc_numbers(const char *path, size_t *count);

/*
 * Returns the ids of the process's threads; the caller frees them. Returns NULL, and sets *count to
 * 0, if the process has no threads.
 */
int32_t *proc_threads(int32_t pid, size_t *count);

/* Returns the stat file's text from its third field (the state) on. NULL: it cannot be read. */
const char *proc_stat(int32_t pid, int32_t thread, char text[PROC_STAT_SIZE]);

/*
 * Whether the process or thread has ended: it was reaped, or is a zombie (its parent has not waited
 * for it, or it is the first thread of a process and has called pthread_exit()).
 */
bool proc_has_ended(int32_t pid, int32_t thread);

/*
 * Finds a field of the stat file by its number in proc_pid_stat(5). stat: the result of
 * proc_stat(). Returns the text from this field on, or NULL if the file has fewer fields.
 */
const char *proc_field(const char *stat, int number);

/* Returns the id of the process or thread in its innermost pid namespace, or 0 if it is unknown. */
int32_t proc_own_number(int32_t pid, int32_t thread);

/*
 * Whether all user ids of the process are `uid` and it has no capabilities, so that it cannot
 * become another user.
 */
bool proc_has_no_rights(int32_t pid, uid_t uid);

/*
 * Returns the time (ns) at which the thread last ran, in the clock of its processor, or 0 if
 * unknown.
 */
uint64_t proc_ran_ns(int32_t pid, int32_t thread);

/* The system call in which a thread sleeps. number -1: in no call. */
struct proc_call {
	int64_t number;
	uint64_t argument[6], sp, pc;
};

/*
 * Reads the system call of a thread. Must be called before the thread is stopped, since afterwards
 * some kernels (aarch64) no longer report the call and its first argument. Returns 0, or a negative
 * errno: only a process that may trace the thread may read this.
 */
int proc_call(int32_t pid, int32_t thread, struct proc_call *call);

/*
 * Whether the process is in another namespace ("net", "pid") than this process; false if unknown.
 */
bool proc_is_elsewhere(int32_t pid, const char *space);

/* Returns the value of kernel.yama.ptrace_scope, or '0' on a kernel without it. */
char proc_yama(void);

#endif
