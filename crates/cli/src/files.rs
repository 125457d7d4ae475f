//! Files that are written whole or not at all, outputs that are no files, and
//! the text of inputs.

use std::fs::{File, Metadata};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use punctual_import::Hints;
use punctual_record::visible;
use punctual_report::Figure;
use tempfile::NamedTempFile;

use crate::console;

/// A place for an output, found out before there is anything to write.
pub(crate) struct Target {
    name: String,
    place: Place,
}

enum Place {
    /// Standard output, by whatever name.
    Stdout,
    /// A pipe, a terminal or a device, which takes the output as it comes.
    Through(File),
    /// A file, and the one that it replaces.
    File(PathBuf, Option<Metadata>),
}

/// Whether anything goes elsewhere than to standard output.
static IS_KEPT: AtomicBool = AtomicBool::new(false);

/// See [`IS_KEPT`].
pub(crate) fn is_anything_kept() -> bool {
    IS_KEPT.load(Ordering::Relaxed)
}

/// The inputs that were read and are files.
static INPUTS: Mutex<Vec<Input>> = Mutex::new(Vec::new());

/// The files that outputs go to, behind links.
static OUTPUTS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// An input that no output replaces.
struct Input {
    name: String,
    /// Without links; `None` for standard input, whose file may have no name.
    path: Option<PathBuf>,
    #[cfg(unix)]
    inode: (u64, u64),
}

impl Input {
    /// Whether it is the file at `path`, which has no links in it.
    fn is(&self, path: &Path, there: &Metadata) -> bool {
        #[cfg(unix)]
        return self.inode == inode(there) || self.path.as_deref() == Some(path);
        #[cfg(not(unix))]
        return there.is_file() && self.path.as_deref() == Some(path);
    }
}

/// The name for standard input and standard output where a file could be named.
pub(crate) const STANDARD: &str = "-";

/// The start and end of the names of unfinished files.
const UNFINISHED: [&str; 2] = [".punctual-", ".unfinished"];

/// How long a named pipe may be without a reader: who starts both programs does
/// not know which comes first.
const PATIENCE: Duration = Duration::from_secs(5);

impl Target {
    /// Makes sure that `path` can be written to.
    ///
    /// An output that is not a file is opened now, and written to as it is. A file stays until
    /// [`Target::write`], which puts another in its place: with its mode, and its owner as far as
    /// that is allowed; but its other names, where it has hard links, keep the old contents. A
    /// symbolic link stays one, whether it leads to something or not.
    ///
    /// Unfinished files that a killed process left beside it are removed.
    ///
    /// # Errors
    /// It cannot be written to, it is an input that [`text`] has read, or another output
    /// goes there.
    pub(crate) fn new(path: &Path) -> Result<Self> {
        IS_KEPT.store(true, Ordering::Relaxed);
        let name = path.display().to_string();
        let place = place(path).with_context(|| format!("cannot write {name}"))?;
        Ok(Self { name, place })
    }

    /// Whether what is written replaces what was written before.
    pub(crate) fn is_file(&self) -> bool {
        matches!(self.place, Place::File(..))
    }

    /// Writes it all: a file to the disk first, then in one step to its place. A
    /// reader that has gone away is no error: it has read what it wanted.
    pub(crate) fn write(&self, text: &str) -> Result<()> {
        let written = match &self.place {
            Place::Stdout => console::write(std::io::stdout().lock(), text).map(drop),
            Place::Through(file) => console::write(file, text).map(drop),
            Place::File(path, before) => replace(path, before.as_ref(), text),
        };
        written.with_context(|| format!("cannot write {}", self.name))
    }
}

fn place(path: &Path) -> Result<Place> {
    if path == Path::new(STANDARD) {
        return stdout();
    }
    // Of what a link leads to, also where that has no name, as a pipe has none.
    let place = match std::fs::metadata(path) {
        Ok(there) if there.is_dir() => bail!("it is a directory; name a file"),
        Ok(there) if is_stdout(&there) => return stdout(),
        Ok(there) if there.is_file() => {
            if there.permissions().readonly() {
                bail!("it is read-only; make it writable, or name another file");
            }
            let path = std::fs::canonicalize(path)?;
            if let Some(input) = input_at(&path, &there) {
                bail!("it would replace the input {input}; name another file");
            }
            Place::File(path, Some(there))
        }
        Ok(there) if is_disk(&there) => bail!("it is a disk; name a file"),
        Ok(_) => return Ok(Place::Through(open(path, PATIENCE)?)),
        Err(why) if why.kind() == ErrorKind::NotFound => Place::File(behind_links(path), None),
        Err(why) => return Err(why.into()),
    };
    if let Place::File(path, _) = &place {
        if names_a_directory(path) {
            bail!("that names a directory; name a file");
        }
        // A file without a name, so that nothing is left of it.
        tempfile::tempfile_in(directory_of(path))
            .map_err(|why| anyhow!("{why}; name a file in a directory you can write to"))?;
        sweep(directory_of(path));
        let mut outputs = OUTPUTS.lock().unwrap_or_else(PoisonError::into_inner);
        if outputs.contains(path) {
            bail!("two outputs go to that file; name another file for one of them");
        }
        outputs.push(path.clone());
    }
    Ok(place)
}

/// The name of the input that is this file, by another path or link too.
fn input_at(path: &Path, there: &Metadata) -> Option<String> {
    let inputs = INPUTS.lock().unwrap_or_else(PoisonError::into_inner);
    let input = inputs.iter().find(|input| input.is(path, there));
    input.map(|input| input.name.clone())
}

/// Keeps a file that is read from being replaced.
fn protect(name: &str, path: Option<&Path>, input: &File) {
    let Ok(there) = input.metadata() else { return };
    if !there.is_file() {
        return;
    }
    let input = Input {
        name: name.to_owned(),
        path: path.and_then(|path| std::fs::canonicalize(path).ok()),
        #[cfg(unix)]
        inode: inode(&there),
    };
    INPUTS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(input);
}

#[cfg(unix)]
fn protect_stdin(name: &str) {
    use std::os::fd::AsFd;
    if let Ok(fd) = std::io::stdin().as_fd().try_clone_to_owned() {
        protect(name, None, &File::from(fd));
    }
}

#[cfg(not(unix))]
fn protect_stdin(_name: &str) {}

#[cfg(unix)]
fn inode(there: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (there.dev(), there.ino())
}

fn stdout() -> Result<Place> {
    if console::give_away_stdout() {
        return Ok(Place::Stdout);
    }
    bail!("two outputs go to standard output; give one of them a file")
}

/// Whether something is where standard output goes, which `/dev/stdout` and
/// `/proc/self/fd/1` are other names of: nothing else must be written there then.
#[cfg(unix)]
fn is_stdout(there: &Metadata) -> bool {
    use std::os::fd::AsFd;
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    let stdout = std::io::stdout();
    let fd = stdout.as_fd().try_clone_to_owned();
    let stdout = fd.and_then(|fd| File::from(fd).metadata());
    // Devices such as /dev/null take everything from everybody.
    !there.file_type().is_char_device()
        && stdout.is_ok_and(|out| (out.dev(), out.ino()) == (there.dev(), there.ino()))
}

#[cfg(unix)]
fn is_disk(there: &Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_block_device(&there.file_type())
}

#[cfg(not(unix))]
fn is_stdout(_there: &Metadata) -> bool {
    false
}

#[cfg(not(unix))]
fn is_disk(_there: &Metadata) -> bool {
    false
}

/// Opens what is no file. To open a named pipe takes until it has a reader, for
/// which it waits so long on a thread that ends with this process.
fn open(path: &Path, patience: Duration) -> Result<File> {
    let (opened, file) = channel();
    let owned = path.to_owned();
    std::thread::spawn(move || opened.send(std::fs::OpenOptions::new().write(true).open(owned)));
    let file = file.recv_timeout(patience);
    Ok(file.map_err(|_| anyhow!("it has no reader; start the reader first"))??)
}

/// Where a file is made that is not there yet: behind links that lead nowhere.
fn behind_links(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    while let Ok(to) = std::fs::read_link(&path) {
        path = directory_of(&path).join(to);
    }
    path
}

/// Puts a new file in the place of what was there `before`.
fn replace(path: &Path, before: Option<&Metadata>, text: &str) -> std::io::Result<()> {
    let mut file = unfinished(directory_of(path))?;
    if let Some(before) = before {
        take_after(file.as_file(), before)?;
    }
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

/// Gives a file the owner of another, as far as that is allowed, and its mode.
fn take_after(file: &File, before: &Metadata) -> std::io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        // A user who may not give it to another user may give it to another group.
        let _ = fchown(file, None, Some(before.gid()));
        let _ = fchown(file, Some(before.uid()), None);
    }
    file.set_permissions(before.permissions())
}

/// More than any Run with all its samples; some devices have no end.
pub(crate) const LONGEST: u64 = 1 << 30;

/// The text of an input, without a byte order mark, as [`bytes`] reads it.
pub(crate) fn text(path: &Path, longest: u64) -> Result<String> {
    let name = name(path);
    let text = String::from_utf8(bytes(path, longest)?)
        .map_err(|_| anyhow!("cannot read {name}: it is not UTF-8, so it is no text"))?;
    match text.strip_prefix('\u{feff}') {
        Some(text) => Ok(text.to_owned()),
        None => Ok(text),
    }
}

/// The text of a Run file, or of the Run that a log of another program becomes.
///
/// # Errors
/// As [`text`], or it is neither.
pub(crate) fn run(path: &Path) -> Result<String> {
    run_with(path, &Hints::default())
}

/// The same with what the user knows of a log.
///
/// # Errors
/// As [`run`].
pub(crate) fn run_with(path: &Path, hints: &Hints) -> Result<String> {
    run_in(path, bytes(path, LONGEST)?, hints)
}

/// The same for the bytes that were read from it.
///
/// # Errors
/// They are neither.
pub(crate) fn run_in(path: &Path, bytes: Vec<u8>, hints: &Hints) -> Result<String> {
    let name = name(path);
    // PowerShell writes UTF-16.
    let bytes = match bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        true => punctual_import::text(&bytes).into_owned().into_bytes(),
        false => bytes,
    };
    let begin = String::from_utf8_lossy(&bytes[..bytes.len().min(512)]);
    let is_json = begin
        .trim_start_matches('\u{feff}')
        .trim_start()
        .starts_with('{');
    // Other programs sort the members, so that the schema may come last.
    let key = b"\"schema\"";
    if is_json && bytes.windows(key.len()).any(|window| window == key) {
        return String::from_utf8(bytes)
            .map(|text| text.trim_start_matches('\u{feff}').to_owned())
            .map_err(|_| anyhow!("cannot read {name}: it is not UTF-8, so it is no text"));
    }
    let run = punctual_import::read(&bytes, hints).map_err(|why| anyhow!("{name}: {why}"))?;
    Ok(run.to_json())
}

/// The bytes of an input. Standard input can be read once. No [`Target`] that is made afterwards
/// replaces the input.
pub(crate) fn bytes(path: &Path, longest: u64) -> Result<Vec<u8>> {
    static STDIN_IS_READ: AtomicBool = AtomicBool::new(false);
    let name = name(path);
    let failed = || format!("cannot read {name}");
    let mut bytes = Vec::new();
    let input: Box<dyn Read> = if path != Path::new(STANDARD) {
        let file = File::open(path).with_context(failed)?;
        protect(&name, Some(path), &file);
        Box::new(file)
    } else if STDIN_IS_READ.swap(true, Ordering::Relaxed) {
        bail!("two inputs are standard input; give one of them a file");
    } else {
        protect_stdin(&name);
        Box::new(std::io::stdin())
    };
    let read = input.take(longest + 1).read_to_end(&mut bytes);
    if read.with_context(failed)? as u64 > longest {
        bail!("{name}: it is longer than {} MiB", longest >> 20);
    }
    Ok(bytes)
}

/// The name of an input.
pub(crate) fn name(path: &Path) -> String {
    match path == Path::new(STANDARD) {
        true => "standard input".to_owned(),
        false => visible(&path.to_string_lossy()).into_owned(),
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

/// Removes the unfinished files that have no writer any more. Files that cannot be removed stay:
/// they only take their space.
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
        if File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok()) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Makes sure that `what`, as figures, can be written into `directory`.
pub(crate) fn directory(directory: &Path, what: &str) -> Result<()> {
    if directory == Path::new(STANDARD) {
        bail!("cannot write several files to standard output; name a directory");
    }
    IS_KEPT.store(true, Ordering::Relaxed);
    std::fs::create_dir_all(directory)
        .and_then(|()| tempfile::tempfile_in(directory))
        .map(drop)
        .map_err(|why| {
            anyhow!(
                "cannot write {what} into {}: {why}; name a directory you can write to",
                directory.display()
            )
        })
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
        let why = open(&pipe, Duration::from_millis(1)).unwrap_err();
        assert!(why.to_string().contains("it has no reader"), "{why}");
    }
}
