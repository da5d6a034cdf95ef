/* SPDX-License-Identifier: MIT */
#ifndef USAGE_H
#define USAGE_H

/* How every program prints its options: two columns, wrapped at 80. */

#include <stdio.h>

/*
 * One option. letter: 0 if it has none. metavar: name of its argument, "" or NULL if it has none.
 * text: one or more sentences; broken at blanks.
 */
void usage_option(FILE *to, int letter, const char *word, const char *metavar, const char *text);

/* A word and what it is about, wrapped likewise from that column on. */
void usage_word(FILE *to, const char *word, int column, const char *text);

#endif
