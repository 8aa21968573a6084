#!/usr/bin/env python3
"""Checks an evidence pack of Cairn without Cairn: digest, signature, proofs and headers. Needs Python 3.8 and nothing else.

  verify_pack.py PACK [--key KEY] [--headers FILE [--from HEIGHT]]
  verify_pack.py --self-test

KEY: a public Ed25519 key in PEM, or a copy of /.well-known/cairn-evidence-keys.json. FILE: headers of 80 bytes each, or
lines of 160 hexadecimal digits; the first has the height after --from (default 0): the checkpoint. docs/evidence.md says more."""
import base64, hashlib, json, re, struct, sys

OUTSIDE = ["_meta", "digest_sha256", "digest_reason", "signature", "signature_reason", "proofs", "proofs_reason", "proofs_omitted"]
GENESIS = {"main": "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f",
           "testnet3": "000000000933ea01ad0ee984209779baaec3ced90fa3f408719526f8d77f4943",
           "testnet4": "00000000da84f2bafbbc53dee25a72ae507ff4914b867c565be350b0da8bf043",
           "signet": "00000008819873e925422c1ff0f99f7cc9bbb232af63a077a480a3633bee1ef6",
           "regtest": "0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206"}
LIMIT = {"main": 0x1d00ffff, "testnet3": 0x1d00ffff, "testnet4": 0x1d00ffff, "signet": 0x1e0377ae, "regtest": 0x207fffff}

class Refused(Exception): pass

def need(holds, place, problem):
    if not holds:
        raise Refused(f"{place}: {problem}")

# JSON in the canonical form of RFC 8785
def number(n):
    if isinstance(n, int) and abs(n) < 2 ** 53:
        return str(n)
    n = float(n)
    if n == 0:
        return "0"
    sign, (mantissa, _, power) = "-" if n < 0 else "", repr(abs(n)).partition("e")
    whole, _, part = mantissa.partition(".")
    part = "" if part == "0" else part
    digits, point = (whole + part).lstrip("0"), len(whole) + int(power or 0)
    point -= len(whole + part) - len((whole + part).lstrip("0"))
    digits = digits.rstrip("0")
    if len(digits) <= point <= 21:
        return sign + digits + "0" * (point - len(digits))
    if 0 < point <= 21:
        return sign + digits[:point] + "." + digits[point:]
    if -6 < point <= 0:
        return sign + "0." + "0" * -point + digits
    return f"{sign}{digits[0]}{'.' + digits[1:] if digits[1:] else ''}e{point - 1:+d}"

def text(s):
    short = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
    return '"' + "".join(short.get(c) or (f"\\u{ord(c):04x}" if c < " " else c) for c in s) + '"'

def canonical(v):
    if v is None or isinstance(v, bool):
        return {None: "null", True: "true", False: "false"}[v]
    if isinstance(v, str):
        return text(v)
    if isinstance(v, list):
        return "[" + ",".join(map(canonical, v)) + "]"
    if isinstance(v, dict):
        return "{" + ",".join(text(k) + ":" + canonical(v[k]) for k in sorted(v, key=lambda k: k.encode("utf-16-be"))) + "}"
    return number(v)

def once(pairs):
    need(len(dict(pairs)) == len(pairs), "/", "an object has a member twice")
    return dict(pairs)

# Ed25519 (RFC 8032)
P, L = 2 ** 255 - 19, 2 ** 252 + 27742317777372353535851937790883648493
D, ROOT = -121665 * pow(121666, P - 2, P) % P, pow(2, (P - 1) // 4, P)

def add(a, b):
    e, f = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    g, h = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    return ((f - e) * (h - g) % P, (f + e) * (h + g) % P, (h - g) * (h + g) % P, (f - e) * (f + e) % P)

def times(k, point):
    sum_ = (0, 1, 1, 0)
    while k:
        sum_, point, k = add(sum_, point) if k & 1 else sum_, add(point, point), k >> 1
    return sum_

def recover(raw):
    y = int.from_bytes(raw, "little") & (1 << 255) - 1
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    x = x if (x * x - square) % P == 0 else x * ROOT % P
    if y >= P or (x * x - square) % P or (x == 0 and raw[31] >> 7):
        return None
    x = x if x & 1 == raw[31] >> 7 else P - x
    return (x, y, 1, x * y % P)

def compress(p):
    inverse = pow(p[2], P - 2, P)
    x, y = p[0] * inverse % P, p[1] * inverse % P
    return (y | (x & 1) << 255).to_bytes(32, "little")

BASE = recover(bytes.fromhex("58" + "66" * 31))

def verifies(key, message, signature):
    point, s = recover(key), int.from_bytes(signature[32:], "little")
    if len(signature) != 64 or point is None or s >= L:
        return False
    h = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % L
    minus = (P - point[0], point[1], 1, P - point[3])
    return compress(add(times(s, BASE), times(h, minus))) == signature[:32]

def keys_of(file):
    pem = lambda s: base64.b64decode("".join(s.split("-----")[2].split()), validate=True)[-32:]
    found = [pem(file)] if file.lstrip().startswith("-----") else [pem(k["key"]) for k in json.loads(file)["keys"]]
    return {hashlib.sha256(key).hexdigest()[:16]: key for key in found}

# Transactions, Merkle trees, headers
def sha256d(raw): return hashlib.sha256(hashlib.sha256(raw).digest()).digest()
def shown(raw): return raw[::-1].hex()

def unhex(s, place, size=None):
    need(isinstance(s, str) and re.fullmatch(r"([0-9a-f]{2})*", s) and size in (None, len(s) // 2), place, "is not small hexadecimal digits of the right length")
    return bytes.fromhex(s)

def parse_tx(raw, place):
    at = 4
    def take(n):
        nonlocal at
        need(at + n <= len(raw), place, "is cut")
        at += n
        return raw[at - n:at]
    def count():
        first = take(1)[0]
        return first if first < 253 else int.from_bytes(take({253: 2, 254: 4, 255: 8}[first]), "little")
    inputs, outputs = [], []
    for _ in range(count()):
        inputs.append((shown(take(32)), int.from_bytes(take(4), "little")))
        take(count()), take(4)
    for _ in range(count()):
        outputs.append((int.from_bytes(take(8), "little"), take(count())))
    take(4)
    need(at == len(raw) and inputs, place, "is not a transaction without witnesses")
    return inputs, outputs

def is_coinbase(tx):
    return len(tx[0]) == 1 and tx[0][0] == ("00" * 32, 0xffffffff)

def check_branch(leaf, position, branch, root, place):
    need(type(position) is int and len(branch) <= 32 and 0 <= position < 1 << len(branch), place, "has a position outside of its tree")
    at = bytes.fromhex(leaf)[::-1]
    for level, other in enumerate(branch):
        other, right = unhex(other, place, 32)[::-1], position >> level & 1
        need(not (right and other == at), place, "is not a branch of a tree")
        at = sha256d(other + at if right else at + other)
    need(at == root, place, "does not lead to the root in the header")

def target(bits):
    return (bits & 0x7fffff) << 8 * ((bits >> 24) - 3) if bits >> 24 > 3 else (bits & 0x7fffff) >> 8 * (3 - (bits >> 24))

def compact(t):
    size = (t.bit_length() + 7) // 8
    mantissa = t << 8 * (3 - size) if size <= 3 else t >> 8 * (size - 3)
    return (size + 1) << 24 | mantissa >> 8 if mantissa & 0x800000 else size << 24 | mantissa

def check_headers(file, first, network):
    words = file.split()
    raw = b"".join(bytes.fromhex(w.decode()) for w in words) if re.fullmatch(rb"[0-9a-fA-F\s]+", file) else file
    need(raw and len(raw) % 80 == 0, "headers", "are not headers of 80 bytes each")
    rules = network in ("main", "signet")
    need(not rules or first % 2016 == 0, "headers", "must begin at a multiple of 2016")
    hashes, work, before, begin = [], 0, None, 0
    for at in range(0, len(raw), 80):
        header, height = raw[at:at + 80], first + at // 80
        bits, time, place = int.from_bytes(header[72:76], "little"), int.from_bytes(header[68:72], "little"), f"header of height {height}"
        digest = sha256d(header)
        need(0 < target(bits) <= target(LIMIT[network]) and int.from_bytes(digest, "little") <= target(bits), place, "does not meet its target")
        if before:
            need(header[4:36] == before[0], place, "does not follow the header before")
            expected = before[1]
            if height % 2016 == 0:
                span = min(max(before[2] - begin, 302400), 4838400)
                expected = compact(min(target(before[1]) * span // 1209600, target(LIMIT[network])))
            need(not rules or bits == expected, place, "has another target than the difficulty rules give")
        elif first == 0:
            need(shown(digest) == GENESIS[network], place, "is not the first block of the network")
        begin = time if height % 2016 == 0 else begin
        before, work = (digest, bits, time), work + (1 << 256) // (target(bits) + 1)
        hashes.append(shown(digest))
    print(f"headers: {len(hashes)} hold; checkpoint: height {first}, {hashes[0]}{' (first block of the network)' if first == 0 else ' (trusted)'}; "
          f"last height {first + len(hashes) - 1}; work {work:x}; retargets {'checked' if rules else 'not checked on this network'}")
    return {first + n: h for n, h in enumerate(hashes)}

def txids(v, found):
    for name, value in v.items() if isinstance(v, dict) else ((None, item) for item in v if isinstance(v, list)):
        for txid in [value] if name == "txid" else value if name == "txids" else []:
            if isinstance(txid, str) and txid not in found:
                found.append(txid)
        if name not in ("txid", "txids") and isinstance(value, (dict, list)):
            txids(value, found)
    return found

def check_proofs(pack, chain):
    proofs, named, used = pack["proofs"], txids(pack["sections"], []), set()
    need(set(proofs) == {"blocks", "transactions", "raw"}, "/proofs", "has other members than blocks, transactions and raw")
    txs = {}
    for txid, raw in proofs["raw"].items():
        place = f"/proofs/raw/{txid}"
        raw = unhex(raw, place)
        need(shown(sha256d(raw)) == txid, place, "is not the transaction of this id")
        txs[txid] = parse_tx(raw, place), len(raw)
    def get(txid, place):
        need(txid in txs, place, f"{txid} has no raw bytes")
        used.add(txid)
        return txs[txid]
    blocks, proven = {}, {}
    for n, b in enumerate(proofs["blocks"]):
        place = f"/proofs/blocks/{n}"
        need(set(b) == {"height", "hash", "header", "coinbase", "coinbase_branch"}, place, "has other members than those of a block")
        header = unhex(b["header"], place + "/header", 80)
        digest = sha256d(header)
        need(shown(digest) == b["hash"], place + "/hash", "is not the hash of the header")
        need(int.from_bytes(digest, "little") <= target(int.from_bytes(header[72:76], "little")), place + "/header", "does not meet its own target")
        need(chain is None or chain.get(b["height"]) == b["hash"], place + "/height", "is not that of this block in the file of headers")
        tx, size = get(b["coinbase"], place)
        need(is_coinbase(tx) and size != 64, place + "/coinbase", "is not a coinbase")
        check_branch(b["coinbase"], 0, b["coinbase_branch"], header[36:68], place + "/coinbase_branch")
        need(type(b["height"]) is int and b["height"] not in blocks, place + "/height", "is not one of its own")
        blocks[b["height"]] = header[36:68], len(b["coinbase_branch"]), b["hash"]
    for n, t in enumerate(proofs["transactions"]):
        place = f"/proofs/transactions/{n}"
        need(set(t) == {"txid", "height", "position", "branch"}, place, "has other members than those of a proof")
        need(t["txid"] in named and t["txid"] not in proven and t["height"] in blocks, place, "is no transaction of the sections, or is in no block")
        root, depth, _ = blocks[t["height"]]
        need(len(t["branch"]) == depth, place + "/branch", "has another length than that of the coinbase")
        check_branch(t["txid"], t["position"], t["branch"], root, place + "/branch")
        tx, size = get(t["txid"], place)
        need(size != 64, place, "has 64 bytes: that proves nothing")
        for funder, _ in [] if is_coinbase(tx) else tx[0]:
            get(funder, place)
        proven[t["txid"]] = t["height"]
    need(set(proven.values()) == set(blocks), "/proofs/blocks", "has a block that no transaction is in")
    need(set(txs) == used, "/proofs/raw", "has a transaction that belongs to no proof")
    need(sorted(pack["proofs_omitted"]) == sorted(t for t in named if t not in proven), "/proofs_omitted", "does not name the others, each once")
    print("amounts of rows: not recomputed by this script; `cairn evidence verify` does that")
    word = "proven" if chain else "proven up to its header, which --headers checks"
    for txid in named:
        print(f"transaction {txid}: {f'{word} (height {proven[txid]})' if txid in proven else 'signed only'}")

def check(args):
    option = lambda name: args[args.index(name) + 1] if name in args else None
    pack = json.loads(open(args[0], "rb").read().decode("utf-8"), object_pairs_hook=once)
    need(pack.get("format") == "cairn-evidence-pack/1", "/format", "is unknown to this script")
    for name, section in pack["sections"].items():
        need((section.get("data") is not None) == (name in pack["digest_covers"]), f"/sections/{name}", "has data if and only if digest_covers names it")
    bytes_ = canonical({k: v for k, v in pack.items() if k not in OUTSIDE}).encode("utf-8")
    digest = hashlib.sha256(bytes_).hexdigest()
    need(pack.get("digest_sha256") == digest and pack.get("digest_reason") is None, "/digest_sha256", f"the pack has the digest {digest}")
    print(f"digest: {digest} matches")
    signature, key_file = pack.get("signature"), option("--key")
    if key_file:
        need(signature and set(signature) == {"alg", "key_id", "value"} and signature["alg"] == "Ed25519", "/signature", "is missing or unknown")
        need(pack.get("signature_reason") is None, "/signature_reason", "is there although there is a signature")
        key = keys_of(open(key_file).read()).get(signature["key_id"])
        need(key, "/signature/key_id", "is not the id of a given key")
        need(verifies(key, bytes_, unhex(signature["value"], "/signature/value", 64)), "/signature/value", "is not a signature of the pack")
    print("signature:", f"valid, by key {signature['key_id']}" if key_file else "not checked: give --key" if signature else "none")
    headers = option("--headers")
    chain = check_headers(open(headers, "rb").read(), int(option("--from") or 0), pack["network"]) if headers else None
    if pack.get("proofs") is not None:
        check_proofs(pack, chain)
    for name in pack["digest_covers"]:
        print(f"section {name}: {'signed only' if key_file else 'digest only'}")
    print("not covered:", ", ".join(pack["not_covered"]))
    print("completeness: not proven; a pack may leave out what its operator does not know")

def self_test():
    for key, message, signature in [
        ("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "", "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"),
        ("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72", "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"),
        ("fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82", "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"),
    ]:
        key, message, signature = map(bytes.fromhex, (key, message, signature))
        assert verifies(key, message, signature) and not verifies(key, message + b"x", signature)
        for bit in range(0, 512, 37):
            assert not verifies(key, message, bytes(b ^ (1 << bit % 8 if n == bit // 8 else 0) for n, b in enumerate(signature)))
    document = r'{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\u20ac$\u000F\u000aA\u0027\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}'
    assert canonical(json.loads(document)) == '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    assert canonical({"\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\U0001f600": 5, "\u0080": 6, "\u00f6": 7}).replace('"', "") == "{\\r:2,1:4,\u0080:6,ö:7,€:1,😀:5,\ufb33:3}"
    for bits, expected in [(0, "0"), (1 << 63, "0"), (1, "5e-324"), (0x7fefffffffffffff, "1.7976931348623157e+308"), (0x4340000000000000, "9007199254740992"),
                           (0x4430000000000000, "295147905179352830000"), (0x44b52d02c7e14af5, "9.999999999999997e+22"), (0x44b52d02c7e14af6, "1e+23"),
                           (0x444b1ae4d6e2ef4e, "999999999999999700000"), (0x444b1ae4d6e2ef50, "1e+21"), (0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"),
                           (0x3eb0c6f7a0b5ed8d, "0.000001"), (0x41b3de4355555553, "333333333.3333332"), (0xbecbf647612f3696, "-0.0000033333333333333333"),
                           (0x43143ff3c1cb0959, "1424953923781206.2")]:
        assert number(struct.unpack(">d", bits.to_bytes(8, "big"))[0]) == expected, (hex(bits), expected)
    print("self-test: the vectors of RFC 8032 and RFC 8785 hold")

if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        self_test()
    elif len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    else:
        try:
            check(sys.argv[1:])
        except (Refused, KeyError, TypeError, ValueError, AttributeError, IndexError, OSError) as error:
            sys.exit(f"refused: {type(error).__name__ + ' ' if not isinstance(error, Refused) else ''}{error}")
