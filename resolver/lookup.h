/* SPDX-License-Identifier: MIT */
#ifndef LOOKUP_H
#define LOOKUP_H

/*
 * The child's side of a lookup: opens the files of one module, sends facts about them, then answers
 * addresses until the parent closes the socket.
 */

#include "resolver/module.h"

/* A worker_run function. job: a struct module_request, in which `file` replaces the descriptor. */
void lookup_run(int socket, int file, const void *job);

#endif
