//! What the simulated computer does, by hand, by property and against the closed form.
//! What others published is the table of `punctual_zero::validation`.

mod by_hand;
mod collapse;
mod every_page;
mod same;
