//! How much a claim weighs, in numbers and in words.

use cairn_events::EvidenceTier;

/// Lowest level of a direct claim that labels a script.
pub const LABELS_FROM: u8 = 40;

cairn_model::words! {
    /// A level as a word, the weakest first.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
    pub enum Confidence {
        /// Below 20, or nothing is claimed.
        Unverified = "unverified",
        /// 20 to 39.
        Low = "low",
        /// 40 to 69.
        Moderate = "moderate",
        /// 70 to 89.
        High = "high",
        /// 90 and more.
        Verified = "verified",
    }
    /// The word, as answers have it.
    pub fn as_str;
}

impl Confidence {
    /// The word of a level from 0 to 100.
    #[must_use]
    pub const fn of(level: u8) -> Self {
        match level {
            90.. => Self::Verified,
            70..=89 => Self::High,
            40..=69 => Self::Moderate,
            20..=39 => Self::Low,
            _ => Self::Unverified,
        }
    }

    /// One word lower; the lowest stays.
    #[must_use]
    pub const fn lowered(self) -> Self {
        match self {
            Self::Verified => Self::High,
            Self::High => Self::Moderate,
            Self::Moderate => Self::Low,
            Self::Low | Self::Unverified => Self::Unverified,
        }
    }
}

/// The level of a claim of this level (0 to 100) that is inherited through a cluster: six tenths, rounded down, and 60
/// at most.
#[must_use]
pub fn inherited_level(level: u8) -> u8 {
    u8::try_from(u16::from(level) * 6 / 10).unwrap_or(60).min(60)
}

cairn_model::words! {
    /// How strong evidence is, the weakest first.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
    pub enum Strength {
        /// There is none.
        None = "none",
        /// Inherited, from behaviour, or collected by a community.
        Weak = "weak",
        /// A third party published it.
        Moderate = "moderate",
        /// Chain, signature, holder, authority or named investigation.
        Strong = "strong",
    }
    /// The word, as answers have it.
    pub fn as_str;
}

impl Strength {
    /// The strength of a tier; of none, if nothing is claimed.
    #[must_use]
    pub const fn of(tier: Option<EvidenceTier>) -> Self {
        use EvidenceTier as Tier;
        match tier {
            None => Self::None,
            Some(Tier::ClusterInherited | Tier::Behavioral | Tier::Community) => Self::Weak,
            Some(Tier::ThirdParty) => Self::Moderate,
            Some(
                Tier::OnchainVerified
                | Tier::KeySigned
                | Tier::SelfDisclosed
                | Tier::AuthorityListed
                | Tier::AuthorityRecord
                | Tier::Investigated,
            ) => Self::Strong,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_begin_where_the_scale_says() {
        let words = [0, 19, 20, 39, 40, 69, 70, 89, 90, 100].map(|level| Confidence::of(level).as_str());
        let expected = ["unverified", "unverified", "low", "low", "moderate", "moderate", "high", "high", "verified"];
        assert_eq!(words[..9], expected);
        assert_eq!(words[9], "verified");
        let lowered = [100, 70, 40, 20, 0].map(|level| Confidence::of(level).lowered());
        assert_eq!(lowered, [70, 40, 20, 0, 0].map(Confidence::of));
    }

    #[test]
    fn what_is_inherited_weighs_six_tenths() {
        let levels = [0, 1, 5, 10, 40, 84, 89, 90, 99, 100, 255].map(inherited_level);
        assert_eq!(levels, [0, 0, 3, 6, 24, 50, 53, 54, 59, 60, 60]);
    }

    #[test]
    fn the_first_six_tiers_are_strong() {
        let words: Vec<_> = EvidenceTier::ALL.iter().map(|tier| Strength::of(Some(*tier)).as_str()).collect();
        assert_eq!(words[..6], ["strong"; 6]);
        assert_eq!(words[6..], ["moderate", "weak", "weak", "weak"]);
        assert_eq!(Strength::of(None).as_str(), "none");
    }
}
