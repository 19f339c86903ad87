// rust_names.rs - functions of many kinds, each with a word of its own; prints what Rust's own demangler calls them.
use std::backtrace::Backtrace;

fn tell(word: &str) {
    for line in format!("{}", Backtrace::force_capture()).lines() {
        if let Some((_, name)) = line.split_once(": ") {
            if name.contains(word) {
                println!("{word}\t{name}");
                return;
            }
        }
    }
}

mod inner {
    pub struct Thing<T>(pub T);
    pub trait Act {
        fn acts_one(&self);
    }
    impl<T: Copy> Act for Thing<T> {
        #[inline(never)]
        fn acts_one(&self) {
            super::tell("acts_one");
        }
    }
    impl<T> Thing<T> {
        #[inline(never)]
        pub fn method_two<U>(&self, _other: U) {
            super::tell("method_two");
        }
    }
    #[inline(never)]
    pub fn plain_three() {
        super::tell("plain_three");
    }
}

#[inline(never)]
fn const_four<const N: usize>(_of: [u8; N]) {
    tell("const_four");
}

#[inline(never)]
fn dyn_five(_of: &dyn Fn(u32) -> u64) {
    tell("dyn_five");
}

#[inline(never)]
fn generic_six<T, F: FnOnce() -> T>(f: F) -> T {
    tell("generic_six");
    f()
}

#[inline(never)]
fn closure_seven() {
    let f = || tell("closure_seven::");
    f();
}

#[inline(never)]
fn grün_acht() {
    tell("grün_acht");
}

fn main() {
    use inner::Act;
    let thing = inner::Thing(7u8);
    thing.acts_one();
    thing.method_two::<&str>("x");
    inner::plain_three();
    const_four([0u8; 12]);
    dyn_five(&|x| x as u64);
    generic_six::<(i32, char), _>(|| (1, 'c'));
    closure_seven();
    grün_acht();
}
