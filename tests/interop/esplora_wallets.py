"""BDK restores the saver's wallet of the demo over Esplora's API, and knows then what our own API says of it.

Usage: esplora_wallets.py BASE_URL ESPLORA_URL
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


def main(base, esplora):
    with urllib.request.urlopen(f"{base}/", timeout=30) as home:
        key = re.search(r"\btpub[0-9A-Za-z]{100,}", home.read().decode()).group(0)
    own = ask(base, "/v1/wallets/lookup", {"wallet": [key]})
    client = bdk.EsploraClient(esplora)
    wallet = wallet_of(key)
    update = client.full_scan(wallet.start_full_scan().build(), GAP, 4)
    wallet.apply_update(update)

    balance = wallet.balance()
    assert balance.total.to_sat() == own["balance"]["total_sats"], (balance.total.to_sat(), own["balance"])
    assert balance.confirmed.to_sat() == own["balance"]["confirmed_sats"], own["balance"]
    height = client.get_height()
    assert height == own["_meta"]["tip"]["height"] and client.get_block_hash(height) == client.get_tip_hash()
    used = {str(wallet.peek_address(kind, index).address) for kind, index in used_of(wallet)}
    print(f"interop: BDK restored {balance.total.to_sat()} satoshis at {len(used)} addresses over Esplora's API")
    assert len(used) == own["address_count"] > 0, (sorted(used), own["address_count"])

    transactions = wallet.transactions()
    assert transactions
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
    assert wallet.balance().total.to_sat() == balance.total.to_sat()
    assert len(wallet.transactions()) == len(transactions)
    assert all(rate >= 0 for rate in client.get_fee_estimates().values())


def used_of(wallet):
    """Keychains and indexes of the scripts that received something."""
    return {(output.keychain, output.derivation_index) for output in wallet.list_output()}


main(*sys.argv[1:])
