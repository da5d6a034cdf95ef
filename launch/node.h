/* SPDX-License-Identifier: MIT */
#ifndef NODE_H
#define NODE_H

/*
 * One collector and one file for all ranks of a node (--node). The first rank writes the name of
 * its run to a file that only the user can read; the other ranks join this run.
 */

#include "launch/session.h"

struct node {
	char *path;
	int fd; /* the file, which is locked until the run is announced; -1: not open */
};

/*
 * Waits for a rank that is creating the run, and joins its run. If there is none, the caller
 * creates it, while other ranks wait. Returns 0 or a negative errno.
 */
int node_enter(struct node *node, struct session *session, struct error *err);

/* Lets other ranks join the run of this session, unless it has itself joined another one. */
void node_announce(struct node *node, const struct session *session);

/* Waits until no process of the run is running, and removes the file. */
void node_leave(struct node *node, struct session *session);

#endif
