/* SPDX-License-Identifier: MIT */
#ifndef BASE_MODEST_H
#define BASE_MODEST_H

/*
 * For programs that the collector starts beside a program that is traced: neither memory nor time
 * of the machine is theirs to use up, whatever that program has made them read.
 */

/*
 * The first to be ended where memory is short; half of the machine's memory, ten minutes of a
 * processor and no core file at most; and no longer there than whoever has started it.
 */
void modest_begin(void);

#endif
