/* SPDX-License-Identifier: MIT */
#ifndef REACH_H
#define REACH_H

/* Connections to the collector: each message uses a new one, and no descriptor is kept. */

#include <stddef.h>
#include <stdint.h>

#include "arena.h"

/* Sets the session's id (32 hexadecimal digits), a part of the collector's socket name. */
void reach_name(const char *id);

/* Sets the owner of the control page. The collector must run as this user. */
void reach_owner(uint32_t user);

/*
 * Whether the control page's owner has full control of this process anyway: the owner is the same
 * user, or root. False for the user id 65534, which represents every user that this user namespace
 * does not map.
 */
bool reach_is_trusted(void);

/* Writes "/proc/PID/fd/FD" to `path`, which has 64 bytes. Returns its end. */
char *reach_path(char *path, uint64_t pid, uint64_t fd);

/* Returns a socket connected to the collector (`pid`), or -errno (-EPERM: an impostor answered). */
int reach_collector(uint32_t pid, int64_t patience_ms);

/*
 * Returns a socket that is connected to the planner of the run (patches.h), or -errno. The error is
 * -EPERM if this process does not belong to the owner of the run or to root, or if the owner does
 * not have full control of this process anyway.
 */
int reach_planner(int64_t patience_ms);

/* Sends a message, and *fd unless `fd` is NULL, without waiting. Returns as sendmsg() does. */
long reach_say(int socket, const void *data, size_t size, const int *fd);

/* Sends a memfd to the collector. Returns 0 or -errno. The caller still owns the descriptor. */
int reach_hand_over(int memory, const struct arena_hello *hello);

/* Tells the collector that this process is not recorded, because --follow excludes it. */
void reach_leave_out(const char *name);

#endif
