/* SPDX-License-Identifier: MIT */
#ifndef MAPS_H
#define MAPS_H

/*
 * The modules that contain captured frames, in the order in which they were first seen. A module is
 * one executable segment of one ELF file, for as long as it is loaded at one address. The list is
 * append-only and lock-free: a reader that remembers its index, and reads on up to maps_count(),
 * misses no module. A child of fork keeps the list and reports it again from the start.
 */

#include <stdbool.h>
#include <stdint.h>

#include "dwarf.h"

#define MAPS_BUILD_ID_MAX 64
#define MAPS_MODULE_NONE  0xffffu

/*
 * Addresses of symbols in a module with a Python interpreter; 0: the module lacks the symbol. They
 * are read when the module is added, because another thread may unload the module later.
 */
struct maps_python {
	uintptr_t state;		/* PyGILState_GetThisThreadState() */
	uintptr_t current;		/* _PyThreadState_UncheckedGet(), which 3.8 to 3.12 have */
	uintptr_t is_ending;		/* _Py_IsFinalizing() or Py_IsFinalizing() */
	uintptr_t code_type;		/* PyCode_Type */
	uintptr_t get_version;		/* Py_GetVersion() */
	uint64_t version;		/* the value of Py_Version, which 3.11 and later have */
	uintptr_t runtime, runtime_end; /* _PyRuntime; 0: it is not exported */
	bool is_special; /* a debug build, or one without a GIL: its structures differ */
	bool may_unload; /* the interpreter is in a library, not in the program */
};

struct module {
	const char *path; /* absolute; "[vdso]"; "" if unknown */
	uintptr_t base;	  /* load address: the bias or, if that is 0, start - offset */
	uintptr_t start;  /* start of the executable segment in memory */
	uintptr_t end;	  /* end of the executable segment, exclusive */
	uintptr_t bias;	  /* address in memory minus address in the ELF file */
	uint64_t offset;  /* offset of the segment in the file */
	uint8_t build_id[MAPS_BUILD_ID_MAX];
	uint8_t build_id_size;		  /* 0: no build-id */
	const struct maps_python *python; /* NULL: the module has no interpreter */
	bool is_go; /* the module has the runtime of Go, according to a note of Go's linker */

	/* The unwind tables, and the readable segment that contains them. NULL: no tables. */
	struct dwarf_tables tables;

	/* the module's link map; another link map at the same range means another module */
	const void *link_map;
	uintptr_t map_start, map_end;
	bool is_gone; /* the module was unloaded; only this member and is_told ever change */
	bool is_told; /* maps_take_gone() has returned this module */
};

extern unsigned int maps_number;

/* The number of modules seen so far. */
static inline unsigned int maps_count(void)
{
	return __atomic_load_n(&maps_number, __ATOMIC_ACQUIRE);
}

/* The module with this number, which must be below maps_count(). Its address never changes. */
const struct module *maps_get(unsigned int number);

/* Changes when a module is found to be unloaded. Rules from before may belong to that module. */
extern uint32_t maps_generation;

/*
 * Returns the number of the module whose code is at `address`, and adds the module if it is new.
 * The address must be in use (on a stack), so that the module cannot be unloaded during the call.
 * Returns MAPS_MODULE_NONE if there is no module, its headers are invalid, or the table is full.
 */
unsigned int maps_find(uintptr_t address);

/* This library's path, if the loader loaded it from a descriptor and so has none; else NULL. */
extern const char *maps_own_path;

/* Whether both addresses are in one module. Reads only the loader's table. */
bool maps_are_one(uintptr_t one, uintptr_t other);

/* Finds all loaded modules. Call it only at the start, while no other thread loads modules. */
void maps_find_all(void);

/*
 * Marks unloaded modules and removes their unwind rules. Called by the hook of dlclose after the
 * real function, and by capture_walk() for calls that the loader makes.
 */
void maps_check(void);

/*
 * Returns an unloaded module whose range no other module has taken. Returns each such module once,
 * then NULL. Concurrent callers get different modules.
 */
const struct module *maps_take_gone(void);

/* The address range of the dynamic loader; size is 0 until the first module is found. */
extern struct maps_loader {
	uintptr_t start, size;
} maps_loader;

/* Whether `address` is in the dynamic loader. */
static inline bool maps_is_loader(uintptr_t address)
{
	return address - __atomic_load_n(&maps_loader.start, __ATOMIC_RELAXED) <
	       __atomic_load_n(&maps_loader.size, __ATOMIC_RELAXED);
}

#endif
