/* SPDX-License-Identifier: MIT */
#ifndef BASE_CHECKSUM_H
#define BASE_CHECKSUM_H

/* CRC-32 as in zlib, PNG and Ethernet: 0 to begin with, of "123456789" it is 0xcbf43926. */

#include <stddef.h>
#include <stdint.h>

/* The checksum of what `before` is the checksum of, and then size bytes. */
uint32_t checksum(uint32_t before, const void *bytes, size_t size);

#endif
