"""Exports, checkpoints and restores by way of moto, which is S3 in Python and checks signatures of requests, with boto3, Polars,
DuckDB and minisign as the other side; then with a proxy in between that disturbs requests, and with kills.

Usage: stores.py CAIRN_BINARY DATADIR WORK_FOLDER. CAIRN_STORES_SEED repeats a run.
"""

import hashlib
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import time

import duckdb
import polars
import s3fs
from stores_servers import BUCKET, Moto, Proxy, free_port

CAIRN, DATADIR = sys.argv[1:3]
WORK = pathlib.Path(sys.argv[3])
SEED = int(os.environ.get("CAIRN_STORES_SEED") or random.randrange(1_000_000))
BEGAN = time.monotonic()
# Attempts at one command while requests are disturbed, and how long Cairn repeats a request.
ATTEMPTS, PATIENCE = 5, "20"
SECRETS = []
MINISIGN = shutil.which("minisign")


def say(what):
    print(f"stores: {time.monotonic() - BEGAN:5.1f} s: {what}", flush=True)


def check(is_right, what):
    if not is_right:
        sys.exit(f"stores: wrong, seed {SEED}: {what}")


def same(found, wanted, what):
    if isinstance(found, dict) and isinstance(wanted, dict):
        names = [name for name in found.keys() | wanted.keys() if found.get(name) != wanted.get(name)]
        check(not names, f"{what}: these differ: {sorted(names)[:10]}")
    check(found == wanted, f"{what}: {str(found)[:300]} is not {str(wanted)[:300]}")


# Commands.


class Done:
    """What a command said. No command tells a secret, and one that fails says so in one line."""

    def __init__(self, command, code, out, err):
        self.shown = " ".join(map(str, command))
        self.code, self.out, self.err = code, out, err
        for secret in SECRETS:
            check(secret not in out + err, f"{self.shown} told a secret:\n{out}\n{err}")
        if code not in (0, 7, -9):
            lines = [line for line in err.splitlines() if line.startswith("error:")]
            check(len(lines) == 1 and "panicked" not in err, f"{self} has no one-line error")

    def __str__(self):
        return f"{self.shown}: exit code {self.code}\n{self.out[-1500:]}{self.err[-1500:]}"


def start(environment, *command):
    command = [CAIRN, *map(str, command)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process, seconds=90):
    out, err = process.communicate(timeout=seconds)
    return Done(process.args[1:], process.returncode, out, err)


def cairn(moto, *command, code=0, endpoint=None, **keys):
    done = finish(start(moto.environment(endpoint, **keys), *command))
    check(code is None or done.code == code, f"{done}\nwanted: exit code {code}")
    return done


def place(below):
    return f"s3://{BUCKET}/{below}"


def without_time(files, name="manifest.json"):
    """Files of an export, without the moment at which it was made."""
    manifest = json.loads(files[name])
    del manifest["made_at"]
    return files | {name: manifest}


# An export.


def export(moto):
    folder, to = WORK / "export", place("export")
    cairn(moto, "snapshot", "export", "--datadir", DATADIR, "--out", folder)
    cairn(moto, "snapshot", "export", "--datadir", DATADIR, "--out", to)
    local = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    wanted, found = without_time(local), moto.objects("export")
    same(without_time(found), wanted, "the export in the bucket and the one in a folder")
    manifest = json.loads(found["manifest.json"])
    files = [file for entry in manifest["datasets"] for file in entry["files"]]
    same({file["path"] for file in files}, found.keys() - {"manifest.json"}, "names of objects and the manifest")
    for file in files:
        data = found[file["path"]]
        same((len(data), hashlib.sha256(data).hexdigest()), (file["bytes"], file["sha256"]), file["path"])
    cairn(moto, "snapshot", "verify", to)
    say(f"exported {len(files)} files, {sum(map(len, found.values())):,} bytes; boto3 reads what a folder has")

    engines(moto, folder, manifest)

    victim = random.Random(SEED).choice(sorted(file["path"] for file in files))
    whole = found[victim]
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 1
    for what, data in {"one bit": bytes(damaged), "cut": whole[:-1], "gone": None}.items():
        moto.put(f"export/{victim}", data)
        told = cairn(moto, "snapshot", "verify", to, code=7).out
        check(f"DIFFERS  {victim}" in told, f"damage ({what}) of {victim} is not named: {told}")
    moto.put(f"export/{victim}", whole)
    cairn(moto, "snapshot", "verify", to)

    cairn(moto, "snapshot", "export", "--datadir", DATADIR, "--out", to, "--since", f"{to}/manifest.json")
    found = moto.objects("export")
    since = json.loads(found["manifest.json"])["since"]
    check(since["kept"] > 0 and not since["rewritten"], f"--since: {since}")
    same({**found, "manifest.json": 0}, {**local, "manifest.json": 0}, "files after --since")
    cairn(moto, "snapshot", "verify", to)
    say(f"verify names a damaged object; --since keeps {since['kept']} files")
    return wanted


def engines(moto, folder, manifest):
    """Polars and DuckDB read rows from the bucket, each with its own client of S3."""
    settings = moto.environment().items()
    options = {name.lower(): value for name, value in settings if name.startswith("AWS_")} | {"aws_allow_http": "true"}
    db = duckdb.connect()
    db.register_filesystem(s3fs.S3FileSystem(key=moto.key, secret=moto.secret, endpoint_url=moto.url))
    asked = [polars.len(), polars.col("value_sats").sum()]
    for name in ["outputs", "inputs", "coins"]:
        rows = next(entry["rows"] for entry in manifest["datasets"] if entry["name"] == name)
        below = f"{name}/**/*.parquet"
        local = polars.scan_parquet(f"{folder}/{below}").select(asked).collect().row(0)
        same(local[0], rows, f"rows of {name} in the folder")
        found = polars.scan_parquet(place(f"export/{below}"), storage_options=options).select(asked).collect().row(0)
        same(found, local, f"{name} in the bucket, by Polars")
        sql = f"SELECT count(*), sum(value_sats) FROM read_parquet('{place(f'export/{below}')}')"
        same(tuple(map(int, db.sql(sql).fetchall()[0])), local, f"{name} in the bucket, by DuckDB")
    say("Polars and DuckDB read rows from the bucket")


# Checkpoints.


def minisign(*arguments, code=0):
    done = subprocess.run([MINISIGN, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30)
    check((done.returncode == 0) == (code == 0), f"minisign {arguments}: {done.stdout}{done.stderr}")


def keys():
    """Two pairs of keys: arguments that sign, and arguments that trust; those of another key."""
    if MINISIGN is None:
        say("SKIPPED: signatures, since minisign is not installed (Debian: minisign)")
        return [], [], []
    for name in ["own", "other"]:
        minisign("-G", "-W", "-p", WORK / f"{name}.pub", "-s", WORK / f"{name}.key")
    SECRETS.append((WORK / "own.key").read_text().splitlines()[1])
    public = (WORK / "own.pub").read_text().splitlines()[1]
    return ["--sign-with", WORK / "own.key"], ["--public-key", public], ["--public-key", WORK / "other.pub"]


def checksum(moto, datadir):
    return cairn(moto, "db", "checksum", "--datadir", datadir).out


def restored(moto, to, wanted, *arguments, endpoint=None, below="backup"):
    cairn(moto, "snapshot", "restore", place(below), "--datadir", to, *arguments, endpoint=endpoint)
    same(checksum(moto, to), wanted, "tables of the restored index")


def check_pieces(moto, below, name):
    """A manifest's files, put together of their pieces by boto3."""
    manifest = json.loads(moto.get(f"{below}/checkpoints/{name}/checkpoint.json"))
    for file in manifest["files"]:
        pieces = [moto.get(f"{below}/pieces/{piece[:2]}/{piece}") for piece in file["pieces"]]
        same([hashlib.sha256(piece).hexdigest() for piece in pieces], file["pieces"], file["path"])
        same(sum(map(len, pieces)), file["bytes"], file["path"])
        check(all(len(piece) == 16 << 20 for piece in pieces[:-1]), f"lengths of the pieces of {file['path']}")
    return len(manifest["files"])


def checkpoints_in(moto, below):
    return sorted(name.split("/")[1] for name in moto.names(below) if name.endswith("/checkpoint.json"))


def checkpoints(moto, sign, trust, distrust):
    to, made = place("backup"), []
    for _ in range(3):
        before = len(moto.names("backup/pieces"))
        done = cairn(moto, "snapshot", "checkpoint", "--datadir", DATADIR, "--out", to, "--with-events", *sign, "--keep", 2)
        made.append((len(moto.names("backup/pieces")) - before, done.out.splitlines()[1]))
        time.sleep(1.1)
    new = [count for count, _ in made]
    check(max(new[1:]) <= new[0] // 2, f"new pieces of three checkpoints of one index: {new}")
    names = checkpoints_in(moto, "backup")
    same(len(names), 2, f"checkpoints that --keep 2 leaves: {names}")
    table = [line.split() for line in cairn(moto, "snapshot", "list", to).out.splitlines()[1:]]
    same([row[0] for row in table], names, "names that list prints")
    same({row[-1] for row in table}, {"yes" if sign else "no"}, "what list says of signatures")
    for name in names:
        cairn(moto, "snapshot", "verify", to, "--name", name, *trust)
    files = check_pieces(moto, "backup", names[-1])
    say(f"three checkpoints of {files} files, new pieces {new}: boto3 puts them together; {made[1][1]}")

    wanted = checksum(moto, DATADIR)
    restored(moto, WORK / "restored", wanted, *trust, "--beside", WORK / "beside")
    check((WORK / "beside/events.cairn").stat().st_size > 0, "no imported documents")
    cairn(moto, "verify", "--datadir", WORK / "restored")
    say("the restored index has the same tables, and passes its audit")
    if sign:
        signatures(moto, names[-1], trust, distrust)
    return wanted


def signatures(moto, name, trust, distrust):
    to = place("backup")
    cairn(moto, "snapshot", "restore", to, "--datadir", WORK / "untrusted", *distrust, code=7)
    check(not (WORK / "untrusted/index").exists(), "an index of a checkpoint that is not trusted")
    for file in ["checkpoint.json", "checkpoint.json.minisig"]:
        (WORK / file).write_bytes(moto.get(f"backup/checkpoints/{name}/{file}"))
    manifest = ["-V", "-m", WORK / "checkpoint.json", "-x", WORK / "checkpoint.json.minisig"]
    minisign(*manifest, "-P", trust[1])
    minisign(*manifest, "-p", distrust[1], code=1)
    folder = WORK / "checkpoint"
    cairn(moto, "snapshot", "checkpoint", "--datadir", DATADIR, "--out", folder)
    cairn(moto, "snapshot", "verify", folder, *trust, code=7)
    minisign("-S", "-s", WORK / "own.key", "-m", folder / "checkpoint.json")
    cairn(moto, "snapshot", "verify", folder, *trust)
    cairn(moto, "snapshot", "verify", folder, *distrust, code=7)
    (folder / "checkpoint.json").write_text((folder / "checkpoint.json").read_text() + " ")
    cairn(moto, "snapshot", "verify", folder, *trust, code=7)
    say("minisign accepts Cairn's signature, and Cairn minisign's; other keys and texts are refused")


def wrong_credentials(moto):
    """Moto calculates the signature of each request itself."""
    SECRETS.append("interop-secret-that-is-wrong")
    for keys in [{"key": "AKIAUNKNOWNUNKNOWN00"}, {"secret": SECRETS[-1]}]:
        for command in [["verify", place("export")], ["checkpoint", "--datadir", DATADIR, "--out", place("nobody")]]:
            began = time.monotonic()
            done = cairn(moto, "snapshot", *command, "--retry-for", 30, code=1, **keys)
            check("credentials" in done.err, f"{done}\ndoes not name the credentials")
            check(time.monotonic() - began < 10, f"{done}\nrepeats what is refused")
    same(moto.names("nobody"), [], "objects after requests without credentials")
    say("wrong credentials: exit code 1, and the message names them")


# Disturbed requests, and kills.


def until_done(moto, proxy, below, *command):
    """Repeats a command through the proxy; gives how often it failed."""
    for failed in range(ATTEMPTS):
        done = cairn(moto, "snapshot", *command, "--retry-for", PATIENCE, endpoint=proxy.url, code=None)
        if done.code == 0:
            return failed
        check(done.code == 1, f"{done}\nwanted: exit code 0 or 1")
    sys.exit(f"stores: wrong, seed {SEED}: {ATTEMPTS} attempts were not enough: {done}")


def disturbed(moto, exported, wanted, sign, trust):
    proxy = Proxy(moto, SEED, 0.15)
    to, told = place("far"), {}
    told["export"] = until_done(moto, proxy, "far", "export", "--datadir", DATADIR, "--out", to)
    same(without_time(moto.objects("far")), exported, "the export through the proxy")
    told["verify"] = until_done(moto, proxy, "far", "verify", to)
    to = place("backup-far")
    command = ["checkpoint", "--datadir", DATADIR, "--out", to, "--with-events", *sign, "--keep", 2]
    told["checkpoint"] = until_done(moto, proxy, "backup-far", *command)
    cairn(moto, "snapshot", "verify", to, *trust)
    check_pieces(moto, "backup-far", checkpoints_in(moto, "backup-far")[-1])
    told["verify of it"] = until_done(moto, proxy, "backup-far", "verify", to, *trust)
    told["restore"] = until_done(moto, proxy, "backup-far", "restore", to, "--datadir", WORK / "far", *trust)
    same(checksum(moto, WORK / "far"), wanted, "tables that came through the proxy")
    say(f"through the proxy ({proxy.count} requests, {dict(proxy.met)}), attempts that failed: {told}")


def refused(moto):
    """A store that does nothing: an end in time, and no manifest."""
    for fate in ["503", "closed", None]:
        endpoint = Proxy(moto, SEED, 1, [fate]).url if fate else f"http://127.0.0.1:{free_port()}"
        for command in [
            ["export", "--datadir", DATADIR, "--out", place("never")],
            ["checkpoint", "--datadir", DATADIR, "--out", place("never")],
            ["verify", place("export")],
            ["restore", place("backup"), "--datadir", WORK / "never"],
        ]:
            began = time.monotonic()
            done = cairn(moto, "snapshot", *command, "--retry-for", 2, endpoint=endpoint, code=1)
            check(time.monotonic() - began < 12, f"{time.monotonic() - began:.0f} s with --retry-for 2: {done}")
    same(moto.names("never"), [], "objects of a store that refuses")
    check(not (WORK / "never/index").exists(), "an index of a store that refuses")
    say("a store that answers 503, closes or is not there: exit code 1 in time, and nothing is there")


def kills(moto, below, chance, command, is_done, times=4):
    """Kills a command at random moments or requests, as long as it is not done, then lets it finish."""
    calm, began = Proxy(moto, SEED, 0), time.monotonic()
    cairn(moto, "snapshot", *command(f"{below}-calm"), endpoint=calm.url)
    seconds, requests = time.monotonic() - began, calm.count
    for at in [*range(times), None]:
        proxy = Proxy(moto, SEED, 0)
        if at is not None and at % 2:
            proxy.is_late, proxy.kill_at = chance.random() < 0.5, chance.randint(1, requests)
        proxy.victim = start(moto.environment(proxy.url), "snapshot", *command(below), "--retry-for", PATIENCE)
        if at is not None and not proxy.kill_at:
            time.sleep(chance.uniform(0, seconds))
            proxy.victim.kill()
        done = finish(proxy.victim)
        check(done.code in ((0,) if at is None else (0, -9)), f"{done}\nwas not to end like this")
        proxy.shutdown()
        if is_done(below):
            break
    check(is_done(below), f"{done}\nis not done")
    if done.code:
        # Killed when all was there: the next run finds that, and tidies up.
        again = cairn(moto, "snapshot", *command(below), code=None)
        check(again.code in (0, 2), f"{again}\nwas not to end like this")
    return f"{times if at is None else at + 1} attempts within {seconds:.1f} s and {requests} requests"


def killed(moto, exported, wanted, sign, trust):
    chance = random.Random(SEED)

    def has_export(below):
        if "manifest.json" not in moto.names(below):
            return False
        cairn(moto, "snapshot", "verify", place(below))
        return True

    def has_checkpoint(below):
        for name in (names := checkpoints_in(moto, below)):
            cairn(moto, "snapshot", "verify", place(below), "--name", name, *trust)
        return bool(names)

    def has_index(below):
        return (WORK / below / "index").exists()

    for round in range(2):
        below = f"killed-{round}"
        told = kills(moto, below, chance, lambda to: ["export", "--datadir", DATADIR, "--out", place(to)], has_export)
        same(without_time(moto.objects(below)), exported, "the export that was killed")
        say(f"export: {told}")
        below = f"killed-backup-{round}"
        made = ["checkpoint", "--datadir", DATADIR, "--with-events", *sign, "--out"]
        told = kills(moto, below, chance, lambda to: [*made, place(to)], has_checkpoint)
        restored(moto, WORK / f"of-{below}", wanted, *trust, below=below)
        say(f"checkpoint: {told}")
        below = f"killed-restore-{round}"
        told = kills(moto, below, chance, lambda to: ["restore", place("backup"), "--datadir", WORK / to, *trust], has_index)
        same(checksum(moto, WORK / below), wanted, "tables of the restore that was killed")
        say(f"restore: {told}")


def main():
    say(f"seed {SEED}")
    moto = Moto(WORK / "moto.log")
    SECRETS.append(moto.secret)
    try:
        exported = export(moto)
        sign, trust, distrust = keys()
        wanted = checkpoints(moto, sign, trust, distrust)
        wrong_credentials(moto)
        disturbed(moto, exported, wanted, sign, trust)
        refused(moto)
        killed(moto, exported, wanted, sign, trust)
    finally:
        moto.process.kill()
        moto.process.wait()


main()
