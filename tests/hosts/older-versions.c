/* SPDX-License-Identifier: MIT */
/* older-versions: calls functions in versions that glibc keeps for programs of long ago. */
#include <pthread.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "made.h"

#ifdef __x86_64__
__asm__(".symver posix_spawn,posix_spawn@GLIBC_2.2.5");
__asm__(".symver posix_spawnp,posix_spawnp@GLIBC_2.2.5");
__asm__(".symver fmemopen,fmemopen@GLIBC_2.2.5");
__asm__(".symver pthread_cond_init,pthread_cond_init@GLIBC_2.2.5");
__asm__(".symver pthread_cond_broadcast,pthread_cond_broadcast@GLIBC_2.2.5");
__asm__(".symver pthread_cond_destroy,pthread_cond_destroy@GLIBC_2.2.5");
#endif

extern char **environ;

/* A script without a #! line, which the older functions gave to the shell. */
static void spawn_script(void)
{
	char path[] = "/tmp/older-versions.XXXXXX", *arguments[] = { path, NULL };
	int fd = mkstemp(path), result, status = -1;
	pid_t child;

	if (write(fd, "exit 5\n", 7) != 7 || fchmod(fd, 0700))
		return;
	close(fd);
	result = posix_spawn(&child, path, NULL, NULL, arguments, environ);
	if (!result)
		waitpid(child, &status, 0);
	printf("posix_spawn %d %d\n", result, status);
	status = -1;
	result = posix_spawnp(&child, path, NULL, NULL, arguments, environ);
	if (!result)
		waitpid(child, &status, 0);
	printf("posix_spawnp %d %d\n", result, status);
	unlink(path);
}

int main(void)
{
	union {
		pthread_cond_t cond;
		unsigned char bytes[sizeof(pthread_cond_t)];
	} room;
	char text[16] = "abc";
	FILE *stream = fmemopen(text, sizeof(text), "rb");

	fseek(stream, 0, SEEK_END);
	printf("fmemopen %ld\n", ftell(stream));
	fclose(stream);
	spawn_script();
	memset(&room, 0x55, sizeof(room));
	pthread_cond_init(&room.cond, NULL);
	printf("pthread_cond_init %02x %02x\n", room.bytes[7], room.bytes[8]);
	pthread_cond_broadcast(&room.cond);
	pthread_cond_destroy(&room.cond);
	fflush(stdout);
	make(10, 1181);
	return 0;
}
