/* SPDX-License-Identifier: MIT */
/* Resources of the program's own: gained and lost, counted, and refused when there are too many. */
#include "expect.h"
#include "holdtrace.h"

#include <stdbool.h>

static char objects[3];

int main(void)
{
	unsigned tile = holdtrace_class_create("tile", "tile of the map", false);
	unsigned reference = holdtrace_class_create("reference", "reference to a tile", true);
	unsigned last = reference;
	char name[16];

	if (holdtrace_class_create("tile", "again", false) != tile)
		return 1;
	holdtrace_acquired(tile, &objects[0], 64);
	expect("holdtrace_acquired<tile>(64) = %p", (void *)&objects[0]);
	holdtrace_acquired(reference, &objects[1], 1);
	holdtrace_acquired(reference, &objects[1], 1);
	expect("holdtrace_acquired<reference>(1) = %p", (void *)&objects[1]);
	expect("holdtrace_acquired<reference>(1) = %p", (void *)&objects[1]);
	holdtrace_released(reference, &objects[1]);
	expect("holdtrace_released<reference>(%p)", (void *)&objects[1]);
	holdtrace_released(tile, &objects[0]);
	expect("holdtrace_released<tile>(%p)", (void *)&objects[0]);
	holdtrace_acquired(0, &objects[2], 5);
	holdtrace_acquired(4711, &objects[2], 5);
	expect_print();
	printf("- holdtrace_acquired*(5)*\n= 5 holdtrace_*\n");
	for (int i = 0; i < 32 && (tile == 0 || last); i++) {
		snprintf(name, sizeof(name), "class %d", i);
		last = holdtrace_class_create(name, "one more", false);
	}
	return last != 0;
}
