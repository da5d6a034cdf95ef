/* SPDX-License-Identifier: MIT */
#ifndef ACCOUNT_ESTIMATE_H
#define ACCOUNT_ESTIMATE_H

/*
 * How many blocks and bytes a sampled block represents (--sample). A block of B bytes is recorded
 * with probability p = 1 - exp(-B / sample), independently of others. A recorded block has the
 * weight w = 1 / p: it represents w blocks of its size. Sums of weights over any set of blocks are
 * unbiased (Horvitz and Thompson), and the sum of w (w - 1) bytes^2 is an unbiased estimate of the
 * variance of bytes. A call site has a sum only if at least one of its blocks was recorded.
 */

#include <stdint.h>

struct estimate {
	uint64_t count, bytes;
	double variance; /* variance of `bytes`; 0: `bytes` is exact */
	double count_variance;
};

/*
 * sample: mean bytes between two samples, not 0. index: any number that identifies the block. A
 * weight of 1.58 becomes a count of 1 for some blocks and 2 for others. `index` decides between the
 * two, so that the same block always has the same count.
 */
struct estimate estimate_block(uint64_t sample, uint64_t size, uint64_t index);

/* Half the width of the 95 % confidence interval of a sum of bytes; 0: the sum is exact. */
uint64_t estimate_error(double variance);

/*
 * Half the width of the 95 % confidence interval of a count of blocks. Also valid if there are only
 * a few samples.
 */
uint64_t estimate_count_error(uint64_t count, double variance);

/*
 * An upper bound on estimate_error() for a sum of bytes or blocks whose variance is unknown: a
 * sampled block of n bytes and weight w adds w * (w - 1) * n * n to the variance. This is less than
 * w * n * sample.
 */
uint64_t estimate_error_most(uint64_t sample, uint64_t amount);

/*
 * An upper bound, with 95 % confidence, on the bytes that a call site or a process without any
 * sample has allocated. The same bound applies to the number of its blocks.
 */
uint64_t estimate_unseen(uint64_t sample);

#endif
