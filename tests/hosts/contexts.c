/* SPDX-License-Identifier: MIT */
/*
 * Allocates in and out of contexts: of a thread, of the process, of a fork's child, and by the
 * functions of sp-rtrace's library. Sizes tell the blocks apart. Run without the library it does
 * the same, with every bit 0.
 */
#include "holdtrace.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

unsigned sp_context_create(const char *name) __attribute__((weak));
void sp_context_enter(unsigned context) __attribute__((weak));
void sp_context_exit(unsigned context) __attribute__((weak));
unsigned sp_context_get_mask(void) __attribute__((weak));
unsigned sp_context_get_count(void) __attribute__((weak));

static unsigned parse, render;

static void *work(void *argument)
{
	free(malloc(200)); /* a thread begins without the contexts of others */
	holdtrace_context_enter(render);
	free(malloc(201));
	return argument;
}

static void use_threads(void)
{
	pthread_t thread;

	holdtrace_context_enter(parse);
	free(malloc(100));
	pthread_create(&thread, NULL, work, NULL);
	pthread_join(thread, NULL);
	holdtrace_context_enter_all(render);
	free(malloc(101));
	pthread_create(&thread, NULL, work, NULL);
	pthread_join(thread, NULL);
	holdtrace_context_exit_all(render);
	free(malloc(102));
}

static void use_fork(void)
{
	pid_t child = fork();

	if (!child) {
		free(malloc(300));
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

static void use_original(void)
{
	unsigned bit;

	if (!sp_context_create)
		return;
	bit = sp_context_create("original");
	sp_context_enter(bit);
	free(malloc(400));
	printf("%u contexts, mask %x\n", sp_context_get_count(), sp_context_get_mask());
	sp_context_exit(bit);
	free(malloc(401));
}

int main(void)
{
	char name[16];
	int count = 0;

	errno = 4711;
	parse = holdtrace_context_create("parse");
	render = holdtrace_context_create("render");
	if (holdtrace_context_create("parse") != parse || errno != 4711)
		return 1;
	use_threads();
	use_fork();
	holdtrace_context_exit(parse);
	free(malloc(103));
	use_original();
	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "more %d", i);
		count += holdtrace_context_create(name) != 0;
	}
	printf("%x %x and %d more\n", parse, render, count);
	return 0;
}
