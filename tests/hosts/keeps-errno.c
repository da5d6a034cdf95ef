/* SPDX-License-Identifier: MIT */
/* Prints errno after calls that leave it alone and calls that set it. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <sys/socket.h>
#include <time.h>

#include "made.h"

#define LOOK(...)                      \
	do {                           \
		errno = 4711;          \
		__VA_ARGS__;           \
		said[count++] = errno; \
	} while (0)

static void *nothing(void *argument)
{
	errno = 4712;
	make_silently(100, 1031);
	return errno == 4712 ? argument : NULL;
}

int main(void)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
	struct timespec past = { 1, 0 };
	void *volatile huge = (void *)(PTRDIFF_MAX / 2), *block, *value = NULL;
	int said[64], count = 0, fds[2];
	pthread_t thread;
	sem_t semaphore;
	FILE *stream;

	LOOK(block = malloc(100));
	LOOK(block = realloc(block, 200));
	LOOK(free(block));
	LOOK(block = malloc((size_t)huge * 4));
	LOOK(block = calloc((size_t)huge, 16));
	LOOK(block = realloc(NULL, (size_t)huge * 4));
	LOOK(free(posix_memalign(&block, 64, 100) ? NULL : block));
	LOOK(count += 0 * posix_memalign(&block, 3, 100));
	LOOK(open("/no/such/file", O_RDONLY));
	LOOK(close(open("/dev/null", O_RDONLY)));
	LOOK(close(-1));
	LOOK(dup(-1));
	LOOK(dup2(0, 0));
	LOOK(dup2(-1, 5));
	LOOK(pipe2(fds, -1));
	LOOK(socket(-1, -1, -1));
	LOOK(accept(0, NULL, NULL));
	LOOK(fopen("/no/such/file", "r"));
	LOOK(stream = fopen("/dev/null", "r"));
	LOOK(fclose(stream));
	LOOK(pthread_mutex_lock(&mutex));
	LOOK(pthread_cond_timedwait(&cond, &mutex, &past));
	LOOK(pthread_mutex_unlock(&mutex));
	LOOK(sem_init(&semaphore, 0, 0));
	LOOK(sem_trywait(&semaphore));
	LOOK(sem_timedwait(&semaphore, &past));
	LOOK(sem_post(&semaphore));
	LOOK(sem_wait(&semaphore));
	LOOK(pthread_create(&thread, NULL, nothing, &mutex));
	LOOK(pthread_join(thread, &value));
	for (int i = 0; i < count; i++)
		printf("%d ", said[i]);
	printf("thread %d\n", value == &mutex);
	fflush(stdout);
	say_made(100, 1031);
	return 0;
}
