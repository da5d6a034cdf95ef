// SPDX-License-Identifier: MIT
// Waits of Rust's std for futexes: Mutex, RwLock, Condvar and park.
use std::sync::{Arc, Condvar, Mutex, RwLock};
use std::thread;
use std::time::Duration;

#[inline(never)]
fn use_mutex(mutex: &Mutex<u32>) {
    *mutex.lock().unwrap() += 1;
}

#[inline(never)]
fn use_rwlock(lock: &RwLock<u32>) {
    *lock.write().unwrap() += 1;
}

#[inline(never)]
fn use_condition(mutex: &Mutex<u32>, condition: &Condvar) {
    let mut number = mutex.lock().unwrap();
    while *number < 10 {
        number = condition.wait(number).unwrap();
    }
}

#[inline(never)]
fn use_park() {
    thread::park();
}

fn pause() {
    thread::sleep(Duration::from_millis(30));
}

fn main() {
    let shared = Arc::new((Mutex::new(0), RwLock::new(0), Condvar::new()));
    let other = shared.clone();
    let mutex = shared.0.lock().unwrap();
    let lock = shared.1.read().unwrap();
    let thread = thread::spawn(move || {
        use_mutex(&other.0);
        use_rwlock(&other.1);
        use_condition(&other.0, &other.2);
        use_park();
    });

    pause();
    drop(mutex);
    pause();
    drop(lock);
    pause();
    *shared.0.lock().unwrap() = 10;
    shared.2.notify_all();
    pause();
    thread.thread().unpark();
    thread.join().unwrap();
}
