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
#define PYTHON_LINES_BITS 10
#define PYTHON_NAME_MAX	  256
#define PYTHON_PATH_MAX	  1024

/* A frame of the interpreter, as it was at the thread's last event. */
struct python_frame {
	uintptr_t frame, code;
	uintptr_t instruction;
	uint32_t place; /* number of C frames that are outer to this frame */
	uint64_t address;
	uint64_t lines; /* first bytes of the code object's line table */
};

/*
 * Fingerprint of a code object. It shows whether the addresses of the code object and its parts now
 * belong to another code object. It contains the sizes of the texts and of the line table, and
 * eight bytes from the end, or from both ends, of each.
 */
struct python_print {
	uint64_t sizes;
	uintptr_t lines, file, name;
	uint64_t lines_first, lines_last, file_last, name_hash;
};

/* An entry of the cache of decoded lines: the line of one instruction of a code object. */
struct python_line {
	uintptr_t code;
	uint64_t address;
	int32_t at;
	uint32_t pad;
	struct python_print print;
};

/* A thread's last backtrace with its Python frames. */
struct python_memory {
	uint32_t count;	       /* number of elements of `frames` */
	uint32_t merged_count; /* number of elements of `merged` */
	/* the thread's PyThreadState, which find_state() has checked */
	uintptr_t state;
	struct python_frame frames[PYTHON_FRAMES_MAX]; /* outermost frame first */
	uint64_t merged[CAPTURE_MEMORY_MAX];	       /* outermost frame first */
	/* the frames of the current walk, innermost first, and their entry frames or 0 */
	uintptr_t chain[PYTHON_FRAMES_MAX], entries[PYTHON_FRAMES_MAX];
	struct python_line lines[1 << PYTHON_LINES_BITS];
	char text[PYTHON_NAME_MAX + PYTHON_PATH_MAX + 16];
};

/* Whether the process has an interpreter whose frames are recorded. */
extern bool python_is_found;

struct call;
struct module;

/*
 * Called in a child of fork, and when the library attaches again: the collector does not know any
 * Python function yet.
 */
void python_renew(bool is_child);

/*
 * Called when a thread reports a module that has an interpreter. If several interpreters are loaded
 * at the same time, only the first is used.
 */
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
