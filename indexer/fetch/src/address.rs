//! Which addresses belong to the public network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Networks that are not global, as (network, bits): IANA's registry of special addresses, multicast, and what is
/// reserved.
const SPECIAL_V4: [(Ipv4Addr, u32); 15] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

/// The same within 2000::/3, the only part of IPv6 that is handed out. Addresses that carry an IPv4 address (mapped,
/// 6to4, Teredo, NAT64) lie outside or here: they may lead into a private network.
const SPECIAL_V6: [(Ipv6Addr, u32); 4] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

/// True if the address belongs to the public network, and to no special part of it.
#[must_use]
pub fn is_global(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            let is_in =
                |&(network, bits): &(Ipv4Addr, u32)| (u32::from(address) ^ u32::from(network)).leading_zeros() >= bits;
            !SPECIAL_V4.iter().any(is_in)
        }
        IpAddr::V6(address) => {
            let is_in = |&(network, bits): &(Ipv6Addr, u32)| {
                (u128::from(address) ^ u128::from(network)).leading_zeros() >= bits
            };
            is_in(&(Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3)) && !SPECIAL_V6.iter().any(is_in)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn special_addresses_are_not_global() {
        let special = "0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.255 127.0.0.1 127.9.9.9 \
            169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.8 192.0.2.1 192.88.99.1 192.168.1.1 198.18.0.1 \
            198.19.255.255 198.51.100.1 203.0.113.9 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 \
            :: ::1 ::ffff:8.8.8.8 ::ffff:127.0.0.1 ::8.8.8.8 64:ff9b::808:808 64:ff9b:1::1 100::1 fc00::1 fdff::1 fe80::1 \
            fec0::1 ff02::1 2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:10::1 2001:20::1 2001:db8::1 2002:808:808::1 \
            3fff::1 5f00::1 4000::1 1::1";
        for text in special.split_whitespace() {
            assert!(!is_global(text.parse().unwrap()), "{text}");
        }
        let global = "1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 \
            169.253.255.255 172.15.255.255 172.32.0.0 192.0.1.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 \
            223.255.255.255 2606:4700::1111 2001:4860:4860::8888 2001:200::1 2a00:1450::1 2400::1 2003::1 3ffe::1";
        for text in global.split_whitespace() {
            assert!(is_global(text.parse().unwrap()), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_the_standard_library_calls_private_is_not_global(v4 in any::<u32>(), v6 in any::<u128>()) {
            let (v4, v6) = (Ipv4Addr::from(v4), Ipv6Addr::from(v6));
            let is_special = v4.is_private() || v4.is_loopback() || v4.is_link_local() || v4.is_multicast()
                || v4.is_broadcast() || v4.is_unspecified() || v4.is_documentation();
            prop_assert!(!is_special || !is_global(v4.into()));
            prop_assert!(!is_global(v4.to_ipv6_mapped().into()));
            let is_special = v6.is_loopback() || v6.is_multicast() || v6.is_unspecified() || v6.is_unique_local()
                || v6.is_unicast_link_local();
            prop_assert!(!is_special || !is_global(v6.into()));
        }
    }
}
