/* SPDX-License-Identifier: MIT */
#ifndef REACH_H
#define REACH_H

/* The way to the collector of the run, which keeps no descriptor: each message has its own. */

#include <stddef.h>
#include <stdint.h>

#include "arena.h"

/* The session's id as 32 hexadecimal digits: the collector's socket has this name. */
void reach_name(const char *id);

/* The user that the board belongs to: the collector is nobody else's. */
void reach_owner(uint32_t user);

/*
 * Whether that user may do with this process whatever it likes anyway: the same one, or root. Not
 * where the number is nobody's: any user may have it whom this namespace does not map.
 */
bool reach_is_trusted(void);

/* "/proc/PID/fd/FD" to path, which has room for 64. Returns where it ends. */
char *reach_path(char *path, uint64_t pid, uint64_t fd);

/* A socket that leads to the collector, if that is who it says, or -errno. */
int reach_collector(uint32_t pid, int64_t patience_ms);

/* One message, with a descriptor unless fd is NULL. Waits for nobody. Returns what sendmsg does. */
long reach_say(int socket, const void *data, size_t size, const int *fd);

/* Hands memory to the collector. Returns 0 or -errno. The descriptor stays the caller's. */
int reach_hand_over(int memory, const struct arena_hello *hello);

/* Tells the collector that this process is not recorded, as --follow wants it. */
void reach_leave_out(const char *name);

#endif
