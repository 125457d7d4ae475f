//! `adaptive` on a small OS of every kind: properties for any past naps, and how soon it is as
//! good again as one without a bad past.

mod bounds;
mod grids;
mod os;
mod recovery;
