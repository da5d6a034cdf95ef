/* SPDX-License-Identifier: MIT */
/*
 * Reads the state of the machine and of processes from /proc, as values of a ~sample note. Counters
 * have the kernel's values; readers of the trace compute differences and percentages.
 *
 *   at       time of the sample: CLOCK_MONOTONIC in ns
 *   hertz    clock ticks a second; one tick is the unit of the times below
 *   cpu0...  KHZ BUSY TOTAL: frequency (0: unknown), busy time and all time since boot
 *   memory   bytes in use on the machine
 *   drive    MiB in use on the file system of /
 *   disk     READS SECTORS WRITES SECTORS: sums for all disks since boot
 *   net      SENT RECEIVED: bytes of all interfaces except lo since boot
 *   process  TICKS VIRTUAL RESIDENT SHARED PSS DESCRIPTORS: processor time, sizes in bytes, number
 *            of open descriptors. PSS is 0 if it was not read, since reading it slows the process
 *   thread   ID TICKS STATE CPU: one for each thread
 */
#include "collect/collect_parts.h"
#include "notes.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "process/proc.h"

#define SAMPLE_VALUES 2048
#define SAMPLE_ROOM   (96u << 10)
#define LINE_MOST     160
/* minimum interval, in ms, of samples that include PSS: the kernel walks all pages to compute it */
#define SAMPLE_PSS_MS 100

struct sample {
	struct wire_value values[SAMPLE_VALUES];
	uint32_t count;
	size_t used;
	char text[SAMPLE_ROOM];
};

/* Adds a value with a name. Omits the value if it does not fit. */
static void sample_add(struct sample *sample, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static void sample_add(struct sample *sample, const char *name, const char *format, ...)
{
	char *place = sample->text + sample->used, *value;
	size_t name_size = strlen(name) + 1;
	va_list args;
	int length;

	if (sample->count == SAMPLE_VALUES || SAMPLE_ROOM - sample->used < name_size + LINE_MOST)
		return;
	memcpy(place, name, name_size);
	value = place + name_size;
	va_start(args, format);
	length = vsnprintf(value, LINE_MOST, format, args);
	va_end(args);
	if (length < 0 || length >= LINE_MOST)
		return;
	sample->values[sample->count++] = (struct wire_value){ place, value };
	sample->used += name_size + (size_t)length + 1;
}

/* Reads as much of a file as fits into `text`, with a NUL. Returns false if nothing was read. */
static bool read_text(const char *path, char *text, size_t size)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t got = 1;

	while (fd >= 0 && got > 0 && used < size - 1) {
		got = read(fd, text + used, size - 1 - used);
		used += got > 0 ? (size_t)got : 0;
	}
	text[used] = '\0';
	return used != 0;
}

/* ---- the machine ---- */

/* Adds the times of a processor, from its line of /proc/stat. Numbers 4 and 5 are idle time. */
static void add_cpu(struct sample *sample, const char *line)
{
	uint64_t times[8] = { 0 }, total = 0, khz = 0;
	char name[16], path[96], text[32];
	unsigned number;

	if (sscanf(line,
		   "cpu%u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		   " %" SCNu64 " %" SCNu64,
		   &number, &times[0], &times[1], &times[2], &times[3], &times[4], &times[5],
		   &times[6], &times[7]) < 5)
		return;
	for (int i = 0; i < 8; i++)
		total += times[i];
	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/cpufreq/scaling_cur_freq",
		 number);
	if (read_text(path, text, sizeof(text)))
		khz = strtoull(text, NULL, 10);
	snprintf(name, sizeof(name), "cpu%u", number);
	sample_add(sample, name, "%" PRIu64 " %" PRIu64 " %" PRIu64, khz,
		   total - times[3] - times[4], total);
}

/* Returns the number that follows a word, or 0 if the text does not have the word. */
static uint64_t number_after(const char *text, const char *word)
{
	const char *found = strstr(text, word);

	return found ? strtoull(found + strlen(word), NULL, 10) : 0;
}

/* Whether the device is a disk, not a partition or a device on top of other devices. */
static bool is_disk(const char *name)
{
	static const char *const others[] = { "loop", "ram", "zram", "dm-", "md", NULL };
	char path[96];

	for (const char *const *other = others; *other; other++)
		if (!strncmp(name, *other, strlen(*other)))
			return false;
	snprintf(path, sizeof(path), "/sys/block/%.60s", name);
	return access(path, F_OK) == 0;
}

static void add_disks(struct sample *sample, char *text, size_t size)
{
	uint64_t sum[4] = { 0 }, one[4];
	char name[64], *line = text, *end;

	if (!read_text("/proc/diskstats", text, size))
		return;
	for (; (end = strchr(line, '\n')) != NULL; line = end + 1) {
		if (sscanf(line,
			   "%*u %*u %63s %" SCNu64 " %*u %" SCNu64 " %*u %" SCNu64 " %*u %" SCNu64,
			   name, &one[0], &one[1], &one[2], &one[3]) != 5 ||
		    !is_disk(name))
			continue;
		for (int i = 0; i < 4; i++)
			sum[i] += one[i];
	}
	sample_add(sample, "disk", "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, sum[0], sum[1],
		   sum[2], sum[3]);
}

static void add_net(struct sample *sample, char *text, size_t size)
{
	uint64_t sent = 0, received = 0, one[2];
	char name[64], *line = text, *end;

	if (!read_text("/proc/net/dev", text, size))
		return;
	for (; (end = strchr(line, '\n')) != NULL; line = end + 1) {
		if (sscanf(line, " %63[^:]: %" SCNu64 " %*u %*u %*u %*u %*u %*u %*u %" SCNu64, name,
			   &one[0], &one[1]) != 3 ||
		    !strcmp(name, "lo"))
			continue;
		received += one[0];
		sent += one[1];
	}
	sample_add(sample, "net", "%" PRIu64 " %" PRIu64, sent, received);
}

/* Begins a sample with the values of the machine. now_ns: CLOCK_MONOTONIC. */
static void sample_machine(struct sample *sample, uint64_t now_ns)
{
	size_t size = 256u << 10;
	cleanup_free char *text = malloc(size);
	struct statvfs drive;
	char *line, *end;

	sample->count = 0;
	sample->used = 0;
	sample_add(sample, "at", "%" PRIu64, now_ns);
	sample_add(sample, "hertz", "%ld", sysconf(_SC_CLK_TCK));
	if (!text)
		return;
	if (read_text("/proc/stat", text, size))
		for (line = text; !strncmp(line, "cpu", 3) && (end = strchr(line, '\n')) != NULL;
		     line = end + 1)
			if (line[3] != ' ')
				add_cpu(sample, line);
	if (read_text("/proc/meminfo", text, size))
		sample_add(sample, "memory", "%" PRIu64,
			   (number_after(text, "MemTotal:") - number_after(text, "MemAvailable:"))
				   << 10);
	if (statvfs("/", &drive) == 0)
		sample_add(sample, "drive", "%" PRIu64,
			   (uint64_t)(drive.f_blocks - drive.f_bfree) * drive.f_frsize >> 20);
	add_disks(sample, text, size);
	add_net(sample, text, size);
}

/* ---- a process ---- */

struct task {
	char state;
	uint64_t ticks, virtual_bytes;
	unsigned cpu;
};

static bool read_task(int32_t pid, int32_t thread, struct task *task)
{
	char text[PROC_STAT_SIZE];
	const char *fields = proc_stat(pid, thread, text);
	uint64_t user, kernel;

	if (!fields || sscanf(fields,
			      "%c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64
			      " %*d %*d %*d %*d %*d %*d %*u %" SCNu64
			      " %*d %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*d %u",
			      &task->state, &user, &kernel, &task->virtual_bytes, &task->cpu) != 5)
		return false;
	task->ticks = user + kernel;
	return true;
}

/* Replaces the values of the previous process by this one's. with_pss: whether to read PSS. */
static void sample_process(struct sample *sample, int32_t pid, bool with_pss)
{
	uint64_t resident = 0, shared = 0, page = (uint64_t)sysconf(_SC_PAGESIZE), pss = 0;
	size_t descriptors = 0, thread_count;
	cleanup_free char *statm = proc_text(pid, 0, "statm"), *rollup = NULL;
	cleanup_free int32_t *threads = NULL;
	struct task task;
	struct stat facts;
	char path[64];
	/* remove the values of the previous process, which follow the values of the machine */
	for (uint32_t i = 0; i < sample->count; i++)
		if (!strcmp(sample->values[i].name, "process") ||
		    !strcmp(sample->values[i].name, "thread")) {
			sample->used = (size_t)(sample->values[i].name - sample->text);
			sample->count = i;
		}
	if (read_task(pid, 0, &task)) {
		if (statm)
			sscanf(statm, "%*u %" SCNu64 " %" SCNu64, &resident, &shared);
		if (with_pss)
			rollup = proc_text(pid, 0, "smaps_rollup");
		if (rollup)
			pss = number_after(rollup, "\nPss:") << 10;
		snprintf(path, sizeof(path), "/proc/%" PRId32 "/fd", pid);
		/* since Linux 6.2, the size of this directory is the number of its entries */
		if (stat(path, &facts) == 0 && facts.st_size)
			descriptors = (size_t)facts.st_size;
		else
			free(proc_numbers(path, &descriptors));
		sample_add(sample, "process",
			   "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %u",
			   task.ticks, task.virtual_bytes, resident * page, shared * page, pss,
			   (unsigned)descriptors);
	}
	threads = proc_threads(pid, &thread_count);
	for (size_t i = 0; i < thread_count && sample->count < SAMPLE_VALUES; i++)
		if (read_task(pid, threads[i], &task))
			sample_add(sample, "thread", "%" PRId32 " %" PRIu64 " %c %u", threads[i],
				   task.ticks, task.state, task.cpu);
}

/* ---- for the loop ---- */

/*
 * Writes a sample of a process as a note. time: the note's time, which determines its position in
 * the stream; the time of the sample itself is one of the note's values.
 */
static void say_sample(struct collector *collector, struct member *member, uint64_t time)
{
	struct sample *sample = collector->sample;
	int64_t interval = collector->settings.sample_system;

	if (!sample || !member->watch.our_pid)
		return;
	sample_process(sample, member->watch.our_pid, interval >= SAMPLE_PSS_MS);
	stream_note(member->stream, &(struct encode_note){ .name = NOTE_SAMPLE,
							   .values = sample->values,
							   .count = sample->count,
							   .time = time });
}

void collect_sample_begin(struct collector *collector, struct member *member, uint64_t time)
{
	/* if there is no memory for samples, the run is traced without samples */
	if (collector->settings.sample_system > 0 && !collector->any)
		collector->sample = malloc(sizeof(*collector->sample));
	if (collector->sample)
		sample_machine(collector->sample, ticks_clock_ns());
	say_sample(collector, member, time);
}

/* If a user has no time left, samples that user's processes, and the machine again, later. */
void collect_sample(struct collector *collector, uint64_t now_ns)
{
	uint64_t interval = (uint64_t)collector->settings.sample_system * MS;
	bool is_due = now_ns - collector->sampled_ns >= interval, is_fresh = false;

	if (is_due)
		collector->sampled_ns = now_ns;
	if (!collector->sample)
		return;
	for (uint32_t i = 0; i < collector->count; i++) {
		struct member *member = collector->active[i];
		uint64_t begun;

		member->must_sample |= is_due;
		if (!member->must_sample || member->phase != PHASE_ALIVE ||
		    !collect_has_turn(collector, member->user))
			continue;
		begun = ticks_clock_ns();
		if (!is_fresh)
			sample_machine(collector->sample, begun);
		is_fresh = true;
		member->must_sample = false;
		say_sample(collector, member, collect_note_time(collector, member));
		collect_charge(collector, member->user, begun);
	}
}
