//! Waiting for what others do.
//!
//! On real threads that is to let others have the CPU, because tests have more
//! threads than there are CPUs.
//!
//! Under loom there is no end to the ways in which a worker may look again and again while nothing
//! happens. Ways that differ only in the number of looks are the same to all other workers. A look
//! changes nothing, nor does a swap that writes the present value. A way is therefore given up
//! where a worker looks again although nothing was written since the last look. Writes are counted
//! beside loom, whose own primitives would order the operations that the locks have to order.

#[cfg(loom)]
pub(crate) use under_loom::{Progress, Wait};

#[cfg(not(loom))]
pub(crate) use on_threads::{Progress, Wait};

#[cfg(not(loom))]
mod on_threads {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;

    /// Nothing needs to be known of it.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Progress;

    impl Progress {
        pub(crate) fn of_a_computer() -> Self {
            Self
        }

        pub(crate) fn of_a_line(&self) -> Self {
            *self
        }

        pub(crate) fn made(&self, _word: usize, _value: u64) {}

        pub(crate) fn swap(
            &self,
            atomic: &AtomicU64,
            _word: usize,
            value: u64,
            order: Ordering,
        ) -> u64 {
            atomic.swap(value, order)
        }

        pub(crate) fn wait(&self) {
            thread::yield_now();
        }
    }

    /// The wait of one thread.
    pub(crate) struct Wait;

    impl Wait {
        pub(crate) fn for_word(_progress: &Progress, _word: usize) -> Self {
            Self
        }

        pub(crate) fn turn(&mut self) {
            thread::yield_now();
        }
    }
}

#[cfg(loom)]
mod under_loom {
    use std::collections::HashMap;
    use std::sync::atomic::AtomicU64;
    use std::sync::atomic::Ordering::{self, Relaxed};
    use std::sync::{Arc, Mutex};

    use loom::thread::{self, ThreadId};

    /// How often something was written.
    #[derive(Clone, Debug, Default)]
    pub(crate) struct Progress {
        anywhere: Arc<AtomicU64>,
        words: Arc<[Word; 4]>,
        /// How much there was when each thread looked last.
        looks: Arc<Mutex<HashMap<ThreadId, u64>>>,
    }

    #[derive(Debug, Default)]
    struct Word {
        /// How often it was written.
        made: AtomicU64,
        /// The value that was written last.
        last: AtomicU64,
    }

    impl Progress {
        /// None yet.
        pub(crate) fn of_a_computer() -> Self {
            Self::default()
        }

        /// That of one more line of the same computer.
        pub(crate) fn of_a_line(&self) -> Self {
            Self {
                words: Arc::default(),
                ..self.clone()
            }
        }

        /// A word has been written.
        pub(crate) fn made(&self, word: usize, value: u64) {
            self.anywhere.fetch_add(1, Relaxed);
            self.words[word].made.fetch_add(1, Relaxed);
            self.words[word].last.store(value, Relaxed);
        }

        /// Swaps, but only looks where the value is there already, and promises nothing then. Loom
        /// lets another worker's store come between the read and the write of a swap. A lock that
        /// is released at that moment would be taken for good.
        pub(crate) fn swap(
            &self,
            atomic: &loom::sync::atomic::AtomicU64,
            word: usize,
            value: u64,
            order: Ordering,
        ) -> u64 {
            loop {
                let last = self.words[word].last.load(Relaxed);
                let guess = if last == value { 0 } else { last };
                match atomic.compare_exchange(guess, value, order, Relaxed) {
                    Ok(old) => {
                        self.made(word, value);
                        return old;
                    }
                    Err(old) if old == value => return old,
                    Err(_) => (),
                }
            }
        }

        /// The calling thread has tried in vain. (Between two such waits it was
        /// successful, and so has written something.)
        pub(crate) fn wait(&self) {
            let made = self.anywhere.load(Relaxed);
            let mut looks = self.looks.lock().expect("nobody panics with it");
            let before = looks.insert(thread::current().id(), made);
            drop(looks);
            give_way(before == Some(made));
        }
    }

    /// The wait of one thread.
    pub(crate) struct Wait<'a> {
        made: &'a AtomicU64,
        before: Option<u64>,
    }

    impl<'a> Wait<'a> {
        /// For one word to be something else.
        pub(crate) fn for_word(progress: &'a Progress, word: usize) -> Self {
            Self {
                made: &progress.words[word].made,
                before: None,
            }
        }

        /// It has looked, and has to look again.
        pub(crate) fn turn(&mut self) {
            let made = self.made.load(Relaxed);
            let before = self.before.replace(made);
            give_way(before == Some(made));
        }
    }

    fn give_way(is_in_vain: bool) {
        if is_in_vain {
            loom::skip_branch();
        }
        thread::yield_now();
    }
}
