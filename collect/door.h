/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_DOOR_H
#define COLLECT_DOOR_H

/*
 * Where programs of the run hand over their memory and `holdtrace ctl` asks: a socket named by the
 * session's id, and the same by a path for whoever is in another network namespace. Who comes must
 * know the run's secret; who he is the kernel says, and nothing in a message does. A thread of its
 * own listens, so that nobody
 * waits for what the collector is busy with, and wakes the collector, also when a process that it
 * watches has ended.
 */

#include <stdbool.h>
#include <sys/types.h>

#include "arena.h"
#include "collect/shared.h"

struct door;

/* Somebody who came, in the order in which they did. Freed by door_dismiss(). */
struct guest {
	struct guest *next;
	pid_t pid;	   /* as we see it; 0: it is in a namespace that we do not see */
	uid_t uid;	   /* its effective one when it connected */
	const char *doubt; /* why that is not certain; NULL: it is */
	int pidfd;	   /* of it; -1: none */
	int memory;	   /* -1: it is a request */
	int connection;	   /* where a request is to be answered; -1 */
	union {
		struct arena_hello hello;
		struct control_request request;
	};
};

/* Opens the socket; it then has a queue, so nobody is turned away before door_start(). NULL: no. */
struct door *door_open(struct shared *shared, struct error *err);

/* Its descriptors, for those who close all others. */
#define DOOR_DESCRIPTORS 7
void door_descriptors(const struct door *door, int descriptors[DOOR_DESCRIPTORS]);

/* Starts the thread. Without it who comes waits until door_take(). */
int door_start(struct door *door, struct error *err);

/*
 * Those who have come, up to now: also those whom the thread has not yet seen. has_more: a crowd of
 * other users is not all let in yet.
 */
struct guest *door_take(struct door *door, bool *has_more);

/* Whether somebody is known to have come since door_take(). */
bool door_has_guests(const struct door *door);

/* Whether nobody but door_take() ever looks. */
bool door_is_unwatched(const struct door *door);

/* Whether the run belongs to this user, who may do with it what he likes: who started it, or root.
 */
bool door_is_owner(const struct door *door, uid_t uid);

/* Answers a request. */
void door_answer(struct guest *guest, const char *text);

/* The same, with a descriptor that becomes the guest's, too. */
void door_answer_with(struct guest *guest, const char *text, int fd);

/* A guest is attended to: no longer one who waits. */
void door_attend(struct door *door, const struct guest *guest);

/*
 * So many processes of this user more (or fewer) have just begun, or have ended and are not
 * finished with. Where these and who waits are many, newcomers wait before they come
 * (board.crowded).
 */
void door_crowd(struct door *door, uid_t uid, int more);

/* How many guests were turned away since it was asked last, for others of their user wait. */
uint64_t door_turned_away(struct door *door);

/* Closes what the guest brought and was not taken (set to -1). */
void door_dismiss(struct guest *guest);

/* Wakes the collector when this pidfd says that its process has ended. */
void door_watch(struct door *door, int pidfd);

/* Whether any watched process ended since it was asked last. */
bool door_noticed(struct door *door);

/* Shuts it. The thread ends with the program. */
void door_close(struct door *door);

#endif
