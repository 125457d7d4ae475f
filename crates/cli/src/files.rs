//! Files that are written whole or not at all.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use punctual_record::Run;
use tempfile::NamedTempFile;

/// A place for a file that can be written to, found out before there is
/// anything to write.
pub(crate) struct Target {
    path: PathBuf,
    file: NamedTempFile,
}

impl Target {
    /// Makes sure that `path` can be written to. What is there stays until
    /// [`Target::write`]; a symbolic link stays one.
    pub(crate) fn new(path: &Path) -> Result<Self> {
        let failed = || format!("cannot write {}", path.display());
        let path = match std::fs::canonicalize(path) {
            Ok(there) if there.is_file() => there,
            Ok(_) => anyhow::bail!("{}: it is there and is no file; name a file", failed()),
            Err(_) => path.to_owned(),
        };
        let directory = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let mut builder = tempfile::Builder::new();
        builder.prefix(".punctual-");
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let file = builder.tempfile_in(directory).with_context(failed)?;
        Ok(Self { path, file })
    }

    /// Writes the file: to the disk first, then in one step to its place.
    pub(crate) fn write(mut self, text: &str) -> Result<()> {
        let failed = || format!("cannot write {}", self.path.display());
        self.file.write_all(text.as_bytes()).with_context(failed)?;
        self.file.as_file().sync_all().with_context(failed)?;
        self.file.persist(&self.path).map(drop).with_context(failed)
    }
}

/// Makes sure that figures can be written into `directory`.
pub(crate) fn directory(directory: &Path) -> Result<()> {
    let failed = || format!("cannot write figures into {}", directory.display());
    std::fs::create_dir_all(directory).with_context(failed)?;
    tempfile::tempfile_in(directory)
        .map(drop)
        .with_context(failed)
}

/// Draws the figures of a run into `directory`.
pub(crate) fn figures(directory: &Path, run: &Run) -> Result<()> {
    punctual_report::figures(run).iter().try_for_each(|figure| {
        Target::new(&directory.join(format!("{}.svg", figure.name)))?.write(&figure.svg)
    })
}
