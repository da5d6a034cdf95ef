/* SPDX-License-Identifier: MIT */
#ifndef ENDING_H
#define ENDING_H

/*
 * At the very end of the process, asks the kernel how many descriptors are open and in which state
 * the children are. The answers include the effects of calls that bypassed the hooks.
 */
void ending_look(void);

/*
 * With --scan=exit: waits at the very end of the process until its memory has been scanned. Waits
 * as long as the scan makes progress. Without progress, the wait ends after --patience, on a busy
 * machine after at most four times that time.
 */
void ending_await_scan(void);

#endif
