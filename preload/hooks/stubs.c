/* SPDX-License-Identifier: MIT */
/*
 * The public functions, one for each row of hooks.def that is not written by hand. Each passes a
 * struct origin in its own frame to the recorder, so that the compiler cannot turn a recorded call
 * into a jump, which would remove the frame. call.c and the effects (effects.h) do everything else.
 */
/* This file defines functions that libc's headers would define inline, too, such as getline(). */
#ifndef __NO_INLINE__
#define __NO_INLINE__ 1
#endif

#include "each.h"
#include "effects.h"
#include "preload/record/facts.h"
#include "preload/record/sampling.h"

#include <stdarg.h>

/* hooks.def declares pipe's parameter as int *, libc's header declares it as int[2]. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Warray-parameter"
#endif

/*
 * Each column of a row becomes a statement, which has an effect in some phases of the call. The
 * phase is a constant, so the compiler removes the columns without an effect in a phase.
 */
enum phase {
	PHASE_PASS,
	PHASE_FIRST,
	PHASE_QUICK,
	PHASE_ENTRY,
	PHASE_BEFORE,
	PHASE_TRY,
	PHASE_CALL,
	PHASE_RETURN
};

/* Properties of the call that the row's columns set. */
struct row {
	enum hook_when at;
	enum hook_blocks blocks;
	bool is_recorded;
	enum sampling_pick pick;
	uint64_t object, related;
};

#define IN(which) if (phase == (which))

#define OF(held)	event.object = WORD(held);
#define WITH(other)	event.related = WORD(other);
#define MAKES(held)	IN(PHASE_RETURN) event.object = WORD(held);
#define SIZE(bytes)	IN(PHASE_RETURN) event.size = WORD(bytes);
#define RELATED(number) IN(PHASE_RETURN) event.related = WORD(number);
#define AT(when)	IN(PHASE_ENTRY) row.at = WHEN_##when;
#define BLOCKS(how)	IN(PHASE_ENTRY) row.blocks = BLOCKS_##how;
#define SAMPLES(old, bytes)                                                \
	IN(PHASE_FIRST) row.pick = sampling_pick(armed, WORD(old), bytes); \
	IN(PHASE_RETURN)                                                   \
	if (unlikely(row.pick))                                            \
		row.is_recorded = sampling_settle(&call, &event, row.pick, WORD(old));
/* The argument of block_moved(): NULL if the old block is not recorded. */
#define BLOCK_GONE(old)	 (!row.pick || row.pick & SAMPLING_LOSES ? (old) : NULL)
#define RECORDS_IF(cond) IN(PHASE_ENTRY) row.is_recorded = (cond);
#define BLOCKS_IF(cond)                           \
	IN(PHASE_ENTRY) row.is_recorded = (cond); \
	IN(PHASE_PASS) row.is_recorded = (cond);  \
	RECORDS_IF_LASTED(true)
#define RECORDS_IF_LASTED(cond) IN(PHASE_RETURN) row.is_recorded = !(cond) || call_lasted(&call);
#define NOTIFIES(fd)                                            \
	IN(PHASE_BEFORE) other_end_notified(&call, &event, fd); \
	RECORDS_IF_LASTED(fd_other_end(fd) < 0)
#define FAILS_IF(cond)	    IN(PHASE_RETURN) event.failed = (cond);
#define BEFORE(effect, ...) IN(PHASE_BEFORE) effect(&call, &event, ##__VA_ARGS__);
#define AFTER(effect, ...)  IN(PHASE_RETURN) effect(&call, &event, ##__VA_ARGS__);
#define REAL(function, ...)                     \
	IN(PHASE_CALL)                          \
	{                                       \
		is_called = true;               \
		result = function(__VA_ARGS__); \
	}
#define TRIES(function, ...)                         \
	IN(PHASE_ENTRY) row.blocks = BLOCKS_IF_BUSY; \
	IN(PHASE_QUICK)                              \
	{                                            \
		is_called = true;                    \
		result = function(__VA_ARGS__);      \
	}                                            \
	IN(PHASE_TRY) if (call.has_one_time)         \
	{                                            \
		is_called = true;                    \
		result = function(__VA_ARGS__);      \
	}
#define VALUES(...)                                                                       \
	const struct call_argument values[] = { __VA_ARGS__, { .kind = ARGUMENT_NONE } }; \
	event.arguments = values;

/* A value that is not a parameter and is known only after the function has returned. */
#define NAMED(kind, name, value) NAMED_##kind(phase == PHASE_RETURN ? (value) : 0)
#define NAMED_DECIMAL		 DECIMAL
#define NAMED_HEX		 HEX
#define NAMED_TEXT		 TEXT

/* clang-format off */

/* Begins the block in which a row's columns are expanded for one phase. */
#define PHASE(which, class, op)                                                                    \
	__attribute__((unused)) const enum phase phase = PHASE_##which;                            \
	__attribute__((unused)) bool is_called = false;                                            \
	struct call_event event = { .resource = RESOURCE_##class, .operation = OPERATION_##op,     \
				    .moment = MOMENT_LEAVE };                                      \
	(void)event;

/* How functions report a failure. FAILED_x: whether the result is a failure; ERROR_x: the errno. */
#define FAILED_ERRNO(result)	((result) < 0)
#define FAILED_POINTER(result)	(!(result))
#define FAILED_MAPPED(result)	((result) == (void *)-1)
#define FAILED_NUMBER(result)	((result) != 0)
#define FAILED_ROBUST(result)	((result) != 0 && (result) != EOWNERDEAD)
#define FAILED_C11(result)	((result) != thrd_success)
#define FAILED_NOTHING(result)	false

#define ERROR_ERRNO(result)	call.error
#define ERROR_POINTER(result)	call.error
#define ERROR_MAPPED(result)	call.error
#define ERROR_NUMBER(result)	(int)(result)
#define ERROR_ROBUST(result)	(int)(result)
#define ERROR_C11(result)	c11_error((int)(result))
#define ERROR_NOTHING(result)	call.error

#define ROW(op)                                                                                    \
	{ .at = (enum hook_when)WHEN_OF_##op, .blocks = (enum hook_blocks)BLOCKS_OF_OPERATION_##op,              \
	  .is_recorded = true }

/*
 * For an unsampled block, only the real function is called. malloc does not call other functions of
 * the allocator, so it needs no guard (sampling_begin_pass()), and its stub can be a jump.
 */
#define PASS(name, takes, gives, really, class, op, ...)                                 \
	{                                                                                          \
		PHASE(FIRST, class, op)                                                            \
		__VA_ARGS__                                                                        \
	}                                                                                          \
	if (row.pick == SAMPLING_PASSES) {                                                         \
		const bool is_guarded =                                                            \
			HOOK_##name != HOOK_malloc || armed & (LIFE_NESTS | LIFE_LOADS);           \
		const uint64_t left = is_guarded ? sampling_begin_pass() : 0;                      \
                                                                                                   \
		if (HOOK_##name == HOOK_malloc && is_guarded && armed & LIFE_LOADS) {              \
			const struct origin origin = CAPTURE_ORIGIN();                             \
                                                                                                   \
			life_look_at_loads(&origin);                                               \
		}                                                                                  \
		{                                                                                  \
			PHASE(CALL, class, op)                                                     \
			__VA_ARGS__                                                                \
			if (!is_called)                                                            \
				takes really;                                                     \
		}                                                                                  \
		if (is_guarded)                                                                    \
			sampling_end_pass(left);                                                   \
		gives                                                                              \
	}

/*
 * With --locks=contended, these lock calls are not recorded: the acquisition of a free lock, a
 * trylock call, and the release of a lock whose acquisition was not recorded. Lock calls that
 * cannot be tried without side effects are always recorded.
 */
#define PASS_LOCK(name, takes, gives, really, class, op, returns, ...)                             \
	if (RESOURCE_##class == RESOURCE_LOCK && unlikely(armed & LIFE_CONTENDED)) {               \
		PHASE(QUICK, class, op)                                                            \
		__VA_ARGS__                                                                        \
		if (OPERATION_##op == OPERATION_TRY ||                                             \
		    (OPERATION_##op == OPERATION_RELEASE && !contended_forget(HOOK_##name, event.object))) { \
			is_called = true;                                                          \
			takes really;                                                             \
		}                                                                                  \
		is_busy = is_called;                                                               \
		if (is_called && OPERATION_##op == OPERATION_RELEASE)                              \
			gives                                                                      \
		if (is_called && (OPERATION_##op == OPERATION_TRY || !FAILED_##returns(result))) { \
			if (!FAILED_##returns(result))                                             \
				contended_count();                                                 \
			gives                                                                      \
		}                                                                                  \
	}

/*
 * The body of a stub. declares, takes, gives: declaration, assignment and return of the result,
 * empty for a function without a result. really: the call of the real function. from: the caller,
 * as CAPTURE_ORIGIN() returns it. The columns come last, because they contain commas.
 */
#define BODY(name, declares, takes, gives, really, from, class, op, returns, ...)                  \
	{                                                                                          \
		__attribute__((unused)) const uint8_t armed = life_armed[HOOK_##name];             \
		struct row row = ROW(op);                                                          \
		struct spare spare;                                                                \
		struct call call;                                                                  \
		bool is_had;                                                                       \
		declares                                                                           \
		PASS(name, takes, gives, really, class, op, __VA_ARGS__)                            \
		__attribute__((unused)) bool is_busy = false;                                      \
		PASS_LOCK(name, takes, gives, really, class, op, returns, __VA_ARGS__)              \
		const struct origin origin = from;                                                 \
		uint64_t owner = 0;                                                                \
                                                                                                   \
		(void)spare;                                                                       \
		{                                                                                  \
			PHASE(ENTRY, class, op)                                                    \
			__VA_ARGS__                                                                \
			row.object = event.object;                                                 \
			row.related = event.related;                                               \
		}                                                                                  \
		if (row.blocks == BLOCKS_GIVES_BACK_FIRST)                                         \
			row.at = WHEN_BOTH;                                                          \
		if (!row.is_recorded || !stub_begin(&call, HOOK_##name, row.at, row.blocks,        \
						    &origin, row.object, row.related)) {           \
			PHASE(CALL, class, op)                                                     \
			real_ready();                                                              \
			__VA_ARGS__                                                                \
			if (!is_called)                                                            \
				takes really;                                                     \
			gives                                                                      \
		}                                                                                  \
		{                                                                                  \
			PHASE(BEFORE, class, op)                                                   \
			__VA_ARGS__                                                                \
		}                                                                                  \
		{                                                                                  \
			PHASE(TRY, class, op)                                                      \
			__VA_ARGS__                                                                \
			is_had = is_called && !FAILED_##returns(result);                           \
		}                                                                                  \
		if (!is_had) {                                                                     \
			PHASE(CALL, class, op)                                                     \
			if (row.blocks == BLOCKS_IF_BUSY)                                          \
				call_must_wait(&call);                                             \
			if (RESOURCE_##class == RESOURCE_LOCK && armed & LIFE_CONTENDED)           \
				owner = contended_by(HOOK_##name, row.object, is_busy);            \
			if (row.blocks != BLOCKS_NO)                                               \
				call_sleeps(&call);                                                \
			__VA_ARGS__                                                                \
			if (!is_called)                                                            \
				takes really;                                                     \
		}                                                                                  \
		if (row.at == WHEN_ENTRY)                                                            \
			call_returned_early(&call);                                                \
		else                                                                               \
			call_returned(&call);                                                      \
		call.error = ERROR_##returns(result);                                              \
		{                                                                                  \
			PHASE(RETURN, class, op)                                                   \
			event.moment = row.at == WHEN_ENTRY ? MOMENT_ENTER : MOMENT_LEAVE;           \
			event.failed = FAILED_##returns(result);                                   \
			event.result = WORD(result);                                               \
			event.size = GAINS_##op;                                                   \
			__VA_ARGS__                                                                \
			if (RESOURCE_##class == RESOURCE_LOCK && armed & LIFE_CONTENDED) {         \
				if (OPERATION_##op == OPERATION_ACQUIRE && !event.failed)          \
					contended_note(call.thread, event.object);                 \
				event.related = owner;                                             \
			}                                                                          \
			if (row.is_recorded)                                                       \
				call_event(&call, &event);                                         \
		}                                                                                  \
		call_end(&call);                                                                   \
		gives                                                                              \
	}

#define SECOND(...)		SECOND_(__VA_ARGS__)
#define SECOND_(a, b, ...)	b

/*
 * Functions of the class CALL may block, but most of their calls do not (putc), and programs make
 * many such calls. So the stubs of this class jump to the real function or, if the call may block,
 * to a function that records it. That function has the same parameters, so after the jump its
 * caller is the caller of the stub.
 */
#define BLOCKS_CALL		~, BLOCKING
#define HOOK(name, type, params, class, ...)                                                       \
	HOOK_OF(SECOND(BLOCKS_##class, DIRECT, ~), name, type, params, class, __VA_ARGS__)         \
	TWIN(name, type, params, class, __VA_ARGS__)
#define HOOK_OF(kind, ...)	HOOK_OF_(kind, __VA_ARGS__)
#define HOOK_OF_(kind, ...)	HOOK_##kind(__VA_ARGS__)
#define HOOK_BLOCKING(name, type, params, class, op, returns, ...)                                 \
	static __attribute__((noinline)) type record_##name(EACH_PARAMETER(params))                \
	BODY(name, type result = (type)0;, result =, return result;, real.name(EACH_NAME(params)), \
	     CAPTURE_ORIGIN(), class, op, returns, __VA_ARGS__)                                    \
	EXPORT type name(EACH_PARAMETER(params))                                                   \
	{                                                                                          \
		struct row row = { .is_recorded = true };                                          \
		struct spare spare;                                                                \
		struct call call;                                                                  \
		type result;                                                                       \
		PHASE(PASS, class, op)                                                             \
		(void)spare, (void)call, (void)result;                                             \
		__VA_ARGS__                                                                        \
		if (row.is_recorded || unlikely(!real_is_found))                                   \
			return record_##name(EACH_NAME(params));                                   \
		return real.name(EACH_NAME(params));                                               \
	}
#define HOOK_DIRECT(name, type, params, class, op, returns, ...)                                   \
	EXPORT type name(EACH_PARAMETER(params))                                                   \
	BODY(name, type result = (type)0;, result =, return result;, real.name(EACH_NAME(params)), \
	     CAPTURE_ORIGIN(), class, op, returns, __VA_ARGS__)

#define HOOK_VOID(name, params, class, op, ...)                                                    \
	EXPORT void name(EACH_PARAMETER(params))                                                   \
	BODY(name, enum { result };, , return;, real.name(EACH_NAME(params)), CAPTURE_ORIGIN(),    \
	     class, op, NOTHING, __VA_ARGS__)

/* An optional argument is read only if the caller passed it. */
#define HOOK_OPTIONAL(name, type, params, optional, condition, class, op, returns, ...)            \
	static inline __attribute__((always_inline)) type stub_##name(                             \
		EACH_PARAMETER(EACH_BOTH(params, optional)))                                       \
	BODY(name, type result = (type)0;, result =, return result;,                               \
	     real.name(EACH_NAME(params), EACH_NAME(optional)), CAPTURE_ORIGIN(), class, op,       \
	     returns, __VA_ARGS__)                                                                 \
	EXPORT type name(EACH_PARAMETER(params), ...)                                              \
	{                                                                                          \
		EACH_LOCAL(optional)                                                               \
                                                                                                   \
		if (condition) {                                                                   \
			va_list rest;                                                              \
                                                                                                   \
			va_start(rest, EACH_LAST(params));                                         \
			EACH_TAKE(optional)                                                        \
			va_end(rest);                                                              \
		}                                                                                  \
		return stub_##name(EACH_NAME(params), EACH_NAME(optional));                        \
	}                                                                                          \
	TWIN(name, type, EACH_BOTH(params, optional), class, op, returns, __VA_ARGS__)

/* Calls va_end() on every path out of the function. */
#define HOOK_LIST(name, type, params, really, class, op, returns, ...)                             \
	EXPORT type name(EACH_PARAMETER(params), ...)                                              \
	BODY(name, type result = (type)0; va_list list; va_start(list, EACH_LAST(params));,        \
	     result =, { va_end(list); return result; }, really, CAPTURE_ORIGIN(), class, op,      \
	     returns, __VA_ARGS__)

/*
 * The event is recorded before the call, because the function does not return. The work at the end
 * of the process is left to the library's destructor in exit(), and omitted in abort(), which may
 * find the loader in an inconsistent state.
 */
#define HOOK_LAST(name, params, class, op, ...)                                                    \
	EXPORT __attribute__((noreturn)) void name(EACH_PARAMETER(params))                         \
	{                                                                                          \
		const struct origin origin = CAPTURE_ORIGIN();                                     \
		struct call call;                                                                  \
                                                                                                   \
		if (stub_begin(&call, HOOK_##name, WHEN_ENTRY, BLOCKS_NO, &origin, 0, 0)) {          \
			call_returned(&call);                                                      \
			PHASE(RETURN, class, op)                                                   \
			event.moment = MOMENT_ENTER;                                               \
			__VA_ARGS__                                                                \
			call_event(&call, &event);                                                 \
			call_end(&call);                                                           \
		}                                                                                  \
		if (HOOK_##name != HOOK_exit && HOOK_##name != HOOK_abort)                         \
			facts_tell_bypass(false);                                                  \
		life_note_end(true);                                                               \
		if (HOOK_##name != HOOK_exit && HOOK_##name != HOOK_abort) {                       \
			ending_look();                                                             \
			ending_await_scan();                                                       \
		}                                                                                  \
		real_ready();                                                                      \
		real.name(EACH_NAME(params));                                                      \
		__builtin_unreachable();                                                           \
	}

/* ---- calls by number ---- */

/*
 * For each row of numbers.def, syscall(2) with the row's number does the same as a hooked function.
 * So each hook of the function's class has a twin, which makes the call by syscall() and gets the
 * arguments as words. The compiler removes the twins that no row uses.
 */
#define TWIN_OF_FD		~, 1

#define TWIN_OR_NOT(has)	TWIN_OR_NOT_(has)
#define TWIN_OR_NOT_(has)	TWIN_##has
#define TWIN(name, type, params, class, ...)                                                       \
	TWIN_OR_NOT(SECOND(TWIN_OF_##class, 0, 0))(name, type, params, class, __VA_ARGS__)
#define TWIN_0(...)

#define BY_NUMBER(...)		TWIN_1(__VA_ARGS__)
#define TWIN_1(name, type, params, class, op, returns, ...)                                        \
	static __attribute__((unused)) type number_##name(                                         \
		const struct origin *caller, long number, const long *a, const long *words)            \
	{                                                                                          \
		EACH_WORD(params)                                                                  \
                                                                                                   \
		(void)words;                                                                       \
		BODY(name, type result = (type)0;, result =, return result;,                       \
		     (type)real.syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]), *caller,      \
		     class, op, returns, __VA_ARGS__)                                              \
	}

#define HOOK_BY_HAND(...)
#include "hooks.def"

bool stubs_by_number(const struct origin *caller, long number, const long *a, long *result)
{
	switch (number) {
#define NUMBER(call, name, ...)                                                              \
	case __NR_##call:                                                                    \
		*result = number_##name(caller, number, a, (const long[]){ __VA_ARGS__ });   \
		return true;
#include "numbers.def"
	default:
		return false;
	}
}

/* If libc has two versions of a function, the stub has the newer; hand_loader.c has the older. */
#define VERSIONS(name, older, newer, ...) __asm__(".symver " #name "," #name "@@@" newer);
#include "versions.def"
