/* SPDX-License-Identifier: MIT */
/*
 * Compares texts that are copied by words with texts that are copied by bytes: at each distance
 * from the end of readable memory, with each length up to some words, each buffer size, and various
 * bytes after the text.
 */
#include "tests/lib/tap.h"

#include "preload/ground/plain.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define LENGTHS 40
#define BEHIND	20
#define ROOMS	50

/* Returns the end of readable memory. */
static char *make_border(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *memory =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED || mprotect(memory + page, page, PROT_NONE) < 0)
		abort();
	return memory + page;
}

static char *put_text(char *border, size_t length, size_t behind)
{
	char *text = border - length - 1 - behind;

	memset(border - 200, 0xff, 200);
	for (size_t i = 0; i < length; i++)
		text[i] = (char)(1 + (i * 37 + length + behind) % 255);
	text[length] = 0;
	memset(text + length + 1, behind & 1, behind);
	return text;
}

static bool is_copied(const char *text, size_t room)
{
	char bytes[2 * ROOMS], words[2 * ROOMS];

	memset(bytes, 7, sizeof(bytes));
	memset(words, 7, sizeof(words));
	return plain_copy(bytes, text, room) == plain_copy_words(words, text, room) &&
	       !memcmp(bytes, words, sizeof(bytes));
}

int main(void)
{
	char *border = make_border();
	unsigned int copies = 0, lengths = 0, all = 0;

	for (size_t length = 0; length < LENGTHS; length++)
		for (size_t behind = 0; behind < BEHIND; behind++)
			for (size_t room = 1; room < ROOMS; room++, all++) {
				const char *text = put_text(border, length, behind);

				copies += is_copied(text, room);
				lengths += plain_length_most(text, room) ==
					   (length < room ? length : room);
			}
	ok(copies == all, "copying by words gives the same text as copying by bytes");
	ok(lengths == all, "plain_length_most() gives a text's length, up to the limit");
	return tap_end();
}
