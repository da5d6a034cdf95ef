/* SPDX-License-Identifier: MIT */
#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static memory_end *end_of_program;
static _Thread_local memory_end *end_of_thread;

void memory_set_end(memory_end *end)
{
	end_of_program = end;
}

memory_end *memory_set_thread_end(memory_end *end)
{
	memory_end *before = end_of_thread;

	end_of_thread = end;
	return before;
}

static void *checked(void *memory)
{
	if (!memory && end_of_thread)
		end_of_thread();
	if (!memory && end_of_program)
		end_of_program();
	return memory;
}

void *memory_none(void)
{
	return checked(NULL);
}

/* Raises a size of 0 to 1, because malloc(0) may return NULL without having failed. */
void *memory_alloc(size_t size)
{
	return checked(malloc(size ? size : 1));
}

void *memory_zalloc(size_t count, size_t size)
{
	return checked(calloc(count ? count : 1, size ? size : 1));
}

void *memory_resize(void *memory, size_t size)
{
	return checked(realloc(memory, size ? size : 1));
}

char *memory_text(const char *text)
{
	return checked(strdup(text));
}

char *memory_text_part(const char *text, size_t length)
{
	return checked(strndup(text, length));
}

char *memory_format(const char *format, ...)
{
	char *text;
	va_list list;
	int length;

	va_start(list, format);
	length = vasprintf(&text, format, list);
	va_end(list);
	return checked(length < 0 ? NULL : text);
}
