/* SPDX-License-Identifier: MIT */
/*
 * One planted bug for each word, as people meet them: hunted BUG [PLUGIN]. The function whose name
 * begins with culprit_ is the one that a hunter has to be led to; all the others are innocent and
 * make enough noise to hide it.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* A function of its own in every backtrace. */
#ifdef __clang__
#define PLAIN __attribute__((noinline))
#else
#define PLAIN __attribute__((noinline, noclone))
#endif

static void *volatile sink;
static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t two = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool is_ready;

/* ---- noise ---- */

PLAIN static void innocent_work(int times)
{
	for (int i = 0; i < times; i++) {
		sink = malloc((size_t)(16 + i % 100));
		free(sink);
	}
}

PLAIN static void *innocent_table(void)
{
	void *table = calloc(64, 64);

	sink = table;
	return table;
}

static void alarm_soon(void)
{
	setitimer(ITIMER_REAL, &(struct itimerval){ .it_value.tv_usec = 300 * 1000 }, NULL);
}

/* ---- a cache that only grows, and is freed in the last moment ---- */

struct cached {
	struct cached *next;
	char text[1000];
};

PLAIN static struct cached *culprit_cache(struct cached *cache)
{
	struct cached *new = malloc(sizeof(*new));

	new->next = cache;
	memset(new->text, 'x', sizeof(new->text));
	return new;
}

static void cache(void)
{
	struct cached *all = NULL;

	for (int i = 0; i < 20000; i++) {
		all = culprit_cache(all);
		innocent_work(2);
	}
	while (all) {
		struct cached *next = all->next;

		free(all);
		all = next;
	}
}

/* ---- a server that forgets to close one connection in four ---- */

PLAIN static int culprit_accept(int listener)
{
	return accept(listener, NULL, NULL);
}

static void server(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	bind(listener, (struct sockaddr *)&address, size);
	listen(listener, 16);
	getsockname(listener, (struct sockaddr *)&address, &size);
	for (int i = 0; i < 40; i++) {
		int client = socket(AF_INET, SOCK_STREAM, 0), connection;

		connect(client, (struct sockaddr *)&address, size);
		connection = culprit_accept(listener);
		if (i % 4)
			close(connection);
		close(client);
		innocent_work(50);
	}
	close(listener);
}

/* ---- one slow holder among many quick ones ---- */

PLAIN static void culprit_flush(void)
{
	pthread_mutex_lock(&one);
	usleep(60 * 1000);
	pthread_mutex_unlock(&one);
}

PLAIN static void quick_holder(void)
{
	pthread_mutex_lock(&one);
	innocent_work(3);
	pthread_mutex_unlock(&one);
}

static void *quick_thread(void *unused)
{
	for (int i = 0; i < 200; i++) {
		quick_holder();
		usleep(1000);
	}
	return unused;
}

static void holder(void)
{
	pthread_t threads[6];

	for (int i = 0; i < 6; i++)
		pthread_create(&threads[i], NULL, quick_thread, NULL);
	for (int i = 0; i < 4; i++) {
		culprit_flush();
		usleep(10 * 1000);
	}
	for (int i = 0; i < 6; i++)
		pthread_join(threads[i], NULL);
}

/* ---- deadlocks ---- */

PLAIN static void *culprit_backwards(void *unused)
{
	pthread_mutex_lock(&two);
	usleep(100 * 1000);
	pthread_mutex_lock(&one);
	return unused;
}

PLAIN static void forwards(void)
{
	pthread_mutex_lock(&one);
	usleep(100 * 1000);
	pthread_mutex_lock(&two);
}

static void abba(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, culprit_backwards, NULL);
	forwards();
}

PLAIN static void *culprit_member(void *unused)
{
	usleep(50 * 1000);
	pthread_mutex_lock(&one);
	pthread_mutex_unlock(&one);
	return unused;
}

static void join(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, culprit_member, NULL);
	pthread_mutex_lock(&one);
	pthread_join(thread, NULL);
	pthread_mutex_unlock(&one);
}

PLAIN static void *culprit_leaver(void *unused)
{
	pthread_mutex_lock(&one);
	return unused; /* and forgets to unlock */
}

static void ended(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, culprit_leaver, NULL);
	pthread_join(thread, NULL);
	pthread_mutex_lock(&one);
}

/* ---- a wake-up that nobody was there to hear ---- */

PLAIN static void *culprit_signaller(void *unused)
{
	pthread_cond_signal(&changed); /* before anybody waits, and without saying so in is_ready */
	return unused;
}

PLAIN static void sleeper(void)
{
	pthread_mutex_lock(&one);
	while (!is_ready)
		pthread_cond_wait(&changed, &one);
	pthread_mutex_unlock(&one);
}

static void wakeup(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, culprit_signaller, NULL);
	usleep(50 * 1000);
	sleeper();
}

/* ---- threads that nobody joins ---- */

static void *short_work(void *unused)
{
	innocent_work(20);
	return unused;
}

PLAIN static void culprit_pool(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, short_work, NULL);
}

static void pool(void)
{
	pthread_t joined;

	for (int i = 0; i < 30; i++) {
		culprit_pool();
		pthread_create(&joined, NULL, short_work, NULL);
		pthread_join(joined, NULL);
	}
}

/* ---- a block for each of many short steps ---- */

PLAIN static int culprit_format(int number)
{
	char *text = malloc(64);
	int length = snprintf(text, 64, "%d", number);

	free(text);
	return length;
}

static void temporary(void)
{
	void *table = innocent_table();
	int sum = 0;

	for (int i = 0; i < 300000; i++)
		sum += culprit_format(i);
	free(table);
	sink = (void *)(long)sum;
}

/* ---- a peak that lasts for a moment ---- */

PLAIN static char *culprit_copy(size_t size)
{
	char *copy = malloc(size);

	memset(copy, 1, size);
	return copy;
}

static void peak(void)
{
	void *table = innocent_table();
	char *copy;

	innocent_work(2000);
	copy = culprit_copy(64u << 20);
	innocent_work(10);
	free(copy);
	innocent_work(2000);
	sink = table; /* stays, as tables do */
}

/* ---- a descriptor that is closed twice, the second time somebody else's ---- */

PLAIN static void culprit_close(int fd)
{
	close(fd);
}

static void twice(void)
{
	int first = open("/etc/passwd", O_RDONLY), second;

	close(first);
	second = open("/etc/group", O_RDONLY); /* has the same number now */
	culprit_close(first);
	if (read(second, &first, 1) < 0)
		innocent_work(10);
	close(second);
}

/* ---- children that nobody waits for ---- */

PLAIN static void culprit_spawn(void)
{
	if (fork() == 0)
		_exit(0);
}

static void zombies(void)
{
	int status;

	for (int i = 0; i < 12; i++) {
		pid_t child = fork();

		if (child == 0)
			_exit(0);
		waitpid(child, &status, 0);
		culprit_spawn();
	}
}

/* ---- a return from an error path that forgets its descriptor ---- */

PLAIN static int culprit_load(bool is_bad)
{
	int fd = open("/etc/passwd", O_RDONLY);

	if (is_bad)
		return -1;
	close(fd);
	return 0;
}

static void error(void)
{
	for (int i = 0; i < 200; i++) {
		culprit_load(i % 10 == 0);
		innocent_work(20);
	}
	innocent_table();
}

/* ---- threads that no thread joins, beside short waits for a lock ---- */

static void *fast_holder(void *unused)
{
	for (int i = 0; i < 6; i++) {
		pthread_mutex_lock(&one);
		usleep(9 * 1000);
		pthread_mutex_unlock(&one);
		usleep(100);
	}
	return unused;
}

static void unjoined(void)
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, fast_holder, NULL);
	for (int i = 0; i < 50; i++)
		culprit_pool();
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

/* ---- a job that fails without the post that its caller waits for ---- */

static sem_t jobs;

PLAIN static void culprit_job(int number)
{
	if (number != 3)
		sem_post(&jobs);
}

static void *work_on_jobs(void *unused)
{
	for (int i = 0; i < 8; i++)
		culprit_job(i);
	return unused;
}

static void wait_for_jobs(void)
{
	for (int i = 0; i < 8; i++)
		sem_wait(&jobs);
}

static void post(void)
{
	pthread_t thread;

	sem_init(&jobs, 0, 0);
	innocent_table();
	alarm_soon();
	pthread_create(&thread, NULL, work_on_jobs, NULL);
	wait_for_jobs();
}

/* ---- a semaphore that one thread holds for long, while all others pass it on ---- */

PLAIN static void culprit_hold(void)
{
	sem_wait(&jobs);
	usleep(80 * 1000);
	sem_post(&jobs);
}

static void *slow_thread(void *unused)
{
	for (int i = 0; i < 3; i++)
		culprit_hold();
	return unused;
}

static void *thread_in_turn(void *unused)
{
	usleep(1000);
	sem_wait(&jobs);
	sem_post(&jobs);
	return unused;
}

static void starve(void)
{
	pthread_t threads[6];
	char *volatile copy;

	sem_init(&jobs, 0, 1);
	pthread_create(&threads[0], NULL, slow_thread, NULL);
	for (int i = 1; i < 6; i++)
		pthread_create(&threads[i], NULL, thread_in_turn, NULL);
	copy = malloc(20u << 20);
	memset(copy, 1, 20u << 20);
	free(copy);
	for (int i = 0; i < 6; i++)
		pthread_join(threads[i], NULL);
}

/* ---- a condition that no thread signals ---- */

PLAIN static void culprit_waiter(void)
{
	alarm_soon();
	pthread_mutex_lock(&one);
	while (!is_ready)
		pthread_cond_wait(&changed, &one);
	pthread_mutex_unlock(&one);
}

/* ---- a table that grows to the end, beside a short peak ---- */

PLAIN static void *culprit_insert(void *table)
{
	void **entry = malloc(64);

	*entry = table;
	return entry;
}

static void grow(void)
{
	void *table = NULL;
	char *volatile copy = malloc(20u << 20);

	memset(copy, 1, 20u << 20);
	free(copy);
	for (int i = 0; i < 5000; i++)
		table = culprit_insert(table);
	sink = table;
}

/* ---- two versions: the second one forgets more ---- */

PLAIN static char *culprit_parse(void)
{
	return strdup("a line of a file that is parsed");
}

PLAIN static char *known_leak(void)
{
	return strdup("what both versions forget");
}

static void version(int leaks)
{
	for (int i = 0; i < 100; i++) {
		char *line = culprit_parse();

		sink = line;
		if (i >= leaks)
			free(line);
	}
	for (int i = 0; i < 40; i++)
		sink = known_leak();
}

static void version_1(void)
{
	version(0);
}

static void version_2(void)
{
	version(60);
}

/* ---- a leak in a plugin that is gone when the run ends ---- */

static const char *plugin_path;

static void plugin(void)
{
	void *handle = dlopen(plugin_path, RTLD_NOW);
	void (*work)(void);

	if (!handle) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	work = (void (*)(void))dlsym(handle, "plugin_work");
	work();
	dlclose(handle);
	innocent_work(100);
}

/* ---- a reader that has the other end of its pipe, and so never sees the end ---- */

PLAIN static void culprit_reader(int end)
{
	char byte;

	while (read(end, &byte, 1) > 0)
		innocent_work(10);
}

static void end_of_file(void)
{
	int ends[2];
	pid_t child;

	if (pipe(ends))
		exit(1);
	child = fork();
	if (!child)
		_exit(write(ends[1], "abc", 3) != 3);
	waitpid(child, NULL, 0);
	culprit_reader(ends[0]);
}

/* ---- a child of fork that needs a lock which another thread of its parent held ---- */

static pthread_barrier_t meets;

PLAIN static void *culprit_keeper(void *unused)
{
	pthread_mutex_lock(&one);
	pthread_barrier_wait(&meets);
	usleep(500 * 1000);
	pthread_mutex_unlock(&one);
	return unused;
}

static void forked(void)
{
	pthread_t thread;
	pid_t child;

	pthread_barrier_init(&meets, NULL, 2);
	pthread_create(&thread, NULL, culprit_keeper, NULL);
	pthread_barrier_wait(&meets);
	child = fork();
	if (!child) {
		pthread_mutex_lock(&one);
		_exit(0);
	}
	innocent_work(1000);
	pthread_join(thread, NULL);
	usleep(200 * 1000);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* ---- a mapping, a stream and a directory for each request, which are never released ---- */

PLAIN static void culprit_window(void)
{
	sink = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	innocent_work(20);
}

PLAIN static void culprit_log(void)
{
	sink = fopen("/dev/null", "r");
	innocent_work(20);
}

PLAIN static void culprit_listing(void)
{
	sink = opendir("/");
	innocent_work(20);
}

static void windows(void)
{
	for (int i = 0; i < 200; i++)
		culprit_window();
}

static void streams(void)
{
	for (int i = 0; i < 100; i++)
		culprit_log();
}

static void listings(void)
{
	for (int i = 0; i < 100; i++)
		culprit_listing();
}

static const struct {
	const char *name;
	void (*run)(void);
} bugs[] = {
	{ "cache", cache },	    { "server", server },
	{ "holder", holder },	    { "abba", abba },
	{ "join", join },	    { "ended", ended },
	{ "wakeup", wakeup },	    { "pool", pool },
	{ "temporary", temporary }, { "peak", peak },
	{ "twice", twice },	    { "zombies", zombies },
	{ "version-1", version_1 }, { "version-2", version_2 },
	{ "plugin", plugin },	    { "error", error },
	{ "unjoined", unjoined },   { "post", post },
	{ "starve", starve },	    { "condition", culprit_waiter },
	{ "grow", grow },	    { "end-of-file", end_of_file },
	{ "forked", forked },	    { "windows", windows },
	{ "streams", streams },	    { "listings", listings },
};

int main(int argc, char **argv)
{
	plugin_path = argc > 2 ? argv[2] : NULL;
	for (size_t i = 0; argc > 1 && i < sizeof(bugs) / sizeof(*bugs); i++) {
		if (strcmp(argv[1], bugs[i].name) == 0) {
			bugs[i].run();
			return 0;
		}
	}
	return 2;
}
