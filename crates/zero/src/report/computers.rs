//! The computers that pools are simulated on, for a person to read.

use punctual_zero_sim::{Figure, Machine, PRESETS, Quantity, SYSTEMS, System};

/// All of them, with their figures.
pub fn computers() -> String {
    let machines: Vec<Machine> = PRESETS.iter().map(|preset| preset.machine()).collect();
    // What every computer has at the same number is said once.
    let is_common = |(quantity, figure): &(Quantity, &Figure)| {
        let mut others = machines.iter().map(|machine| machine.figure(*quantity));
        others.all(|other| other == Some(*figure))
    };
    let mut sections: Vec<String> = machines
        .iter()
        .map(|machine| {
            let title = format!("{}: {}", machine.name(), machine.what());
            table(
                &title,
                machine.figures().filter(|figure| !is_common(figure)),
            )
        })
        .collect();
    let common = machines.iter().take(1).flat_map(Machine::figures);
    sections.push(table("All of these", common.filter(is_common)));
    sections.push(systems());
    sections.push(
        "\
Figures follow the name of a computer, separated by commas: --on cascade-lake-96,zero=150ns.
How sure a figure is: A documented by the vendor or read in the source; B measured by somebody, and
consistent with another source; C one measurement or an inference; D unverified.
"
        .to_owned(),
    );
    sections.join("\n")
}

/// The pools of Windows.
fn systems() -> String {
    let rows = SYSTEMS.iter().map(|system: &System| {
        let besides = system.bookkeeping;
        vec![
            system.what.to_owned(),
            system.machine.to_owned(),
            format!("{} ns", besides.value),
            format!("{} to {}", besides.low, besides.high),
            besides.source.to_string(),
            system.source.to_owned(),
        ]
    });
    let head = [
        "system",
        "on",
        "a page besides",
        "between",
        "source of that",
        "source",
    ];
    let title = "The systems of the article: what they do for each page besides zeroing it, all of confidence D";
    punctual_report::table(title, &head, rows)
}

fn table<'f>(title: &str, figures: impl Iterator<Item = (Quantity, &'f Figure)>) -> String {
    let rows = figures.map(|(quantity, figure)| {
        let interval = match figure.low < figure.high {
            true => format!("{} to {}", figure.low, figure.high),
            false => String::new(),
        };
        vec![
            quantity.key().to_owned(),
            format!("{} {}", figure.value, quantity.unit())
                .trim_end()
                .to_owned(),
            interval,
            figure.confidence.to_string(),
            quantity.what().to_owned(),
            figure.source.to_string(),
        ]
    });
    let head = ["figure", "is", "between", "sure", "what", "source"];
    punctual_report::table(title, &head, rows)
}
