// SPDX-License-Identifier: MIT
// Known waits for objects of Rust's std, or, if parking_lot is configured, of that library, as
// known-waits.h describes them.
#[cfg(parking_lot)]
use parking_lot as sync;
#[cfg(not(parking_lot))]
use std::sync;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

#[cfg(parking_lot)]
macro_rules! checked { ($result:expr) => { $result }; }
#[cfg(not(parking_lot))]
macro_rules! checked { ($result:expr) => { $result.unwrap() }; }

static ROUNDS: AtomicU64 = AtomicU64::new(20);
static TURN: AtomicBool = AtomicBool::new(false);
static SPAN: AtomicU64 = AtomicU64::new(0);

static MUTEX: sync::Mutex<bool> = checked_new_mutex();
static LOCK: sync::RwLock<u32> = new_lock();
static CONDITION: sync::Condvar = sync::Condvar::new();

const fn new_lock() -> sync::RwLock<u32> {
    #[cfg(parking_lot)]
    return sync::const_rwlock(0);
    #[cfg(not(parking_lot))]
    return sync::RwLock::new(0);
}

const fn checked_new_mutex() -> sync::Mutex<bool> {
    #[cfg(parking_lot)]
    return sync::const_mutex(false);
    #[cfg(not(parking_lot))]
    return sync::Mutex::new(false);
}

// What the thread does, and what the main thread does before and after 20 ms of its wait.
fn rounds<T>(name: &str, ended: &str, kind: &str, take: impl Fn() -> T, wait: fn(), wake: impl Fn(T)) {
    SPAN.store(0, Ordering::SeqCst);
    let thread = thread::spawn(move || {
        for _ in 0..ROUNDS.load(Ordering::SeqCst) {
            while !TURN.load(Ordering::SeqCst) {
                thread::sleep(Duration::from_micros(100));
            }
            let begin = Instant::now();
            wait();
            SPAN.fetch_add(begin.elapsed().as_nanos() as u64, Ordering::SeqCst);
            TURN.store(false, Ordering::SeqCst);
        }
    });
    for _ in 0..ROUNDS.load(Ordering::SeqCst) {
        let taken = take();
        TURN.store(true, Ordering::SeqCst);
        thread::sleep(Duration::from_millis(20));
        wake(taken);
        while TURN.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_micros(100));
        }
    }
    thread.join().unwrap();
    let span = SPAN.load(Ordering::SeqCst);
    let waker = if name == "scope" { "-".to_string() } else { format!("wake_{name}") };
    println!("wait_{name} {ended} {} {span} {waker} {kind}", ROUNDS.load(Ordering::SeqCst));
}

#[inline(never)]
fn wait_mutex() {
    *checked!(MUTEX.lock()) = true;
}
#[inline(never)]
fn wake_mutex<T>(guard: T) {
    drop(guard);
    black_box("mutex");
}
#[inline(never)]
fn wait_writer() {
    *checked!(LOCK.write()) += 1;
}
#[inline(never)]
fn wake_writer<T>(guard: T) {
    drop(guard);
    black_box("writer");
}
#[inline(never)]
fn wait_reader() {
    black_box(*checked!(LOCK.read()));
}
#[inline(never)]
fn wake_reader<T>(guard: T) {
    drop(guard);
    black_box("reader");
}
#[inline(never)]
fn wait_condition() {
    let mut is_over = checked!(MUTEX.lock());
    while !*is_over {
        #[cfg(parking_lot)]
        CONDITION.wait(&mut is_over);
        #[cfg(not(parking_lot))]
        {
            is_over = CONDITION.wait(is_over).unwrap();
        }
    }
}
#[inline(never)]
fn wake_condition(_: ()) {
    *checked!(MUTEX.lock()) = true;
    CONDITION.notify_one();
    black_box("condition");
}

#[cfg(not(parking_lot))]
mod more {
    use super::*;
    use std::sync::{mpsc, Barrier, LazyLock, Mutex, Once};

    static THREAD: Mutex<Option<thread::Thread>> = Mutex::new(None);
    static BARRIER: LazyLock<Barrier> = LazyLock::new(|| Barrier::new(2));
    static SENDER: Mutex<Option<mpsc::Sender<u32>>> = Mutex::new(None);
    static RECEIVER: Mutex<Option<mpsc::Receiver<u32>>> = Mutex::new(None);
    static ONCE: Mutex<Option<&'static Once>> = Mutex::new(None);

    #[inline(never)]
    fn wait_park() {
        *THREAD.lock().unwrap() = Some(thread::current());
        thread::park();
        black_box("park");
    }
    #[inline(never)]
    fn wake_park(_: ()) {
        THREAD.lock().unwrap().take().unwrap().unpark();
    }
    #[inline(never)]
    fn wait_timed() {
        *THREAD.lock().unwrap() = Some(thread::current());
        thread::park_timeout(Duration::from_secs(60));
        black_box("timed");
    }
    #[inline(never)]
    fn wake_timed(_: ()) {
        THREAD.lock().unwrap().take().unwrap().unpark();
    }
    #[inline(never)]
    fn wait_barrier() {
        BARRIER.wait();
        black_box("waiter");
    }
    #[inline(never)]
    fn wake_barrier(_: ()) {
        BARRIER.wait();
        black_box("barrier");
    }
    #[inline(never)]
    fn wait_channel() {
        RECEIVER.lock().unwrap().as_ref().unwrap().recv().unwrap();
    }
    #[inline(never)]
    fn wake_channel(_: ()) {
        SENDER.lock().unwrap().as_ref().unwrap().send(1).unwrap();
    }
    #[inline(never)]
    fn wait_once() {
        let once = ONCE.lock().unwrap().unwrap();
        once.call_once(|| ());
    }
    #[inline(never)]
    fn wake_once(once: &Once) {
        once.call_once(|| thread::sleep(Duration::from_millis(20)));
        black_box("once");
    }
    #[inline(never)]
    fn wait_scope() {
        thread::scope(|scope| {
            scope.spawn(|| thread::sleep(Duration::from_millis(20)));
        });
        black_box("scope");
    }

    pub fn all() {
        let (sender, receiver) = mpsc::channel();
        *SENDER.lock().unwrap() = Some(sender);
        *RECEIVER.lock().unwrap() = Some(receiver);
        rounds("park", "woken", "park", || (), wait_park, wake_park);
        rounds("timed", "woken", "park", || (), wait_timed, wake_timed);
        rounds("barrier", "woken", "barrier", || (), wait_barrier, wake_barrier);
        rounds("channel", "woken", "park", || (), wait_channel, wake_channel);
        let start = || {
            let once: &'static Once = Box::leak(Box::new(Once::new()));
            *ONCE.lock().unwrap() = Some(once);
            let starter = thread::spawn(move || wake_once(once));
            thread::sleep(Duration::from_millis(3));
            starter
        };
        rounds("once", "woken", "mutex", start, wait_once, |starter| starter.join().unwrap());
        rounds("scope", "woken", "park", || (), wait_scope, |_| ());
    }
}

#[cfg(parking_lot)]
mod more {
    use super::*;
    use parking_lot::{const_fair_mutex, const_reentrant_mutex, FairMutex, ReentrantMutex};

    static FAIR: FairMutex<u32> = const_fair_mutex(0);
    static REENTRANT: ReentrantMutex<u32> = const_reentrant_mutex(0);

    #[inline(never)]
    fn wait_fair() {
        *FAIR.lock() += 1;
    }
    #[inline(never)]
    fn wake_fair<T>(guard: T) {
        drop(guard);
        black_box("fair");
    }
    #[inline(never)]
    fn wait_reentrant() {
        black_box(*REENTRANT.lock());
    }
    #[inline(never)]
    fn wake_reentrant<T>(guard: T) {
        drop(guard);
        black_box("reentrant");
    }
    #[inline(never)]
    fn wait_upgradable() {
        black_box(*LOCK.upgradable_read());
    }
    #[inline(never)]
    fn wake_upgradable<T>(guard: T) {
        drop(guard);
        black_box("upgradable");
    }
    #[inline(never)]
    fn wait_limited() {
        assert!(MUTEX.try_lock_for(Duration::from_secs(60)).is_some());
    }
    #[inline(never)]
    fn wake_limited<T>(guard: T) {
        drop(guard);
        black_box("limited");
    }

    pub fn all() {
        rounds("fair", "woken", "mutex", || FAIR.lock(), wait_fair, wake_fair);
        rounds("reentrant", "woken", "mutex", || REENTRANT.lock(), wait_reentrant, wake_reentrant);
        rounds("upgradable", "woken", "rwlock", || LOCK.write(), wait_upgradable, wake_upgradable);
        rounds("limited", "woken", "mutex", || MUTEX.lock(), wait_limited, wake_limited);
    }
}

fn main() {
    if let Some(rounds) = std::env::args().nth(1) {
        ROUNDS.store(rounds.parse().unwrap(), Ordering::SeqCst);
    }
    rounds("mutex", "woken", "mutex", || checked!(MUTEX.lock()), wait_mutex, wake_mutex);
    rounds("writer", "woken", "rwlock", || checked!(LOCK.read()), wait_writer, wake_writer);
    rounds("reader", "woken", "rwlock", || checked!(LOCK.write()), wait_reader, wake_reader);
    rounds("condition", "woken", "condition", || *checked!(MUTEX.lock()) = false, wait_condition, wake_condition);
    more::all();
}
