/* SPDX-License-Identifier: MIT */
#include "resolver/debuginfo.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/order.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- ranges ---- */

void ranges_add(struct ranges *ranges, uint64_t from, uint64_t to, uint32_t item, uint32_t rank)
{
	if (from < to)
		*ARRAY_ADD(ranges) =
			(struct range){ .from = from, .to = to, .item = item, .rank = rank };
}

static int by_start(const void *left, const void *right)
{
	const struct range *a = left, *b = right;

	/*
	 * if two ranges begin at the same address, the larger one comes first, because a search
	 * returns the last match
	 */
	return ORDER(a->from, b->from) ?: ORDER(b->to, a->to)
		?: ORDER(a->rank, b->rank) ?: ORDER(b->item, a->item);
}

void ranges_sort(struct ranges *ranges)
{
	uint64_t reach = 0;

	ARRAY_SORT(ranges, by_start);
	for (size_t i = 0; i < ranges->count; i++) {
		if (ranges->items[i].to > reach)
			reach = ranges->items[i].to;
		ranges->items[i].reach = reach;
	}
}

const struct range *ranges_before(const struct ranges *ranges, uint64_t address)
{
	size_t low = ARRAY_SEARCH(ranges->count, at, ranges->items[at].from <= address);

	return low ? &ranges->items[low - 1] : NULL;
}

const struct range *ranges_find(const struct ranges *ranges, uint64_t address)
{
	const struct range *range = ranges_before(ranges, address);

	if (!range)
		return NULL;
	for (; range->reach > address; range--) {
		if (range->to > address)
			return range;
		if (range == ranges->items)
			break;
	}
	return NULL;
}

void ranges_free(struct ranges *ranges)
{
	free(ranges->items);
	*ranges = (struct ranges){ 0 };
}

/* ---- debug information ---- */

/*
 * Limit of nested namespaces and blocks. Real programs have a few levels; a hostile file may have
 * any number of levels.
 */
#define NESTING_MAX 64
/* Limit of nested inlined calls at one address. */
#define CHAIN_MAX 256
/* Limit of nested blocks and inlined calls together. */
#define SCOPES_MAX 512

struct function {
	Dwarf_Die die;
	/* linker or source name, and type arguments (Rust); valid if is_named is set */
	const char *name, *generics;
	uint64_t entry;
	bool is_named, is_linkage;
};

struct unit {
	Dwarf_Off offset; /* offset of the unit's first DIE */
	Dwarf_Die die;
	/* the DIE that contains the functions: `die`, or the unit's DIE in its .dwo file */
	Dwarf_Die tree;
	bool is_scanned, is_deep, is_mangling, is_rust;
	/* size in bytes, the limit for walks of a hostile tree: a unit has fewer DIEs than bytes */
	uint64_t size;
	struct ranges ranges; /* items are indices in `functions` */
	ARRAY_OF(struct function) functions;
};

struct debuginfo {
	Dwarf *dwarf, *alternate;
	struct elffile *package; /* the .dwp file of -gsplit-dwarf, or NULL */
	struct dwp *dwp;	 /* NULL until a split unit is read */
	/* whether a split unit was read; if so, the package was searched for */
	bool is_split;
	const struct elffile *file, *code;
	const struct file_opener *opener;
	ARRAY_OF(struct unit) units; /* sorted by offset */
	struct ranges ranges;	     /* items are indices in `units` */
	struct class_index *classes; /* NULL until it is needed */
};

static void add_units(struct debuginfo *debuginfo)
{
	Dwarf_Off offset = 0, next;
	size_t header_size;

	for (; dwarf_nextcu(debuginfo->dwarf, offset, &next, &header_size, NULL, NULL, NULL) == 0;
	     offset = next) {
		Dwarf_Die die;

		if (dwarf_offdie(debuginfo->dwarf, offset + header_size, &die))
			*ARRAY_ADD(&debuginfo->units) = (struct unit){
				.offset = dwarf_dieoffset(&die),
				.die = die,
				.tree = die,
				.size = next - offset,
			};
		if (next <= offset)
			break;
	}
}

static void add_range(struct debuginfo *debuginfo, size_t unit, uint64_t from, uint64_t to)
{
	/*
	 * linkers keep the ranges of functions that they have removed; these ranges begin at 0, 1
	 * or -1
	 */
	if (layout_is_code(&debuginfo->code->layout, from))
		ranges_add(&debuginfo->ranges, from, to, (uint32_t)unit, 0);
}

/* Adds the ranges of all units in .debug_aranges. Sets is_covered for these units. */
static void add_aranges(struct debuginfo *debuginfo, bool *is_covered)
{
	const struct unit *units = debuginfo->units.items;
	Dwarf_Aranges *aranges;
	size_t count;

	if (dwarf_getaranges(debuginfo->dwarf, &aranges, &count) != 0)
		return;
	for (size_t i = 0; i < count; i++) {
		Dwarf_Addr start;
		Dwarf_Word length;
		Dwarf_Off offset;
		size_t unit;

		if (dwarf_getarangeinfo(dwarf_onearange(aranges, i), &start, &length, &offset) != 0)
			continue;
		unit = ARRAY_SEARCH(debuginfo->units.count, at, units[at].offset < offset);
		if (unit == debuginfo->units.count || units[unit].offset != offset)
			continue;
		is_covered[unit] = true;
		add_range(debuginfo, unit, start, start + length);
	}
}

int debuginfo_create(struct debuginfo **debuginfo, const struct elffile *file,
		     const struct elffile *code, const struct file_opener *opener,
		     struct error *err)
{
	struct debuginfo *created = memory_zalloc(1, sizeof(*created));
	cleanup_free bool *is_covered = NULL;

	created->file = file;
	created->code = code;
	created->opener = opener;
	created->dwarf = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
	if (!created->dwarf) {
		free(created);
		return error_set(err, ENOEXEC, "has damaged debug information: %s",
				 dwarf_errmsg(-1));
	}
	add_units(created);
	is_covered = memory_zalloc(created->units.count, sizeof(*is_covered));
	add_aranges(created, is_covered);
	/* clang writes no .debug_aranges: add the ranges that the unit's DIE has */
	for (size_t i = 0; i < created->units.count; i++) {
		Dwarf_Die *die = &created->units.items[i].die;
		Dwarf_Addr base, from, to;
		ptrdiff_t next = 0;
		int tag = dwarf_tag(die);

		if (is_covered[i] || (tag != DW_TAG_compile_unit && tag != DW_TAG_skeleton_unit))
			continue;
		while ((next = dwarf_ranges(die, next, &base, &from, &to)) > 0)
			add_range(created, i, from, to);
	}
	ranges_sort(&created->ranges);
	*debuginfo = created;
	return 0;
}

void debuginfo_destroy(struct debuginfo *debuginfo)
{
	if (!debuginfo)
		return;
	for (size_t i = 0; i < debuginfo->units.count; i++) {
		ranges_free(&debuginfo->units.items[i].ranges);
		free(debuginfo->units.items[i].functions.items);
	}
	free(debuginfo->units.items);
	allocated_index_free(debuginfo->classes);
	ranges_free(&debuginfo->ranges);
	dwp_destroy(debuginfo->dwp);
	elffile_close(debuginfo->package);
	dwarf_end(debuginfo->dwarf);
	dwarf_end(debuginfo->alternate);
	free(debuginfo);
}

bool debuginfo_needs_alternate(struct debuginfo *debuginfo, const char **name,
			       const uint8_t **build_id, size_t *size)
{
	const void *id;
	ssize_t id_size = dwelf_dwarf_gnu_debugaltlink(debuginfo->dwarf, name, &id);

	if (id_size <= 0)
		return false;
	*build_id = id;
	*size = (size_t)id_size;
	return true;
}

int debuginfo_set_alternate(struct debuginfo *debuginfo, const struct elffile *file)
{
	debuginfo->alternate = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
	if (!debuginfo->alternate)
		return -ENOEXEC;
	dwarf_setalt(debuginfo->dwarf, debuginfo->alternate);
	return 0;
}

static uint64_t number_of(Dwarf_Die *die, unsigned attribute, unsigned older)
{
	Dwarf_Attribute found;
	Dwarf_Word value;

	if (!dwarf_attr(die, attribute, &found) && !dwarf_attr(die, older, &found))
		return 0;
	return dwarf_formudata(&found, &value) == 0 ? value : 0;
}

/*
 * Reads the part of a split unit that is outside of its .dwo file. The result has version 0 if the
 * unit is not split.
 */
static struct dwp_skeleton skeleton_of(Dwarf_Die *die)
{
	struct dwp_skeleton skeleton = { 0 };
	Dwarf_Addr base = 0;
	Dwarf_Half version;
	uint8_t type;

	if (dwarf_cu_info(die->cu, &version, &type, NULL, NULL, &skeleton.id,
			  &skeleton.address_size, NULL) != 0 ||
	    type != DW_UT_skeleton)
		return skeleton;
	if (dwarf_lowpc(die, &base) == 0)
		skeleton.base = base;
	skeleton.version = (uint8_t)version;
	skeleton.addresses = number_of(die, DW_AT_addr_base, DW_AT_GNU_addr_base);
	skeleton.ranges = number_of(die, DW_AT_GNU_ranges_base, DW_AT_GNU_ranges_base);
	return skeleton;
}

/*
 * If a hostile file has a wrong DW_AT_sibling, the next sibling may be any DIE. The budget,
 * initially the size of the unit, ends the walk of a cyclic tree.
 */
bool debuginfo_next(uint64_t *budget, Dwarf_Die *die)
{
	Dwarf_Off before = dwarf_dieoffset(die);

	if (*budget == 0 || dwarf_siblingof(die, die) != 0)
		return false;
	(*budget)--;
	return dwarf_dieoffset(die) > before;
}

static void add_function(struct unit *unit, Dwarf_Die *die)
{
	Dwarf_Addr base, from, to;
	uint64_t entry = 0;
	ptrdiff_t next = 0;

	while ((next = dwarf_ranges(die, next, &base, &from, &to)) > 0) {
		/* a range that begins at 0 belongs to a function that the linker has removed */
		if (!from)
			continue;
		ranges_add(&unit->ranges, from, to, (uint32_t)unit->functions.count, 0);
		if (!entry)
			entry = from;
	}
	if (entry)
		*ARRAY_ADD(&unit->functions) = (struct function){ .die = *die, .entry = entry };
}

/* Whether a DIE with this tag may contain functions with code. */
static bool holds_functions(const struct unit *unit, int tag)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
		return true;
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type: /* has methods in Rust */
		return unit->is_mangling;
	case DW_TAG_subprogram:
	case DW_TAG_lexical_block:
	case DW_TAG_inlined_subroutine:
		return unit->is_deep;
	default:
		return false;
	}
}

static const char *string_of(Dwarf_Die *die, unsigned attribute)
{
	Dwarf_Attribute found;

	return dwarf_attr(die, attribute, &found) ? dwarf_formstring(&found) : NULL;
}

/*
 * Opens the .dwo file. Tries the directory of the program, then the directory of the compilation.
 */
static bool find_file(const struct debuginfo *debuginfo, size_t index, const char *name,
		      const char *directory, Dwarf_Die *split, uint64_t *size)
{
	struct file_want want = { .kind = FILE_SPLIT };
	int fd;

	snprintf(want.name, sizeof(want.name), "%s", name);
	elffile_path(debuginfo->file, want.directory);
	*(strrchr(want.directory, '/') ?: want.directory) = 0;
	fd = debuginfo->opener->open(debuginfo->opener->context, &want);
	if (fd < 0 && directory) {
		snprintf(want.directory, sizeof(want.directory), "%s", directory);
		fd = debuginfo->opener->open(debuginfo->opener->context, &want);
	}
	return fd >= 0 && dwp_take(debuginfo->dwp, index, fd, split, size);
}

/*
 * Finds the .dwo part of a unit that was compiled with -gsplit-dwarf, in a package or in a file of
 * its own.
 */
static void find_split(struct debuginfo *debuginfo, struct unit *unit)
{
	const char *name = string_of(&unit->die, DW_AT_dwo_name);
	size_t index = (size_t)(unit - debuginfo->units.items);
	Dwarf_Die split;
	uint64_t size;

	if (!name)
		name = string_of(&unit->die, DW_AT_GNU_dwo_name);
	if (name && !debuginfo->is_split) {
		const struct elffile *code = debuginfo->code;
		size_t count = debuginfo->units.count;
		cleanup_free struct dwp_skeleton *skeletons =
			memory_zalloc(count, sizeof(*skeletons));
		struct file_want want =
			elffile_want(FILE_PACKAGE, code->build_id, code->build_id_size);

		debuginfo->is_split = true;
		elffile_path(debuginfo->file, want.name);
		debuginfo->package = elffile_find(debuginfo->opener, &want, NULL, NULL);
		for (size_t i = 0; i < count; i++)
			skeletons[i] = skeleton_of(&debuginfo->units.items[i].die);
		debuginfo->dwp = dwp_create(debuginfo->package, debuginfo->file, skeletons, count);
	}
	if (!name || !debuginfo->dwp)
		return;
	if (!dwp_find(debuginfo->dwp, index, &split, &size) &&
	    !find_file(debuginfo, index, name, string_of(&unit->die, DW_AT_comp_dir), &split,
		       &size))
		return;
	if (dwarf_tag(&split) != DW_TAG_compile_unit)
		return;
	unit->tree = split;
	unit->size = size;
}

/* Lists the functions with code below the unit's first DIE. */
static void scan_functions(struct unit *unit)
{
	Dwarf_Die path[NESTING_MAX];
	uint64_t budget = unit->size;
	unsigned depth = 0;

	if (dwarf_child(&unit->tree, &path[0]) != 0)
		return;
	for (;;) {
		Dwarf_Die *die = &path[depth];
		int tag = dwarf_tag(die);

		if (tag == DW_TAG_subprogram)
			add_function(unit, die);
		if (depth + 1 < NESTING_MAX && holds_functions(unit, tag) &&
		    dwarf_child(die, &path[depth + 1]) == 0) {
			depth++;
			continue;
		}
		while (!debuginfo_next(&budget, &path[depth])) {
			if (depth == 0)
				return;
			depth--;
		}
	}
}

/*
 * Reads the functions of a unit. is_deep: also reads functions inside functions, where gcc puts
 * lambdas. A deep scan visits every DIE, so it is made only if the normal scan misses an address.
 */
static void scan_unit(struct debuginfo *debuginfo, struct unit *unit, bool is_deep)
{
	if (!unit->is_scanned)
		find_split(debuginfo, unit);
	unit->is_scanned = true;
	unit->is_deep = is_deep;
	switch (dwarf_srclang(&unit->tree)) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case DW_LANG_ObjC_plus_plus:
	case DW_LANG_Rust:
	case DW_LANG_D:
	case DW_LANG_Swift:
		unit->is_mangling = true;
		break;
	default:
		unit->is_mangling = false;
	}
	unit->is_rust = dwarf_srclang(&unit->tree) == DW_LANG_Rust;
	unit->functions.count = 0;
	unit->ranges.count = 0;
	scan_functions(unit);
	ranges_sort(&unit->ranges);
}

/* Returns the function that contains the address, or NULL. */
static struct function *find_function(struct debuginfo *debuginfo, struct unit *unit,
				      uint64_t address)
{
	const struct range *range;

	if (!unit->is_scanned)
		scan_unit(debuginfo, unit, false);
	range = ranges_find(&unit->ranges, address);
	if (!range && !unit->is_deep) {
		scan_unit(debuginfo, unit, true);
		range = ranges_find(&unit->ranges, address);
	}
	return range ? &unit->functions.items[range->item] : NULL;
}

/*
 * The state of a search for the inlined calls that contain an address, from the function inwards.
 */
struct chain_search {
	uint64_t address, budget;
	unsigned count, best;	    /* lengths of the current path and of the longest path so far */
	Dwarf_Die calls[CHAIN_MAX]; /* outermost first */
	Dwarf_Die *chain;	    /* the longest path */
};

/* Whether the DIE may contain the address. For a block without ranges, this is always possible. */
static bool may_hold(Dwarf_Die *die, uint64_t address)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_inlined_subroutine:
		return dwarf_haspc(die, address) == 1;
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
		return dwarf_haspc(die, address) == 1 ||
		       (!dwarf_hasattr(die, DW_AT_low_pc) && !dwarf_hasattr(die, DW_AT_ranges));
	default:
		return false;
	}
}

/*
 * Finds the longest path of inlined calls that contain the address. Searches every block that
 * contains the address: gcc moves code between sibling blocks, so their ranges may overlap.
 */
static void search_scope(struct chain_search *search, Dwarf_Die *scope, unsigned nesting)
{
	Dwarf_Die die;

	if (nesting == SCOPES_MAX || dwarf_child(scope, &die) != 0)
		return;
	do {
		bool is_call = dwarf_tag(&die) == DW_TAG_inlined_subroutine;

		if (!may_hold(&die, search->address) || (is_call && search->count == CHAIN_MAX))
			continue;
		if (is_call)
			search->calls[search->count++] = die;
		if (search->count > search->best) {
			search->best = search->count;
			memcpy(search->chain, search->calls, search->count * sizeof(die));
		}
		search_scope(search, &die, nesting + 1);
		search->count -= is_call;
	} while (debuginfo_next(&search->budget, &die));
}

/*
 * Returns a string attribute of the DIE or of its abstract origin. Damaged files may have an empty
 * string, which counts as a missing attribute.
 */
static const char *integrated_string(Dwarf_Die *die, unsigned attribute)
{
	Dwarf_Attribute found;
	const char *name =
		dwarf_attr_integrate(die, attribute, &found) ? dwarf_formstring(&found) : NULL;

	return name && *name ? name : NULL;
}

static const char *name_of(const struct unit *unit, Dwarf_Die *die, bool *is_linkage,
			   const char **generics)
{
	const char *name = integrated_string(die, DW_AT_linkage_name), *source = NULL;

	if (!name)
		name = integrated_string(die, DW_AT_MIPS_linkage_name);
	*is_linkage = name != NULL;
	if (!name || (unit->is_rust && !strncmp(name, "_ZN", 3)))
		source = integrated_string(die, DW_AT_name);
	*generics = name && source ? strchr(source, '<') : NULL;
	return name ? name : source;
}

/* Sets the frame's file and line to the place of the inlined call. */
static void find_call(struct unit *unit, Dwarf_Die *inlined, struct debug_frame *frame)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;
	Dwarf_Files *files;
	size_t count;

	if (dwarf_attr(inlined, DW_AT_call_line, &attribute) &&
	    dwarf_formudata(&attribute, &value) == 0)
		frame->line = (unsigned)value;
	/* if the .dwo file has no table of files, the skeleton's table is used */
	if (dwarf_attr(inlined, DW_AT_call_file, &attribute) &&
	    dwarf_formudata(&attribute, &value) == 0 &&
	    (dwarf_getsrcfiles(&unit->tree, &files, &count) == 0 ||
	     dwarf_getsrcfiles(&unit->die, &files, &count) == 0) &&
	    value < count)
		frame->file = dwarf_filesrc(files, value, NULL, NULL);
}

/* What the debug information says about one address. */
struct position {
	struct unit *unit;
	struct function *function;  /* NULL: unknown */
	Dwarf_Die chain[CHAIN_MAX]; /* the inlined calls, outermost first */
	unsigned count;
	Dwarf_Line *line; /* NULL: unknown */
};

static bool find_position(struct debuginfo *debuginfo, uint64_t address, struct position *position)
{
	const struct range *range = ranges_find(&debuginfo->ranges, address);
	struct chain_search search;

	if (!range)
		return false;
	position->unit = &debuginfo->units.items[range->item];
	position->function = find_function(debuginfo, position->unit, address);
	position->count = 0;
	if (position->function) {
		search = (struct chain_search){
			.address = address,
			.budget = position->unit->size,
			.chain = position->chain,
		};
		search_scope(&search, &position->function->die, 0);
		position->count = search.best;
	}
	position->line = dwarf_getsrc_die(&position->unit->die, address);
	return true;
}

unsigned debuginfo_find(struct debuginfo *debuginfo, uint64_t address, struct debug_frame *frames,
			unsigned max, uint64_t *entry)
{
	struct position at;
	int number;

	*entry = 0;
	if (max == 0 || !find_position(debuginfo, address, &at))
		return 0;
	if (at.function)
		*entry = at.function->entry;
	for (unsigned i = 0; i <= at.count && i < max; i++) {
		frames[i] = (struct debug_frame){ 0 };
		if (i == 0 && at.line) {
			frames[i].file = dwarf_linesrc(at.line, NULL, NULL);
			if (dwarf_lineno(at.line, &number) == 0 && number > 0)
				frames[i].line = (unsigned)number;
		}
		if (i > 0)
			find_call(at.unit, &at.chain[at.count - i], &frames[i]);
		if (!at.function)
			continue;
		frames[i].is_mangling = at.unit->is_mangling;
		if (i < at.count) {
			frames[i].name = name_of(at.unit, &at.chain[at.count - 1 - i],
						 &frames[i].is_linkage, &frames[i].generics);
			continue;
		}
		if (!at.function->is_named)
			at.function->name =
				name_of(at.unit, &at.function->die, &at.function->is_linkage,
					&at.function->generics);
		at.function->is_named = true;
		frames[i].name = at.function->name;
		frames[i].generics = at.function->generics;
		frames[i].is_linkage = at.function->is_linkage;
	}
	return at.count + 1;
}

bool debuginfo_scope(struct debuginfo *debuginfo, uint64_t address, struct debug_scope *scope)
{
	struct position at;
	const char *producer;

	if (!find_position(debuginfo, address, &at) || !at.function || !at.line ||
	    dwarf_lineno(at.line, &scope->line) != 0 || dwarf_linecol(at.line, &scope->column) != 0)
		return false;
	producer = string_of(&at.unit->tree, DW_AT_producer);
	scope->unit = at.unit->die;
	scope->function = at.function->die;
	scope->innermost = at.count ? at.chain[at.count - 1] : at.function->die;
	scope->machine = debuginfo->code->header.e_machine;
	scope->is_gnu = producer && !strncmp(producer, "GNU", 3);
	scope->size = at.unit->size;
	return scope->line > 0 && scope->column > 0;
}

bool debuginfo_unit(struct debuginfo *debuginfo, size_t index, Dwarf_Die *die, uint64_t *size)
{
	if (index == debuginfo->units.count)
		return false;
	*die = debuginfo->units.items[index].tree;
	*size = debuginfo->units.items[index].size;
	return true;
}

const struct class_index *debuginfo_classes(struct debuginfo *debuginfo)
{
	if (!debuginfo->classes)
		debuginfo->classes = allocated_index(debuginfo);
	return debuginfo->classes;
}

bool debuginfo_function(struct debuginfo *debuginfo, uint64_t entry, Dwarf_Die *die)
{
	const struct range *range = ranges_find(&debuginfo->ranges, entry);
	const struct function *function =
		range ? find_function(debuginfo, &debuginfo->units.items[range->item], entry)
		      : NULL;

	if (!function || function->entry != entry)
		return false;
	*die = function->die;
	return true;
}

bool debuginfo_code(const struct debuginfo *debuginfo, uint64_t address, void *bytes, size_t size)
{
	const struct layout *layout = &debuginfo->code->layout;
	size_t file_size;
	const char *file = elf_rawfile(debuginfo->code->elf, &file_size);

	for (uint32_t i = 0; file && i < layout->count; i++) {
		const struct segment *segment = &layout->segments[i];
		uint64_t at = address - segment->vaddr + segment->offset;

		if (address < segment->vaddr || address - segment->vaddr >= segment->filesz ||
		    at > file_size || size > file_size - at)
			continue;
		memcpy(bytes, file + at, size);
		return true;
	}
	return false;
}
