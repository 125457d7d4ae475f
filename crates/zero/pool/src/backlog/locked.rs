//! One backlog under a lock: as a range of pages, or as a linked list.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

use super::HandsOut;
use super::policy::Policy;
use crate::books::LockTiming;
use crate::computer::{Computer, Line, Lock};
use crate::setting::Setting;

/// The first page that has not been taken is on a line of its own, and is only
/// touched under the lock.
#[derive(Debug)]
#[cfg_attr(not(loom), repr(C, align(4096)))]
pub(crate) struct Ranges<C: Computer, L> {
    lock: L,
    line: C::Line,
    policy: Policy,
    computer: C,
}

const NEXT: usize = 0;

impl<C: Computer + Clone, L: Lock> Ranges<C, L> {
    pub(super) fn new(lock: L, computer: &C, setting: &Setting, pages: u64) -> Self {
        Self {
            lock,
            line: computer.line(),
            policy: Policy::new(setting, pages),
            computer: computer.clone(),
        }
    }
}

impl<C: Computer, L: Lock> HandsOut<C> for Ranges<C, L> {
    #[inline]
    async fn take<'a>(
        &self,
        worker: usize,
        _room: &mut Vec<u64>,
        mut timing: LockTiming<'a, C>,
    ) -> (Range<u64>, LockTiming<'a, C>) {
        let inside = async move || {
            timing.had().await;
            let next = self.line.load(NEXT, Relaxed).await;
            let rest = self.policy.total - next;
            let count = match self.policy.constant(rest) {
                Some(count) => count,
                None => {
                    self.computer
                        .drive(self.policy.take(&self.line, rest))
                        .await
                }
            };
            self.line.store(NEXT, next + count, Relaxed).await;
            (next..next + count, timing)
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

impl<C: Computer + Clone, L: Lock> List<C, L> {
    pub(super) fn new(lock: L, computer: &C, setting: &Setting, pages: u64) -> Self {
        Self {
            lock,
            line: computer.line(),
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
    async fn take<'a>(
        &self,
        worker: usize,
        room: &mut Vec<u64>,
        mut timing: LockTiming<'a, C>,
    ) -> (Range<u64>, LockTiming<'a, C>) {
        let inside = async move || {
            timing.had().await;
            let gone = self.line.load(GONE, Relaxed).await;
            let rest = self.policy.total - gone;
            let count = match self.policy.constant(rest) {
                Some(count) => count,
                None => {
                    self.computer
                        .drive(self.policy.take(&self.line, rest))
                        .await
                }
            };
            room.clear();
            let mut page = self.line.load(HEAD, Relaxed).await;
            for _ in 0..count {
                room.push(page);
                page = self.computer.next_in_list(page).await;
            }
            self.line.store(HEAD, page, Relaxed).await;
            self.line.store(GONE, gone + count, Relaxed).await;
            timing
        };
        self.line.read_ahead();
        (0..0, self.lock.section(worker, inside).await)
    }
}
