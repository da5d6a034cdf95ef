/* SPDX-License-Identifier: MIT */
/*
 * A program as the collector sees one: makes a control page, starts the collector and writes
 * records.
 *
 *   collect-host COLLECTOR SCENE [NUMBER]
 *
 * Settings come from HOLDTRACE_*. Scenes: plain (three calls), many (NUMBER pairs), kill (dies of
 * SIGKILL with a call open and a record unfinished), fork, exec, late, edges (long texts, most
 * frames, large sizes), failed (three calls, then prints what the collector says), fd (SINKFD is
 * NUMBER), nobody (nothing attaches).
 * Prints the sentence of the collector if it fails; ends with 1 then.
 */
#include "../lib/collect-producer.h"

#include <signal.h>
#include <sys/wait.h>

extern char **environ;

static struct producer_memory own;

static const uint64_t stack[] = { 0x401100, 0x401200, 0x401300, 0x401400 };

static void start_collector(const char *path, int fd, const char *sink)
{
	char number[16];
	pid_t child;

	snprintf(number, sizeof(number), "%d", fd);
	child = fork();
	if (child < 0)
		abort();
	if (child)
		waitpid(child, NULL, 0);
	if (child || fork())
		goto parent;
	execl(path, path, number, sink, (char *)NULL);
	_exit(127);
parent:
	if (!child)
		_exit(0);
}

/* Waits until the collector runs. */
static bool wait_running(const struct control_page *control)
{
	for (int i = 0; i < 5000 && control->state == CONTROL_STARTING; i++)
		usleep(1000);
	if (control->state != CONTROL_RUNNING)
		printf("%s\n", control->state == CONTROL_FAILED ? control->failure : "no answer");
	return control->state == CONTROL_RUNNING;
}

static void say_malloc(struct producer *producer, uint64_t object, uint64_t size, uint32_t kept,
		       uint32_t fresh, const uint64_t *frames)
{
	uint64_t enter = producer_now(producer->control);

	__atomic_store_n(&producer->slot->watermark, enter, __ATOMIC_RELAXED);
	producer_say(producer, &(struct producer_call){ .hook = HOOK_malloc,
							.operation = OPERATION_ALLOC,
							.resource = RESOURCE_MEMORY,
							.moment = MOMENT_LEAVE,
							.enter = enter,
							.leave = producer_now(producer->control),
							.object = object,
							.size = size,
							.result = object,
							.kept = kept,
							.fresh = fresh,
							.frames = frames });
	__atomic_store_n(&producer->slot->watermark, 0, __ATOMIC_RELEASE);
}

static void say_free(struct producer *producer, uint64_t object, uint32_t kept, uint32_t fresh,
		     const uint64_t *frames)
{
	uint64_t enter = producer_now(producer->control);

	__atomic_store_n(&producer->slot->watermark, enter, __ATOMIC_RELAXED);
	producer_say(producer, &(struct producer_call){ .hook = HOOK_free,
							.operation = OPERATION_FREE,
							.resource = RESOURCE_MEMORY,
							.moment = MOMENT_ENTER,
							.enter = enter,
							.leave = producer_now(producer->control),
							.object = object,
							.kept = kept,
							.fresh = fresh,
							.frames = frames });
	__atomic_store_n(&producer->slot->watermark, 0, __ATOMIC_RELEASE);
}

static void say_open(struct producer *producer, const char *path, uint32_t path_size)
{
	static const uint64_t numbers[] = { 0x80041, 0644 };
	uint64_t now = producer_now(producer->control);

	producer_say(producer, &(struct producer_call){ .hook = HOOK_open,
							.operation = OPERATION_ALLOC,
							.resource = RESOURCE_FD,
							.moment = MOMENT_LEAVE,
							.enter = now,
							.leave = now + 1,
							.object = 3,
							.size = 1,
							.result = 3,
							.numbers = 2,
							.number = numbers,
							.text = path,
							.text_size = path_size,
							.kept = 2 });
}

static void scene_plain(struct producer *producer)
{
	static const char note[] = "~process\0executable\0/bin/true\0argv0\0true";
	static const char path[] = "/etc/passwd";

	producer_note(producer, note, sizeof(note), 2);
	producer_module(producer, 0, 0x401000, "/bin/true");
	say_malloc(producer, 0x1000, 24, 0, 4, stack);
	producer_module(producer, 0, 0x401000, "/bin/true");
	say_open(producer, path, sizeof(path));
	say_free(producer, 0x1000, 2, 1, stack);
}

static void scene_many(struct producer *producer, uint64_t pairs)
{
	uint64_t frames[32];

	for (int i = 0; i < 32; i++)
		frames[i] = 0x401000 + (uint64_t)i * 16;
	say_malloc(producer, 0x1000, 24, 0, 32, frames);
	for (uint64_t i = 0; i < pairs; i++) {
		say_malloc(producer, 0x2000 + i * 16, 24, 30, 2, frames);
		say_free(producer, 0x2000 + i * 16, 31, 1, frames);
	}
}

static void scene_kill(struct producer *producer)
{
	struct slot *slot = producer->slot;

	say_malloc(producer, 0x1000, 24, 0, 4, stack);
	slot->stack_serial = 7;
	slot->stack_count = 2;
	slot->stack[0] = 0xaaa0;
	slot->stack[1] = 0xbbb0;
	slot->open[0] = (struct arena_open){ .hook = HOOK_sem_wait,
					     .serial = 7,
					     .object = 0x5e0,
					     .enter = producer_now(producer->control),
					     .call = 2,
					     .ip = 0xbbb0 };
	slot->open[1] = (struct arena_open){ .hook = HOOK_pthread_mutex_lock,
					     .serial = 6,
					     .object = 0x10c,
					     .enter = producer_now(producer->control),
					     .call = 3,
					     .ip = 0xccc0 };
	slot->open_count = 2;
	slot->lost[LOSS_FULL] = 5;
	producer_fill(producer, &(struct producer_call){ .hook = HOOK_malloc });
	say_malloc(producer, 0x2000, 24, 4, 0, stack);
	kill(getpid(), SIGKILL);
}

static void scene_fork(struct producer *producer)
{
	struct producer_memory memory;
	struct producer child;

	say_malloc(producer, 0x1000, 24, 0, 4, stack);
	if (fork()) {
		wait(NULL);
		say_malloc(producer, 0x2000, 24, 4, 0, stack);
		return;
	}
	producer_make(&memory, producer->control, 1, &own, "child");
	producer_hand_over(&memory);
	producer_attach(&child, &memory);
	say_malloc(&child, 0x3000, 24, 0, 2, stack);
}

/* An event that comes long after its time, when others have been written. */
static void scene_late(struct producer *producer)
{
	uint64_t enter = producer_now(producer->control);
	struct producer other;

	producer_attach(&other, &own);
	__atomic_store_n(&producer->slot->watermark, enter, __ATOMIC_RELAXED);
	for (int i = 0; i < 60; i++) {
		say_malloc(&other, 0x2000 + (uint64_t)i, 24, 0, 2, stack);
		usleep(10000);
	}
	producer_say(producer, &(struct producer_call){ .hook = HOOK_free,
							.operation = OPERATION_FREE,
							.resource = RESOURCE_MEMORY,
							.moment = MOMENT_ENTER,
							.enter = enter,
							.object = 0x1000 });
	__atomic_store_n(&producer->slot->watermark, 0, __ATOMIC_RELEASE);
}

static void say_text(struct producer *producer, uint32_t length)
{
	char text[ARENA_TEXT_MAX];

	memset(text, 'x', sizeof(text));
	text[length] = 0;
	say_open(producer, text, length + 1);
}

static void scene_edges(struct producer *producer)
{
	static const char note[] = "~process\0one\0\0\0two";
	uint64_t frames[ARENA_FRAMES_MAX];

	for (uint32_t i = 0; i < ARENA_FRAMES_MAX; i++)
		frames[i] = 0x400000 + i;
	say_malloc(producer, 0x500, 24, 0, 2, stack);
	for (uint32_t length = 0; length < 10; length++)
		say_text(producer, length);
	for (uint32_t length = 3890; length <= 3910; length++)
		say_text(producer, length);
	say_text(producer, ARENA_TEXT_MAX - 1);
	producer_note(producer, note, sizeof(note), 2);
	say_malloc(producer, 0x1000, 0x7fffffff, 0, 0, stack);
	say_malloc(producer, 0x2000, 0x80000000, 0, ARENA_FRAMES_MAX, frames);
	say_malloc(producer, 0xffffffffffffffff, 0xffffffffffffffff, ARENA_FRAMES_MAX - 1, 1,
		   stack);
	producer_say(producer, &(struct producer_call){ .hook = HOOK_malloc,
							.operation = OPERATION_ALLOC,
							.resource = RESOURCE_MEMORY,
							.moment = MOMENT_LEAVE,
							.enter = producer_now(producer->control),
							.leave = producer_now(producer->control),
							.flags = CALL_FAILED });
}

static void scene_failed(struct producer *producer)
{
	/* by now a command that does not want to read has ended */
	usleep(100000);
	scene_plain(producer);
	for (int i = 0; i < 100 && !strstr(producer->control->failure, "3 events"); i++)
		usleep(10000);
	printf("%s\n", producer->control->failure);
}

static int play(const struct control_page *control, char **argv, uint64_t number)
{
	const char *scene = argv[2];
	struct producer producer;

	producer_make(&own, control, 16, NULL, "host");
	producer_hand_over(&own);
	producer_attach(&producer, &own);
	if (!strcmp(scene, "many"))
		scene_many(&producer, number);
	else if (!strcmp(scene, "kill"))
		scene_kill(&producer);
	else if (!strcmp(scene, "fork"))
		scene_fork(&producer);
	else if (!strcmp(scene, "late"))
		scene_late(&producer);
	else if (!strcmp(scene, "edges"))
		scene_edges(&producer);
	else if (!strcmp(scene, "failed"))
		scene_failed(&producer);
	else
		scene_plain(&producer);
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t number = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
	const struct control_page *control;
	struct control_page *made;
	int fd;

	if (argc < 3)
		return 2;
	made = producer_control(&fd);
	for (char **variable = environ; *variable; variable++)
		settings_take(&made->settings, *variable);
	made->starter = getpid();
	snprintf(made->starter_name, sizeof(made->starter_name), "host");
	munmap(made, sizeof(*made));
	control = producer_map(fd);
	start_collector(argv[1], fd, !strcmp(argv[2], "fd") ? argv[3] : NULL);
	close(fd);
	if (!wait_running(control))
		return 1;
	if (!strcmp(argv[2], "nobody"))
		return 0;
	return play(control, argv, number);
}
