/* SPDX-License-Identifier: MIT */
/* Shared memory: POSIX objects and their descriptors, System V segments and where they lie. */
#include "expect.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

static void posix(void)
{
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "/holdtrace-%d", (int)getpid());
	fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd < 0)
		exit(1);
	expect("shm_open<pshmobj>(1) = 0x*\n\t$name = %s\n\t$oflag = 0xc2\n\t$mode = 0x180", name);
	expect("shm_open<fd>(1) = 0x%x\nshm_open<pshmfd>(1) = 0x%x", fd, fd);
	close(fd);
	expect("close<pshmfd>(0x%x)\nclose<fd>(0x%x)", fd, fd);
	fd = shm_open(name, O_RDONLY, 0);
	expect("shm_open<fd>(1) = 0x%x\nshm_open<pshmfd>(1) = 0x%x", fd, fd);
	if (dup2(2, fd) != fd || shm_unlink(name))
		exit(1);
	expect("dup2<pshmfd>(0x%x)\ndup2<fd>(0x%x)\ndup2<fd>(1) = 0x%x", fd, fd, fd);
	expect("shm_unlink<pshmobj>(0x*)\n\t$name = %s", name);
	close(fd);
	expect("close<fd>(0x%x)", fd);
	if (shm_open(name, O_RDONLY, 0) != -1 || errno != ENOENT)
		exit(1);
	expect("shm_open<event>(0xffffffffffffffff)\n\t$name = %s", name);
}

static void system_v(void)
{
	int id = shmget(IPC_PRIVATE, 10000, 0600);
	struct shmid_ds status;
	char *at;

	if (id < 0)
		exit(1);
	expect("shmget<segment>(10000) = 0x%x\n\t$key = 0x0\n\t$flags = 0x180", id);
	at = shmat(id, NULL, 0);
	expect("shmat<address>(10000) = 0x%lx\n\t$shmid = 0x%x\n\t$cpid = *\n\t$flags = 0x0",
	       (unsigned long)at, id);
	if (shmctl(id, IPC_STAT, &status) || shmctl(id, IPC_RMID, NULL) || shmdt(at))
		exit(1);
	expect("shmctl<segment>(0x%x)\nshmctl<control>(0x%x)\n\t$cmd = IPC_RMID", id, id);
	expect("shmdt<address>(0x%lx)", (unsigned long)at);
	errno = 0;
	if (shmat(id, NULL, 0) != (void *)-1 || errno != EINVAL)
		exit(1);
	expect("shmat<event>(0xffffffffffffffff)");
}

int main(void)
{
	posix();
	system_v();
	expect_print();
	printf("= 1 close<pshmfd>(*)\n");
	return 0;
}
