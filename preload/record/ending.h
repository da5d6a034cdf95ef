/* SPDX-License-Identifier: MIT */
#ifndef ENDING_H
#define ENDING_H

/*
 * Asks the kernel, at the very end of the process, how many descriptors and what children it has:
 * what was done past all hooks shows there.
 */
void ending_look(void);

/*
 * Waits, at the very end of the process, until its memory has been scanned, if --scan=exit says so:
 * as long as that gets on, and no longer than --patience once it does not.
 */
void ending_await_scan(void);

#endif
