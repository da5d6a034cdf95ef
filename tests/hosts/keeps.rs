// SPDX-License-Identifier: MIT
//
// What the standard library of Rust keeps until the end, on purpose: the handle of the main thread,
// and what it read to name the frames of a backtrace. With an argument the program also forgets a
// backtrace of its own.

use std::backtrace::Backtrace;

#[inline(never)]
fn forgets_backtrace() {
    std::mem::forget(std::hint::black_box(Backtrace::force_capture()));
}

fn main() {
    assert_eq!(std::thread::current().name(), Some("main"));
    println!("{}", Backtrace::force_capture().to_string().len());
    if std::env::args().len() > 1 {
        forgets_backtrace();
    }
}
