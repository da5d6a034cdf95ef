/* SPDX-License-Identifier: MIT
 *
 * Linked into portable programs (release/link), which were compiled with the headers of a newer
 * libc but must start with glibc 2.17: the start of a program, and functions that only newer libcs
 * have.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#pragma GCC visibility push(hidden)

/* Declares a function by its symbol, because prototypes of libc's headers may redirect its name. */
#define NEWER(name) __asm__(#name)

int newer_fstat(int fd, struct stat *status) NEWER(fstat);
int newer_fstat64(int fd, struct stat *status) NEWER(fstat64);
int newer_stat(const char *path, struct stat *status) NEWER(stat);
int newer_stat64(const char *path, struct stat *status) NEWER(stat64);
int newer_lstat(const char *path, struct stat *status) NEWER(lstat);
int newer_lstat64(const char *path, struct stat *status) NEWER(lstat64);
int newer_fstatat(int directory, const char *path, struct stat *status, int flags) NEWER(fstatat);
int newer_fstatat64(int directory, const char *path, struct stat *status, int flags)
	NEWER(fstatat64);
int newer_statx(int directory, const char *path, int flags, unsigned mask, void *status)
	NEWER(statx);
int newer_fcntl64(int fd, int command, ...) NEWER(fcntl64);
int newer_memfd_create(const char *name, unsigned flags) NEWER(memfd_create);
int newer_close_range(unsigned first, unsigned last, int flags) NEWER(close_range);
int newer_renameat2(int from, const char *old, int to, const char *new, unsigned flags)
	NEWER(renameat2);
ssize_t newer_getrandom(void *to, size_t size, unsigned flags) NEWER(getrandom);
pid_t newer_gettid(void) NEWER(gettid);
void *newer_reallocarray(void *old, size_t count, size_t size) NEWER(reallocarray);
const char *newer_sigabbrev(int number) NEWER(sigabbrev_np);
const char *newer_strerrorname(int number) NEWER(strerrorname_np);

/* On 64-bit processors, the kernel's struct stat equals libc's. */
_Static_assert(sizeof(long) == 8, "only 64-bit processors are supported");

int newer_fstatat(int directory, const char *path, struct stat *status, int flags)
{
	return (int)syscall(SYS_newfstatat, directory, path, status, flags);
}

int newer_fstatat64(int directory, const char *path, struct stat *status, int flags)
{
	return newer_fstatat(directory, path, status, flags);
}

int newer_fstat(int fd, struct stat *status)
{
	return (int)syscall(SYS_fstat, fd, status);
}

int newer_fstat64(int fd, struct stat *status)
{
	return newer_fstat(fd, status);
}

int newer_stat(const char *path, struct stat *status)
{
	return newer_fstatat(AT_FDCWD, path, status, 0);
}

int newer_stat64(const char *path, struct stat *status)
{
	return newer_fstatat(AT_FDCWD, path, status, 0);
}

int newer_lstat(const char *path, struct stat *status)
{
	return newer_fstatat(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}

int newer_lstat64(const char *path, struct stat *status)
{
	return newer_fstatat(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}

int newer_statx(int directory, const char *path, int flags, unsigned mask, void *status)
{
	return (int)syscall(SYS_statx, directory, path, flags, mask, status);
}

int older_fcntl(int fd, int command, ...) __asm__("fcntl") __attribute__((visibility("default")));

int newer_fcntl64(int fd, int command, ...)
{
	va_list words;
	void *word;

	va_start(words, command);
	word = va_arg(words, void *);
	va_end(words);
	return older_fcntl(fd, command, word);
}

int newer_memfd_create(const char *name, unsigned flags)
{
	return (int)syscall(SYS_memfd_create, name, flags);
}

int newer_close_range(unsigned first, unsigned last, int flags)
{
	return (int)syscall(SYS_close_range, first, last, flags);
}

int newer_renameat2(int from, const char *old, int to, const char *new, unsigned flags)
{
	return (int)syscall(SYS_renameat2, from, old, to, new, flags);
}

ssize_t newer_getrandom(void *to, size_t size, unsigned flags)
{
	return syscall(SYS_getrandom, to, size, flags);
}

pid_t newer_gettid(void)
{
	return (pid_t)syscall(SYS_gettid);
}

void *newer_reallocarray(void *old, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(old, bytes);
}

/* Names of signals and errors: release/link makes both tables from the macros of libc's headers. */
static const char *const signals[] = {
#define NAME(name) [name] = &#name[3],
#include <signals.h>
#undef NAME
};

static const char *const errors[] = {
#define NAME(name) [name] = #name,
#include <errors.h>
#undef NAME
};

const char *newer_sigabbrev(int number)
{
	return number >= 0 && (size_t)number < sizeof(signals) / sizeof(signals[0])
		       ? signals[number]
		       : NULL;
}

const char *newer_strerrorname(int number)
{
	if (number == 0)
		return "0";
	return number > 0 && (size_t)number < sizeof(errors) / sizeof(errors[0]) ? errors[number]
										 : NULL;
}

#if IS_PROGRAM
typedef int main_function(int, char **, char **);

int start_program(main_function *main, int argc, char **argv, main_function *init,
		  void (*fini)(void), void (*loader_fini)(void), void *stack_end)
	NEWER(__libc_start_main);
int libc_start(main_function *main, int argc, char **argv, main_function *init, void (*fini)(void),
	       void (*loader_fini)(void), void *stack_end) __attribute__((visibility("default")));
__asm__(".symver libc_start,__libc_start_main@" OLDEST);

typedef void initializer(int, char **, char **);
extern initializer *const __preinit_array_start[], *const __preinit_array_end[];
extern initializer *const __init_array_start[], *const __init_array_end[];
void _init(void);

/*
 * Calls the program's constructors. Since glibc 2.34, libc calls them itself, so crt1.o passes no
 * function for this purpose (init is NULL). An older libc would then call no constructor.
 */
static int call_constructors(int argc, char **argv, char **environment)
{
	for (initializer *const *at = __preinit_array_start; at < __preinit_array_end; at++)
		(*at)(argc, argv, environment);
	_init();
	for (initializer *const *at = __init_array_start; at < __init_array_end; at++)
		(*at)(argc, argv, environment);
	return 0;
}

int start_program(main_function *main, int argc, char **argv, main_function *init,
		  void (*fini)(void), void (*loader_fini)(void), void *stack_end)
{
	return libc_start(main, argc, argv, init ?: call_constructors, fini, loader_fini,
			  stack_end);
}
#endif
