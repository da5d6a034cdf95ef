/* SPDX-License-Identifier: MIT */
/*
 * vectors [deep]: one thread that sleeps with a value of its own in every vector register that the
 * processor has, and looks at them each time it wakes; deep: where its stack has grown to, with
 * less room in the last page than the frame of a signal takes. Ends at SIGTERM, with status 1 if
 * a register or a sleep was not as it should be.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t is_over;
static unsigned long rounds, wrong;
static const struct timespec nap = { .tv_nsec = 20000000 };

struct registers {
	uint64_t vectors[32][8]; /* narrower ones lie as close */
	uint64_t masks[8];
};

static struct registers before __attribute__((aligned(64)));
static struct registers after __attribute__((aligned(64)));

static void end(int number)
{
	is_over = number;
}

#ifdef __x86_64__

#define FIRST_16 "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15"
#define LAST_16	 "16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31"
#define MASKS	 "1,2,3,4,5,6,7"

/* From all of memory to registers, or back; %0: where all of it is. */
#define LOAD(instruction, width, name, which) \
	".irp n," which "\n"                  \
	"\t" instruction " " width "*\\n(%[from]), %%" name "\\n\n\t.endr\n\t"
#define STORE(instruction, width, name, which) \
	".irp n," which "\n"                   \
	"\t" instruction " %%" name "\\n, " width "*\\n(%[to])\n\t.endr\n\t"

/* Nothing comes between the registers and the call. */
#define SLEEP(load, store, ...)                                                                    \
	__asm__ volatile(load "syscall\n\t" store                                                  \
			 : "=a"(result)                                                            \
			 : "0"((long)SYS_nanosleep), "D"(&nap),                                    \
			   "S"(0L), [from] "r"(&before), [to] "r"(&after)                          \
			 : "rcx", "r11", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", \
			   "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",     \
			   "xmm14", "xmm15", ##__VA_ARGS__)

__attribute__((target("avx512f,avx512bw"), noinline)) static long sleep_avx512(void)
{
	long result;

	SLEEP(LOAD("vmovdqu64", "64", "zmm", FIRST_16) LOAD("vmovdqu64", "64", "zmm", LAST_16)
		      LOAD("kmovq", "2048+8", "k", MASKS),
	      STORE("vmovdqu64", "64", "zmm", FIRST_16) STORE("vmovdqu64", "64", "zmm", LAST_16)
		      STORE("kmovq", "2048+8", "k", MASKS),
	      "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24",
	      "xmm25", "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3", "k4",
	      "k5", "k6", "k7");
	return result;
}

__attribute__((target("avx"), noinline)) static long sleep_avx(void)
{
	long result;

	SLEEP(LOAD("vmovdqu", "32", "ymm", FIRST_16), STORE("vmovdqu", "32", "ymm", FIRST_16));
	return result;
}

__attribute__((noinline)) static long sleep_sse(void)
{
	long result;

	SLEEP(LOAD("movdqu", "16", "xmm", FIRST_16), STORE("movdqu", "16", "xmm", FIRST_16));
	return result;
}

/* How many bytes of the registers there are. */
static size_t size_of_all(void)
{
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw"))
		return sizeof(before);
	return __builtin_cpu_supports("avx") ? 16 * 32 : 16 * 16;
}

static long sleep_with(size_t size)
{
	return size == sizeof(before) ? sleep_avx512()
	       : size == 16 * 32      ? sleep_avx()
				      : sleep_sse();
}

#else

static size_t size_of_all(void)
{
	return 0;
}

static long sleep_with(size_t size)
{
	(void)size;
	return syscall(SYS_nanosleep, &nap, NULL) ? -errno : 0;
}

#endif

/* No function of libc: to find it takes some stack. */
static bool is_same(size_t size)
{
	const volatile uint8_t *left = (const uint8_t *)&before, *right = (const uint8_t *)&after;
	size_t i = 0;

	while (i < size && left[i] == right[i])
		i++;
	return i == size;
}

static void hold(size_t size)
{
	before.masks[0] = after.masks[0] = 0; /* which no instruction can load */
	while (!is_over) {
		long result = sleep_with(size);

		if (!is_same(size) || (result && !is_over))
			wrong++;
		rounds++;
	}
}

/* A frame small enough for none of them to pass by. */
__attribute__((noinline)) static void go_down(int depth, size_t size)
{
	volatile char room[100] = { 0 };
	uintptr_t at = (uintptr_t)__builtin_frame_address(0) & 4095;

	if (depth > 0 || at < 700 || at > 1100)
		go_down(depth - 1, size);
	else
		hold(size);
	/* no jump, which would take the room away */
	wrong += room[0] != 0;
}

int main(int argc, char **argv)
{
	bool is_deep = argc > 1 && strcmp(argv[1], "deep") == 0;
	size_t size = size_of_all();

	signal(SIGTERM, end);
	for (size_t i = 0; i < sizeof(before); i++)
		((uint8_t *)&before)[i] = (uint8_t)(i * 37 + i / 64 + 1);
	if (is_deep)
		go_down(3000, size);
	else
		hold(size);
	printf("rounds %lu wrong %lu, %zu bytes of registers\n", rounds, wrong, size);
	return wrong != 0;
}
