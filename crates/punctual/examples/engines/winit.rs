//! A window of winit whose frames begin as late as is safe for the display's next refresh.
//!
//!     cargo run --release --bin winit

use punctual::{FramePacer, Period};
use winit::application::ApplicationHandler;
use winit::event::WindowEvent;
use winit::event_loop::{ActiveEventLoop, ControlFlow, EventLoop};
use winit::window::{Window, WindowId};

struct Game {
    window: Option<Window>,
    frames: FramePacer,
}

impl ApplicationHandler for Game {
    fn resumed(&mut self, event_loop: &ActiveEventLoop) {
        let window = event_loop.create_window(Window::default_attributes());
        let window = window.expect("there is a display");
        let monitor = window.current_monitor();
        let rate = monitor.and_then(|monitor| monitor.refresh_rate_millihertz());
        // At most some THz, which the period takes.
        if let Some(Ok(period)) = rate.map(|mhz| Period::hz_ratio(mhz.into(), 1_000)) {
            self.frames.set_period(period);
        }
        self.window = Some(window);
    }

    /// All input that has come is known here.
    fn about_to_wait(&mut self, _event_loop: &ActiveEventLoop) {
        if let Some(window) = &self.window {
            window.request_redraw();
        }
    }

    fn window_event(&mut self, event_loop: &ActiveEventLoop, _: WindowId, event: WindowEvent) {
        match event {
            WindowEvent::CloseRequested => event_loop.exit(),
            WindowEvent::RedrawRequested => {
                // winit waits for whole milliseconds, and a frame's begin is to be exact: so it
                // does not wait, and this does.
                let frame = self.frames.begin();
                // draw(frame.target())
                let done = self.frames.end();
                // Present: with vsync this can block, and would count as work before `end`.
                println!("frame {}: {:?} of work", frame.number(), done.work());
            }
            _ => {}
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let event_loop = EventLoop::new()?;
    event_loop.set_control_flow(ControlFlow::Poll);
    let mut game = Game {
        window: None,
        frames: FramePacer::late(Period::hz(60)?),
    };
    event_loop.run_app(&mut game)?;
    Ok(())
}
