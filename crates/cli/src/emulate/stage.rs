//! The program to start, the folder of the library, and the page that both share.

use std::ffi::{OsStr, OsString};
use std::fs::{self, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use punctual_preload::page::{self, Run};
use tempfile::TempDir;

use super::program::{self, Checked};
use super::{By, Failure, LIBRARY};
use crate::exec::REFUSED;

/// The program to start, and the folder of the library.
pub(crate) struct Stage<'a> {
    name: &'a OsStr,
    rest: &'a [OsString],
    /// The file of the program.
    pub(super) file: PathBuf,
    folder: TempDir,
    /// A folder in memory for the page. On a disk a write to the page may wait for the disk, which makes the program late.
    in_memory: Option<TempDir>,
    /// How its waits are reached, and what is known of it.
    pub(super) checked: Checked,
    /// It ends when this command does, after it has removed the folders if these are still there.
    _cleaner: Option<Child>,
}

impl<'a> Stage<'a> {
    /// Finds the program, and writes the library if it is to load one. With a run, the rule must fit the runtime of the
    /// program.
    pub(crate) fn new(
        command: &'a [OsString],
        run: Option<&Run>,
        by: Option<By>,
    ) -> Result<Self, Failure> {
        let (name, rest) = command.split_first().expect("clap asks for one");
        let file = program::find(name)?;
        let checked = program::check(&file, run, by)?;
        let folder = folder_in(&std::env::temp_dir()).map_err(cannot_write("the library"))?;
        let in_memory = folder_in(Path::new("/dev/shm")).ok();
        let folders = std::iter::once(&folder).chain(&in_memory);
        let stage = Self {
            name,
            rest,
            file,
            _cleaner: cleaner(folders.map(TempDir::path)),
            folder,
            in_memory,
            checked,
        };
        if checked.by == By::Ptrace {
            return Ok(stage);
        }
        let Some(library) = LIBRARY else {
            let why = match cfg!(target_os = "linux") {
                true => {
                    "this build of the command has no library for other programs: its build says why"
                }
                false => "the library for other programs needs Linux with glibc",
            };
            return Err(Failure::new(REFUSED, why));
        };
        // A child with another user loads the library too; it has the waits, but nothing is counted of it.
        let carried = stage.library();
        fs::write(&carried, library)
            .and_then(|()| mode(&carried, 0o644))
            .map_err(cannot_write("the library"))?;
        Ok(stage)
    }

    fn library(&self) -> PathBuf {
        self.folder.path().join(page::LIBRARY)
    }

    /// The program as it is.
    pub(super) fn native(&self) -> Command {
        let mut command = Command::new(&self.file);
        command.arg0(self.name);
        command.args(self.rest);
        command
    }

    /// Writes a new page of these words, with room for so many more: in memory if it is small. The library looks for it
    /// in its own folder, in which is a link then.
    fn page(&self, words: &[u64], room: u64) -> io::Result<(PathBuf, fs::File)> {
        let path = self.folder.path().join("page");
        remove(&path)?;
        let whole = words.len() + room as usize;
        if let Some(folder) = (self.in_memory.as_ref()).filter(|_| whole <= page::IN_MEMORY_MOST) {
            let kept = folder.path().join("page");
            // All of it is written: a program that writes to a page for which no memory is left is ended.
            let mut words = words.to_vec();
            words.resize(whole, 0);
            let written = remove(&kept).and_then(|()| write_page(&kept, &words, 0));
            if let Ok(page) = written.and_then(|page| symlink(&kept, &path).map(|()| page)) {
                return Ok((path, page));
            }
        }
        let page = write_page(&path, words, room)?;
        Ok((path, page))
    }

    /// The program with the library, if it loads one, and a page of these words, with room for so many more; and the page.
    pub(crate) fn with_page(
        &self,
        words: &[u64],
        room: u64,
    ) -> Result<(Command, fs::File), Failure> {
        let (path, page) = self.page(words, room).map_err(cannot_write("the page"))?;
        if self.checked.by == By::Ptrace {
            return Ok((self.native(), page));
        }
        let mut preload = self.library().into_os_string();
        if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
            preload.push(":");
            preload.push(others);
        }
        let mut command = self.native();
        command
            .env("LD_PRELOAD", preload)
            .env(page::VARIABLE, &path);
        Ok((command, page))
    }
}

/// A new folder in this one, which other users may read.
fn folder_in(folder: &Path) -> io::Result<TempDir> {
    let folder = tempfile::Builder::new()
        .prefix("punctual-emulate-")
        .tempdir_in(folder)?;
    mode(folder.path(), 0o755)?;
    Ok(folder)
}

/// The failure to write something.
pub(super) fn cannot_write(what: &str) -> impl Fn(io::Error) -> Failure {
    move |why| Failure::new(REFUSED, format!("cannot write {what}: {why}"))
}

/// Starts a shell that removes the folders once this command has ended, also by `kill -9`: its input ends then. No signal of
/// a terminal ends the shell, and it holds no output of this command. `None` if there is no shell.
fn cleaner<'f>(folders: impl Iterator<Item = &'f Path>) -> Option<Child> {
    const SCRIPT: &str = "trap '' HUP INT QUIT TERM; read -r end; rm -rf -- \"$@\"";
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", SCRIPT, "sh"]).args(folders);
    shell.stdin(Stdio::piped()).stdout(Stdio::null());
    shell
        .stderr(Stdio::null())
        .current_dir("/")
        .process_group(0);
    shell.spawn().ok()
}

fn mode(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(mode))
}

/// Removes a page, which what is left of an earlier run may still use.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

fn write_page(path: &Path, words: &[u64], room: u64) -> io::Result<fs::File> {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let mut options = fs::File::options();
    let mut page = options.read(true).write(true).create_new(true).open(path)?;
    page.write_all(&bytes)?;
    page.set_len(8 * (words.len() as u64 + room))?;
    mode(path, 0o644)?;
    Ok(page)
}
