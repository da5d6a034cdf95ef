/* SPDX-License-Identifier: MIT */
#include "base/spill_sort.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/lib/tap.h"

#define SMALL		  (64u << 10) /* size of the buffer in bytes, which gives many runs */
#define SIZE_MAX_OF_PIECE 2000u

/* The start of each piece: its key and serial number. */
struct mark {
	uint64_t time;
	uint32_t rank, number; /* number: serial number */
};

static int directory;
static uint64_t seed = 1;

static uint64_t next_random(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return seed >> 33;
}

static size_t size_of(uint32_t number)
{
	return sizeof(struct mark) + number * 7919u % SIZE_MAX_OF_PIECE;
}

static void add_piece(struct spill_sort *sort, uint64_t time, uint32_t rank, uint32_t number)
{
	const struct mark mark = { time, rank, number };
	char *room = spill_sort_reserve(sort, sizeof(mark) + SIZE_MAX_OF_PIECE);

	memcpy(room, &mark, sizeof(mark));
	memset(room + sizeof(mark), (int)(number & 0xff), size_of(number) - sizeof(mark));
	spill_sort_commit(sort, (struct spill_key){ .first = time, .second = rank },
			  size_of(number));
}

static bool is_whole(const struct spill_piece *piece, const struct mark *mark)
{
	if (piece->size != size_of(mark->number) || piece->key.first != mark->time)
		return false;
	for (size_t i = sizeof(*mark); i < piece->size; i++)
		if ((unsigned char)piece->bytes[i] != (mark->number & 0xff))
			return false;
	return true;
}

static bool is_behind(const struct mark *mark, const struct mark *last)
{
	if (mark->time != last->time)
		return mark->time > last->time;
	return mark->rank != last->rank ? mark->rank > last->rank : mark->number > last->number;
}

/* Checks that each piece is returned once, unchanged, in the order of time, rank and number. */
static bool comes_in_order(struct spill_sort *sort, uint32_t count)
{
	unsigned char *seen = calloc(count, 1);
	struct mark last = { 0 }, mark;
	struct spill_piece piece;
	struct error err;
	bool is_right = seen && spill_sort_finish(sort, &err) == 0;
	uint32_t found = 0;

	while (is_right && spill_sort_next(sort, &piece, &err) == 1) {
		memcpy(&mark, piece.bytes, sizeof(mark));
		is_right = mark.number < count && !seen[mark.number] && is_whole(&piece, &mark) &&
			   (!found || is_behind(&mark, &last));
		if (is_right)
			seen[mark.number] = 1;
		last = mark;
		found++;
		memset(piece.bytes, 0xee, piece.size); /* the caller may change a piece */
	}
	is_right = is_right && found == count && spill_sort_next(sort, &piece, &err) == 0;
	free(seen);
	return is_right;
}

typedef uint64_t time_of(uint32_t number, uint32_t count);

static uint64_t rising(uint32_t number, uint32_t count)
{
	(void)count;
	return number / 3;
}

static uint64_t falling(uint32_t number, uint32_t count)
{
	return count - number;
}

static uint64_t random_time(uint32_t number, uint32_t count)
{
	(void)number;
	return next_random() % (count / 4 + 1);
}

/* Calls are added when they return, but have the time of their entry. */
static uint64_t nearly_rising(uint32_t number, uint32_t count)
{
	(void)count;
	return 1000 + number - next_random() % 20;
}

static uint64_t one_time(uint32_t number, uint32_t count)
{
	(void)number;
	(void)count;
	return UINT64_MAX;
}

static void sort_tests(size_t limit, uint32_t count, const char *where)
{
	static const struct {
		time_of *time;
		const char *name;
	} kinds[] = { { rising, "in order" },
		      { falling, "backwards" },
		      { random_time, "in no order" },
		      { nearly_rising, "nearly in order" },
		      { one_time, "at one time" } };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct spill_sort sort;
		bool is_right = true;
		char sentence[160];

		spill_sort_init(&sort, directory, limit);
		for (uint32_t number = 0; number < count; number++)
			add_piece(&sort, kinds[i].time(number, count),
				  (uint32_t)(next_random() % 4), number);
		is_right &= (sort.runs.count > 1) == (limit == SMALL);
		snprintf(sentence, sizeof(sentence), "%" PRIu32 " pieces %s are in order, %s",
			 count, kinds[i].name, where);
		ok(is_right && comes_in_order(&sort, count), sentence);
		spill_sort_free(&sort);
	}
}

static void edge_tests(void)
{
	struct spill_sort sort;
	struct spill_piece piece;
	struct error err;

	spill_sort_init(&sort, directory, 0);
	ok(spill_sort_finish(&sort, &err) == 0 && spill_sort_next(&sort, &piece, &err) == 0,
	   "a sort without pieces returns none");
	spill_sort_free(&sort);

	spill_sort_init(&sort, directory, SMALL);
	memset(spill_sort_reserve(&sort, 10 * SMALL), 1, 10 * SMALL);
	spill_sort_commit(&sort, (struct spill_key){ .first = 5 }, 10 * SMALL);
	memset(spill_sort_reserve(&sort, 10 * SMALL), 2, 10 * SMALL);
	spill_sort_commit(&sort, (struct spill_key){ .first = 4 }, 10 * SMALL);
	ok(spill_sort_finish(&sort, &err) == 0 && spill_sort_next(&sort, &piece, &err) == 1 &&
		   piece.size == 10 * SMALL && piece.bytes[0] == 2 &&
		   piece.bytes[10 * SMALL - 1] == 2,
	   "the earlier of two pieces that are larger than the memory comes first");
	ok(spill_sort_next(&sort, &piece, &err) == 1 && piece.bytes[0] == 1 &&
		   piece.bytes[10 * SMALL - 1] == 1 && spill_sort_next(&sort, &piece, &err) == 0,
	   "the later of two pieces that are larger than the memory comes second");
	spill_sort_free(&sort);

	setenv("TMPDIR", "/nonexistent", 1);
	spill_sort_init(&sort, -1, SMALL);
	memset(spill_sort_reserve(&sort, 10 * SMALL), 1, 10 * SMALL);
	spill_sort_commit(&sort, (struct spill_key){ .first = 5 }, 10 * SMALL);
	memset(spill_sort_reserve(&sort, 10 * SMALL), 2, 10 * SMALL);
	spill_sort_commit(&sort, (struct spill_key){ .first = 4 }, 10 * SMALL);
	ok(spill_sort_finish(&sort, &err) == -ENOENT && strstr(err.text, "/nonexistent"),
	   "a missing directory for temporary files is reported with its path and cause");
	spill_sort_free(&sort);
	unsetenv("TMPDIR");

	spill_sort_init(&sort, directory, SMALL);
	for (uint32_t number = 0; number < 1000; number++)
		add_piece(&sort, number, 0, number);
	spill_sort_free(&sort);
	ok(true, "a sort that was not finished can be freed");
}

/* Sorts with a directory in which no file can be created. */
static void failure_tests(void)
{
	struct spill_sort sort;
	struct error err = { 0 };
	int nowhere = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	spill_sort_init(&sort, nowhere, SMALL);
	for (uint32_t number = 0; number < 1000; number++)
		add_piece(&sort, number, 0, number);
	ok(sort.capacity <= 2 * SMALL, "pieces that cannot be spilled do not pile up in memory");
	ok(spill_sort_finish(&sort, &err) < 0 && strstr(err.text, "temporary file"),
	   "a sort whose temporary file cannot be created fails at the end");
	spill_sort_free(&sort);
	close(nowhere);
}

int main(void)
{
	directory = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	sort_tests(0, 3000, "in memory");
	sort_tests(SMALL, 3000, "through a file");
	edge_tests();
	failure_tests();
	close(directory);
	return tap_end();
}
