/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_LISTENER_H
#define COLLECT_LISTENER_H

/*
 * The listener: a socket. Traced programs send their memory to it, and holdtrace ctl sends its
 * requests. The socket's name contains the session's id. The socket also has a path, for programs
 * in another network namespace. Each message must contain the run's secret. The sender's identity
 * comes from the kernel, never from the message. The listener has its own thread, so that no
 * program has to wait while the collector is busy. The thread wakes the collector for each message,
 * and when a watched process has ended.
 */

#include <stdbool.h>
#include <sys/types.h>

#include "arena.h"
#include "collect/bounds.h"
#include "collect/shared.h"

struct listener;
struct user;

/*
 * A guest: a program that has connected and sent its message. Within the listener also a visitor: a
 * program that has not sent its message yet. Lists of guests are in the order of arrival.
 * listener_dismiss() frees a guest.
 */
struct guest {
	struct guest *next;
	/* pid in the collector's pid namespace; 0: the process has no pid there */
	pid_t pid;
	/* effective user of the program when it connected */
	uid_t uid;
	struct user *user; /* set by the collector; NULL: not yet */
	const char *doubt; /* why the program's identity is uncertain; NULL: it is certain */
	/* for a visitor: the process that now has the visitor's pid does not belong to the run */
	bool is_stranger;
	int pidfd; /* pidfd of the program; -1: none */
	/* descriptor of the program's memory; -1: the message is a control request */
	int memory;
	/* connection for the answer to a request; -1: none */
	int connection;
	union {
		struct arena_hello hello;
		struct control_request request;
	};
};

/* Opens the socket: from then on connections are queued. Returns NULL on failure. */
struct listener *listener_open(struct shared *shared, struct error *err);

/* The descriptors of the listener, for a caller that closes all others. */
#define LISTENER_DESCRIPTORS 9
void listener_descriptors(const struct listener *listener, int descriptors[LISTENER_DESCRIPTORS]);

/* Starts the thread. Without the thread, connections wait for listener_take(). */
int listener_start(struct listener *listener, struct error *err);

/*
 * Takes the guests that have arrived, including those that the thread has not accepted yet.
 * *has_more: whether more connections may be waiting, because users other than the owner opened too
 * many at once.
 */
struct guest *listener_take(struct listener *listener, bool *has_more);

/* Whether a guest has arrived since the last listener_take(), as far as the thread has noticed. */
bool listener_has_guests(const struct listener *listener);

/* Whether there is no thread, so that only listener_take() accepts connections. */
bool listener_is_unwatched(const struct listener *listener);

/* Whether this user owns the run and may control it: the user who started it, or root. */
bool listener_is_owner(const struct listener *listener, uid_t uid);

void listener_answer(struct guest *guest, const char *text);

/* Answers a control request, and sends a descriptor with the answer. */
void listener_answer_with(struct guest *guest, const char *text, int fd);

/* Called when the guest is served: from then on it does not count as waiting. */
void listener_attend(struct listener *listener, const struct guest *guest);

/*
 * Adds `more` (which may be negative) to the number of the user's processes that have just begun,
 * or have ended and are not yet finished. If there are many such processes and waiting guests, new
 * processes wait before they connect (control_page.crowded).
 */
void listener_crowd(struct listener *listener, uid_t uid, int more);

/*
 * How many guests the listener has refused for this reason since the last call. REFUSED_MEMBERS:
 * too many guests of the user were waiting; REFUSED_ORDER: the user does not own the run;
 * REFUSED_MEMORY: no descriptor was left for the guest's memory.
 */
uint64_t listener_refused(struct listener *listener, enum refusal why);

/* Frees the guest and closes its descriptors, except those that the caller has set to -1. */
void listener_dismiss(struct guest *guest);

/* Wakes the collector when this pidfd reports that its process has ended. */
void listener_watch(struct listener *listener, int pidfd);

/* Whether a watched process has ended since the last call. */
bool listener_noticed(struct listener *listener);

/* Shuts the socket down. The thread continues until the collector exits. */
void listener_close(struct listener *listener);

#endif
