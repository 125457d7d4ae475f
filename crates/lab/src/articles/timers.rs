//! The timer-rule article.

use super::{Article, Check, plain, row};

pub(super) const ARTICLE: Article = Article {
    name: "timers",
    title: "the timer-rule article (Bruce Dawson, 2020)",
    about: "Windows ends sleeps at a periodic timer interrupt. Up to Windows 10 1909 the shortest request of any process set \
            its interval for all. Since 2004 a process that has not asked sleeps about as long as by default.",
    claims: &[
        row(
            "A loop of Sleep(1), no request",
            "64 wakes/s",
            ("V01", "{2}"),
            "simulate lowest-request-wins",
        ),
        row(
            "Sleep(1) at a random moment",
            "1.0 to 16.625 ms",
            ("V02", "{1}"),
            "simulate --validate V02",
        ),
        row(
            "Timeouts of WaitForSingleObject",
            "the same, 15.6 ms",
            ("A01", "{1}"),
            "measure timers --on windows-10-1909 --quick",
        ),
        row(
            "... of WaitForMultipleObjects",
            "the same, 15.6 ms",
            ("A01", "{2}"),
            "measure timers --on windows-10-1909 --quick",
        ),
        plain(
            "Many private wake-ups keep the CPU out of deep idle and cost power",
            "simulate idle-power",
            Check::Shown,
        ),
        row(
            "1909: B asks for 2 ms, A loops Sleep(1)",
            "500 wakes/s",
            ("V04", "{1}"),
            "simulate lowest-request-wins",
        ),
        row(
            "1909: and C asks for 4 ms",
            "no change",
            ("V04", "{2}"),
            "simulate lowest-request-wins",
        ),
        row(
            "1909: B leaves, C's 4 ms are left",
            "250 wakes/s",
            ("V06", "{1}"),
            "simulate lowest-request-wins",
        ),
        row(
            "1909: C ends, no release",
            "64 wakes/s",
            ("V07", "{1}"),
            "simulate lowest-request-wins",
        ),
        row(
            "NtSetTimerResolution, below 1 ms",
            "0.5 ms",
            ("V12", "{1}"),
            "simulate timer-tool-that-no-longer-helps",
        ),
        row(
            "timeGetTime steps with the interrupt",
            "2 ms, if so asked",
            ("V31", "{3}"),
            "simulate change-interval --on windows-10-2004",
        ),
        row(
            "1909: 1 ms asked, Sleep(1)",
            "2.0 ms",
            ("V10", ""),
            "simulate change-interval --on windows-10-1909",
        ),
        row(
            "XP: the same",
            "2.0 ms",
            ("A02", ""),
            "simulate change-interval --on windows-xp",
        ),
        row(
            "7 and 8: the same",
            "1.0 ms",
            ("A03", "{1} and {2}"),
            "simulate change-interval --on windows-7",
        ),
        row(
            "1909: 2 ms asked, Sleep(1)",
            "2 ms",
            ("A05", "{1}"),
            "simulate change-interval --on windows-10-1909",
        ),
        row(
            "1909: ... 15 ms asked for",
            "15 ms",
            ("A05", "{2}"),
            "simulate change-interval --on windows-10-1909",
        ),
        row(
            "2004: another asks for 2 ms",
            "about 64 wakes/s",
            ("V25", ""),
            "simulate lowest-request-wins --on windows-10-2004",
        ),
        row(
            "2004: another asks for 6 ms",
            "about 12 ms",
            ("V26", "{1} on average"),
            "simulate change-interval --on windows-10-2004",
        ),
        row(
            "2004: ... 7 ms",
            "about 14 ms",
            ("V27", "{1} on average"),
            "simulate change-interval --on windows-10-2004",
        ),
        row(
            "2004: ... of 1000, 14 ms long",
            "not the commonest",
            ("V27", "{3} of 1000; {2} of 7 ms, {4} of 21 ms"),
            "simulate change-interval --on windows-10-2004 --full",
        ),
        row(
            "2004: 4 to 8 ms are noisy",
            "several lengths",
            ("A06", "{4} between shortest and longest"),
            "simulate change-interval --on windows-10-2004 --full",
        ),
        row(
            "2004: another asks for 9 ms",
            "9 ms, no noise",
            ("V28", "{1}"),
            "simulate change-interval --on windows-10-2004",
        ),
        row(
            "2004: ... 15 ms",
            "15 ms, no noise",
            ("V28", "{13}"),
            "simulate change-interval --on windows-10-2004",
        ),
        row(
            "2004: child of one that asks",
            "about 15.6 ms",
            ("V32", "{1}"),
            "simulate inherit-request",
        ),
        row(
            "2004: game beside timer tool",
            "about 15.6 ms",
            ("A04", "{2}"),
            "simulate timer-tool-that-no-longer-helps",
        ),
        row(
            "Chromium on battery",
            "125 Hz",
            ("V72", "{3}"),
            "simulate chrome-on-battery",
        ),
        plain(
            "change_interval asks for 1 to 15 ms in turn; measure_interval reads the effect",
            "resolution cycle",
            Check::ByHand,
        ),
        plain(
            "Which processes asked, as powercfg /energy lists them, and whose request rules when",
            "doctor --on windows-10-1909 --scenario lowest-request-wins",
            Check::Shown,
        ),
        plain(
            "... on a computer: run powercfg /energy as administrator first",
            "doctor energy-report.html",
            Check::ByHand,
        ),
        plain(
            "WPF, SQL Server, Quartz, PowerDirector, Chrome, Go and many games ask for less",
            "doctor",
            Check::ByHand,
        ),
    ],
};
