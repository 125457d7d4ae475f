//! What the short names of sources in the rows stand for.

/// Each short name, and the source.
pub const SOURCES: &[(&str, &str)] = &[
    (
        "DAW-src",
        "github.com/randomascii/blogstuff, timer_interval and TimerOverlaps",
    ),
    ("DAW13", "randomascii.wordpress.com, 2013-07-08"),
    ("DOTNET", "github.com/dotnet/docs, issue 29737"),
    ("EEVDF", "Linux, kernel/sched/fair.c"),
    ("GO17696", "github.com/golang/go, issue 17696"),
    ("GO44343", "github.com/golang/go, issue 44343"),
    (
        "HAUK",
        "github.com/HakanL/Haukcode.HighResolutionTimer, issue 17",
    ),
    ("HRT", "Linux, kernel/time/hrtimer.c"),
    ("INTEL-IDLE", "Linux, drivers/idle/intel_idle.c"),
    ("JDK#13889", "github.com/openjdk/jdk, pull request 13889"),
    ("MAN", "Linux man-pages, prctl(2), time(7)"),
    ("MS-acc", "learn.microsoft.com, \"Timer Accuracy\" (WDK)"),
    (
        "MS-coal",
        "learn.microsoft.com, coalescing timers (KeSetCoalescableTimer, SetWaitableTimerEx)",
    ),
    ("MS-tbp", "learn.microsoft.com, timeBeginPeriod"),
    ("PCT", "github.com/valleyofdoom/PC-Tuning, docs/research.md"),
    ("ROS", "ReactOS, ntoskrnl/ex/time.c"),
    (
        "RULE",
        "the timer-rule article (Bruce Dawson, randomascii.wordpress.com, 2020-10-04)",
    ),
    ("SCHED", "the thread-scheduling article (2024)"),
    ("SLEEP", "the accurate-sleep article (2022)"),
    ("SPIN#22", "github.com/alexheretic/spin-sleep, issue 22"),
    ("SYS", "Linux, kernel/sys.c"),
    ("TIM", "Linux, kernel/time/timer.c"),
    ("TR#4", "github.com/valleyofdoom/TimerResolution, issue 4"),
    ("TR#5", "github.com/valleyofdoom/TimerResolution, issue 5"),
    ("WINE", "Wine, dlls/ntdll and dlls/winmm"),
    (
        "XNU",
        "apple-oss-distributions/xnu: arm_timer.c, timer_call.c, thread_policy.c",
    ),
    ("formula E", "calibrated on the rows V23 to V28"),
];
