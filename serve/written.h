/* SPDX-License-Identifier: MIT */
#ifndef WRITTEN_H
#define WRITTEN_H

/*
 * Runs the post-processor, which writes a run in the format of a viewer to `fd`. words: the path of
 * the post-processor, its arguments, and NULL. Returns 0 if it wrote something, else its exit
 * status: 2 for wrong arguments, 125 if it could not be run.
 */
int written_run(const char *format, char **words, int fd);

#endif
