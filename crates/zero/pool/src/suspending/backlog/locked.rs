//! One backlog under a lock: as a range of pages, or as a linked list.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

use super::super::timing::LockTiming;
use super::super::{Computer, Line, Lock};
use super::HandsOut;
use crate::batches::Memory;
use crate::setting::Policy;
use crate::setting::Setting;

/// The first page that has not been taken is on a line of its own, and is only
/// touched under the lock.
#[derive(Debug)]
#[cfg_attr(not(loom), repr(C, align(4096)))]
pub(crate) struct Ranges<C: Computer, L> {
    lock: L,
    line: C::Line,
    policy: Policy,
}

const NEXT: usize = 0;

impl<C: Computer, L: Lock> Ranges<C, L> {
    pub(super) fn new(lock: L, computer: &C, setting: &Setting, pages: u64) -> Self {
        Self {
            lock,
            line: computer.line([0; 4]),
            policy: Policy::new(setting, pages),
        }
    }
}

impl<C: Computer, L: Lock> HandsOut<C> for Ranges<C, L> {
    #[inline]
    async fn take(
        &self,
        worker: usize,
        _room: &mut Vec<u64>,
        timing: &mut LockTiming<'_, C>,
    ) -> Range<u64> {
        let inside = async || {
            timing.had().await;
            let next = self.line.load(NEXT, Relaxed).await;
            let rest = self.policy.total - next;
            let count = count(&self.policy, &self.line, rest).await;
            self.line.store(NEXT, next + count, Relaxed).await;
            next..next + count
        };
        self.line.read_ahead();
        self.lock.section(worker, inside).await
    }
}

/// The head of the list and how many have been taken are on a line of their own.
#[derive(Debug)]
#[cfg_attr(not(loom), repr(C, align(4096)))]
pub(crate) struct List<C: Computer, L> {
    lock: L,
    line: C::Line,
    policy: Policy,
    computer: C,
}

const HEAD: usize = 0;
const GONE: usize = 1;

impl<C: Computer, L: Lock> List<C, L> {
    pub(super) fn new(lock: L, computer: &C, setting: &Setting, pages: u64) -> Self {
        Self {
            lock,
            line: computer.line([0; 4]),
            policy: Policy::new(setting, pages),
            computer: computer.clone(),
        }
    }
}

impl<C: Computer, L: Lock> HandsOut<C> for List<C, L> {
    /// It has been written to, so that no page fault comes under a lock.
    fn room(&self) -> Vec<u64> {
        let mut room = vec![u64::MAX; self.policy.most() as usize];
        room.clear();
        room
    }

    #[inline]
    async fn take(
        &self,
        worker: usize,
        room: &mut Vec<u64>,
        timing: &mut LockTiming<'_, C>,
    ) -> Range<u64> {
        let inside = async || {
            timing.had().await;
            let gone = self.line.load(GONE, Relaxed).await;
            let rest = self.policy.total - gone;
            let count = count(&self.policy, &self.line, rest).await;
            room.clear();
            let mut page = self.line.load(HEAD, Relaxed).await;
            for _ in 0..count {
                room.push(page);
                page = self.computer.next_in_list(page).await;
            }
            self.line.store(HEAD, page, Relaxed).await;
            self.line.store(GONE, gone + count, Relaxed).await;
        };
        self.line.read_ahead();
        self.lock.section(worker, inside).await;
        0..0
    }
}

/// Where what a policy remembers begins in its line, which a lock protects.
const MEMORY: usize = 2;

/// How many of the `rest` that is left are taken.
#[inline]
async fn count(policy: &Policy, line: &impl Line, rest: u64) -> u64 {
    if rest == 0 || !policy.remembers() {
        return policy.take(rest, &mut Memory::default());
    }
    let mut memory = [
        line.load(MEMORY, Relaxed).await,
        line.load(MEMORY + 1, Relaxed).await,
    ];
    let count = policy.take(rest, &mut memory);
    line.store(MEMORY, memory[0], Relaxed).await;
    line.store(MEMORY + 1, memory[1], Relaxed).await;
    count
}
