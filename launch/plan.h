/* SPDX-License-Identifier: MIT */
#ifndef LAUNCH_PLAN_H
#define LAUNCH_PLAN_H

/*
 * Plans how to record the functions of allocators that have no stub (include/patches.h): allocators
 * in the program's file, in the libraries that the loader loads with the program, and in modules
 * that the processes of the run load later (dlopen).
 */

#include "arena.h"
#include "base/array.h"
#include "base/error.h"

/*
 * Fills in the plan for the program at `path`. hooks: arguments of --hook. Returns -EINVAL if one
 * of these is invalid, or names a function that neither the program nor its libraries define.
 */
int patches_plan(struct patches *plan, const char *path, const char *const *hooks, size_t count,
		 struct error *err);

/*
 * Starts the planner, a child that answers requests for plans until the launcher ends. Sets
 * control->has_planner if it succeeds. hooks: arguments of --hook that patches_plan() accepted.
 * Call it after signals_hold().
 */
void patches_serve(struct control_page *control, const char *const *hooks, size_t count);

#endif
