/* SPDX-License-Identifier: MIT */
#ifndef PYTHON_H
#define PYTHON_H

/*
 * The frames of CPython in backtraces. A Python function is described to the collector like a
 * module. The module's addresses begin at PYTHON_BASE, above the memory of any process. Its path is
 * the text PYTHON_MODULE, followed by the function's qualified name, a space, and the path of the
 * source file. A Python frame is recorded as the address of its line, plus 1, like a return
 * address. So all later code treats a Python frame like any other frame.
 *
 * The frames that the interpreter runs are inserted at the C function that runs them:
 *
 *   C frames              Python frames              backtrace, innermost first
 *   malloc                                           malloc
 *   list_resize                                      list_resize
 *                         Cache.store t.py:5         Cache.store t.py:5
 *                         main t.py:12               main t.py:12
 *   _PyEval_Eval...       (their entry frame)        _PyEval_Eval...
 *   main                                             main
 *
 * The interpreter's entry frame is a variable of the C function that runs the frames, so the
 * address of the entry frame identifies that C frame; no function name is needed.
 */

#include <stdbool.h>
#include <stdint.h>

#include "preload/walk/capture.h"

#define PYTHON_FRAMES_MAX 256
#define PYTHON_INDEX_BITS 8
#define PYTHON_CODES_BITS 9
#define PYTHON_LINES_BITS 11
#define PYTHON_NAME_MAX	  256
#define PYTHON_PATH_MAX	  1024

/*
 * Distinguishes a code object from others that were at its address. From CPython 3.12 on, `number`
 * is the object's version, which no other code object ever has. Before, `number` is the first line;
 * the line table's address and first bytes and the name's hash are compared, too.
 */
struct python_identity {
	uint32_t number;
	uintptr_t lines;
	uint64_t lines_first, name_hash;
};

/* Like python_identity, but stricter before CPython 3.12: also sizes, addresses, ends of texts. */
struct python_print {
	struct python_identity identity;
	uint64_t sizes;
	uintptr_t name, file;
	uint64_t lines_last, file_last;
};

/* The value of python_frame.instruction if the frame must be looked up at each event. */
#define PYTHON_NO_INSTRUCTION ((uintptr_t)1 << 62)

/* A frame of the interpreter, as it was at the thread's last event. */
struct python_frame {
	uintptr_t frame;
	uintptr_t outer; /* the next outer frame; 0: none */
	/* an address in the C frame that runs this frame, to find the C frame; 0: unknown */
	uintptr_t entry;
	uintptr_t code, instruction;
	uint64_t address; /* the address that represents the frame's line; 0: not shown */
	uint64_t base;	  /* base, serial, life, identity: of the code object, as in python_code */
	uint32_t serial, life;
	bool is_entry;	/* this is the outermost frame that the C frame runs */
	uint32_t place; /* number of C frames that are outer to this frame */
	uint32_t shown; /* number of shown Python frames from the outermost one to this one */
	struct python_identity identity;
};

/* An entry of the cache of code objects. */
struct python_code {
	uintptr_t code; /* 0: the entry is free */
	uint64_t base;	/* the address that represents line 0, minus 1; 0: frames are not shown */
	uint32_t life;	/* python.life when the function was described to the collector */
	uint32_t serial;
	struct python_print print;
};

/* An entry of the cache of decoded lines. */
struct python_line {
	uintptr_t instruction;
	uint32_t serial; /* `serial` of the code object's entry in `codes` */
	uint32_t line;
};

/* A thread's last backtrace with its Python frames. */
struct python_memory {
	uint32_t count;	       /* number of elements of `frames` */
	uint32_t merged_count; /* number of elements of `merged` */
	uint32_t life;	       /* python.life at the thread's last event */
	uint32_t serial;       /* serial of the newest entry of `codes` */
	/* the thread's PyThreadState, which find_state() has checked */
	uintptr_t state;
	struct python_frame frames[PYTHON_FRAMES_MAX]; /* outermost frame first */
	uint64_t merged[CAPTURE_MEMORY_MAX];	       /* outermost frame first */
	struct python_frame fresh[PYTHON_FRAMES_MAX];  /* see walk_frames() */
	/* by the hash of a frame's address: the frame's index in `frames`, if it is there */
	uint8_t index[1 << PYTHON_INDEX_BITS];
	struct python_code codes[1 << PYTHON_CODES_BITS];
	struct python_line lines[1 << PYTHON_LINES_BITS];
	char text[PYTHON_NAME_MAX + PYTHON_PATH_MAX + 16];
};

/* Whether the process has an interpreter whose frames are recorded. */
extern bool python_is_found;

struct call;
struct module;

/* Called in a child of fork, and on a later attach: the collector knows no Python function yet. */
void python_renew(bool is_child);

/* Called when a thread reports a module with an interpreter. Only the first one is used. */
void python_look_at(const struct module *module);

/*
 * Called before a dlclose that may unload the interpreter: from then until python_resume(), no
 * thread reads the interpreter's memory. If this function returns true, the caller must call
 * python_resume() after the dlclose and maps_check().
 */
bool python_pause(void);
void python_resume(void);

/*
 * Inserts the Python frames that the interpreter runs into the thread's remembered C frames. same:
 * number of outermost C frames that have not changed since the previous backtrace. before: number
 * of C frames in that backtrace; 0: there is no previous merged backtrace. Returns the number of
 * outermost frames of the merged backtrace that have not changed.
 */
uint32_t python_merge(const struct call *call, uint32_t before, uint32_t same);

#endif
