/* SPDX-License-Identifier: MIT */
#include "memory.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "contract.h"
#include "life.h"
#include "preload/ground/clock.h"
#include "preload/ground/self.h"
#include "preload/ground/plain.h"
#include "preload/ground/sys.h"
#include "reach.h"
#include "ring.h"
#include "thread.h"
#include "wire.h"

#define BLOCK_SIZE ((sizeof(struct thread) + 0xfff) & ~0xfffull)
/* Maximum wait for another thread's chunk, in steps of 100 ms. FOREVER: with --patience=forever. */
#define GROWTH_WAIT	    20
#define GROWTH_WAIT_FOREVER 600
/* Maximum wait without system calls, as a number of reads of `growth`: some tens of ms. */
#define GROWTH_READS 50000000u

/* Number of slots of the chunk that memory_prepare() creates. */
#define PREPARED 64u

/* An array of private blocks (struct thread) and the array of their owners. */
struct blocks {
	struct owner *owners;
	char *first;
	uint32_t count;
};

struct chunk {
	char *map;	 /* mapping of the process's memfd; NULL: the chunk is a spare */
	uint64_t mapped; /* bytes mapped at `map`: the chunk, and the start of the next chunk if the
			    file has one */
	struct arena *head;
	char *slot_base, *rings;
	struct blocks blocks; /* one block for each slot */
	struct chunk_layout layout;
	uint32_t slots, ring_size, spares;
	uint32_t is_ready; /* 1: the other members are valid */
};

static SPARSE struct blocks idle[ARENA_CHUNKS];
static uint32_t idle_count;
static struct chunk first_chunk;
static SPARSE struct chunk more_chunks[ARENA_CHUNKS - 1];
static uint32_t chunk_last; /* number of the last chunk in the memfd */
static struct own_marks marks = { .magic = OWN_MARKS_MAGIC };
static uint64_t file_left;   /* bytes of the memfd after chunk_last */
static uint32_t chunk_count; /* number of chunks; some may not be ready yet */
static uint32_t growth;	     /* a futex; odd while a thread is creating a chunk */
/* identifies the thread that is creating a chunk: the address of its `thread_self` */
static uintptr_t grower;
static uint64_t granted; /* sum of the sizes of all rings, in bytes */
static uint32_t holders; /* number of threads that have a ring and have not announced their end */
static struct arena *head;
static struct arena_hello self;

/*
 * The chunk whose spares this process may use: its own first chunk, or that of an ancestor. In an
 * ancestor's chunk, all pages before the spares may have been replaced by empty private pages.
 */
static struct chunk family;
static bool is_vacant; /* new memory may be mapped over `family` */
static bool is_forsaken;

static struct chunk *chunk_at(uint32_t number)
{
	return number ? &more_chunks[number - 1] : &first_chunk;
}

struct arena *memory_head(void)
{
	return head;
}

bool memory_grant(uint64_t from, uint64_t to)
{
	uint64_t budget = life.control->rings_budget;

	if (to * __atomic_load_n(&holders, __ATOMIC_RELAXED) > budget)
		return false;
	if (__atomic_add_fetch(&granted, to - from, __ATOMIC_RELAXED) <= budget)
		return true;
	memory_refund(from, to);
	return false;
}

void memory_refund(uint64_t from, uint64_t to)
{
	__atomic_sub_fetch(&granted, to - from, __ATOMIC_RELAXED);
}

/* ---- creating memory ---- */

static uint64_t limit_of(int which)
{
	struct rlimit limit = { .rlim_cur = RLIM_INFINITY };

	sys_call4(__NR_prlimit64, 0, which, 0, (long)&limit);
	return limit.rlim_cur;
}

/*
 * Returns the number of bytes to map: the chunk and the start of the next one. left: bytes of the
 * file from the chunk's start to its end. at: the address of an old chunk, over which the chunk is
 * mapped, or NULL.
 */
static uint64_t size_with_link(const struct chunk *chunk, uint64_t left, const char *at)
{
	uint64_t room = at ? chunk->mapped : chunk->layout.size + ARENA_LINK;

	return left < room ? left : room;
}

static void set_places(struct chunk *chunk, void *map, uint64_t mapped, uint64_t left,
		       const char *at)
{
	/* keep the mapping out of core files: reading its holes would allocate pages */
	sys_madvise(map, mapped, MADV_DONTDUMP);
	if (!at)
		own_add(map, mapped);
	chunk->map = chunk->slot_base = map;
	chunk->head = map;
	chunk->slot_base += ARENA_HEAD_SIZE;
	chunk->rings = chunk->map + chunk->layout.rings;
	chunk->mapped = mapped;
	file_left = left - chunk->layout.size;
}

static int map_shared(struct chunk *chunk, int fd, uint64_t file_size, char *at)
{
	uint64_t mapped = size_with_link(chunk, file_size, at);
	void *map = sys_mmap(at, mapped, PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_NORESERVE | (at ? MAP_FIXED : 0), fd, 0);

	if (sys_error(map))
		return sys_error(map);
	set_places(chunk, map, mapped, file_size, at);
	return 0;
}

/*
 * Maps a further chunk of the memfd by mremap, without a descriptor, because other threads of the
 * program may close any descriptor at any time, even ours. A separate descriptor table (unshare(2))
 * is no solution: closing it would have effects (mq_notify(3) ends, FUSE and NFS write back).
 */
static int map_further(struct chunk *chunk, char *at)
{
	const struct chunk *last = chunk_at(chunk_last);
	uint64_t left = file_left, mapped = size_with_link(chunk, left, at);
	void *map;

	if (!last->is_ready || !last->map)
		return -EPERM;
	if (left < chunk->layout.size || last->mapped == last->layout.size)
		return -EFBIG;
	map = sys_mremap(last->map + last->layout.size, 0, mapped,
			 MREMAP_MAYMOVE | (at ? MREMAP_FIXED : 0), at);
	if (sys_error(map))
		return sys_error(map);
	set_places(chunk, map, mapped, left, at);
	chunk->head->slots = chunk->slots;
	chunk->head->ring_size = chunk->ring_size;
	return 0;
}

/* ---- private blocks ---- */

/* The first block shares a page with the owners, so most processes touch no other page. */
static uint64_t blocks_offset(uint32_t slots)
{
	return (slots * sizeof(struct owner) + 63) & ~63ull;
}

static uint64_t private_size(uint32_t slots)
{
	return blocks_offset(slots) + slots * BLOCK_SIZE;
}

static int map_blocks(struct blocks *blocks, uint32_t count)
{
	void *map = sys_mmap(NULL, private_size(count), PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (sys_error(map))
		return sys_error(map);
	own_add(map, private_size(count));
	*(volatile char *)map =
		0; /* write first: a read before the first write costs a second page fault */
	blocks->owners = map;
	blocks->first = (char *)map + blocks_offset(count);
	blocks->count = count;
	return 0;
}

/* Takes static memory, which is mapped anyway, for the blocks of the first slots. */
static bool take_first(struct blocks *blocks, uint32_t count)
{
	static SPARSE char
		room[ARENA_SLOTS_FIRST * (sizeof(struct owner) + BLOCK_SIZE) + 64 + 4095];
	/* aligned at run time, because an attribute would align the whole section to a page */
	char *memory = (char *)(((uintptr_t)room + 4095) & ~(uintptr_t)4095);
	static bool is_taken;

	if (is_taken || count > ARENA_SLOTS_FIRST)
		return false;
	is_taken = true;
	own_add(memory, private_size(count));
	memory[0] = 0; /* write first: a read before the first write costs a second page fault */
	blocks->owners = (struct owner *)(void *)memory;
	blocks->first = memory + blocks_offset(count);
	blocks->count = count;
	return true;
}

/* Keeps unused blocks for a later chunk. */
static void keep_blocks(const struct blocks *blocks)
{
	if (blocks->count && idle_count < ARENA_CHUNKS)
		idle[idle_count++] = *blocks;
}

/* Takes blocks for a chunk. Called only by the thread that is creating a chunk (growth). */
static int take_blocks(struct blocks *blocks, uint32_t count)
{
	for (struct blocks *from = idle; from < idle + idle_count; from++) {
		if (from->count < count)
			continue;
		*blocks = *from;
		blocks->count = count;
		from->owners += count;
		from->first += count * BLOCK_SIZE;
		from->count -= count;
		for (uint32_t i = 0; i < count; i++)
			blocks->owners[i] = (struct owner){ 0 };
		return 0;
	}
	if (take_first(blocks, count))
		return 0;
	return ring_is_quiet() ? -EPERM : map_blocks(blocks, count);
}

/* ---- shared memory ---- */

static struct arena_hello hello_of(const struct chunk *chunk, uint32_t number)
{
	struct arena_hello hello = self;

	hello.chunk = number;
	hello.slots = chunk->slots;
	hello.ring_size = chunk->ring_size;
	hello.spares = chunk->spares;
	return hello;
}

/*
 * Creates the memory of a chunk and sends it to the collector. at: address of the old memory that
 * the chunk replaces. The library still needs the old memory while it sends the chunk, so it maps
 * the chunk afterwards. If `at` is NULL, the library maps the chunk first, at any address. Returns
 * 0 or -errno.
 */
static int make_shared(struct chunk *chunk, uint32_t number, char *at)
{
	const struct arena_hello hello = hello_of(chunk, number);
	int status, fd = sys_memfd_create(ARENA_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	uint64_t size = limit_of(RLIMIT_FSIZE);

	if (fd < 0)
		return fd;
	/* make the file as large as the process may ever need, or as RLIMIT_FSIZE permits */
	size = size < ARENA_FILE_MOST ? size & ~(ARENA_LINK - 1ull) : ARENA_FILE_MOST;
	if (size >= chunk->layout.size) {
		status = sys_ftruncate(fd, (int64_t)size);
	} else {
		size = chunk->layout.size;
		status = limit_truncate(fd, size);
	}
	if (!status && !at)
		status = map_shared(chunk, fd, size, NULL);
	if (!status) {
		status = reach_hand_over(fd, &hello);
		if (status && chunk->map) {
			sys_munmap(chunk->map, chunk->mapped);
			chunk->map = NULL;
		}
		if (!status && at)
			status = map_shared(chunk, fd, size, at);
	}
	sys_close(fd);
	return status;
}

/* Like make_shared(). If no descriptor is free, tries again with a higher RLIMIT_NOFILE. */
static int make_anyway(struct chunk *chunk, uint32_t number, char *at)
{
	struct rlimit descriptors;
	int status = make_shared(chunk, number, at);

	if (status != -EMFILE)
		return status;
	limit_lift(RLIMIT_NOFILE, &descriptors);
	status = make_shared(chunk, number, at);
	limit_restore(RLIMIT_NOFILE, &descriptors);
	return status;
}

static void shape_chunk(struct chunk *chunk, uint32_t slots, uint32_t ring_size, uint32_t spares)
{
	chunk->slots = slots;
	chunk->ring_size = ring_size;
	chunk->spares = spares;
	chunk->layout = chunk_lay_out(slots, ring_size, spares);
}

/* Chooses a chunk's layout. If address space is limited, makes rings and spares smaller. */
static void shape_to_limit(struct chunk *chunk, uint32_t slots, uint32_t spares)
{
	uint64_t limit = limit_of(RLIMIT_AS);

	shape_chunk(chunk, slots, ARENA_RING_MOST, spares);
	for (uint32_t i = 0; i < 2 && !arena_leaves_room(chunk->layout.size, limit); i++) {
		spares /= 4;
		shape_chunk(chunk, slots, chunk->ring_size / 4, spares);
	}
	if (!arena_leaves_room(chunk->layout.size, limit))
		shape_chunk(chunk, slots, ARENA_RING_LEAST, 0);
}

/* ---- spares ---- */

/* Returns an entry of the table of spares. Entry 0 counts used spares; spares begin at entry 1. */
static struct arena_spare *spare_place(uint64_t place)
{
	return (struct arena_spare *)(void *)(family.map + family.layout.spares +
					      place * ARENA_SPARE_SIZE);
}

static int take_spare(struct chunk *chunk, uint32_t number)
{
	for (uint64_t i = 0; family.map && i < family.spares; i++) {
		struct arena_spare *spare = spare_place(i + 1);

		if (!plain_claim(&spare->state, SPARE_FREE, SPARE_FILLING))
			continue;
		shape_chunk(chunk, 1, ARENA_RING_LEAST, 0);
		chunk->map = NULL;
		chunk->head = &spare->head;
		chunk->slot_base = family.map + family.layout.spare_slots + i * ARENA_SLOT_SIZE;
		chunk->rings = family.map + family.layout.spare_rings + i * ARENA_RING_LEAST;
		spare->hello = hello_of(chunk, number);
		__atomic_store_n(&spare->state, SPARE_READY, __ATOMIC_RELEASE);
		plain_raise(&spare_place(0)->used, (uint32_t)i + 1);
		ring_wake();
		return 0;
	}
	return -ENOSPC;
}

/* ---- memory from before a detach ---- */

/*
 * The number of chunks that existed before a detach. Private pages have replaced their shared
 * memory. Their private blocks still belong to the threads that had them, and these threads may
 * still be in a hooked call. So memory_begin() creates each chunk again at its old address, and
 * gives no thread the block of another living thread.
 */
static uint32_t resumable;

static bool is_dead(int32_t thread)
{
	/* if we may not make system calls, the slots of dead threads are not reused */
	return !ring_is_quiet() && sys_call3(__NR_tgkill, life.pid, thread, 0) == -ESRCH;
}

/* Takes the blocks that this chunk had before a detach. Returns its old address, or NULL. */
static char *take_again(struct chunk *chunk, uint32_t number)
{
	const struct chunk *before = chunk_at(number);

	if (number >= resumable || !before->map || before->layout.size != chunk->layout.size ||
	    before->slots != chunk->slots || before->spares != chunk->spares)
		return NULL;
	chunk->blocks = before->blocks;
	chunk->mapped = before->mapped;
	for (uint32_t i = 0; i < chunk->blocks.count; i++)
		if (chunk->blocks.owners[i].state != OWNER_NONE &&
		    is_dead(chunk->blocks.owners[i].thread))
			chunk->blocks.owners[i] = (struct owner){ 0 };
	return before->map;
}

/* ---- chunks ---- */

/* Publishes the chunk, which no thread has used yet. */
static void add_chunk(const struct chunk *chunk, uint32_t number)
{
	*chunk_at(number) = *chunk;
	if (chunk->blocks.count) {
		chunk->head->own_from = (uint64_t)(uintptr_t)chunk->blocks.owners;
		chunk->head->own_to = (uint64_t)(uintptr_t)(chunk->blocks.first +
							    chunk->blocks.count * BLOCK_SIZE);
		*(volatile struct arena_own *)&marks.ranges[number] =
			(struct arena_own){ chunk->head->own_from, chunk->head->own_to };
	}
	if (chunk->map)
		chunk_last = number;
	__atomic_store_n(&chunk_at(number)->is_ready, 1, __ATOMIC_RELEASE);
}

/* Creates a chunk in the process's own memory, or takes a spare. Returns 0 or -errno. */
static int make_chunk(struct chunk *chunk, uint32_t number, uint32_t slots)
{
	int status = -EPERM;

	if (!ring_is_quiet()) {
		char *at;

		shape_to_limit(chunk, slots, 0);
		at = take_again(chunk, number);
		status = at ? 0 : take_blocks(&chunk->blocks, slots);
		if (!status)
			status = map_further(chunk, at);
		/* qemu-user cannot map memory a second time by mremap */
		if (status == -EINVAL || status == -ENOMEM || status == -EFAULT)
			status = make_anyway(chunk, number, at);
		if (!status)
			return 0;
		if (!at)
			keep_blocks(&chunk->blocks);
	}
	status = take_blocks(&chunk->blocks, 1);
	if (status)
		return status;
	status = take_spare(chunk, number);
	if (status)
		keep_blocks(&chunk->blocks);
	return status;
}

static bool grow_chunks(uint32_t slots)
{
	uint32_t number = __atomic_load_n(&chunk_count, __ATOMIC_ACQUIRE);
	struct chunk chunk = { 0 };

	if (!number || number >= ARENA_CHUNKS || make_chunk(&chunk, number, slots))
		return false;
	add_chunk(&chunk, number);
	__atomic_store_n(&head->chunks, number + 1, __ATOMIC_RELEASE);
	__atomic_store_n(&chunk_count, number + 1, __ATOMIC_RELEASE);
	return true;
}

/* Takes the lock `growth`. Returns false if another thread or the interrupted code holds it. */
static bool begin_growth(void)
{
	uint32_t expected = __atomic_load_n(&growth, __ATOMIC_RELAXED) & ~1u;

	if (!__atomic_compare_exchange_n(&growth, &expected, expected + 1, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return false;
	__atomic_store_n(&grower, (uintptr_t)&thread_self, __ATOMIC_RELAXED);
	return true;
}

static void end_growth(void)
{
	__atomic_store_n(&grower, 0, __ATOMIC_RELAXED);
	__atomic_add_fetch(&growth, 1, __ATOMIC_RELEASE);
	if (!ring_is_quiet())
		sys_futex_wake(&growth, INT32_MAX, 0);
}

/*
 * Waits until another thread has created its chunk, which changes `growth` from the value `seen`.
 * If system calls may be forbidden, reads `growth` in a loop: the other thread takes a spare, which
 * needs a microsecond if that thread is running. Returns false if the limit has passed.
 */
static bool wait_for_growth(uint32_t seen)
{
	static const struct timespec step = { .tv_nsec = 100000000 };
	bool may_sleep = !ring_is_quiet();
	uint32_t steps =
		life.control->settings.patience.is_forever ? GROWTH_WAIT_FOREVER : GROWTH_WAIT;
	uint32_t most = may_sleep ? steps : GROWTH_READS;

	for (uint32_t i = 0; i < most; i++) {
		if (!(seen & 1) || __atomic_load_n(&growth, __ATOMIC_ACQUIRE) != seen)
			return true;
		if (may_sleep)
			sys_futex_wait(&growth, seen, &step, 0);
	}
	return false;
}

/* Creates a chunk, or waits for one. Returns whether there may be more slots now. */
static bool grow_or_wait(void)
{
	uint32_t before = __atomic_load_n(&chunk_count, __ATOMIC_ACQUIRE);
	uint32_t seen = __atomic_load_n(&growth, __ATOMIC_ACQUIRE);
	uint32_t slots = ARENA_SLOTS_FIRST;
	bool grown;

	if (begin_growth()) {
		uint32_t number = __atomic_load_n(&chunk_count, __ATOMIC_ACQUIRE);

		for (uint32_t i = 0; i < number && slots < ARENA_SLOTS_MOST; i++)
			slots *= 2;
		grown = before != number || grow_chunks(slots);
		end_growth();
		return grown;
	}
	return __atomic_load_n(&grower, __ATOMIC_RELAXED) != (uintptr_t)&thread_self &&
	       wait_for_growth(seen);
}

void memory_prepare(void)
{
	struct blocks blocks = { 0 };

	if (!head || !begin_growth())
		return;
	if (grow_chunks(PREPARED) && !map_blocks(&blocks, PREPARED / 4))
		keep_blocks(&blocks);
	end_growth();
}

/* ---- the process image ---- */

static bool begin_in_spare(void)
{
	struct chunk chunk = { 0 };

	if (take_blocks(&chunk.blocks, 1))
		return false;
	if (take_spare(&chunk, 0)) {
		keep_blocks(&chunk.blocks);
		return false;
	}
	add_chunk(&chunk, 0);
	return true;
}

/* Creates the first chunk, over the old chunk `family` if nothing uses that memory any more. */
static bool begin_alone(void)
{
	struct chunk chunk = { 0 };
	char *at = NULL;

	if (ring_is_quiet())
		return false;
	if (is_vacant) {
		at = family.map;
		shape_chunk(&chunk, family.slots, family.ring_size, family.spares);
		chunk.mapped = family.mapped;
	} else {
		shape_to_limit(&chunk, ARENA_SLOTS_FIRST, ARENA_SPARES);
		at = take_again(&chunk, 0);
	}
	if (!chunk.blocks.count && take_blocks(&chunk.blocks, chunk.slots))
		return false;
	if (make_anyway(&chunk, 0, at)) {
		if (!at || is_vacant)
			keep_blocks(&chunk.blocks);
		return false;
	}
	if (family.map && !at)
		sys_munmap(family.map + family.layout.spares, family.mapped - family.layout.spares);
	family = chunk;
	add_chunk(&chunk, 0);
	return true;
}

bool memory_begin(const struct memory_image *image)
{
	uint64_t before[2] = { self.key[0], self.key[1] };
	int32_t parent = self.pid;

	self.contract = CONTRACT_HASH;
	self.secret[0] = life.control->secret[0];
	self.secret[1] = life.control->secret[1];
	self.start = clock_now();
	self.pid = life.pid;
	self.key[0] = self.start;
	self.key[1] = (uint64_t)(uint32_t)self.pid;
	self.parent[0] = image->is_forked ? before[0] : 0;
	self.parent[1] = image->is_forked ? before[1] : 0;
	self.parent_pid = image->is_forked ? parent : (int32_t)sys_call0(__NR_getppid);
	self.flags = image->is_forked ? PROCESS_FORKED : image->is_attached ? PROCESS_ATTACHED : 0;
	if (!image->is_forked) {
		self.parent_stream = WIRE_NO_STREAM;
		plain_copy(self.name, image->name, sizeof(self.name));
	}
	if (!begin_alone() && !begin_in_spare())
		return false;
	head = first_chunk.head;
	is_vacant = is_forsaken = false;
	__atomic_store_n(&head->chunks, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&chunk_count, 1, __ATOMIC_RELEASE);
	while (chunk_count < resumable && grow_chunks(chunk_at(chunk_count)->slots))
		;
	resumable = 0;
	if (image->is_attached || image->is_forked)
		own_tell(head->own);
	return true;
}

const char *memory_name(void)
{
	return self.name;
}

/* ---- a child abandons its parent's memory ---- */

static bool has_block(const struct chunk *chunk, const struct thread *thread)
{
	return thread && (const char *)thread >= chunk->blocks.first &&
	       (const char *)thread < chunk->blocks.first + chunk->blocks.count * BLOCK_SIZE;
}

/*
 * Replaces memory by empty private pages. Code that a fork or a signal handler interrupted may
 * still write to the memory, even if no variable shows this. Such writes then have no effect.
 */
static void put_empty(char *at, uint64_t size)
{
	sys_mmap(at, size, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

static void leave_chunk(const struct chunk *chunk)
{
	if (chunk->map) {
		put_empty(chunk->map, chunk->layout.spares);
		if (chunk->mapped > chunk->layout.size)
			put_empty(chunk->map + chunk->layout.size,
				  chunk->mapped - chunk->layout.size);
		return;
	}
	put_empty(chunk->slot_base, ARENA_SLOT_SIZE);
	put_empty(chunk->rings, ARENA_RING_LEAST);
}

void memory_forsake(const struct thread *thread)
{
	if (is_forsaken)
		return;
	is_forsaken = true;
	is_vacant = family.map != NULL;
	self.parent_stream = head && head->stream ? head->stream - 1 : WIRE_NO_STREAM;
	for (uint32_t i = 0; i < chunk_count && i < ARENA_CHUNKS; i++) {
		struct chunk *chunk = chunk_at(i);

		if (!chunk->is_ready)
			continue;
		if (ring_is_quiet()) {
			/* system calls may be forbidden, so the memory stays mapped */
			is_vacant = false;
			if (!has_block(chunk, thread))
				keep_blocks(&chunk->blocks);
		} else {
			leave_chunk(chunk);
			if (has_block(chunk, thread))
				is_vacant &= chunk->map && chunk->map != family.map;
			else
				keep_blocks(&chunk->blocks);
		}
		chunk->is_ready = 0;
	}
	chunk_count = 0;
	resumable = 0;
	growth = 0;
	grower = 0;
	granted = 0;
	holders = 0;
	head = NULL;
}

bool memory_hold(void)
{
	for (int i = 0; i < 20; i++) {
		if (begin_growth())
			return true;
		sys_sleep(1000000);
	}
	return false;
}

void memory_detach(void)
{
	for (uint32_t i = 0; i < chunk_count && i < ARENA_CHUNKS; i++) {
		struct chunk *chunk = chunk_at(i);

		if (!chunk->is_ready)
			continue;
		if (chunk->map)
			put_empty(chunk->map, chunk->mapped);
		else
			leave_chunk(chunk);
		chunk->is_ready = 0;
	}
	resumable = chunk_count < ARENA_CHUNKS ? chunk_count : ARENA_CHUNKS;
	if (family.map && family.map != first_chunk.map)
		sys_munmap(family.map + family.layout.spares, family.mapped - family.layout.spares);
	family = (struct chunk){ 0 };
	is_vacant = false;
	chunk_count = 0;
	granted = 0;
	holders = 0;
	head = NULL;
	end_growth();
}

/* ---- slots and owners ---- */

/* Takes a block that no thread has used. */
static bool take_free(struct owner *owner, int32_t tid)
{
	uint32_t expected = OWNER_NONE;

	if (__atomic_load_n(&owner->state, __ATOMIC_RELAXED) != OWNER_NONE ||
	    !__atomic_compare_exchange_n(&owner->state, &expected, OWNER_TAKING, false,
					 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return false;
	__atomic_store_n(&owner->thread, tid, __ATOMIC_RELAXED);
	return true;
}

static struct slot *slot_of(const struct chunk *chunk, uint32_t i)
{
	return (struct slot *)(void *)(chunk->slot_base + (uint64_t)i * ARENA_SLOT_SIZE);
}

/*
 * Takes the block of a dead thread. hinted: takes it only if the thread has announced its end,
 * otherwise only if the thread has not.
 */
static bool take_over(const struct chunk *chunk, uint32_t i, int32_t tid, bool hinted)
{
	struct owner *owner = &chunk->blocks.owners[i];
	uint32_t state = __atomic_load_n(&owner->state, __ATOMIC_ACQUIRE);
	int32_t dead = __atomic_load_n(&owner->thread, __ATOMIC_RELAXED);
	uint32_t expected = SLOT_LEFT;

	if (state != (hinted ? OWNER_LEFT : OWNER_TAKEN) || !is_dead(dead))
		return false;
	if (!__atomic_compare_exchange_n(&owner->thread, &dead, tid, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return false;
	if (__atomic_compare_exchange_n(&slot_of(chunk, i)->state, &expected, SLOT_TAKEN, false,
					__ATOMIC_ACQUIRE, __ATOMIC_RELAXED) ||
	    expected == SLOT_TAKEN)
		return true;
	/* the collector is freeing the slot's pages */
	__atomic_store_n(&owner->thread, dead, __ATOMIC_RELEASE);
	return false;
}

static struct thread *bind_block(const struct chunk *chunk, uint32_t i)
{
	struct thread *thread = (struct thread *)(void *)(chunk->blocks.first + i * BLOCK_SIZE);

	thread->owner = &chunk->blocks.owners[i];
	thread->slot = slot_of(chunk, i);
	thread->ring = chunk->rings + (uint64_t)i * chunk->ring_size;
	thread->ring_most = chunk->ring_size < life.control->ring_most ? chunk->ring_size
								       : life.control->ring_most;
	plain_raise(&chunk->head->used, i + 1);
	return thread;
}

enum taking { TAKE_LEFT, TAKE_FREE, TAKE_DEAD };

static struct thread *take_block(int32_t tid, enum taking what)
{
	uint32_t count = __atomic_load_n(&chunk_count, __ATOMIC_ACQUIRE);

	for (uint32_t k = 0; k < count; k++) {
		const struct chunk *chunk = chunk_at(k);

		for (uint32_t i = 0; i < chunk->slots; i++) {
			if (what == TAKE_FREE ? !take_free(&chunk->blocks.owners[i], tid)
					      : !take_over(chunk, i, tid, what == TAKE_LEFT))
				continue;
			/* `holders` still counts a thread that died without announcing its end */
			__atomic_add_fetch(&holders, what != TAKE_DEAD, __ATOMIC_RELAXED);
			return bind_block(chunk, i);
		}
	}
	return NULL;
}

struct thread *memory_take(int32_t tid, bool *fresh)
{
	struct thread *thread;

	*fresh = false;
	thread = take_block(tid, TAKE_LEFT);
	if (thread)
		return thread;
	*fresh = true;
	thread = take_block(tid, TAKE_FREE);
	if (thread)
		return thread;
	*fresh = false;
	thread = take_block(tid, TAKE_DEAD);
	*fresh = !thread;
	while (!thread && grow_or_wait())
		thread = take_block(tid, TAKE_FREE);
	return thread;
}

struct thread *memory_take_again(struct thread *thread, int32_t tid)
{
	uint32_t count = __atomic_load_n(&chunk_count, __ATOMIC_ACQUIRE);

	for (uint32_t k = 0; thread && k < count; k++) {
		const struct chunk *chunk = chunk_at(k);

		if (!has_block(chunk, thread) || thread->owner->thread != tid ||
		    thread->owner->state != OWNER_TAKEN)
			continue;
		__atomic_add_fetch(&holders, 1, __ATOMIC_RELAXED);
		return bind_block(chunk, (uint32_t)(((const char *)thread - chunk->blocks.first) /
						    BLOCK_SIZE));
	}
	return NULL;
}

bool memory_is_refused(const struct thread *thread)
{
	uint32_t count = __atomic_load_n(&chunk_count, __ATOMIC_ACQUIRE);
	const struct arena *first = head;
	uint32_t refused = first ? __atomic_load_n(&first->refused, __ATOMIC_RELAXED) : 0;

	if (!refused)
		return false;
	for (uint32_t k = refused - 1; k < count; k++)
		if (chunk_at(k)->is_ready && chunk_at(k)->map && has_block(chunk_at(k), thread))
			return true;
	return false;
}

void memory_leave(struct thread *thread)
{
	__atomic_sub_fetch(&holders, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&thread->owner->state, OWNER_LEFT, __ATOMIC_RELEASE);
	__atomic_store_n(&thread->slot->state, SLOT_LEFT, __ATOMIC_RELEASE);
}
