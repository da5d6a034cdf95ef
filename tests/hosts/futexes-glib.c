/* SPDX-License-Identifier: MIT */
/* Waits in GLib for futexes: a mutex, a condition and a lock of one bit. Needs no headers of GLib.
 */
#include <pthread.h>
#include <time.h>

void g_mutex_lock(void *mutex);
void g_mutex_unlock(void *mutex);
void g_cond_wait(void *condition, void *mutex);
void g_cond_signal(void *condition);
void g_bit_lock(volatile int *word, int bit);
void g_bit_unlock(volatile int *word, int bit);

static void *mutex, *condition[2]; /* GMutex and GCond: zero */
static volatile int is_over, word;

__attribute__((noinline)) static void use_mutex(void)
{
	g_mutex_lock(&mutex);
	g_mutex_unlock(&mutex);
}

__attribute__((noinline)) static void use_condition(void)
{
	g_mutex_lock(&mutex);
	while (!is_over)
		g_cond_wait(condition, &mutex);
	g_mutex_unlock(&mutex);
}

__attribute__((noinline)) static void use_bit(void)
{
	g_bit_lock(&word, 3);
	g_bit_unlock(&word, 3);
}

static void *use_all(void *unused)
{
	use_mutex();
	use_bit();
	use_condition();
	return unused;
}

static void pause_30_ms(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 30000000 }, NULL);
}

int main(void)
{
	pthread_t thread;

	g_mutex_lock(&mutex);
	g_bit_lock(&word, 3);
	pthread_create(&thread, NULL, use_all, NULL);
	pause_30_ms();
	g_mutex_unlock(&mutex);
	pause_30_ms();
	g_bit_unlock(&word, 3);
	pause_30_ms();
	g_mutex_lock(&mutex);
	is_over = 1;
	g_mutex_unlock(&mutex);
	g_cond_signal(condition);
	pthread_join(thread, NULL);
	return 0;
}
