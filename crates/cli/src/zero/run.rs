//! `punctual zero run`.

use anyhow::{Result, bail};
use clap::Args;
use punctual_core::Nanos;
use punctual_record::Run;
use punctual_zero::ZeroFacts;
use punctual_zero::rows::{Arrivals, ZeroRow};
use punctual_zero::run::{Bursts, Memory, PoolPlan, Settings, warnings};
use punctual_zero_memory::Kernel;
use punctual_zero_pool::{Batch, Dequeue, LockKind};

use crate::host::refuse_a_faked_clock;
use crate::options::{Effort, Output};
use crate::session::{self, Outputs};
use crate::values::{List, bytes, length, list, numbers, one_of, rounds};
use crate::zero::{answer, in_turns, named};
use crate::{Done, say, stop};

pub(crate) const ABOUT: &str = "\
Run a pool of workers that zero memory, by threads, lock and batch.

Workers take pages from a backlog, under a lock or with an atomic counter, and fill them with zeros. Every page holds \
something else before each pass. The settings take turns in rounds, and each worker is kept on a CPU of its own. The results \
are the GB zeroed per second of CPU time, and the parts of that time: zeroing, holding the lock, waiting for it, other.

Without options: every lock; batches of 1, 2n, 64 and guided; 1, 2, 4 and so on threads, up to the number of CPUs and twice \
that; hot and cold memory. With two CPUs that takes one to three minutes, by the size of the caches. The command says how \
long before it begins.";

pub(crate) fn after() -> String {
    let lock = |lock: LockKind| format!("  {:<9}{}\n", lock.name(), lock.facts().about);
    format!("Locks:\n{}\n{AFTER}", LockKind::ALL.map(lock).concat())
}

const AFTER: &str = "\
Batches, of n threads where R pages are left:
  a number    so many pages
  n, 2n       n or 2n pages
  half        R / 2
  guided      R / 2n, and 64 at least
  guided:share=S+floor=F
              R / Sn, and F at least
  factoring   n equal takes together take half of R, then half of the rest
  trapezoid   R / 2n at first, then less in equal steps, down to 1
  growing     one more than the last take, and R / n at most
  steal-half  1 of the thread's own backlog; if that is empty, half of another's

Combinations that cannot be, such as growing with counter, are left out, with a line for each reason. More threads than CPUs \
measure the scheduler: such results are marked.

Exit codes: 0 done, 2 could not run, 3 ended by Ctrl-C (what was measured is kept).

Examples:
  punctual zero run
  punctual zero run --quick --json quick.json --plots figures
  punctual zero run --threads 1,2 --lock tas,mcs --batch 1,n --memory hot
  punctual zero run --lock mcs --batch 1 --dequeue range,list --size 1GiB
  punctual zero run --kernel all --lock counter --batch 64
  punctual zero run --arrivals burst --every 2s --lock tas,mutex --batch 1";

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// How many workers, as a list: 1,2,4-8 [default: 1, 2, 4 and so on up to the number of CPUs, and twice that; with --quick 1 and all CPUs]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true, value_parser = numbers)]
    pub(crate) threads: Option<List<usize>>,

    #[arg(long, help = locks(), value_name = "LIST", value_parser = list::<LockKind>)]
    pub(crate) lock: Option<List<LockKind>>,

    /// How many pages each takes at a time, as a list [default: 1,2n,64,guided; with --quick 1,64]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true, value_parser = list::<Batch>)]
    pub(crate) batch: Option<List<Batch>>,

    /// How pages are taken, as a list: range (one addition), list (one cache miss for each page) [default: range]
    #[arg(long, value_name = "LIST", value_parser = list::<Dequeue>)]
    pub(crate) dequeue: Option<List<Dequeue>>,

    /// Put zeroed pages into a list under this lock, as Windows 11 seems to do [default: no list]
    #[arg(long, value_name = "LOCK")]
    pub(crate) returns: Option<LockKind>,

    /// How a page is zeroed, as a list: memset, rep-stosb, non-temporal, clzero, dc-zva, or all that this CPU has [default: memset]
    #[arg(long, value_name = "LIST", value_parser = kernels)]
    pub(crate) kernel: Option<List<Kernel>>,

    /// Memory in all: hot (half of a level-2 cache), cold (four times the last-level caches), or both [default: both]
    #[arg(
        long,
        value_name = "NAME",
        value_parser = one_of([("hot", HOT), ("cold", COLD), ("both", BOTH)]),
        hide_possible_values = true,
        conflicts_with = "size"
    )]
    pub(crate) memory: Option<&'static [Memory]>,

    /// The amount of memory, such as 512KiB or 1GiB, instead of hot and cold
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true, value_parser = bytes)]
    pub(crate) size: Option<u64>,

    /// How pages come: closed (all are there, pass after pass) or burst (all at once every --every) [default: closed]
    #[arg(long, value_name = "NAME", value_parser = one_of([("closed", Arrivals::Closed), ("burst", Arrivals::Burst)]), hide_possible_values = true)]
    pub(crate) arrivals: Option<Arrivals>,

    /// With --arrivals burst: the time from one burst to the next [default: 2s]
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true, value_parser = length)]
    pub(crate) every: Option<Nanos>,

    /// With --arrivals burst: the number of bursts in a round [default: 1]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = rounds)]
    pub(crate) bursts: Option<u32>,

    /// The most memory to zero, such as 4GiB [default: half of what is free]
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true, value_parser = bytes)]
    pub(crate) memory_limit: Option<u64>,

    #[command(flatten)]
    pub(crate) effort: Effort,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// The help of `--lock`.
fn locks() -> String {
    let all = LockKind::ALL.iter();
    let left_out = all.filter(|lock| !lock.facts().is_in_quick_runs);
    format!(
        "The locks between threads, as a list [default: all of {}; with --quick without {}]",
        named(&LockKind::ALL, ", "),
        named(left_out, " and ")
    )
}

const HOT: &[Memory] = &[Memory::Hot];
const COLD: &[Memory] = &[Memory::Cold];
const BOTH: &[Memory] = &[Memory::Hot, Memory::Cold];

/// `all` that this CPU has, or a list of names.
fn kernels(text: &str) -> Result<List<Kernel>, String> {
    if text == "all" {
        let all = Kernel::ALL.into_iter();
        return Ok(List(all.filter(|kernel| kernel.is_supported()).collect()));
    }
    list(text)
}

/// The time from one run of Windows' zero page threads to the next, as the
/// page-zeroing article saw it.
const USUALLY_EVERY: Nanos = Nanos::from_secs(2);

pub(crate) fn run(args: &RunArgs) -> Result<Done> {
    refuse_a_faked_clock()?;
    let stop = stop::on_ctrl_c()?;
    let mut plan = PoolPlan::of(&settings(args)?, stop)?;
    let outputs = Outputs::new(&args.output)?;
    let mut run: Run<ZeroRow> = session::run_here();
    ZeroFacts::of_pools().add_to(&mut run.machine);

    touch(&mut plan)?;
    announce(&plan);
    let ran = in_turns(plan.batches(), |progress| plan.run(progress));
    let warned = warnings(&run.machine, &ran.measurements, plan.rounds);
    run.beside = plan.findings();
    run.warnings = plan.left_out;
    answer(outputs, run, ran, warned)
}

/// Touches the memory once: how long everything takes is not known before.
fn touch(plan: &mut PoolPlan) -> Result<()> {
    session::say_left_out(&plan.left_out);
    say!(
        "zero run: touches its memory once before it measures ({})",
        plan.memory_in_words()
    );
    Ok(plan.warm_up()?)
}

/// Says on standard error what is about to happen and how long it takes.
fn announce(plan: &PoolPlan) {
    let settings = match plan.cells.len() {
        1 => "one setting".to_owned(),
        settings => format!("{settings} settings"),
    };
    say!(
        "zero run: {settings} in {}, {}",
        session::rounds(plan.rounds),
        session::about(plan.length(), false)
    );
}

fn settings(args: &RunArgs) -> Result<Settings> {
    let burst = args.arrivals == Some(Arrivals::Burst);
    for (option, given) in [
        ("--every", args.every.is_some()),
        ("--bursts", args.bursts.is_some()),
    ] {
        if given && !burst {
            bail!("{option} is for bursts: add --arrivals burst, or leave it out");
        }
    }
    Ok(Settings {
        quick: args.effort.quick,
        threads: args.threads.as_ref().map(|list| list.0.clone()),
        locks: args.lock.as_ref().map(|list| list.0.clone()),
        batches: args.batch.as_ref().map(|list| list.0.clone()),
        dequeues: args.dequeue.as_ref().map(|list| list.0.clone()),
        returns: args.returns,
        kernels: args.kernel.as_ref().map(|list| list.0.clone()),
        memories: args.memory.map(<[Memory]>::to_vec),
        bytes: args.size,
        bursts: burst.then(|| Bursts {
            every: args.every.unwrap_or(USUALLY_EVERY),
            times: args.bursts.unwrap_or(1),
        }),
        rounds: args.effort.rounds,
        memory_limit: args.memory_limit,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_is_what_there_is_and_names_are_names() {
        let all = kernels("all").unwrap();
        assert!(all.0.iter().all(|kernel| kernel.is_supported()));
        assert!(all.0.contains(&Kernel::Memset));
        let two = kernels("memset,dc-zva").unwrap();
        assert_eq!(two.0, [Kernel::Memset, Kernel::DcZva]);
        assert!(kernels("bzero").unwrap_err().contains("`bzero`"));
    }
}
