//! The rate at which pools zero per second of CPU time, by threads, and where that time went.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use punctual_record::Run;
use punctual_report::figures::axis::Axis;
use punctual_report::figures::chart::{
    Canvas, Chart, Drawn, GREY, LegendAbove, Pixel, Place, Sheet, TOP, WIDTH, text_width, write,
};
use punctual_report::figures::style::Look;
use punctual_report::figures::{Figure, svg};
use punctual_report::{select, units};

use crate::ascending;
use crate::report::{self, Cell, PoolGroup};
use crate::rows::{CpuSplit, ZeroRow};

/// The plot of a panel, and what is above and below it.
const PLOT: i32 = 190;
const TITLE: i32 = 24;
const TICKS: i32 = 26;
/// The room for the names of the axes in the first column and the last row.
const Y_NAME: i32 = 26;
const X_NAME: i32 = 22;

/// A panel per batch, with a line per lock.
pub(super) fn scaling(
    run: &Run<ZeroRow>,
    group: &PoolGroup,
    groups: &[PoolGroup],
    locks: &[&str],
) -> Option<Figure> {
    let (cells, single) = scaled(group);
    if cells.is_empty() {
        return None;
    }
    let panels = Panels::of(group, &cells, locks);
    let mut names = panels.locks.clone();
    names.extend(group.ideal.as_ref().map(|_| IDEAL));
    let legend = LegendAbove::new(TOP, names.iter().copied());
    let top = TOP + legend.height() + 6;
    let sheet = Sheet {
        title: "GB zeroed per CPU-second, by threads".to_owned(),
        caption: scaling_caption(group, &cells, &single),
        height: legend.height() + 6 + panels.height(),
    };
    let place = (group, groups);
    let figure = super::of_group("zero-scaling", sheet, run, place, |canvas| {
        legend.draw(canvas, names.iter().copied(), |i, (x, y)| {
            let line = [(x, y), (x + 36, y)];
            let Some(lock) = panels.locks.get(i) else {
                return ideal_line(canvas, line);
            };
            let look = super::look(locks, lock);
            look.line(canvas, &line)?;
            look.marker(canvas, (x + 18, y))
        })?;
        panels.draw(canvas, top)
    });
    Some(figure)
}

/// The pools of the batches that were tried with more than one number of threads,
/// and all others: a lone point says nothing of scaling.
fn scaled<'s>(group: &'s PoolGroup) -> (Vec<&'s Cell<'s>>, Vec<&'s Cell<'s>>) {
    let cells = group.ranked();
    let scales = |cell: &&Cell| {
        let mut alike = cells.iter().filter(|other| other.batch == cell.batch);
        alike.any(|other| other.threads != cell.threads)
    };
    cells.iter().copied().partition(scales)
}

const IDEAL: &str = "one ideal thread";

fn ideal_line(canvas: &Canvas, line: [Pixel; 2]) -> Drawn {
    let style = GREY.stroke_width(1);
    svg::dashed(canvas, [4, 4], line, style)
}

struct Panels<'s> {
    group: &'s PoolGroup<'s>,
    /// The locks that have points, in the order of the run, with their looks.
    locks: Vec<&'s str>,
    looks: Vec<Look>,
    batches: Vec<&'s str>,
    threads: Vec<f64>,
    y: Axis,
}

impl<'s> Panels<'s> {
    fn of(group: &'s PoolGroup<'s>, cells: &[&Cell], all_locks: &[&str]) -> Self {
        let mut locks = group.locks();
        locks.retain(|lock| cells.iter().any(|cell| cell.lock == *lock));
        let mut batches = group.batches();
        batches.retain(|batch| cells.iter().any(|cell| cell.batch == *batch));
        let threads = ascending(cells.iter().map(|cell| cell.threads));
        let rates = cells.iter().flat_map(|cell| {
            let gb = cell.gb_per_cpu_s();
            [gb.low, gb.median, gb.high]
        });
        let ideal = group.ideal.as_ref().map(|ideal| ideal.gb_per_cpu_s);
        let rates: Vec<f64> = rates.chain(ideal).collect();
        let looks = locks.iter().map(|lock| super::look(all_locks, lock));
        Self {
            group,
            looks: looks.collect(),
            locks,
            batches,
            threads: threads.iter().map(|&n| n as f64).collect(),
            y: Axis::rates("GB per CPU-s", &rates),
        }
    }

    fn columns(&self) -> usize {
        match self.batches.len() {
            0 | 1 => 1,
            2..=4 => 2,
            _ => 3,
        }
    }

    fn height(&self) -> i32 {
        let rows = self.batches.len().div_ceil(self.columns()) as i32;
        (TITLE + PLOT + TICKS) * rows + X_NAME
    }

    fn draw(&self, canvas: &Canvas, top: i32) -> Drawn {
        for (i, batch) in self.batches.iter().enumerate() {
            let place = self.place(i, top);
            self.panel(canvas, place, batch, i % self.columns() == 0)?;
        }
        let middle = (WIDTH / 2, top + self.height() - X_NAME / 2);
        write(canvas, "threads", middle, HPos::Center, &BLACK)
    }

    /// The place of a panel, its name not included.
    fn place(&self, i: usize, top: i32) -> Place {
        let columns = self.columns() as i32;
        let (row, column) = (i as i32 / columns, i as i32 % columns);
        let wide = (WIDTH - 16 - Y_NAME) / columns;
        let left = 8 + Y_NAME + wide * column;
        let top = top + (TITLE + PLOT + TICKS) * row + TITLE;
        Place {
            left: if column == 0 { left - Y_NAME } else { left },
            right: left + wide,
            top,
            bottom: top + PLOT + TICKS,
        }
    }

    fn panel(&self, canvas: &Canvas, place: Place, batch: &str, is_first: bool) -> Drawn {
        let mut y = self.y.clone();
        if !is_first {
            y.name.clear();
        }
        let x = Axis::counts("", &self.threads);
        let chart = Chart::panel(canvas, place, &x, &y)?;
        let (left, right) = (self.threads[0], self.threads[self.threads.len() - 1]);
        if let Some(ideal) = &self.group.ideal {
            let line = [left, right].map(|x| chart.pixel(x, ideal.gb_per_cpu_s));
            // Of one number of threads, the line is as wide as a mark and its whiskers.
            let [(from, at), (to, _)] = line;
            ideal_line(canvas, [(from - 20, at), (to + 20, at)])?;
        }
        let (middle, _) = chart.pixel(left, 1.0);
        let (end, _) = chart.pixel(right, 1.0);
        let name = format!("batch {batch}");
        let centre = ((middle + end) / 2, place.top - 6);
        write(canvas, &name, centre, HPos::Center, &BLACK)?;
        for (lock, look) in self.locks.iter().zip(&self.looks) {
            svg::series(canvas, lock, || {
                self.series(canvas, &chart, lock, *look, batch)
            })?;
        }
        Ok(())
    }

    /// The pool to draw, if there is one.
    fn cell(&self, lock: &str, batch: &str, threads: f64) -> Option<&Cell<'s>> {
        let cell = self.group.cell(lock, batch, threads as u64)?;
        (!cell.is_oversubscribed()).then_some(cell)
    }

    /// The line of a lock with its intervals, beside those of others.
    fn series(&self, canvas: &Canvas, chart: &Chart, lock: &str, look: Look, batch: &str) -> Drawn {
        let (mut line, mut words) = (Vec::new(), Vec::new());
        for &threads in &self.threads {
            let Some(cell) = self.cell(lock, batch, threads) else {
                continue;
            };
            let aside = self.aside(chart, lock, batch, threads);
            let at = |gb: f64| {
                let (x, y) = chart.pixel(threads, gb);
                (x + aside, y)
            };
            let gb = cell.gb_per_cpu_s();
            let style = look.colour.stroke_width(1);
            canvas.draw(&PathElement::new(vec![at(gb.low), at(gb.high)], style))?;
            line.push(at(gb.median));
            words.push(format!("{threads} threads: {}", units::gb(gb.median)));
        }
        if line.len() > 1 {
            look.line(canvas, &line)?;
        }
        let mut marks = line.iter().zip(&words);
        marks.try_for_each(|(at, words)| svg::valued(canvas, words, || look.marker(canvas, *at)))
    }

    /// By how much a lock is drawn beside its number of threads, so that marks of one
    /// height do not hide each other; nothing where it is alone, or numbers of
    /// threads are near each other.
    fn aside(&self, chart: &Chart, lock: &str, batch: &str, threads: f64) -> i32 {
        let mut here = self.locks.clone();
        here.retain(|lock| self.cell(lock, batch, threads).is_some());
        let place = here.iter().position(|other| *other == lock).unwrap_or(0);
        let xs = self.threads.iter().map(|&n| chart.pixel(n, 1.0).0);
        let xs: Vec<i32> = xs.collect();
        let nearest = xs.windows(2).map(|pair| pair[1] - pair[0]).min();
        let step = (nearest.unwrap_or(100) / (self.locks.len() as i32 + 3)).min(9);
        let from_middle = 2 * place as i32 - (here.len() as i32 - 1);
        if step < 3 { 0 } else { step * from_middle / 2 }
    }
}

fn scaling_caption(group: &PoolGroup, cells: &[&Cell], single: &[&Cell]) -> String {
    let mut caption = format!(
        "GB (1e9 bytes) zeroed per second of the CPU time of all workers, {}: {}. Higher is better; a pool that \
         scales stays level. The marks of several locks stand side by side around their number of threads.",
        group.in_words(),
        super::with_intervals(cells)
    );
    if let Some(ideal) = &group.ideal {
        let gb = units::gb(ideal.gb_per_cpu_s);
        caption += &format!(" One ideal thread: {gb} ({}).", ideal.of);
    }
    if !single.is_empty() {
        let single = single.iter().map(|cell| {
            let gb = units::gb(cell.gb_per_cpu_s().median);
            format!("{} {gb}", cell.in_words())
        });
        let single: Vec<String> = single.collect();
        let single = single.join("; ");
        caption += &format!(" Not drawn, as there is one number of threads only: {single}.");
    }
    caption + &super::left_out([group])
}

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

/// The room above and below the rows.
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

/// A bar per lock and batch, of as many threads as have a CPU each.
pub(super) fn split(run: &Run<ZeroRow>, group: &PoolGroup, groups: &[PoolGroup]) -> Option<Figure> {
    let threads = group.ranked().iter().map(|cell| cell.threads).max()?;
    let cells = group.cells.iter();
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
        caption: split_caption(group, threads, &locks),
        height: legend.height() + HEAD + high + AXIS,
    };
    let place = (group, groups);
    let figure = super::of_group("zero-split", sheet, run, place, |canvas| {
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

fn split_caption(group: &PoolGroup, threads: u64, locks: &[(&str, Vec<&Cell>)]) -> String {
    let cells: Vec<&Cell> = locks.iter().flat_map(|(_, cells)| cells).copied().collect();
    let which = match group.threads().last() {
        Some(most) if *most > threads => "the most with a CPU each",
        _ => "the most that were tried",
    };
    format!(
        "Shares of the CPU time of {}, {which}, by lock and batch, {}, and what they zeroed per second of it, \
         {}. GB are 1e9 bytes.",
        report::threads_in_words(threads),
        group.in_words(),
        super::rounds(&cells)
    )
}
