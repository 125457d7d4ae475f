//! Cache lines: who has a copy, who wants one, and in which order they get it.
//!
//! A line serves its requests in the order in which they arrive. One may overtake the one just
//! before it, because they take different ways. (If none ever did, those of one socket would
//! gather in the queue of a contended lock, and stay together.) A request travels to the owner of
//! the newest copy and the line travels back. If the line was busy meanwhile, part of that way has
//! been made by the time it is free. A write takes the line away from all others, and takes as
//! long as it takes to reach the farthest of them.

use std::collections::VecDeque;

use punctual_sim::Time;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Load,
    Store(u64),
    Swap(u64),
    Add(u64),
    /// If it is the first, then the second.
    Exchange(u64, u64),
    /// As a load, again and again for as long as it is this.
    WaitWhile(u64),
    /// Only has the line brought, for a store that is done later.
    Own,
    /// The same for a load.
    Ahead,
}

impl Access {
    /// Whether the operation needs the line to itself. An exchange that fails needs it too.
    pub(crate) const fn writes(self) -> bool {
        !matches!(self, Self::Load | Self::WaitWhile(_) | Self::Ahead)
    }

    /// Whether it reads and writes at once.
    pub(crate) const fn is_rmw(self) -> bool {
        matches!(self, Self::Swap(_) | Self::Add(_) | Self::Exchange(..))
    }
}

/// A request: by whom, for which word, what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) worker: usize,
    pub(crate) word: usize,
    pub(crate) access: Access,
}

#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// The value of each word, in the newest copy.
    pub(crate) words: [u64; 4],
    /// The worker that has the newest copy and hands it on. `None` if only memory has it.
    pub(crate) newest: Option<usize>,
    copies: Workers,
    /// The request that is served, then those that wait.
    queue: VecDeque<Request>,
    spinning: Vec<Request>,
    /// When the exclusive owner of the line learns that another worker wants it.
    pub(crate) notice: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The worker's copy was enough: the value that was there.
    Hit(u64),
    /// The copy is enough, but the worker waits for it to change.
    Spins,
    /// It has to be fetched, and no other request is being served.
    Serve,
    /// It has to be fetched, and others come first.
    Queue,
}

impl Line {
    pub(crate) fn new(words: [u64; 4], workers: usize) -> Self {
        Self {
            words,
            newest: None,
            copies: Workers::none_of(workers),
            queue: VecDeque::new(),
            spinning: Vec::new(),
            notice: Time::ZERO,
        }
    }

    /// Whether a worker has a copy.
    pub(crate) fn has(&self, worker: usize) -> bool {
        self.copies.has(worker)
    }

    /// Whether any worker has read the line since it was written.
    pub(crate) fn is_shared(&self) -> bool {
        self.copies.count > 1
    }

    /// Whether a worker has the line to itself, and can write it.
    pub(crate) fn owns(&self, worker: usize, now: Time) -> bool {
        // While others are served it is on its way to them, once that is known.
        let is_here = self.queue.is_empty() || now < self.notice;
        is_here && self.copies.are_one() && self.has(worker)
    }

    /// A worker wants something. An operation without a transfer is done at once. If it has to
    /// queue, `overtakes` says whether it stands before the last one in the queue.
    pub(crate) fn ask(
        &mut self,
        request: Request,
        now: Time,
        overtakes: impl FnOnce() -> bool,
    ) -> Answer {
        let is_enough = match request.access.writes() {
            true => self.owns(request.worker, now),
            false => self.has(request.worker),
        };
        if is_enough {
            return match self.spins(request) {
                true => Answer::Spins,
                false => Answer::Hit(self.apply(request)),
            };
        }
        if let Some(ahead) = self.ahead_of(request) {
            *ahead = request;
            return Answer::Queue;
        }
        self.queue.push_back(request);
        let last = self.queue.len() - 1;
        if last == 0 {
            return Answer::Serve;
        }
        // The request that is being served cannot be overtaken.
        if last > 1 && overtakes() {
            self.queue.swap(last, last - 1);
        }
        Answer::Queue
    }

    /// The worker has the line brought already for what it wants now.
    fn ahead_of(&mut self, request: Request) -> Option<&mut Request> {
        let Request { worker, access, .. } = request;
        let is_it = |other: &&mut Request| (other.worker, other.access) == (worker, Access::Ahead);
        let mut queue = self.queue.iter_mut();
        queue.find(is_it).filter(|_| !access.writes())
    }

    pub(crate) fn served(&self) -> Option<Request> {
        self.queue.front().copied()
    }

    /// The time to bring the line to the worker that is served: that of the farthest copy, by
    /// `reach(from, to)`; `None` if the line comes from memory.
    pub(crate) fn transfer(&self, reach: impl Fn(usize, usize) -> u64) -> Option<u64> {
        let Request { worker, access, .. } = self.served().expect("somebody is served");
        if access.writes() {
            let others = self.copies.iter().filter(|other| *other != worker);
            let farthest = others.map(|other| reach(other, worker)).max();
            farthest.or(self.copies.has(worker).then_some(0))
        } else {
            self.newest.map(|newest| reach(newest, worker))
        }
    }

    /// The line has arrived at the served worker: returns the request, the previous value, and
    /// whether the worker continues to spin. Workers that spun on a copy that was taken away are
    /// put into `disturbed`, in the order in which they began.
    pub(crate) fn arrive(&mut self, disturbed: &mut Vec<Request>) -> (Request, Option<u64>) {
        let request = self.queue.pop_front().expect("somebody is served");
        if request.access.writes() {
            self.copies.become_one(request.worker);
            disturbed.append(&mut self.spinning);
        } else {
            self.copies.add(request.worker);
        }
        self.newest = Some(request.worker);
        if self.spins(request) {
            return (request, None);
        }
        (request, Some(self.apply(request)))
    }

    /// Whether a request is a spin that does not end yet; then it is noted.
    fn spins(&mut self, request: Request) -> bool {
        let spins = request.access == Access::WaitWhile(self.words[request.word]);
        if spins {
            self.spinning.push(request);
        }
        spins
    }

    /// Does what is asked, and gives what was there.
    pub(crate) fn apply(&mut self, request: Request) -> u64 {
        let word = &mut self.words[request.word];
        let old = *word;
        match request.access {
            Access::Load | Access::WaitWhile(_) | Access::Own | Access::Ahead => {}
            Access::Store(new) | Access::Swap(new) => *word = new,
            Access::Add(more) => *word = old.wrapping_add(more),
            Access::Exchange(expected, new) if old == expected => *word = new,
            Access::Exchange(..) => {}
        }
        old
    }
}

#[derive(Clone, Debug)]
struct Workers {
    bits: Vec<u64>,
    count: usize,
}

impl Workers {
    fn none_of(workers: usize) -> Self {
        Self {
            bits: vec![0; workers.div_ceil(64)],
            count: 0,
        }
    }

    fn has(&self, worker: usize) -> bool {
        self.bits[worker / 64] >> (worker % 64) & 1 == 1
    }

    fn are_one(&self) -> bool {
        self.count == 1
    }

    fn add(&mut self, worker: usize) {
        self.count += usize::from(!self.has(worker));
        self.bits[worker / 64] |= 1 << (worker % 64);
    }

    fn become_one(&mut self, worker: usize) {
        if self.count > 0 {
            self.bits.fill(0);
        }
        self.count = 0;
        self.add(worker);
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        let each = self.bits.iter().enumerate();
        each.flat_map(|(i, &bits)| {
            let mut left = bits;
            std::iter::from_fn(move || {
                let worker = (left != 0).then(|| i * 64 + left.trailing_zeros() as usize)?;
                left &= left - 1;
                Some(worker)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn by(worker: usize, access: Access) -> Request {
        Request {
            worker,
            word: 0,
            access,
        }
    }

    fn ask(line: &mut Line, request: Request) -> Answer {
        line.ask(request, Time::ZERO, || false)
    }

    /// A worker takes the line and is served.
    fn take(line: &mut Line, request: Request) -> Vec<Request> {
        assert_eq!(ask(line, request), Answer::Serve);
        let mut disturbed = Vec::new();
        assert_eq!(line.arrive(&mut disturbed).0, request);
        disturbed
    }

    /// The distance between two workers is the difference of their numbers.
    fn reach(from: usize, to: usize) -> u64 {
        from.abs_diff(to) as u64
    }

    #[test]
    fn who_wrote_last_has_the_line_to_itself() {
        let mut line = Line::new([0; 4], 3);
        take(&mut line, by(0, Access::Add(5)));
        assert_eq!(ask(&mut line, by(0, Access::Add(1))), Answer::Hit(5));
        assert_eq!(
            ask(&mut line, by(0, Access::Exchange(5, 9))),
            Answer::Hit(6)
        );
        assert_eq!(ask(&mut line, by(0, Access::Load)), Answer::Hit(6));
        // Another one reads it: then both can read, and neither write.
        assert!(!line.is_shared());
        take(&mut line, by(1, Access::Load));
        assert!(line.is_shared());
        assert_eq!(ask(&mut line, by(0, Access::Load)), Answer::Hit(6));
        assert_eq!(ask(&mut line, by(1, Access::Load)), Answer::Hit(6));
        take(&mut line, by(0, Access::Store(7)));
        assert!(!line.is_shared());
        assert_eq!(ask(&mut line, by(1, Access::Load)), Answer::Serve);
    }

    #[test]
    fn the_owner_queues_behind_who_takes_the_line_away() {
        let mut line = Line::new([0; 4], 3);
        take(&mut line, by(0, Access::Swap(1)));
        assert_eq!(ask(&mut line, by(1, Access::Swap(1))), Answer::Serve);
        assert_eq!(ask(&mut line, by(2, Access::Swap(1))), Answer::Queue);
        // It can be read until it is gone, but not written.
        assert_eq!(ask(&mut line, by(0, Access::Load)), Answer::Hit(1));
        assert_eq!(ask(&mut line, by(0, Access::Store(0))), Answer::Queue);
        let mut none = Vec::new();
        let order = [1, 2, 0].map(|_| line.arrive(&mut none));
        assert_eq!(order.map(|(request, _)| request.worker), [1, 2, 0]);
        assert_eq!(order.map(|(_, old)| old), [Some(1); 3]);
        assert_eq!(line.words[0], 0);
    }

    #[test]
    fn a_request_can_overtake_the_last_in_the_queue_but_nobody_who_is_served() {
        let mut line = Line::new([0; 4], 4);
        for worker in 0..4 {
            line.ask(by(worker, Access::Add(1)), Time::ZERO, || true);
        }
        let order = [(); 4].map(|()| line.arrive(&mut Vec::new()).0.worker);
        assert_eq!(order, [0, 2, 3, 1]);
    }

    #[test]
    fn a_read_comes_from_the_newest_copy_and_a_write_reaches_all() {
        let mut line = Line::new([0; 4], 9);
        ask(&mut line, by(8, Access::Store(1)));
        assert_eq!(line.transfer(reach), None, "it comes from memory");
        line.arrive(&mut Vec::new());
        ask(&mut line, by(0, Access::Load));
        assert_eq!(line.transfer(reach), Some(8));
        line.arrive(&mut Vec::new());
        ask(&mut line, by(1, Access::Load));
        assert_eq!(line.transfer(reach), Some(1));
        line.arrive(&mut Vec::new());
        ask(&mut line, by(1, Access::Store(2)));
        assert_eq!(line.transfer(reach), Some(7));
    }

    #[test]
    fn who_spins_is_disturbed_by_any_write_and_goes_on_if_it_is_the_same() {
        let mut line = Line::new([0; 4], 3);
        take(&mut line, by(0, Access::Store(4)));
        take(&mut line, by(1, Access::WaitWhile(4)));
        take(&mut line, by(2, Access::Load));
        assert_eq!(ask(&mut line, by(2, Access::WaitWhile(4))), Answer::Spins);
        assert_eq!(ask(&mut line, by(2, Access::WaitWhile(3))), Answer::Hit(4));
        let disturbed = take(&mut line, by(0, Access::Exchange(0, 1)));
        assert_eq!(
            disturbed.iter().map(|r| r.worker).collect::<Vec<_>>(),
            [1, 2]
        );
        assert_eq!(ask(&mut line, disturbed[0]), Answer::Serve);
        assert_eq!(line.arrive(&mut Vec::new()), (disturbed[0], None));
        let disturbed = take(&mut line, by(0, Access::Store(5)));
        assert_eq!(ask(&mut line, disturbed[0]), Answer::Serve);
        assert_eq!(line.arrive(&mut Vec::new()), (disturbed[0], Some(5)));
    }

    #[test]
    fn sets_hold_hundreds_of_workers() {
        let mut set = Workers::none_of(272);
        for worker in [0, 63, 64, 271, 64] {
            set.add(worker);
        }
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 63, 64, 271]);
        assert_eq!(set.count, 4);
        set.become_one(100);
        assert_eq!(set.iter().collect::<Vec<_>>(), [100]);
        assert!(set.are_one());
    }
}
