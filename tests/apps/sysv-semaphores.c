/* SPDX-License-Identifier: MIT */
/* A set of System V is gained by who makes it; each operation of a semop is an event. */
#include "expect.h"

#include <errno.h>
#include <sys/sem.h>
#include <time.h>
#include <unistd.h>

union semun {
	int value;
	struct semid_ds *status;
	unsigned short *values;
};

int main(void)
{
	struct sembuf posts[] = { { 0, 2, 0 }, { 1, 3, 0 } };
	struct sembuf waits[] = { { 0, -1, 0 }, { 1, 4, 0 } };
	struct sembuf wait = { 0, -5, 0 };
	struct timespec limit = { .tv_nsec = 1000000 };
	unsigned short values[2] = { 7, 8 };
	key_t key = 0x40000000 + getpid();
	int id, other;

	id = semget(IPC_PRIVATE, 2, 0600);
	if (id < 0) {
		/* A kernel, or a jail, that has none. */
		puts("- semget<semset>*");
		return 0;
	}
	expect("semget<semset>(1) = 0x%x\n\t$key = 0x0\n\t$count = 2\n\t$flags = 0x180", id);
	/* The union goes through whole: a number and pointers. */
	if (semctl(id, 0, SETVAL, (union semun){ .value = 5 }) || semctl(id, 0, GETVAL) != 5 ||
	    semctl(id, 0, SETALL, (union semun){ .values = values }) || semctl(id, 1, GETVAL) != 8)
		return 1;
	expect("semctl<event>(0x%x)\n\t$number = 0\n\t$command = %d", id, SETVAL);
	if (semop(id, posts, 2) || semop(id, waits, 2))
		return 1;
	expect("semop<event>(0x%x)\n\t$number = 0\n\t$operation = 2", id);
	expect("semop<event>(0x%x)\n\t$number = 1\n\t$operation = 3", id);
	expect("semop<event>(0x%x)\n\t$number = 0\n\t$operation = -1", id);
	expect("semop<event>(0x%x)\n\t$number = 1\n\t$operation = 4", id);
	semctl(id, 0, SETVAL, (union semun){ .value = 0 });
	if (semtimedop(id, &wait, 1, &limit) != -1 || errno != EAGAIN)
		return 1;
	expect("semtimedop<event>(0x%x)\n\t$number = 0\n\t$operation = -5\n\t$limit = 0.001000000",
	       id);
	/* A list that is not there is the kernel's to refuse. */
	if (semop(id, NULL, 1) != -1 || errno != EFAULT)
		return 1;
	if (semctl(id, 0, IPC_RMID))
		return 1;
	expect("semctl<semset>(0x%x)\n\t$number = 0\n\t$command = 0", id);

	errno = 0;
	id = semget(key, 1, IPC_CREAT | 0600);
	if (id < 0 || errno)
		return 1;
	expect("semget<semset>(1) = 0x%x\n\t$key = 0x%x", id, key);
	other = semget(key, 1, IPC_CREAT | 0600);
	if (other != id || semget(key, 0, 0) != id || semctl(id, 0, IPC_RMID))
		return 1;
	expect("semget<event>(0x%x)\nsemget<event>(0x%x)\nsemctl<semset>(0x%x)", id, id, id);
	expect_print();
	return 0;
}
