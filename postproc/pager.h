/* SPDX-License-Identifier: MIT */
#ifndef PAGER_H
#define PAGER_H

#include "postproc/request/request.h"

/*
 * Sends the output through a pager if standard output is a terminal, unless the user has turned
 * pagers off. It then returns in a child process whose standard output is a pipe to the pager; the
 * width of the terminal is in $COLUMNS, and the options say whether it has colours. The calling
 * process does not return: it waits for the child and the pager, and exits with the status of the
 * child.
 */
void pager_begin(struct options *options);

#endif
