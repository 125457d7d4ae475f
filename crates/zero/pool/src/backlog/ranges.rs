//! One backlog, handed out as ranges: whatever their length, one addition under
//! the lock.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

use super::HandsOut;
use super::policy::Policy;
use crate::computer::{Computer, Line, Lock};
use crate::passage::Passage;
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
        mut passage: Passage<'a, C>,
    ) -> (Range<u64>, Passage<'a, C>) {
        let inside = async move || {
            passage.had().await;
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
            (next..next + count, passage)
        };
        self.line.read_ahead();
        self.lock.section(worker, inside).await
    }
}
