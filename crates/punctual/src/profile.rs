use punctual_core::strategies;

/// The knowledge of a waiter with `adaptive` about this machine: how late naps of each length
/// usually end, their cost, and the distribution of overshoots.
///
/// With the feature `serde` it can be kept in a file. It is of use on the same
/// machine under the same settings. A waiter unlearns outdated knowledge within
/// about 50 waits.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use punctual::Waiter;
///
/// let mut first = Waiter::new();
/// for _ in 0..20 {
///     first.sleep(Duration::from_micros(300));
/// }
/// let profile = first.profile().expect("the default strategy learns");
/// let second = Waiter::builder().profile(&profile).build()?;
/// # drop(second);
/// # Ok::<(), punctual::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct Profile(pub(crate) strategies::Profile);
