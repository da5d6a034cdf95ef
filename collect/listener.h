/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_LISTENER_H
#define COLLECT_LISTENER_H

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
#include "collect/bounds.h"
#include "collect/shared.h"

struct listener;

/* A program that has connected, in the order of arrival. Freed by listener_dismiss(). */
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
 * Opens the socket. From then on connections queue up, so none is refused before listener_start().
 * NULL: failed.
 */
struct listener *listener_open(struct shared *shared, struct error *err);

/* Its descriptors, for a caller that closes all others. */
#define LISTENER_DESCRIPTORS 7
void listener_descriptors(const struct listener *listener, int descriptors[LISTENER_DESCRIPTORS]);

/* Starts the thread. Without it, connections wait until listener_take(). */
int listener_start(struct listener *listener, struct error *err);

/*
 * Takes the guests that have arrived, including those that the thread has not yet seen. has_more:
 * not all connections of a crowd of other users were accepted yet.
 */
struct guest *listener_take(struct listener *listener, bool *has_more);

/* Whether a guest is known to have arrived since listener_take(). */
bool listener_has_guests(const struct listener *listener);

/* Whether there is no thread, so that only listener_take() looks for connections. */
bool listener_is_unwatched(const struct listener *listener);

/* Whether this user owns the run and may control it: the user who started it, or root. */
bool listener_is_owner(const struct listener *listener, uid_t uid);

/* Answers a control request. */
void listener_answer(struct guest *guest, const char *text);

/* Likewise, and sends a descriptor with the answer. */
void listener_answer_with(struct guest *guest, const char *text, int fd);

/* The guest is being served and no longer counts as waiting. */
void listener_attend(struct listener *listener, const struct guest *guest);

/*
 * This many further processes of the user have just begun, or have ended without being finished
 * (negative: fewer). If these and the waiting ones are many, newcomers wait before they connect
 * (control page.crowded).
 */
void listener_crowd(struct listener *listener, uid_t uid, int more);

/*
 * How many guests the listener has refused since the last call: too many of their user waited
 * (REFUSED_MEMBERS), they do not own the run (REFUSED_ORDER), or no descriptor was left for their
 * memory (REFUSED_MEMORY).
 */
uint64_t listener_refused(struct listener *listener, enum refusal why);

/* Closes the descriptors of the guest that were not taken (set to -1), and frees it. */
void listener_dismiss(struct guest *guest);

/* Wakes the collector when this pidfd reports that its process has ended. */
void listener_watch(struct listener *listener, int pidfd);

/* Whether a watched process has ended since the last call. */
bool listener_noticed(struct listener *listener);

/* Closes the socket. The thread ends with the program. */
void listener_close(struct listener *listener);

#endif
