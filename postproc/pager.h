/* SPDX-License-Identifier: MIT */
#ifndef PAGER_H
#define PAGER_H

#include "postproc/request/request.h"

/*
 * If standard output is a terminal and the user has a pager, returns in a child whose standard
 * output is the pager, with the terminal's width and colours in the options; the calling process
 * waits for both and exits with the child's status. Otherwise does nothing.
 */
void pager_begin(struct options *options);

#endif
