/* SPDX-License-Identifier: MIT */
#ifndef TERMS_H
#define TERMS_H

/*
 * The words of the trade as enums, made from operations.def and resources.def, and the few that
 * need no table. Numbers travel on the wire (wire.def), so they never change their meaning.
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

/* sp-rtrace keeps a mask with one bit a class. What ours leave is for classes of the program's. */
#define RESOURCES_MAX 32
_Static_assert(RESOURCE_COUNT - 1 <= RESOURCES_MAX, "the stream has room for 32 classes");

/*
 * When the operations of a hook happen. What loses happens at entry, what gains at return, so that
 * a free sorts before the next alloc of the same address, in whatever thread.
 */
enum hook_when {
	WHEN_DEFAULT, /* as operations.def says */
	WHEN_ENTRY,
	WHEN_RETURN,
	WHEN_BOTH, /* it may lose something at entry and gains something at return */
};

/* Whether a hook may sleep for any length: nobody may wait for its record meanwhile. */
enum hook_blocks {
	BLOCKS_DEFAULT, /* as operations.def says */
	BLOCKS_NO,
	BLOCKS_YES,
	BLOCKS_GIVES_BACK_FIRST, /* it loses something, says so in a half of its own, and sleeps */
	BLOCKS_IF_BUSY,		 /* in a stub: one that TRIES first, and sleeps if that fails */
};

/* What an operation does not tell of a hook, and who adds events up goes by. */
enum hook_how {
	HOW_PLAIN,
	HOW_JOINS,     /* what is lost was waited for, not detached */
	HOW_WAKES_ALL, /* all that wait */
	HOW_READS,     /* takes a lock with others */
	HOW_WRITES,    /* takes such a lock alone */
	HOW_SHARES,    /* gives such a lock back */
	HOW_SPINS,
};

/* When one event happened. Numbers of the wire, where 3 is unused. */
enum moment {
	MOMENT_ENTER = 1,
	MOMENT_LEAVE = 2,
	MOMENT_SPLIT = 4, /* of a record alone: at return, and `related` was lost at entry */
	MOMENT_HALF = 5,  /* at entry, published before the sleep */
};

enum effect { EFFECT_NEITHER, EFFECT_GAINS, EFFECT_LOSES };

/* CALL's type in the sp-rtrace stream (sp_rtrace_proto.h: 1 free, 2 alloc, anything else neither).
 */
enum call_type { CALL_TYPE_NONE, CALL_TYPE_FREE, CALL_TYPE_ALLOC };

/* How the value of an argument is written down. */
enum argument_kind {
	ARGUMENT_NONE,
	ARGUMENT_DECIMAL, /* signed */
	ARGUMENT_HEX,	  /* 0x… */
	ARGUMENT_OCTAL,	  /* 0…, file modes */
	ARGUMENT_TEXT,	  /* a C string, copied */
	ARGUMENT_TIME,	  /* a struct timespec, as seconds with nine decimals */
};

/* What is special about one record or event; bits. */
enum call_flag {
	CALL_FAILED = 1 << 0,  /* the function reported an error: nothing was gained or lost */
	CALL_UNWOUND = 1 << 1, /* never returned: longjmp, exception, cancellation, thread exit */
	CALL_OPEN = 1 << 2,    /* still under way when the trace ended */
	CALL_LATE = 1 << 3,    /* came after later events had been written; its time is clamped */
	CALL_CUT = 1 << 4,     /* the backtrace ends early: no rule, or the depth limit */
	CALL_NO_BACKTRACE = 1 << 5, /* none was taken */
	CALL_OF_CHILD = 1 << 6, /* made by vfork's child in our memory: its descriptors, directory
				   and end are its own */
};

/* --locks=contended, in `related` of a call that takes a lock: it was busy. Below: who had it. */
#define RELATED_BUSY (1ull << 32)

/* Why an event was counted and not recorded. */
enum loss {
	LOSS_NO_SLOT,	/* more threads than slots */
	LOSS_FULL,	/* ring full, and the collector made no progress */
	LOSS_ABANDONED, /* a record that was begun and never finished (siglongjmp, kill) */
	LOSS_SEALED,	/* calls that recording needs are forbidden (seccomp), or a TLS is shared */
	LOSS_SAMPLE,	/* a block was to be recorded, and no room was left for its address */
	LOSS_DAMAGED,	/* what its thread wrote into the ring made no sense: a wild store hit it */
	LOSS_NOTE,	/* as LOSS_FULL, of what is no event: a name, the end of a thread */
	LOSS_COUNT
};

#endif
