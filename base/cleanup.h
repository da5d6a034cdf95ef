/* SPDX-License-Identifier: MIT */
#ifndef BASE_CLEANUP_H
#define BASE_CLEANUP_H

/*
 * Attributes that release a local variable at the end of its block: cleanup_free, cleanup_file and
 * cleanup_fd. Put them before a declaration that has an initialiser.
 */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free_pointer(void *pointer)
{
	free(*(void **)pointer);
}

static inline void cleanup_close_file(FILE **file)
{
	if (*file)
		fclose(*file);
}

static inline void cleanup_close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

#define cleanup_free __attribute__((cleanup(cleanup_free_pointer)))
#define cleanup_file __attribute__((cleanup(cleanup_close_file)))
#define cleanup_fd   __attribute__((cleanup(cleanup_close_fd)))

#endif
