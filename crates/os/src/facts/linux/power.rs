//! What the computer runs on.

use std::fs;

/// The mains, or a battery that empties, say it; a computer with neither does
/// not.
pub(in crate::facts) fn on_battery() -> Option<bool> {
    let supplies = fs::read_dir("/sys/class/power_supply").ok()?.flatten();
    let texts: Vec<Supply> = supplies
        .filter_map(|supply| {
            let field = |name: &str| {
                let text = fs::read_to_string(supply.path().join(name)).ok()?;
                Some(text.trim().to_owned())
            };
            Some(Supply {
                kind: field("type")?,
                scope: field("scope"),
                online: field("online"),
                status: field("status"),
            })
        })
        .collect();
    runs_on_battery(&texts)
}

/// One folder of `/sys/class/power_supply` (kernel documentation, ABI
/// "sysfs-class-power").
struct Supply {
    kind: String,
    /// `Device` for the battery of a mouse.
    scope: Option<String>,
    online: Option<String>,
    status: Option<String>,
}

/// A plug that is in says no; else a battery that is being emptied says yes.
fn runs_on_battery(supplies: &[Supply]) -> Option<bool> {
    let of_computer = |supply: &&Supply| supply.scope.as_deref() != Some("Device");
    let mut plugs = supplies
        .iter()
        .filter(of_computer)
        .filter(|supply| supply.kind != "Battery" && supply.kind != "UPS");
    if plugs.any(|plug| plug.online.as_deref() == Some("1")) {
        return Some(false);
    }
    let mut batteries = supplies
        .iter()
        .filter(of_computer)
        .filter(|supply| supply.kind == "Battery")
        .peekable();
    batteries.peek()?;
    Some(batteries.any(|battery| battery.status.as_deref() == Some("Discharging")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_battery_is_in_use_when_it_empties_and_no_plug_is_in() {
        let plug = |online: &str| Supply {
            kind: "Mains".to_owned(),
            scope: None,
            online: Some(online.to_owned()),
            status: None,
        };
        let battery = |status: &str| Supply {
            kind: "Battery".to_owned(),
            scope: None,
            online: None,
            status: Some(status.to_owned()),
        };
        let mouse = Supply {
            scope: Some("Device".to_owned()),
            ..battery("Discharging")
        };
        assert_eq!(runs_on_battery(&[]), None);
        assert_eq!(runs_on_battery(&[mouse]), None);
        assert_eq!(
            runs_on_battery(&[plug("0"), battery("Discharging")]),
            Some(true)
        );
        assert_eq!(
            runs_on_battery(&[plug("1"), battery("Discharging")]),
            Some(false)
        );
        assert_eq!(runs_on_battery(&[battery("Full")]), Some(false));
        assert_eq!(runs_on_battery(&[plug("1")]), Some(false));
    }
}
