//! A plugin for Bevy that paces its frames, without a window here: as many updates as it is told,
//! and what came of them.
//!
//!     cargo run --release --bin bevy

use bevy_app::{App, Last, Plugin, PluginsState};
use bevy_ecs::prelude::{ResMut, Resource};
use punctual::{Error, FramePacer, Period};

/// Ends each frame at its slot: add it beside Bevy's own, with vsync turned off, or begin frames
/// late instead, with [`FramePacer::late`] and vsync.
struct Pacing(Period);

#[derive(Resource)]
struct Frames(FramePacer);

impl Plugin for Pacing {
    fn build(&self, app: &mut App) {
        let mut frames = FramePacer::at_end(self.0);
        frames.keep_statistics();
        app.insert_resource(Frames(frames));
        app.add_systems(Last, pace);
    }
}

fn pace(mut frames: ResMut<Frames>) {
    frames.0.end();
    frames.0.begin();
}

fn main() -> Result<(), Error> {
    let mut app = App::new();
    app.add_plugins(Pacing(Period::hz(144)?));
    while app.plugins_state() == PluginsState::Adding {}
    app.finish();
    app.cleanup();
    for _ in 0..144 {
        app.update();
    }
    println!("{}", app.world().resource::<Frames>().0.statistics());
    Ok(())
}
