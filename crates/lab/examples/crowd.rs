//! crowd experiment
use punctual_core::strategies::Defaults;
use punctual_core::{Nanos, Rate, StrategySpec};
use punctual_program::lengths::{Law, Lengths};
use punctual_program::program::{Due, Op, SpawnKind, Subject};
use punctual_program::{Machine, Program};
use punctual_sim::{Model, SimMachine};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (model, kinds, hogs) = (&args[0], &args[1], args[2].parse::<usize>().unwrap());
    for kind in kinds.split(';') {
        let p: Vec<&str> = kind.split(':').collect();
        let (k, n, us) = (
            p[0],
            p[1].parse::<usize>().unwrap(),
            p[2].parse::<u64>().unwrap(),
        );
        println!("{model} {kind} hogs {hogs}");
        for name in &args[3..] {
            let spec = StrategySpec::parse(name, Defaults::ELSEWHERE).unwrap();
            let m = Model::parse(model).unwrap();
            let waits = std::env::var("TOTAL")
                .ok()
                .and_then(|v| v.parse::<u64>().ok())
                .unwrap_or(400_000)
                / us.max(100);
            let body = || -> Vec<Op> {
                let wait = match k {
                    "same" => vec![
                        Op::Pace(Rate::from_hz(1_000_000 / us).unwrap()),
                        Op::Record,
                        Op::repeat(waits, [Op::wait(Due::NextCycle)]),
                    ],
                    _ => vec![
                        Op::Record,
                        Op::repeat(
                            waits,
                            [Op::Drawn(
                                Lengths {
                                    law: Law::Uniform(
                                        Nanos::from_us(us / 2),
                                        Nanos::from_us(us * 3 / 2),
                                    ),
                                    min: Nanos::ZERO,
                                    stream: 0,
                                },
                                Box::new(Op::wait(Due::After(Nanos::from_us(us)))),
                            )],
                        ),
                    ],
                };
                wait
            };
            let spawn = if k == "proc" {
                SpawnKind::Process
            } else {
                SpawnKind::Thread
            };
            let mut ops: Vec<Op> = (0..hogs)
                .map(|_| {
                    Op::spawn(
                        SpawnKind::Process,
                        "hog",
                        vec![Op::repeat(u64::MAX, [Op::Work(Nanos::from_ms(1))])],
                    )
                })
                .collect();
            for _ in 1..n {
                ops.push(Op::spawn(
                    spawn,
                    "other",
                    Program::of(Subject::Strategy(spec), body()),
                ));
            }
            ops.extend(body());
            let program = Program::of(Subject::Strategy(spec), ops);
            let seen = SimMachine::new(m, 1).run(&program).unwrap();
            let (mut late, mut cpu) = (vec![], 0.0);
            for t in &seen.threads {
                if t.name == "hog" {
                    continue;
                }
                for s in t.sections.iter().skip(1) {
                    cpu += s.cpu.thread.unwrap_or_default().as_ns() as f64;
                    late.extend(s.samples.iter().map(|s| s.outcome.late.as_ns()));
                }
            }
            late.sort();
            let c = late.len() as f64;
            let lam = late.iter().map(|l| (*l).min(1_000_000) as f64).sum::<f64>() / c / 1e3;
            let cw = cpu / c / 1e3;
            let q = |q: f64| late[(c * q) as usize] as f64 / 1e3;
            println!(
                "  {name:30} {:9.1} {:9.1} {:10.1}  cpu/wait {cw:7.1} p50 {:8.1} p99 {:9.1} n {c}",
                cw + lam,
                cw + 10.0 * lam,
                cw + 100.0 * lam,
                q(0.5),
                q(0.99)
            );
        }
    }
}
