/* SPDX-License-Identifier: MIT */
#ifndef PAGER_H
#define PAGER_H

#include "postproc/request/request.h"

/*
 * If standard output is a terminal whose user wants to read page by page, returns in a child, whose
 * standard output is the pager, with the terminal's width and colours among the options. The caller
 * itself waits for both and ends with the child's status. Else nothing happens.
 */
void pager_begin(struct options *options);

#endif
