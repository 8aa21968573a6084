//! Closed vocabularies of claims. A code never changes its meaning, since tables store codes.

/// Declares a closed vocabulary: its words, and their codes in tables.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $error:ident($what:literal) {
        $($(#[$variant_doc:meta])* $variant:ident = $code:literal => $word:literal),+ $(,)?
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum $name {
            $(
                $(#[$variant_doc])*
                #[doc = concat!("`", $word, "`")]
                $variant = $code
            ),+
        }

        impl $name {
            /// All, ascending by code.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            /// The word, as answers have it.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $($name::$variant => $word),+
                }
            }

            /// The code, as tables have it.
            #[must_use]
            pub const fn code(self) -> u8 {
                self as u8
            }

            /// The word of a code.
            #[must_use]
            pub const fn of_code(code: u8) -> Option<Self> {
                match code {
                    $($code => Some($name::$variant),)+
                    _ => None,
                }
            }
        }

        /// No word of the vocabulary.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
        #[error("not {}; allowed are {}", $what, [$($word),+].join(", "))]
        pub struct $error;

        impl std::str::FromStr for $name {
            type Err = $error;

            fn from_str(text: &str) -> Result<Self, $error> {
                match text {
                    $($word => Ok($name::$variant),)+
                    _ => Err($error),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

words! {
    /// How a claim relates an entity to its script.
    ClaimType, ClaimTypeError("a type of claim") {
        /// The entity can spend its coins.
        ControlledBy = 1 => "controlled_by",
        /// An authority's list has it. No proof of control.
        ListedBy = 2 => "listed_by",
        /// Coinbase transactions of the pool pay it.
        CoinbasePayoutOf = 3 => "coinbase_payout_of",
        /// It took part in something.
        ParticipatedIn = 4 => "participated_in",
        /// It behaves like something.
        BehavesAs = 5 => "behaves_as",
        /// A document mentions it.
        MentionedIn = 6 => "mentioned_in",
        /// Somebody reported it.
        ReportedAs = 7 => "reported_as",
        /// It was seen in something.
        ObservedIn = 8 => "observed_in",
    }
}

impl ClaimType {
    /// True if such a claim makes its script a member of the entity.
    #[must_use]
    pub const fn makes_members(self) -> bool {
        matches!(self, ClaimType::ControlledBy | ClaimType::CoinbasePayoutOf)
    }
}

words! {
    /// The evidence of a claim, the strongest first.
    EvidenceTier, EvidenceTierError("a tier of evidence") {
        /// The chain shows it, and anybody can check it.
        OnchainVerified = 1 => "onchain_verified",
        /// A signature by the script's key was checked.
        KeySigned = 2 => "key_signed",
        /// The holder published it.
        SelfDisclosed = 3 => "self_disclosed",
        /// An authority says: listed by us.
        AuthorityListed = 4 => "authority_listed",
        /// An authority's record says who controls it.
        AuthorityRecord = 5 => "authority_record",
        /// A named investigation or study found it.
        Investigated = 6 => "investigated",
        /// Somebody else published it.
        ThirdParty = 7 => "third_party",
        /// Another script of the same cluster has the claim. Documents never say so.
        ClusterInherited = 8 => "cluster_inherited",
        /// It follows from behaviour.
        Behavioral = 9 => "behavioral",
        /// A community collects it.
        Community = 10 => "community",
    }
}

impl EvidenceTier {
    /// Confidence level that the tier stands for, 0 to 100 (`definitions.md`, "Level by tier").
    #[must_use]
    pub const fn level(self) -> u8 {
        match self {
            EvidenceTier::OnchainVerified | EvidenceTier::KeySigned | EvidenceTier::AuthorityListed => 100,
            EvidenceTier::SelfDisclosed => 90,
            EvidenceTier::Investigated => 70,
            EvidenceTier::AuthorityRecord => 60,
            EvidenceTier::ThirdParty => 40,
            EvidenceTier::ClusterInherited | EvidenceTier::Behavioral | EvidenceTier::Community => 10,
        }
    }
}

words! {
    /// An act on a statement.
    ContestAct, ContestActError("an act of a contest") {
        /// It is said to be wrong.
        Contests = 1 => "contests",
        /// A contest of it is over: it holds as if nobody had contested it.
        Settles = 2 => "settles",
        /// It is blanked everywhere, and counts as never said, also where a later document repeats it.
        Redacts = 3 => "redacts",
    }
}

words! {
    /// The party that contests a statement, or ends a contest.
    ContestParty, ContestPartyError("a party of a contest") {
        /// The operator of the index.
        Operator = 1 => "operator",
        /// The holder of the key of the script, by a signature.
        Holder = 2 => "holder",
    }
}

words! {
    /// The kind of entity that a claim names.
    Category, CategoryError("a category") {
        Exchange = 1 => "exchange",
        /// Wallet service or custodian.
        WalletService = 2 => "wallet_service",
        PaymentProcessor = 3 => "payment_processor",
        /// Operator of cash machines.
        Atm = 4 => "atm",
        Market = 5 => "market",
        Gambling = 6 => "gambling",
        MiningPool = 7 => "mining_pool",
        Miner = 8 => "miner",
        Mixer = 9 => "mixer",
        /// Coordinator of CoinJoins.
        Coinjoin = 10 => "coinjoin",
        Hosting = 11 => "hosting",
        Donation = 12 => "donation",
        Organization = 13 => "organization",
        /// Custodian of a fund.
        EtfCustodian = 14 => "etf_custodian",
        /// Bridge to another chain.
        DefiBridge = 15 => "defi_bridge",
        Shop = 16 => "shop",
        Faucet = 17 => "faucet",
        /// A user.
        User = 18 => "user",
        /// Seized coins.
        Seizure = 19 => "seizure",
        /// Coins that a protocol destroyed.
        ProtocolBurn = 20 => "protocol_burn",
        /// An entity that is said to have done harm.
        Perpetrator = 21 => "perpetrator",
        /// An entity that is said to have suffered it.
        Victim = 22 => "victim",
    }
}

words! {
    /// Behaviour or use that is claimed of a script or its entity.
    Behaviour, BehaviourError("a behaviour") {
        /// On a list of sanctions.
        Sanctioned = 1 => "sanctioned",
        Ransomware = 2 => "ransomware",
        Sextortion = 3 => "sextortion",
        Extortion = 4 => "extortion",
        Scam = 5 => "scam",
        Ponzi = 6 => "ponzi",
        Phishing = 7 => "phishing",
        Theft = 8 => "theft",
        Malware = 9 => "malware",
        /// Market of the darknet.
        Darknet = 10 => "darknet",
        TerrorismFinancing = 11 => "terrorism_financing",
        MoneyLaundering = 12 => "money_laundering",
        /// Material of child abuse.
        Csam = 13 => "csam",
        Mixing = 14 => "mixing",
        /// Coins kept offline.
        ColdWallet = 15 => "cold_wallet",
        /// Coins in use.
        HotWallet = 16 => "hot_wallet",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_codes_read_back() {
        macro_rules! check {
            ($($name:ident),+) => {
                $(for word in $name::ALL {
                    assert_eq!($name::of_code(word.code()), Some(*word));
                    assert_eq!(word.as_str().parse::<$name>().unwrap(), *word);
                })+
            };
        }
        check!(ClaimType, EvidenceTier, Category, Behaviour);
        assert_eq!(Category::of_code(0), None);
        let said = "bank".parse::<Category>().unwrap_err().to_string();
        assert!(said.starts_with("not a category; allowed are exchange, wallet_service"), "{said}");
    }
}
