/* SPDX-License-Identifier: MIT */
/* Waits of the C++20 library for futexes: a semaphore, a latch and an atomic. */
#include <atomic>
#include <chrono>
#include <latch>
#include <semaphore>
#include <thread>

static std::counting_semaphore<4> semaphore(0);
static std::latch latch(2);
static std::atomic<int> number(0);

__attribute__((noinline)) static void use_semaphore()
{
	semaphore.acquire();
}

__attribute__((noinline)) static void use_latch()
{
	latch.arrive_and_wait();
}

__attribute__((noinline)) static void use_atomic()
{
	number.wait(0);
}

static void nap()
{
	std::this_thread::sleep_for(std::chrono::milliseconds(30));
}

int main()
{
	std::thread thread([] {
		use_semaphore();
		use_latch();
		use_atomic();
	});

	nap();
	semaphore.release();
	nap();
	latch.count_down();
	nap();
	number = 1;
	number.notify_all();
	thread.join();
}
