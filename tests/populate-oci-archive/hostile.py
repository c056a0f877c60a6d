#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Archives that must be refused, and one with many layers, made of an archive of docker save and of a layout, plain.tar."""

import gzip
import io
import json
import sys
import tarfile

with tarfile.open(sys.argv[1]) as archive:
    files = [(member, archive.extractfile(member).read() if member.isfile() else b"") for member in archive]
manifest = next(data for member, data in files if member.name.endswith("manifest.json"))
images = json.loads(manifest)


def write(name, change=None, more=()):
    """All members but those that `change` gives other bytes, or with False leaves out; then more of them."""
    with tarfile.open(name, "w", format=tarfile.PAX_FORMAT) as out:
        for member, data in files:
            data = change(member.name, data) if change and member.isfile() else data
            if data is not False:
                copy = tarfile.TarInfo(member.name)
                copy.type, copy.linkname, copy.size = member.type, member.linkname, len(data)
                out.addfile(copy, io.BytesIO(data))
        for member, data in more:
            out.addfile(member, io.BytesIO(data))


def member(name, data=b"", link=None, kind=tarfile.SYMTYPE):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    if link is not None:
        info.type, info.linkname = kind, link
    return info, data


def with_manifest(new):
    return lambda name, data: json.dumps(new).encode() if name.endswith("manifest.json") else data


def with_layers(layers, **others):
    return with_manifest([{**images[0], "Layers": layers, **others}])


write("twice.tar", more=[member("./one.tar")])
write("dots.tar", more=[member("a/../../one.tar")])
write("absolute.tar", more=[member("/one.tar")])
write("link-out.tar", more=[member("first/out", link="../../one.tar")])
write("circle.tar", with_layers(["x", "two/layer.tar"]), [member("x", link="y"), member("y", link="x")])
write("nowhere.tar", with_layers(["x", "two/layer.tar"]), [member("x", link="one", kind=tarfile.LNKTYPE)])
write("changed-layer.tar", lambda name, data: data[:600] + b"x" + data[601:] if name.endswith("one.tar") else data)
write("changed-config.tar", lambda name, data: data + b" " if name.endswith(".json") and data != manifest else data)
write("few-layers.tar", with_layers(["one.tar"]))
write("many-images.tar", with_manifest([images[0], {**images[0], "RepoTags": None}]))
write("big-manifest.tar", lambda name, data: data + b" " * (4 << 20) if data == manifest else data)
write("no-list.tar", with_manifest({}))
write("number.tar", with_layers([1, 2]))
write("changed-packed.tar", lambda name, data: gzip.compress(data + b"\0" * 512, mtime=0)
      if name.endswith("two/layer.tar") else data)
config = json.loads(next(data for member, data in files if member.name.endswith(images[0]["Config"])))
digests = config["rootfs"]["diff_ids"]
config["rootfs"]["diff_ids"] = digests[:1] + digests[1:] * 199
write("many-layers.tar", with_layers(["one.tar"] + ["two/layer.tar"] * 199, Config="config"),
      [member("config", json.dumps(config).encode())])
config["rootfs"]["diff_ids"] = digests[:1] * 4097
write("too-many.tar", with_layers(["one.tar"] * 4097, Config="config"), [member("config", json.dumps(config).encode())])
sparse = tarfile.TarInfo("holes")
sparse.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "holes",
                      "GNU.sparse.realsize": "2048"}
body = b"1\n1024\n512\n".ljust(512, b"\0") + b"x" * 512
sparse.size = len(body)
write("sparse.tar", with_layers(["holes", "two/layer.tar"]), [(sparse, body)])

# A byte of the last blob of the layout.
with open("plain.tar", "rb") as plain:
    data = bytearray(plain.read())
with tarfile.open("plain.tar") as archive:
    blob = max((m for m in archive if m.isfile()), key=lambda m: m.size)
data[blob.offset_data + 50] ^= 1
with open("changed-blob.tar", "wb") as changed:
    changed.write(data)
