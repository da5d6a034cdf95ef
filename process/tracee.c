/* SPDX-License-Identifier: MIT */
#include "process/tracee.h"

#include "base/clock.h"

#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

/*
 * Time limit for a thread that may be unable to stop: the parent in a vfork, or a thread that waits
 * for a dead disk.
 */
#define STUCK_NS 200000000ull
/* Time limit for other threads. Another tracer may hold a thread, and must release it first. */
#define STOP_NS 5000000000ull
#define STEP_NS 50000
/*
 * Number of polls without a pause, since a stop usually takes only an interrupt of another
 * processor.
 */
#define SPIN 20

int tracee_ask(struct tracee *tracee, const struct stopping *stopping)
{
	*tracee = (struct tracee){ .tid = stopping->tid, .stopping = *stopping };
	if (ptrace(PTRACE_SEIZE, tracee->tid, NULL, NULL) ||
	    ptrace(PTRACE_INTERRUPT, tracee->tid, NULL, NULL))
		return -errno;
	return 0;
}

#if REGISTERS_COUNT > 0

/* Reads a register set. Returns the number of bytes, or a negative errno. */
static ssize_t get_set(const struct tracee *tracee, int type, void *to, size_t size)
{
	struct iovec part = { to, size };

	return ptrace(PTRACE_GETREGSET, tracee->tid, (void *)(uintptr_t)type, &part)
		       ? -errno
		       : (ssize_t)part.iov_len;
}

/* Computes the registers with which the thread must continue, and sets them if they differ. */
static void settle_registers(const struct tracee *tracee, registers_native *registers)
{
	struct iovec part = { registers, sizeof(*registers) };

	*registers = tracee->registers;
	if (stopping_settle(&tracee->stopping, registers, STOPPING_READ))
		ptrace(PTRACE_SETREGSET, tracee->tid, (void *)(uintptr_t)NT_PRSTATUS, &part);
}

/*
 * Reads the registers, and immediately sets those with which the thread must continue, so that the
 * thread continues correctly even if this process is killed.
 */
static int read_registers(struct tracee *tracee)
{
	registers_native *registers = &tracee->registers, settled;
	ssize_t got = get_set(tracee, NT_PRSTATUS, registers, sizeof(*registers));

	if (got < 0)
		return (int)got;
	tracee->pc = registers_pc(registers);
	tracee->sp = registers_sp(registers);
	tracee->tls = registers_tls(registers);
#ifdef REGISTERS_TLS
	get_set(tracee, REGISTERS_TLS, &tracee->tls, sizeof(tracee->tls));
#endif
	tracee->is_in_call = stopping_is_in_call(&tracee->stopping, registers);
	stopping_stopped(&tracee->stopping, registers);
	settle_registers(tracee, &settled);
	return 0;
}

unsigned tracee_vectors(const struct tracee *tracee, uint64_t *words, unsigned max)
{
	/* the kernel truncates a register set that is larger than the buffer */
	ssize_t got = tracee->is_in_call ? 0 : get_set(tracee, REGISTERS_VECTORS, words, max * 8ul);

	return got < 0 ? 0 : (unsigned)(got / 8);
}

#else

static int read_registers(struct tracee *tracee)
{
	(void)tracee;
	return -ENOSYS;
}

unsigned tracee_vectors(const struct tracee *tracee, uint64_t *words, unsigned max)
{
	(void)tracee, (void)words, (void)max;
	return 0;
}

#endif

void tracee_release(struct tracee *tracee)
{
	if (!tracee->tid || !tracee->is_stopped)
		return;
#if REGISTERS_COUNT > 0
	if (!tracee->signal) {
		registers_native settled;

		settle_registers(tracee, &settled);
		stopping_shorten(&tracee->stopping, &settled);
	}
#endif
	ptrace(PTRACE_DETACH, tracee->tid, NULL, (void *)(uintptr_t)tracee->signal);
	tracee->is_stopped = false;
}

int tracee_await(struct tracee *tracee)
{
	const struct timespec step = { .tv_nsec = STEP_NS };
	uint64_t until_ns = clock_ns() + (tracee->stopping.state == 'D' ? STUCK_NS : STOP_NS);
	int status = 0, rc;

	for (unsigned looks = 0;; looks++) {
		pid_t got = waitpid(tracee->tid, &status, __WALL | WNOHANG);

		if (got == tracee->tid && WIFSTOPPED(status))
			break;
		if (got == tracee->tid || (got < 0 && errno != EINTR)) {
			tracee->tid = 0;
			return 0;
		}
		if (clock_ns() > until_ns)
			return -EBUSY;
		if (looks > SPIN)
			nanosleep(&step, NULL);
	}
	tracee->is_stopped = true;
	tracee->signal = status >> 16 ? 0 : WSTOPSIG(status);
	rc = read_registers(tracee);
	/* the first thread may have ended alone (pthread_exit()): a zombie has no registers */
	if (rc == -ESRCH) {
		tracee->tid = 0;
		return 0;
	}
	if (rc)
		tracee_release(tracee);
	return rc;
}

int tracee_apart(void *(*work)(void *), void *argument)
{
	pthread_t tracer;
	int rc = pthread_create(&tracer, NULL, work, argument);

	return rc ? -rc : -pthread_join(tracer, NULL);
}
