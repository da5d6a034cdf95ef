/* SPDX-License-Identifier: MIT */
#ifndef ACCOUNT_ESTIMATE_H
#define ACCOUNT_ESTIMATE_H

/*
 * How many blocks and bytes a sampled block represents (--sample). A block of B bytes is recorded
 * with probability p = 1 - exp(-B / sample), independently of all others, and represents 1 / p
 * blocks of its size: sums over any set of blocks are unbiased (Horvitz and Thompson). The sum of w
 * (w - 1) bytes^2, with w = 1 / p, estimates their variance without bias. Blocks that no sample hit
 * are in no sum, so a sum for a call site exists only if a sample hit one of its blocks.
 */

#include <stdint.h>

struct estimate {
	uint64_t count, bytes;
	double variance; /* of the bytes; 0: they are exact */
	double count_variance;
};

/*
 * sample: mean bytes between two samples, not 0. index: a number of this block. A weight of 1.58
 * becomes a count of 1 for some blocks and 2 for others; index decides which, so the same block
 * always has the same count.
 */
struct estimate estimate_block(uint64_t sample, uint64_t size, uint64_t index);

/* Half of the 95 % confidence interval of a sum of bytes; 0: the sum is exact. */
uint64_t estimate_error(double variance);

/* Half of the 95 % confidence interval of a count of blocks; also right for a few samples. */
uint64_t estimate_count_error(uint64_t count, double variance);

/*
 * An upper limit of estimate_error() for a sum (of bytes or of blocks) of which only the amount is
 * known: w (w - 1) bytes^2 is less than w bytes * sample.
 */
uint64_t estimate_error_most(uint64_t sample, uint64_t amount);

/*
 * An upper limit, with 95 % confidence, of the bytes (and so of the blocks) that were allocated
 * where no sample was taken.
 */
uint64_t estimate_unseen(uint64_t sample);

#endif
