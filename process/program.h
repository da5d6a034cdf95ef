/* SPDX-License-Identifier: MIT */
#ifndef PROCESS_PROGRAM_H
#define PROCESS_PROGRAM_H

/* Reads facts about a program from its ELF file, which may be hostile. */

#include <elf.h>
#include <stdbool.h>

#define PROGRAM_HEADERS_MAX 256

/* Reads the program headers, at most PROGRAM_HEADERS_MAX. Returns their number. */
unsigned program_headers(int fd, const Elf64_Ehdr *header, Elf64_Phdr *headers);

/*
 * Returns the name of the sanitizer that defines malloc in this program, or NULL. Like our library,
 * a sanitizer replaces malloc and must be the first library: otherwise AddressSanitizer ends the
 * program. If a sanitizer is compiled into the program, it precedes every library. Both cases are
 * recognized by an entry point that the program imports or exports.
 */
const char *program_sanitizer(int fd, const Elf64_Ehdr *header);

/* Whether a text, such as a value of LD_PRELOAD, names the library of one of these sanitizers. */
bool program_names_sanitizer(const char *text);

#endif
