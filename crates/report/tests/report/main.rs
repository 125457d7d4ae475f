//! Tables and figures of made-up runs.

mod figures;
mod learned;
mod made_up;
mod scenario;
mod text;
