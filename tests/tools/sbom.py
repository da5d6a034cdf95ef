#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""sbom.py TREE CYCLONEDX LIBRARY...: whether the list of linked packages in the TREE of a release is true.

It has each LIBRARY that the build links and no package without a file, each package has its licence text in the tree,
and the version of zlib is what zlib itself wrote into the programs. CYCLONEDX is the directory of CycloneDX's library of
the npm registry (tests/tools/readers); if it is there, the document is checked against the schema in it.
"""
import glob, json, os, re, sys

tree, cyclonedx, *libraries = sys.argv[1:]
doc = f"{tree}/share/doc/holdtrace"
document = json.load(open(f"{doc}/holdtrace.cdx.json"))
faults = []
linked = set()
for component in document["components"]:
    name = component["bom-ref"]
    files = [value["value"].split(" sha256:") for value in component.get("properties", [])]
    if not files or any(not re.fullmatch("[0-9a-f]{64}", digest) for _, digest in files):
        faults.append(f"{name}: no file, or no digest")
    linked.update(re.sub(r"\.(so[0-9.]*|a)$", "", file) for file, _ in files)
    if "purl" in component and not os.path.getsize(f"{doc}/licences/{name}"):
        faults.append(f"{name}: no licence text")
    for common in re.findall(r"/usr/share/common-licenses/([\w.-]*\w)", open(f"{doc}/licences/{name}", errors="replace").read()):
        if not os.path.exists(f"{doc}/licences/common/{common}"):
            faults.append(f"{name}: no text of {common}")
for library in libraries:
    if f"lib{library}" not in linked:
        faults.append(f"lib{library}: linked, but not in the document")

programs = b"".join(open(path, "rb").read() for path in glob.glob(f"{tree}/bin/*") + glob.glob(f"{tree}/libexec/holdtrace/*"))
inside = {number.decode() for number in re.findall(rb"(?:inflate|deflate) ([0-9.]+) Copyright", programs)}
zlib = [component.get("version", "") for component in document["components"] if component["name"] == "zlib"]
if len(inside) != 1 or not zlib or inside.pop() not in zlib[0]:
    faults.append(f"zlib: the programs have {inside}, the document has {zlib}")

schemas = {os.path.basename(path): json.load(open(path)) for path in glob.glob(f"{cyclonedx}/res/schema/*.schema.json")}
if schemas:
    import jsonschema
    schema = schemas["bom-1.5.SNAPSHOT.schema.json"]
    store = {f"http://cyclonedx.org/schema/{name}": content for name, content in schemas.items()}
    validator = jsonschema.Draft7Validator(schema, resolver=jsonschema.RefResolver(schema["$id"], schema, store),
                                           format_checker=jsonschema.FormatChecker())
    faults += [f"schema: {error.json_path}: {error.message}" for error in validator.iter_errors(document)]
print(*sorted(linked), "and the schema" if schemas else "without the schema")
print(*faults, sep="\n")
sys.exit(bool(faults))
