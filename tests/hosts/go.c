/* SPDX-License-Identifier: MIT */
/* Looks like a program in Go: it has the note that Go's linker writes, with another text. */
#include <stdlib.h>

__asm__(".pushsection .note.go.buildid,\"a\",%note\n"
	"	.balign 4\n"
	"	.long 4, 8, 4\n"
	"	.asciz \"Go\\0\"\n"
	"	.ascii \"build-id\"\n"
	"	.popsection");

int main(void)
{
	free(malloc(1));
	return 0;
}
