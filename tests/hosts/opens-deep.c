/* SPDX-License-Identifier: MIT */
/*
 * opens-deep LIBRARY deep|plain|past return|close|_exit|exec|thread|often: loads it, with
 * RTLD_DEEPBIND or without, has it allocate, and ends so; past: with RTLD_DEEPBIND, by the dlopen
 * that libc itself has; close: unloads it before; thread: while another one runs; often: loads it
 * and unloads it a hundred times, while another thread does that with one of libc's.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void *(*opening)(const char *, int) = dlopen;
static int flags = RTLD_LAZY;

static void *sleep_on(void *unused)
{
	pause();
	return unused;
}

static void *load(const char *path)
{
	void *library = opening(path, flags);
	void (*allocate)(void);

	if (!library) {
		puts(dlerror());
		_exit(2);
	}
	*(void **)&allocate = dlsym(library, "allocate");
	allocate();
	return library;
}

static void *load_another(void *unused)
{
	for (int i = 0; i < 100; i++) {
		void *library = opening("libresolv.so.2", flags);

		if (library)
			dlclose(library);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	void *library;

	if (argc < 4) {
		puts("opens-deep LIBRARY deep|plain|past END");
		return 2;
	}
	if (strcmp(argv[2], "plain"))
		flags |= RTLD_DEEPBIND;
	if (!strcmp(argv[2], "past"))
		*(void **)&opening = dlsym(dlopen("libc.so.6", RTLD_LAZY), "dlopen");
	if (!strcmp(argv[3], "often")) {
		pthread_create(&thread, NULL, load_another, NULL);
		for (int i = 0; i < 100; i++)
			dlclose(load(argv[1]));
		pthread_join(thread, NULL);
		return 0;
	}
	library = load(argv[1]);
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
