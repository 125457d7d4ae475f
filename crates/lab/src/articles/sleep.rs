//! The accurate-sleep article.

use super::{Article, Check, otherwise, plain, row};

/// The article's computer, as its published data have it.
const FRAMES: &str = "bench article --on windows-8,interval=1ms,base=now,wake=60us,jitter=50us,cpu_counted=ticks --full";

pub(super) const ARTICLE: Article = Article {
    name: "sleep",
    title: "the accurate-sleep article (2022)",
    about: "A game loop needs waits that end on time. preciseSleep and timerSleep sleep for most of a wait, learn how late \
            the system wakes them, and spin for the rest.",
    claims: &[
        row(
            "Frames of a loop that sleeps off 1/60 s",
            "17.08 to 18.30 ms",
            ("A10", ""),
            FRAMES,
        ),
        row("Frames of a spin loop", "16.67 ms", ("A11", ""), FRAMES),
        row(
            "CPU of 1000 frames, system sleep",
            "0.0 %",
            ("A12", "{1} %"),
            FRAMES,
        ),
        row(
            "CPU of 1000 frames, spinning",
            "99.8 %",
            ("A13", "{1} %"),
            FRAMES,
        ),
        otherwise(
            row(
                "CPU of 1000 frames, preciseSleep",
                "4.8 %",
                ("A14", "{1} %"),
                FRAMES,
            ),
            "The article's computer had other work: one in a hundred of its plain sleeps took over 18.18 ms, one 31 ms. \
             The model's has none.",
        ),
        row(
            "CPU of 1000 frames, timerSleep",
            "0.4 %",
            ("A15", "{1} %, counted by ticks as there; exactly {2} %"),
            FRAMES,
        ),
        row(
            "Frames of preciseSleep",
            "close to 16.67 ms",
            ("V69", "{2} at most"),
            "simulate hybrid-sleep",
        ),
        row(
            "preciseSleep of 10 us and more",
            "on time",
            ("A16", "{1} for 10 us"),
            "bench article --on windows-10-1909,interval=1ms",
        ),
        row(
            "timerSleep of 10 us and more",
            "on time",
            ("A16", "{6} for 10 us"),
            "bench article --on windows-10-1909,interval=1ms",
        ),
        row(
            "CPU of waits of 5 ms, both",
            "100 %",
            ("A17", "{1} and {2} %"),
            "bench article --on windows-10-1909,interval=1ms --full",
        ),
        row(
            "CPU of waits of 7 ms, both",
            "less",
            ("A17", "{3} and {4} %"),
            "bench article --on windows-10-1909,interval=1ms --full",
        ),
        row(
            "Errors grow with a fake OS's period",
            "they grow",
            ("V70", "they grow"),
            "simulate robustness",
        ),
        plain(
            "All four ways of waiting, and the article's four figures as pictures",
            "bench article --plots DIR",
            Check::Here,
        ),
        plain(
            "A low-power wait for spinning (TPAUSE, MWAITX, WFET), where the CPU has one",
            "doctor --full",
            Check::Here,
        ),
    ],
};
