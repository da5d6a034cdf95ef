/* SPDX-License-Identifier: MIT */
/*
 * Loads and unloads the libraries given as arguments in turn, ten rounds. They are to have their
 * code at the same address with different frames, so that a rule that outlives its library gives a
 * wrong backtrace. Says how many were loaded where the one before had been.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

int main(int argc, char *argv[])
{
	uintptr_t last = 0;
	int same = 0;

	for (int i = 0; i < 10 * (argc - 1); i++) {
		void *library = dlopen(argv[1 + i % (argc - 1)], RTLD_NOW);
		void (*work)(void);

		if (library == NULL)
			return 1;
		*(void **)&work = dlsym(library, "work");
		if (work == NULL)
			return 1;
		work();
		same += (uintptr_t)work == last;
		last = (uintptr_t)work;
		dlclose(library);
	}
	printf("%d\n", same);
	return 0;
}
