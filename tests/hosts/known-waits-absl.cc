/* SPDX-License-Identifier: MIT */
/* Known waits for objects of Abseil. */
#include "known-waits.h"
#include <absl/base/call_once.h>
#include <absl/synchronization/barrier.h>
#include <absl/synchronization/blocking_counter.h>
#include <absl/synchronization/mutex.h>
#include <absl/synchronization/notification.h>
#include <memory>

static absl::Mutex mutex;
static absl::CondVar condition;
static std::unique_ptr<absl::Notification> notification;
static std::unique_ptr<absl::BlockingCounter> counter;
static absl::Barrier *barrier;
static bool is_over;

FUNCTION(take_mutex, mutex.Lock())
FUNCTION(wait_mutex, mutex.Lock())
FUNCTION(wake_mutex, mutex.Unlock())
FUNCTION(wait_scoped, absl::MutexLock lock(&mutex))
FUNCTION(wake_scoped, mutex.Unlock())
FUNCTION(wait_reader, mutex.ReaderLock())
FUNCTION(wake_reader, mutex.Unlock())
FUNCTION(take_condition, is_over = false)
FUNCTION(wait_condition, mutex.Lock(); while (!is_over) condition.Wait(&mutex); mutex.Unlock())
FUNCTION(wake_condition, mutex.Lock(); is_over = true; condition.Signal(); mutex.Unlock())
FUNCTION(wait_timed, mutex.Lock();
	 while (!is_over) condition.WaitWithTimeout(&mutex, absl::Seconds(60)); mutex.Unlock())
FUNCTION(wake_timed, mutex.Lock(); is_over = true; condition.Signal(); mutex.Unlock())
FUNCTION(wait_await, mutex.Lock(); mutex.Await(absl::Condition(&is_over)); mutex.Unlock())
FUNCTION(wake_await, mutex.Lock(); is_over = true; mutex.Unlock())
FUNCTION(wait_when, mutex.LockWhen(absl::Condition(&is_over)); mutex.Unlock())
FUNCTION(wake_when, mutex.Lock(); is_over = true; mutex.Unlock())
FUNCTION(take_notification, notification = std::make_unique<absl::Notification>())
FUNCTION(wait_notification, notification->WaitForNotification())
FUNCTION(wake_notification, notification->Notify())
FUNCTION(take_counter, counter = std::make_unique<absl::BlockingCounter>(1))
FUNCTION(wait_counter, counter->Wait())
FUNCTION(wake_counter, counter->DecrementCount())
FUNCTION(take_barrier, barrier = new absl::Barrier(2))
FUNCTION(wait_barrier, barrier->Block())
FUNCTION(wake_barrier, barrier->Block())
FUNCTION(leave_mutex, mutex.Unlock())
FUNCTION(leave_reader, mutex.ReaderUnlock())

static const struct known objects[] = {
	KNOWN(mutex, "mutex", "woken", take_mutex, leave_mutex),
	KNOWN(scoped, "mutex", "woken", take_mutex, NULL),
	KNOWN(reader, "rwlock", "woken", take_mutex, leave_reader),
	KNOWN(condition, "condition", "woken", take_condition, NULL),
	KNOWN(timed, "condition", "woken", take_condition, NULL),
	KNOWN(await, "condition", "woken", take_condition, NULL),
	KNOWN(when, "condition", "woken", take_condition, NULL),
	KNOWN(notification, "condition", "woken", take_notification, NULL),
	KNOWN(counter, "barrier", "woken", take_counter, NULL),
	KNOWN(barrier, "barrier", "woken", take_barrier, NULL),
};

int main(int, char **arguments)
{
	return known_main(objects, sizeof(objects) / sizeof(*objects), arguments[1]);
}
