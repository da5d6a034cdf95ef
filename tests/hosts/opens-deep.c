/* SPDX-License-Identifier: MIT */
/*
 * opens-deep LIBRARY deep|plain return|close|_exit|exec|thread: loads it, with RTLD_DEEPBIND or
 * without, has it allocate, and ends so; close: unloads it before; thread: while another one runs.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void *sleep_on(void *unused)
{
	pause();
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	void *library = argc < 4
				? NULL
				: dlopen(argv[1],
					 RTLD_LAZY | (strcmp(argv[2], "deep") ? 0 : RTLD_DEEPBIND));
	void (*allocate)(void);

	if (!library) {
		puts(argc < 4 ? "opens-deep LIBRARY deep|plain END" : dlerror());
		return 2;
	}
	*(void **)&allocate = dlsym(library, "allocate");
	allocate();
	if (!strcmp(argv[3], "close"))
		dlclose(library);
	if (!strcmp(argv[3], "_exit"))
		_exit(0);
	if (!strcmp(argv[3], "exec"))
		execl("/bin/true", "true", NULL);
	if (!strcmp(argv[3], "thread"))
		pthread_create(&thread, NULL, sleep_on, NULL);
	return 0;
}
