//! One backlog without a lock.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

use super::HandsOut;
use super::policy::Policy;
use crate::computer::{Computer, Line};
use crate::passage::Passage;
use crate::setting::Setting;

/// A counter of the pages that have been taken. Constant takes are one addition,
/// others an exchange that is tried again where somebody else was faster.
#[derive(Debug)]
#[cfg_attr(not(loom), repr(C, align(4096)))]
pub(crate) struct Counter<C: Computer> {
    next: C::Line,
    policy: Policy,
    computer: C,
}

impl<C: Computer + Clone> Counter<C> {
    pub(super) fn new(computer: &C, setting: &Setting, pages: u64) -> Self {
        Self {
            next: computer.line(),
            policy: Policy::new(setting, pages),
            computer: computer.clone(),
        }
    }
}

impl<C: Computer> HandsOut<C> for Counter<C> {
    #[inline]
    async fn take<'a>(
        &self,
        _worker: usize,
        _room: &mut Vec<u64>,
        mut passage: Passage<'a, C>,
    ) -> (Range<u64>, Passage<'a, C>) {
        let range = match self.policy.constant {
            Some(count) => self.add(count).await,
            None => self.computer.drive(self.exchange()).await,
        };
        passage.had().await;
        (range, passage)
    }
}

impl<C: Computer> Counter<C> {
    /// Takes so many, or what is left. The counter goes on past the end.
    #[inline]
    async fn add(&self, count: u64) -> Range<u64> {
        let total = self.policy.total;
        let next = self.next.add(0, count, Relaxed).await.min(total);
        next..(next + count).min(total)
    }

    /// Takes as many as the policy says of what is left. Nobody was in between if
    /// the counter is what it was: it only grows.
    async fn exchange(&self) -> Range<u64> {
        let total = self.policy.total;
        let mut next = self.next.load(0, Relaxed).await;
        while next < total {
            let count = self.policy.take(&self.next, total - next).await;
            let end = next + count;
            match self.next.exchange(0, next, end, Relaxed).await {
                Ok(_) => return next..end,
                Err(other) => next = other,
            }
        }
        total..total
    }
}
