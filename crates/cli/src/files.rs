//! Files that are written whole or not at all.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tempfile::NamedTempFile;

/// A place for a file that can be written to, found out before there is
/// anything to write.
pub(crate) struct Target {
    path: PathBuf,
    file: NamedTempFile,
}

impl Target {
    /// Makes sure that `path` can be written to. What is there stays until
    /// [`Target::write`].
    pub(crate) fn new(path: &Path) -> Result<Self> {
        let failed = || format!("cannot write {}", path.display());
        if path.is_dir() {
            anyhow::bail!("{}: it is a directory; name a file", failed());
        }
        let directory = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let file = tempfile::Builder::new()
            .prefix(".punctual-")
            .tempfile_in(directory)
            .with_context(failed)?;
        Ok(Self {
            path: path.to_owned(),
            file,
        })
    }

    /// Writes the file: to the disk first, then in one step to its place.
    pub(crate) fn write(mut self, text: &str) -> Result<()> {
        let failed = || format!("cannot write {}", self.path.display());
        self.file.write_all(text.as_bytes()).with_context(failed)?;
        self.file.as_file().sync_all().with_context(failed)?;
        share_like_others(&self.file)?;
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

/// Gives a temporary file, which only its owner may read, the rights that an
/// ordinary new file has.
#[cfg(unix)]
fn share_like_others(file: &NamedTempFile) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let ordinary = std::fs::Permissions::from_mode(0o644);
    file.as_file()
        .set_permissions(ordinary)
        .context("cannot set the rights of the new file")
}

#[cfg(not(unix))]
fn share_like_others(_file: &NamedTempFile) -> Result<()> {
    Ok(())
}
