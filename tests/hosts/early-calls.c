/* SPDX-License-Identifier: MIT */
/*
 * Allocates before main: in an ifunc resolver, when libc itself may not be ready, in preinit_array,
 * where getenv() still answers NULL, and in a constructor of the earliest priority. With
 * WITHOUT_RESOLVER it has no resolver, because a resolver cannot call malloc() in glibc 2.43.
 */
#include "made.h"

static char *environment_then = (char *)"not asked";

static int plain(void)
{
	return 3;
}

#ifdef WITHOUT_RESOLVER
static int chosen(void)
{
	make_silently(10, 1001);
	return plain();
}
#else
__attribute__((used)) static int (*choose(void))(void)
{
	make_silently(10, 1001);
	return plain;
}

int chosen(void) __attribute__((ifunc("choose")));
#endif

static void before(void)
{
	make_silently(20, 1003);
	environment_then = getenv("PATH");
}

__attribute__((section(".preinit_array"), used)) static void (*preinit)(void) = before;

__attribute__((constructor(101))) static void constructor(void)
{
	make_silently(30, 1005);
}

int main(void)
{
	printf("chosen %d, environment in preinit_array %s\n", chosen(),
	       environment_then ? "there" : "not there");
	fflush(stdout);
	say_made(10, 1001);
	say_made(20, 1003);
	say_made(30, 1005);
	make(40, 1007);
	return 0;
}
