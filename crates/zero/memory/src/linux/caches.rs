//! The caches in sysfs (kernel documentation, `sysfs-devices-system-cpu`).

use crate::{Cache, CacheKind};
use punctual_os::facts::{cpus, read};

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
        line_bytes: file("coherency_line_size").and_then(|bytes| bytes.parse().ok()),
        shared_by: file("shared_cpu_list").map_or_else(Vec::new, |list| cpus(&list)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
            line_bytes: None,
            shared_by: vec![0, 1, 8],
        };
        assert_eq!(cache(told("Unified")), Some(expected));
        assert_eq!(cache(told("Instruction")), None);
        assert_eq!(cache(|_| None), None);
    }
}
