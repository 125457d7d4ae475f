//! Frame times, without the lengths that were asked for: they show a grid, and no more.

use punctual_core::Nanos;
use punctual_record::{Identity, IdentityOutcome};

use super::{USUAL_TICK_NS, cannot_tell, grid};

/// The rates of displays.
const DISPLAYS_HZ: [f64; 7] = [60.0, 72.0, 75.0, 90.0, 120.0, 144.0, 165.0];

/// A value this near a multiple of a grid is on it.
const NEAR_NS: f64 = 120_000.0;

/// A named grid has this share of the frames.
const SHARE: f64 = 0.9;

pub(super) fn identify(frames: &[u64]) -> Identity {
    let on_grid = |grid: f64| {
        let multiples = frames.iter().map(|ns| {
            let ns = *ns as f64;
            let multiple = (ns / grid).round().max(1.0);
            ((ns - multiple * grid).abs() <= NEAR_NS).then_some(multiple as u64)
        });
        let multiples: Vec<u64> = multiples.flatten().collect();
        let share = multiples.len() as f64 / frames.len() as f64;
        let least = multiples.iter().min().copied();
        (
            share,
            multiples.iter().any(|multiple| Some(*multiple) != least),
        )
    };
    let (share, several) = on_grid(USUAL_TICK_NS as f64);
    let display = DISPLAYS_HZ
        .into_iter()
        .find(|hz| on_grid(1e9 / hz).0 >= SHARE);
    let percent = share * 100.0;
    let tick = Nanos::new(USUAL_TICK_NS);
    match (share >= SHARE, display) {
        (true, None) => Identity {
            // Frames of one length could be those of any loop at 64 Hz.
            outcome: match several {
                true => IdentityOutcome::Named,
                false => IdentityOutcome::CannotTell,
            },
            rule: several.then(|| grid::name(USUAL_TICK_NS)),
            evidence: vec![
                format!("{percent:.0} % of the frames lie within 0.12 ms of whole ticks of {tick}, and no display has that period."),
                "These are frame times: what each wait asked for is not known, so this is less certain than pairs would be.".to_owned(),
            ],
            further: "A log of what each wait asked for and got would decide.".to_owned(),
            candidates: vec![grid::candidate(USUAL_TICK_NS)],
            ..Identity::default()
        },
        (_, Some(hz)) => cannot_tell(
            format!("The frames are on the grid of a display of {hz} Hz, which hides the waits."),
            "A log of what each wait asked for and got, or frames without vertical synchronisation, would decide.",
        ),
        (false, None) => cannot_tell(
            format!("Only {percent:.0} % of the frames lie near whole ticks of {tick}; nothing else shows in frame times."),
            "A log of what each wait asked for and got would decide.",
        ),
    }
}
