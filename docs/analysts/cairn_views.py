"""The datasets of an export as views that have their names, by its manifest: for DuckDB, Spark and Polars.

    db = cairn_views.open_duckdb("/data/export")
    db.sql("SELECT max(height) FROM blocks")

The files are those that the manifest names. Days and moments are UTC.
"""

import json
from pathlib import Path


def files_of(folder):
    """The folder's datasets: names and absolute paths of files."""
    folder = Path(folder).resolve()
    manifest = json.loads((folder / "manifest.json").read_text())
    return {entry["name"]: [str(folder / file["path"]) for file in entry["files"]] for entry in manifest["datasets"]}


def open_duckdb(folder, connection=None):
    """A DuckDB connection with a view for each dataset."""
    import duckdb

    connection = connection or duckdb.connect()
    connection.sql("SET TimeZone = 'UTC'")
    for name, files in files_of(folder).items():
        listed = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
        connection.sql(f"CREATE OR REPLACE VIEW {name} AS FROM read_parquet([{listed}], hive_partitioning = true)")
    return connection


def open_spark(folder, session):
    """The Spark session, with a temporary view for each dataset."""
    session.conf.set("spark.sql.session.timeZone", "UTC")
    for name, files in files_of(folder).items():
        reader = session.read.option("basePath", str(Path(folder).resolve() / name))
        reader.parquet(*files).createOrReplaceTempView(name)
    return session


def open_polars(folder):
    """A lazy frame for each dataset, by name."""
    import polars

    return {name: polars.scan_parquet(files, hive_partitioning=True) for name, files in files_of(folder).items()}
