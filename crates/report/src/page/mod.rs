//! Runs as one page to mail: HTML that needs nothing beside itself.
//!
//! It opens without a network, which its Content-Security-Policy forbids, and can be read without
//! scripts. It is the same to the byte for the same Runs. The script adds values under the
//! pointer, and lets the legend hide and show series.

pub(crate) mod picture;

use std::collections::BTreeSet;

use punctual_record::compare::Comparison;
use punctual_record::{Run, RunRow, Warning, visible};

use crate::figures::comparison_figures;
use crate::figures::svg::escaped;
use crate::prose;
use crate::tables::{Cells, Compared, Section, comparison_sections};
use crate::text::all_warnings;
use crate::warnings::nameless;
use crate::{Figure, Report, Verdict, verdict};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The only style and script that the browser may run, by SHA-256 in base 64: it runs nothing that
/// a Run contains.
const STYLE_HASH: &str = "zmxqfrCHkWqODRfS0gjtGkYJ0il3uZ8eBAW/haCi6rM=";
const SCRIPT_HASH: &str = "MOQGBbuDHBBoKdS7BXmdyOXeG3fu+6vLSxavoBjeiSE=";

/// The figures of a page are no larger together: those that do not fit are named. The tables of a
/// report on everything take up to 0.3 MB, and the page stays below 1 MB.
const MOST_FIGURES: usize = 600_000;

/// No table has more rows, no text more lines: the Run has all.
const MOST_ROWS: usize = 200;

/// Names are no longer, in characters.
const MOST_CHARACTERS: usize = 1_000;

/// A page that is being made.
#[derive(Clone, Debug)]
pub struct Page {
    command: String,
    /// Where and when the Runs were measured.
    machines: Vec<String>,
    days: BTreeSet<String>,
    answers: String,
    bodies: String,
    markdown: String,
    runs: usize,
    left: usize,
}

impl Page {
    /// A page without Runs, which this command makes.
    pub fn new(command: &str) -> Self {
        Self {
            command: command.to_owned(),
            machines: vec![],
            days: BTreeSet::new(),
            answers: String::new(),
            bodies: String::new(),
            markdown: String::new(),
            runs: 0,
            left: MOST_FIGURES,
        }
    }

    /// Adds a Run: its answer above, its figures and tables below.
    pub fn add<R: Report>(&mut self, run: &Run<R>) {
        // It is the same whatever terminal there is.
        prose::within_columns(None, || self.add_run(run));
    }

    fn add_run<R: Report>(&mut self, run: &Run<R>) {
        let run = harmless(run);
        self.runs += 1;
        self.measured(&run);
        let id = format!("run-{}", self.runs);
        let verdict = verdict(&run);
        let heading = verdict.as_ref().map(|verdict| &verdict.heading);
        let title = text(heading.unwrap_or(&run.command));
        let mut figures = R::figures(&run);
        // Where there is no small picture, the first of the figures.
        let picture = R::glance(&run).or_else(|| {
            let is_small = figures
                .first()
                .is_some_and(|first| first.svg.len() <= self.left);
            let first = is_small.then(|| figures.remove(0))?;
            self.left -= first.svg.len();
            Some(figure(&first))
        });
        let (said, told) = match &verdict {
            Some(verdict) => {
                self.markdown += &format!("{}\n", without_commands(&verdict.markdown()));
                (sentences(verdict, &id), overview(verdict))
            }
            None => (
                "<p>Its figures and tables are below.</p>\n".to_owned(),
                String::new(),
            ),
        };
        // Where there is room, the picture is beside the others; elsewhere between them.
        self.answers += &format!(
            "<section class=\"answer\">\n<h3><a href=\"#{id}\">{title}</a></h3>\n<div class=\"beside\">\n\
             <div class=\"said\">\n{said}</div>\n<div class=\"seen\">\n{}</div>\n<div class=\"told\">\n{told}\
             <p class=\"faint\"><a href=\"#{id}\">The facts and all numbers</a></p>\n</div>\n</div>\n</section>\n",
            picture.unwrap_or_default()
        );

        self.bodies += &format!("<section id=\"{id}\">\n<h2>{title}</h2>\n");
        let head = format!("<pre>{}</pre>", lines(&R::head(&run)));
        self.bodies += &scrolled(&format!("About {title}"), &head);
        self.bodies += &format!("<div id=\"{id}-warnings\">\n{}</div>\n", warnings(&run));
        self.figures(&figures);
        self.sections(&R::sections(&run));
        self.bodies += "</section>\n";
    }

    fn measured<R: RunRow>(&mut self, run: &Run<R>) {
        let machine = run.machine.in_words();
        if !self.machines.contains(&machine) {
            self.machines.push(machine);
        }
        // A date and a time in UTC, as 2026-11-26T15:21:56Z.
        let day = run.started_at.as_ref().and_then(|at| at.split('T').next());
        self.days.extend(day.map(str::to_owned));
    }

    /// The machines, and the days.
    fn of_what(&self) -> String {
        const MACHINES: usize = 3;
        let shown = &self.machines[..self.machines.len().min(MACHINES)];
        let mut machines = shown.join("; ");
        if let Some(more) = self.machines.len().checked_sub(MACHINES).filter(|n| *n > 0) {
            machines += &format!(" and {more} more");
        }
        let days = match (self.days.first(), self.days.last()) {
            (Some(first), Some(last)) if first != last => format!("{first} to {last}"),
            (Some(day), _) => day.clone(),
            _ => String::new(),
        };
        prose::list([machines, days].into_iter().filter(|it| !it.is_empty()))
    }

    /// Adds Runs beside each other; `more` are the tables of other products than waiting.
    pub fn compare(&mut self, compared: &Comparison, more: &[Compared]) {
        self.bodies += "<section id=\"side-by-side\">\n<h2>Side by side</h2>\n";
        self.figures(&comparison_figures(compared));
        let sections = prose::within_columns(None, || comparison_sections(compared, more));
        self.sections(&sections);
        self.bodies += "</section>\n";
    }

    /// Adds a sentence above what is added next.
    pub fn note(&mut self, words: &str) {
        self.answers += &paragraph(words);
    }

    fn figures(&mut self, figures: &[Figure]) {
        let mut left_out = Vec::new();
        for figure in figures {
            if figure.svg.len() > self.left {
                left_out.push(figure.name.as_str());
                continue;
            }
            self.left -= figure.svg.len();
            self.bodies += &self::figure(figure);
        }
        if !left_out.is_empty() {
            self.bodies += &paragraph(&format!(
                "Not shown, to keep the page small: {}.",
                left_out.join(", ")
            ));
        }
    }

    fn sections(&mut self, sections: &[Section]) {
        if !sections.is_empty() {
            self.bodies += "<h3>The numbers</h3>\n";
        }
        for section in sections {
            let (title, body) = match &section.table {
                Some(cells) => {
                    let Cells {
                        title,
                        groups,
                        head,
                        rows,
                        words,
                    } = cells;
                    let words = words
                        .iter()
                        .map(|words| paragraph(&without_commands(words)));
                    let words: String = words.collect();
                    (title.as_str(), table(title, groups, head, rows) + &words)
                }
                None => {
                    let name = text(section.title());
                    let pre = format!("<pre>{}</pre>", lines(&section.text));
                    (section.title(), scrolled(&name, &pre))
                }
            };
            self.bodies += &format!(
                "<details><summary>{}</summary>\n{body}</details>\n",
                text(title)
            );
        }
    }

    /// The page.
    pub fn html(&self) -> String {
        let csp = format!(
            "default-src 'none'; style-src 'sha256-{STYLE_HASH}'; script-src 'sha256-{SCRIPT_HASH}'; base-uri 'none'; form-action 'none'"
        );
        let markdown = match self.markdown.trim_end() {
            "" => String::new(),
            markdown => format!(
                "<h2>To paste into an issue or a forum</h2>\n<textarea class=\"screen\" readonly \
                 aria-label=\"The answers as Markdown\">\n{}</textarea>\n",
                // Markdown is escaped already, and here once more.
                escaped(markdown)
            ),
        };
        let of_what = self.of_what();
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{csp}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n\
             <h1>How punctual is it?</h1>\n{}\
             <p class=\"faint\">Made by <code>{}</code>, version {}.</p>\n{}{}{markdown}</main>\n\
             <script>{SCRIPT}</script>\n</body>\n</html>\n",
            text(&match of_what.is_empty() {
                true => "punctual report".to_owned(),
                false => format!("punctual: {of_what}"),
            }),
            prose::when(!of_what.is_empty(), || format!(
                "<p class=\"what\">{}</p>\n",
                text(&of_what)
            )),
            text(&self.command),
            env!("CARGO_PKG_VERSION"),
            self.answers,
            self.bodies,
        )
    }
}

/// The run without the names of others and of folders.
fn harmless<R: Report>(run: &Run<R>) -> Run<R> {
    let mut run = R::nameless(run.clone());
    (run.disturbance, run.warnings) = nameless(run.disturbance.as_ref(), &run.warnings);
    run.machine.name = prose::model_without_folders(&run.machine.name);
    run.command = without_folders(&run.command);
    run
}

/// A command without the folders of its files; names with spaces are in quotes.
fn without_folders(command: &str) -> String {
    let mut words = Vec::new();
    let mut rest = command;
    while !rest.is_empty() {
        let end = match rest.strip_prefix('\'') {
            Some(quoted) => quoted.find("' ").map(|at| at + 2),
            None => rest.find(' '),
        };
        let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
        words.push(word.trim_matches('\''));
        rest = after.strip_prefix(' ').unwrap_or(after);
    }
    prose::last_parts(words.into_iter(), " ")
}

/// Words for a reader who has a page and no command: without the sentences that name an option of
/// it.
fn without_commands(words: &str) -> String {
    let words = words.replace(": --full", "");
    let is_option = |word: &str| word.trim_start_matches(['(', '`']).starts_with("--");
    let lines = words.split('\n').map(|line| {
        let sentences = line.split_inclusive(". ");
        let kept: String = sentences
            .filter(|sentence| !sentence.split(' ').any(is_option))
            .collect();
        kept.trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Text in HTML, on one line and not endless.
fn text(text: &str) -> String {
    escaped(&prose::cut(visible(text).into_owned(), MOST_CHARACTERS))
}

/// Text of several lines in HTML.
fn lines(lines: &str) -> String {
    let lines = lines.lines().take(MOST_ROWS);
    lines.map(|line| text(line) + "\n").collect()
}

fn paragraph(words: &str) -> String {
    format!("<p class=\"faint\">{}</p>\n", text(words))
}

/// Content that can be wider than the page; it can be focused and scrolled with a keyboard.
fn scrolled(name: &str, html: &str) -> String {
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{name}\">\n{html}</div>\n"
    )
}

fn figure(figure: &Figure) -> String {
    format!(
        "<figure>{}</figure>\n",
        scrolled(&format!("Figure {}", text(&figure.name)), &figure.svg)
    )
}

/// The sentences of an answer. The next step is for a reader with the command.
fn sentences(verdict: &Verdict, id: &str) -> String {
    let sentences = verdict.sentences.iter().map(|words| {
        let words = text(&without_commands(words));
        // How many more warnings there are.
        match words.rsplit_once(" (") {
            Some((first, more)) if more.contains(" more warning") => format!(
                "<p>{first} (<a href=\"#{id}-warnings\">{}</a>)</p>\n",
                more.trim_end_matches(')')
            ),
            _ => format!("<p>{words}</p>\n"),
        }
    });
    sentences.collect()
}

fn overview(verdict: &Verdict) -> String {
    let Some(overview) = &verdict.overview else {
        return String::new();
    };
    table(&verdict.heading, &[], &overview.head, &overview.rows)
        + &paragraph(&without_commands(&overview.whole_caption()))
}

fn warnings<R: RunRow>(run: &Run<R>) -> String {
    let all = all_warnings(run).into_iter();
    all.map(|Warning { what, remedy }| {
        let [what, remedy] = [what, remedy].map(|words| without_commands(&words));
        let remedy = prose::when(!remedy.is_empty(), || {
            paragraph(&format!("Remedy: {remedy}"))
        });
        let what = text(&what);
        format!("<div class=\"warning\"><p>Warning: {what}</p>{remedy}</div>\n")
    })
    .collect()
}

fn table(title: &str, groups: &[(String, usize)], head: &[String], rows: &[Vec<String>]) -> String {
    let names: Vec<String> = (head.iter())
        .map(|name| name.lines().map(text).collect::<Vec<_>>().join(" "))
        .collect();
    let mut html = String::new();
    if !groups.is_empty() {
        html += "<tr><td></td>";
        for (name, columns) in groups {
            html += &format!(
                "<th colspan=\"{columns}\" scope=\"colgroup\">{}</th>",
                text(name)
            );
        }
        html += "</tr>";
    }
    html += "<tr role=\"row\">";
    for name in &names {
        html += &match name.trim() {
            // A head without words is none for screen readers either.
            "" => "<td></td>".to_owned(),
            name => format!("<th scope=\"col\" role=\"columnheader\">{name}</th>"),
        };
    }
    // Of a group with its name.
    let name_of = |i: usize| {
        let mut first = 1;
        let group = groups.iter().find(|(_, columns)| {
            first += columns;
            i < first
        });
        let name = names.get(i).map_or("", String::as_str);
        group.map_or_else(
            || name.to_owned(),
            |(group, _)| format!("{}, {name}", text(group)),
        )
    };
    let mut body = String::new();
    for row in rows.iter().take(MOST_ROWS) {
        body += "<tr role=\"row\">";
        for (i, cell) in row.iter().enumerate() {
            let cell: Vec<String> = cell.lines().map(text).collect();
            let cell = cell.join(" ");
            body += &match i {
                0 => format!("<th scope=\"row\" role=\"rowheader\">{cell}</th>"),
                // Where a phone has no room for columns, it stands before the cell.
                i => format!("<td role=\"cell\" data-h=\"{}\">{cell}</td>", name_of(i)),
            };
        }
        body += "</tr>\n";
    }
    let more = match rows.len().saturating_sub(MOST_ROWS) {
        0 => String::new(),
        more => paragraph(&format!("And {more} more rows, which are in the Run.")),
    };
    // Where cells are words, they are broken.
    let longest = rows.iter().flatten().map(|cell| cell.chars().count()).max();
    let class = match longest > Some(prose::WIDTH / 2) {
        true => " class=\"words\"",
        false => "",
    };
    let table = format!(
        "<table role=\"table\"{class}>\n<thead role=\"rowgroup\">{html}</tr></thead>\n<tbody role=\"rowgroup\">\n\
         {body}</tbody></table>\n{more}"
    );
    scrolled(&text(title), &table)
}
