/* SPDX-License-Identifier: MIT */
#ifndef BASE_PROC_H
#define BASE_PROC_H

/* What /proc says of a process, or of a thread of it (thread 0: of the process). */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PROC_STAT_SIZE 1024

/* Its stat file from the third field, the state, on: in text. NULL: there is none. */
const char *proc_stat(int32_t pid, int32_t thread, char text[PROC_STAT_SIZE]);

/* What it calls itself in its own namespace of pids; 0: unknown. */
int32_t proc_own_number(int32_t pid, int32_t thread);

/* All its users are this one, and it has no capabilities: it cannot become another one. */
bool proc_has_no_rights(int32_t pid, uid_t uid);

/* A system call that a thread sleeps in. number: -1: it is in none. */
struct proc_call {
	int64_t number;
	uint64_t argument[6], sp, pc;
};

/*
 * To be asked before the thread is stopped: some kernels (aarch64) forget by then that it was in a
 * call, and what its first argument was. For those alone that may trace it.
 */
void proc_call(int32_t pid, int32_t thread, struct proc_call *call);

/* 1: it has the file mapped, 0: it has not, or is no more; -EACCES: we may not look. */
int proc_has_mapped(int32_t pid, dev_t device, ino_t inode);

/* It is in another namespace ("net", "pid") than we are. False, too, where nobody says. */
bool proc_is_elsewhere(int32_t pid, const char *space);

/* kernel.yama.ptrace_scope; '0' where there is none. */
char proc_yama(void);

#endif
