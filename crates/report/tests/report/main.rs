//! Tables and figures of made-up runs.

mod any_run;
mod compare;
mod figures;
mod histogram;
mod invented;
mod learned;
mod looks;
mod made_up;
mod made_up_measure;
mod measured;
mod page;
mod regimes;
mod scenario;
mod text;
mod watch;
