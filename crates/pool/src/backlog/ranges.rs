//! One backlog, handed out as ranges: whatever their length, one addition under
//! the lock.

use std::sync::atomic::Ordering::Relaxed;

use super::policy::Policy;
use super::{HandsOut, Taken};
use crate::computer::{Computer, Line, Lock};
use crate::passage::Passage;
use crate::setting::Setting;

/// The first page that has not been taken is on a line of its own, and is only
/// touched under the lock.
#[derive(Debug)]
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
            line: computer.line(),
            policy: Policy::new(setting, pages),
        }
    }
}

impl<C: Computer, L: Lock> HandsOut<C> for Ranges<C, L> {
    #[inline]
    async fn take(&self, worker: usize, taken: &mut Taken, passage: &mut Passage<'_, C>) {
        let inside = async || {
            passage.had().await;
            let next = self.line.load(NEXT, Relaxed).await;
            let rest = self.policy.total - next;
            let count = match self.policy.constant(rest) {
                Some(count) => count,
                None => self.policy.take(&self.line, rest).await,
            };
            self.line.store(NEXT, next + count, Relaxed).await;
            taken.range = next..next + count;
        };
        self.lock.section(worker, inside).await;
    }
}
