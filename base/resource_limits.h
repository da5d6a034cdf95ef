/* SPDX-License-Identifier: MIT */
#ifndef BASE_MODEST_H
#define BASE_MODEST_H

/*
 * Resource limits for programs that the collector starts on the machine of a traced program. No
 * input may make them use up the machine's memory or processors.
 */

/*
 * Makes this process the first candidate of the OOM killer, and limits it to half of the machine's
 * memory and ten minutes of processor time. Disables core files. From now on, the kernel kills this
 * process when its parent ends.
 */
void resource_limits_begin(void);

#endif
