/* SPDX-License-Identifier: MIT */
/*
 * solver FILE [repaired]: one of eight ranks of a parallel job, by MPI if it is compiled with
 * mpicc, else by the variable PMI_RANK and with a new FILE. Rank 3 leaks 50 blocks of 1,000 bytes,
 * unless repaired. Rank 1 is slow: it computes for 0.4 s while it has a lock of FILE, for which the
 * other ranks wait. In each rank, a thread has a mutex for 150 ms, for which the first thread
 * waits.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifdef MPI_VERSION_WANTED
#include <mpi.h>
#endif

#define NOT_SHARED __attribute__((noinline, noclone, optimize("no-optimize-sibling-calls")))

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t start;
static void *volatile kept;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static NOT_SHARED void compute(double seconds)
{
	for (double end = now() + seconds; now() < end;)
		;
}

static NOT_SHARED void *assemble(void *context)
{
	pthread_mutex_lock(&mutex);
	pthread_barrier_wait(&start);
	usleep(150000);
	pthread_mutex_unlock(&mutex);
	return context;
}

static NOT_SHARED void exchange(void)
{
	pthread_barrier_wait(&start);
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

static NOT_SHARED void refine(void)
{
	for (int i = 0; i < 50; i++)
		kept = malloc(1000);
}

static NOT_SHARED void wait_for_ranks(const char *file, int rank)
{
	int fd = open(file, O_RDWR | O_CREAT | O_APPEND, 0600);
	struct stat facts = { .st_size = 0 };

	if (rank == 1)
		flock(fd, LOCK_EX);
#ifdef MPI_VERSION_WANTED
	(void)facts;
	MPI_Barrier(MPI_COMM_WORLD);
#else
	/* a barrier without a wait: each rank appends a byte */
	if (write(fd, "", 1) < 0)
		exit(1);
	while (facts.st_size < 8 && fstat(fd, &facts) == 0)
		sched_yield();
#endif
	if (rank == 1)
		compute(0.4);
	else
		flock(fd, LOCK_SH);
	close(fd);
}

int main(int argc, char **argv)
{
	const char *text = getenv("PMI_RANK");
	int rank = text ? atoi(text) : 0;
	pthread_t thread;

#ifdef MPI_VERSION_WANTED
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#endif
	if (argc < 2)
		return 1;
	alarm(60); /* a rank that does not start must not keep the others waiting */
	pthread_barrier_init(&start, NULL, 2);
	pthread_create(&thread, NULL, assemble, NULL);
	exchange();
	pthread_join(thread, NULL);
	if (rank == 3 && argc < 3)
		refine();
	wait_for_ranks(argv[1], rank);
#ifdef MPI_VERSION_WANTED
	MPI_Finalize();
#endif
	return 0;
}
