/* SPDX-License-Identifier: MIT */
/*
 * A program whose wild stores hit the memory that it shares with the collector:
 *
 *   scribbles MODE SEED
 *
 * MODE says where: one (a single store, anywhere), ring, record (headers and fields of records),
 * slot, head, tail, owner (whose the slot is, and its state), header (of the chunk), spare (places
 * for forked processes), all (thousands of stores, anywhere); or messages: it sends forged ones to
 * the collector's socket, with the run's secret, as another user if it is root's, and tells how
 * many the collector has to refuse or to make a stream of ("sent N"). It allocates in two threads
 * meanwhile. The rest of what it shares it cannot write. Ends with 0, or with 3 if it found no such
 * memory.
 */
#include "../lib/collect-forger.h"

#include <grp.h>
#include <pthread.h>

static char *chunk; /* our memory that the collector reads */
static size_t size;
static uint32_t slots, ring_size, spares;
static struct chunk_layout layout;
static uint64_t dice;
static volatile bool over;

static uint64_t draw(void)
{
	dice ^= dice << 13;
	dice ^= dice >> 7;
	dice ^= dice << 17;
	return dice;
}

/* Where it lies, and of what form it is: the one that has its size. */
static bool find_memory(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];

	while (!chunk && maps && fgets(line, sizeof(line), maps)) {
		unsigned long from, to;

		if (strstr(line, "memfd:" ARENA_NAME) &&
		    sscanf(line, "%lx-%lx rw-s 0", &from, &to) == 2) {
			chunk = (char *)from;
			size = to - from;
		}
	}
	if (maps)
		fclose(maps);
	for (slots = ARENA_SLOTS_FIRST; chunk && slots <= ARENA_SLOTS_MOST; slots *= 2)
		for (ring_size = ARENA_RING_MOST; ring_size >= ARENA_RING_LEAST; ring_size /= 2)
			for (spares = 0; spares <= ARENA_SPARES_MOST; spares++) {
				layout = chunk_lay_out(slots, ring_size, spares);
				if (layout.size + ARENA_LINK == size)
					return true;
			}
	return false;
}

static bool is_ours(const char *at, size_t bytes)
{
	return at >= chunk && at + bytes <= chunk + size;
}

/* A value that wild stores have. */
static uint64_t value(uint64_t old)
{
	static const uint64_t nasty[] = {
		0,	    1,		7,	    8,		0x7fffffff,	      0x80000000,
		0xffffffff, 0xfffffff8, UINT64_MAX, 1ull << 63, 0x4141414141414141ull
	};

	switch (draw() % 5) {
	case 0:
		return nasty[draw() % (sizeof(nasty) / sizeof(nasty[0]))];
	case 1:
		return old ^ 1ull << draw() % 64;
	case 2:
		return old + (draw() % 64 - 32) * 8;
	case 3:
		return draw() % 4096;
	}
	return draw();
}

/* One store of one to eight bytes somewhere in there. */
static void scribble(void *from, size_t room)
{
	size_t bytes = (size_t)1 << draw() % 4;
	char *at = (char *)from + draw() % room / bytes * bytes;
	uint64_t old = 0;

	if (!is_ours(at, bytes))
		return;
	memcpy(&old, at, bytes);
	old = value(old);
	memcpy(at, &old, bytes);
}

static struct arena *head_of_chunk(void)
{
	return (struct arena *)(void *)chunk;
}

/* One of the slots that threads have. */
static struct slot *any_slot(uint32_t *number)
{
	uint32_t used = head_of_chunk()->used;

	*number = (uint32_t)(draw() % (used && used < slots ? used : slots));
	return chunk_slot(chunk, *number);
}

static char *ring_of(uint32_t slot)
{
	return chunk + layout.rings + (uint64_t)slot * ring_size;
}

static void slot(void)
{
	uint32_t number;

	scribble(any_slot(&number), sizeof(struct slot));
}

static void head(void)
{
	uint32_t number;

	scribble(&any_slot(&number)->head, 8);
}

static void tail(void)
{
	uint32_t number;

	scribble(&any_slot(&number)->tail, 12);
}

static void owner(void)
{
	uint32_t number;

	scribble(&any_slot(&number)->pthread, 16);
}

static void ring(void)
{
	uint32_t number;

	any_slot(&number);
	scribble(ring_of(number), ring_size);
}

/* A record that the collector may not have taken yet, or is just looking at. */
static void record(void)
{
	uint32_t number;
	const volatile struct slot *place = any_slot(&number);
	uint64_t at = place->tail, end = place->head & ~RING_LEVEL;
	uint64_t bytes = ring_bytes(place->head);

	if (bytes > ring_size)
		bytes = ring_size;
	for (uint64_t skip = draw() % 64; skip && at < end; skip--) {
		const volatile struct record *one =
			(struct record *)(void *)(ring_of(number) + (at & (bytes - 1) & ~7ull));
		uint32_t length = one->length;

		if (!length)
			break;
		at += length;
	}
	scribble(ring_of(number) + (at & (bytes - 1) & ~7ull), sizeof(struct record_call));
}

static void header(void)
{
	scribble(chunk, sizeof(struct arena));
}

static void spare(void)
{
	if (spares)
		scribble(chunk + layout.spares, (spares + 1) * ARENA_SPARE_SIZE);
	if (spares && draw() % 4 == 0)
		((struct arena_spare *)(void *)(chunk + layout.spares))[0].used = (uint32_t)draw();
}

/* All that there is, spares' slots and rings, too. */
static void anything(void)
{
	scribble(chunk, size);
}

static void anywhere(void)
{
	static void (*const all[])(void) = { header, slot, ring, record, spare, anything };

	all[draw() % (sizeof(all) / sizeof(all[0]))]();
}

/* ---- messages ---- */

#define FILES_MOST 6 /* that are no memory: of more at once the collector reads no message */

static const struct control_page *run_control;
static unsigned sent, files;

/* A message as it should be, but for some bytes behind the secret, and another name. */
static struct arena_hello forge_hello(const struct producer_memory *memory)
{
	struct arena_hello hello = memory->hello;

	for (uint64_t times = draw() % 8; times; times--) {
		size_t from = offsetof(struct arena_hello, key);
		char *at = (char *)&hello + from + draw() % (sizeof(hello) - from);

		*at = (char)draw();
	}
	memcpy(hello.name, "forged", 6);
	return hello;
}

static void send_hello(const struct arena_hello *hello, int fd)
{
	int socket = forger_connect();

	forger_send(socket, hello, sizeof(*hello), fd);
	close(socket);
	sent++;
}

/* Memory as it should be, or with another form than the message says. */
static void send_memory(void)
{
	struct producer_memory memory;
	struct arena_hello hello;

	producer_make(&memory, run_control, 2, NULL, "forged");
	hello = forge_hello(&memory);
	send_hello(&hello, memory.fd);
	munmap(memory.map, memory.layout.size);
	close(memory.fd);
}

/* Memory that the collector must not map. */
static void send_other_memory(void)
{
	static const char *const paths[] = { "/etc/passwd", "/", "/dev/zero", "/proc/self/mem" };
	struct arena_hello hello = {
		.contract = CONTRACT_HASH,
		.secret = { forger_secret[0], forger_secret[1] },
		.key = { draw(), draw() },
		.parent_stream = WIRE_NO_STREAM,
		.slots = 2,
		.ring_size = ARENA_RING_MOST,
		.pid = getpid(),
		.name = "forged",
	};
	int fd;

	if (draw() % 2) {
		fd = forger_huge_memory(&hello.slots);
	} else if (draw() % 2 && files < FILES_MOST) {
		fd = open(paths[draw() % 4], O_RDONLY);
		files++;
	} else {
		fd = memfd_create("small", draw() % 2 ? MFD_ALLOW_SEALING : 0);
	}
	if (fd < 0)
		return;
	send_hello(&hello, fd);
	close(fd);
}

/* A request that is the owner's to make; where we are the owner none is sent. */
static void send_order(void)
{
	static const uint32_t commands[] = { CONTROL_START, CONTROL_STOP,    CONTROL_MARK,
					     CONTROL_SCAN,  CONTROL_PROCESS, CONTROL_SNAPSHOT,
					     CONTROL_NONE,  0x41414141 };
	char answer[4096];

	if (geteuid() != 65534)
		return;
	forger_ask((enum control_command)commands[draw() % 8], "0", answer, sizeof(answer), NULL);
	sent++;
}

/* A place of a forked process in our own memory, which may be gone by now: it is not counted. */
static void forge_spare(void)
{
	struct arena_spare *places = (struct arena_spare *)(void *)(chunk + layout.spares);
	struct arena_spare *place;
	struct producer_memory memory = { .hello = { .contract = CONTRACT_HASH } };

	if (!spares)
		return;
	place = (struct arena_spare *)(void *)((char *)places +
					       (1 + draw() % spares) * ARENA_SPARE_SIZE);
	memory.hello.secret[0] = forger_secret[0];
	memory.hello.secret[1] = forger_secret[1];
	place->hello = forge_hello(&memory);
	place->hello.slots = 1;
	place->hello.ring_size = ARENA_RING_LEAST;
	place->hello.spares = 0;
	__atomic_store_n(&place->state, SPARE_READY, __ATOMIC_RELEASE);
	__atomic_store_n(&places->used, spares, __ATOMIC_RELEASE);
}

/* A message of no form at all, of somebody who does not know the secret: nobody counts it. */
static void send_noise(void)
{
	uint64_t noise[200];
	int socket = forger_connect();

	for (size_t i = 0; i < 200; i++)
		noise[i] = draw();
	send(socket, noise, draw() % 2 ? sizeof(struct arena_hello) : draw() % sizeof(noise),
	     MSG_NOSIGNAL);
	close(socket);
}

static void message(void)
{
	static void (*const all[])(void) = { send_memory, send_other_memory, send_order,
					     forge_spare, send_noise };

	all[draw() % (sizeof(all) / sizeof(all[0]))]();
}

/* False: this is no run. */
static bool begin_messages(void)
{
	if (!forger_begin())
		return false;
	run_control = forger_control();
	return geteuid() || (!setgroups(0, NULL) && !setgid(65534) && !setuid(65534));
}

static const struct mode {
	const char *name;
	void (*store)(void);
	int stores;
} modes[] = {
	{ "one", anywhere, 1 },	   { "ring", ring, 400 },	{ "record", record, 100 },
	{ "slot", slot, 40 },	   { "head", head, 40 },	{ "tail", tail, 40 },
	{ "owner", owner, 40 },	   { "header", header, 40 },	{ "spare", spare, 100 },
	{ "all", anything, 4000 }, { "messages", message, 60 },
};

static void *allocate(void *bytes)
{
	while (!over) {
		for (int i = 0; i < 20; i++) {
			void *volatile block = malloc((size_t)bytes);

			free(block);
		}
		usleep(20);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const struct mode *mode = modes;
	const struct mode *end = modes + sizeof(modes) / sizeof(modes[0]);
	pthread_t threads[2];

	if (argc < 3)
		return 2;
	while (mode != end && strcmp(mode->name, argv[1]) != 0)
		mode++;
	if (mode == end)
		return 2;
	dice = (strtoull(argv[2], NULL, 10) + 1) * 0x9e3779b97f4a7c15ull;
	for (size_t i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, allocate, (void *)(100 + i));
	usleep(5000);
	if (!find_memory() || (mode->store == message && !begin_messages()))
		return 3;
	for (int i = 0; i < mode->stores; i++) {
		mode->store();
		if (i % 4 == 0)
			usleep(500);
	}
	usleep(5000);
	over = true;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	if (mode->store == message)
		printf("sent %u\n", sent);
	return 0;
}
