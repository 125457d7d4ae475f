//! The folder of a sweep: whole files of rows, parts of others, and the journals of what
//! runs now.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use punctual_lab::sweep::{Kept, Shard};
use punctual_record::visible;

use crate::files::{self, Target};
use crate::say;

/// Rows of all units of a model.
const ROWS: &str = "rows.ndjson";
/// The start of the folders' names, as Hive and DuckDB know partitions.
const MODEL: &str = "model=";
/// Where there are rows of some units.
const PARTS: &str = "parts";
/// The part of who runs all of it.
const ALL: &str = "all";

pub(super) struct Folder {
    path: PathBuf,
    /// Of what runs now, in `parts`: without what it ends with.
    part: String,
}

/// Rows of units in the order in which they were done. Every unit is written at once: after a kill
/// all rows are whole except the last.
pub(super) struct Journal(File);

impl Folder {
    pub(super) fn new(path: &Path, shard: Option<Shard>) -> Result<Self> {
        if path == Path::new(files::STANDARD) {
            bail!("a sweep writes several files; name a folder with --out");
        }
        files::directory(path, "rows")?;
        fs::create_dir_all(path.join(PARTS))
            .with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self {
            path: path.to_owned(),
            part: shard.map_or(ALL.to_owned(), |shard| {
                format!("{}-of-{}", shard.number, shard.of)
            }),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn name(&self) -> String {
        visible(&self.path.to_string_lossy()).into_owned()
    }

    fn part_path(&self, end: &str) -> PathBuf {
        self.path.join(PARTS).join(format!("{}.{end}", self.part))
    }

    /// Takes what rows there are of the plan. Unless it is to go on, there must be none that it
    /// would replace: a shard its own, all of it those of every shard.
    pub(super) fn read(&self, kept: &mut Kept<'_>, resume: bool) -> Result<()> {
        let whole = self.whole_files()?;
        let parts = self.parts()?;
        let is_replaced =
            |part: &&PathBuf| self.part == ALL || part.file_stem() == Some(self.part.as_ref());
        let in_the_way = whole.iter().chain(parts.iter().filter(is_replaced)).next();
        if let Some(there) = in_the_way.filter(|_| !resume) {
            bail!(
                "there are rows already in {}; --resume runs what is missing, --out names another folder",
                files::name(there)
            );
        }
        if !resume {
            return Ok(());
        }
        let mut others = 0;
        for file in whole.into_iter().chain(parts) {
            let rows =
                fs::read(&file).with_context(|| format!("cannot read {}", files::name(&file)))?;
            // A kill may have left half a letter at the end.
            others += kept.read(&String::from_utf8_lossy(&rows));
        }
        if others > 0 {
            say!("{others} rows are left out: they are of another plan or version, or not whole");
        }
        Ok(())
    }

    /// The files of every shard, whole or not, and no others.
    fn parts(&self) -> Result<Vec<PathBuf>> {
        let is_part = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let part = name
                .strip_suffix(".ndjson")
                .or(name.strip_suffix(".unfinished"));
            part.is_some_and(|part| {
                part == ALL || part.replace("-of-", "/").parse::<Shard>().is_ok()
            })
        };
        let there = listed(&self.path.join(PARTS))?.into_iter();
        Ok(there.filter(is_part).collect())
    }

    fn whole_files(&self) -> Result<Vec<PathBuf>> {
        let is_of_model = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default();
            name.to_string_lossy().starts_with(MODEL)
        };
        let models = listed(&self.path)?.into_iter().filter(is_of_model);
        let files = models.map(|model| model.join(ROWS));
        Ok(files.filter(|file| file.exists()).collect())
    }

    /// The journal, which begins with the rows there are. It is this process's alone.
    pub(super) fn journal(&self, rows: &str) -> Result<Journal> {
        let path = self.part_path("unfinished");
        let name = files::name(&path);
        let failed = || format!("cannot write {name}");
        // Of two processes that begin at the same time one has it first.
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .with_context(failed)?;
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            bail!("another punctual writes {name}; wait for it, or name another folder with --out");
        }
        // The existing rows have been read. The lock is of this file, so it stays.
        file.write_all(rows.as_bytes()).with_context(failed)?;
        file.set_len(rows.len() as u64).with_context(failed)?;
        Ok(Journal(file))
    }

    /// Puts the rows of a shard in the place of its journal.
    pub(super) fn keep_part(&self, rows: &str) -> Result<()> {
        Target::new(&self.part_path("ndjson"))?.write(rows)?;
        let _ = fs::remove_file(self.part_path("unfinished"));
        Ok(())
    }

    pub(super) fn write_rows(&self, model: &str, rows: &str) -> Result<()> {
        let folder = self.path.join(format!("{MODEL}{model}"));
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot write {}", folder.display()))?;
        Target::new(&folder.join(ROWS))?.write(rows)
    }

    /// Removes what is in whole files now.
    pub(super) fn forget_parts(&self) {
        for part in self.parts().unwrap_or_default() {
            let _ = fs::remove_file(part);
        }
        // Unless others have something there too.
        let _ = fs::remove_dir(self.path.join(PARTS));
    }
}

impl Journal {
    pub(super) fn add(&mut self, rows: &str) -> Result<()> {
        self.0
            .write_all(rows.as_bytes())
            .context("cannot write what was done")
    }
}

/// The contents of a folder, in the order of the names.
fn listed(folder: &Path) -> Result<Vec<PathBuf>> {
    let listed =
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths: Vec<PathBuf> = listed.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}
