/* SPDX-License-Identifier: MIT */
#ifndef LAUNCH_PLAN_H
#define LAUNCH_PLAN_H

/*
 * Plans how to record the functions of allocators that have no stub (include/patches.h): allocators
 * in the program's file, and in the libraries that the loader loads with the program.
 */

#include "base/array.h"
#include "base/error.h"
#include "patches.h"

/*
 * Fills in the plan for the program at `path`. hooks: arguments of --hook. Returns -EINVAL if one
 * of these is invalid, or names a function that neither the program nor its libraries define.
 */
int patches_plan(struct patches *plan, const char *path, const char *const *hooks, size_t count,
		 struct error *err);

#endif
