//! Frames of MangoHud and PresentMon.

use punctual_record::LoggedKind;

use super::{log, mangohud, refusal, run, subjects, untold};

#[test]
fn frame_times_of_mangohud_are_in_the_unit_that_its_rate_tells() {
    let in_ms = run(&mangohud(
        "60,16.666,10,50,1000000\n58.8,17.0,11,51,18000000\n",
    ));
    let in_us = run(&mangohud(
        "60,16666,10,50,1000000\n58.8,17000,11,51,18000000\n",
    ));
    for run in [&in_ms, &in_us] {
        let m = &run.results[0];
        assert_eq!(m.samples_slept_ns, [16_666_000, 17_000_000]);
        assert_eq!(m.samples_woke_ns, [0, 17_000_000]);
        assert_eq!(
            (m.late_ns.n, log(m).lengths_ns.n, log(m).of),
            (0, 2, LoggedKind::Frames)
        );
        assert_eq!(
            run.machine.in_words(),
            "A CPU, Arch Linux, kernel 6.9.1-arch"
        );
        assert!(!untold(run).contains("every frame"), "{}", untold(run));
    }
    let sampled = run(&mangohud(
        "60,16.666,10,50,1000000\n60,16.666,10,50,101000000\n60,16.6,1",
    ));
    assert!(untold(&sampled).contains("has not every frame"));
    assert!(untold(&sampled).contains("last line is cut off"));
    assert!(refusal(&mangohud("60,x,1,1,1\n60,16.6,1,1,1\n")).contains("line 4"));
}

#[test]
fn frames_of_presentmon_are_told_apart_by_program() {
    let head =
        "Application,ProcessID,SwapChainAddress,PresentRuntime,MsBetweenPresents,MsUntilDisplayed";
    let run = run(&format!(
        "{head}\ngame.exe,7,0xA,DXGI,16.5,20\n\"dwm, really.exe\",9,0xB,DXGI,7,1\ngame.exe,7,0xA,DXGI,17.5,NA\n\
         game.exe,7,0xA,DXGI,NA,NA\ngame.exe,7,0xA,DX"
    ));
    assert_eq!(subjects(&run), ["game.exe", "dwm, really.exe"]);
    assert_eq!(run.results[0].samples_slept_ns, [16_500_000, 17_500_000]);
    assert_eq!(run.machine.os, "Windows");
    assert!(untold(&run).contains("Of 1 of its frames"));
    let newer = "Application,ProcessID,CPUStartTime,FrameTime,CPUBusy,CPUWait\ngame.exe,7,1.0,8.25,8,0.25\n";
    assert_eq!(self::run(newer).results[0].samples_slept_ns, [8_250_000]);
    let parts = "Application,ProcessID,MsCPUBusy,MsCPUWait\ngame.exe,7,8,0.25\n";
    assert_eq!(self::run(parts).results[0].samples_slept_ns, [8_250_000]);
}

#[test]
fn frames_behind_a_head_of_another_program_are_read() {
    let frames = "Application,ProcessID,MsBetweenPresents\ngame.exe,7,16.5\n";
    let of = |text: &str| run(text).results;
    assert_eq!(
        of(&format!("//GameName=x\n//CPU=y, z\n\n{frames}")),
        of(frames)
    );
    // MangoHud with log_versioning.
    let plain = mangohud("60,16.666,10,50,1000000\n");
    let versioned = plain
        .replacen("os,cpu", "v1\n0.7.1\n--SYSTEM INFO--\nos,cpu", 1)
        .replacen("fps,", "--FRAME METRICS--\nfps,", 1);
    assert_eq!(run(&versioned).machine, run(&plain).machine);
    assert_eq!(of(&versioned), of(&plain));
    // Frames of more than 584 years together.
    let row = "60,999999999999,10,50,1000000\n";
    assert_eq!(
        log(&of(&mangohud(&row.repeat(20_000)))[0]).lengths_ns.n,
        20_000
    );
}
