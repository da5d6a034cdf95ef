/* SPDX-License-Identifier: MIT */
/* A mark stands in the trace between what was before and after it, whatever it says. */
#include "expect.h"
#include "holdtrace.h"

int main(void)
{
	void *block = malloc(100);

	expect("malloc<memory>(100) = %p", block);
	holdtrace_mark("half\n of it");
	expect("~mark<event>(0x0)\n\t$text = half*of it");
	free(block);
	expect("free<memory>(%p)", block);
	holdtrace_mark("");
	holdtrace_mark(NULL);
	expect("~mark<event>(0x0)");
	expect("~mark<event>(0x0)");
	expect_print();
	return 0;
}
