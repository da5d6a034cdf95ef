/* SPDX-License-Identifier: MIT */
/* Calls before main, before the constructors, and after the last destructor of the program. */
#include "expect.h"

static void *early[2];

static void preinit(void)
{
	early[0] = malloc(4001);
}

__attribute__((section(".preinit_array"), used)) static void (*const preinit_entry)(void) = preinit;

__attribute__((constructor)) static void construct(void)
{
	early[1] = malloc(4002);
}

__attribute__((destructor)) static void destruct(void)
{
	free(early[0]);
}

int main(void)
{
	expect("malloc<memory>(4001) = %p", early[0]);
	expect("malloc<memory>(4002) = %p", early[1]);
	expect("free<memory>(%p)", early[0]);
	expect_print();
	return 0;
}
