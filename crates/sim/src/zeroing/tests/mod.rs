//! What the simulated computer does, by hand, by property and against what others
//! published. Comments give the numbers of the rows of the validation.

mod by_hand;
mod collapse;
mod every_page;
mod same;
