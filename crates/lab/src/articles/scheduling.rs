//! The thread-scheduling article.

use super::{Article, Check, plain, row};

pub(super) const ARTICLE: Article = Article {
    name: "scheduling",
    title: "the thread-scheduling article (2024)",
    about: "Sleep(1), usleep and a yield, measured on Windows, macOS and Linux. The advice: spin for microseconds, and do \
            not yield where a spike is not affordable.",
    claims: &[
        row(
            "Windows: Sleep(1), nothing asked for",
            "15.04 to 15.56 ms",
            ("V22", "{1}"),
            "simulate --validate V22",
        ),
        row(
            "... a rare one of them",
            "3.05 ms",
            ("V22", "{3}"),
            "simulate --validate V22",
        ),
        row(
            "... the shortest interval asked for",
            "1.021 to 1.023 ms",
            ("V20", "{1}"),
            "simulate --validate V20",
        ),
        row(
            "... by priority: low, normal, high",
            "no difference",
            ("A20", "{1}"),
            "measure sleep --on windows-10-1909 --quick",
        ),
        row(
            "Waitable timer of 1 ms",
            "as Sleep",
            ("A21", "{1}"),
            "measure timers --on windows-10-1909 --quick",
        ),
        row(
            "WM_TIMER of 10 ms",
            "as Sleep",
            ("A21", "{2}"),
            "measure timers --on windows-10-1909 --quick",
        ),
        row(
            "Sleep(0) on an idle computer",
            "2 to 3 us",
            ("A22", ""),
            "measure yield --on windows-10-1909 --quick",
        ),
        row(
            "Away after a yield on a busy one",
            "15 ms or more",
            ("A23", ""),
            "simulate job-system",
        ),
        row(
            "Windows under full load is erratic",
            "tens of ms",
            ("V46", "mean {1}"),
            "measure load --on windows-10-2004 --quick",
        ),
        row(
            "macOS, M1: usleep(1000)",
            "1.254 to 1.270 ms",
            ("V62", "{1}"),
            "simulate macos-tiers",
        ),
        row(
            "macOS, M1: usleep(300)",
            "380 to 386 us",
            ("V62", "{2}"),
            "simulate macos-tiers",
        ),
        plain(
            "macOS: efficiency cores are less accurate and less regular",
            "simulate macos-tiers",
            Check::Shown,
        ),
        row(
            "Linux 6.2: usleep(300)",
            "353.4 us",
            ("V48", "{1}"),
            "simulate linux-slack-sweep",
        ),
        row(
            "Linux 6.2: usleep(1000)",
            "1.0805 ms",
            ("V48", "{2}"),
            "simulate linux-slack-sweep",
        ),
        plain(
            "Linux: regular under load too, though less accurate",
            "measure load --on linux-6.1 --quick",
            Check::Shown,
        ),
        plain(
            "Job systems: yield, spin and block side by side, idle and busy",
            "measure jobs",
            Check::Here,
        ),
        plain(
            "The same calls on this computer, per length, core, load and priority",
            "measure sleep yield load cores",
            Check::Here,
        ),
    ],
};
