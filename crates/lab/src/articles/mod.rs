//! The four articles that punctual began with, claim by claim.
//!
//! A claim is one sentence of an article, in our words, with the figure that it states. A
//! [validation row](crate::validation) computes what comes out, on a model; the command beside it
//! shows the same to a reader.
//!
//! | file | article |
//! |---|---|
//! | `timers` | how Windows wakes a sleeping thread, before and since Windows 10 2004 |
//! | `zeroing` | why zeroing memory took 29 CPUs |
//! | `sleep` | an accurate sleep from an inaccurate one |
//! | `scheduling` | sleeping and yielding on three systems |
//!
//! `told` computes what comes out of a claim.

mod scheduling;
mod sleep;
mod timers;
mod told;
mod zeroing;

pub use told::{Findings, Found, Told, brief};

/// An article.
#[derive(Debug)]
pub struct Article {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its name in sentences, with author and year where known.
    pub title: &'static str,
    /// The article in two sentences.
    pub about: &'static str,
    /// Its claims, in its order.
    pub claims: &'static [Claim],
}

/// One sentence of an article.
#[derive(Debug)]
pub struct Claim {
    /// The sentence, in our words.
    pub says: &'static str,
    /// The figure that it states; empty if it states none.
    pub figure: &'static str,
    /// The command that shows it, without `punctual`.
    pub command: &'static str,
    /// How it is checked.
    pub check: Check,
    /// Why something else comes out, or nothing does; empty if it agrees.
    pub why: &'static str,
}

/// How a claim is checked.
#[derive(Debug)]
pub enum Check {
    /// A validation row says what comes out, and whether it agrees.
    Row {
        /// The name of the row: `V01`, or `Z01` for page zeroing.
        id: &'static str,
        /// The figures of the row to show, as `{1}`; empty for all of them.
        shown: &'static str,
    },
    /// The command shows it on a model; there is no figure to compare.
    Shown,
    /// The command measures it on the reader's computer.
    Here,
    /// It takes a computer with Windows, and a person who looks.
    ByHand,
}

/// All articles, in the order of their dates.
pub const ALL: [&Article; 4] = [
    &timers::ARTICLE,
    &zeroing::ARTICLE,
    &sleep::ARTICLE,
    &scheduling::ARTICLE,
];

/// A claim that a row of this name holds, with those of its figures that are to be shown.
const fn row(
    says: &'static str,
    figure: &'static str,
    (id, shown): (&'static str, &'static str),
    command: &'static str,
) -> Claim {
    Claim {
        says,
        figure,
        command,
        check: Check::Row { id, shown },
        why: "",
    }
}

/// That claim, of which something else comes out.
const fn otherwise(claim: Claim, why: &'static str) -> Claim {
    Claim { why, ..claim }
}

/// A claim without a figure that can be compared.
const fn plain(says: &'static str, command: &'static str, check: Check) -> Claim {
    Claim {
        says,
        figure: "",
        command,
        check,
        why: "",
    }
}
