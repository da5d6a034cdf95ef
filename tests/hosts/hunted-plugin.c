/* SPDX-License-Identifier: MIT */
/* A plugin that forgets a block at each of its calls; see hunted.c. */
#include <stdlib.h>

void plugin_work(void);
__attribute__((noinline)) static void *culprit_in_plugin(void)
{
	return malloc(500);
}

static void *volatile last;

void plugin_work(void)
{
	for (int i = 0; i < 25; i++)
		last = culprit_in_plugin();
}
