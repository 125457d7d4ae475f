//! Every page is zeroed exactly once.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use proptest::prelude::*;
use punctual_core::Nanos;
use punctual_zero_pool::suspending::{Computer, Pool};
use punctual_zero_pool::{Accounting, Batch, Dequeue, LockKind, Setting};

use super::super::computer::{SimComputer, SimLine, SimMutex, Task};
use super::super::costs::Costs;
use super::super::world::World;
use super::super::{Preemption, Quantity};
use super::by_hand::{machine, with};

/// A simulated computer that counts how often each page is zeroed.
#[derive(Clone, Debug)]
struct Counting {
    computer: SimComputer,
    zeroed: Rc<RefCell<Vec<u32>>>,
}

impl Computer for Counting {
    type Line = SimLine;
    type Mutex = SimMutex;

    fn line(&self, words: [u64; 4]) -> SimLine {
        self.computer.line(words)
    }

    fn mutex(&self) -> SimMutex {
        self.computer.mutex()
    }

    fn now(&self) -> Nanos {
        self.computer.now()
    }

    async fn relax(&self) {
        self.computer.relax().await;
    }

    async fn pause(&self, length: Nanos) {
        self.computer.pause(length).await;
    }

    async fn zero(&self, pages: Range<u64>) {
        for page in pages.clone() {
            self.zeroed.borrow_mut()[page as usize] += 1;
        }
        self.computer.zero(pages).await;
    }

    async fn next_in_list(&self, page: u64) -> u64 {
        self.computer.next_in_list(page).await
    }
}

fn batches() -> impl Strategy<Value = Batch> {
    let names = [
        "1",
        "7",
        "n",
        "2n",
        "half",
        "guided",
        "factoring",
        "trapezoid",
        "growing",
        "steal-half",
    ];
    prop::sample::select(names.map(|name| name.parse().unwrap()).to_vec())
}

proptest! {
    #[test]
    fn every_page_is_zeroed_once(
        workers in 1_usize..9,
        lock in prop::sample::select(LockKind::ALL.to_vec()),
        batch in batches(),
        is_list in any::<bool>(),
        returns in prop::sample::select(vec![None, Some(LockKind::Tas), Some(LockKind::Mutex)]),
        pages in 0_u64..300,
        is_preempted in any::<bool>(),
        posted in prop::sample::select(vec![0.0, 1.0]),
        notice_share in prop::sample::select(vec![0.0, 0.5, 1.0]),
        look in prop::sample::select(vec![0.0, 40.0]),
        overtakes in prop::sample::select(vec![0.0, 0.5, 0.9]),
        (drain, jitter) in prop::sample::select(vec![(0.0, 0.0), (150.0, 0.3)]),
        seed in any::<u64>(),
    ) {
        let setting = Setting {
            dequeue: if is_list { Dequeue::List } else { Dequeue::Range },
            returns,
            ..Setting::new(workers, lock, batch)
        };
        prop_assume!(setting.check().is_ok());
        let preemption = is_preempted.then_some(Preemption {
            every: Nanos::from_us(3),
            length: Nanos::from_us(1),
        });
        let machine = [
            (Quantity::Posted, posted),
            (Quantity::NoticeShare, notice_share),
            (Quantity::Look, look),
            (Quantity::Overtakes, overtakes),
            (Quantity::Drain, drain),
            (Quantity::Jitter, jitter),
        ]
        .into_iter()
        .fold(machine(8), |machine, (quantity, value)| with(machine, quantity, value));
        let costs = Costs::new(&machine, workers, lock).unwrap();
        let world = World::new(costs, pages, preemption, seed, 1 << 24);
        let computer = Counting {
            computer: SimComputer::new(world),
            zeroed: Rc::new(RefCell::new(vec![0; pages as usize])),
        };
        let pool = Pool::new(&computer, &setting, pages).unwrap();
        let mut accounting: Vec<_> = (0..workers).map(|_| Accounting::new(1, 0)).collect();
        let tasks = accounting.iter_mut().enumerate();
        let tasks = tasks.map(|(worker, accounting)| Box::pin(pool.work(worker, accounting)) as Task<'_>);
        computer.computer.run(tasks.collect()).unwrap();
        prop_assert_eq!(accounting.iter().map(|accounting| accounting.pages).sum::<u64>(), pages);
        prop_assert!(computer.zeroed.borrow().iter().all(|times| *times == 1));
    }
}
