"""Reads a compose file and the Dockerfiles that it names, and says what they name that is not there.

Exit 1 with a line for each: files and folders, targets, services, volumes, variables of the service (each has a row in
docs/configuration.md or docs/limits.md) and of the file itself (each is written by the script that makes its secrets).
Images of ours must run with as little as they need.
"""

import argparse
import glob
import os
import re
import sys

import yaml

DOCUMENTS = ("docs/configuration.md", "docs/limits.md")
CONDITIONS = ("service_started", "service_healthy", "service_completed_successfully")


def documented_variables():
    for path in DOCUMENTS:
        with open(path, encoding="utf-8") as file:
            yield from re.findall(r"^\| `(FEDERATION_[A-Z0-9_]+)`", file.read(), re.MULTILINE)


def items(value):
    """The members of a list or of a mapping, as compose allows either."""
    if isinstance(value, dict):
        return value.items()
    return [(item, None) for item in value or ()]


class Compose:
    def __init__(self, path, secrets):
        self.path = path
        self.folder = os.path.dirname(path)
        with open(path, encoding="utf-8") as file:
            self.text = file.read()
        self.document = yaml.safe_load(self.text)
        with open(secrets, encoding="utf-8") as file:
            self.secrets = {line.split("=")[0] for line in file}
        # The names for which the command at the head of the file makes certificates.
        made = re.search(r"scripts/ha-secrets \S+/secrets (.*)", self.text)
        self.certificates = made.group(1).split() if made else []

    def problems(self):
        for name, service in self.document["services"].items():
            for problem in self.problems_of(name, service):
                yield f"{self.path}: {name}: {problem}"
        for variable in re.findall(r"\$\{([A-Z_]+):\?", self.text):
            if variable not in self.secrets:
                yield f"{self.path}: nothing writes {variable}"
        used = {v.split(":")[0] for s in self.document["services"].values() for v in s.get("volumes", ())}
        for volume in self.document.get("volumes", {}):
            if volume not in used:
                yield f"{self.path}: nobody has the volume {volume}"
        yield from self.taken_twice()

    def problems_of(self, name, service):
        known = set(documented_variables())
        for variable, _ in items(service.get("environment")):
            if variable.startswith("FEDERATION_") and "PASSWORD" not in variable and variable not in known:
                yield f"{variable} is in none of {', '.join(DOCUMENTS)}"
        for other, how in items(service.get("depends_on")):
            if other not in self.document["services"]:
                yield f"waits for {other}, which is not there"
            elif how and how["condition"] not in CONDITIONS:
                yield f"waits for {how['condition']}"
            elif how and how["condition"] == "service_healthy" and not self.has_check(other):
                yield f"waits for the health of {other}, which has no check"
        for volume in service.get("volumes", ()):
            yield from self.problems_of_volume(volume)
        for file in service.get("env_file") and [service["env_file"]] or ():
            if not os.path.exists(os.path.join(self.folder, file)):
                yield f"there is no {file}"
        if "build" in service:
            yield from self.problems_of_build(service["build"])
        if service.get("image", "").startswith("federation") and service["image"] != "federation-ha":
            if not service.get("read_only"):
                yield "its file system can be written"
            if service.get("cap_drop") != ["ALL"] or "no-new-privileges:true" not in service.get("security_opt", ()):
                yield "it has capabilities that it does not need"

    def has_check(self, name):
        service = self.document["services"][name]
        # The Dockerfile of the service has one.
        return "healthcheck" in service or service.get("image", "").startswith("federation")

    def problems_of_volume(self, volume):
        source = volume.split(":")[0]
        if not source.startswith("."):
            if source not in self.document.get("volumes", {}):
                yield f"there is no volume {source}"
        elif source.startswith("./secrets/"):
            if source.removeprefix("./secrets/") not in self.certificates:
                yield f"the command at the head of the file makes no {source}"
        elif not os.path.exists(os.path.join(self.folder, source)):
            yield f"there is no {source}"

    def problems_of_build(self, build):
        context = os.path.normpath(os.path.join(self.folder, build["context"]))
        path = os.path.join(context, build.get("dockerfile", "Dockerfile"))
        with open(path, encoding="utf-8") as file:
            lines = file.read().replace("\\\n", " ").split("\n")
        with open(path + ".dockerignore", encoding="utf-8") as file:
            allowed = [line.strip()[1:] for line in file if line.startswith("!")]
        stages = re.findall(r"^FROM \S+ AS (\S+)", "\n".join(lines), re.MULTILINE)
        if build.get("target", (stages or [None])[-1]) not in stages + [None]:
            yield f"{path} has no stage {build['target']}"
        for line in lines:
            words = line.split()
            if words[:1] != ["COPY"]:
                continue
            if words[1].startswith("--from="):
                if words[1].removeprefix("--from=") not in stages:
                    yield f"{path} has no stage for {line}"
                continue
            for source in words[1:-1]:
                if not glob.glob(os.path.join(context, source)):
                    yield f"{path}: there is no {source}"
                elif source != "." and not any(source == a or source.startswith(a + "/") for a in allowed):
                    yield f"{path}.dockerignore keeps {source} out"

    def taken_twice(self):
        ports = [str(port).rsplit(":", 1)[0] for s in self.document["services"].values() for port in s.get("ports", ())]
        for port in sorted({port for port in ports if ports.count(port) > 1}):
            yield f"{self.path}: {port} is published twice"
        for port in ports:
            if not port.startswith("127.0.0.1:"):
                yield f"{self.path}: {port} is open to other machines"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--secrets", required=True)
    options = parser.parse_args()
    compose = Compose(options.file, options.secrets)
    found = list(compose.problems())
    for problem in found:
        print(problem)
    print(f"{options.file}: {len(compose.document['services'])} services, {len(found)} problems")
    sys.exit(1 if found else 0)


main()
