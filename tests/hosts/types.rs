// SPDX-License-Identifier: MIT
// As types.cc, for Rust.
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::Arc;

#[derive(Clone)]
pub struct Foo([u64; 5]);
pub trait Shape {
    fn area(&self) -> u64;
}
impl Shape for Foo {
    fn area(&self) -> u64 {
        self.0[0]
    }
}
pub struct Grid<T, const N: usize>(pub [T; N]);

fn say(count: usize, bytes: usize, pattern: &str) {
    println!("{} {} {}", count, bytes, pattern);
}

fn main() {
    let mut foos: Vec<Foo> = Vec::with_capacity(500);
    foos.push(Foo([0; 5]));
    let mut boxes: Vec<Box<dyn Shape>> = Vec::with_capacity(2000);
    for i in 0..2000 {
        boxes.push(Box::new(Foo([i; 5])));
    }
    let mut grids = Vec::with_capacity(2000);
    for _ in 0..2000 {
        grids.push(Box::new(Grid::<u16, 9>([7; 9])));
    }
    let mut shared = Vec::with_capacity(2000);
    for _ in 0..1000 {
        shared.push((Arc::new(Grid::<u32, 3>([1; 3])), Rc::new(Foo([2; 5]))));
    }
    let tree: BTreeMap<u64, Foo> = (0..1000).map(|i| (i, Foo([i; 5]))).collect();
    let table: HashMap<u64, Foo> = (0..1000).map(|i| (i, Foo([i; 5]))).collect();
    let texts: Vec<String> = (0..1000).map(|i| format!("{:50}", i)).collect();
    std::hint::black_box((&foos, &boxes, &grids, &shared, &tree, &table, &texts));
    say(2001, 2000 * 40 + 500 * 40, "types::Foo");
    say(1, 2000 * 16, "alloc::boxed::Box<dyn types::Shape*>");
    say(2000, 2000 * 18, "types::Grid<u16, 9*>");
    say(1, 2000 * 8, "alloc::boxed::Box<types::Grid<u16, 9*>*>");
    say(1000, 1000 * 32, "alloc::sync::ArcInner<types::Grid<u32, 3*>*>");
    say(1, 2000 * 16, "(alloc::sync::Arc<types::Grid<u32, 3*>*>, alloc::rc::Rc<types::Foo*>)");
    say(1000, 1000 * 56, "alloc::rc::RcInner<types::Foo*>");
    std::process::exit(0);
}
