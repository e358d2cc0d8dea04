"""Writes a software bill of materials in SPDX 2.3, from Package.resolved and from what dpkg says.

Standard input has a Debian package a line: its source, its name, version and architecture. `--check` reads a bill from
standard input in place of that, and ends with 1 when a field is missing that the standard demands, or something is
named that is not there.
"""

import argparse
import json
import re
import sys
import time
import urllib.parse
import uuid

# Letters, digits, dots and hyphens are what SPDX allows in an identifier (§ 7.2 of its specification).
UNUSUAL = re.compile(r"[^A-Za-z0-9.-]")


def package(kind, name, version, location, purl, supplier="NOASSERTION"):
    return {
        "SPDXID": f"SPDXRef-{kind}-{UNUSUAL.sub('-', name)}",
        "name": name,
        "versionInfo": version,
        "supplier": supplier,
        "downloadLocation": location,
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION",
        "copyrightText": "NOASSERTION",
        "externalRefs": [
            {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}
        ],
    }


def swift_packages(path):
    with open(path, encoding="utf-8") as file:
        pins = json.load(file)["pins"]
    for pin in pins:
        url = pin["location"].removesuffix(".git")
        commit = pin["state"]["revision"]
        version = pin["state"].get("version", commit)
        purl = f"pkg:swift/{url.split('://')[-1]}@{version}"
        yield package("Swift", pin["identity"], version, f"git+{url}@{commit}", purl)


def debian_packages(lines):
    for line in lines:
        source, name, version, architecture = line.split()
        quoted = urllib.parse.quote(version, safe="")
        purl = f"pkg:deb/debian/{name}@{quoted}?arch={architecture}"
        yield package("Debian", name, version, "NOASSERTION", purl, "Organization: Debian") | {
            "sourceInfo": f"source package {source}"
        }


def bill(options, lines):
    purl = f"pkg:generic/federation@{options.version}"
    program = package("Program", "federation", options.version, "NOASSERTION", purl)
    program |= {"licenseDeclared": "Apache-2.0", "primaryPackagePurpose": "APPLICATION"}
    linked = list(swift_packages(options.resolved))
    if options.swift:
        purl = f"pkg:generic/swift@{options.swift}"
        linked.append(package("Toolchain", "swift", options.swift, "NOASSERTION", purl))
    needed = list(debian_packages(lines))
    packages = [program, *linked, *needed]
    contents = json.dumps(packages).encode()
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", program)]
    relations += [(program["SPDXID"], "STATIC_LINK", other) for other in linked]
    relations += [(program["SPDXID"], "DEPENDS_ON", other) for other in needed]
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"federation-{options.version}",
        "documentNamespace": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, contents.hex())}",
        "creationInfo": {
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(options.time)),
            "creators": ["Tool: federation-scripts-sbom"],
        },
        "packages": packages,
        "relationships": [
            {"spdxElementId": of, "relationshipType": kind, "relatedSpdxElement": to["SPDXID"]}
            for of, kind, to in relations
        ],
    }


def problems(document):
    """What the specification demands of a document, of packages and of relationships, as far as we use them."""
    for field in ("spdxVersion", "dataLicense", "SPDXID", "name", "documentNamespace", "creationInfo"):
        if not document.get(field):
            yield f"the document has no {field}"
    if document.get("dataLicense") != "CC0-1.0":
        yield "dataLicense is not CC0-1.0"
    if "#" in document.get("documentNamespace", ""):
        yield "documentNamespace has a #"
    creation = document.get("creationInfo", {})
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", creation.get("created", "")):
        yield "creationInfo.created is no moment in UTC"
    creators = creation.get("creators", [])
    if not creators or not all(re.match("(Tool|Person|Organization): ", creator) for creator in creators):
        yield "creationInfo.creators names nobody"
    known = {document.get("SPDXID")}
    for item in document.get("packages", []):
        identifier = item.get("SPDXID", "")
        for field in ("name", "SPDXID", "downloadLocation", "versionInfo"):
            if not item.get(field):
                yield f"a package has no {field}: {item}"
        if not re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", identifier):
            yield f"{identifier} is no identifier"
        if identifier in known:
            yield f"{identifier} is there twice"
        known.add(identifier)
        for reference in item.get("externalRefs", []):
            if not re.match(r"pkg:[a-z]+/.+@.+", reference.get("referenceLocator", "")):
                yield f"{identifier} has no package URL"
    for relation in document.get("relationships", []):
        for field in ("spdxElementId", "relatedSpdxElement"):
            if relation.get(field) not in known:
                yield f"a relationship names {relation.get(field)}, which is not there"
    if not any(r.get("relationshipType") == "DESCRIBES" for r in document.get("relationships", [])):
        yield "nothing is described"
    for kind, fewest in (("STATIC_LINK", 20), ("DEPENDS_ON", 8)):
        count = sum(r.get("relationshipType") == kind for r in document.get("relationships", []))
        if count < fewest:
            yield f"there are only {count} relationships {kind}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--version")
    parser.add_argument("--time", type=int)
    parser.add_argument("--swift")
    parser.add_argument("--resolved")
    options = parser.parse_args()
    if not options.check:
        json.dump(bill(options, sys.stdin), sys.stdout, indent=2)
        print()
        return
    found = list(problems(json.load(sys.stdin)))
    for problem in found:
        print(problem)
    sys.exit(1 if found else 0)


main()
