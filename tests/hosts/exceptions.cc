/* SPDX-License-Identifier: MIT */
/* Exceptions pass frames that hooks have just left, and end a thread's work from deep inside. */
#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <stdexcept>
#include <string>

struct Holder {
	char *block = new char[1063];
	~Holder()
	{
		delete[] block;
	}
};

static void fall(int depth)
{
	Holder holder;

	if (!depth)
		throw std::runtime_error(std::string(100, 'x'));
	fall(depth - 1);
}

static int catch_them()
{
	int caught = 0;

	for (int i = 0; i < 100; i++) {
		try {
			fall(9);
		} catch (const std::exception &) {
			caught++;
		}
	}
	return caught;
}

/* pthread_exit unwinds through the start routine, which stands between libc and this. */
static void *start(void *)
{
	Holder holder;

	catch_them();
	pthread_exit(nullptr);
}

int main()
{
	pthread_t thread;

	pthread_create(&thread, nullptr, start, nullptr);
	pthread_join(thread, nullptr);
	printf("caught %d\n", catch_them());
	printf("made %d of 1063\n", 2 * 1000 + 1);
	return 0;
}
