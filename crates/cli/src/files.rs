//! Files that are written whole or not at all.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use punctual_record::Run;
use punctual_report::Figure;
use tempfile::NamedTempFile;

/// A place for a file that can be written to, found out before there is
/// anything to write.
pub(crate) struct Target {
    path: PathBuf,
}

/// What the names of unfinished files begin and end with.
const UNFINISHED: [&str; 2] = [".punctual-", ".unfinished"];

impl Target {
    /// Makes sure that `path` can be written to. What is there stays until
    /// [`Target::write`]; a symbolic link stays one.
    ///
    /// Unfinished files that a killed process left beside it are removed.
    pub(crate) fn new(path: &Path) -> Result<Self> {
        let name = path.display();
        let path = match std::fs::canonicalize(path) {
            Ok(there) if there.is_file() => there,
            Ok(_) => bail!("cannot write {name}: it is there and is no file; name a file"),
            Err(_) if names_a_directory(path) => {
                bail!("cannot write {name}: that names a directory; name a file")
            }
            Err(_) => path.to_owned(),
        };
        // A file without a name, so that nothing is left of it.
        tempfile::tempfile_in(directory_of(&path)).map_err(|why| {
            anyhow!("cannot write {name}: {why}; name a file in a directory you can write to")
        })?;
        sweep(directory_of(&path));
        Ok(Self { path })
    }

    /// Writes the file: to the disk first, then in one step to its place.
    pub(crate) fn write(self, text: &str) -> Result<()> {
        let failed = || format!("cannot write {}", self.path.display());
        let mut file = unfinished(directory_of(&self.path)).with_context(failed)?;
        file.write_all(text.as_bytes()).with_context(failed)?;
        file.as_file().sync_all().with_context(failed)?;
        file.persist(&self.path).map(drop).with_context(failed)
    }
}

/// Whether nothing but a directory can be called that, as `runs/` or `..`.
fn names_a_directory(path: &Path) -> bool {
    let last = path.as_os_str().as_encoded_bytes().last();
    path.file_name().is_none() || last.is_some_and(|&byte| std::path::is_separator(byte.into()))
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// A new file, locked as long as it is open: that tells it from one whose
/// process was killed.
fn unfinished(directory: &Path) -> std::io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    let [begin, end] = UNFINISHED;
    builder.prefix(begin).suffix(end);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    loop {
        let file = builder.tempfile_in(directory)?;
        // Where files cannot be locked, none is swept away either.
        let _ = file.as_file().lock();
        // Another process may have swept it away before it was locked.
        if file.path().exists() {
            return Ok(file);
        }
    }
}

/// Removes the unfinished files that nobody writes to any more. What cannot be
/// removed stays: it does no harm but take its space.
fn sweep(directory: &Path) {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let [begin, end] = UNFINISHED;
    let unfinished = entries.filter(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        // Only files: to open a named pipe would wait for its writer.
        name.starts_with(begin)
            && name.ends_with(end)
            && entry.file_type().is_ok_and(|kind| kind.is_file())
    });
    for entry in unfinished {
        if std::fs::File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok()) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Makes sure that figures can be written into `directory`.
pub(crate) fn directory(directory: &Path) -> Result<()> {
    std::fs::create_dir_all(directory)
        .and_then(|()| tempfile::tempfile_in(directory))
        .map(drop)
        .map_err(|why| {
            anyhow!(
                "cannot write figures into {}: {why}; name a directory you can write to",
                directory.display()
            )
        })
}

/// Draws the figures of a run into `directory`.
pub(crate) fn figures(directory: &Path, run: &Run) -> Result<()> {
    write_figures(directory, &punctual_report::figures(run))
}

/// Writes figures into `directory`.
pub(crate) fn write_figures(directory: &Path, figures: &[Figure]) -> Result<()> {
    figures.iter().try_for_each(|figure| {
        Target::new(&directory.join(format!("{}.svg", figure.name)))?.write(&figure.svg)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_process_left_is_removed_and_what_is_written_stays() {
        let directory = tempfile::tempdir().unwrap();
        let here = directory.path();
        let left = here.join(".punctual-a1b2c3.unfinished");
        std::fs::write(&left, "half a f").unwrap();
        let others = ["punctual-notes", ".punctual-notes"].map(|name| here.join(name));
        for other in &others {
            std::fs::write(other, "kept").unwrap();
        }
        let mut busy = unfinished(here).unwrap();

        let target = Target::new(&here.join("run.json")).unwrap();
        assert!(!left.exists() && busy.path().exists());
        assert!(others.iter().all(|other| other.exists()));
        assert!(!here.join("run.json").exists());
        target.write("whole").unwrap();
        assert_eq!(
            std::fs::read_to_string(here.join("run.json")).unwrap(),
            "whole"
        );

        busy.write_all(b"done").unwrap();
        busy.persist(here.join("busy")).unwrap();
        assert_eq!(std::fs::read_dir(here).unwrap().count(), 4);
    }

    #[test]
    fn what_cannot_be_a_file_is_refused_before_there_is_anything_to_write() {
        let directory = tempfile::tempdir().unwrap();
        for wrong in ["new/", "", ".", "no/such/run.json"] {
            let path = directory.path().join(wrong);
            assert!(Target::new(&path).is_err(), "{}", path.display());
        }
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn a_named_pipe_holds_nothing_up() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join(".punctual-pipe.unfinished");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        Target::new(&directory.path().join("run.json")).unwrap();
        assert!(pipe.exists());
    }
}
