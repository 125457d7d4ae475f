//! Reads the timer intervals of a report of `powercfg /energy`.
//!
//! Windows tells an administrator which processes and drivers have asked for a shorter interval,
//! as `energy-report.html`. Its labels are read, in English, in the order in which a reader sees them:
//! that order is the same in reports of Windows 7 and 10 (Microsoft, "Who changed my Platform Timer
//! Resolution?", 2010, and a published report).

use punctual_core::Nanos;

/// The timer requests in a report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnergyReport {
    /// The interval while the report was made.
    pub current: Option<Nanos>,
    /// The interval without any request.
    pub coarsest: Option<Nanos>,
    /// The outstanding requests, in the order of the report.
    pub requests: Vec<EnergyRequest>,
}

/// An outstanding request for a timer interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnergyRequest {
    /// The interval asked for.
    pub interval: Nanos,
    /// The file of the program; `None` for the kernel and its drivers.
    pub path: Option<String>,
    /// The number of the process.
    pub pid: Option<u64>,
}

impl EnergyRequest {
    /// The name of the program, without its folder.
    pub fn name(&self) -> Option<&str> {
        self.path.as_deref()?.rsplit('\\').next()
    }
}

/// Reads the text of a report.
///
/// # Errors
/// Says in one line why it is no report of `powercfg /energy`.
///
/// # Examples
///
/// ```
/// let html = r#"<div>Platform Timer Resolution:Platform Timer Resolution</div>
///     <td>Current Timer Resolution (100ns units)</td><td>10000</td>
///     <div>Platform Timer Resolution:Outstanding Timer Request</div>
///     <td>Requested Period</td><td>10000</td>
///     <td>Requesting Process ID</td><td>8308</td>
///     <td>Requesting Process Path</td><td>\Device\HarddiskVolume4\Game\game.exe</td>"#;
/// let report = punctual_lab::energy_report::read(html)?;
/// assert_eq!(report.requests[0].name(), Some("game.exe"));
/// assert_eq!(report.requests[0].interval.to_string(), "1 ms");
/// # Ok::<(), String>(())
/// ```
pub fn read(html: &str) -> Result<EnergyReport, String> {
    let words = words(html);
    let mut report = EnergyReport::default();
    let mut is_one = false;
    let mut is_request = false;
    for pair in words.windows(2) {
        let [name, value] = pair else { continue };
        if let Some(title) = name.strip_prefix("Platform Timer Resolution:") {
            is_one = true;
            is_request = matches!(
                title,
                "Outstanding Timer Request" | "Outstanding Kernel Timer Request"
            );
        } else if name.contains("Timer Resolution (100ns units)") {
            report.current = Some(period(value)?);
        } else if name.contains("Maximum Timer Period (100ns units)") {
            report.coarsest = Some(period(value)?);
        } else if is_request && name == "Requested Period" {
            report.requests.push(EnergyRequest {
                interval: period(value)?,
                path: None,
                pid: None,
            });
        } else if let Some(request) = report.requests.last_mut().filter(|_| is_request) {
            match name.as_str() {
                "Requesting Process ID" => request.pid = value.parse().ok(),
                "Requesting Process Path" => request.path = Some(value.clone()),
                _ => {}
            }
        }
    }
    match is_one {
        true => Ok(report),
        false => Err(
            "no report of `powercfg /energy` in English: it has no entry \"Platform Timer Resolution\""
                .to_owned(),
        ),
    }
}

/// A length in units of 100 ns.
fn period(text: &str) -> Result<Nanos, String> {
    let units = text.parse().ok().filter(|units| *units > 0);
    let ns = units.and_then(|units: u64| units.checked_mul(100));
    ns.map(Nanos::new)
        .ok_or_else(|| format!("a period is a number of units of 100 ns, not `{text}`"))
}

/// The pieces of text between tags, without empty ones.
fn words(html: &str) -> Vec<String> {
    let texts = html.split('<').map(|piece| match piece.split_once('>') {
        Some((_, text)) => text,
        None => piece,
    });
    let texts = texts.map(|text| {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let text = text.replace("&lt;", "<").replace("&gt;", ">");
        text.replace("&quot;", "\"").replace("&amp;", "&")
    });
    texts.filter(|text| !text.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a published report has it (Windows 10), shortened; the second process as in Microsoft's article.
    const REPORT: &str = r#"<!DOCTYPE html><html><body>
<div class="log-entry-header">Platform Timer Resolution:Platform Timer Resolution</div>
<div class="log-entry-content">
<div class="log-entry-description">The default platform timer resolution is 15.6ms (15625000ns)</div>
<table>
<tr>
<td><span class="detail-name">Current Timer Resolution (100ns units)</span></td>
<td>10000</td>
</tr>
<tr>
<td><span class="detail-name">Maximum Timer Period (100ns units)</span></td>
<td>156250</td>
</tr>
</table><span></span></div>
<div class="log-entry-header">Platform Timer Resolution:Outstanding Kernel Timer Request</div>
<table>
<tr>
<td><span class="detail-name">Requested Period</span></td>
<td>10000</td>
</tr>
<tr>
<td><span class="detail-name">Request Count</span></td>
<td>1</td>
</tr>
</table>
<div class="log-entry-header">Platform Timer Resolution:Outstanding Timer Request</div>
<td>Requested Period</td><td>30000</td>
<td>Requesting Process ID</td><td>8308</td>
<td>Requesting Process Path</td><td>\Device\HarddiskVolume4\R&amp;D\DebugTest.exe</td>
<div class="log-entry-header">Platform Timer Resolution:Timer Request Stack</div>
<td>Requested Period</td><td>30000</td>
<td>Requesting Process ID</td><td>8308</td>
<div class="log-entry-header">Power Policy:Display timeout is long (On Battery)</div>
<td>Timeout (seconds)</td><td>18000</td>
</body></html>"#;

    #[test]
    fn a_report_names_each_request_once() {
        let report = read(REPORT).unwrap();
        assert_eq!(report.current, Some(Nanos::from_ms(1)));
        assert_eq!(report.coarsest, Some(Nanos::from_us(15_625)));
        let [kernel, process] = &report.requests[..] else {
            panic!("{report:?}");
        };
        assert_eq!((kernel.name(), kernel.pid), (None, None));
        assert_eq!(process.name(), Some("DebugTest.exe"));
        assert_eq!(
            process.path.as_deref(),
            Some(r"\Device\HarddiskVolume4\R&D\DebugTest.exe")
        );
        assert_eq!(
            (process.interval, process.pid),
            (Nanos::from_ms(3), Some(8308))
        );
    }

    #[test]
    fn whatever_it_is_given_it_reads_or_refuses() {
        assert!(
            read("<html>Energy</html>")
                .unwrap_err()
                .contains("powercfg /energy")
        );
        assert!(read("").is_err());
        let none = read("<b>Platform Timer Resolution:Platform Timer Resolution</b><b>x</b>");
        assert_eq!(none, Ok(EnergyReport::default()));
        for period in ["0", "ten", "99999999999999999999", "-1"] {
            let text = REPORT.replace("30000", period);
            assert!(read(&text).unwrap_err().contains(period));
        }
        for end in 0..REPORT.len() {
            let _ = read(&REPORT[..end]);
        }
    }
}
