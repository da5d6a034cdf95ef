/* SPDX-License-Identifier: MIT */
#include "resolver/module.h"

#include "base/cleanup.h"
#include "resolver/debuginfod.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define DEBUG_DIRECTORY "/usr/lib/debug"
#define BUILD_ID_MAX	64
/* Packed symbols larger than this are left alone. */
#define PACKED_MAX (64 << 20)

/* A place where debug files are looked for. */
struct debug_place {
	const char *root;
	const char *directory;
};

static struct debug_place debug_place(const struct resolve_options *options)
{
	if (options->debug_dir)
		return (struct debug_place){ .directory = options->debug_dir };
	return (struct debug_place){ .root = options->root, .directory = DEBUG_DIRECTORY };
}

/* Opens the file if it is there and has this build-id. */
static struct elffile *open_with_build_id(const char *root, const char *path,
					  const uint8_t *build_id, size_t size)
{
	struct elffile *file = NULL;

	if (elffile_open(&file, root, path, NULL) != 0)
		return NULL;
	if (elffile_has_build_id(file, build_id, size))
		return file;
	elffile_close(file);
	return NULL;
}

/* Returns false for an id of a length that no linker makes. */
static bool print_build_id(const uint8_t *build_id, size_t size, char digits[2 * BUILD_ID_MAX + 1])
{
	if (size < 2 || size > BUILD_ID_MAX)
		return false;
	for (size_t i = 0; i < size; i++)
		sprintf(digits + 2 * i, "%02x", build_id[i]);
	return true;
}

/* Opens DIRECTORY/.build-id/ab/cdef….debug if it is there and tells the truth. */
static struct elffile *open_by_build_id(const struct debug_place *place, const uint8_t *build_id,
					size_t size)
{
	cleanup_free char *path = NULL;
	char digits[2 * BUILD_ID_MAX + 1];

	if (!print_build_id(build_id, size, digits) ||
	    asprintf(&path, "%s/.build-id/%.2s/%s.debug", place->directory, digits, digits + 2) <
		    0) {
		path = NULL;
		return NULL;
	}
	return open_with_build_id(place->root, path, build_id, size);
}

/* Does the debug file belong to the module's file? */
static bool is_debug_of(const struct elffile *debug, const struct elffile *file, uint32_t expected)
{
	uint32_t crc;

	if (debug->header.e_machine != file->header.e_machine)
		return false;
	if (file->build_id_size && debug->build_id_size)
		return elffile_has_build_id(debug, file->build_id, file->build_id_size);
	return elffile_crc(debug, &crc) == 0 && crc == expected;
}

static struct elffile *open_linked(const char *root, const char *path, const struct elffile *file,
				   uint32_t crc)
{
	struct elffile *debug = NULL;

	if (elffile_open(&debug, root, path, NULL) != 0)
		return NULL;
	if (is_debug_of(debug, file, crc))
		return debug;
	elffile_close(debug);
	return NULL;
}

/* Opens what .gnu_debuglink names, in the three places where gdb looks. */
static struct elffile *open_by_link(const struct module_request *request,
				    const struct elffile *file)
{
	struct debug_place place = debug_place(request->options);
	const char *root = request->options->root;
	const char *slash = strrchr(request->path, '/');
	int directory_size = slash ? (int)(slash - request->path) : 1;
	const char *directory = slash ? request->path : ".";
	GElf_Word crc;
	const char *name = dwelf_elf_gnu_debuglink(file->elf, &crc);

	/* A path there is nobody's custom, and could lead anywhere. */
	if (!name || !name[0] || strchr(name, '/'))
		return NULL;
	for (unsigned i = 0; i < 3; i++) {
		static const char *const middle[] = { "", "/.debug", "" };
		cleanup_free char *path = NULL;
		struct elffile *debug;

		if (asprintf(&path, "%s%s%.*s%s/%s", i == 2 ? place.directory : "",
			     i == 2 && !slash ? "/" : "", directory_size, directory, middle[i],
			     name) < 0) {
			path = NULL;
			return NULL;
		}
		debug = open_linked(i == 2 ? place.root : root, path, file, crc);
		if (debug)
			return debug;
	}
	return NULL;
}

static bool has_debug_info(const struct elffile *file)
{
	return elffile_has_section(file, ".debug_info") ||
	       elffile_has_section(file, ".zdebug_info");
}

/* Where the file lies, all symbolic links followed. */
static bool path_of(const struct elffile *file, char path[PATH_MAX])
{
	char link[32];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", file->fd);
	length = readlink(link, path, PATH_MAX - 1);
	path[length > 0 ? length : 0] = 0;
	return path[0] == '/';
}

/* The path of the file that dwz moved parts to: relative names start where the debug file lies. */
static char *alternate_path(const struct elffile *debug, const char *name)
{
	char path[PATH_MAX], *slash, *joined;

	if (name[0] == '/')
		return strdup(name);
	slash = path_of(debug, path) ? strrchr(path, '/') : NULL;
	if (!slash || asprintf(&joined, "%.*s/%s", (int)(slash - path), path, name) < 0)
		return NULL;
	return joined;
}

/* libdw looks for a missing one itself and opens whatever stands at that path, be it a FIFO. */
static bool is_harmless(const char *path)
{
	struct stat status;

	return path && (stat(path, &status) != 0 || S_ISREG(status.st_mode));
}

/*
 * Gives the debug information the file that dwz moved parts to. Without that file some names are
 * missing. Returns false if the debug information must not be used.
 */
static bool add_alternate(struct module *module, const struct elffile *debug,
			  const struct resolve_options *options)
{
	struct debug_place place = debug_place(options);
	cleanup_free char *path = NULL;
	const uint8_t *build_id;
	const char *name;
	size_t size;

	if (!debuginfo_needs_alternate(module->debuginfo, &name, &build_id, &size))
		return true;
	path = alternate_path(debug, name);
	module->alternate = open_by_build_id(&place, build_id, size);
	if (!module->alternate && path)
		module->alternate = open_with_build_id(name[0] == '/' ? place.root : NULL, path,
						       build_id, size);
	if (!module->alternate)
		return is_harmless(path);
	return debuginfo_set_alternate(module->debuginfo, module->alternate) == 0;
}

/* Opens the package at FORMAT's path if there is one; the numbers of its units prove that it fits.
 */
static bool open_package(struct module *module, const char *root, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static bool open_package(struct module *module, const char *root, const char *format, ...)
{
	cleanup_free char *path = NULL;
	va_list args;
	int length;

	va_start(args, format);
	length = vasprintf(&path, format, args);
	va_end(args);
	if (length < 0)
		path = NULL;
	return path && elffile_open_package(&module->package, root, path, NULL) == 0;
}

/* Beside the program, beside its debug file, and where debug files are. */
static bool find_package(struct module *module, const struct elffile *debug)
{
	struct debug_place place = debug_place(module->options);
	const char *path = module->path, *slash = strrchr(path, '/');
	char beside[PATH_MAX], digits[2 * BUILD_ID_MAX + 1];
	const struct elffile *file = module_file(module);

	if (open_package(module, module->options->root, "%s.dwp", path))
		return true;
	if (path_of(debug, beside) && open_package(module, NULL, "%s.dwp", beside))
		return true;
	if (print_build_id(file->build_id, file->build_id_size, digits) &&
	    open_package(module, place.root, "%s/.build-id/%.2s/%s.dwp", place.directory, digits,
			 digits + 2))
		return true;
	return open_package(module, place.root, "%s/%s.dwp", place.directory, path) ||
	       open_package(module, place.root, "%s/%s.dwp", place.directory,
			    slash ? slash + 1 : path);
}

static void add_debuginfo(struct module *module, const struct resolve_options *options)
{
	const struct elffile *file = module->debug ? module->debug : module->file;

	if (options->symbols_only || !has_debug_info(file) ||
	    debuginfo_create(&module->debuginfo, file, module_file(module), NULL) != 0)
		return;
	if (!add_alternate(module, file, options)) {
		debuginfo_destroy(module->debuginfo);
		module->debuginfo = NULL;
	} else if (find_package(module, file)) {
		debuginfo_set_package(module->debuginfo, module->package, file);
	}
}

/* Unpacks .gnu_debugdata, a small ELF file in xz, which libdw does when it opens such a file. */
static int open_packed(struct module *module)
{
	Elf_Data *data = elffile_section(module->file, ".gnu_debugdata");
	struct elffile *small;

	if (!data || data->d_size == 0 || data->d_size > PACKED_MAX)
		return 0;
	small = calloc(1, sizeof(*small));
	if (!small)
		return -ENOMEM;
	small->fd = memfd_create("symbols", MFD_CLOEXEC);
	if (small->fd >= 0 && write(small->fd, data->d_buf, data->d_size) == (ssize_t)data->d_size)
		small->elf = dwelf_elf_begin(small->fd);
	if (!small->elf || elf_kind(small->elf) != ELF_K_ELF) {
		elffile_close(small);
		return 0;
	}
	module->small = small;
	return symtab_add(&module->symtab, small, SHT_SYMTAB, module->file);
}

/* The full symbol table, wherever it is, else the dynamic one and what Fedora adds to it. */
static int add_symbols(struct module *module)
{
	const struct elffile *code = module_file(module);
	int failure = 0;

	if (module->debug)
		failure = symtab_add(&module->symtab, module->debug, SHT_SYMTAB, code);
	if (!failure && module->file && module->symtab.names.count == 0)
		failure = symtab_add(&module->symtab, module->file, SHT_SYMTAB, code);
	module->has_symtab = module->symtab.names.count > 0;
	if (!failure && module->file && !module->has_symtab) {
		failure = symtab_add(&module->symtab, module->file, SHT_DYNSYM, code);
		if (!failure)
			failure = open_packed(module);
	}
	symtab_sort(&module->symtab);
	return failure;
}

/* 32-bit programs run on 64-bit machines. */
static bool is_machine(unsigned found, unsigned expected)
{
	return expected == EM_NONE || found == expected ||
	       (expected == EM_X86_64 && found == EM_386) ||
	       (expected == EM_AARCH64 && found == EM_ARM);
}

/* The kernel's own module is the same in every process of a kernel; the build-id tells which. */
static int open_path(struct module *module, const struct module_request *request, struct error *err)
{
	if (strcmp(request->path, "[vdso]") == 0)
		return elffile_open_vdso(&module->file, err);
	return elffile_open(&module->file, request->options->root, request->path, err);
}

static int open_file(struct module *module, const struct module_request *request,
		     enum resolve_reason *reason, struct error *err)
{
	int failure = open_path(module, request, err);

	if (failure) {
		*reason = failure == -ENOEXEC ? RESOLVE_REFUSED : RESOLVE_MISSING;
		return failure;
	}
	if (request->build_id_size &&
	    !elffile_has_build_id(module->file, request->build_id, request->build_id_size)) {
		*reason = RESOLVE_WRONG_FILE;
		failure = error_set(err, ESTALE,
				    "is not the file that was traced: its build-id differs");
	} else if (!is_machine(module->file->header.e_machine, request->machine)) {
		*reason = RESOLVE_WRONG_MACHINE;
		failure = error_set(err, EMEDIUMTYPE,
				    "is made for another kind of processor than the trace");
	}
	if (failure) {
		elffile_close(module->file);
		module->file = NULL;
	}
	return failure;
}

static bool is_special(const struct module_request *request)
{
	return request->path[0] == '[';
}

/* Asks the servers for a file, if that is wanted, and takes it if it is the right one. */
static struct elffile *download(const struct module_request *request, enum debuginfod_kind kind,
				const uint8_t *build_id, size_t size)
{
	cleanup_free char *path = NULL;
	struct debuginfod_question question = {
		.kind = kind,
		.build_id = build_id,
		.build_id_size = size,
		.name = request->path,
		.progress = request->progress,
		.context = request->progress_context,
	};

	if (!request->options->debuginfod || size == 0)
		return NULL;
	path = debuginfod_find(&question);
	return path ? open_with_build_id(NULL, path, build_id, size) : NULL;
}

/* A module whose file is not here: what else there is by its build-id, the only proof. */
static bool open_elsewhere(struct module *module, const struct module_request *request)
{
	struct debug_place place = debug_place(request->options);
	const uint8_t *build_id = request->build_id;
	size_t size = request->build_id_size;

	if (size == 0 || is_special(request))
		return false;
	module->debug = open_by_build_id(&place, build_id, size);
	if (module->debug)
		return true;
	module->file = download(request, DEBUGINFOD_EXECUTABLE, build_id, size);
	if (!module->file || !has_debug_info(module->file))
		module->debug = download(request, DEBUGINFOD_DEBUGINFO, build_id, size);
	return module->file || module->debug;
}

/* The debug file of a module whose own file is there, wherever Debian or Fedora put it. */
static struct elffile *open_debug(const struct elffile *file, const struct module_request *request)
{
	struct debug_place place = debug_place(request->options);
	struct elffile *debug = open_by_build_id(&place, file->build_id, file->build_id_size);

	if (!debug)
		debug = open_by_link(request, file);
	if (!debug && !is_special(request))
		debug = download(request, DEBUGINFOD_DEBUGINFO, file->build_id,
				 file->build_id_size);
	return debug;
}

/* Finds the module's files: at least one of them, or it is a failure. */
static int open_files(struct module *module, const struct module_request *request,
		      enum resolve_reason *reason, struct error *err)
{
	int failure = open_file(module, request, reason, err);

	if (failure && !open_elsewhere(module, request))
		return failure;
	*reason = RESOLVE_FINE;
	if (module->file && !module->debug && !has_debug_info(module->file))
		module->debug = open_debug(module->file, request);
	return 0;
}

int module_open(struct module **module, const struct module_request *request,
		enum resolve_reason *reason, struct error *err)
{
	struct module *opened = calloc(1, sizeof(*opened));
	int failure;

	*reason = RESOLVE_FINE;
	if (!opened)
		return error_set(err, ENOMEM, "no memory");
	opened->options = request->options;
	opened->path = strdup(request->path);
	failure = opened->path ? open_files(opened, request, reason, err)
			       : error_set(err, ENOMEM, "no memory");
	if (failure) {
		module_close(opened);
		return failure;
	}
	*module = opened;
	return 0;
}

void module_close(struct module *module)
{
	if (!module)
		return;
	debuginfo_destroy(module->debuginfo);
	symtab_free(&module->symtab);
	elffile_close(module->small);
	elffile_close(module->package);
	elffile_close(module->alternate);
	elffile_close(module->debug);
	elffile_close(module->file);
	free(module->path);
	free(module);
}

const struct elffile *module_file(const struct module *module)
{
	return module->file ? module->file : module->debug;
}

bool module_has_symbols(const struct module *module)
{
	const struct elffile *file = module_file(module);

	return module->debug || has_debug_info(file) || elffile_has_section(file, ".symtab");
}

/* Reads the tables, which is the slow part, when the first address is asked for. */
static void load(struct module *module)
{
	if (module->is_loaded)
		return;
	module->is_loaded = true;
	add_debuginfo(module, module->options);
	/* Without memory what was read so far must do. */
	(void)add_symbols(module);
}

static const char *symbol_name(const struct module *module, uint64_t address, uint64_t *entry)
{
	*entry = 0;
	return symtab_find(&module->symtab, address, entry);
}

unsigned module_find(struct module *module, uint64_t address, struct debug_frame *frames,
		     unsigned max)
{
	uint64_t function_entry = 0, symbol_entry;
	struct debug_frame *outer;
	const char *symbol;
	unsigned count = 0;

	load(module);
	if (module->debuginfo)
		count = debuginfo_find(module->debuginfo, address, frames, max, &function_entry);
	if (count == 0) {
		frames[0] = (struct debug_frame){ 0 };
		count = 1;
	}
	if (count > max)
		return count;
	outer = &frames[count - 1];
	/* In C++ a name without a linker name is only half of it: f, not ns::f(int). */
	if (outer->name && (outer->is_linkage || !outer->is_mangling))
		return count;
	symbol = symbol_name(module, address, &symbol_entry);
	if (symbol && (!outer->name || symbol_entry == function_entry)) {
		outer->name = symbol;
		outer->is_linkage = true;
	}
	return count;
}
