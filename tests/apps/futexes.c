/* SPDX-License-Identifier: MIT */
/*
 * Futexes by syscall: a wait is an event if it slept, a wake if it woke a thread. errno, the sixth
 * argument, jumps, cancellation, handlers and children of vfork are as without a trace.
 */
#include "expect.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static atomic_int word, other;
static sigjmp_buf place;
static int woken_by_handler;

static long futex(atomic_int *at, int operation, int value, const struct timespec *limit, int bits)
{
	return syscall(SYS_futex, at, operation, value, limit, NULL, bits);
}

static void jump(int number)
{
	siglongjmp(place, number);
}

static void wake_nothing(int number)
{
	(void)number;
	errno = 0;
	woken_by_handler = futex(&word, FUTEX_WAKE, 1, NULL, 0) == 0 && !errno;
}

static void *wait_for_bits(void *unused)
{
	while (!atomic_load(&other))
		futex(&other, FUTEX_WAIT_BITSET, 0, NULL, 2);
	return unused;
}

static void *wait_forever(void *unused)
{
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	for (;;)
		futex(&word, FUTEX_WAIT, 0, NULL, 0);
	return unused;
}

int main(void)
{
	const struct timespec limit = { .tv_nsec = 2000000 };
	pthread_t thread;
	void *result;
	long volatile woken;

	/* not of the value: nothing was waited for */
	if (futex(&word, FUTEX_WAIT, 1, NULL, 0) != -1 || errno != EAGAIN)
		return 1;
	if (futex(&word, FUTEX_WAKE, 1, NULL, 0))
		return 2;
	errno = 7;
	if (futex(&word, FUTEX_WAKE, 1, NULL, 0) || errno != 7)
		return 3;
	if (futex(&word, FUTEX_WAIT_PRIVATE, 0, &limit, 0) != -1 || errno != ETIMEDOUT)
		return 4;
	expect("syscall<event>(%p)\n\t$number = %d\n\t$second = 128\n\t$third = 0", (void *)&word,
	       SYS_futex);
	if (futex((void *)8, FUTEX_WAIT, 0, NULL, 0) != -1 || errno != EFAULT)
		return 5;

	/* bits 1 do not wake a thread that waits for bits 2: the kernel got the sixth argument */
	pthread_create(&thread, NULL, wait_for_bits, NULL);
	usleep(20000);
	if (futex(&other, FUTEX_WAKE_BITSET, 9, NULL, 1))
		return 6;
	atomic_store(&other, 1);
	do
		woken = futex(&other, FUTEX_WAKE_BITSET, 9, NULL, 2);
	while (!woken && pthread_tryjoin_np(thread, NULL));
	if (woken) {
		pthread_join(thread, NULL);
		expect("syscall<event>(%p)\n\t$number = %d\n\t$second = 10\n\t$third = 9\n"
		       "syscall<event>(%p)\n\t$number = %d\n\t$second = 9\n\t$third = 0",
		       (void *)&other, SYS_futex, (void *)&other, SYS_futex);
	}

	signal(SIGALRM, wake_nothing);
	ualarm(2000, 0);
	if (futex(&word, FUTEX_WAIT, 0, &(struct timespec){ .tv_nsec = 50000000 }, 0) != -1 ||
	    (errno != EINTR && errno != ETIMEDOUT) || !woken_by_handler)
		return 7;
	signal(SIGALRM, jump);
	if (!sigsetjmp(place, 1)) {
		ualarm(2000, 0);
		futex(&word, FUTEX_WAIT, 0, NULL, 0);
		return 8;
	}
	pthread_create(&thread, NULL, wait_forever, NULL);
	usleep(20000);
	pthread_cancel(thread);
	if (pthread_join(thread, &result) || result != PTHREAD_CANCELED)
		return 9;
	if (!vfork()) {
		futex(&word, FUTEX_WAIT, 0, &limit, 0);
		_exit(0);
	}
	wait(NULL);
	free(malloc(77));
	expect("malloc<memory>(77) = *");
	expect_print();
	puts("- ~open*");
	/* time-out, interrupted or too late, left by a jump, cancelled, of the child; with bits:
	 * two */
	printf("= %d syscall<event>*\n", woken ? 7 : 5);
	return 0;
}
