/* SPDX-License-Identifier: MIT */
/*
 * Loads the library of CPython that the argument names, runs Python code, and unloads the library;
 * twice. Allocates afterwards.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *volatile kept;

static int run(const char *path, const char *code)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	void (*initialize)(int);
	int (*simple)(const char *);
	int (*finalize)(void);

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 77;
	}
	initialize = (void (*)(int))dlsym(library, "Py_InitializeEx");
	simple = (int (*)(const char *))dlsym(library, "PyRun_SimpleString");
	finalize = (int (*)(void))dlsym(library, "Py_FinalizeEx");
	if (!initialize || !simple || !finalize)
		return 77;
	initialize(0);
	if (simple(code))
		return 1;
	finalize();
	dlclose(library);
	/* still loaded: it cannot be unloaded here */
	return dlopen(path, RTLD_NOW | RTLD_NOLOAD) ? 77 : 0;
}

int main(int argc, char **argv)
{
	int status = argc == 2 ? 0 : 2;

	for (int i = 0; i < 2 && !status; i++) {
		status = run(argv[1], i ? "def second():\n  return bytearray(22222)\nx = second()\n"
					: "def first():\n  return bytearray(11111)\nx = first()\n");
		for (int j = 0; j < 100; j++) {
			kept = malloc(33333);
			free(kept);
		}
	}
	return status;
}
