/* SPDX-License-Identifier: MIT */
/* Known waits for objects of the C++20 library. */
#include "known-waits.h"
#include <barrier>
#include <future>
#include <latch>
#include <memory>
#include <semaphore>

static std::counting_semaphore<4> semaphore(0);
static std::binary_semaphore binary(0);
static std::unique_ptr<std::latch> latch;
static std::barrier<> barrier(2);
static std::atomic<int> number(0);
static std::atomic<long> wide(0);
static std::atomic_flag flag;
static std::unique_ptr<std::promise<int>> promise;
static std::future<int> future;

FUNCTION(wait_semaphore, semaphore.acquire())
FUNCTION(wake_semaphore, semaphore.release())
FUNCTION(wait_binary, binary.acquire())
FUNCTION(wake_binary, binary.release())
FUNCTION(wait_timed, if (!semaphore.try_acquire_for(std::chrono::seconds(60))) abort())
FUNCTION(wake_timed, semaphore.release())
FUNCTION(take_latch, latch = std::make_unique<std::latch>(1))
FUNCTION(wait_latch, latch->wait())
FUNCTION(wake_latch, latch->count_down())
FUNCTION(wait_barrier, barrier.arrive_and_wait())
FUNCTION(wake_barrier, barrier.arrive_and_wait())
FUNCTION(take_atomic, number = 0)
FUNCTION(wait_atomic, number.wait(0))
FUNCTION(wake_atomic, number = 1; number.notify_all())
FUNCTION(take_wide, wide = 0)
FUNCTION(wait_wide, wide.wait(0))
FUNCTION(wake_wide, wide = 1; wide.notify_one())
FUNCTION(take_flag, flag.clear())
FUNCTION(wait_flag, flag.wait(false))
FUNCTION(wake_flag, flag.test_and_set(); flag.notify_all())
FUNCTION(take_future, promise = std::make_unique<std::promise<int>>();
	 future = promise->get_future())
FUNCTION(wait_future, future.wait())
FUNCTION(wake_future, promise->set_value(1))

static const struct known objects[] = {
	KNOWN(semaphore, "semaphore", "woken", NULL, NULL),
	KNOWN(binary, "semaphore", "woken", NULL, NULL),
	KNOWN(timed, "semaphore", "woken", NULL, NULL),
	KNOWN(latch, "barrier", "woken", take_latch, NULL),
	KNOWN(barrier, "barrier", "woken", NULL, NULL),
	KNOWN(atomic, "park", "woken", take_atomic, NULL),
	KNOWN(wide, "park", "woken", take_wide, NULL),
	KNOWN(flag, "park", "woken", take_flag, NULL),
	KNOWN(future, "condition", "woken", take_future, NULL),
};

int main(int, char **arguments)
{
	return known_main(objects, sizeof(objects) / sizeof(*objects), arguments[1]);
}
