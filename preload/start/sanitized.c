/* SPDX-License-Identifier: MIT */
#include "sanitized.h"

#include <link.h>
#include <stdbool.h>

#include "arena.h"
#include "late.h"
#include "preload/ground/linkage.h"
#include "preload/ground/plain.h"
#include "preload/ground/self.h"
#include "preload/ground/sys.h"
#include "settings.h"

/* Whether a module is the library of a sanitizer; process/program.c has the same names. */
static bool is_runtime(const char *name)
{
	static const char names[][20] = { "libasan.",		"libhwasan.",
					  "liblsan.",		"libtsan.",
					  "libclang_rt.asan",	"libclang_rt.msan",
					  "libclang_rt.hwasan", "libclang_rt.tsan" };

	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (plain_begins(name, names[i]))
			return true;
	return false;
}

/* Whether the program refers to a sanitizer: undefined symbols precede those with a hash. */
static bool refers_to_runtime(const struct linkage *linkage)
{
	for (uint32_t i = 1; linkage->hash && i < linkage->hash[1]; i++)
		if (plain_begins(linkage->names + linkage->symbols[i].st_name, "__sanitizer_"))
			return true;
	return false;
}

/*
 * Whether a sanitizer with its own malloc is compiled into the program. Programs that gcc has
 * compiled do not export the sanitizer's init function, but they export its malloc.
 */
static bool has_runtime(const struct link_map *program)
{
	static const char entries[][16] = { "__asan_init", "__hwasan_init", "__lsan_init",
					    "__msan_init", "__tsan_init" };
	struct linkage linkage;

	if (!linkage_read_symbols(&linkage, program))
		return false;
	for (unsigned int i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
		if (linkage_find(&linkage, entries[i]))
			return true;
	return linkage_find(&linkage, "malloc") && refers_to_runtime(&linkage);
}

static bool is_sanitized(void)
{
	const struct link_map *first = linkage_first();

	for (const struct link_map *map = first; map; map = map->l_next)
		if (is_runtime(plain_last_part(map->l_name)))
			return true;
	return first && has_runtime(first);
}

/*
 * Executes the program by the name by which it was executed, which also becomes its name in the
 * kernel. If that is the name of a script, it is an argument of the interpreter; the kernel then
 * adds the arguments before it again.
 */
static void execute_again(char **argv, char *const *environment)
{
	const char *name = (const char *)self_auxiliary(AT_EXECFN);
	char **arguments = argv;

	if (name && !self_is_program(name))
		while (*arguments && !plain_equal(*arguments, name))
			arguments++;
	if (name && *arguments)
		sys_execve(name, arguments, environment);
	sys_execve("/proc/self/exe", argv, environment);
}

void sanitized_leave(char **argv, char *const *environment)
{
	static const char text[] =
		"holdtrace: not tracing: the program runs with a sanitizer, which has its own "
		"malloc and must be the first library\n";
	size_t size = is_sanitized() ? late_size_without(environment) : 0;
	bool is_of_run = false;

	/* a loader that was started as a command has changed the arguments */
	if (!size || !self_auxiliary(AT_BASE))
		return;
	for (char *const *entry = environment; *entry; entry++)
		is_of_run |= settings_value(*entry, CONTROL_ENVIRONMENT) != NULL;
	/* in a run, the collector finds and reports the reason */
	if (!is_of_run)
		sys_call3(__NR_write, 2, (long)text, sizeof(text) - 1);
	execute_again(argv, late_without(__builtin_alloca(size), environment));
}
