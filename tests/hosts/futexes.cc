/* SPDX-License-Identifier: MIT */
/*
 * Waits of the C++20 library for futexes: a semaphore, a latch and an atomic; and for a lock that
 * is made of a condition, with the name of one of Qt.
 */
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <latch>
#include <mutex>
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

class QReadWriteLock
{
	std::mutex mutex;
	std::condition_variable condition;
	bool is_locked = true;

      public:
	__attribute__((noinline)) void lockForWrite()
	{
		std::unique_lock lock(mutex);

		condition.wait(lock, [this] { return !is_locked; });
		is_locked = true;
	}

	void unlock()
	{
		std::lock_guard lock(mutex);

		is_locked = false;
		condition.notify_one();
	}
};

static QReadWriteLock lock;

__attribute__((noinline)) static void use_lock()
{
	lock.lockForWrite();
	__asm__ volatile("");
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
		use_lock();
	});

	nap();
	semaphore.release();
	nap();
	latch.count_down();
	nap();
	number = 1;
	number.notify_all();
	nap();
	lock.unlock();
	thread.join();
}
