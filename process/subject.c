/* SPDX-License-Identifier: MIT */
#include "process/subject.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "process/proc.h"

#define STACK_MAX (256u << 10) /* maximum size of the copy of a stack, in bytes */

static size_t read_running(const struct subject *subject, uint64_t address, void *bytes,
			   size_t size)
{
	struct iovec to = { bytes, size }, from = { (void *)(uintptr_t)address, size };
	ssize_t got = process_vm_readv(subject->thread, &to, 1, &from, 1, 0);

	if (got != (ssize_t)size && subject->memory >= 0)
		got = pread(subject->memory, bytes, size, (off_t)address);
	return got < 0 ? 0 : (size_t)got;
}

void subject_begin(struct subject *subject, int32_t pid)
{
	*subject =
		(struct subject){ .pid = pid, .thread = pid, .memory = -1, .read = read_running };
	if (proc_has_ended(pid, pid)) {
		size_t count;
		cleanup_free int32_t *threads = proc_threads(pid, &count);

		for (size_t i = 0; i < count && subject->thread == pid; i++)
			if (!proc_has_ended(pid, threads[i]))
				subject->thread = threads[i];
	}
}

int subject_open_memory(struct subject *subject, int mode)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/mem", (int)subject->pid,
		 (int)subject->thread);
	subject->memory = open(path, mode | O_CLOEXEC);
	return subject->memory < 0 ? -errno : 0;
}

void subject_end(struct subject *subject)
{
	maps_free(&subject->maps);
	if (subject->memory >= 0)
		close(subject->memory);
	subject->memory = -1;
}

/* Opens a file of the thread, or of the process if the thread's directory has no such file. */
FILE *subject_open(const struct subject *subject, const char *name)
{
	int fd = proc_open(subject->pid, subject->thread, name);

	if (fd < 0)
		fd = proc_open(subject->pid, 0, name);
	return fd < 0 ? NULL : fdopen(fd, "r");
}

size_t subject_read(const struct subject *subject, uint64_t address, void *bytes, size_t size)
{
	return subject->read(subject, address, bytes, size);
}

int subject_get(const struct subject *subject, uint64_t address, void *bytes, size_t size)
{
	return subject->read(subject, address, bytes, size) == size ? 0 : -EFAULT;
}

void subject_copy_stack(const struct subject *subject, uint64_t pointer,
			struct subject_stack *stack)
{
	const struct mapping *mapping = maps_at(&subject->maps, pointer);
	uint64_t size = mapping ? mapping->to - pointer : 0;

	size = size < STACK_MAX ? size : STACK_MAX;
	free(stack->bytes);
	*stack = (struct subject_stack){ .bytes = size ? malloc(size) : NULL, .from = pointer };
	if (stack->bytes)
		stack->size = subject_read(subject, pointer, stack->bytes, size);
}
