/* SPDX-License-Identifier: MIT */
/* Looks for symbols and libraries that are not there; what dlerror() has to say is its own. */
#include <dlfcn.h>

#include "made.h"

int main(void)
{
	for (int i = 0; i < 50; i++) {
		char name[32];

		snprintf(name, sizeof(name), "no_such_symbol_%d", i);
		if (dlsym(RTLD_DEFAULT, name) || dlsym(RTLD_NEXT, name))
			return 1;
		make_silently(2, 1009);
	}
	dlerror();
	dlsym(RTLD_DEFAULT, "malloc_is_not_called_so");
	make_silently(100, 1009);
	puts(dlerror());
	puts(dlerror() ? "still an error" : "no error left");
	if (!dlopen("libno_such_library.so", RTLD_NOW))
		puts(dlerror());
	fflush(stdout);
	say_made(200, 1009);
	return 0;
}
