"""Checks of container.sh: the app of umbrelOS (deploy/umbrel), read by PyYAML.

Usage: umbrel.py MANIFEST COMPOSE VERSION CONFIGURATION_MD: COMPOSE is what docker-compose has printed of the app with the
variables that umbrelOS exports, VERSION is that of the package."""

import re
import sys

import yaml

# https://github.com/getumbrel/umbrel-apps: what each manifest has.
FIELDS = """manifestVersion id category name version tagline description releaseNotes developer website dependencies repo
support port gallery path defaultUsername defaultPassword submitter submission""".split()
# What the node's app and umbrelOS themselves listen on.
TAKEN_PORTS = {80, 443, 2000, 2100, 8332, 8333, 50001, 50002, 50003}


def faults(manifest, services, version, settings):
    missing = [field for field in FIELDS if field not in manifest]
    if missing:
        return [f"fields are missing: {missing}"]
    server, proxy = services["server"], services["app_proxy"]["environment"]
    found = []
    expect = lambda is_so, what: is_so or found.append(what)
    expect(manifest["version"] == version, f"the manifest has version {manifest['version']}, the package {version}")
    expect(f":{version}@sha256:" in server["image"], f"the image is {server['image']}")
    expect(manifest["dependencies"] == ["bitcoin"], "it depends on the node's app")
    expect(proxy["APP_HOST"] == f"{manifest['id']}_server_1", f"the pages are at {proxy['APP_HOST']}")
    # Versions of docker-compose print ports as they are written, or as mappings.
    published = [port["published"] if isinstance(port, dict) else port.split(":")[0] for port in server["ports"]]
    ports = [manifest["port"], *map(int, published)]
    expect(len({*ports} - TAKEN_PORTS) == len(ports) == 2, f"ports {ports} are taken")
    expect(server["healthcheck"]["test"] == ["CMD", "/usr/bin/cairn", "ready"], "the health check is another one")
    expect(any(str(volume).endswith(":/bitcoin:ro") for volume in server["volumes"]), "the node's folder can be written")
    environment = server["environment"]
    unknown = [name for name in environment if name not in settings]
    expect(not unknown, f"Cairn has no settings {unknown}")
    empty = [name for name, value in environment.items() if not value]
    expect(not empty, f"settings without a value: {empty}")
    expect(environment["CAIRN_BLOCKS_DIR"] == "/bitcoin/signet/blocks", environment["CAIRN_BLOCKS_DIR"])
    kept = [path for path in manifest["backupIgnore"] if not path.startswith("data/cairn/")]
    expect(not kept, f"not in the data folder: {kept}")
    return found


if __name__ == "__main__":
    manifest, compose, version, configuration = sys.argv[1:]
    settings = {*re.findall(r"`(CAIRN_\w+)`", open(configuration).read())}
    found = faults(yaml.safe_load(open(manifest)), yaml.safe_load(open(compose))["services"], version, settings)
    sys.exit("\n".join(found) or 0)
