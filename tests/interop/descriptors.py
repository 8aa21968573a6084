"""BDK makes wallets of random keys; the addresses that the server tells of their descriptors are those that BDK derives.

Usage: descriptors.py BASE_URL
"""

import json
import random
import sys
import urllib.error
import urllib.request

import bdkpython as bdk

KIND, NETWORK = bdk.NetworkKind.TEST, bdk.Network.REGTEST
BRANCHES = [bdk.KeychainKind.EXTERNAL, bdk.KeychainKind.INTERNAL]
# BIP 44, 49, 84, 86, and how Bitcoin Core names their scripts.
TEMPLATES = {
    "bip44": "pubkeyhash",
    "bip49": "scripthash",
    "bip84": "witness_v0_keyhash",
    "bip86": "witness_v1_taproot",
}
LAST_INDEX = 2**31 - 1
# Letters of a secret in a row that no answer may have.
PIECE = 12
# Descriptors with several keys.
POLICIES = [
    "wsh(sortedmulti(2,A/0/*,B/0/*,C/0/*))",
    "sh(wsh(sortedmulti(1,A/1/*,B/1/*)))",
    "sh(multi(2,A/2/*,B/2/*))",
    "wsh(or_d(pk(A/3/*),and_v(v:pkh(B/3/*),older(144))))",
    "wsh(thresh(2,pk(A/4/*),s:pk(B/4/*),sln:older(1000)))",
    "tr(A/5/*,{pk(B/5/*),{multi_a(2,A/6/*,C/6/*),and_v(v:pk(B/7/*),after(500000))}})",
    "tr(A/8/7)",
]


def lookup(base, wallet, **more):
    """Status and answer."""
    body = json.dumps({"wallet": wallet, **more}).encode()
    request = urllib.request.Request(f"{base}/v1/wallets/lookup", body, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def branches(base, wallet, **more):
    status, answer = lookup(base, wallet, **more)
    assert status == 200, answer
    assert answer["balance"]["confirmed_sats"] == 0 and answer["address_count"] == 0, f"random keys have coins: {answer}"
    return answer["branches"]


def refused(base, wallet, code, secrets):
    """The answer is an error without any piece of what was sent."""
    status, answer = lookup(base, wallet)
    assert (status, answer["error"]) == (400, code), answer
    said = json.dumps(answer)
    for secret in secrets:
        for start in range(len(secret) - PIECE + 1):
            assert secret[start : start + PIECE] not in said, f"an answer repeats what it was given: {answer}"
    return answer


def address_of(descriptor, index):
    return str(descriptor.derive_address(index, NETWORK))


def same(told, wanted, what):
    """Address and script of both are the same."""
    assert told == wanted, f"{what}: the server tells {told}, BDK {wanted}"
    scripts = [bytes(bdk.Address(text, NETWORK).script_pubkey().to_bytes()) for text in (told, wanted)]
    assert scripts[0] == scripts[1], what


def templates(base, key):
    """The accounts of one secret key, of each kind: public ones are answered, private ones are refused."""
    made = {
        (name, step): getattr(bdk.Descriptor, f"new_{name}")(key, branch, KIND)
        for name in TEMPLATES
        for step, branch in enumerate(BRANCHES)
    }
    texts = [str(descriptor) for descriptor in made.values()]
    assert not any("tprv" in text for text in texts)
    told = branches(base, texts)
    for at, ((name, step), descriptor) in enumerate(made.items()):
        assert (told[at]["item"], told[at]["step"], told[at]["next_index"]) == (at, step, 0), told[at]
        assert told[at]["script_type"] == TEMPLATES[name], told[at]
        same(told[at]["next_address"], address_of(descriptor, 0), f"{name}/{step}/0")
        # Without its checksum it is the same.
        assert branches(base, [texts[at].split("#")[0]])[0]["next_address"] == told[at]["next_address"]
    # Addresses further on, also at the ends: a range tells its first.
    indexes = [random.randint(0, LAST_INDEX) for _ in made]
    indexes[0], indexes[1] = LAST_INDEX, 1
    told = branches(base, [{"desc": text, "range": [index, index]} for text, index in zip(texts, indexes)])
    for row, ((name, step), descriptor), index in zip(told, made.items(), indexes):
        assert (row["scanned"], row["next_index"]) == (1, index), row
        same(row["next_address"], address_of(descriptor, index), f"{name}/{step}/{index}")
    # The key of an account alone, with its origin or without, stands for each kind.
    for name in TEMPLATES:
        text = texts[list(made).index((name, 0))]
        account = text[text.index("[") : text.index("/0/*")]
        for alone in (account, account.split("]")[1]):
            told = {row["next_address"] for row in branches(base, [alone])}
            wanted = {address_of(made[name, step], 0) for step in (0, 1)}
            assert len(told) == 2 * len(TEMPLATES) and wanted <= told, f"{name}: {wanted} are not among {told}"
    # Private ones, also beside public ones.
    private = [descriptor.to_string_with_secret() for descriptor in made.values()]
    assert all("tprv" in text for text in private)
    for text in private:
        refused(base, [text], "private_key_refused", [text])
        refused(base, [texts[0], {"desc": text, "range": [0, 9]}], "private_key_refused", [text, texts[0]])
    refused(base, [str(key)], "private_key_refused", [str(key)])
    # A mistyped letter, of the descriptor or of its checksum.
    for text in texts:
        for at in (text.index("tpub") + random.randint(10, 100), len(text) - random.randint(1, 8)):
            other = random.choice([letter for letter in "acdefghjklmn" if letter != text[at]])
            answer = refused(base, [text[:at] + other + text[at + 1 :]], "invalid_descriptor", [text])
            assert "checksum" in json.dumps(answer), answer
    return len(made) * 2


def policies(base, keys):
    """Descriptors of several signers."""
    public = {letter: str(key.as_public()).removesuffix("/*") for letter, key in zip("ABC", keys)}
    count = 0
    for policy in POLICIES:
        text = "".join(public.get(letter, letter) for letter in policy)
        descriptor = bdk.Descriptor(text, KIND)
        wallet = str(descriptor)
        index = random.randint(0, LAST_INDEX)
        for given, at in ((wallet, 0), ({"desc": wallet, "range": [index, index]}, index)):
            (told,) = branches(base, [given], gap_limit=1)
            if "*" in policy:
                same(told["next_address"], address_of(descriptor, at), f"{policy} {at}")
                count += 1
            else:
                assert not told["is_ranged"] and told["next_address"] is None, told
    return count


def multipath(base, key):
    """Receiving and change addresses in one descriptor, as a wallet of BDK has them."""
    account = str(key.as_public()).removesuffix("/*")
    descriptor = bdk.Descriptor(f"wpkh({account}/<0;1>/*)", KIND)
    wallet = bdk.Wallet.create_from_two_path_descriptor(descriptor, NETWORK, bdk.Persister.new_in_memory())
    told = branches(base, [str(descriptor)])
    assert [row["step"] for row in told] == [0, 1], told
    for row, branch in zip(told, BRANCHES):
        same(row["next_address"], str(wallet.reveal_next_address(branch).address), "the first that the wallet reveals")
        index = random.randint(0, LAST_INDEX)
        (far,) = branches(base, [{"desc": wallet.public_descriptor(branch), "range": [index, index]}])
        same(far["next_address"], str(wallet.peek_address(branch, index).address), f"index {index}")
    return 4


def main():
    base = sys.argv[1]
    count = 0
    for words in (bdk.WordCount.WORDS12, bdk.WordCount.WORDS24):
        mnemonic = bdk.Mnemonic(words)
        refused(base, [str(mnemonic)], "private_key_refused", [str(mnemonic)])
        password = random.choice([None, "a passphrase"])
        count += templates(base, bdk.DescriptorSecretKey(KIND, mnemonic, password))
    for _ in range(3):
        keys = [bdk.DescriptorSecretKey(KIND, bdk.Mnemonic(bdk.WordCount.WORDS12), None) for _ in range(3)]
        count += policies(base, keys) + multipath(base, keys[0])
    print(f"descriptors: {count} addresses of random wallets are those that BDK derives; private keys and typos are refused")


main()
