/* SPDX-License-Identifier: MIT */
/*
 * check-swap [-l] [-t] [-w] STEM: are STEM.swap, STEM.apis and STEM.json a SWAP stream as its
 * document has it? Written from the document alone: it shares nothing with the writer. Every byte
 * belongs to a field; sequence numbers count from 0, times never go back, a process is told before
 * and ended behind everything else of it, what ends has begun, what is unmapped was mapped.
 * Prints how many messages there are of each kind and exits with 0, or says the first thing that
 * is wrong and exits with 1.
 *
 *   -l  prints each message     -t  dialect of the producers of 2016
 *   -w  a trace that does not say when calls began: they have ends alone
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_listing, is_tizen, has_ends_alone;
static uint64_t offset; /* of the message that is being read */
static uint32_t processors;

static void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
static void fail(const char *format, ...)
{
	va_list args;

	printf("byte %" PRIu64 ": ", offset);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	exit(1);
}

static void list(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void list(const char *format, ...)
{
	va_list args;

	if (!is_listing)
		return;
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
}

static void *more(void *old, size_t count, size_t size)
{
	void *new;

	if (count & (count - 1))
		return old;
	new = realloc(old, (count ? 2 * count : 1) * size);
	if (!new)
		fail("no memory");
	return new;
}

/* ---- fields of one message ---- */

static unsigned char *at, *end;

static uint64_t number(unsigned bytes)
{
	uint64_t value = 0;

	if ((size_t)(end - at) < bytes)
		fail("the message ends inside of a field");
	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)*at++ << 8 * i;
	return value;
}

static uint32_t word(void)
{
	return (uint32_t)number(4);
}

static uint64_t quad(void)
{
	return number(8);
}

static const char *string(void)
{
	const char *text = (const char *)at;
	unsigned char *nul = memchr(at, 0, (size_t)(end - at));

	if (!nul)
		fail("a text without its NUL");
	at = nul + 1;
	return text;
}

static void want(const char *name, uint64_t value, uint64_t wanted)
{
	if (value != wanted)
		fail("%s is %" PRIu64 ", not %" PRIu64, name, value, wanted);
}

static void below(const char *name, uint64_t value, uint64_t limit)
{
	if (value >= limit)
		fail("%s is %" PRIu64 ", which is none", name, value);
}

/* Seconds and nanoseconds, in ns. */
static uint64_t moment(void)
{
	uint64_t low = word(), high = word();
	uint64_t seconds = is_tizen ? low : high, ns = is_tizen ? high : low;

	below("nanoseconds", ns, 1000000000);
	return seconds * 1000000000 + ns;
}

static float real(void)
{
	uint32_t bits = word();
	float value;

	memcpy(&value, &bits, 4);
	if (!(value >= 0))
		fail("a number below 0");
	return value;
}

/* One typed value. is_result: the producers' letter for nothing is allowed. */
static void value(bool is_result)
{
	char letter = (char)number(1);

	switch (letter) {
	case 'c':
		list(" c%" PRIu64, number(1));
		return;
	case 'b':
		list(" b%" PRIu64, number(1));
		return;
	case 'd':
		list(" d%" PRId32, (int32_t)word());
		return;
	case 'f':
		list(" f%g", (double)real());
		return;
	case 'w':
	case 'x':
	case 'p':
		list(" %c0x%" PRIx64, letter, quad());
		return;
	case 's':
		list(" s\"%s\"", string());
		return;
	case 'v':
		list(" v");
		if (is_result && is_tizen)
			return;
		/* fallthrough */
	default:
		fail("a value of type 0x%02x", (unsigned char)letter);
	}
}

static void values(void)
{
	uint32_t count = word();

	list(" (");
	for (uint32_t i = 0; i < count; i++)
		value(false);
	list(" )");
}

/* ---- what is known so far ---- */

struct range {
	uint64_t from, to;
};

static struct process {
	uint32_t pid;
	bool has_ended;
	struct range *maps;
	size_t map_count;
} * processes;
static size_t process_count;
static bool wants_status; /* the next message has to be PROCESS_STATUS_INFO */

static struct api {
	uint32_t id;
	const char *name;
} * apis;
static size_t api_count;

#define FILE_CALL UINT64_MAX /* FILE_FUNCTION names no function */

/* Calls that began and did not end yet. */
static struct under_way {
	uint32_t pid, tid;
	uint64_t function;
} * open_calls;
static size_t open_count;

static uint64_t singles, begun, ended;

static struct process *process(uint32_t pid)
{
	for (size_t i = process_count; i-- > 0;)
		if (processes[i].pid == pid) {
			if (processes[i].has_ended)
				fail("process %" PRIu32 " has ended", pid);
			return &processes[i];
		}
	fail("process %" PRIu32 " was not told", pid);
}

static const char *api(uint64_t id)
{
	for (size_t i = 0; i < api_count; i++)
		if (apis[i].id == id)
			return apis[i].name;
	fail("function %" PRIu64 " has no name", id);
}

/* Where functions are, as the side file says: by process, since one loads them where it likes. */
static struct address {
	uint32_t pid;
	uint64_t address;
	char name[64];
} * addresses;
static size_t address_count;

/* A small number is the function's own, where nobody knows its address; code is in a mapping. */
static const char *function_at(const struct process *owner, uint64_t pc)
{
	bool is_mapped = false;

	if (pc < 1u << 31)
		return api(pc);
	for (size_t i = 0; i < owner->map_count; i++)
		is_mapped |= pc >= owner->maps[i].from && pc < owner->maps[i].to;
	if (!is_mapped)
		fail("a function at 0x%" PRIx64 ", where nothing is mapped", pc);
	for (size_t i = 0; i < address_count; i++)
		if (addresses[i].pid == owner->pid && addresses[i].address == pc)
			return addresses[i].name;
	fail("a function at 0x%" PRIx64 ", which has no name", pc);
}

static void begin_call(uint32_t pid, uint32_t tid, uint64_t function)
{
	if (has_ends_alone)
		fail("a call that began, in a trace that cannot say so");
	open_calls = more(open_calls, open_count, sizeof(*open_calls));
	open_calls[open_count++] = (struct under_way){ pid, tid, function };
	begun++;
}

static void end_call(uint32_t pid, uint32_t tid, uint64_t function)
{
	ended++;
	if (has_ends_alone)
		return;
	for (size_t i = open_count; i-- > 0;)
		if (open_calls[i].pid == pid && open_calls[i].tid == tid &&
		    open_calls[i].function == function) {
			open_calls[i] = open_calls[--open_count];
			return;
		}
	fail("call 0x%" PRIx64 " ends in thread %" PRIu32 " and did not begin", function, tid);
}

/* ---- messages ---- */

static struct range range(void)
{
	struct range range = { quad(), 0 };

	range.to = quad();
	if (range.from > range.to)
		fail("a range that ends before it begins");
	list(" 0x%" PRIx64 "-0x%" PRIx64, range.from, range.to);
	return range;
}

static void add_map(struct process *owner, struct range map)
{
	for (size_t i = 0; i < owner->map_count; i++)
		if (map.from < owner->maps[i].to && owner->maps[i].from < map.to)
			fail("mappings lie over one another");
	owner->maps = more(owner->maps, owner->map_count, sizeof(map));
	owner->maps[owner->map_count++] = map;
}

static void process_info(uint64_t time)
{
	uint32_t pid = word(), count;
	const char *command = string();
	uint32_t parent = word();
	struct process *new;
	struct range map;

	for (size_t i = 0; i < process_count; i++)
		if (processes[i].pid == pid && !processes[i].has_ended)
			fail("process %" PRIu32 " is told twice", pid);
	processes = more(processes, process_count, sizeof(*processes));
	new = &processes[process_count++];
	*new = (struct process){ .pid = pid };
	list(" pid %" PRIu32 " parent %" PRIu32 " \"%s\"", pid, parent, command);
	if (is_tizen && strlen(command) > 15)
		fail("the name of a task has 15 bytes at most");
	want("start time", moment(), time);
	map = range();
	list(" %s", string());
	if (map.to && !is_tizen)
		add_map(new, map);
	count = word();
	for (uint32_t i = 0; i < count; i++) {
		map = range();
		add_map(new, map);
		list(" %s", string());
	}
	wants_status = true;
}

static void status_info(void)
{
	struct process *owner = process(word());
	uint32_t count = word();

	if (!wants_status || owner != &processes[process_count - 1])
		fail("status of a process is not behind the process");
	wants_status = false;
	for (uint32_t i = 0; i < count; i++) {
		list(" %" PRIu32, word());
		if (!is_tizen)
			list(" tid %" PRIu32, word());
		list(" size %" PRIu64, quad());
		list(" %s", string());
	}
	if (is_tizen)
		want("sockets", word(), 0);
}

static void map_or_unmap(bool is_map)
{
	struct process *owner = process(word());
	struct range map = range();

	if (is_map) {
		list(" %s", string());
		add_map(owner, map);
		return;
	}
	for (size_t i = 0; i < owner->map_count; i++)
		if (owner->maps[i].from == map.from && owner->maps[i].to == map.to) {
			owner->maps[i] = owner->maps[--owner->map_count];
			return;
		}
	fail("what is unmapped was not mapped");
}

static void function(bool is_entry)
{
	const struct process *owner = process(word());
	uint32_t pid = owner->pid, tid = word();
	uint64_t id = quad(), caller = quad();
	uint32_t cpu = word();

	list(" %s%s tid %" PRIu32 " caller 0x%" PRIx64 " cpu %" PRId32, function_at(owner, id),
	     id < 1u << 31 ? "#" : "", tid, caller, (int32_t)cpu);
	if (is_entry) {
		values();
		begin_call(pid, tid, id);
	} else {
		value(true);
		end_call(pid, tid, id);
	}
}

/* Of another process than the first, which is the one that the stream is about. */
static void file_function(bool is_entry)
{
	uint32_t pid = process(word())->pid, tid = word(), type;
	const char *path;

	if (pid == processes[0].pid)
		fail("a file call of the target");
	list(" pid %" PRIu32 " tid %" PRIu32, pid, tid);
	if (!is_entry) {
		value(true);
		end_call(pid, tid, FILE_CALL);
		return;
	}
	list(" fd %" PRId32, (int32_t)word());
	type = word();
	below("file type", type, 17);
	path = string();
	if (*path != '/')
		fail("%s is no real path", path);
	list(" type %" PRIu32 " %s", type, path);
	type = word();
	below("type of the arguments", type, 3);
	if (type == 1)
		list(" \"%s\"", string());
	else if (type == 2)
		fail("a lock of a file, which no hook tells of");
	begin_call(pid, tid, FILE_CALL);
}

static void memory(void)
{
	uint64_t size = quad();
	uint32_t type = word();

	below("memory type", type, 3);
	if (type == 1)
		want("size of a free", size, 0);
	list(" type %" PRIu32 " size %" PRIu64 " address 0x%" PRIx64, type, size, quad());
	singles++;
}

static void file(void)
{
	uint64_t size = quad(), fd = quad();
	uint32_t type = word();

	below("file type", type, 17);
	want("bytes", size, 0);
	list(" type %" PRIu32 " fd %" PRId64, type, (int64_t)fd);
	size = quad();
	list(" \"%s\"", string());
	if (size)
		list(" of %" PRIu64, size);
	singles++;
}

/* Types of which the lower one begins a call and the higher one ends it. */
static void count_type(uint32_t type, uint32_t first, uint32_t last, const uint32_t *ids)
{
	if (type == first)
		begin_call(ids[1], ids[2], ids[0]);
	else if (type == last)
		end_call(ids[1], ids[2], ids[0]);
	else
		singles++;
}

static void thread(const uint32_t *ids)
{
	uint64_t pthread = quad();
	uint32_t type;

	want("Tizen's thread", quad(), 0);
	want("thread type", word(), 0);
	type = word();
	below("thread operation", type, 9);
	want("length of class name", strlen(string()), 0);
	list(" type %" PRIu32 " pthread 0x%" PRIx64, type, pthread);
	/* A thread's own first and last breath are no calls. */
	if (type != 6 && type != 7)
		count_type(type, 4, 5, ids);
}

static void sync_object(const uint32_t *ids)
{
	uint64_t object = quad();
	uint32_t kind = word(), type = word();

	if (kind < 2)
		fail("an object of Tizen's own");
	below("kind of object", kind, 8);
	below("sync operation", type, 10);
	list(" kind %" PRIu32 " type %" PRIu32 " object 0x%" PRIx64, kind, type, object);
	if (type == 1 || type == 2)
		count_type(type, 1, 2, ids);
	else
		count_type(type, 5, 6, ids);
}

static void network(const uint32_t *ids)
{
	uint64_t fd;
	uint32_t type, address, port;

	want("object", quad(), 0);
	fd = quad();
	type = word();
	below("network operation", type, 14);
	address = word();
	port = word();
	below("port", port, 65536);
	list(" type %" PRIu32 " fd %" PRId64 " %u.%u.%u.%u:%" PRIu32, type, (int64_t)fd,
	     address & 255, address >> 8 & 255, address >> 16 & 255, address >> 24, port);
	want("bytes", quad(), 0);
	if (at != end)
		fail("data of no bytes");
	count_type(type, 9, 10, ids);
}

static void custom(void)
{
	list(" handle 0x%" PRIx32, word());
	want("type", word(), 0);
	list(" \"%s\"", string());
	want("colour", word(), 0);
	want("value", quad(), 0);
}

static void probe(uint32_t id)
{
	uint32_t ids[3] = { word(), 0, 0 };
	uint32_t type;

	list(" %s", api(ids[0]));
	ids[1] = process(word())->pid;
	ids[2] = word();
	list(" tid %" PRIu32, ids[2]);
	values();
	list(" =");
	value(true);
	list(" errno %" PRIu64, quad());
	type = word();
	below("call type", is_tizen ? type : type + 1, 3);
	list(" call type %" PRId32 " caller 0x%" PRIx64, (int32_t)type, quad());
	want("reserved", quad(), 0);
	if (id == 0x101)
		memory();
	else if (id == 0x104)
		file();
	else if (id == 0x108)
		thread(ids);
	else if (id == 0x109)
		custom();
	else if (id == 0x110)
		sync_object(ids);
	else
		network(ids);
}

static void sample(void)
{
	process(word());
	want("pc", quad(), 0);
	list(" tid %" PRIu32, word());
	list(" cpu %" PRIu32, word());
}

static void system_state(void)
{
	uint32_t count;

	for (uint32_t i = 0; i < processors; i++)
		list(" %g kHz", (double)real());
	for (uint32_t i = 0; i < processors; i++) {
		float load = real();

		if (!(load <= 100.5f))
			fail("a processor with a load of %g %%", (double)load);
		list(" %g %%", (double)load);
	}
	list(" memory %" PRIu64, quad());
	want("processes", word(), 1);
	list(" pid %" PRIu32, process(word())->pid);
	list(" %g %%", (double)real());
	for (int i = 0; i < 5; i++)
		list(" %" PRIu64, quad());
	count = word();
	for (uint32_t i = 0; i < count; i++) {
		list(" [%" PRIu32, word());
		list(" %g %%]", (double)real());
	}
	want("other processes", word(), 0);
	for (int i = 0; i < 7; i++)
		list(" %" PRIu32, word());
	for (int i = 0; i < 14; i++)
		want("a device that a PC does not have", word(), 0);
}

static const struct kind {
	uint32_t id;
	const char *name;
} kinds[] = {
	{ 0x0001, "PROCESS_INFO" },
	{ 0x0002, "TERMINATE" },
	{ 0x0003, "ERROR" },
	{ 0x0004, "SAMPLE" },
	{ 0x0005, "SYSTEM" },
	{ 0x0008, "FUNCTION_ENTRY" },
	{ 0x0009, "FUNCTION_EXIT" },
	{ 0x000c, "FILE_FUNCTION_ENTRY" },
	{ 0x000d, "FILE_FUNCTION_EXIT" },
	{ 0x000e, "PROCESS_STATUS_INFO" },
	{ 0x0012, "PROCESS_MAP" },
	{ 0x0013, "PROCESS_UNMAP" },
	{ 0x0101, "PROBE_MEMORY" },
	{ 0x0104, "PROBE_FILE" },
	{ 0x0108, "PROBE_THREAD" },
	{ 0x0109, "PROBE_CUSTOM" },
	{ 0x0110, "PROBE_SYNC" },
	{ 0x0111, "PROBE_NETWORK" },
};

#define KINDS (sizeof(kinds) / sizeof(*kinds))

static uint64_t counts[KINDS];

static void payload(uint32_t id, uint64_t time)
{
	if (wants_status && id != 0x000e)
		fail("no status of the process behind the process");
	switch (id) {
	case 0x0001:
		process_info(time);
		return;
	case 0x0002:
		process(word())->has_ended = true;
		return;
	case 0x0003:
		list(" %s", string());
		return;
	case 0x0004:
		sample();
		return;
	case 0x0005:
		system_state();
		return;
	case 0x0008:
	case 0x0009:
		function(id == 0x0008);
		return;
	case 0x000c:
	case 0x000d:
		file_function(id == 0x000c);
		return;
	case 0x000e:
		status_info();
		return;
	case 0x0012:
	case 0x0013:
		map_or_unmap(id == 0x0012);
		return;
	default:
		probe(id);
	}
}

/* ---- files ---- */

static unsigned char *read_file(const char *stem, const char *ending, size_t *size)
{
	unsigned char *data = NULL;
	char path[4096];
	FILE *input;
	size_t got, room = 0;

	snprintf(path, sizeof(path), "%s.%s", stem, ending);
	input = fopen(path, "rb");
	if (!input)
		fail("%s cannot be opened", path);
	*size = 0;
	do {
		if (room - *size < 1 << 20) {
			room = 2 * room + (1 << 21);
			data = realloc(data, room);
			if (!data)
				fail("no memory");
		}
		got = fread(data + *size, 1, 1 << 20, input);
		*size += got;
	} while (got);
	fclose(input);
	data[*size] = 0;
	return data;
}

static void read_apis(const char *stem)
{
	size_t size;
	unsigned char *data = read_file(stem, "apis", &size);
	uint32_t count;

	at = data;
	end = data + size;
	count = word();
	for (uint32_t i = 0; i < count; i++) {
		uint32_t id = word();
		const char *name = string();

		for (size_t j = 0; j < api_count; j++)
			if (apis[j].id == id)
				fail("%s and %s have one number", name, apis[j].name);
		apis = more(apis, api_count, sizeof(*apis));
		apis[api_count++] = (struct api){ id, name };
	}
	if (at != end)
		fail("bytes behind the functions");
}

/* Of the JSON file two numbers are needed: it is looked at by others. */
static uint64_t json_number(const unsigned char *json, const char *key)
{
	const char *found = strstr((const char *)json, key);

	if (!found)
		fail("the JSON file does not say %s", key);
	return strtoull(found + strlen(key), NULL, 10);
}

/* "functions": { "NAME": "0x...", ... } behind each "pid": */
static void read_addresses(const char *json)
{
	uint32_t pid = 0;
	bool is_inside = false;

	for (const char *word = json, *next; (word = strchr(word, '"')) != NULL; word = next) {
		char name[64], value[64];
		int length = 0;

		next = word + 1 + strcspn(word + 1, "\"");
		next += *next != 0;
		if (sscanf(word, "\"pid\": %" SCNu32, &pid) == 1)
			is_inside = false;
		if (!strncmp(word, "\"functions\": {", 14)) {
			is_inside = true;
		} else if (is_inside &&
			   sscanf(word, "\"%63[^\"]\": \"%63[^\"]\"%n", name, value, &length) ==
				   2 &&
			   length) {
			addresses = more(addresses, address_count, sizeof(*addresses));
			addresses[address_count] =
				(struct address){ .pid = pid, .address = strtoull(value, NULL, 0) };
			snprintf(addresses[address_count++].name, sizeof(name), "%s", name);
			next = word + length;
		} else {
			is_inside = false;
		}
	}
}

static void message(uint32_t sequence, uint64_t *last)
{
	uint32_t id = word(), length;
	uint64_t time;
	size_t kind = 0;

	while (kind < KINDS && kinds[kind].id != id)
		kind++;
	if (kind == KINDS)
		fail("a message of kind 0x%04" PRIx32, id);
	want("sequence number", word(), sequence);
	time = moment();
	if (time < *last)
		fail("time goes back by %" PRIu64 " ns", *last - time);
	*last = time;
	length = word();
	if ((size_t)(end - at) < length)
		fail("the file ends inside of a message");
	list("%" PRIu32 " %s", sequence, kinds[kind].name);
	counts[kind]++;
	{
		unsigned char *whole = end;

		end = at + length;
		payload(id, time);
		if (at != end)
			fail("%td bytes of the message are no field", end - at);
		end = whole;
	}
	list("\n");
}

int main(int argc, char **argv)
{
	uint64_t last = 0;
	uint32_t sequence = 0;
	unsigned char *data, *json;
	size_t size;
	int letter;

	while ((letter = getopt(argc, argv, "ltw")) != -1) {
		is_listing |= letter == 'l';
		is_tizen |= letter == 't';
		has_ends_alone |= letter == 'w';
	}
	if (optind + 1 != argc)
		fail("usage: check-swap [-l] [-t] [-w] STEM");
	read_apis(argv[optind]);
	json = read_file(argv[optind], "json", &size);
	read_addresses((const char *)json);
	processors = (uint32_t)json_number(json, "\"processors\": ");
	data = read_file(argv[optind], "swap", &size);
	at = data;
	end = data + size;
	for (; at != end; sequence++) {
		offset = (uint64_t)(at - data);
		message(sequence, &last);
	}
	if (wants_status || !process_count)
		fail("no process, or no status of it");
	want("messages", json_number(json, "\"messages\": "), sequence);
	for (size_t i = 0; i < KINDS; i++)
		if (counts[i])
			printf("%s %" PRIu64 "\n", kinds[i].name, counts[i]);
	printf("calls %" PRIu64 " unfinished %zu\n",
	       has_ends_alone ? singles + ended : singles + begun, open_count);
	return 0;
}
