/* SPDX-License-Identifier: MIT */
#ifndef HAND_FD_H
#define HAND_FD_H

/* Descriptors as a part of a call that made or ended something else. */

#include "effects.h"

/* A descriptor came with related. */
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
 * A descriptor went with related; none if it is negative. One of shm_open's is given back as that,
 * too, in a part after this one. moment: ENTER, or HALF before a sleep.
 */
void fd_lost(struct call *call, enum moment moment, uint8_t part, int fd, uint64_t related);

/* The part of that which is about a descriptor of shm_open's; nothing if it is none. */
void fd_lost_shm(struct call *call, enum moment moment, uint8_t part, int fd, uint64_t related);

/* Notes that the descriptor is one of shm_open's. False if it is none, or beyond what is known. */
bool fd_note_shm(struct call *call, int fd);

#endif
