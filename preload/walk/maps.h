/* SPDX-License-Identifier: MIT */
#ifndef MAPS_H
#define MAPS_H

/*
 * The modules that captured frames lie in, in the order of their first sight. A module is one
 * executable segment of one ELF file while it is loaded there. Append-only and lock-free: whoever
 * keeps its own cursor up to maps_count() misses none. A child of fork starts again from 0.
 */

#include <stdbool.h>
#include <stdint.h>

#include "dwarf.h"

#define MAPS_BUILD_ID_MAX 64
#define MAPS_MODULE_NONE  0xffffu

struct module {
	const char *path; /* absolute; "[vdso]"; "" where nobody knows */
	uintptr_t base;	  /* load base: the bias; where that is 0, start - offset */
	uintptr_t start;  /* the executable segment in memory: from start to before end */
	uintptr_t end;
	uintptr_t bias;	 /* what to take from an address to get the ELF file's own */
	uint64_t offset; /* the segment's place in the file */
	uint8_t build_id[MAPS_BUILD_ID_MAX];
	uint8_t build_id_size; /* 0: the file has none */

	/* Its unwind tables, and the readable segment that they lie in. NULL: it has none. */
	struct dwarf_tables tables;

	/* What _dl_find_object said of it, to notice that the range changed hands. */
	const void *link_map;
	uintptr_t map_start, map_end;
	bool is_gone; /* unloaded; this field and the next are those that change */
	bool is_told; /* that it is gone: maps_take_gone() */
};

extern unsigned int maps_number;

/* How many modules have been seen. */
static inline unsigned int maps_count(void)
{
	return __atomic_load_n(&maps_number, __ATOMIC_ACQUIRE);
}

/* The module with this number, below maps_count(). It never moves. */
const struct module *maps_get(unsigned int number);

/* Moves whenever a module is found to be gone: rules from before may be of its code. */
extern uint32_t maps_generation;

/*
 * The number of the module whose code is at address, new or known. The address must be in use (on a
 * stack), so that nobody unloads it meanwhile.
 * Returns MAPS_MODULE_NONE where there is no module, its headers make no sense, or the table is
 * full.
 */
unsigned int maps_find(uintptr_t address);

/* The path of this library's file where the loader knows it by a descriptor; or NULL. */
extern const char *maps_own_path;

/* Whether both addresses lie in one module. Looks nothing up but the loader's table. */
bool maps_are_one(uintptr_t one, uintptr_t other);

/* Finds all modules that the loader has now. At the start alone, while nobody else loads any. */
void maps_find_all(void);

/*
 * A module may have been unloaded: marks those that are gone and forgets their rules. Called by the
 * dlclose hook after the real one, and by capture_walk() for calls that the loader makes.
 */
void maps_check(void);

/*
 * A module that is gone, whose range nothing else has taken, and that was not taken here before.
 * NULL: there is none. Of several threads that ask each gets another one.
 */
const struct module *maps_take_gone(void);

/* Where the dynamic loader lies; of no size until the first module has been found. */
extern struct maps_loader {
	uintptr_t start, size;
} maps_loader;

/* Whether address lies in the dynamic loader. */
static inline bool maps_is_loader(uintptr_t address)
{
	return address - __atomic_load_n(&maps_loader.start, __ATOMIC_RELAXED) <
	       __atomic_load_n(&maps_loader.size, __ATOMIC_RELAXED);
}

#endif
