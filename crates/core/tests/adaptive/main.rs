//! `adaptive` on a small OS of every kind: what holds whatever became of its
//! naps, and how soon it is as good again as one that saw nothing bad.

mod bounds;
mod grids;
mod os;
mod recovery;
