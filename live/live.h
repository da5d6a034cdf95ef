/* SPDX-License-Identifier: MIT */
#ifndef LIVE_LIVE_H
#define LIVE_LIVE_H

/*
 * The sub-commands that examine running processes (`holdtrace top`, `waits`, `watch`). Each
 * function returns the exit status of its sub-command; on failure, it returns 125 and fills `err`.
 */

#include <stdint.h>

#include "base/clock.h"
#include "base/options.h"

#define LIVE_FOUND   1 /* a deadlock was found, or a limit was broken */
#define LIVE_USAGE   2
#define LIVE_UNKNOWN 3
#define LIVE_FAILURE 125

/* the options of each sub-command, which main() prints for --help */
extern const struct option_table live_top_options, live_waits_options, live_watch_options;

int live_top(int argc, char **argv, struct error *err);
int live_waits(int argc, char **argv, struct error *err);
int live_watch(int argc, char **argv, struct error *err);

#endif
