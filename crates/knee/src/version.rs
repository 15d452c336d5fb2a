//! Which version of knee this is. `build.rs` finds out which sources it is built from.

/// The release.
pub(crate) const RELEASE: &str = env!("CARGO_PKG_VERSION");

/// For `knee --version`: the release, and the sources if they are known.
pub(crate) fn long() -> String {
    describe(RELEASE, option_env!("KNEE_COMMIT"), date().as_deref())
}

/// The day of the sources, `2026-11-21`; none when neither a checkout nor the builder gives it.
pub(crate) fn date() -> Option<String> {
    day(option_env!("KNEE_SOURCE_EPOCH")?)
}

fn describe(release: &str, commit: Option<&str>, date: Option<&str>) -> String {
    match (commit, date) {
        (Some(commit), Some(date)) => format!("{release} ({commit}, {date})"),
        (Some(only), None) | (None, Some(only)) => format!("{release} ({only})"),
        (None, None) => release.to_owned(),
    }
}

/// The UTC day of a number of seconds since 1970, as in SOURCE_DATE_EPOCH.
fn day(epoch: &str) -> Option<String> {
    let moment = jiff::Timestamp::from_second(epoch.trim().parse().ok()?).ok()?;
    Some(moment.strftime("%Y-%m-%d").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commit_and_date_are_shown_if_known() {
        assert_eq!(describe("1.2.3", Some("v1.2.3-4-gabc"), Some("2026-11-21")), "1.2.3 (v1.2.3-4-gabc, 2026-11-21)");
        assert_eq!(describe("1.2.3", None, Some("2026-11-21")), "1.2.3 (2026-11-21)");
        assert_eq!(describe("1.2.3", Some("abc"), None), "1.2.3 (abc)");
        assert_eq!(describe("1.2.3", None, None), "1.2.3");
    }

    #[test]
    fn days_are_in_utc() {
        assert_eq!(day("1763683199").as_deref(), Some("2025-11-20"));
        assert_eq!(day("1763683200\n").as_deref(), Some("2025-11-21"));
        for wrong in ["", "yesterday", "99999999999999999"] {
            assert_eq!(day(wrong), None, "{wrong}");
        }
    }
}
