//! mmap(2), madvise(2), and the files that tell of memory and of caches
//! (kernel documentation, `sysfs-devices-system-cpu`).

use std::ptr::NonNull;

use punctual_os::facts::{cpus, kernel_config, read};
use punctual_os::{Error, cgroups, facts};

use super::Advice;
use super::posix::madvise;
use crate::{Cache, CacheKind};

pub(super) use super::posix::{map, page_bytes, unmap};

/// # Safety
/// As `madvise`.
pub(super) unsafe fn advise(start: NonNull<u8>, bytes: usize, advice: Advice) -> Result<(), Error> {
    let (number, name) = match advice {
        Advice::HugePages => (libc::MADV_HUGEPAGE, "MADV_HUGEPAGE"),
        Advice::NoHugePages => (libc::MADV_NOHUGEPAGE, "MADV_NOHUGEPAGE"),
        Advice::Populate => (libc::MADV_POPULATE_WRITE, "MADV_POPULATE_WRITE"),
        Advice::DontNeed => (libc::MADV_DONTNEED, "MADV_DONTNEED"),
        Advice::Free => (libc::MADV_FREE, "MADV_FREE"),
    };
    // SAFETY: the caller's.
    let answer = unsafe { madvise(start, bytes, number) };
    answer.map_err(|cause| match cause.raw_os_error() {
        // The range is one that it takes, so it is the advice that it does not.
        Some(libc::EINVAL) => {
            Error::unsupported(format!("this kernel has no {name}: leave it out"))
        }
        _ => Error::io(format_args!("{name} on {bytes} bytes"), &cause),
    })
}

pub(super) fn free_bytes() -> Option<u64> {
    let of_system = available(&facts::read("/proc/meminfo")?)?;
    Some(cgroups::free_bytes().map_or(of_system, |of_group| of_group.min(of_system)))
}

fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// The word in brackets (kernel documentation, "Transparent Hugepage Support").
pub(crate) fn huge_pages() -> Option<String> {
    chosen(&read("/sys/kernel/mm/transparent_hugepage/enabled")?)
}

pub(crate) fn huge_page_bytes() -> Option<usize> {
    let bytes = read("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size")?;
    bytes.parse().ok()
}

pub(crate) fn init_on_alloc() -> Option<bool> {
    setting("init_on_alloc", "CONFIG_INIT_ON_ALLOC_DEFAULT_ON")
}

pub(crate) fn init_on_free() -> Option<bool> {
    setting("init_on_free", "CONFIG_INIT_ON_FREE_DEFAULT_ON")
}

fn chosen(choices: &str) -> Option<String> {
    let (word, _) = choices.split_once('[')?.1.split_once(']')?;
    Some(word.to_owned())
}

fn setting(parameter: &str, option: &str) -> Option<bool> {
    let given = read("/proc/cmdline").and_then(|line| given(&line, parameter));
    given.or_else(|| kernel_config().map(|config| is_built_in(&config, option)))
}

/// The last one counts; the kernel understands it by its first letters (`kstrtobool`), and takes
/// dashes in its name for underscores (`parameq`). Arguments behind `--` are for the first
/// process.
fn given(command_line: &str, parameter: &str) -> Option<bool> {
    let words = command_line.split_ascii_whitespace();
    let value = words
        .take_while(|word| *word != "--")
        .filter_map(|word| word.split_once('='))
        .filter(|(name, _)| name.replace('-', "_") == parameter)
        .map(|(_, value)| value)
        .last()?
        .to_ascii_lowercase();
    match value.as_bytes() {
        [b'y' | b't' | b'1', ..] | [b'o', b'n', ..] => Some(true),
        [b'n' | b'f' | b'0', ..] | [b'o', b'f', ..] => Some(false),
        _ => None,
    }
}

fn is_built_in(config: &str, option: &str) -> bool {
    let set = |line: &str| line.strip_prefix(option) == Some("=y");
    config.lines().any(set)
}

pub(crate) fn caches() -> Vec<Cache> {
    let file = |index: usize, name: &str| {
        read(&format!(
            "/sys/devices/system/cpu/cpu0/cache/index{index}/{name}"
        ))
    };
    let all = (0..).map_while(|index| file(index, "level").map(|_| index));
    all.filter_map(|index| cache(|name| file(index, name)))
        .collect()
}

fn cache(file: impl Fn(&str) -> Option<String>) -> Option<Cache> {
    Some(Cache {
        level: file("level")?.parse().ok()?,
        kind: match &*file("type")? {
            "Data" => CacheKind::Data,
            "Unified" => CacheKind::Unified,
            _ => return None,
        },
        // Always in KiB: `size_show` of the kernel's drivers/base/cacheinfo.c.
        bytes: file("size")?.strip_suffix('K')?.parse::<u64>().ok()? * 1024,
        shared_by: file("shared_cpu_list").map_or_else(Vec::new, |list| cpus(&list)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn available_memory_is_read() {
        let meminfo = "MemTotal:       24684092 kB\nMemFree: 5 kB\nMemAvailable:       12 kB\n";
        assert_eq!(available(meminfo), Some(12 << 10));
        assert_eq!(available("MemTotal:       24684092 kB\n"), None);
    }

    #[test]
    fn the_chosen_word_stands_in_brackets() {
        assert_eq!(chosen("always [madvise] never").as_deref(), Some("madvise"));
        assert_eq!(chosen("always madvise never"), None);
    }

    #[test]
    fn the_command_line_is_read_as_the_kernel_reads_it() {
        let of = |line| given(line, "init_on_alloc");
        assert_eq!(of("quiet init_on_alloc=1"), Some(true));
        assert_eq!(of("init_on_alloc=on init_on_alloc=off"), Some(false));
        assert_eq!(of("quiet init_on_allocs=1 init_on_free=1"), None);
        assert_eq!(of("quiet -- init_on_alloc=1"), None);
        assert_eq!(of("init-on_alloc=1"), Some(true));
        assert_eq!(of("init_on_alloc=1 init-on-alloc=0"), Some(false));
        assert_eq!(of("init_on_alloc="), None);
    }

    #[test]
    fn an_option_is_built_in_when_it_says_yes() {
        let config = "CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_AB=y\n";
        assert!(is_built_in(config, "CONFIG_A") && !is_built_in(config, "CONFIG_B"));
    }

    fn told(kind: &'static str) -> impl Fn(&str) -> Option<String> {
        move |name| {
            let text = match name {
                "level" => "3",
                "type" => kind,
                "size" => "32768K",
                "shared_cpu_list" => "0-1,8",
                _ => return None,
            };
            Some(text.to_owned())
        }
    }

    #[test]
    fn a_cache_is_read() {
        let expected = Cache {
            level: 3,
            kind: CacheKind::Unified,
            bytes: 32 << 20,
            shared_by: vec![0, 1, 8],
        };
        assert_eq!(cache(told("Unified")), Some(expected));
        assert_eq!(cache(told("Instruction")), None);
        assert_eq!(cache(|_| None), None);
    }
}
