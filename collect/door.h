/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_DOOR_H
#define COLLECT_DOOR_H

/*
 * Where programs of the run knock after an exec: an abstract socket named by the session's id that
 * hands out the arena's descriptor. A thread of its own answers at once, whatever the collector
 * is busy with, and wakes the collector when a process that it watches has ended.
 */

#include <stdbool.h>
#include <stdint.h>

#include "collect/shared.h"

struct door;

/* Opens the socket; it then has a queue, so nobody is turned away before door_start(). */
struct door *door_open(struct shared *shared, struct error *err);

/* Its descriptors, for those who close all others. */
void door_descriptors(const struct door *door, int descriptors[3]);

/* Starts the thread. Without it (on failure) the door stays shut and everything else works. */
int door_start(struct door *door, struct error *err);

/* Wakes the collector when this pidfd says that its process has ended. */
void door_watch(struct door *door, int pidfd);

/* Whether any watched process ended since it was asked last. */
bool door_noticed(struct door *door);

/* Shuts it. The thread ends with the program. */
void door_close(struct door *door);

#endif
