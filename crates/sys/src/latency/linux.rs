//! `/dev/cpu_dma_latency`: the limit is a 32-bit number of microseconds, and
//! lasts as long as the file is open.

use crate::Error;
use punctual_core::Nanos;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};

pub(super) type Held = File;

pub(super) fn hold(limit: Nanos) -> Result<Held, Error> {
    let Some(us) = i32::try_from(limit.as_ns() / 1_000)
        .ok()
        .filter(|us| *us <= NO_LIMIT_US)
    else {
        return Err(Error::range(format!(
            "a wake-up latency of {limit} is no limit: ask for 2000 s or less"
        )));
    };
    let mut device = OpenOptions::new()
        .write(true)
        .open(DEVICE)
        .map_err(|cause| refused(&cause))?;
    device
        .write_all(&us.to_ne_bytes())
        .map_err(|cause| Error::io(format_args!("writing to {DEVICE}"), &cause))?;
    Ok(device)
}

const DEVICE: &str = "/dev/cpu_dma_latency";

/// `PM_QOS_CPU_LATENCY_DEFAULT_VALUE` of the kernel.
const NO_LIMIT_US: i32 = 2_000_000_000;

fn refused(cause: &io::Error) -> Error {
    match cause.kind() {
        io::ErrorKind::NotFound => Error::unsupported(format!(
            "there is no {DEVICE}: this kernel or container takes no limit on the wake-up \
             latency, so leave it out"
        )),
        io::ErrorKind::PermissionDenied => Error::io(
            format_args!("opening {DEVICE}: run as root, or as a group that may write to it"),
            cause,
        ),
        _ => Error::io(format_args!("opening {DEVICE}"), cause),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_says_what_to_do() {
        let error = refused(&io::Error::from(io::ErrorKind::PermissionDenied));
        assert!(error.is_permission() && error.to_string().contains("run as root"));
        assert!(refused(&io::Error::from(io::ErrorKind::NotFound)).is_unsupported());
    }
}
