/* SPDX-License-Identifier: MIT */
#ifndef LOOKUP_H
#define LOOKUP_H

/*
 * The child's side of a lookup: opens the files of one module, sends facts about them, then answers
 * requests for addresses until the parent closes the socket.
 */

#include "resolver/module.h"

/*
 * A worker_run function. job: a struct module_request, whose member `file` is replaced by the
 * parameter `file`.
 */
void lookup_run(int socket, int file, const void *job);

#endif
