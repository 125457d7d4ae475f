//! How ways of zeroing are named on the command line.

use punctual_zero_memory::Kernel;

use crate::values::list;

/// Some, or all that this CPU has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kernels(pub(super) Vec<Kernel>);

impl Kernels {
    /// `all`, or a list of names.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text == "all" {
            let all = Kernel::ALL.into_iter();
            return Ok(Self(all.filter(|kernel| kernel.is_supported()).collect()));
        }
        list(text).map(|list| Self(list.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_is_what_there_is_and_names_are_names() {
        let all = Kernels::parse("all").unwrap();
        assert!(all.0.iter().all(|kernel| kernel.is_supported()));
        assert!(all.0.contains(&Kernel::Memset));
        let two = Kernels::parse("memset,dc-zva").unwrap();
        assert_eq!(two.0, [Kernel::Memset, Kernel::DcZva]);
        assert!(Kernels::parse("bzero").unwrap_err().contains("`bzero`"));
    }
}
