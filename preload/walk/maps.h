/* SPDX-License-Identifier: MIT */
#ifndef MAPS_H
#define MAPS_H

/*
 * The modules that contain captured frames, in the order in which they were first seen. A module is
 * one executable segment of one ELF file while it is loaded at one address. The list is append-only
 * and lock-free: a reader that advances its own cursor up to maps_count() misses none. A child of
 * fork keeps it and reports it from 0.
 */

#include <stdbool.h>
#include <stdint.h>

#include "dwarf.h"

#define MAPS_BUILD_ID_MAX 64
#define MAPS_MODULE_NONE  0xffffu

struct module {
	const char *path; /* absolute; "[vdso]"; "" if unknown */
	uintptr_t base;	  /* load base: the bias; if that is 0, start - offset */
	uintptr_t start;  /* the executable segment in memory, from start to before end */
	uintptr_t end;
	uintptr_t bias;	 /* address in memory - address in the ELF file */
	uint64_t offset; /* of the segment in the file */
	uint8_t build_id[MAPS_BUILD_ID_MAX];
	uint8_t build_id_size; /* 0: none */

	/* The unwind tables and the readable segment that contains them. NULL: none. */
	struct dwarf_tables tables;

	/* The result of _dl_find_object, to notice that the range has changed hands. */
	const void *link_map;
	uintptr_t map_start, map_end;
	bool is_gone; /* unloaded; only this member and the next one change */
	bool is_told; /* maps_take_gone() has returned it */
};

extern unsigned int maps_number;

/* The number of modules seen so far. */
static inline unsigned int maps_count(void)
{
	return __atomic_load_n(&maps_number, __ATOMIC_ACQUIRE);
}

/* The module with this number, which is below maps_count(). Its address never changes. */
const struct module *maps_get(unsigned int number);

/* Changes whenever a module is found to be unloaded: older rules may be for its code. */
extern uint32_t maps_generation;

/*
 * The number of the module whose code is at address; adds it if it is new. The address must be in
 * use (on a stack), so that the module cannot be unloaded. Returns MAPS_MODULE_NONE if
 * there is no module, its headers are invalid, or the table is full.
 */
unsigned int maps_find(uintptr_t address);

/* The path of this library if the loader knows it by a descriptor only; else NULL. */
extern const char *maps_own_path;

/* Whether both addresses are in one module. Looks only into the loader's table. */
bool maps_are_one(uintptr_t one, uintptr_t other);

/* Finds all loaded modules. At the start only, while no other thread loads any. */
void maps_find_all(void);

/*
 * Marks unloaded modules and removes their rules. Called by the hook of dlclose after the real
 * function, and by capture_walk() for calls that the loader makes.
 */
void maps_check(void);

/*
 * Returns an unloaded module whose range nothing else has taken, each once; then NULL.
 * Concurrent callers get different modules.
 */
const struct module *maps_take_gone(void);

/* The dynamic loader's range; size is 0 until the first module has been found. */
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
