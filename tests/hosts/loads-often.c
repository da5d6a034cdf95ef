/* SPDX-License-Identifier: MIT */
/* loads-often LIBRARY: loads it, has it allocate 3 blocks of 1057 bytes, and unloads it, 1000
 * times. */
#include <dlfcn.h>

#include "made.h"

int main(int argc, char **argv)
{
	for (int i = 0; argc > 1 && i < 1000; i++) {
		void *library = dlopen(argv[1], RTLD_NOW);
		void (*allocate)(void);

		if (!library) {
			puts(dlerror());
			return 1;
		}
		*(void **)&allocate = dlsym(library, "allocate");
		allocate();
		dlclose(library);
	}
	say_made(3000, 1057);
	return 0;
}
