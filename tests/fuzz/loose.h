/* SPDX-License-Identifier: MIT */
#ifndef LOOSE_H
#define LOOSE_H

/*
 * The loose form of an .htr, made for fuzzing: the container with neither zstd nor checksums. A
 * stream's start is as it is; a block is its header, then its definitions and its events plain,
 * with their sizes where the header has the packed ones; all else is as it is. Where check of the
 * header has bit 0, the sizes of the events' columns are kept even if they make no sense, where it
 * has bit 1, nothing is packed.
 */

#include <stddef.h>
#include <stdint.h>

/* The container that the loose one stands for. To be freed; NULL: the input is of no use. */
uint8_t *loose_seal(const uint8_t *bytes, size_t size, size_t *sealed);

/* The loose form of a container, which must be a good one. To be freed, or NULL. */
uint8_t *loose_open(const uint8_t *bytes, size_t size, size_t *opened);

#endif
