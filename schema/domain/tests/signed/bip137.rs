//! Compact signatures that other programs made.

use cairn_domain::signed::{InconclusiveReason, InvalidReason, SignedBy, Verdict};

use super::verdict;

/// Address, message, signature.
type Vector = [&'static str; 3];

/// `MessageVerify` in `src/test/util_tests.cpp`, and `rpc_signmessagewithprivkey.py`, of Bitcoin Core.
const CORE: [Vector; 3] = [
    [
        "15CRxFdyRpGZLW9w8HnHvVduizdL5jKNbs",
        "Trust no one",
        "IPojfrX2dfPnH26UegfbGQQLrdK844DlHq5157/P6h57WyuS/Qsl+h/WSVGDF4MUi4rWSswW38oimDYfNNUBUOk=",
    ],
    [
        "11canuhp9X2NocwCq7xNrQYTmUgZAnLK3",
        "Trust me",
        "IIcaIENoYW5jZWxsb3Igb24gYnJpbmsgb2Ygc2Vjb25kIGJhaWxvdXQgZm9yIGJhbmtzIAaHRtbCeDZINyavx14=",
    ],
    [
        "mpLQjfK79b7CCV4VMJWEWAj5Mpx8Up5zxB",
        "This is just a test message",
        "INbVnW4e6PeRmsv2Qgu8NuopvrVjkcxob+sX8OcZG0SALhWybUjzMLPdAsXI46YZGb0KQTRii+wWIQzRpG/U+S0=",
    ],
];

/// `test/fixtures.json` of bitcoinjs-message: one key and each kind of address.
const BITCOINJS: [Vector; 4] = [
    [
        "16UwLL9Risc3QfPqBUvKofHmBQ7wMtjvM",
        "vires is numeris",
        "G8JawPtQOrybrSP1WHQnQPr67B9S3qrxBrl1mlzoTJOSHEpmnF7D3+t+LX0Xei9J20B5AIdPbeL3AaTBZ4N3bY0=",
    ],
    [
        "1PMycacnJaSqwwJqjawXBErnLsZ7RkXUAs",
        "vires is numeris",
        "H8JawPtQOrybrSP1WHQnQPr67B9S3qrxBrl1mlzoTJOSHEpmnF7D3+t+LX0Xei9J20B5AIdPbeL3AaTBZ4N3bY0=",
    ],
    [
        "3JvL6Ymt8MVWiCNHC7oWU6nLeHNJKLZGLN",
        "vires is numeris",
        "JF8nHqFr3K2UKYahhX3soVeoW8W1ECNbr0wfck7lzyXjCS5Q16Ek45zyBuy1Fiy9sTPKVgsqqOuPvbycuVSSVl8=",
    ],
    [
        "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4",
        "vires is numeris",
        "KF8nHqFr3K2UKYahhX3soVeoW8W1ECNbr0wfck7lzyXjCS5Q16Ek45zyBuy1Fiy9sTPKVgsqqOuPvbycuVSSVl8=",
    ],
];

/// `pkg/verify_test.go` of bitonicnl/verify-signed-message, which collects what wallets sign: btclib, Electrum, Trezor,
/// Coinomi, Mycelium, Samourai. Those for segwit with a header of P2PKH begin with G, H or I.
const WALLETS: [Vector; 18] = [
    [
        "1HUBHMij46Hae75JPdWjeZ5Q7KaL7EFRSD",
        "test message",
        "G/iew/NhHV9V9MdUEn/LFOftaTy1ivGPKPKyMlr8OSokNC755fAxpSThNRivwTNsyY9vPUDTRYBPc2cmGd5d4y4=",
    ],
    [
        "19f7adDYqhHSJm2v7igFWZAqxXHj1vUa3T",
        "test message",
        "HFqUo4/sxBEFkfK8mZeeN56V13BqOc0D90oPBChF3gTqMXtNSCTN79UxC33kZ8Mi0cHy4zYCnQfCxTyLpMVXKeA=",
    ],
    [
        "1DAag8qiPLHh6hMFVu9qJQm9ro1HtwuyK5",
        "test message",
        "IFqUo4/sxBEFkfK8mZeeN56V13BqOc0D90oPBChF3gTqMXtNSCTN79UxC33kZ8Mi0cHy4zYCnQfCxTyLpMVXKeA=",
    ],
    [
        "18J72YSM9pKLvyXX1XAjFXA98zeEvxBYmw",
        "Test123",
        "Gzhfsw0ItSrrTCChykFhPujeTyAcvVxiXwywxpHmkwFiKuUR2ETbaoFcocmcSshrtdIjfm8oXlJoTOLosZp3Yc8=",
    ],
    [
        "1CPBDkm8ER3o7r2HANcvNoVHsBYKcUHTp9",
        "Three spaces both sides",
        "H0X6iDaOzAVqUndwAl8Ca1k8T+zbzDpfrEaXbh/FlF08bDsquG5oPnnFIfWU/8Z46jfFUwlWLfDK1iRU/DHZ6n8=",
    ],
    [
        "mj6gcWsSKMyTh7QALLSH5q6HEEiN4yBuXk",
        "The outage comes at a time when bitcoin has been fast approaching new highs not seen since June 26, 2019.",
        "Hw1c1NGI5cNYTfAeDSyH/yUt67R499dZlTyNDb/Wxz8uX7I8ECS39JP8HbGpk4wD5J3PsMDdAwywBag3X8f+mw0=",
    ],
    [
        "tb1qr97cuq4kvq7plfetmxnl6kls46xaka78n2288z",
        "The outage comes at a time when bitcoin has been fast approaching new highs not seen since June 26, 2019.",
        "H/bSByRH7BW1YydfZlEx9x/nt4EAx/4A691CFlK1URbPEU5tJnTIu4emuzkgZFwC0ptvKuCnyBThnyLDCqPqT10=",
    ],
    [
        "3LbZqMMHu371r5Fjve9qNhSQzuNi7EzqUR",
        "test123",
        "H2ehXowFWMZohHrJN+1IRdDwqN/UILqVmhIOHpeBdS4BYDCQpfDL1tTH7mNg6eeypno+Is8ApgWinkPnnz1NEq8=",
    ],
    [
        "3LbZqMMHu371r5Fjve9qNhSQzuNi7EzqUR",
        "test123",
        "I2ehXowFWMZohHrJN+1IRdDwqN/UILqVmhIOHpeBdS4BYDCQpfDL1tTH7mNg6eeypno+Is8ApgWinkPnnz1NEq8=",
    ],
    [
        "1JAd7XCBzGudGpJQSDSfpmJhiygtLQWaGL",
        "This is an example of a signed message.",
        "IP2PL321I4/N0HfVIEw+aUnCYdcAJpzvwdnS3O9rlQI2MO5hf2yKz560DI7dcEycp06kr8OT9D81tOiVgyTL3Rw=",
    ],
    [
        "3L6TyTisPBmrDAj6RoKmDzNnj4eQi54gD2",
        "This is an example of a signed message.",
        "I3RN5FFvrFwUCAgBVmRRajL+rZTeiXdc7H4k28JP4TMHWsCTAcTMjhl76ktkgWYdW46b8Z2Le4o4Ls21PC7gdQ0=",
    ],
    [
        "bc1qannfxke2tfd4l7vhepehpvt05y83v3qsf6nfkk",
        "This is an example of a signed message.",
        "KLVddgDZ6afipJFV3fPP2455bCB/qrgzAQ+kH7eCiIm8R89iNIp6qgkjwIMqWJ+rVB6PEutU+3EckOIwfw9msZQ=",
    ],
    [
        "39FT3L2wH56h2jmae5abPU1A7nVs6QyApV",
        "Test message!",
        "HzpoLFjr+eUPkseb+i0Vaqj7FRm5o1+Ei/kae7XWN6nmFLmvLi7uWicerYNXjCMUf3nCnm/9UPb6SYJLI60Nh8A=",
    ],
    [
        "bc1q0utxws6ptfdfcvaz29y4st065t5ku6vcqd364f",
        "Test message!",
        "H+G7Fz3EVxX02kIker4HPgnP8Mlf3bT52p81hnNAahTOGJ8ANSaU0bF5RsprgTH6LXLx/PmCka48Ov7OrPw2bms=",
    ],
    [
        "325ZMWMu9vaWQeUG8Gc8MzsVKzt3Rqn8H7",
        "Test message!",
        "IM/bkqpERGRFDGgxnceinULcqz1iRVBSUVlnDPZRKHGUQMC5t1P5wRp2/1b1+rpjFHhSS2pExB88cA750PNRlaw=",
    ],
    [
        "bc1q58dh2fpwms37g29nw979pa65lsvjkqxq82jzvv",
        "Test message!",
        "ILNax/LC+m3WwzIhnrieNN8DRzWTAgcVStSJmwdabUQII2fIlYUlEgnlNf4j2G4yJQoO4zFqCwaLOX4PDj1XwjA=",
    ],
    [
        "1JSjyW3dZSQHv6jb6u6baXLUZnsThqmzf4",
        "hello foo",
        "INAP+PMyI2vqIxiEKIcPOaaffspU3gAPm0YWhCxJr5iqWbQwqns9+RiXIzuU9JoNQs/MQ1BZ4O2XM23utyw3jr0=",
    ],
    [
        "bc1qnxhkjd3kcjdzqz4u0m47xj3dne907cd8yg7qdr",
        "hello foo",
        "IJruGdQX+V6s+zvzTD3msz2l1obPchx19/bsefr+QGihcRArLSzXtkoUXA8k0NkBsIpFXGRxbG/s+eimZ+eGg70=",
    ],
];

#[test]
fn signatures_of_other_programs() {
    for [address, message, signature] in CORE.iter().chain(&BITCOINJS).chain(&WALLETS) {
        assert_eq!(verdict(address, message, signature), Verdict::Valid(SignedBy::Bip137), "{address} {message}");
        let other = format!("{message}.");
        let found = verdict(address, &other, signature);
        assert!(matches!(found, Verdict::Invalid(InvalidReason::NotOfAddress | InvalidReason::Recovery)), "{found:?}");
    }
}

/// From the same tests of Trezor: a message whose length takes three bytes.
#[test]
fn a_long_message() {
    let message = "VeryLongMessage!".repeat(64);
    let signature = "IApGR2zrhNBu9XhIKAJvkiyIFfV6rIN7jAEwB8qKhGDbY++Rfb6669EIscgUu+6m2x8rIkGpWOU/5xXMhrGZ2cM=";
    let found = verdict("1JAd7XCBzGudGpJQSDSfpmJhiygtLQWaGL", &message, signature);
    assert_eq!(found, Verdict::Valid(SignedBy::Bip137));
}

/// Electrum signs a message without the spaces around it. The verifier takes a message as it is.
#[test]
fn spaces_belong_to_a_message() {
    let [address, message, signature] = WALLETS[4];
    let found = verdict(address, &format!("   {message}   "), signature);
    assert_eq!(found, Verdict::Invalid(InvalidReason::NotOfAddress));
}

/// Signatures that the same programs reject.
#[test]
fn signatures_that_others_reject() {
    let [compressed, uncompressed] = [BITCOINJS[1], BITCOINJS[0]];
    let core = CORE[0];
    let cases = [
        (core[0], "I never signed this", core[2], InvalidReason::NotOfAddress),
        ("1111111111111111111114oLvT2", compressed[1], compressed[2], InvalidReason::NotOfAddress),
        (uncompressed[0], compressed[1], compressed[2], InvalidReason::NotOfAddress),
        (compressed[0], uncompressed[1], uncompressed[2], InvalidReason::NotOfAddress),
        ("14wPe34dikRzK4tMYvtwMMJCEZbJ7ar35V", WALLETS[2][1], WALLETS[2][2], InvalidReason::NotOfAddress),
        (core[0], "message should be irrelevant", "invalid signature", InvalidReason::Base64),
        (
            "1C9CRMGBYrGKKQ6eEpwm4dzMqkRZxPB5xa",
            "test",
            "IQt3ycjmA6LCbcTiFcj7o6odqX5PKeYPmL+dwcblLc/Xor1E2szTlEZKtHdzSrSz78PbYQUlX5a5VuDeSJLrEr0=",
            InvalidReason::Recovery,
        ),
        (
            WALLETS[2][0],
            "test message",
            "zPOBbkXzwDgGVU3Gxk0noVuLq8P1pGfQUxnS0nzuxEN3qR/U/s63P81io7LV04ZxN88gVX/Qw0rzLFBR8q4IkUc=",
            InvalidReason::Format,
        ),
        (WALLETS[2][0], "test message", "VGhpcyBpcyBub3QgdmFsaWQ=", InvalidReason::Format),
    ];
    for (address, message, signature, reason) in cases {
        assert_eq!(verdict(address, message, signature), Verdict::Invalid(reason), "{address} {message}");
    }
}

#[test]
fn headers_of_other_addresses() {
    let [uncompressed, compressed, nested, segwit] = BITCOINJS;
    for (address, signature) in [
        (compressed[0], nested[2]),
        (compressed[0], segwit[2]),
        (uncompressed[0], segwit[2]),
        (nested[0], segwit[2]),
        (segwit[0], nested[2]),
    ] {
        assert_eq!(verdict(address, compressed[1], signature), Verdict::Invalid(InvalidReason::Header), "{address}");
    }
    let taproot = "bc1ppv609nr0vr25u07u95waq5lucwfm6tde4nydujnu8npg4q75mr5sxq8lt3";
    let found = verdict(taproot, compressed[1], compressed[2]);
    assert_eq!(found, Verdict::Inconclusive(InconclusiveReason::Script));
}
