//! One backlog as a linked list: for each page its descriptor has to be read
//! under the lock, to know which comes next.

use std::sync::atomic::Ordering::Relaxed;

use super::policy::Policy;
use super::{HandsOut, Taken};
use crate::computer::{Computer, Line, Lock};
use crate::passage::Passage;
use crate::setting::Setting;

/// The head of the list and how many have been taken are on a line of their own.
#[derive(Debug)]
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
    fn taken(&self) -> Taken {
        Taken::with_room(self.policy.most())
    }

    #[inline]
    async fn take(&self, worker: usize, taken: &mut Taken, passage: &mut Passage<'_, C>) {
        let inside = async || {
            passage.had().await;
            let gone = self.line.load(GONE, Relaxed).await;
            let rest = self.policy.total - gone;
            let count = match self.policy.constant(rest) {
                Some(count) => count,
                None => self.policy.take(&self.line, rest).await,
            };
            taken.pages.clear();
            let mut page = self.line.load(HEAD, Relaxed).await;
            for _ in 0..count {
                taken.pages.push(page);
                page = self.computer.next_in_list(page).await;
            }
            self.line.store(HEAD, page, Relaxed).await;
            self.line.store(GONE, gone + count, Relaxed).await;
        };
        self.lock.section(worker, inside).await;
    }
}
