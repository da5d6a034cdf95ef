/* SPDX-License-Identifier: MIT */
#ifndef ENDING_H
#define ENDING_H

/*
 * Asks the kernel at the very end of the process how many descriptors it has open and what children
 * it has: this shows what calls past the hooks did.
 */
void ending_look(void);

/*
 * With --scan=exit: waits at the very end of the process until its memory has been scanned, as long
 * as the scan makes progress, and at most --patience without progress.
 */
void ending_await_scan(void);

#endif
