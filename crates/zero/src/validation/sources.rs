//! What the short names of sources in the rows stand for.

/// Each short name, and the source.
pub const SOURCES: &[(&str, &str)] = &[
    (
        "2014",
        "randomascii.wordpress.com, 2014-12-10: the hidden costs of memory allocation",
    ),
    (
        "BOYD",
        "Boyd-Wickizer, Kaashoek, Morris, Zeldovich: Non-scalable locks are dangerous (Linux Symposium 2012)",
    ),
    (
        "BOYD-fit",
        "500 cycles a request in the product form of BOYD's model, fitted to its curves; sections of 400 cycles",
    ),
    (
        "LITL",
        "Guiroux, Lachaize, Quema: LiTL (ATC'16) and the data of its journal version, github.com/multicore-locks/litl",
    ),
    (
        "POLICIES",
        "the table of takes in crates/zero/pool/src/batches: each policy as its paper has it",
    ),
    (
        "ZERO",
        "the page-zeroing article: Slower Memory Zeroing Through Parallelism (Bruce Dawson, randomascii.wordpress.com, 2022-07-11)",
    ),
    ("ZERO-2", "the later version of the same article"),
];
