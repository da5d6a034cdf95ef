/* SPDX-License-Identifier: MIT */
#ifndef FUZZ_H
#define FUZZ_H

/*
 * What the harnesses share. Each defines LLVMFuzzerTestOneInput() and is linked either with
 * libFuzzer, which makes inputs up (tests/fuzz/run), or with replay.c, which takes files. What must
 * never happen is an abort(), so that both see it as a crash.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/trace.h"

/* Most memory that a trace may take for names and backtraces. */
#define FUZZ_MEMORY_MAX (64u << 20)

/* libFuzzer's names. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t max, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size, size_t max) __attribute__((weak));

/* Aborts with the sentence, if it is not so. */
void fuzz_check(bool is_so, const char *sentence);

/* The same descriptor each time, of a file in memory, at its start. */
int fuzz_open(const void *bytes, size_t size);

/* A directory of this process, emptied at each call and removed at exit. */
const char *fuzz_directory(void);

/*
 * Reads the trace to its end, looks at every byte that an event points to, and checks what trace.h
 * and event.h promise. size: bytes that must have been read if there is no error, or 0. Returns the
 * number of calls.
 */
uint64_t fuzz_read(struct trace *trace, uint64_t size);

/*
 * Mutates packets as packets: one is changed inside, left out, doubled or moved, and its size
 * stays right. An .htr in loose form (loose.h) is treated likewise, anything else as libFuzzer
 * does. The first skip bytes are no part of it.
 */
size_t fuzz_mutate(uint8_t *bytes, size_t size, size_t max, unsigned seed, size_t skip);

#endif
