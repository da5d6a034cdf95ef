/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_DOOR_H
#define COLLECT_DOOR_H

/*
 * The listener: a socket to which programs send their memory and holdtrace ctl its requests. It is
 * named by the session's id, and has a path, too, for programs in another network namespace. A
 * message must have the run's secret; the sender's identity comes from the kernel, never from the
 * message. The listener has a thread of its own, so that no program waits while the collector is
 * busy. The thread wakes the collector, also when a watched process has ended.
 */

#include <stdbool.h>
#include <sys/types.h>

#include "arena.h"
#include "collect/shared.h"

struct door;

/* A program that has connected, in the order of arrival. Freed by door_dismiss(). */
struct guest {
	struct guest *next;
	pid_t pid;	   /* in our namespace; 0: it is in a namespace that we do not see */
	uid_t uid;	   /* its effective user when it connected */
	const char *doubt; /* why its identity is not certain; NULL: it is certain */
	int pidfd;	   /* of the program; -1: none */
	int memory;	   /* -1: the message is a control request */
	int connection;	   /* on which a request is answered; -1: none */
	union {
		struct arena_hello hello;
		struct control_request request;
	};
};

/*
 * Opens the socket. From then on connections queue up, so none is refused before door_start().
 * NULL: failed.
 */
struct door *door_open(struct shared *shared, struct error *err);

/* Its descriptors, for a caller that closes all others. */
#define DOOR_DESCRIPTORS 7
void door_descriptors(const struct door *door, int descriptors[DOOR_DESCRIPTORS]);

/* Starts the thread. Without it, connections wait until door_take(). */
int door_start(struct door *door, struct error *err);

/*
 * Takes the guests that have arrived, including those that the thread has not yet seen. has_more:
 * not all connections of a crowd of other users were accepted yet.
 */
struct guest *door_take(struct door *door, bool *has_more);

/* Whether a guest is known to have arrived since door_take(). */
bool door_has_guests(const struct door *door);

/* Whether there is no thread, so that only door_take() looks for connections. */
bool door_is_unwatched(const struct door *door);

/* Whether this user owns the run and may control it: the user who started it, or root. */
bool door_is_owner(const struct door *door, uid_t uid);

/* Answers a control request. */
void door_answer(struct guest *guest, const char *text);

/* Likewise, and sends a descriptor with the answer. */
void door_answer_with(struct guest *guest, const char *text, int fd);

/* The guest is being served and no longer counts as waiting. */
void door_attend(struct door *door, const struct guest *guest);

/*
 * This many further processes of the user have just begun, or have ended without being finished
 * (negative: fewer). If these and the waiting ones are many, newcomers wait before they connect
 * (board.crowded).
 */
void door_crowd(struct door *door, uid_t uid, int more);

/* How many guests were refused since the last call, because too many of their user waited. */
uint64_t door_turned_away(struct door *door);

/* Closes the descriptors of the guest that were not taken (set to -1), and frees it. */
void door_dismiss(struct guest *guest);

/* Wakes the collector when this pidfd reports that its process has ended. */
void door_watch(struct door *door, int pidfd);

/* Whether a watched process has ended since the last call. */
bool door_noticed(struct door *door);

/* Closes the socket. The thread ends with the program. */
void door_close(struct door *door);

#endif
