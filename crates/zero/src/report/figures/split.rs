//! Where the CPU time of pools that zero pages went.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use punctual_record::Run;
use punctual_report::figures::Figure;
use punctual_report::figures::chart::LegendAbove;
use punctual_report::figures::chart::{
    Canvas, Drawn, GREY, Pixel, Sheet, TOP, WIDTH, text_width, write,
};
use punctual_report::figures::svg;
use punctual_report::{select, units};

use crate::report::{self, Cell, Section};
use crate::rows::{CpuSplit, ZeroRow};

/// A row, its bar, and what is between two locks.
const ROW: i32 = 17;
const BAR: i32 = 13;
const BETWEEN: i32 = 9;

/// The columns: locks from the left, batches up to the bars, and behind these
/// two columns of numbers.
const LOCK: i32 = 24;
const BARS_END: i32 = 756;
const WAITING: i32 = 836;
const GB: i32 = WIDTH - 24;
/// Between columns, and how far the bars begin to the right at most.
const GAP: i32 = 10;
const MOST_LEFT: i32 = 420;

/// What is above the rows and below them.
const HEAD: i32 = 26;
const AXIS: i32 = 40;

/// A part of the CPU time: its name, its colour and how it is marked besides.
/// The colours are of Okabe and Ito's palette, and the marks tell them apart
/// without it.
struct Segment {
    name: &'static str,
    colour: RGBColor,
    mark: Mark,
    share: fn(&CpuSplit) -> f64,
}

#[derive(Clone, Copy)]
enum Mark {
    Plain,
    Line,
    Zigzag,
    Outline,
}

const PARTS: [Segment; 4] = [
    Segment {
        name: "zeroing",
        colour: RGBColor(0, 158, 115),
        mark: Mark::Plain,
        share: |cpu| cpu.zeroing,
    },
    Segment {
        name: "holding the lock",
        colour: RGBColor(230, 159, 0),
        mark: Mark::Line,
        share: |cpu| cpu.hold,
    },
    Segment {
        name: "waiting for the lock",
        colour: RGBColor(213, 94, 0),
        mark: Mark::Zigzag,
        share: |cpu| cpu.waiting,
    },
    Segment {
        name: "other",
        colour: RGBColor(232, 232, 232),
        mark: Mark::Outline,
        share: |cpu| cpu.other,
    },
];

/// For each section a bar per lock and batch, of as many threads as have a CPU
/// each.
pub(super) fn split(run: &Run<ZeroRow>) -> Vec<Figure> {
    let sections = report::of_run(run);
    sections
        .iter()
        .filter_map(|section| of_section(run, section, &sections))
        .collect()
}

fn of_section(run: &Run<ZeroRow>, section: &Section, sections: &[Section]) -> Option<Figure> {
    let threads = section.ranked().iter().map(|cell| cell.threads).max()?;
    let cells = section.cells.iter();
    let cells = cells.filter(|cell| cell.threads == threads && !cell.is_oversubscribed());
    let locks = select::grouped(cells, |cell| cell.lock);
    let rows: i32 = locks.iter().map(|(_, cells)| cells.len() as i32).sum();
    let high = ROW * rows + BETWEEN * locks.len() as i32;
    let bars = Bars::beside(&locks);
    let legend = LegendAbove::new(TOP, PARTS.map(|part| part.name));
    let top = TOP + legend.height() + HEAD;
    let workers = report::threads_in_words(threads);
    let sheet = Sheet {
        title: format!("Where the CPU time of {workers} went"),
        caption: caption(section, threads, &locks),
        height: legend.height() + HEAD + high + AXIS,
    };
    let place = (section, sections);
    let figure = super::of_section("zero-split", sheet, run, place, |canvas| {
        legend.draw(canvas, PARTS.map(|part| part.name), |i, (x, y)| {
            PARTS[i].draw(canvas, (x, x + 36), y - BAR / 2)
        })?;
        bars.axis(canvas, top, top + high)?;
        let mut y = top + BETWEEN / 2;
        for (lock, cells) in &locks {
            write(canvas, lock, (LOCK, y + ROW / 2), HPos::Left, &BLACK)?;
            for cell in cells {
                bars.row(canvas, y, cell)?;
                y += ROW;
            }
            y += BETWEEN;
        }
        Ok(())
    });
    Some(figure)
}

struct Bars {
    left: i32,
}

impl Bars {
    fn beside(locks: &[(&str, Vec<&Cell>)]) -> Self {
        let names = locks.iter().map(|(lock, _)| text_width(lock)).max();
        let cells = locks.iter().flat_map(|(_, cells)| cells);
        let batches = cells.map(|cell| text_width(cell.batch)).max();
        let batches = batches.unwrap_or(0).max(text_width("batch"));
        let left = LOCK + names.unwrap_or(0) + 2 * GAP + batches + GAP;
        Self {
            left: left.min(MOST_LEFT),
        }
    }

    fn at(&self, share: f64) -> i32 {
        self.left + (f64::from(BARS_END - self.left) * share).round() as i32
    }

    /// The names of the columns and the lines of the shares.
    fn axis(&self, canvas: &Canvas, top: i32, bottom: i32) -> Drawn {
        let names = [
            ("batch", self.left - GAP),
            ("waiting %", WAITING),
            ("GB per CPU-s", GB),
        ];
        for (name, right) in names {
            write(canvas, name, (right, top - HEAD / 2), HPos::Right, &GREY)?;
        }
        for percent in [0, 25, 50, 75, 100] {
            let x = self.at(f64::from(percent) / 100.0);
            let line = vec![(x, top), (x, bottom)];
            canvas.draw(&PathElement::new(line, RGBColor(225, 225, 225)))?;
            let text = percent.to_string();
            write(canvas, &text, (x, bottom + 10), HPos::Center, &BLACK)?;
        }
        let middle = (self.at(0.5), bottom + 30);
        let name = "share of the CPU time (%)";
        write(canvas, name, middle, HPos::Center, &BLACK)
    }

    fn row(&self, canvas: &Canvas, top: i32, cell: &Cell) -> Drawn {
        let middle = top + ROW / 2;
        let cpu = &cell.zeroing.cpu;
        let numbers = [
            (cell.batch.to_owned(), self.left - GAP),
            (units::percent(cpu.waiting), WAITING),
            (units::gb(cell.gb_per_cpu_s().median), GB),
        ];
        for (text, right) in &numbers {
            write(canvas, text, (*right, middle), HPos::Right, &BLACK)?;
        }
        let share = |part: &Segment| (part.share)(cpu).clamp(0.0, 1.0);
        let all: f64 = PARTS.iter().map(share).sum();
        let mut before = 0.0;
        for part in &PARTS {
            let from = before;
            before += share(part) / all.max(f64::MIN_POSITIVE);
            let words = format!("{}: {} %", part.name, units::percent(share(part)));
            let ends = (self.at(from), self.at(before));
            svg::series(canvas, part.name, || {
                svg::valued(canvas, &words, || part.draw(canvas, ends, middle - BAR / 2))
            })?;
        }
        Ok(())
    }
}

impl Segment {
    fn draw(&self, canvas: &Canvas, (left, right): (i32, i32), top: i32) -> Drawn {
        if left >= right {
            return Ok(());
        }
        let corners = [(left, top), (right, top + BAR)];
        canvas.draw(&Rectangle::new(corners, self.colour.filled()))?;
        let middle = top + BAR / 2;
        match self.mark {
            Mark::Plain => Ok(()),
            Mark::Line => {
                let line = vec![(left, middle), (right, middle)];
                canvas.draw(&PathElement::new(line, WHITE.stroke_width(2)))
            }
            Mark::Zigzag => {
                let line = zigzag((left, right), (top + 2, top + BAR - 2));
                canvas.draw(&PathElement::new(line, WHITE.stroke_width(1)))
            }
            Mark::Outline => canvas.draw(&Rectangle::new(corners, GREY.stroke_width(1))),
        }
    }
}

/// A line that goes up and down between two heights.
fn zigzag((left, right): (i32, i32), (top, bottom): (i32, i32)) -> Vec<Pixel> {
    const STEP: usize = 6;
    let ends = [bottom, top].into_iter().cycle();
    (left..=right).step_by(STEP).zip(ends).collect()
}

fn caption(section: &Section, threads: u64, locks: &[(&str, Vec<&Cell>)]) -> String {
    let cells: Vec<&Cell> = locks.iter().flat_map(|(_, cells)| cells).copied().collect();
    let which = match section.threads().last() {
        Some(most) if *most > threads => "the most with a CPU each",
        _ => "the most that were tried",
    };
    format!(
        "Shares of the CPU time of {}, {which}, by lock and batch, {}, and what they zeroed per second of it, \
         {}. GB are 1e9 bytes.",
        report::threads_in_words(threads),
        section.in_words(),
        super::rounds(&cells)
    )
}
