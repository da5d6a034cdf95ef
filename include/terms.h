/* SPDX-License-Identifier: MIT */
#ifndef TERMS_H
#define TERMS_H

/*
 * Operations, resources and other terms as enums. Most of them are made from operations.def and
 * resources.def. Their numbers are written to streams (wire.def), so their meanings never change.
 */

enum operation {
	OPERATION_NONE,
#define OPERATION(name, ...) OPERATION_##name,
#include "operations.def"
#undef OPERATION
	OPERATION_COUNT
};

enum resource {
	RESOURCE_NONE,
#define RESOURCE(name, type, flags, description) RESOURCE_##name,
#include "resources.def"
#undef RESOURCE
	RESOURCE_COUNT
};

/*
 * sp-rtrace identifies a class by one bit of a 32-bit mask. The bits that holdtrace's classes do
 * not use are for classes that programs define.
 */
#define RESOURCES_MAX 32
_Static_assert(RESOURCE_COUNT - 1 <= RESOURCES_MAX, "a stream has at most 32 classes");

/*
 * When the operations of a hook happen. Releases happen at entry and acquisitions at return, so
 * that a free precedes the next allocation of the same address in any thread.
 */
enum hook_when {
	WHEN_DEFAULT, /* the value of the operation (operations.def) */
	WHEN_ENTRY,
	WHEN_RETURN,
	WHEN_BOTH, /* the call may release an object at entry, and acquires one at return */
};

/* Whether calls may sleep for long. The collector does not wait for the records of such calls. */
enum hook_blocks {
	BLOCKS_DEFAULT, /* the value of the operation (operations.def) */
	BLOCKS_NO,
	BLOCKS_YES,
	/* the call releases an object, then sleeps; the release is recorded first (MOMENT_HALF) */
	BLOCKS_GIVES_BACK_FIRST,
	/* in stubs only: first tries the call without sleeping; may sleep only if the try fails */
	BLOCKS_IF_BUSY,
};

/* Properties of a hook that do not follow from its operation, for readers of events. */
enum hook_how {
	HOW_PLAIN,
	/* the call releases a thread by a join, not by a detach */
	HOW_JOINS,
	HOW_WAKES_ALL, /* the call wakes all waiting threads */
	HOW_READS,  /* the call acquires a reader-writer lock, which other readers may hold, too */
	HOW_WRITES, /* the call acquires a reader-writer lock exclusively */
	HOW_RW_UNLOCKS, /* the call releases a reader-writer lock */
	HOW_SPINS,
	HOW_POLLS,  /* the call waits for any of several descriptors */
	HOW_PAUSES, /* the call waits for a time or a signal, and has no object */
};

/* When an event happened, relative to its call. Streams contain these numbers; 3 is unused. */
enum moment {
	MOMENT_ENTER = 1,
	MOMENT_LEAVE = 2,
	/* only in records: `related` was released at entry, and `object` acquired at return */
	MOMENT_SPLIT = 4,
	MOMENT_HALF = 5, /* the event happened at entry, and was published before the call slept */
};

enum effect { EFFECT_NEITHER, EFFECT_ACQUIRES, EFFECT_RELEASES };

/* The properties of each operation as constants. */

enum {
#define OPERATION(name, effect, when, sleeps, description)                          \
	WHEN_OF_##name = WHEN_##when, BLOCKS_OF_OPERATION_##name = BLOCKS_##sleeps, \
	GAINS_##name = EFFECT_##effect == EFFECT_ACQUIRES,
#include "operations.def"
#undef OPERATION
};

/* The type in sp-rtrace's packet CALL (sp_rtrace_proto.h); any other number means type NONE. */
enum call_type { CALL_TYPE_NONE, CALL_TYPE_FREE, CALL_TYPE_ALLOC };

/* How the value of an argument is recorded and written. */
enum argument_kind {
	ARGUMENT_NONE,
	ARGUMENT_DECIMAL, /* a signed number */
	ARGUMENT_HEX,	  /* 0x and hexadecimal digits */
	ARGUMENT_OCTAL,	  /* 0 and octal digits, for file modes */
	ARGUMENT_TEXT,	  /* a C string, copied */
	ARGUMENT_TIME,	  /* a struct timespec, written as seconds with nine decimals */
};

/* Properties of one record or event, as bits. */
enum call_flag {
	CALL_FAILED = 1 << 0, /* the function reported an error: nothing was acquired or released */
	CALL_UNWOUND =
		1 << 1, /* the call never returned: longjmp, exception, cancellation, thread exit */
	/* the call was still open when the trace ended */
	CALL_OPEN = 1 << 2,
	/*
	 * arrived after later events were written, so that its time was changed to keep the order
	 */
	CALL_LATE = 1 << 3,
	/* the backtrace is incomplete: an unwinding rule was missing, or the depth limit reached */
	CALL_CUT = 1 << 4,
	CALL_NO_BACKTRACE = 1 << 5, /* no backtrace was taken */
	/*
	 * a child of vfork made the call in the memory of this process; descriptors, working
	 * directory and exit are those of the child, not of this process
	 */
	CALL_OF_CHILD = 1 << 6,
};

/*
 * The addresses of Python functions, which are reported as modules. These addresses are above all
 * addresses that a process can have. In a backtrace, a Python frame is a line's address plus 1.
 */
#define PYTHON_BASE	     (1ull << 60)
#define PYTHON_LINE_BITS     20
#define PYTHON_FUNCTIONS_MAX 65536u

/* The path of a Python function: this text, the function's qualified name, a blank, its file. */
#define PYTHON_MODULE "[python]"

/*
 * The start of the path of a module for code that the process generated at run time (JIT). The name
 * of the function follows. The module is one byte long, the byte before a return address.
 */
#define CODE_MODULE   "[code]"
#define CODE_NAME_MAX 400u

/*
 * With --locks=contended, this bit of `related` in a call that acquires a lock means that the lock
 * was busy. The lower bits are the thread id of the owner.
 */
#define RELATED_BUSY (1ull << 32)

/* Why an event was dropped. */
enum loss {
	LOSS_NO_SLOT,	/* there were more threads than slots */
	LOSS_FULL,	/* the ring was full, and the collector made no progress */
	LOSS_ABANDONED, /* the record was never completed (siglongjmp, kill) */
	/* seccomp forbids system calls that recording needs, or two tasks share a TLS */
	LOSS_SEALED,
	/* the table of sampled blocks was full, so that a sampled block is missing */
	LOSS_SAMPLE,
	/* the contents of the ring were invalid, for example after a wild store of the program */
	LOSS_DAMAGED,
	/* like LOSS_FULL, for a record that is not an event: a name or the end of a thread */
	LOSS_NOTE,
	LOSS_COUNT
};

#endif
