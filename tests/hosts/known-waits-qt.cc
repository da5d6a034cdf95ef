/* SPDX-License-Identifier: MIT */
/* Known waits for objects of Qt 5. */
#include "known-waits.h"
#include <QMutex>
#include <QReadWriteLock>
#include <QSemaphore>
#include <QWaitCondition>

static QMutex mutex, recursive(QMutex::Recursive), guard;
static QReadWriteLock lock;
static QSemaphore semaphore;
static QWaitCondition condition;
static bool is_over;

FUNCTION(take_mutex, mutex.lock())
FUNCTION(wait_mutex, mutex.lock())
FUNCTION(wake_mutex, mutex.unlock())
FUNCTION(wait_timed, if (!mutex.tryLock(60000)) abort())
FUNCTION(wake_timed, mutex.unlock())
FUNCTION(take_recursive, recursive.lock())
FUNCTION(wait_recursive, recursive.lock())
FUNCTION(wake_recursive, recursive.unlock())
FUNCTION(take_writer, lock.lockForWrite())
FUNCTION(wait_writer, lock.lockForWrite())
FUNCTION(wake_writer, lock.unlock())
FUNCTION(wait_reader, lock.lockForRead())
FUNCTION(wake_reader, lock.unlock())
FUNCTION(wait_semaphore, semaphore.acquire(2))
FUNCTION(wake_semaphore, semaphore.release(2))
FUNCTION(wait_limited, if (!semaphore.tryAcquire(2, 60000)) abort())
FUNCTION(wake_limited, semaphore.release(2))
FUNCTION(take_condition, is_over = false)
FUNCTION(wait_condition, guard.lock(); while (!is_over) condition.wait(&guard); guard.unlock())
FUNCTION(wake_condition, guard.lock(); is_over = true; guard.unlock(); condition.wakeOne())
FUNCTION(leave_mutex, mutex.unlock())
FUNCTION(leave_recursive, recursive.unlock())
FUNCTION(leave_lock, lock.unlock())

static const struct known objects[] = {
	KNOWN(mutex, "mutex", "woken", take_mutex, leave_mutex),
	KNOWN(timed, "mutex", "woken", take_mutex, leave_mutex),
	KNOWN(recursive, "mutex", "woken", take_recursive, leave_recursive),
	KNOWN(writer, "rwlock", "signalled", take_writer, leave_lock),
	KNOWN(reader, "rwlock", "signalled", take_writer, leave_lock),
	KNOWN(semaphore, "semaphore", "woken", NULL, NULL),
	KNOWN(limited, "semaphore", "woken", NULL, NULL),
	KNOWN(condition, "condition", "signalled", take_condition, NULL),
};

int main(int, char **arguments)
{
	return known_main(objects, sizeof(objects) / sizeof(*objects), arguments[1]);
}
