//! `adaptive` on a small OS of every kind. Its properties hold for any past naps, and it recovers
//! from a bad past.

mod bounds;
mod grids;
mod os;
mod recovery;
