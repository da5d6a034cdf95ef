/* SPDX-License-Identifier: MIT */
/* Semaphores exist; their waits and posts gain and lose nothing. */
#include "expect.h"

#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <unistd.h>

int main(void)
{
	struct timespec until = { .tv_sec = 1 };
	char name[64];
	void *s, *n;
	sem_t sem, *named;

	s = &sem;
	sem_init(&sem, 0, 1);
	expect("sem_init<semaphore>(1) = %p\n\t$shared = 0\n\t$value = 1", s);
	sem_wait(&sem);
	if (sem_trywait(&sem) != -1 || errno != EAGAIN || sem_timedwait(&sem, &until) != -1)
		return 1;
	expect("sem_wait<event>(%p)\nsem_trywait<event>(%p)", s, s);
	expect("sem_timedwait<event>(%p)\n\t$until = 1.000000000", s);
	sem_post(&sem);
	sem_destroy(&sem);
	expect("sem_post<event>(%p)\nsem_destroy<semaphore>(%p)", s, s);
	snprintf(name, sizeof(name), "/holdtrace-test-%d", getpid());
	named = sem_open(name, O_CREAT | O_EXCL, 0600, 3);
	n = named;
	expect("sem_open<semaphore>(1) = %p\n\t$name = %s\n\t$flags = 0x%x\n\t$mode = "
	       "0600\n\t$value = 3",
	       n, name, O_CREAT | O_EXCL);
	sem_unlink(name);
	sem_close(named);
	expect("sem_close<semaphore>(%p)", n);
	expect_print();
	return 0;
}
