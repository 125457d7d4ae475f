//! A quota of this process, alone in its file: it would be of other tests too.
#![cfg(target_os = "linux")]

use punctual_core::Nanos;
use punctual_os::cgroups::{CpuGroups, ProcessGroup};
use punctual_record::CpuQuota;

fn groups() -> String {
    std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default()
}

fn quota() -> Option<CpuQuota> {
    CpuGroups::of_this_process().quota()
}

/// It may not be had, but then the process is where it was.
#[test]
fn a_process_gets_a_quota_or_says_why_and_is_back_when_that_is_over() {
    let of = |ms| CpuQuota::new(Nanos::from_ms(ms), Nanos::from_ms(100));
    let (groups_before, quota_before) = (groups(), quota());
    let small = [60, 50].map(of);
    // That of a group around it may be less.
    let least = |quota: CpuQuota| match quota_before {
        Some(around) if around.cpus() < quota.cpus() => Some(around),
        _ => Some(quota),
    };
    match ProcessGroup::new(small[0]) {
        Ok(process) => {
            assert_ne!(groups(), groups_before);
            let of_thread = std::thread::spawn(quota).join().unwrap();
            assert_eq!(of_thread, least(small[0]));
            assert!(
                process
                    .set(CpuQuota {
                        time_ns: 0,
                        ..small[0]
                    })
                    .is_err()
            );
            process.set(small[1]).unwrap();
            assert_eq!(quota(), least(small[1]));
        }
        Err(why) => assert!(!why.to_string().contains('\n'), "{why}"),
    }
    assert_eq!((groups(), quota()), (groups_before, quota_before));
}
