/* SPDX-License-Identifier: MIT */
#include "dialects/swap/swap.h"

/* Headers with the types in hooks.def, as in preload/ground/real.h. */
#include <aio.h>
#include <dirent.h>
#include <fcntl.h>
#include <mqueue.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include "each.h"
#include "hook_table.h"

struct parameter {
	const char *name;
	char letter;
};

/* Columns of hooks.def that hook_table.h omits, because only this file and the stubs need them. */
struct prototype {
	char result;
	/* the item after the last parameter has no name */
	struct parameter parameters[HOOK_ARGUMENTS_MAX + 1];
	/* the expressions in the columns OF, MAKES and SIZE; NULL: the row has no such column */
	const char *of, *makes, *size;
};

/* clang-format off */

/* SWAP's letter for a C type. Types that are not listed are pointers. */
#define LETTER(type)                                                                              \
	_Generic((type *)0, void *: 'v', int *: 'd', unsigned *: 'd', long *: 'x',                \
		 unsigned long *: 'x', long long *: 'x', unsigned long long *: 'x',               \
		 char **: 's', const char **: 's', char *restrict *: 's',                         \
		 const char *restrict *: 's', default: 'p')

/* Converts (int, fd, const char *, path) to { "fd", 'd' }, { "path", 's' }. */
#define LIST(list)		   EACH_JOIN(LIST_, EACH_COUNT list) list
#define LIST_1(v)		   { NULL, 0 }
#define LIST_2(t, n)		   { #n, LETTER(t) }
#define LIST_4(t, n, ...)	   { #n, LETTER(t) }, LIST_2(__VA_ARGS__)
#define LIST_6(t, n, ...)	   { #n, LETTER(t) }, LIST_4(__VA_ARGS__)
#define LIST_8(t, n, ...)	   { #n, LETTER(t) }, LIST_6(__VA_ARGS__)
#define LIST_10(t, n, ...)	   { #n, LETTER(t) }, LIST_8(__VA_ARGS__)
#define LIST_12(t, n, ...)	   { #n, LETTER(t) }, LIST_10(__VA_ARGS__)

#define OF(expression)	  .of = #expression,
#define MAKES(expression) .makes = #expression,
#define SIZE(expression)  .size = #expression,
#define HOOK(fn, type, list, class, op, returns, ...)                                             \
	[HOOK_##fn] = { .result = LETTER(type), .parameters = { LIST(list) }, __VA_ARGS__ },
#define HOOK_VOID(fn, list, class, op, ...)                                                       \
	[HOOK_##fn] = { .result = 'v', .parameters = { LIST(list) }, __VA_ARGS__ },
#define HOOK_LAST HOOK_VOID
static const struct prototype prototypes[HOOK_COUNT] = {
#include "hooks.def"
	[HOOK_holdtrace_acquired] = { 'v', { { "object", 'p' }, { "size", 'x' } }, "object", "", "size" },
	[HOOK_holdtrace_released] = { 'v', { { "object", 'p' } }, "object", "", "" },
};

static const struct swap_api rows[] = {
#define API(fn, number, kind, object, first, last)                                                \
	{ .name = #fn, .id = number, .probe = SWAP_##kind, .object_type = SWAP_OBJECT_##object,   \
	  .start = SWAP_##first, .end = SWAP_##last },
#define API_EACH(fn, number, kind, object, first, last)                                           \
	{ .name = #fn, .id = number, .probe = SWAP_##kind, .object_type = SWAP_OBJECT_##object,   \
	  .start = SWAP_##first, .end = SWAP_##last, .is_each = true },
#define KNOWN(fn, parameter, member)
#include "swap_apis.def"
#undef API
#undef API_EACH
#undef KNOWN
};

static const struct known {
	const char *function, *parameter;
	enum swap_source source;
} known[] = {
#define API(...)
#define API_EACH(...)
#define KNOWN(fn, parameter, member) { #fn, #parameter, SWAP_FROM_##member },
#include "swap_apis.def"
#undef API
#undef API_EACH
#undef KNOWN
};

/* clang-format on */

#define COUNT_OF(array) (sizeof(array) / sizeof(*(array)))

/* FNV-1a. The hash is only used to derive numbers from names, so it needs no random seed. */
uint32_t swap_api_id(const char *name)
{
	uint32_t hash = 2166136261u;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619u;
	return 0x10000000u | (hash & 0x0fffffffu);
}

/*
 * Finds out which member or argument of an event has the parameter's value. Returns false if the
 * trace does not contain the value.
 */
static bool find_value(const struct hook *hook, const struct prototype *prototype,
		       const struct parameter *parameter, struct swap_argument *argument)
{
	const char *object = prototype->makes ? prototype->makes : prototype->of;

	argument->letter = parameter->letter;
	for (uint8_t i = 0; i < HOOK_ARGUMENTS_MAX && hook->arguments[i].name; i++) {
		enum argument_kind kind = hook->arguments[i].kind;

		if (strcmp(hook->arguments[i].name, parameter->name) != 0)
			continue;
		if (kind == ARGUMENT_TEXT || kind == ARGUMENT_TIME)
			argument->letter = 's';
		else if (argument->letter == 's')
			argument->letter = 'p';
		argument->source = SWAP_FROM_ARGUMENT;
		argument->index = i;
		argument->name = parameter->name;
		return true;
	}
	for (size_t i = 0; i < COUNT_OF(known); i++)
		if (!strcmp(known[i].function, hook->name) &&
		    !strcmp(known[i].parameter, parameter->name)) {
			argument->source = (uint8_t)known[i].source;
			return true;
		}
	argument->source =
		object && !strcmp(object, parameter->name) ? SWAP_FROM_OBJECT : SWAP_FROM_SIZE;
	/* the text of a string is available only if it was recorded as an argument */
	return argument->letter != 's' &&
	       (argument->source == SWAP_FROM_OBJECT ||
		(prototype->size && !strcmp(prototype->size, parameter->name)));
}

void swap_apis_init(struct swap_apis *apis)
{
	for (size_t number = 0; number < HOOK_COUNT; number++) {
		const struct prototype *prototype = &prototypes[number];
		const struct hook *hook = &hook_table[number];
		struct swap_api *api = &apis->hooks[number];

		*api = (struct swap_api){ .start = SWAP_NONE, .end = SWAP_NONE };
		for (size_t i = 0; i < COUNT_OF(rows); i++)
			if (!strcmp(rows[i].name, hook->name))
				*api = rows[i];
		api->name = hook->name;
		if (!api->id)
			api->id = swap_api_id(hook->name);
		/* also true for exec, which is recorded at entry */
		api->is_last = hook->operation == OPERATION_END && hook_at(hook) != WHEN_RETURN;
		api->result = prototype->result == 's' ? 'p' : prototype->result;
		for (size_t i = 0; i < HOOK_ARGUMENTS_MAX && prototype->parameters[i].name; i++)
			api->count += find_value(hook, prototype, &prototype->parameters[i],
						 &api->arguments[api->count]);
	}
}
