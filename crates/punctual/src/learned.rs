use punctual_core::strategies;

/// What a waiter with `adaptive` has learned of this machine: how late naps of
/// each length usually end, what they cost, and how overshoots are spread.
///
/// With the feature `serde` it can be kept in a file. It is of use on the same
/// machine under the same settings; what is no longer so is unlearned within
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
/// let learned = first.learned().expect("the default strategy learns");
/// let second = Waiter::builder().learned(&learned).build()?;
/// # drop(second);
/// # Ok::<(), punctual::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct Learned(pub(crate) strategies::Learned);
