/* SPDX-License-Identifier: MIT */
#include "preload/ground/own.h"

static struct arena_own own[ARENA_OWN];
static uint32_t own_count;

void own_add(const void *at, size_t size)
{
	uint32_t place = __atomic_fetch_add(&own_count, 1, __ATOMIC_RELAXED);

	if (place >= ARENA_OWN) {
		__atomic_store_n(&own_count, ARENA_OWN, __ATOMIC_RELAXED);
		return;
	}
	own[place].from = (uint64_t)(uintptr_t)at;
	__atomic_store_n(&own[place].to, own[place].from + size, __ATOMIC_RELEASE);
}

void own_tell(struct arena_own ranges[ARENA_OWN])
{
	for (uint32_t i = 0; i < ARENA_OWN; i++) {
		ranges[i].to = __atomic_load_n(&own[i].to, __ATOMIC_ACQUIRE);
		ranges[i].from = own[i].from;
	}
}
