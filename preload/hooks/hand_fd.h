/* SPDX-License-Identifier: MIT */
#ifndef HAND_FD_H
#define HAND_FD_H

/* Descriptors that a call opens or closes together with another object. */

#include "effects.h"

/* The call opened a descriptor together with `related`. */
static inline void fd_gained(struct call *call, uint8_t part, int fd, uint64_t related,
			     const struct call_argument *arguments)
{
	call_event(call, &(struct call_event){ .resource = RESOURCE_FD,
					       .operation = OPERATION_ALLOC,
					       .moment = MOMENT_LEAVE,
					       .part = part,
					       .object = WORD(fd),
					       .related = related,
					       .size = 1,
					       .arguments = arguments });
}

/*
 * The call closed a descriptor together with `related`; nothing if fd is negative. If shm_open
 * opened the descriptor, the next part closes it in that class, too. moment: ENTER, or HALF before
 * a sleep.
 */
void fd_lost(struct call *call, enum moment moment, uint8_t part, int fd, uint64_t related);

/* Only that second part; nothing if shm_open did not open the descriptor. */
void fd_lost_shm(struct call *call, enum moment moment, uint8_t part, int fd, uint64_t related);

/*
 * Notes that shm_open opened the descriptor. Returns false if its number is too high to be
 * remembered.
 */
bool fd_note_shm(struct call *call, int fd);

#endif
