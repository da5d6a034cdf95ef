/* SPDX-License-Identifier: MIT */
#ifndef LOOKUP_H
#define LOOKUP_H

/*
 * The child's side of looking names up: opens the files of one module, tells what they are, then
 * answers addresses until nobody asks any more.
 */

#include "resolver/module.h"

/* A worker_run; job is a struct module_request, whose file is the descriptor of that name. */
void lookup_run(int socket, int file, const void *job);

#endif
