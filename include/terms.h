/* SPDX-License-Identifier: MIT */
#ifndef TERMS_H
#define TERMS_H

/*
 * Operations, resources and other terms as enums, most of them made from operations.def and
 * resources.def. Their numbers are written to streams (wire.def), so they never change their
 * meaning.
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
 * sp-rtrace has a mask with one bit for each class. The bits that our classes leave are for the
 * program's own classes.
 */
#define RESOURCES_MAX 32
_Static_assert(RESOURCE_COUNT - 1 <= RESOURCES_MAX, "the stream has room for 32 classes");

/*
 * When the operations of a hook happen. Releases happen at entry, acquisitions at return, so that a
 * free sorts before the next alloc of the same address in any thread.
 */
enum hook_when {
	WHEN_DEFAULT, /* as operations.def says */
	WHEN_ENTRY,
	WHEN_RETURN,
	WHEN_BOTH, /* it may release something at entry and acquires something at return */
};

/* Whether a hook may sleep for any length: the collector must not wait for its record then. */
enum hook_blocks {
	BLOCKS_DEFAULT, /* as operations.def says */
	BLOCKS_NO,
	BLOCKS_YES,
	BLOCKS_GIVES_BACK_FIRST, /* it releases something, which is recorded as a half of its own,
				  * and then sleeps */
	BLOCKS_IF_BUSY,		 /* for stubs: tries first, and sleeps if that fails */
};

/* Properties of a hook that its operation does not imply, for programs that add events up. */
enum hook_how {
	HOW_PLAIN,
	HOW_JOINS,     /* the released object was waited for, not detached */
	HOW_WAKES_ALL, /* wakes all waiting threads */
	HOW_READS,     /* acquires a lock together with others */
	HOW_WRITES,    /* acquires such a lock alone */
	HOW_SHARES,    /* releases such a lock */
	HOW_SPINS,
};

/* When an event happened. Numbers of the stream; 3 is unused. */
enum moment {
	MOMENT_ENTER = 1,
	MOMENT_LEAVE = 2,
	MOMENT_SPLIT = 4, /* in records only: at return; `related` was released at entry */
	MOMENT_HALF = 5,  /* at entry, published before the call sleeps */
};

enum effect { EFFECT_NEITHER, EFFECT_ACQUIRES, EFFECT_RELEASES };

/*
 * The properties of each operation as constants: when its events happen, whether its calls sleep,
 * whether it acquires.
 */

enum {
#define OPERATION(name, effect, when, sleeps, description)                          \
	WHEN_OF_##name = WHEN_##when, BLOCKS_OF_OPERATION_##name = BLOCKS_##sleeps, \
	GAINS_##name = EFFECT_##effect == EFFECT_ACQUIRES,
#include "operations.def"
#undef OPERATION
};

/*
 * CALL's type in the sp-rtrace stream (sp_rtrace_proto.h: 1 free, 2 alloc; any other number is
 * neither).
 */
enum call_type { CALL_TYPE_NONE, CALL_TYPE_FREE, CALL_TYPE_ALLOC };

/* How the value of an argument is written. */
enum argument_kind {
	ARGUMENT_NONE,
	ARGUMENT_DECIMAL, /* signed */
	ARGUMENT_HEX,	  /* 0x… */
	ARGUMENT_OCTAL,	  /* 0…, file modes */
	ARGUMENT_TEXT,	  /* a C string, copied */
	ARGUMENT_TIME,	  /* a struct timespec, as seconds with nine decimals */
};

/* Properties of one record or event; bits. */
enum call_flag {
	CALL_FAILED = 1 << 0, /* the function reported an error: nothing was acquired or released */
	CALL_UNWOUND = 1 << 1, /* never returned: longjmp, exception, cancellation, thread exit */
	CALL_OPEN = 1 << 2,    /* still open when the trace ended */
	CALL_LATE = 1 << 3, /* arrived after later events had been written; its time is clamped */
	CALL_CUT = 1 << 4,  /* the backtrace ends early: no rule, or the depth limit */
	CALL_NO_BACKTRACE = 1 << 5, /* none was taken */
	CALL_OF_CHILD = 1 << 6,	    /* made by a child of vfork in our memory: its descriptors,
				     * directory and end are its own */
};

/*
 * With --locks=contended, in `related` of a call that acquires a lock: the lock was busy. The lower
 * bits are its owner.
 */
#define RELATED_BUSY (1ull << 32)

/* Why an event was dropped. */
enum loss {
	LOSS_NO_SLOT,	/* more threads than slots */
	LOSS_FULL,	/* ring full, and the collector made no progress */
	LOSS_ABANDONED, /* a record that was never completed (siglongjmp, kill) */
	LOSS_SEALED,	/* system calls that recording needs are forbidden (seccomp), or two tasks
			 * share a TLS */
	LOSS_SAMPLE,	/* a block should have been recorded, but its address did not fit into the
			   table */
	LOSS_DAMAGED,	/* the ring's contents were invalid: a wild store of the program hit it */
	LOSS_NOTE, /* like LOSS_FULL, for a record that is not an event: a name, the end of a thread
		    */
	LOSS_COUNT
};

#endif
