//! The sections of a program's file. A broken file has none.

/// The bytes of a section of a 64-bit file of this byte order.
pub(super) fn section<'f>(file: &'f [u8], name: &[u8]) -> Option<&'f [u8]> {
    file.strip_prefix(b"\x7fELF\x02")?;
    let begin = long(file, 40)?;
    let [size, count, names] = [58, 60, 62].map(|at| short(file, at));
    let (size, count) = (size?, count?);
    let header = |number: usize| begin.checked_add(number.checked_mul(size)?);
    let bytes = |header: usize| {
        let (at, len) = (
            long(file, header.checked_add(24)?)?,
            long(file, header.checked_add(32)?)?,
        );
        file.get(at..at.checked_add(len)?)
    };
    let names = bytes(header(names?)?)?;
    let named = |header: usize| {
        let at = usize::try_from(u32::from_ne_bytes(part(file, header)?)).ok()?;
        names.get(at..)?.strip_prefix(name)?.strip_prefix(b"\0")
    };
    let mut headers = (0..count).map_while(header);
    bytes(headers.find(|header| named(*header).is_some())?)
}

fn long(file: &[u8], at: usize) -> Option<usize> {
    usize::try_from(u64::from_ne_bytes(part(file, at)?)).ok()
}

fn short(file: &[u8], at: usize) -> Option<usize> {
    Some(u16::from_ne_bytes(part(file, at)?).into())
}

/// `N` bytes from a place on.
pub fn part<const N: usize>(file: &[u8], at: usize) -> Option<[u8; N]> {
    file.get(at..at.checked_add(N)?)?.try_into().ok()
}
