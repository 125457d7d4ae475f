//! Quotas of CPU time: `cpu.max` of control groups (`CONFIG_CFS_BANDWIDTH`).

use super::entity::NICE_0;
use crate::model::Quota;
use punctual_rules::Time;

/// A group of threads; 0 is that of all.
pub(crate) type GroupId = usize;

/// The portion that a CPU takes out of the pool of a group at once
/// (`sched_cfs_bandwidth_slice_us`).
const PORTION: i64 = Time::from_ns(5_000_000).as_thirds() as i64;

/// The part that a CPU keeps when no thread of the group runs on it any more
/// (`min_cfs_rq_runtime`).
const KEPT: i64 = Time::from_ns(1_000_000).as_thirds() as i64;

/// The groups, each inside another.
///
/// A group has a pool that is filled to its quota in each period. The first begins when it is
/// first used. On Linux since 6.3 it begins at random (`init_cfs_bandwidth`), so that it does not
/// coincide with ticks. Each CPU takes portions of 5 ms out of the pool
/// (Documentation/scheduler/sched-bwc.rst). The use of a portion is checked in ticks and when a
/// thread of the group wakes. A group thus gets up to a tick more on each CPU, and pays that back
/// out of the next period. A CPU that finds the pool empty keeps the threads of the group until
/// the pool is filled (`assign_cfs_rq_runtime`, `throttle_cfs_rq`, `distribute_cfs_runtime`,
/// kernel/sched/fair.c).
///
/// The rest of a period is added to the next, up to the quota and its burst.
///
/// Time that is given back is not handed out before the next period: that is left out
/// (`sched_cfs_slack_timer`).
#[derive(Debug)]
pub(super) struct Groups {
    cpus: usize,
    all: Vec<Group>,
    /// Whether any of them has a quota.
    has_quota: bool,
}

#[derive(Debug)]
struct Group {
    around: Option<GroupId>,
    /// Its weight beside others (`cpu.weight`, of which 100 is the weight of a thread).
    weight: i64,
    quota: Option<Quota>,
    /// When the first period began.
    began: Option<Time>,
    period: u64,
    /// The time left in this period, in thirds of a nanosecond.
    pool: i64,
    /// Of each CPU: what it took and did not use.
    local: Vec<i64>,
    /// Of each CPU: whether it waits for the next period.
    is_out: Vec<bool>,
}

impl Groups {
    pub(super) fn new(cpus: usize) -> Self {
        Self {
            cpus,
            all: Vec::new(),
            has_quota: false,
        }
    }

    pub(super) fn add(&mut self, around: Option<GroupId>, quota: Option<Quota>) -> GroupId {
        self.has_quota |= quota.is_some();
        self.all.push(Group::new(around, quota, self.cpus));
        self.all.len() - 1
    }

    /// A group has another quota from now on, or none, and no thread in it waits.
    pub(super) fn renew(&mut self, group: GroupId, quota: Option<Quota>) {
        self.has_quota |= quota.is_some();
        let Group { around, weight, .. } = self.all[group];
        let renewed = Group::new(around, quota, self.cpus);
        self.all[group] = Group { weight, ..renewed };
    }

    /// The weight of a group beside others.
    pub(super) fn weight(&self, group: GroupId) -> i64 {
        self.all[group].weight
    }

    pub(super) fn set_weight(&mut self, group: GroupId, weight: i64) {
        self.all[group].weight = weight;
    }

    /// A group and those around it that have a quota.
    fn limits(&self, group: GroupId) -> impl Iterator<Item = GroupId> + use<'_> {
        let around = |group: &GroupId| self.all[*group].around;
        std::iter::successors(Some(group), around).filter(|group| self.all[*group].quota.is_some())
    }

    pub(super) fn is_limited(&self, group: GroupId) -> bool {
        self.has_quota && self.limits(group).next().is_some()
    }

    /// A thread of a group has run for so long on a CPU.
    pub(super) fn charge(&mut self, group: GroupId, cpu: usize, length: Time) {
        let mut next = Some(group).filter(|_| self.has_quota);
        while let Some(group) = next.map(|group| &mut self.all[group]) {
            group.local[cpu] -= length.as_thirds() as i64;
            next = group.around;
        }
    }

    /// Whether a CPU has time for a group, after it took more where it can; if not, it waits
    /// for the next period.
    pub(super) fn has_time(&mut self, group: GroupId, cpu: usize, now: Time) -> bool {
        let mut has_time = true;
        let mut next = Some(group).filter(|_| self.has_quota);
        while let Some(group) = next.map(|group| &mut self.all[group]) {
            if group.quota.is_some() {
                if group.local[cpu] <= 0 && !group.is_out[cpu] {
                    group.fill(now);
                    group.take(cpu, PORTION);
                    group.is_out[cpu] = group.local[cpu] <= 0;
                }
                has_time &= !group.is_out[cpu];
            }
            next = group.around;
        }
        has_time
    }

    /// Whether a CPU waits for the next period of a group, or of one around it.
    pub(super) fn is_out(&self, group: GroupId, cpu: usize) -> bool {
        self.has_quota
            && self
                .limits(group)
                .any(|limit| self.is_out_itself(limit, cpu))
    }

    /// Whether it waits for that of this group.
    pub(super) fn is_out_itself(&self, group: GroupId, cpu: usize) -> bool {
        self.all[group].is_out[cpu]
    }

    /// No thread of a group is left on a CPU, which gives its time back.
    pub(super) fn gives_back(&mut self, group: GroupId, cpu: usize, now: Time) {
        let group = &mut self.all[group];
        let spare = group.local[cpu] - KEPT;
        if group.quota.is_some() && spare > 0 {
            group.fill(now);
            group.pool += spare;
            group.local[cpu] = KEPT;
        }
    }

    /// When the next period begins of a group that a CPU waits for.
    pub(super) fn next(&self, now: Time) -> Option<Time> {
        let waits = self.all.iter().filter(|group| group.is_out.contains(&true));
        waits
            .filter_map(|group| {
                let period = group.quota?.period;
                let began = group.began?;
                Some(began + period.times((now - began).div(period) + 1))
            })
            .min()
    }

    /// Pays what CPUs owe, in their order, out of the pools of this period.
    pub(super) fn replenish(&mut self, now: Time) {
        for group in &mut self.all {
            if !group.is_out.contains(&true) {
                continue;
            }
            group.fill(now);
            for cpu in 0..group.local.len() {
                if group.is_out[cpu] {
                    group.take(cpu, 1);
                    group.is_out[cpu] = group.local[cpu] <= 0;
                }
            }
        }
    }
}

impl Group {
    fn new(around: Option<GroupId>, quota: Option<Quota>, cpus: usize) -> Self {
        Self {
            around,
            weight: NICE_0,
            quota,
            began: None,
            period: 0,
            pool: 0,
            local: vec![0; cpus],
            is_out: vec![false; cpus],
        }
    }

    fn fill(&mut self, now: Time) {
        let Some(quota) = self.quota else {
            return;
        };
        let is_first = self.began.is_none();
        let began = *self.began.get_or_insert(now);
        let period = (now - began).div(quota.period);
        if is_first || self.period != period {
            // `__refill_cfs_bandwidth_runtime`; a period without anybody ready counts as one that passed.
            let periods = (period - self.period).max(1);
            let most = quota.time + quota.burst.min(quota.time);
            let filled = (quota.time.times(periods).min(most).as_thirds() as i64) + self.pool;
            self.period = period;
            self.pool = filled.min(most.as_thirds() as i64);
        }
    }

    /// Brings what a CPU has to `wanted`, as far as the pool allows.
    fn take(&mut self, cpu: usize, wanted: i64) {
        let taken = (wanted - self.local[cpu]).clamp(0, self.pool.max(0));
        self.pool -= taken;
        self.local[cpu] += taken;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn ms(ms: u64) -> Time {
        Time::from_ns(ms * MS)
    }

    fn quota(time: u64, period: u64) -> Quota {
        Quota {
            time: ms(time),
            period: ms(period),
            burst: Time::ZERO,
        }
    }

    fn one(quota: Quota, cpus: usize) -> Groups {
        let mut groups = Groups::new(cpus);
        groups.add(None, Some(quota));
        groups
    }

    #[test]
    fn what_was_too_much_is_paid_back_out_of_the_next_period() {
        let mut groups = one(quota(8, 100), 1);
        assert!(groups.has_time(0, 0, ms(10)));
        groups.charge(0, 0, ms(5));
        assert!(groups.has_time(0, 0, ms(15)));
        // 3 ms were left in the pool; 7 more are 4 too many.
        groups.charge(0, 0, ms(7));
        assert!(!groups.has_time(0, 0, ms(22)));
        assert_eq!(groups.next(ms(22)), Some(ms(110)));
        groups.replenish(ms(110));
        assert!(!groups.is_out(0, 0));
        groups.charge(0, 0, ms(4));
        assert!(!groups.has_time(0, 0, ms(114)));
    }

    #[test]
    fn a_group_is_held_to_the_quota_of_one_around_it() {
        let mut groups = one(quota(10, 100), 2);
        let inner = groups.add(Some(0), Some(quota(50, 100)));
        assert!(groups.has_time(inner, 0, ms(0)));
        groups.charge(inner, 0, ms(5));
        assert!(groups.has_time(inner, 0, ms(5)));
        groups.charge(inner, 0, ms(5));
        assert!(!groups.has_time(inner, 0, ms(10)));
        assert!(!groups.has_time(0, 1, ms(10)), "the pool of both is empty");
        assert!(groups.is_out(inner, 1));
    }

    #[test]
    fn another_quota_makes_no_other_group() {
        let mut groups = Groups::new(1);
        let around = groups.add(None, None);
        let group = groups.add(Some(around), Some(quota(5, 100)));
        assert!(groups.has_time(group, 0, ms(0)));
        groups.charge(group, 0, ms(5));
        assert!(!groups.has_time(group, 0, ms(5)));
        groups.renew(group, Some(quota(8, 100)));
        assert!(groups.has_time(group, 0, ms(5)));
        groups.charge(group, 0, ms(8));
        assert!(!groups.has_time(group, 0, ms(13)));
        assert_eq!(groups.all.len(), 2);
    }

    #[test]
    fn what_earlier_periods_left_is_a_burst() {
        let burst = Quota {
            burst: ms(10),
            ..quota(20, 50)
        };
        let mut group = Group::new(None, Some(burst), 1);
        // When the pool is filled, what is in it then, and what is taken.
        for (at, pool, taken) in [
            (0, 20, 20),
            (50, 20, 12),
            (100, 28, 20),
            (500, 30, 30),
            (550, 20, 0),
        ] {
            group.fill(ms(at));
            assert_eq!(group.pool, ms(pool).as_thirds() as i64, "{at}");
            group.local[0] = 0;
            group.take(0, ms(taken).as_thirds() as i64);
        }
    }

    #[test]
    fn a_cpu_that_nobody_uses_gives_back_all_but_a_millisecond() {
        let mut groups = one(quota(5, 100), 2);
        assert!(groups.has_time(0, 0, ms(0)));
        groups.charge(0, 0, ms(1));
        groups.gives_back(0, 0, ms(1));
        assert!(groups.has_time(0, 1, ms(1)));
        groups.charge(0, 1, ms(3));
        assert!(!groups.has_time(0, 1, ms(4)));
        assert!(groups.has_time(0, 0, ms(4)));
    }
}
