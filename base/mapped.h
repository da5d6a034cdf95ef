/* SPDX-License-Identifier: MIT */
#ifndef BASE_MAPPED_H
#define BASE_MAPPED_H

#include <sys/types.h>

/*
 * Opens a file for reading that another process has mapped, by a path that is its word alone: only
 * if a regular file of this device (0: any, since layered file systems tell mappings another one)
 * and inode is there, which is looked at before anything is opened. Returns the descriptor, or -1.
 */
int mapped_open(const char *path, dev_t device, ino_t inode);

#endif
