// SPDX-License-Identifier: MIT
// Two threads lock two mutexes in opposite orders, and a third waits for one of them. Ends with its
// input.
use std::io::Read;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

fn pause(ms: u64) {
    thread::sleep(Duration::from_millis(ms));
}

fn take(first: &Mutex<u32>, second: &Mutex<u32>) {
    let _one = first.lock().unwrap();
    pause(50);
    let _other = second.lock().unwrap();
}

fn main() {
    let (one, other) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(0)));
    let name = |text: &str| thread::Builder::new().name(text.to_string());
    let left = (one.clone(), other.clone());
    let right = (other, one.clone());

    name("left").spawn(move || take(&left.0, &left.1)).unwrap();
    name("right").spawn(move || take(&right.0, &right.1)).unwrap();
    pause(100);
    name("third").spawn(move || drop(one.lock())).unwrap();
    pause(100);
    println!("ready");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    std::process::exit(0);
}
