/* SPDX-License-Identifier: MIT */
/* Known waits for objects of GLib; needs no headers of GLib. */
#include "known-waits.h"

extern "C" {
void g_mutex_lock(void *), g_mutex_unlock(void *);
void g_cond_wait(void *, void *), g_cond_signal(void *);
int g_cond_wait_until(void *, void *, long);
long g_get_monotonic_time(void);
void g_rec_mutex_lock(void *), g_rec_mutex_unlock(void *);
void g_rw_lock_writer_lock(void *), g_rw_lock_writer_unlock(void *);
void g_rw_lock_reader_lock(void *), g_rw_lock_reader_unlock(void *);
void g_bit_lock(volatile int *, int), g_bit_unlock(volatile int *, int);
void *g_async_queue_new(void);
void *g_async_queue_pop(void *);
void g_async_queue_push(void *, void *);
int g_once_init_enter(volatile void *);
void g_once_init_leave(volatile void *, unsigned long);
}

static void *mutex, *condition[2], *recursive[2], *rwlock[2],
	*queue; /* zero is their initial value */
static volatile int word;
static int is_over;
static volatile unsigned long once;

FUNCTION(take_mutex, g_mutex_lock(&mutex))
FUNCTION(wait_mutex, g_mutex_lock(&mutex))
FUNCTION(wake_mutex, g_mutex_unlock(&mutex))
FUNCTION(take_bit, g_bit_lock(&word, 3))
FUNCTION(wait_bit, g_bit_lock(&word, 3))
FUNCTION(wake_bit, g_bit_unlock(&word, 3))
FUNCTION(take_condition, is_over = 0)
FUNCTION(wait_condition, g_mutex_lock(&mutex); while (!is_over) g_cond_wait(condition, &mutex);
	 g_mutex_unlock(&mutex))
FUNCTION(wake_condition, g_mutex_lock(&mutex); is_over = 1; g_mutex_unlock(&mutex);
	 g_cond_signal(condition))
FUNCTION(wait_until, g_mutex_lock(&mutex);
	 while (!is_over) g_cond_wait_until(condition, &mutex, g_get_monotonic_time() + 60000000);
	 g_mutex_unlock(&mutex))
FUNCTION(wake_until, g_mutex_lock(&mutex); is_over = 1; g_mutex_unlock(&mutex);
	 g_cond_signal(condition))
FUNCTION(wait_queue, if (!g_async_queue_pop(queue)) abort())
FUNCTION(wake_queue, g_async_queue_push(queue, &queue))
FUNCTION(take_once, once = 0; if (!g_once_init_enter(&once)) abort())
FUNCTION(wait_once, if (g_once_init_enter(&once)) abort())
FUNCTION(wake_once, g_once_init_leave(&once, 1))
FUNCTION(take_recursive, g_rec_mutex_lock(recursive))
FUNCTION(wait_recursive, g_rec_mutex_lock(recursive))
FUNCTION(wake_recursive, g_rec_mutex_unlock(recursive))
FUNCTION(take_writer, g_rw_lock_writer_lock(rwlock))
FUNCTION(wait_writer, g_rw_lock_writer_lock(rwlock))
FUNCTION(wake_writer, g_rw_lock_writer_unlock(rwlock))
FUNCTION(wait_reader, g_rw_lock_reader_lock(rwlock))
FUNCTION(wake_reader, g_rw_lock_writer_unlock(rwlock))
FUNCTION(leave_mutex, g_mutex_unlock(&mutex))
FUNCTION(leave_bit, g_bit_unlock(&word, 3))
FUNCTION(leave_recursive, g_rec_mutex_unlock(recursive))
FUNCTION(leave_writer, g_rw_lock_writer_unlock(rwlock))
FUNCTION(leave_reader, g_rw_lock_reader_unlock(rwlock))

static const struct known objects[] = {
	KNOWN(mutex, "mutex", "woken", take_mutex, leave_mutex),
	KNOWN(bit, "mutex", "woken", take_bit, leave_bit),
	KNOWN(condition, "condition", "woken", take_condition, NULL),
	KNOWN(until, "condition", "woken", take_condition, NULL),
	KNOWN(queue, "condition", "woken", NULL, NULL),
	KNOWN(once, "condition", "woken", take_once, NULL),
	KNOWN(recursive, "mutex", "held:take_recursive", take_recursive, leave_recursive),
	KNOWN(writer, "write", "held:take_writer", take_writer, leave_writer),
	KNOWN(reader, "read", "held:take_writer", take_writer, leave_reader),
};

int main(int, char **arguments)
{
	queue = g_async_queue_new();
	return known_main(objects, sizeof(objects) / sizeof(*objects), arguments[1]);
}
