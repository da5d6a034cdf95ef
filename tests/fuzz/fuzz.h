/* SPDX-License-Identifier: MIT */
#ifndef FUZZ_H
#define FUZZ_H

/*
 * Functions that the harnesses share. Each harness defines LLVMFuzzerTestOneInput(). It is linked
 * with libFuzzer, which generates inputs (tests/fuzz/run), or with replay.c, which reads inputs
 * from files. A failed check calls abort(), which both libFuzzer and replay.c report as a crash.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/trace.h"

/* Maximum memory of a trace for names and backtraces, in bytes. */
#define FUZZ_MEMORY_MAX (64u << 20)

/* Functions with names that libFuzzer requires. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t max, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size, size_t max) __attribute__((weak));

/* Aborts and prints the sentence if is_so is false. */
void fuzz_check(bool is_so, const char *sentence);

/* Returns a descriptor of a file with these bytes, at offset 0; each call returns the same one. */
int fuzz_open(const void *bytes, size_t size);

/* Returns a directory of this process, which each call empties, and which is removed at exit. */
const char *fuzz_directory(void);

/*
 * Reads the trace to its end, reads all data to which events point, and checks what trace.h and
 * event.h guarantee. size: number of bytes that must have been read if there is no error, or 0.
 * Returns the number of calls.
 */
uint64_t fuzz_read(struct trace *trace, uint64_t size);

/*
 * Mutates an input that consists of packets: changes, removes, duplicates or moves one packet, and
 * keeps its size field correct. Treats the blocks of an .htr in loose form (loose.h) like packets.
 * Other inputs are mutated by libFuzzer. The first `skip` bytes are not changed.
 */
size_t fuzz_mutate(uint8_t *bytes, size_t size, size_t max, unsigned seed, size_t skip);

#endif
