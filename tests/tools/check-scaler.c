/* SPDX-License-Identifier: MIT */
/*
 * check-scaler [-p] DIR: is the directory one process's invocation trees as Scaler's data
 * format document has them? Written from the document alone: it shares nothing with the writer.
 * Prints "N threads, N calls" (and ", N inferred" of --format=scaler:frames) and exits with 0, or
 * says the first thing that is wrong and exits with 1; -p prints the trees' functions before that,
 * children indented. Beyond the documents it insists on the decisions of the notes: dense ids
 * sorted by name, siblings oldest first, no negative number outside the root, nothing else in the
 * directory.
 */
#include <dirent.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *where = ""; /* the file that is being checked */
static bool prints;	       /* -p */

static void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
static void fail(const char *format, ...)
{
	va_list args;

	printf("%s: ", where);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	exit(1);
}

static void *more(void *old, size_t count, size_t size)
{
	void *new = realloc(old, (count + 1) * size);

	if (!new)
		fail("no memory");
	return new;
}

/* files */

struct bytes {
	unsigned char *data;
	size_t size;
};

static struct bytes read_file(const char *directory, const char *name)
{
	struct bytes bytes = { NULL, 0 };
	char path[4096];
	FILE *file;
	size_t got;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	where = strdup(name);
	file = fopen(path, "rb");
	if (!file)
		fail("cannot be opened");
	do {
		bytes.data = more(bytes.data, bytes.size + (1 << 20), 1);
		got = fread(bytes.data + bytes.size, 1, 1 << 20, file);
		bytes.size += got;
	} while (got);
	fclose(file);
	bytes.data[bytes.size] = 0;
	return bytes;
}

/* JSON, as strictly as nlohmann::json writes it: no blanks, no newline at the end */

struct json {
	const char *at, *start;
};

static void expect(struct json *json, const char *text)
{
	if (strncmp(json->at, text, strlen(text)) != 0)
		fail("byte %td: expected %s, found %.20s", json->at - json->start, text, json->at);
	json->at += strlen(text);
}

static bool accept(struct json *json, const char *text)
{
	if (strncmp(json->at, text, strlen(text)) != 0)
		return false;
	json->at += strlen(text);
	return true;
}

/* A string; escapes are checked and left as they are. */
static char *string(struct json *json)
{
	const char *start;

	expect(json, "\"");
	for (start = json->at; *json->at != '"'; json->at++) {
		if ((unsigned char)*json->at < 0x20)
			fail("byte %td: a control character in a string", json->at - json->start);
		if (*json->at == '\\') {
			json->at++;
			if (!*json->at || !strchr("\"\\/bfnrtu", *json->at))
				fail("byte %td: no such escape", json->at - json->start);
		}
	}
	json->at++;
	return strndup(start, (size_t)(json->at - 1 - start));
}

static uint64_t digits(struct json *json)
{
	const char *start = json->at;
	char *end;
	uint64_t number;

	if (*start < '0' || *start > '9' || (*start == '0' && start[1] >= '0' && start[1] <= '9'))
		fail("byte %td: no plain number", start - json->start);
	number = strtoull(start, &end, 10);
	json->at = end;
	return number;
}

/* A key that is a number; keys rise as strings. last: the key before, or NULL. */
static uint64_t number_key(struct json *json, char **last)
{
	char *key = string(json);
	struct json inside = { key, key };
	uint64_t number = digits(&inside);

	if (*inside.at)
		fail("the key \"%s\" is no number", key);
	if (*last && strcmp(*last, key) >= 0)
		fail("the key \"%s\" stands behind \"%s\"", key, *last);
	*last = key;
	expect(json, ":");
	return number;
}

/* what symbol.json says */

struct file {
	uint64_t id;
	char *name;
	char **functions; /* by id; NULL: null */
	size_t count;
};

static struct file *files;
static size_t file_count;

static struct file *find_file(uint64_t id)
{
	for (size_t i = 0; i < file_count; i++)
		if (files[i].id == id)
			return &files[i];
	return NULL;
}

static char **read_functions(struct json *json, size_t *count)
{
	char **functions = NULL, *last = NULL;
	size_t capacity = 0;

	*count = 0;
	if (accept(json, "null"))
		return NULL;
	expect(json, "{");
	do {
		uint64_t id = number_key(json, &last);

		if (id > 1000000)
			fail("function %" PRIu64 ": ids are not dense", id);
		for (; capacity <= id; capacity++) {
			functions = more(functions, capacity, sizeof(*functions));
			functions[capacity] = NULL;
		}
		functions[id] = string(json);
		++*count;
	} while (accept(json, ","));
	expect(json, "}");
	for (size_t i = 0; i < capacity; i++) {
		if (!functions[i])
			fail("function %zu is missing: ids are not dense", i);
		if (!*functions[i])
			fail("function %zu has no name", i);
		if (i && strcmp(functions[i - 1], functions[i]) >= 0)
			fail("%s has a lower id than %s", functions[i - 1], functions[i]);
	}
	return functions;
}

static void read_symbols(const char *directory)
{
	struct json json;
	char *last = NULL;

	json.start = json.at = (char *)read_file(directory, "symbol.json").data;
	expect(&json, "{");
	do {
		struct file file = { .id = number_key(&json, &last) };

		expect(&json, "{\"fileName\":");
		file.name = string(&json);
		expect(&json, ",\"funcNames\":");
		file.functions = read_functions(&json, &file.count);
		expect(&json, "}");
		for (size_t i = 0; i < file_count; i++)
			if (!strcmp(files[i].name, file.name))
				fail("\"%s\" is there twice", file.name);
		files = more(files, file_count, sizeof(*files));
		files[file_count++] = file;
	} while (accept(&json, ","));
	expect(&json, "}");
	if (*json.at)
		fail("something stands behind the object");
	if (!find_file(0))
		fail("file 0, the executable, is missing");
}

/* functions by name (the notes, 2.4) */

static const char *const listed[2][32] = {
	{ "pthread_create",
	  "pthread_join",
	  "pthread_tryjoin_np",
	  "pthread_timedjoin_np",
	  "pthread_clockjoin_np",
	  "pthread_mutex_lock",
	  "pthread_mutex_timedlock",
	  "pthread_mutex_clocklock",
	  "pthread_mutex_unlock",
	  "pthread_rwlock_rdlock",
	  "pthread_rwlock_tryrdlock",
	  "pthread_rwlock_timedrdlock",
	  "pthread_rwlock_clockrdlock",
	  "pthread_rwlock_wrlock",
	  "pthread_rwlock_trywrlock",
	  "pthread_rwlock_timedwrlock",
	  "pthread_rwlock_clockwrlock",
	  "pthread_rwlock_unlock",
	  "pthread_cond_signal",
	  "pthread_cond_broadcast",
	  "pthread_cond_wait",
	  "pthread_cond_timedwait",
	  "pthread_cond_clockwait",
	  "pthread_spin_lock",
	  "pthread_spin_trylock",
	  "pthread_spin_unlock",
	  "pthread_barrier_wait" },
	{ "sem_wait", "sem_timedwait", "sem_clockwait", "sem_trywait", "sem_post" },
};

static bool starts(const char *name, const char *prefix)
{
	return !strncmp(name, prefix, strlen(prefix));
}

static bool is_listed(const char *name, int which)
{
	for (int i = 0; listed[which][i]; i++)
		if (!strcmp(listed[which][i], name))
			return true;
	return false;
}

/* Nobody timed it: it stands in backtraces. */
static bool is_inferred(const char *name)
{
	static const char mark[] = " [inferred]";
	size_t length = strlen(name), end = sizeof(mark) - 1;

	return length > end && !strcmp(name + length - end, mark);
}

static int type_by_name(const char *name)
{
	if (is_inferred(name))
		return 1;
	if (is_listed(name, 0))
		return 2;
	if (is_listed(name, 1) || starts(name, "sem_"))
		return 3;
	if (starts(name, "pthread_") && strstr(name, "join"))
		return 2;
	if (starts(name, "pthread_mutex_") || starts(name, "pthread_rwlock_") ||
	    starts(name, "pthread_cond_") || starts(name, "pthread_spin_") ||
	    starts(name, "pthread_barrier_"))
		return 2;
	return 1;
}

static bool is_condition_wait(const char *name)
{
	size_t length = strlen(name);

	return starts(name, "pthread_cond_") && length > 4 && !strcmp(name + length - 4, "wait");
}

/* commonFuncId.json */

static void expect_id(struct json *json, bool *is_begun, size_t id)
{
	expect(json, *is_begun ? "," : "[");
	*is_begun = true;
	if (digits(json) != id)
		fail("byte %td: expected %zu", json->at - json->start, id);
}

/* The ids of one type: Scaler's own functions in its order, then the others by name. */
static void expect_ids(struct json *json, const struct file *file, int type)
{
	bool is_begun = false;

	for (int i = 0; listed[type - 2][i]; i++)
		for (size_t id = 0; id < file->count; id++)
			if (!strcmp(file->functions[id], listed[type - 2][i]))
				expect_id(json, &is_begun, id);
	for (size_t id = 0; id < file->count; id++)
		if (type_by_name(file->functions[id]) == type &&
		    !is_listed(file->functions[id], type - 2))
			expect_id(json, &is_begun, id);
	expect(json, is_begun ? "]" : "null");
}

static void check_common(const char *directory)
{
	struct json json;
	char *last = NULL;

	json.start = json.at = (char *)read_file(directory, "commonFuncId.json").data;
	expect(&json, "{");
	for (size_t i = 0; i < file_count; i++) {
		if (i)
			expect(&json, ",");
		if (number_key(&json, &last) != files[i].id)
			fail("\"%s\" is not the next key of symbol.json", last);
		expect(&json, "{\"pthread\":");
		expect_ids(&json, &files[i], 2);
		expect(&json, ",\"semaphore\":");
		expect_ids(&json, &files[i], 3);
		expect(&json, "}");
	}
	expect(&json, "}");
	if (*json.at)
		fail("something stands behind the object");
}

/* thread_0x….bin */

struct record {
	int type;
	int64_t file, function, start, end, first, children, extra[2];
};

static int64_t number_at(const unsigned char *at)
{
	uint64_t number = 0;

	for (int i = 7; i >= 0; i--)
		number = number << 8 | at[i];
	return (int64_t)number;
}

static struct record next_record(const struct bytes *bytes, size_t *at)
{
	static const size_t sizes[] = { 0, 49, 65, 57 };
	const unsigned char *data = bytes->data + *at;
	struct record record = { .type = (signed char)*data };

	if (record.type < 1 || record.type > 3)
		fail("byte %zu: no record has type %d", *at, record.type);
	if (bytes->size - *at < sizes[record.type])
		fail("byte %zu: the record is cut", *at);
	record.file = number_at(data + 1);
	record.function = number_at(data + 9);
	record.start = number_at(data + 17);
	record.end = number_at(data + 25);
	record.first = number_at(data + 33);
	record.children = number_at(data + 41);
	if (record.type != 1)
		record.extra[0] = number_at(data + 49);
	if (record.type == 2)
		record.extra[1] = number_at(data + 57);
	*at += sizes[record.type];
	return record;
}

static void check_extras(const struct record *record, const char *name, int64_t index)
{
	bool may_fail = !strcmp(name, "pthread_create") || !strcmp(name, "sem_open") ||
			!strcmp(name, "sem_unlink"); /* it has a name alone */

	if (record->type != 1 && !record->extra[0] && !may_fail)
		fail("record %" PRId64 ": %s without its object", index, name);
	if (record->type == 2 && is_condition_wait(name) != (record->extra[1] != 0))
		fail("record %" PRId64 ": %s with the second object %" PRIx64, index, name,
		     (uint64_t)record->extra[1]);
}

/* Returns true if the function is inferred. */
static bool check_function(const struct record *record, int64_t index)
{
	const struct file *file = find_file((uint64_t)record->file);
	const char *name;

	if (!file || record->function < 0 || (uint64_t)record->function >= file->count)
		fail("record %" PRId64 ": no function %" PRId64 " of file %" PRId64, index,
		     record->function, record->file);
	name = file->functions[record->function];
	if (record->type != type_by_name(name))
		fail("record %" PRId64 ": %s has type %d", index, name, record->type);
	check_extras(record, name, index);
	return is_inferred(name);
}

static void check_times(const struct record *record, const struct record *parent,
			const struct record *before, int64_t index)
{
	if (record->start < 0 || record->end < record->start)
		fail("record %" PRId64 ": from %" PRId64 " to %" PRId64, index, record->start,
		     record->end);
	if (parent && (record->start < parent->start || record->end > parent->end))
		fail("record %" PRId64 ": not inside its parent", index);
	if (before && record->start < before->start)
		fail("record %" PRId64 ": earlier than the one before it", index);
}

static void check_root(const struct record *root)
{
	if (root->type != 1 || root->file != -1 || root->function != -1 || root->start != -1 ||
	    root->end != -1)
		fail("the root is not type 1 and -1, -1, -1, -1");
	if (root->children < 1 || root->first != 1)
		fail("the root has %" PRId64 " calls, the first at %" PRId64, root->children,
		     root->first);
}

/* What is inferred lasts from its first call to the end of its last one; returns how many are. */
static int64_t check_inferred(const struct record *records, int64_t count)
{
	int64_t inferred = 0;

	for (int64_t i = 1; i < count; i++) {
		const struct record *record = &records[i], *child = &records[record->first];
		int64_t end = 0;

		if (!check_function(record, i))
			continue;
		inferred++;
		if (!record->children)
			fail("record %" PRId64 ": inferred from nothing", i);
		for (int64_t j = 0; j < record->children; j++)
			if (child[j].end > end)
				end = child[j].end;
		if (record->start != child->start || record->end != end)
			fail("record %" PRId64 ": inferred and longer than its calls", i);
	}
	return inferred;
}

static void print_tree(const struct record *records, int64_t i, int depth)
{
	const struct record *record = &records[i];

	if (i)
		printf("%*s%s\n", 2 * depth, "",
		       find_file((uint64_t)record->file)->functions[record->function]);
	for (int64_t j = 0; j < record->children; j++)
		print_tree(records, record->first + j, depth + (i > 0));
}

/* Breadth first: children come in the order of their parents. Returns how many calls there are. */
static int64_t check_tree(const struct bytes *bytes, int64_t *inferred)
{
	struct record *records = NULL, *all;
	int64_t count = 0, capacity = 0, next = 1, parent = 0, left;
	size_t at = 0;

	while (at < bytes->size) {
		struct record record = next_record(bytes, &at);

		if (count == capacity) {
			capacity = capacity ? 2 * capacity : 1024;
			all = more(records, (size_t)capacity, sizeof(*records));
			records = all;
		}
		records[count++] = record;
	}
	if (!count)
		fail("is empty");
	check_root(&records[0]);
	left = records[0].children;
	next += records[0].children;
	for (int64_t i = 1; i < count; i++) {
		const struct record *record = &records[i];
		bool is_first = false;

		while (parent < i && left == 0) {
			left = records[++parent].children;
			is_first = true;
		}
		if (parent >= i)
			fail("record %" PRId64 ": nobody's child", i);
		is_first |= i == 1;
		left--;
		if (record->children < 0)
			fail("record %" PRId64 ": %" PRId64 " children", i, record->children);
		if (record->first != (record->children ? next : -1))
			fail("record %" PRId64 ": first child %" PRId64 ", expected %" PRId64, i,
			     record->first, record->children ? next : -1);
		next += record->children;
		check_times(record, parent ? &records[parent] : NULL,
			    is_first ? NULL : &records[i - 1], i);
	}
	if (next != count)
		fail("%" PRId64 " records, but the children say %" PRId64, count, next);
	next = check_inferred(records, count);
	*inferred += next;
	if (prints) {
		printf("%s\n", where);
		print_tree(records, 0, 1);
	}
	free(records);
	return count - 1 - next;
}

static bool is_thread_name(const char *name)
{
	const char *digit = name + 9;
	size_t count;

	if (!starts(name, "thread_0x") || (*digit == '0' && strcmp(digit, "0.bin") != 0))
		return false;
	count = strspn(digit, "0123456789abcdef");
	return count > 0 && count <= 16 && !strcmp(digit + count, ".bin");
}

static int64_t check_threads(const char *directory, int64_t *calls, int64_t *inferred)
{
	DIR *list = opendir(directory);
	const struct dirent *entry;
	int64_t threads = 0;

	where = directory;
	if (!list)
		fail("cannot be opened");
	while ((entry = readdir(list)) != NULL) {
		struct bytes bytes;

		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") ||
		    !strcmp(entry->d_name, "symbol.json") ||
		    !strcmp(entry->d_name, "commonFuncId.json"))
			continue;
		where = entry->d_name;
		if (!is_thread_name(entry->d_name))
			fail("does not belong here");
		bytes = read_file(directory, entry->d_name);
		*calls += check_tree(&bytes, inferred);
		threads++;
		free(bytes.data);
	}
	closedir(list);
	return threads;
}

int main(int argc, char **argv)
{
	int64_t threads, calls = 0, inferred = 0;

	prints = argc == 3 && !strcmp(argv[1], "-p");
	if (argc != 2 + prints) {
		fprintf(stderr, "Usage: check-scaler [-p] DIR\n");
		return 2;
	}
	read_symbols(argv[argc - 1]);
	check_common(argv[argc - 1]);
	threads = check_threads(argv[argc - 1], &calls, &inferred);
	printf("%" PRId64 " threads, %" PRId64 " calls", threads, calls);
	if (inferred)
		printf(", %" PRId64 " inferred", inferred);
	putchar('\n');
	return 0;
}
