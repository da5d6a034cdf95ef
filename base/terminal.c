/* SPDX-License-Identifier: MIT */
#include "base/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool terminal_has_colour(int fd)
{
	const char *forced = getenv("CLICOLOR_FORCE");

	if (*(getenv("NO_COLOR") ?: ""))
		return false;
	if (forced && *forced && strcmp(forced, "0") != 0)
		return true;
	return isatty(fd) && !terminal_is_dumb();
}

bool terminal_is_dumb(void)
{
	const char *kind = getenv("TERM") ?: "";

	return !*kind || !strcmp(kind, "dumb");
}

bool terminal_has_unicode(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *locale = getenv(names[i]);

		if (locale && *locale)
			return strcasestr(locale, "utf-8") || strcasestr(locale, "utf8");
	}
	return false;
}

unsigned terminal_width(int fd)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	long number;

	number = columns ? strtol(columns, NULL, 10) : 0;
	if (number > 0 && number <= TERMINAL_WIDTH_MAX)
		return (unsigned)number;
	return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : TERMINAL_WIDTH;
}
