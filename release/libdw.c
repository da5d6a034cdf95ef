/* SPDX-License-Identifier: MIT
 *
 * Linked into a portable libholdtrace-trace (release/link), in place of libdw and libelf: loads the
 * system's libdw. Without libdw, each function fails, so that traces are read without names.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

static long fail(void)
{
	return 0;
}

static const char *fail_text(void)
{
	return "libdw.so.1 is not installed";
}

/* LOADED(name): defines the function `name`, which jumps to the address in loaded_NAME. */
#if defined(__x86_64__)
#define JUMP(name) "jmp *loaded_" #name "(%rip)"
#elif defined(__aarch64__)
#define JUMP(name) "adrp x16, loaded_" #name "; ldr x16, [x16, :lo12:loaded_" #name "]; br x16"
#else
#error "the jump to functions of libdw is missing for this processor"
#endif
#define LOADED(name)                                                                    \
	__attribute__((visibility("hidden"))) void *loaded_##name;                      \
	__asm__(".pushsection .text; .globl " #name "; .hidden " #name "; .type " #name \
		", %function; " #name ": " JUMP(name) "; .popsection");
#include <libdw.h>
#undef LOADED

static const struct {
	const char *name;
	void **pointer;
} functions[] = {
#define LOADED(name) { #name, &loaded_##name },
#include <libdw.h>
};

__attribute__((constructor)) static void load(void)
{
	void *handle = dlopen("libdw.so.1", RTLD_LAZY | RTLD_LOCAL);

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		void *found = handle ? dlsym(handle, functions[i].name) : NULL;

		if (!found)
			found = strstr(functions[i].name, "_errmsg") ? (void *)fail_text
								     : (void *)fail;
		*functions[i].pointer = found;
	}
}
