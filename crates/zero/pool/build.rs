//! Writes `src/suspending` a second time, as the module `blocking`: the same text without `async`
//! and `await`. Thus threads run plain code over atomics.

use std::path::Path;
use std::{env, fs, io};

const SUSPENDING: &str = "src/suspending";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed={SUSPENDING}");
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    let blocking = Path::new(&out).join("blocking");
    if blocking.exists() {
        // With files that are not there any more.
        fs::remove_dir_all(&blocking)?;
    }
    rewrite(Path::new(SUSPENDING), &blocking)?;
    // By its path, because text that is included may have no documentation of its own.
    let module = format!(
        "#[path = {:?}]\npub mod blocking;\n",
        blocking.join("mod.rs")
    );
    fs::write(Path::new(&out).join("blocking.rs"), module)
}

/// Every file of a folder that has no folders.
fn rewrite(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let text = fs::read_to_string(entry.path())?;
        fs::write(to.join(entry.file_name()), blocking(&text))?;
    }
    Ok(())
}

fn blocking(text: &str) -> String {
    let text = text.replace("AsyncFnOnce", "FnOnce");
    text.replace("async ", "").replace(".await", "")
}
