/* SPDX-License-Identifier: MIT */
/*
 * attacks WHAT [NUMBER]: what an unprivileged member of a run, who knows its secret, may send to a
 * collector that has more rights; not traced itself (LD_PRELOAD is taken out of its environment).
 *
 *   huge           memory of huge pages, of which there are none
 *   file           a descriptor of a plain file, and one of a directory, instead of memory
 *   pid NUMBER     memory with 50 descriptors that are open, of a process with this number
 *   orders         control requests: stop, mark, snapshot, scan
 *   hellos NUMBER  so many programs that it claims to have executed
 *   handed NUMBER  memory of a process with this number, by a connection that root has made
 *   silent NUMBER  so many connections that say nothing, for three seconds
 *   crowd NUMBER   connections that end at once, by so many processes, until its input ends
 *   head           a head of a closed slot that makes no sense, for two seconds
 *   calls NUMBER   so many calls of malloc, each with a backtrace of its own
 *   more           memory for further threads, of a process that has handed over none before
 *   left NUMBER    so many programs that --follow did not choose, each with a name of its own
 *   pieces NUMBER  so many processes at once, each with 64 pieces of memory
 *   short NUMBER   so many processes that end at once, each with memory of its own
 *   told NUMBER    so many processes that report the ends of children all the time, and as many
 * that claim to have the pid of these children; then how the collector fares open NUMBER    a
 * process that ends in 64 calls in each of so many threads; then the same sampled NUMBER so many
 * processes; then the same scans NUMBER   so many processes that wait for their scan; then the most
 * scanners at once ended NUMBER   so many threads, one after another, each with damaged records
 *   flood NUMBER   connections that end at once, by so many processes; then how the collector fares
 *   fake NUMBER    a control page and a collector of its own, which says that the process with this
 *                  number has the streams of the trace $ATTACKS_TRACE
 *   toggles        the signal that pauses, as if it had come a hundred times
 *   refused NUMBER while the collector is stopped, so many programs that it claims to have
 * executed; then it executes tests/hosts/makes, traced by the library $ATTACKS_LIBRARY
 *
 *   disowns        traced itself: by its connection a child without rights says that --follow did
 * not choose it, then it makes 1000 blocks of 1399 late NUMBER    so many messages to a collector
 * that is stopped before and, when newcomers have to wait, after; then how long a traced program of
 * $ATTACKS_LIBRARY takes (ms)
 *
 * In a child of a traced process, traced itself (attacks child WHAT NUMBER): the child gives up its
 * rights, and forges in the memory that it has of its parent, while that makes 1000 blocks of 1327:
 *
 *   spare NUMBER   a process with this number
 *   piece NUMBER   one more piece of its parent, whose pid is NUMBER (0: of the parent), with marks
 */
#include "../lib/collect-forger.h"

#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "made.h"

static void send_memory(int fd, uint32_t slots, int pid)
{
	const struct control_page *control = forger_control();
	struct arena_hello hello = { .contract = CONTRACT_HASH,
				     .secret = { forger_secret[0], forger_secret[1] },
				     .key = { producer_now(control), 1 },
				     .parent_stream = WIRE_NO_STREAM,
				     .slots = slots,
				     .ring_size = ARENA_RING_MOST,
				     .pid = pid,
				     .name = "forged" };

	forger_send(forger_connect(), &hello, sizeof(hello), fd);
}

static void huge(long number)
{
	uint32_t slots;
	int fd = forger_huge_memory(&slots);

	(void)number;
	send_memory(fd, slots, getpid());
}

static void file(long number)
{
	(void)number;
	send_memory(open("/etc/passwd", O_RDONLY), 2, getpid());
	send_memory(open("/", O_RDONLY), 2, getpid());
	send_memory(open("/proc/self/mem", O_RDWR), 2, getpid());
}

static void say_open(struct producer *producer, uint64_t fd)
{
	uint64_t now = producer_now(producer->control);

	producer_say(producer, &(struct producer_call){ .hook = HOOK_open,
							.operation = OPERATION_ALLOC,
							.resource = RESOURCE_FD,
							.moment = MOMENT_LEAVE,
							.enter = now,
							.leave = now,
							.object = fd,
							.result = fd,
							.flags = CALL_NO_BACKTRACE });
}

static void pid(long number)
{
	struct producer_memory memory;
	struct producer producer;

	producer_make(&memory, forger_control(), 2, NULL, "forged");
	memory.hello.pid = (int32_t)number;
	memory.hello.key[1] = (uint64_t)number;
	producer_hand_over(&memory);
	producer_attach(&producer, &memory);
	for (uint64_t fd = 100; fd < 150; fd++)
		say_open(&producer, fd);
	puts("said");
	fflush(stdout);
	sleep(4);
}

static void orders(long number)
{
	char answer[4096];

	(void)number;
	forger_ask(CONTROL_MARK, "forged mark", answer, sizeof(answer), NULL);
	printf("mark: %s\n", answer);
	forger_ask(CONTROL_SNAPSHOT, "", answer, sizeof(answer), NULL);
	printf("snapshot: %s\n", answer);
	forger_ask(CONTROL_PROCESS, "0", answer, sizeof(answer), NULL);
	printf("process: %s\n", answer);
	forger_ask(CONTROL_SCAN, "", answer, sizeof(answer), NULL);
	printf("scan: %s\n", answer);
	forger_ask(CONTROL_STOP, "", answer, sizeof(answer), NULL);
	printf("stop: %s\n", answer);
}

static void more(long number)
{
	struct producer_memory memory;

	(void)number;
	producer_make(&memory, forger_control(), 2, NULL, "forged");
	memory.hello.chunk = 1;
	producer_hand_over(&memory);
}

static void left(long number)
{
	const struct control_page *control = forger_control();
	struct control_request request = { .contract = CONTRACT_HASH,
					   .secret = { control->secret[0], control->secret[1] },
					   .command = CONTROL_LEFT_OUT };

	for (long i = 0; i < number; i++) {
		int socket = forger_connect();

		snprintf(request.text, sizeof(request.text), "forged%ld", i);
		if (send(socket, &request, sizeof(request), MSG_NOSIGNAL) < 0)
			puts("cannot send");
		close(socket);
	}
}

static void claim_images(const struct control_page *control, long number)
{
	for (long i = 0; i < number; i++) {
		struct producer_memory memory;

		producer_make(&memory, control, 2, NULL, "forged");
		memory.hello.key[0] += (uint64_t)i;
		producer_hand_over(&memory);
		munmap(memory.map, memory.layout.size);
		close(memory.fd);
	}
}

static void hellos(long number)
{
	claim_images(forger_control(), number);
}

/* What it executes is one image too many, so the collector refuses that. */
static void refused(long number)
{
	const struct control_page *control = forger_control();

	if (!fork()) {
		usleep(500000);
		kill(control->collector, SIGCONT);
		_exit(0);
	}
	kill(control->collector, SIGSTOP);
	claim_images(control, number);
	setenv("LD_PRELOAD", getenv("ATTACKS_LIBRARY"), 1);
	execl("tests/hosts/makes", "makes", "60000", "1381", (char *)NULL);
}

/* Root connects, and its child that gave up its rights sends. */
static void handed(long number)
{
	const struct control_page *control = forger_control();
	struct producer_memory memory;
	struct producer producer;
	int socket = forger_connect();

	if (fork()) {
		wait(NULL);
		return;
	}
	if (setgroups(0, NULL) || setgid(65534) || setuid(65534))
		_exit(1);
	producer_make(&memory, control, 2, NULL, "handed");
	memory.hello.pid = (int32_t)number;
	forger_send(socket, &memory.hello, sizeof(memory.hello), memory.fd);
	producer_attach(&producer, &memory);
	say_open(&producer, 100);
	sleep(1);
	_exit(0);
}

static void disowns(long number)
{
	struct control_request request = { .contract = CONTRACT_HASH,
					   .secret = { forger_secret[0], forger_secret[1] },
					   .command = CONTROL_LEFT_OUT,
					   .text = "forged" };
	int socket = forger_connect();

	(void)number;
	if (!fork()) {
		if (setgroups(0, NULL) || setgid(65534) || setuid(65534))
			_exit(1);
		send(socket, &request, sizeof(request), MSG_NOSIGNAL);
		usleep(300000);
		_exit(0);
	}
	wait(NULL);
	make_silently(1000, 1399);
}

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void late(long number)
{
	const struct control_page *control = forger_control();
	long least = 0;

	kill(control->collector, SIGSTOP);
	claim_images(control, number);
	kill(control->collector, SIGCONT);
	for (long since = now_ms(); !__atomic_load_n(&control->crowded, __ATOMIC_RELAXED);)
		if (now_ms() - since > 3000)
			break;
	kill(control->collector, SIGSTOP);
	printf("crowded %u\n", control->crowded);
	fflush(stdout);
	setenv("LD_PRELOAD", getenv("ATTACKS_LIBRARY"), 1);
	for (int i = 0; i < 3; i++) {
		long since = now_ms(), took;

		if (!vfork()) {
			execl("tests/hosts/makes", "makes", "1", "1381", (char *)NULL);
			_exit(127);
		}
		wait(NULL);
		took = now_ms() - since;
		least = !i || took < least ? took : least;
	}
	printf("took %ld\n", least);
	kill(control->collector, SIGCONT);
}

static void silent(long number)
{
	for (long i = 0; i < number; i++)
		forger_connect();
	puts("silent");
	fflush(stdout);
	sleep(3);
}

/* Blocking: as fast as they are let in. */
static void crowd(long number)
{
	pid_t *children = calloc((size_t)number, sizeof(*children));
	char byte;

	for (long i = 0; i < number; i++) {
		children[i] = fork();
		while (!children[i])
			close(forger_connect());
	}
	while (read(0, &byte, 1) > 0)
		;
	for (long i = 0; i < number; i++)
		kill(children[i], SIGKILL);
	free(children);
}

static void head(long number)
{
	struct producer_memory memory;
	struct producer producer;

	(void)number;
	producer_make(&memory, forger_control(), 2, NULL, "head");
	producer_hand_over(&memory);
	producer_attach(&producer, &memory);
	usleep(200000);
	__atomic_store_n(&producer.slot->head, (200ull << 20) | 7, __ATOMIC_RELEASE);
	puts("stored");
	fflush(stdout);
	sleep(2);
}

static void calls(long number)
{
	struct producer_memory memory;
	struct producer producer;

	producer_make(&memory, forger_control(), 2, NULL, "calls");
	producer_hand_over(&memory);
	producer_attach(&producer, &memory);
	for (long i = 0; i < number; i++) {
		uint64_t now = producer_now(producer.control), frames[64];

		for (uint64_t k = 0; k < 64; k++)
			frames[k] = 0x400000 + (uint64_t)i * 64 + k;
		producer_say(&producer,
			     &(struct producer_call){ .hook = HOOK_malloc,
						      .operation = OPERATION_ALLOC,
						      .resource = RESOURCE_MEMORY,
						      .moment = MOMENT_LEAVE,
						      .enter = now,
						      .leave = now,
						      .object = 0x1000 + (uint64_t)i * 16,
						      .result = 0x1000 + (uint64_t)i * 16,
						      .size = 1367,
						      .fresh = 64,
						      .frames = frames });
	}
}

/* Sends memory with so many pieces of one slot each. Returns the head of the first. */
static const struct arena *send_pieces(uint32_t pieces)
{
	struct chunk_layout layout = chunk_lay_out(1, ARENA_RING_LEAST, 0);
	struct arena_hello hello = { .contract = CONTRACT_HASH,
				     .secret = { forger_secret[0], forger_secret[1] },
				     .key = { producer_now(forger_control()), (uint64_t)getpid() },
				     .parent_stream = WIRE_NO_STREAM,
				     .slots = 1,
				     .ring_size = ARENA_RING_LEAST,
				     .pid = getpid(),
				     .name = "forged" };
	int fd = memfd_create(ARENA_NAME, MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, (off_t)(layout.size * pieces + ARENA_LINK)) < 0)
		abort();
	for (uint32_t i = 0; i < pieces; i++) {
		struct arena head = { .used = 1,
				      .chunks = i ? 0 : pieces,
				      .slots = 1,
				      .ring_size = ARENA_RING_LEAST };

		if (pwrite(fd, &head, sizeof(head), (off_t)(layout.size * i)) < 0)
			abort();
	}
	forger_send(forger_connect(), &hello, sizeof(hello), fd);
	return mmap(NULL, ARENA_HEAD_SIZE, PROT_READ, MAP_SHARED, fd, 0);
}

/* All live until the collector has refused a piece of one of them, or for 20 s. */
static void pieces(long number)
{
	uint32_t *is_over = mmap(NULL, sizeof(*is_over), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	for (long i = 0; i < number; i++)
		if (!fork()) {
			const struct arena *head = send_pieces(ARENA_CHUNKS);

			for (int k = 0; k < 1000 && !__atomic_load_n(is_over, __ATOMIC_RELAXED);
			     k++) {
				if (__atomic_load_n(&head->refused, __ATOMIC_RELAXED))
					__atomic_store_n(is_over, 1, __ATOMIC_RELAXED);
				usleep(20000);
			}
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
}

static void short_lived(long number)
{
	for (long i = 0; i < number; i++) {
		pid_t pid = fork();

		if (!pid) {
			send_pieces(1);
			_exit(0);
		}
		if (i % 8 == 7)
			while (wait(NULL) > 0)
				;
	}
	while (wait(NULL) > 0)
		;
}

/* For so many ms: the collector's rounds, and the longest time without one. */
static void say_rounds(const struct control_page *control, long ms)
{
	uint64_t first = control->rounds, last = first;
	long begun = now_ms(), changed = begun, gap = 0, now;

	while ((now = now_ms()) - begun < ms) {
		uint64_t rounds = __atomic_load_n(&control->rounds, __ATOMIC_RELAXED);

		gap = now - changed > gap ? now - changed : gap;
		if (rounds != last)
			changed = now;
		last = rounds;
		usleep(1000);
	}
	printf("rounds %lu\ngap %ld\n", (unsigned long)(last - first), gap);
	fflush(stdout);
}

/* So many children, each with memory of its own that this process maps, too. They live until it
 * ends. */
static struct producer_memory *make_children(const struct control_page *control, long number)
{
	struct producer_memory *memories = calloc((size_t)number, sizeof(*memories));

	for (long i = 0; i < number; i++) {
		producer_make(&memories[i], control, 1, NULL, "child");
		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			memories[i].hello.pid = getpid();
			memories[i].hello.key[1] = (uint64_t)getpid();
			producer_hand_over(&memories[i]);
			for (;;)
				pause();
		}
		close(memories[i].fd);
	}
	return memories;
}

/* A connection of this process, by which its child says that it has this pid. */
static void claim_pid(const struct control_page *control, long number, int32_t pid)
{
	int *sockets = calloc((size_t)number, sizeof(*sockets));

	for (long i = 0; i < number; i++)
		sockets[i] = forger_connect();
	if (!fork()) {
		for (long i = 0; i < number; i++) {
			struct producer_memory memory;

			producer_make(&memory, control, 1, NULL, "claims");
			memory.hello.pid = pid;
			memory.hello.key[1] = (uint64_t)i;
			forger_send(sockets[i], &memory.hello, sizeof(memory.hello), memory.fd);
			munmap(memory.map, memory.layout.size);
			close(memory.fd);
			close(sockets[i]);
		}
		_exit(0);
	}
	for (long i = 0; i < number; i++)
		close(sockets[i]);
	wait(NULL);
	free(sockets);
}

static void told(long number)
{
	const struct control_page *control = forger_control();
	struct producer_memory *memories = make_children(control, number);
	pid_t teller;

	for (long left = number; left > 0; left -= 50)
		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			claim_pid(control, 50, 4242);
			for (;;)
				pause();
		} else {
			usleep(20000);
		}
	sleep(1);
	teller = fork();
	while (!teller) {
		for (long i = 0; i < number; i++) {
			struct arena *head = (struct arena *)(void *)memories[i].map;

			for (uint32_t k = 0; k < ARENA_TOLD; k++)
				head->told[k] = 4242ull << 32;
			__atomic_fetch_add(&head->told_count, ARENA_TOLD, __ATOMIC_RELEASE);
		}
		usleep(1000);
	}
	say_rounds(control, 3000);
	kill(teller, SIGKILL);
}

static void flood(long number)
{
	const struct control_page *control = forger_control();

	for (long i = 0; i < number; i++)
		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				close(forger_connect());
		}
	say_rounds(control, 3000);
}

static void answer_with(int connection, const char *text, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec part = { .iov_base = (void *)(uintptr_t)text, .iov_len = strlen(text) + 1 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	struct cmsghdr *header = (void *)control;

	if (fd >= 0) {
		message.msg_control = control;
		message.msg_controllen = sizeof(control);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	}
	sendmsg(connection, &message, MSG_NOSIGNAL);
}

static void fake(long number)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct control_page *control;
	char text[4096];
	int fd, length, listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	/* the first mapping of that name is taken for the run's */
	control = producer_control(&fd);
	control->state = CONTROL_RUNNING;
	control->collector = getpid();
	control =
		mmap((void *)0x100000, sizeof(*control), PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0);
	length = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "%s%016llx%016llx",
			  CONTROL_SOCKET_PREFIX, (unsigned long long)control->session[1],
			  (unsigned long long)control->session[0]);
	if (control == MAP_FAILED ||
	    bind(listener, (struct sockaddr *)&address,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) ||
	    listen(listener, 8))
		abort();
	printf("fake %d\n", (int)getpid());
	fflush(stdout);
	for (;;) {
		int connection = accept(listener, NULL, NULL);
		struct control_request request = { 0 };

		if (recv(connection, &request, sizeof(request), 0) <= 0)
			continue;
		snprintf(text, sizeof(text), "%s\n", getenv("ATTACKS_TRACE"));
		if (request.command == CONTROL_PROCESS) {
			snprintf(text, sizeof(text), "%ld", number);
			answer_with(connection, text, (int)syscall(SYS_pidfd_open, number, 0));
		} else {
			answer_with(connection, text, -1);
		}
		close(connection);
	}
}

static void sampled(long number)
{
	const struct control_page *control = forger_control();

	make_children(control, number);
	sleep(1);
	say_rounds(control, 3000);
}

static void fill_open(struct slot *slot, uint64_t number)
{
	slot->thread = (int32_t)number + 1;
	slot->stack_serial = 1;
	slot->stack_count = ARENA_FRAMES_MAX;
	for (uint64_t i = 0; i < ARENA_FRAMES_MAX; i++)
		slot->stack[i] = number << 20 | (i + 1) << 4;
	slot->open_count = ARENA_OPEN_MAX;
	for (uint64_t i = 0; i < ARENA_OPEN_MAX; i++)
		slot->open[i] = (struct arena_open){ .hook = HOOK_poll,
						     .serial = i % 2 ? 1 : (uint32_t)number + 2,
						     .object = number,
						     .enter = 1,
						     .ip = number << 20 | i << 4 };
	slot->state = SLOT_TAKEN;
}

static void open_calls(long number)
{
	const struct control_page *control = forger_control();
	uint32_t chunks = (uint32_t)number / ARENA_SLOTS_MOST;
	struct chunk_layout layout = chunk_lay_out(ARENA_SLOTS_MOST, ARENA_RING_LEAST, 0);
	struct arena_hello hello = { .contract = CONTRACT_HASH,
				     .secret = { forger_secret[0], forger_secret[1] },
				     .parent_stream = WIRE_NO_STREAM,
				     .slots = ARENA_SLOTS_MOST,
				     .ring_size = ARENA_RING_LEAST,
				     .name = "open" };
	int fd = memfd_create(ARENA_NAME, MFD_ALLOW_SEALING);
	size_t size = layout.size * chunks + ARENA_LINK;
	char *map;

	if (fd < 0 || ftruncate(fd, (off_t)size) < 0)
		abort();
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	for (uint32_t i = 0; i < chunks; i++) {
		struct arena *head = (struct arena *)(void *)(map + layout.size * i);

		*head = (struct arena){ .used = ARENA_SLOTS_MOST,
					.chunks = i ? 0 : chunks,
					.slots = ARENA_SLOTS_MOST,
					.ring_size = ARENA_RING_LEAST };
		for (uint32_t k = 0; k < ARENA_SLOTS_MOST; k++)
			fill_open(chunk_slot((char *)head, k), i * ARENA_SLOTS_MOST + k);
	}
	if (!fork()) {
		hello.pid = getpid();
		hello.key[0] = producer_now(control);
		hello.key[1] = (uint64_t)getpid();
		forger_send(forger_connect(), &hello, sizeof(hello), fd);
		sleep(1);
		_exit(0);
	}
	sleep(1);
	say_rounds(control, 4000);
	wait(NULL);
}

/* How many children of the collector are scanners. */
static int count_scanners(int collector)
{
	char path[64], name[32];
	int count = 0, pid;
	FILE *file, *comm;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", collector, collector);
	file = fopen(path, "r");
	while (file && fscanf(file, "%d", &pid) == 1) {
		snprintf(path, sizeof(path), "/proc/%d/comm", pid);
		comm = fopen(path, "r");
		count += comm && fgets(name, sizeof(name), comm) && strstr(name, "scan");
		if (comm)
			fclose(comm);
	}
	if (file)
		fclose(file);
	return count;
}

static void scans(long number)
{
	const struct control_page *control = forger_control();
	struct producer_memory *memories = make_children(control, number);
	int most = 0;

	sleep(1);
	for (long i = 0; i < number; i++)
		((struct arena *)(void *)memories[i].map)->ending = 1;
	for (long begun = now_ms(); now_ms() - begun < 3000; usleep(2000)) {
		int count = count_scanners(control->collector);

		most = count > most ? count : most;
	}
	printf("scanners %d\n", most);
}

/* Each thread writes a record that is none. */
static void ended(long number)
{
	struct producer_memory memory;
	struct producer producer;

	producer_make(&memory, forger_control(), 2, NULL, "ended");
	producer_hand_over(&memory);
	producer_attach(&producer, &memory);
	for (long i = 1; i <= number; i++) {
		struct record_thread *thread =
			producer_reserve(&producer, RECORD_THREAD, sizeof(*thread));
		struct record *note;

		thread->record.time = producer_now(producer.control);
		thread->thread = (int32_t)i;
		thread->pthread = (uint64_t)i;
		producer_publish(thread);
		note = producer_reserve(&producer, RECORD_NOTE, sizeof(struct record));
		note->time = thread->record.time;
		producer_publish(note);
	}
}

static void toggles(long number)
{
	struct producer_memory memory;

	(void)number;
	producer_make(&memory, forger_control(), 2, NULL, "toggles");
	producer_hand_over(&memory);
	((struct arena *)(void *)memory.map)->toggles = 101;
	sleep(1);
}

/* ---- in a child of a traced process ---- */

/* The first chunk of the parent, of which spares are left. */
static char *find_family(struct chunk_layout *layout, uint32_t *spares)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];

	while (maps && fgets(line, sizeof(line), maps)) {
		unsigned long from, to;
		uint64_t offset;

		if (!strstr(line, "memfd:" ARENA_NAME) ||
		    sscanf(line, "%lx-%lx rw-s %" SCNx64, &from, &to, &offset) != 3)
			continue;
		for (*spares = ARENA_SPARES_MOST; *spares; --*spares) {
			*layout = chunk_lay_out(ARENA_SLOTS_FIRST, ARENA_RING_MOST, *spares);
			if (layout->size + ARENA_LINK == offset + (to - from)) {
				fclose(maps);
				return (char *)from - offset;
			}
		}
	}
	return NULL;
}

/* What the library keeps of its own message: a forked child has it, too. */
static const struct arena_hello *find_hello(int32_t parent)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];

	while (maps && fgets(line, sizeof(line), maps)) {
		unsigned long from, to;

		if (sscanf(line, "%lx-%lx rw-p", &from, &to) != 2 || strstr(line, "[stack]"))
			continue;
		for (unsigned long at = from; at + sizeof(struct arena_hello) <= to; at += 8) {
			const struct arena_hello *hello = (const void *)at;

			if (hello->contract == CONTRACT_HASH &&
			    hello->secret[0] == forger_secret[0] && hello->pid == parent)
				return hello;
		}
	}
	return NULL;
}

/* What the child needs, found before: at its first hooked call it would leave this memory. */
static struct {
	const struct arena_hello *own;
	const struct control_page *control;
	char *family;
	struct chunk_layout layout;
} found;

static void forge(bool is_piece, int32_t number)
{
	static const struct timespec step = { .tv_nsec = 10000000 };
	static const char mark[] = "~mark\0text\0forged mark";
	char *places = found.family + found.layout.spares;
	struct arena_spare *spare = (struct arena_spare *)(void *)(places + ARENA_SPARE_SIZE);
	struct slot *slot = (struct slot *)(void *)(found.family + found.layout.spare_slots);
	struct record_note *note = (void *)(found.family + found.layout.spare_rings);

	if (syscall(SYS_setgroups, 0, NULL) || syscall(SYS_setgid, 65534) ||
	    syscall(SYS_setuid, 65534))
		syscall(SYS_exit_group, 3);
	spare->hello = *found.own;
	spare->hello.slots = 1;
	spare->hello.ring_size = ARENA_RING_LEAST;
	spare->hello.spares = 0;
	spare->hello.chunk = is_piece;
	spare->hello.pid = number ? number : found.own->pid;
	spare->hello.key[0] += !is_piece;
	memcpy(spare->hello.name, "forged", 7);
	note->record = (struct record){ .length = sizeof(*note) + ((sizeof(mark) + 7) & ~7u),
					.state = RECORD_DONE,
					.kind = RECORD_NOTE,
					.more = 1,
					.time = producer_now(found.control) };
	note->text = sizeof(mark);
	memcpy(note + 1, mark, sizeof(mark));
	slot->thread = found.own->pid;
	slot->state = SLOT_TAKEN;
	slot->head = note->record.length;
	spare->head.used = 1;
	__atomic_store_n(&spare->state, SPARE_READY, __ATOMIC_RELEASE);
	__atomic_store_n(&((struct arena_spare *)(void *)places)->used, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < 30; i++)
		syscall(SYS_nanosleep, &step, NULL);
	syscall(SYS_exit_group, spare->state == SPARE_READY ? 4 : 0);
}

static int be_parent(const char *what, int32_t number)
{
	uint32_t spares;
	int status;

	make_silently(1, 1327);
	found.family = find_family(&found.layout, &spares);
	found.own = find_hello(getpid());
	found.control = forger_control();
	if (!found.family || !found.own)
		return 3;
	if (!syscall(SYS_clone, 17, 0, 0, 0, 0)) /* no fork that the library sees */
		forge(!strcmp(what, "piece"), number);
	for (int i = 0; i < 99; i++) {
		make_silently(10, 1327);
		usleep(4000);
	}
	make_silently(9, 1327);
	wait(&status);
	printf("made 1000 of 1327, child %d\n", status);
	return 0;
}

static const struct {
	const char *word;
	void (*function)(long number);
} attacks[] = {
	{ "huge", huge },	{ "file", file },	{ "pid", pid },
	{ "orders", orders },	{ "hellos", hellos },	{ "handed", handed },
	{ "silent", silent },	{ "head", head },	{ "calls", calls },
	{ "toggles", toggles }, { "left", left },	{ "more", more },
	{ "crowd", crowd },	{ "refused", refused }, { "disowns", disowns },
	{ "late", late },	{ "pieces", pieces },	{ "short", short_lived },
	{ "told", told },	{ "open", open_calls }, { "sampled", sampled },
	{ "scans", scans },	{ "ended", ended },	{ "flood", flood },
	{ "fake", fake },
};

int main(int argc, char **argv)
{
	bool is_child = argc > 2 && !strcmp(argv[1], "child");
	const char *number = argc > 2 + is_child ? argv[2 + is_child] : "0";

	if (argc < 2 || !forger_begin())
		return 2;
	if (is_child)
		return be_parent(argv[2], atoi(number));
	for (size_t i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++)
		if (!strcmp(attacks[i].word, argv[1])) {
			attacks[i].function(atol(number));
			return 0;
		}
	return 2;
}
