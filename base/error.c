/* SPDX-License-Identifier: MIT */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int error_set(struct error *err, int number, const char *format, ...)
{
	if (err) {
		va_list args;

		va_start(args, format);
		vsnprintf(err->text, sizeof(err->text), format, args);
		va_end(args);
		err->number = number;
	}
	return -number;
}

int error_system(struct error *err, int number, const char *format, ...)
{
	if (err) {
		va_list args;
		size_t used;

		va_start(args, format);
		vsnprintf(err->text, sizeof(err->text), format, args);
		va_end(args);
		used = strlen(err->text);
		snprintf(err->text + used, sizeof(err->text) - used, ": %s", strerror(number));
		err->number = number;
	}
	return -number;
}

int error_prefix(struct error *err, const char *format, ...)
{
	char text[ERROR_TEXT_MAX];
	va_list args;
	size_t used;

	if (!err)
		return 0;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	used = strlen(text);
	snprintf(text + used, sizeof(text) - used, ": %.*s", (int)(sizeof(text) - used - 3),
		 err->text);
	memcpy(err->text, text, sizeof(text));
	return -err->number;
}
