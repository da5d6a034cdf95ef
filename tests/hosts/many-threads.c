/* SPDX-License-Identifier: MIT */
/* many-threads COUNT AT-ONCE: each allocates 3 blocks; so many live at the same time. */
#include <pthread.h>

#include "made.h"

static pthread_barrier_t barrier;

static void *start(void *argument)
{
	make_silently(2, 1043);
	if (argument)
		pthread_barrier_wait(&barrier);
	make_silently(1, 1043);
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 100;
	unsigned at_once = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
	pthread_t *threads = calloc(at_once, sizeof(*threads));
	unsigned made = 0;
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 64 << 10);
	if (at_once > 1)
		pthread_barrier_init(&barrier, NULL, at_once);
	for (unsigned i = 0; i < count; i += at_once) {
		for (unsigned j = 0; j < at_once; j++)
			if (pthread_create(&threads[j], &attributes, start,
					   at_once > 1 ? &barrier : NULL))
				return 77;
		for (unsigned j = 0; j < at_once; j++)
			made += !pthread_join(threads[j], NULL);
	}
	printf("%u threads\n", made);
	fflush(stdout);
	say_made(3ul * made, 1043);
	return 0;
}
