/* SPDX-License-Identifier: MIT */
#ifndef ACCOUNT_ESTIMATE_H
#define ACCOUNT_ESTIMATE_H

/*
 * What a block that was sampled stands for (--sample). A block of so many bytes was recorded with
 * probability p = 1 - exp(-bytes / sample), independently of all others; it stands for 1 / p
 * blocks of its size, so that sums over any of them are right in the mean (Horvitz and Thompson).
 * Their variance is estimated without bias by the sum of w (w - 1) bytes^2, with w = 1 / p. Blocks
 * that no sample fell into are in no sum: what is said of places is said of those that had one.
 */

#include <stdint.h>

struct estimate {
	uint64_t count, bytes;
	double variance; /* of the bytes; 0: they are exact */
	double count_variance;
};

/*
 * sample: bytes from one sample to the next, not 0. index: any number of the block's own; blocks of
 * which there are 1.58 count now as one and now as two, always the same.
 */
struct estimate estimate_block(uint64_t sample, uint64_t size, uint64_t index);

/* Half of the interval in which the truth lies in 95 of 100 cases; 0: what was counted is exact. */
uint64_t estimate_error(double variance);

/* The same of a count of blocks: right for a few samples, too. */
uint64_t estimate_count_error(uint64_t count, double variance);

/*
 * The most that estimate_error() may be of a sum of which the amount alone is known, of bytes or
 * of blocks: w (w - 1) bytes^2 is less than w bytes * sample.
 */
uint64_t estimate_error_most(uint64_t sample, uint64_t amount);

/*
 * Where no sample fell: the bytes, and so the blocks, which in 95 of 100 cases are no more than
 * that.
 */
uint64_t estimate_unseen(uint64_t sample);

#endif
