/* SPDX-License-Identifier: MIT */
#include "resolver/debuginfo.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash_table.h"
#include "base/memory.h"
#include "base/order.h"
#include "resolver/demangle.h"

#define NESTING_MAX 64u	    /* limit of nested blocks and inlined calls */
#define STEPS_MAX   200000u /* limit of DIEs in a function; beyond it, classes are unknown */
#define CODE_MAX    256u    /* bytes of code after the call of operator new to search for calls */
#define LINKS_MAX   8u	    /* limit of references to follow: pointers, declarations */
/* with clang, operator new has the column of `new`, and the constructor that of the type */
#define NEW_LENGTH 4

/* A constructor that is called. */
struct constructor {
	const char *linkage, *name;
	uint64_t size; /* size of its class in bytes; 0: the unit only declares the class */
};

struct allocated_search {
	struct debuginfo *debuginfo;
	struct debug_scope scope; /* where operator new is called */
	uint64_t after;		  /* return address of operator new */
	uint64_t budget;
	/* the call of operator new: was it found, is it operator new[], its size (0: unknown) */
	bool is_new, is_array;
	uint64_t size;
	struct constructor found; /* its linkage is NULL until one is found */
	bool is_ambiguous;	  /* several classes were found */
};

/* ---- constructors ---- */

static bool follow(Dwarf_Die *die, unsigned attribute)
{
	Dwarf_Attribute found;
	Dwarf_Die next;

	if (!dwarf_attr(die, attribute, &found) || !dwarf_formref_die(&found, &next))
		return false;
	*die = next;
	return true;
}

static const char *text_of(Dwarf_Die *die, unsigned attribute)
{
	Dwarf_Attribute found;

	return dwarf_attr_integrate(die, attribute, &found) ? dwarf_formstring(&found) : NULL;
}

/* Finds the class that the parameter `this` points to. */
static bool find_class(const Dwarf_Die *parameter, Dwarf_Die *class)
{
	bool is_pointer = false;

	*class = *parameter;
	for (unsigned i = 0; i < LINKS_MAX && follow(class, DW_AT_type); i++) {
		int tag = dwarf_tag(class);

		if (tag == DW_TAG_class_type || tag == DW_TAG_structure_type)
			return is_pointer;
		is_pointer |= tag == DW_TAG_pointer_type;
	}
	return false;
}

/* Finds the class of a member function by the parameter `this`, in it or in its declaration. */
static bool find_class_of(Dwarf_Die function, Dwarf_Die *class)
{
	Dwarf_Die parameter;

	for (unsigned i = 0; i < LINKS_MAX; i++) {
		if (dwarf_child(&function, &parameter) == 0 &&
		    dwarf_tag(&parameter) == DW_TAG_formal_parameter &&
		    dwarf_hasattr_integrate(&parameter, DW_AT_artificial) &&
		    find_class(&parameter, class))
			return true;
		if (!follow(&function, DW_AT_abstract_origin) &&
		    !follow(&function, DW_AT_specification))
			break;
	}
	return false;
}

/* Reads the function's name and class. Returns false if the function is not a constructor. */
static bool read_constructor(Dwarf_Die *function, struct constructor *constructor)
{
	const char *name = text_of(function, DW_AT_name), *class_name;
	size_t length = name ? strlen(name) : 0;
	Dwarf_Die class;
	int size;

	constructor->name = name;
	constructor->linkage = text_of(function, DW_AT_linkage_name);
	if (!length || !constructor->linkage || !find_class_of(*function, &class))
		return false;
	class_name = dwarf_diename(&class);
	size = dwarf_bytesize(&class);
	constructor->size = size > 0 ? (uint64_t)size : 0;
	/* the name of a class template has arguments, the name of its constructor has none */
	return class_name && !strncmp(class_name, name, length) &&
	       (!class_name[length] || class_name[length] == '<');
}

/*
 * Whether the parameter `this` of an inlined constructor is the result of operator new: it is in
 * the register for results when operator new returns.
 */
static bool takes_result(const struct allocated_search *search, Dwarf_Die *inlined)
{
	Dwarf_Attribute found;
	Dwarf_Op *operations;
	Dwarf_Die parameter;
	size_t count;

	return dwarf_child(inlined, &parameter) == 0 &&
	       dwarf_tag(&parameter) == DW_TAG_formal_parameter &&
	       dwarf_attr(&parameter, DW_AT_location, &found) &&
	       dwarf_getlocation_addr(&found, search->after, &operations, &count, 1) == 1 &&
	       count == 1 && operations->atom == DW_OP_reg0 &&
	       (dwarf_whatform(&found) != DW_FORM_exprloc ||
		dwarf_haspc(inlined, search->after) == 1);
}

/*
 * Stores the constructor if its call, at this line and column, belongs to the new-expression.
 * inlined: the DIE of that call, or NULL if the call is not inlined.
 */
static void take_constructor(struct allocated_search *search, Dwarf_Die *function, int64_t line,
			     int64_t column, Dwarf_Die *inlined)
{
	const struct debug_scope *scope = &search->scope;
	struct constructor constructor;

	if (line != scope->line ||
	    (column - scope->column != (scope->is_gnu ? 0 : NEW_LENGTH) &&
	     !(inlined && takes_result(search, inlined))) ||
	    !read_constructor(function, &constructor))
		return;
	/* code that unwinds an exception may contain a second call of the same constructor */
	search->is_ambiguous |=
		search->found.linkage && (search->found.size != constructor.size ||
					  strcmp(search->found.name, constructor.name) != 0);
	search->found = constructor;
}

/* ---- calls ---- */

/* Reads an attribute that is a constant expression. Returns false for other expressions. */
static bool read_constant(Dwarf_Die *die, unsigned attribute, uint64_t *value)
{
	Dwarf_Attribute found;
	Dwarf_Op *operations;
	size_t count;

	if (!dwarf_attr(die, attribute, &found) ||
	    dwarf_getlocation(&found, &operations, &count) != 0 || count != 1)
		return false;
	if (operations->atom >= DW_OP_lit0 && operations->atom <= DW_OP_lit31)
		*value = operations->atom - DW_OP_lit0;
	else if (operations->atom >= DW_OP_const1u && operations->atom <= DW_OP_consts)
		*value = operations->number;
	else
		return false;
	return true;
}

/* Whether an address is on the line and in the inlined call of operator new. Sets *scope. */
static bool is_in_scope(const struct allocated_search *search, uint64_t address,
			struct debug_scope *scope)
{
	Dwarf_Die unit = search->scope.unit, other = search->scope.innermost;
	Dwarf_Line *line = dwarf_getsrc_die(&unit, address);
	int number;

	/* look up the scope last, because that takes long in a large function */
	return line && dwarf_lineno(line, &number) == 0 && number == search->scope.line &&
	       debuginfo_scope(search->debuginfo, address, scope) &&
	       dwarf_dieoffset(&scope->innermost) == dwarf_dieoffset(&other);
}

/* Handles a call that is not inlined. In DWARF 4, the tags of calls are extensions of GNU. */
static void take_call(struct allocated_search *search, Dwarf_Die *call)
{
	unsigned machine = search->scope.machine;
	/* the register of the first argument; 0: unknown */
	unsigned wanted = machine == EM_X86_64	  ? DW_OP_reg5
			  : machine == EM_AARCH64 ? DW_OP_reg0
						  : 0;
	Dwarf_Die function = *call, parameter;
	struct debug_scope scope;
	Dwarf_Attribute found;
	Dwarf_Op *operations;
	Dwarf_Addr after;
	size_t count;

	if ((!dwarf_attr(call, DW_AT_call_return_pc, &found) &&
	     !dwarf_attr(call, DW_AT_low_pc, &found)) ||
	    dwarf_formaddr(&found, &after) != 0 ||
	    (!follow(&function, DW_AT_call_origin) && !follow(&function, DW_AT_abstract_origin)))
		return;
	if (after == search->after) {
		const char *name = text_of(&function, DW_AT_linkage_name);

		search->is_array = name && !strncmp(name, "_Zna", 4);
		if (dwarf_child(call, &parameter) != 0)
			return;
		do {
			if (dwarf_attr(&parameter, DW_AT_location, &found) &&
			    dwarf_getlocation(&found, &operations, &count) == 0 && count == 1 &&
			    operations->atom == wanted &&
			    !read_constant(&parameter, DW_AT_call_value, &search->size))
				read_constant(&parameter, DW_AT_GNU_call_site_value, &search->size);
		} while (debuginfo_next(&search->budget, &parameter));
	} else if (is_in_scope(search, after - 1, &scope)) {
		take_constructor(search, &function, scope.line, scope.column, NULL);
	}
}

/*
 * Searches the code for calls, because without optimisation, compilers do not describe them. On
 * x86-64, a call is 0xe8 and a distance. Other bytes may look like a call, but not like one of a
 * constructor.
 */
static void take_code(struct allocated_search *search)
{
	uint8_t code[CODE_MAX];
	size_t size = sizeof(code);
	struct debug_scope scope;
	Dwarf_Die function;
	int32_t distance;

	while (size && !debuginfo_code(search->debuginfo, search->after, code, size))
		size /= 2;
	if (search->scope.machine != EM_X86_64)
		return;
	for (size_t i = 0; i + 5 <= size; i++) {
		uint64_t after = search->after + i + 5;

		memcpy(&distance, code + i + 1, sizeof(distance));
		if (code[i] == 0xe8 &&
		    debuginfo_function(search->debuginfo, after + (uint64_t)(int64_t)distance,
				       &function) &&
		    is_in_scope(search, after - 1, &scope))
			take_constructor(search, &function, scope.line, scope.column, NULL);
	}
}

static int64_t number_of(Dwarf_Die *die, unsigned attribute)
{
	Dwarf_Attribute found;
	Dwarf_Word value;

	return dwarf_attr(die, attribute, &found) && dwarf_formudata(&found, &value) == 0 &&
			       value <= INT32_MAX
		       ? (int64_t)value
		       : -1;
}

/* Walks the DIEs in `parent`. is_inside: `parent` and operator new are in the same inlined call. */
static void walk(struct allocated_search *search, Dwarf_Die *parent, bool is_inside,
		 unsigned nesting)
{
	Dwarf_Die die, function;

	if (nesting == NESTING_MAX || dwarf_child(parent, &die) != 0)
		return;
	do {
		switch (dwarf_tag(&die)) {
		case DW_TAG_inlined_subroutine:
			function = die;
			if (is_inside && follow(&function, DW_AT_abstract_origin))
				take_constructor(search, &function,
						 number_of(&die, DW_AT_call_line),
						 number_of(&die, DW_AT_call_column), &die);
			walk(search, &die,
			     dwarf_dieoffset(&die) == dwarf_dieoffset(&search->scope.innermost),
			     nesting + 1);
			break;
		case DW_TAG_lexical_block:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
			walk(search, &die, is_inside, nesting + 1);
			break;
		case DW_TAG_call_site:
		case DW_TAG_GNU_call_site:
			take_call(search, &die);
			break;
		default:
			break;
		}
	} while (debuginfo_next(&search->budget, &die));
}

/* ---- classes that other units define ---- */

/*
 * A class is often defined only in the unit that has its virtual functions. The index has the sizes
 * of all classes that are not inside other classes, by a hash of the complete name.
 */
struct class_size {
	uint64_t hash, size; /* size 0: several classes have the name */
};

struct class_index {
	ARRAY_OF(struct class_size) items; /* sorted by hash */
};

ORDER_FUNCTION(by_hash, struct class_size, ORDER(a->hash, b->hash) ?: ORDER(a->size, b->size))

/* Adds the classes of a unit or namespace. name: the enclosing namespaces, `length` bytes. */
static void add_classes(struct class_index *index, Dwarf_Die *parent, char name[ALLOCATED_MAX],
			size_t length, uint64_t *budget, unsigned nesting)
{
	Dwarf_Die die;

	if (nesting == NESTING_MAX || dwarf_child(parent, &die) != 0)
		return;
	do {
		int tag = dwarf_tag(&die), size;
		const char *own = dwarf_diename(&die);
		size_t end;

		if (tag != DW_TAG_namespace &&
		    ((tag != DW_TAG_class_type && tag != DW_TAG_structure_type) || !own))
			continue;
		end = length + (size_t)snprintf(name + length, ALLOCATED_MAX - length, "%s%s",
						length ? "::" : "", own ?: "(anonymous namespace)");
		if (end >= ALLOCATED_MAX)
			continue;
		if (tag == DW_TAG_namespace) {
			add_classes(index, &die, name, end, budget, nesting + 1);
			continue;
		}
		size = dwarf_bytesize(&die);
		if (size > 0)
			*ARRAY_ADD(&index->items) =
				(struct class_size){ hash_bytes(0, name, end), (uint64_t)size };
	} while (debuginfo_next(budget, &die));
}

struct class_index *allocated_index(struct debuginfo *debuginfo)
{
	struct class_index *index = memory_zalloc(1, sizeof(*index));
	char name[ALLOCATED_MAX];
	uint64_t budget;
	Dwarf_Die unit;
	size_t count = 0;

	for (size_t i = 0; debuginfo_unit(debuginfo, i, &unit, &budget); i++)
		add_classes(index, &unit, name, 0, &budget, 0);
	ARRAY_SORT(&index->items, by_hash);
	for (size_t i = 0; i < index->items.count; i++) {
		struct class_size *item = &index->items.items[i];

		if (!count || index->items.items[count - 1].hash != item->hash)
			index->items.items[count++] = *item;
		else if (index->items.items[count - 1].size != item->size)
			index->items.items[count - 1].size = 0;
	}
	index->items.count = count;
	return index;
}

void allocated_index_free(struct class_index *index)
{
	if (index)
		free(index->items.items);
	free(index);
}

bool allocated_type(struct debuginfo *debuginfo, uint64_t address, char type[ALLOCATED_MAX])
{
	struct allocated_search search = { .debuginfo = debuginfo, .after = address + 1 };
	cleanup_free char *name = NULL;
	uint8_t code[10];
	size_t length, own;
	bool ignored;

	if (!debuginfo_scope(debuginfo, address, &search.scope))
		return false;
	search.budget = search.scope.size < STEPS_MAX ? search.scope.size : STEPS_MAX;
	walk(&search, &search.scope.function,
	     dwarf_dieoffset(&search.scope.function) == dwarf_dieoffset(&search.scope.innermost),
	     0);
	/*
	 * clang does not describe calls of functions without a declaration, such as operator new.
	 * On x86-64, read the size from the code before the call (5 bytes): mov $SIZE,%edi (0xbf).
	 */
	if (!search.size && search.scope.machine == EM_X86_64 &&
	    debuginfo_code(debuginfo, search.after - sizeof(code), code, sizeof(code)) &&
	    code[0] == 0xbf)
		search.size = code[1] | code[2] << 8 | code[3] << 16 | (uint32_t)code[4] << 24;
	if (!search.found.linkage)
		take_code(&search);
	if (!search.budget || !search.found.linkage || search.is_ambiguous)
		return false;
	/* the name of a constructor is its class, "::" and its name in the source */
	name = demangle(search.found.linkage, DEMANGLE_SHORT, &ignored);
	length = name ? strlen(name) : 0;
	own = strlen(search.found.name) + 2;
	if (length <= own || length - own >= ALLOCATED_MAX ||
	    strncmp(name + length - own, "::", 2) != 0 ||
	    strcmp(name + length - own + 2, search.found.name) != 0)
		return false;
	memcpy(type, name, length - own);
	type[length - own] = '\0';
	if (!search.found.size) {
		const struct class_index *index = debuginfo_classes(debuginfo);
		uint64_t hash = hash_bytes(0, type, strlen(type));
		size_t i = ARRAY_SEARCH(index->items.count, at, index->items.items[at].hash < hash);

		search.found.size = i < index->items.count && index->items.items[i].hash == hash
					    ? index->items.items[i].size
					    : 0;
	}
	/* the size in the call must be that of the class, or of an array of its objects */
	if (!search.is_array || !search.found.size)
		return search.found.size && search.size == search.found.size;
	/* the number of elements (8 bytes) may precede the elements */
	return !search.size || search.size % search.found.size == 0 ||
	       (search.size - 8) % search.found.size == 0;
}
