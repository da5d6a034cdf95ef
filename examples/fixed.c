/* SPDX-License-Identifier: MIT */
/*
 * leaky.c without its leaks of memory and descriptors. holdtrace-tutorial(7) compares the two.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static char *copy_name(const char *name)
{
	char *copy = malloc(100);

	return strcpy(copy, name);
}

static void read_settings(void)
{
	for (int i = 0; i < 2; i++)
		free(copy_name("kept"));
	free(copy_name("given back"));
	close(open("/etc/passwd", O_RDONLY));
	close(open("/etc/group", O_RDONLY));
}

static void *work(void *unused)
{
	free(calloc(10, 25));
	return unused;
}

static void *rest(void *unused)
{
	return unused;
}

int main(void)
{
	pthread_t joined, forgotten;

	read_settings();
	pthread_create(&joined, NULL, work, NULL);
	pthread_join(joined, NULL);
	pthread_create(&forgotten, NULL, rest, NULL);
	pthread_mutex_lock(&mutex);
	return 0;
}
