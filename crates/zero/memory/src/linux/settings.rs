//! What the kernel does with memory on its own.

use punctual_os::facts::{kernel_config, read};

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

/// The last one counts; the kernel understands it by its first letters
/// (`kstrtobool`), and takes dashes in its name for underscores (`parameq`). What
/// comes behind `--` is for the first process.
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
