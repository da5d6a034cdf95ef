// SPDX-License-Identifier: MIT
// What C++ does with threads, and the ways in which it leaves functions. Prints what it saw; at
// its end it holds no lock, and every thread was joined or detached.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cxxabi.h>
#include <future>
#include <mutex>
#include <pthread.h>
#include <semaphore.h>
#include <shared_mutex>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

static std::mutex mutex;
static std::condition_variable cond;
static int shared, destroyed;

struct Guarded {
	~Guarded()
	{
		std::lock_guard<std::mutex> lock(mutex);
		destroyed++;
	}
};

static thread_local Guarded at_thread_end;

static void work(int n)
{
	(void)&at_thread_end;
	for (int i = 0; i < 200; i++) {
		std::lock_guard<std::mutex> lock(mutex);
		shared += n;
	}
	cond.notify_one();
}

static void threads_and_conditions()
{
	std::vector<std::thread> threads;

	for (int i = 1; i <= 8; i++)
		threads.emplace_back(work, i);
	{
		std::unique_lock<std::mutex> lock(mutex);

		cond.wait(lock, [] { return shared == 200 * 36; });
		printf("shared %d, wait_for %d\n", shared,
		       cond.wait_for(lock, 1ms, [] { return false; }));
		printf("wait_until %d\n", cond.wait_until(lock, std::chrono::system_clock::now() + 1ms) ==
						  std::cv_status::timeout);
	}
	for (auto &thread : threads)
		thread.join();
	std::thread([] { work(0); }).join();
	printf("destroyed %d\n", destroyed);
}

static void other_mutexes()
{
	std::shared_mutex readers;
	std::shared_timed_mutex timed_readers;
	std::recursive_mutex recursive;
	std::timed_mutex timed;
	std::condition_variable_any any;
	int failed = 0;

	timed.lock();
	std::shared_lock<std::shared_mutex> first(readers), second(readers);
	failed += readers.try_lock();
	second.unlock();
	first.unlock();
	readers.lock();
	readers.unlock();
	std::lock_guard<std::recursive_mutex> outer(recursive), inner(recursive);
	std::thread([&] {
		failed += timed.try_lock_for(1ms) + recursive.try_lock();
		failed += !timed_readers.try_lock_shared_for(1ms);
		timed_readers.unlock_shared();
	}).join();
	any.wait_for(timed, 1ms);
	timed.unlock();
	std::scoped_lock both(timed, recursive);
	printf("failed %d\n", failed);
}

static void futures()
{
	auto answer = std::async(std::launch::async, [] { return 42; });
	auto bad = std::async(std::launch::async, []() -> int { throw std::runtime_error("no"); });
	std::promise<int> promise;
	auto later = promise.get_future();
	std::thread keeper([&] { promise.set_value_at_thread_exit(7); });

	printf("answer %d later %d\n", answer.get(), later.get());
	keeper.join();
	try {
		bad.get();
	} catch (const std::runtime_error &error) {
		printf("bad: %s\n", error.what());
	}
}

static int compare_and_throw(const void *, const void *)
{
	std::lock_guard<std::mutex> lock(mutex);

	throw std::runtime_error("compare");
}

static void throw_once()
{
	std::lock_guard<std::mutex> lock(mutex);

	throw std::runtime_error("once");
}

static void exceptions_through_libc()
{
	pthread_once_t once = PTHREAD_ONCE_INIT;
	std::once_flag flag;
	int numbers[] = { 3, 1, 2 };

	for (int i = 0; i < 6; i++) {
		try {
			if (i % 3 == 0)
				pthread_once(&once, throw_once);
			else if (i % 3 == 1)
				qsort(numbers, 3, sizeof(int), compare_and_throw);
			else
				std::call_once(flag, throw_once);
		} catch (const std::runtime_error &error) {
			printf("%s\n", error.what());
		}
	}
}

/* Ends the thread from below functions that hold something. */
static void *leave(void *deep)
{
	Guarded guarded;

	if (deep && leave(nullptr))
		return nullptr;
	try {
		pthread_exit(&shared);
	} catch (abi::__forced_unwind &) {
		printf("forced\n");
		throw;
	}
}

static std::atomic<int> waiting;

static void *wait_for_ever(void *)
{
	std::unique_lock<std::mutex> lock(mutex);

	waiting++;
	for (;;)
		cond.wait(lock);
}

static void *wait_for_semaphore(void *)
{
	Guarded guarded;
	sem_t sem;

	sem_init(&sem, 0, 0);
	waiting++;
	sem_wait(&sem);
	return nullptr;
}

static void ends()
{
	void *(*const starts[])(void *) = { leave, wait_for_ever, wait_for_semaphore };

	for (auto start : starts) {
		pthread_t thread;
		void *value = nullptr;

		waiting = 0;
		pthread_create(&thread, nullptr, start, &waiting);
		if (start != leave) {
			while (!waiting)
				std::this_thread::yield();
			std::this_thread::sleep_for(2ms);
			pthread_cancel(thread);
		}
		pthread_join(thread, &value);
		printf("%s\n", value == &shared ? "exited" : value == PTHREAD_CANCELED ? "cancelled" : "?");
	}
	std::lock_guard<std::mutex> lock(mutex);
	printf("destroyed %d\n", destroyed);
}

int main()
{
	threads_and_conditions();
	other_mutexes();
	futures();
	exceptions_through_libc();
	ends();
	std::thread(work, 1).detach();
	std::this_thread::sleep_for(20ms);
	return 3;
}
