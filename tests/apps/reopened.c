/* SPDX-License-Identifier: MIT */
/* Streams that are opened again, lead to a program, or lie in memory. */
#include "expect.h"

#include <errno.h>
#include <unistd.h>

int main(void)
{
	char text[16], *made;
	FILE *stream = fopen("/etc/passwd", "r");
	unsigned long was = (unsigned long)stream;
	size_t size;
	int old = fileno(stream);

	if (freopen("/dev/null", "w", stream) != stream)
		return 1;
	expect("freopen<fd>(0x%x)\nfreopen<fp>(0x%lx)", old, was);
	expect("freopen<fd>(1) = 0x%x\n\t$path = /dev/null\n\t$mode = w\nfreopen<fp>(1) = 0x%lx",
	       fileno(stream), was);
	old = fileno(stream);
	if (freopen64("/no such place", "r", stream) || errno != ENOENT)
		return 1;
	expect("freopen64<fd>(0x%x)\nfreopen64<fp>(0x%lx)\nfreopen64<event>(0x0)", old, was);
	stream = popen("exit 3", "r");
	was = (unsigned long)stream;
	old = fileno(stream);
	expect("popen<fd>(1) = 0x%x\npopen<fp>(1) = 0x%lx\n\t$command = exit 3\n\t$mode = r", old,
	       was);
	if (pclose(stream) != 3 << 8)
		return 1;
	expect("pclose<fd>(0x%x)\npclose<fp>(0x%lx)\npclose<event>(0x%lx)", old, was, was);
	stream = fmemopen(text, sizeof(text), "w");
	was = (unsigned long)stream;
	expect("fmemopen<fp>(1) = 0x%lx\n\t$size = 16\n\t$mode = w", was);
	errno = 0;
	if (fclose(stream) || errno)
		return 1;
	expect("fclose<fp>(0x%lx)", was);
	stream = open_memstream(&made, &size);
	expect("open_memstream<fp>(1) = 0x%lx", (unsigned long)stream);
	fclose(stream);
	free(made);
	if (fcloseall())
		return 1;
	expect("fcloseall<event>(0x0)");
	expect_print();
	printf("= 2 fclose<*\n");
	return 0;
}
