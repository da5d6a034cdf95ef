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
	holdtrace_gained(tile, &objects[0], 64);
	expect("holdtrace_gained<tile>(64) = %p", (void *)&objects[0]);
	holdtrace_gained(reference, &objects[1], 1);
	holdtrace_gained(reference, &objects[1], 1);
	expect("holdtrace_gained<reference>(1) = %p", (void *)&objects[1]);
	expect("holdtrace_gained<reference>(1) = %p", (void *)&objects[1]);
	holdtrace_lost(reference, &objects[1]);
	expect("holdtrace_lost<reference>(%p)", (void *)&objects[1]);
	holdtrace_lost(tile, &objects[0]);
	expect("holdtrace_lost<tile>(%p)", (void *)&objects[0]);
	holdtrace_gained(0, &objects[2], 5);
	holdtrace_gained(4711, &objects[2], 5);
	expect_print();
	printf("- holdtrace_gained*(5)*\n= 5 holdtrace_*\n");
	for (int i = 0; i < 32 && (tile == 0 || last); i++) {
		snprintf(name, sizeof(name), "class %d", i);
		last = holdtrace_class_create(name, "one more", false);
	}
	return last != 0;
}
