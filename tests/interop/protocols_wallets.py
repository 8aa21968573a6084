"""BDK restores the saver's wallet of the demo over Esplora's API and over the Electrum protocol. It knows then what our own
API says of it.

Usage: protocols_wallets.py BASE_URL ESPLORA_URL ELECTRUM_URL
"""

import json
import re
import sys
import urllib.request

import bdkpython as bdk

NETWORK = bdk.Network.REGTEST
GAP = 20


def ask(base, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{base}{path}", data, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def wallet_of(key):
    """A wallet of a BIP 84 account: both branches."""
    branch = lambda index: bdk.Descriptor(f"wpkh({key}/{index}/*)", bdk.NetworkKind.TEST)
    return bdk.Wallet(branch(0), branch(1), NETWORK, bdk.Persister.new_in_memory())


def same(wallet, own):
    """The wallet is what our own API says of the account."""
    balance = wallet.balance()
    assert balance.total.to_sat() == own["balance"]["total_sats"], (balance.total.to_sat(), own["balance"])
    assert balance.confirmed.to_sat() == own["balance"]["confirmed_sats"], own["balance"]
    used = {(output.keychain, output.derivation_index) for output in wallet.list_output()}
    assert len(used) == own["address_count"] > 0, (len(used), own["address_count"])
    assert len(wallet.list_unspent()) == own["utxo_count"], own["utxo_count"]
    return len(used)


def over_esplora(base, url, key, own):
    client, wallet = bdk.EsploraClient(url), wallet_of(key)
    wallet.apply_update(client.full_scan(wallet.start_full_scan().build(), GAP, 4))
    used = same(wallet, own)
    height = client.get_height()
    assert height == own["_meta"]["tip"]["height"] and client.get_block_hash(height) == client.get_tip_hash()
    transactions = wallet.transactions()
    for known in transactions:
        txid = known.transaction.compute_txid()
        of_ours = ask(base, f"/v1/tx/{txid}")
        told = client.get_tx_info(txid)
        assert (told.fee, told.weight) == (of_ours["fee_sats"], of_ours["weight"]), of_ours
        assert told.status.block_height == (of_ours["status"]["block"] or {}).get("height"), of_ours["status"]
        assert bytes(client.get_tx(txid).serialize()) == bytes(known.transaction.serialize())
        if told.status.confirmed:
            proof = client.get_merkle_proof(txid)
            assert str(client.get_txid_at_block_index(told.status.block_hash, proof.pos)) == str(txid)
            assert proof.block_height == told.status.block_height
    for coin in wallet.list_unspent():
        assert not client.get_output_status(coin.outpoint.txid, coin.outpoint.vout).spent
    # A second look finds nothing new.
    wallet.apply_update(client.sync(wallet.start_sync_with_revealed_spks().build(), 4))
    assert same(wallet, own) == used and len(wallet.transactions()) == len(transactions)
    assert all(rate >= 0 for rate in client.get_fee_estimates().values())
    print(f"interop: BDK restored {used} addresses with {len(transactions)} transactions over Esplora's API")
    return len(transactions)


def over_electrum(url, key, own, transactions):
    client, wallet = bdk.ElectrumClient(url), wallet_of(key)
    wallet.apply_update(client.full_scan(wallet.start_full_scan().build(), GAP, 10, True))
    used = same(wallet, own)
    assert len(wallet.transactions()) == transactions
    tip = client.block_headers_subscribe()
    assert tip.height == own["_meta"]["tip"]["height"]
    for known in wallet.transactions():
        txid = known.transaction.compute_txid()
        assert bytes(client.transaction_get_raw(txid)) == bytes(known.transaction.serialize())
    wallet.apply_update(client.sync(wallet.start_sync_with_revealed_spks().build(), 10, False))
    assert same(wallet, own) == used and len(wallet.transactions()) == transactions
    client.ping()
    features = client.server_features()
    assert features.hash_function in (None, "sha256"), features
    print(f"interop: BDK restored the same over the Electrum protocol ({features.server_version})")


def main(base, esplora, electrum):
    with urllib.request.urlopen(f"{base}/", timeout=30) as home:
        key = re.search(r"\btpub[0-9A-Za-z]{100,}", home.read().decode()).group(0)
    own = ask(base, "/v1/wallets/lookup", {"wallet": [key]})
    transactions = over_esplora(base, esplora, key, own)
    over_electrum(electrum, key, own, transactions)


main(*sys.argv[1:])
