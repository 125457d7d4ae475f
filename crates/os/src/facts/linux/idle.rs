//! The idle states of a CPU, from the shallowest (kernel documentation, "CPU Idle
//! Time Management").

use super::read;
use crate::facts::IdleUse;
use punctual_core::Nanos;

/// The deepest one of the first CPU that is enabled, and how long it says it takes to
/// leave.
pub(super) fn deepest() -> Option<(String, Nanos)> {
    let states = (0..).map_while(|number| state(|name| field(0, number, name)));
    let enabled = states.filter(|(_, is_enabled)| *is_enabled);
    enabled.map(|(state, _)| state).last()
}

/// How the CPUs used theirs, summed over the CPUs.
pub(super) fn uses(cpus: impl Iterator<Item = usize>) -> Vec<IdleUse> {
    let mut sums: Vec<IdleUse> = Vec::new();
    for cpu in cpus {
        let of_cpu = (0..).map_while(|number| used(|name| field(cpu, number, name)));
        add(&mut sums, of_cpu);
    }
    sums
}

/// States go by their names: CPUs of two kinds have different ones.
fn add(sums: &mut Vec<IdleUse>, of_cpu: impl Iterator<Item = IdleUse>) {
    for state in of_cpu {
        match sums.iter_mut().find(|sum| sum.name == state.name) {
            Some(sum) => {
                sum.entered += state.entered;
                sum.time += state.time;
            }
            None => sums.push(state),
        }
    }
}

/// Its name, how long it takes to leave, and whether the system may use it.
fn state(field: impl Fn(&str) -> Option<String>) -> Option<((String, Nanos), bool)> {
    let exit = us(&field("latency")?)?;
    Some(((field("name")?, exit), field("disable")? == "0"))
}

fn used(field: impl Fn(&str) -> Option<String>) -> Option<IdleUse> {
    Some(IdleUse {
        name: field("name")?,
        entered: field("usage")?.parse().ok()?,
        time: us(&field("time")?)?,
    })
}

fn us(text: &str) -> Option<Nanos> {
    text.parse().ok().map(Nanos::from_us)
}

fn field(cpu: usize, state: usize, name: &str) -> Option<String> {
    read(&format!(
        "/sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}/{name}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of the file system, as text.
    fn folder(fields: &'static [(&str, &str)]) -> impl Fn(&str) -> Option<String> {
        move |name| {
            let (_, text) = fields.iter().find(|field| field.0 == name)?;
            Some((*text).to_owned())
        }
    }

    const C6: &[(&str, &str)] = &[
        ("name", "C6"),
        ("latency", "133"),
        ("disable", "1"),
        ("usage", "7"),
        ("time", "9000"),
    ];

    #[test]
    fn a_state_is_read_from_its_folder() {
        let c6 = ("C6".to_owned(), Nanos::from_us(133));
        assert_eq!(state(folder(C6)), Some((c6, false)));
        assert_eq!(state(folder(&[])), None);
    }

    #[test]
    fn uses_are_summed_by_name() {
        let c6 = || used(folder(C6)).unwrap();
        let poll = IdleUse {
            name: "POLL".to_owned(),
            entered: 1,
            time: Nanos::from_us(2),
        };
        let mut sums = Vec::new();
        add(&mut sums, [poll.clone(), c6()].into_iter());
        add(&mut sums, [c6()].into_iter());
        assert_eq!(sums[0], poll);
        assert_eq!((sums[1].entered, sums[1].time), (14, Nanos::from_ms(18)));
    }
}
