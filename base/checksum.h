/* SPDX-License-Identifier: MIT */
#ifndef BASE_CHECKSUM_H
#define BASE_CHECKSUM_H

/* CRC-32 as in zlib, PNG and Ethernet. The CRC of "123456789" is 0xcbf43926. */

#include <stddef.h>
#include <stdint.h>

/*
 * Returns the checksum of all bytes so far. before: the checksum of the preceding bytes; 0 at the
 * start.
 */
uint32_t checksum(uint32_t before, const void *bytes, size_t size);

#endif
