/* SPDX-License-Identifier: MIT */
#ifndef BASE_MODEST_H
#define BASE_MODEST_H

/*
 * Resource limits for programs that the collector starts on the machine of a traced program. No
 * input may make them use up the machine's memory or processors.
 */

/*
 * Makes this process the first candidate of the OOM killer, limits it to half of the machine's
 * memory and ten minutes of processor time, disables core files, and has it killed when its parent
 * ends.
 */
void resource_limits_begin(void);

#endif
