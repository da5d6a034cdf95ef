/* SPDX-License-Identifier: MIT */
#ifndef LOOSE_H
#define LOOSE_H

/*
 * The loose form of an .htr, for fuzzing: a container without zstd and checksums. Each block
 * consists of its header, its definitions and its events, all uncompressed; the header has the
 * uncompressed sizes in place of the packed ones. All other bytes are those of the container. Two
 * bits of the header's `check` control loose_seal(). Bit 0: keep the sizes of the columns, even if
 * they are wrong. Bit 1: do not compress.
 */

#include <stddef.h>
#include <stdint.h>

/* Converts the loose form to a container, which the caller frees. NULL: the input is unusable. */
uint8_t *loose_seal(const uint8_t *bytes, size_t size, size_t *sealed);

/* Converts a valid container to its loose form. The caller frees the result. NULL: failure. */
uint8_t *loose_open(const uint8_t *bytes, size_t size, size_t *opened);

#endif
