/* SPDX-License-Identifier: MIT */
/*
 * rising: four places that hold something in the end, over 120 steps of 2 ms: one that only grows,
 * one that is a sawtooth, one that is filled at the start, one whose single block is replaced.
 */
#include <stdlib.h>
#include <unistd.h>

enum { STEPS = 120, TOOTH = 40 };

static void *volatile grown[STEPS], *tooth[TOOTH], *filled[20], *replaced;

static void __attribute__((noinline, noclone)) climb(int step)
{
	grown[step] = malloc(100);
}

static void __attribute__((noinline, noclone)) saw(int step)
{
	if (step % TOOTH == 0)
		for (int i = 0; i < TOOTH; i++) {
			free(tooth[i]);
			tooth[i] = NULL;
		}
	tooth[step % TOOTH] = malloc(200);
}

static void __attribute__((noinline, noclone)) fill(void)
{
	for (int i = 0; i < 20; i++)
		filled[i] = malloc(300);
}

static void __attribute__((noinline, noclone)) replace(void)
{
	free(replaced);
	replaced = malloc(400);
}

int main(void)
{
	fill();
	for (int step = 0; step < STEPS; step++) {
		climb(step);
		saw(step);
		replace();
		usleep(2000);
	}
	return 0;
}
