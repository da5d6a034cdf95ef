/* SPDX-License-Identifier: MIT */
/*
 * Tests the limits on what traced processes can make the collector spend: the limits of one user,
 * of all users except the run's owner, and of all users.
 */
#include "tests/lib/collect-producer.h"
#include "tests/lib/tap.h"

#include "collect/bounds.h"
#include "collect/listener.h"

#include <sys/resource.h>
#include <sys/wait.h>

#define OTHER_USER   65534
#define GUESTS_USER  512  /* maximum number of waiting processes of a user (SECURITY.md) */
#define GUESTS_ALL   2048 /* maximum number for all users except the owner */
#define GUESTS_TRIED 600
#define FILES_LEAST  40000 /* with fewer descriptors, fewer processes may wait */

/* Requests units one by one until one is refused or `most` are granted. Returns their number. */
static uint32_t take(struct bounds_used *used, struct bounds_user *user, enum bound bound,
		     uint32_t most)
{
	uint32_t count = 0;

	while (count < most && bounds_allow(used, user, bound, 1)) {
		bounds_use(used, user, bound, 1);
		count++;
	}
	return count;
}

static void test_users(enum bound bound, const char *word)
{
	const struct bound_limits *limits = &bounds[bound];
	struct bounds_used used = { 0 };
	struct bounds_user owner = { .is_owner = true }, users[64] = { 0 };
	uint32_t sum = 0, most = 0;
	char text[160];

	for (int i = 0; i < 64; i++) {
		uint32_t taken = take(&used, &users[i], bound, UINT32_MAX);

		sum += taken;
		most = taken > most ? taken : most;
	}
	snprintf(text, sizeof(text), "one user who does not own the run has %u %s at most",
		 limits->of_user, word);
	ok(most == limits->of_user, text);
	snprintf(text, sizeof(text), "64 users who do not own the run have half of all %s at most",
		 word);
	ok(sum == limits->of_others && sum * 2 == limits->in_all, text);
	snprintf(text, sizeof(text), "64 such users leave the owner the other half of all %s",
		 word);
	ok(take(&used, &owner, bound, UINT32_MAX) == limits->in_all - sum, text);
	bounds_use(&used, &owner, bound, -1);
	snprintf(text, sizeof(text), "%s that the owner gives back are the owner's", word);
	ok(!bounds_allow(&used, &users[63], bound, 1) && bounds_allow(&used, &owner, bound, 1),
	   text);
	bounds_use(&used, &users[0], bound, -1);
	snprintf(text, sizeof(text), "%s that another user gives back are another user's", word);
	ok(bounds_allow(&used, &users[63], bound, 1), text);
}

/* ---- definitions of streams ---- */

#define MIB (1ll << 20)

/* Initialises *known for a user with one stream, whose definitions take `bytes` bytes. */
static void know(struct bounds_known *known, struct bounds_known *above, int64_t bytes)
{
	*known = (struct bounds_known){ .most = (uint64_t)KNOWN_OF_USER << 20, .above = above };
	bounds_know(known, 1, bytes);
}

static void test_known(void)
{
	struct bounds_known all = { .most = (uint64_t)KNOWN_IN_ALL << 20 };
	struct bounds_known others = { .most = (uint64_t)KNOWN_OF_OTHERS << 20, .above = &all };
	struct bounds_known owner, users[KNOWN_IN_ALL / KNOWN_OF_USER];
	unsigned int forced = 0;

	know(&owner, &all, 100 * MIB);
	owner.most = UINT64_MAX;
	ok(!bounds_knows_too_much(&owner, 100 * MIB), "the owner has no limit of a user");
	know(&users[0], &others, (KNOWN_OF_USER + 1) * MIB);
	ok(bounds_knows_too_much(&users[0], (KNOWN_OF_USER + 1) * MIB),
	   "another user's streams forget their definitions beyond the user's limit");
	bounds_know(&users[0], 0, -MIB);
	ok(!bounds_knows_too_much(&users[0], KNOWN_OF_USER * MIB), "... and not before");
	/* each user starts at its limit, and forgets all its definitions if they are too many */
	for (unsigned int i = 1; i < sizeof(users) / sizeof(users[0]); i++) {
		know(&users[i], &others, KNOWN_OF_USER * MIB);
		if (!bounds_knows_too_much(&users[i], KNOWN_OF_USER * MIB))
			continue;
		bounds_know(&users[i], 0, -KNOWN_OF_USER * MIB);
		forced++;
	}
	ok(forced && others.bytes <= others.most, "all other users together have a limit");
	ok(!bounds_knows_too_much(&owner, 100 * MIB),
	   "a crowd of other users does not make the owner's streams forget");
	bounds_know(&users[0], -1, -KNOWN_OF_USER * MIB);
	ok(users[0].streams == 0 && users[0].bytes == 0 && all.bytes == 100 * MIB + others.bytes,
	   "what a stream leaves is subtracted from all sums");
}

/* ---- who waits to be taken in ---- */

/* Sends the same memory `count` times, as another user. */
static void knock(const struct producer_memory *memory, uid_t user, int count)
{
	pid_t pid = fork();

	if (!pid) {
		if (user && (setgid(user) || setuid(user)))
			_exit(1);
		for (int i = 0; i < count; i++)
			producer_hand_over(memory);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

/* Sends a message as another user, without a descriptor. Returns the connection. */
static int say(const struct control_page *control, const void *message, size_t size)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int length =
		snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "%s%016llx%016llx",
			 CONTROL_SOCKET_PREFIX, (unsigned long long)control->session[1],
			 (unsigned long long)control->session[0]);
	socklen_t room = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd < 0 || seteuid(OTHER_USER) || connect(fd, (struct sockaddr *)&address, room) < 0 ||
	    send(fd, message, size, MSG_NOSIGNAL) < 0 || seteuid(0))
		abort();
	return fd;
}

/* Accepts all processes that have connected and adds them to *kept. Returns their number. */
static int let_in(struct listener *listener, struct guest **kept)
{
	bool has_more = true;
	int count = 0;

	while (has_more) {
		struct guest *guests = listener_take(listener, &has_more);

		while (guests) {
			struct guest *guest = guests;

			guests = guest->next;
			guest->next = *kept;
			*kept = guest;
			count++;
		}
	}
	return count;
}

static void test_waiting(void)
{
	struct shared shared = { .lock = -1 };
	struct guest *kept = NULL;
	struct producer_memory memory;
	struct error err;
	static struct listener *listener; /* static: its thread may outlive this function */
	struct control_request request = { .contract = CONTRACT_HASH, .command = CONTROL_LEFT_OUT };
	struct rlimit files;
	char answer[64];
	int connection;

	if (geteuid()) {
		ok(true, "no more than 512 of a user wait # SKIP it takes root, and another user");
		return;
	}
	files.rlim_cur = files.rlim_max = FILES_LEAST;
	if (setrlimit(RLIMIT_NOFILE, &files)) {
		ok(true, "no more than 512 of a user wait # SKIP too few descriptors");
		return;
	}
	shared.control = producer_control(&shared.fd);
	snprintf(shared.session, sizeof(shared.session), "%016llx%016llx",
		 (unsigned long long)shared.control->session[1],
		 (unsigned long long)shared.control->session[0]);
	listener = listener_open(&shared, &err);
	if (!ok(listener != NULL, "the collector's socket is open"))
		return;
	producer_make(&memory, shared.control, 2, NULL, "waits");
	memcpy(request.secret, shared.control->secret, sizeof(request.secret));
	knock(&memory, OTHER_USER, GUESTS_TRIED);
	ok(let_in(listener, &kept) == GUESTS_USER, "of 600 processes of another user 512 wait");
	ok(listener_refused(listener, REFUSED_MEMBERS) == GUESTS_TRIED - GUESTS_USER,
	   "the others are turned away, and counted");
	knock(&memory, 0, 1);
	ok(let_in(listener, &kept) == 1, "meanwhile a process of the owner is let in");
	while (kept) {
		struct guest *guest = kept;

		kept = guest->next;
		listener_attend(listener, guest);
		listener_dismiss(guest);
	}
	knock(&memory, OTHER_USER, 1);
	ok(let_in(listener, &kept) == 1, "and, when those are attended to, one of the other user");
	listener_attend(listener, kept);
	listener_dismiss(kept);
	kept = NULL;
	for (uid_t i = 1; i <= 8; i++)
		knock(&memory, OTHER_USER + i, GUESTS_TRIED);
	ok(let_in(listener, &kept) == GUESTS_ALL &&
		   listener_refused(listener, REFUSED_MEMBERS) == 8 * GUESTS_TRIED - GUESTS_ALL,
	   "of 4,800 processes of eight other users 2,048 wait");
	while (kept) {
		struct guest *guest = kept;

		kept = guest->next;
		listener_attend(listener, guest);
		listener_dismiss(guest);
	}
	for (int i = 0; i < GUESTS_TRIED; i++)
		close(say(shared.control, &request, sizeof(request)));
	knock(&memory, OTHER_USER, 1);
	ok(let_in(listener, &kept) == GUESTS_TRIED + 1 &&
		   !listener_refused(listener, REFUSED_MEMBERS),
	   "600 messages of programs that are left out turn away no process of their user");
	while (kept) {
		struct guest *guest = kept;

		kept = guest->next;
		listener_attend(listener, guest);
		listener_dismiss(guest);
	}
	request.command = CONTROL_STOP;
	connection = say(shared.control, &request, sizeof(request));
	ok(!let_in(listener, &kept) && recv(connection, answer, sizeof(answer), MSG_DONTWAIT) > 1 &&
		   *answer == '!' && listener_refused(listener, REFUSED_ORDER) == 1,
	   "a control request of another user is refused before it waits, and counted");
	say(shared.control, &memory.hello, sizeof(memory.hello));
	ok(!let_in(listener, &kept) && listener_refused(listener, REFUSED_MEMORY) == 1,
	   "a process whose descriptor got lost on the way is counted as refused");
	listener_close(listener);
}

static void test_fit(void)
{
	const struct bound_limits threads = bounds[BOUND_THREADS], members = bounds[BOUND_MEMBERS];

	bounds_fit(UINT64_MAX, UINT64_MAX);
	ok(bounds[BOUND_THREADS].of_user == threads.of_user &&
		   bounds[BOUND_MEMBERS].of_others == members.of_others,
	   "with enough memory and descriptors, the limits are those of the table");
	bounds_fit(1ull << 30, 1024);
	ok(bounds[BOUND_THREADS].of_others < 6000 && bounds[BOUND_THREADS].of_others > 4000 &&
		   bounds[BOUND_THREADS].of_user == bounds[BOUND_THREADS].of_others / 2,
	   "with a GiB of memory, other users have few threads");
	ok(bounds[BOUND_MEMBERS].of_others == 341 && bounds[BOUND_MEMBERS].of_user == 170,
	   "with 1,024 descriptors, other users have few processes");
	ok(bounds[BOUND_THREADS].in_all == threads.in_all &&
		   bounds[BOUND_MEMBERS].in_all == members.in_all,
	   "the owner's limits stay");
}

int main(void)
{
	test_users(BOUND_MEMBERS, "processes");
	test_users(BOUND_THREADS, "threads");
	test_users(BOUND_MAPPINGS, "mappings");
	test_known();
	test_waiting();
	test_fit();
	return tap_end();
}
