"""usage: docs-source.py FOLDER: writes FOLDER/source and FOLDER/mkdocs.yml, of which mkdocs makes the site.

Owns where a file of the repository stands in the site: README.md is the first page, docs/ is the root, and everything
else that a page links to keeps its path. The navigation below names each page once; a page without a place is an error.
"""

import json
import os
import re
import shutil
import subprocess
import sys

MARKDOWN = ".md"
PUBLIC, MANAGEMENT = (f"reference/{name}{MARKDOWN}" for name in ("public", "management"))

NAVIGATION = [
    ("Start", ["README.md", "docs/quickstart.md", "docs/facebook-app.md", "docs/why.md", "docs/questions.md",
               "docs/troubleshooting.md"]),
    ("Call it from an app", ["docs/api/", "docs/clients/", PUBLIC]),
    ("Configure", ["mappings/README.md", "docs/mapping.md", "docs/configuration.md", "docs/limits.md",
                   "docs/providers/"]),
    ("Administer", ["docs/console.md", "docs/console/README.md", "docs/cli.md", "docs/administration.md",
                    MANAGEMENT]),
    ("Move in", ["docs/migrating/"]),
    ("Run in production", ["docs/operations/", "docs/metrics.md", "docs/scaling.md", "docs/citus.md"]),
    ("Judge it", ["docs/security.md", "docs/reliability.md", "docs/performance.md"]),
    ("Change it", ["docs/architecture.md", "docs/glossary.md", "docs/decisions.md", "docs/simulator.md",
                   "docs/protocols/", "CHANGELOG.md"]),
]
LINK = re.compile(r"(\[[^\]]*\]\()([^)\s]+)(\))|((?:src|href|srcset)=\")([^\"]+)(\")")


def place(path):
    """Returns where a file of the repository stands in the site."""
    if path == "README.md":
        return "index" + MARKDOWN
    return path.removeprefix("docs/")


def pages(folder):
    """Returns the pages of a folder, its README first."""
    names = sorted(name for name in os.listdir(folder) if name.endswith(".md"))
    names.sort(key=lambda name: name != "README.md")
    return [folder + name for name in names]


class Site:
    def __init__(self, folder):
        self.source = os.path.join(folder, "source")
        self.files = set(subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], check=True,
                                        capture_output=True, text=True).stdout.splitlines())
        self.copied = set()
        shutil.rmtree(self.source, ignore_errors=True)

    def write(self, path, text):
        target = os.path.join(self.source, place(path))
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "w", encoding="utf-8") as file:
            file.write(text)

    def moved(self, page, link):
        """Returns a page's link as it is in the site, and copies the file that it leads to, unless that is a page.

        A folder without a README has no place in the site: the result is None.
        """
        path, mark, anchor = link.partition("#")
        if not path or re.match(r"[a-z]+:", link):
            return link
        path = os.path.normpath(os.path.join(os.path.dirname(page), path))
        if os.path.isdir(path):
            path = os.path.join(path, "README.md")
            if not os.path.exists(path):
                return None
        if path not in self.files:
            sys.exit(f"{page} links to {link}, and there is no such file.")
        if not path.endswith(".md") and path not in self.copied:
            self.copied.add(path)
            target = os.path.join(self.source, place(path))
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copyfile(path, target)
        return os.path.relpath(place(path), os.path.dirname(place(page)) or ".") + mark + anchor

    def add(self, page):
        with open(page, encoding="utf-8") as file:
            text = file.read()
        parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
        for index in range(0, len(parts), 2):
            parts[index] = LINK.sub(lambda match: self.link(page, match), parts[index])
        self.write(page, "".join(parts))

    def link(self, page, match):
        before, link, after = match.group(1, 2, 3) if match.group(2) else match.group(4, 5, 6)
        moved = self.moved(page, link)
        return before[1:-2] if moved is None else before + moved + after


def anchor(name):
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


class Reference:
    """A page of all operations and schemas of an OpenAPI document."""

    def __init__(self, path, title):
        with open(path, encoding="utf-8") as file:
            self.document = json.load(file)
        self.title = title

    def resolved(self, value):
        while isinstance(value, dict) and "$ref" in value:
            target = self.document
            for key in value["$ref"].removeprefix("#/").split("/"):
                target = target[key.replace("~1", "/").replace("~0", "~")]
            value = target
        return value

    def shape(self, schema):
        """Returns a schema in a few words; a schema with a name is a link to its place on the page."""
        if not isinstance(schema, dict):
            return "anything"
        if "$ref" in schema:
            name = schema["$ref"].rsplit("/", 1)[1]
            return f"[{name}](#{anchor('schema ' + name)})"
        for key, joint in (("oneOf", " or "), ("anyOf", " or "), ("allOf", " and ")):
            if key in schema:
                return joint.join(self.shape(each) for each in schema[key])
        if "const" in schema:
            return f"`{json.dumps(schema['const'])}`"
        if "enum" in schema:
            return ", ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
        kinds = schema.get("type", "anything")
        kinds = kinds if isinstance(kinds, list) else [kinds]
        if "array" in kinds and "items" in schema:
            kinds = [f"array of {self.shape(schema['items'])}" if kind == "array" else kind for kind in kinds]
        if "format" in schema:
            kinds = [f"{kind} ({schema['format']})" if kind != "null" else kind for kind in kinds]
        return " or ".join(kinds)

    def members(self, schema, depth=0):
        """Returns the lines of a list of an object's members."""
        lines = []
        for name, member in schema.get("properties", {}).items():
            member = member if isinstance(member, dict) else {}
            need = "" if name in schema.get("required", []) else ", optional"
            text = self.text(member.get("description", ""))
            lines.append(f"{'    ' * depth}- `{name}`: {self.shape(member)}{need}{'. ' + text if text else ''}")
            lines += self.members(member if "properties" in member else member.get("items", {}), depth + 1) if (
                isinstance(member.get("items", {}), dict)) else []
        return lines

    @staticmethod
    def text(text):
        return " ".join(text.split()).replace("<", "&lt;").replace("|", "\\|")

    def operation(self, method, path, operation, shared):
        yield f"### `{method.upper()} {path}`"
        yield self.text(operation.get("summary", ""))
        if "description" in operation:
            yield self.text(operation["description"])
        if "x-federation-role" in operation:
            yield f"Role: {operation['x-federation-role']}."
        parameters = [self.resolved(parameter) for parameter in shared + operation.get("parameters", [])]
        if parameters:
            yield "Parameters:"
            yield "\n".join(
                f"- `{parameter['name']}` ({parameter['in']}): {self.shape(parameter.get('schema', {}))}"
                f"{'' if parameter.get('required') else ', optional'}. {self.text(parameter.get('description', ''))}"
                for parameter in parameters)
        body = self.resolved(operation.get("requestBody", {}))
        for kind, content in body.get("content", {}).items():
            yield f"Body, `{kind}`: {self.shape(content.get('schema', {}))}."
            yield "\n".join(self.members(self.inline(content)))
            for example in list(content.get("examples", {}).values())[:1]:
                yield self.code(self.resolved(example).get("value"))
        yield "Responses:"
        lines = []
        for status, response in operation["responses"].items():
            response = self.resolved(response)
            shapes = [self.shape(content.get("schema", {})) for content in response.get("content", {}).values()]
            lines.append(f"- {status}: {self.text(response['description'])} {', '.join(dict.fromkeys(shapes))}")
        yield "\n".join(lines)

    def inline(self, content):
        schema = content.get("schema", {})
        return schema if isinstance(schema, dict) and "$ref" not in schema else {}

    @staticmethod
    def code(value):
        return "```json\n" + json.dumps(value, indent=2, ensure_ascii=False) + "\n```"

    def page(self):
        parts = [f"# {self.title}", self.text(self.document["info"]["description"])]
        sections = {tag["name"]: [] for tag in self.document["tags"]}
        for path, item in self.document["paths"].items():
            for method, operation in item.items():
                if method in ("get", "put", "post", "patch", "delete", "head", "options"):
                    shared = item.get("parameters", [])
                    sections[operation["tags"][0]] += self.operation(method, path, operation, shared)
        for tag in self.document["tags"]:
            parts += [f"## {tag['name']}", self.text(tag.get("description", ""))] + sections[tag["name"]]
        parts.append("## Schemas")
        for name, schema in self.document["components"]["schemas"].items():
            parts += [f"### Schema {name}", self.text(schema.get("description", "")), self.shape(schema),
                      "\n".join(self.members(schema))]
        return "\n\n".join(part for part in parts if part) + "\n"


def title(path):
    with open(path, encoding="utf-8") as file:
        return next(line[2:].strip() for line in file if line.startswith("# "))


def main():
    folder = sys.argv[1]
    site = Site(folder)
    references = {
        PUBLIC: Reference("docs/openapi/public.json", "Public API: all operations").page(),
        MANAGEMENT: Reference("docs/openapi/management.json", "Administration API: all operations").page(),
    }
    for page, text in references.items():
        site.write(page, text)
    navigation, named = [], []
    for section, entries in NAVIGATION:
        entries = [page for entry in entries for page in (pages(entry) if entry.endswith("/") else [entry])]
        named += entries
        titles = [text.split("\n", 1)[0][2:] if (text := references.get(page)) else title(page) for page in entries]
        navigation.append({section: [{name: place(page)} for name, page in zip(titles, entries)]})
    every = {path for path in site.files if path.startswith("docs/") and path.endswith(".md")}
    if missing := sorted(every - set(named)):
        sys.exit(f"The navigation of {os.path.relpath(__file__)} has no place for {', '.join(missing)}.")
    for page in named:
        if page not in references:
            site.add(page)
    configuration = {
        "site_name": "Federation", "docs_dir": "source", "site_dir": "site", "use_directory_urls": False,
        # Pages ask no other host for anything.
        "theme": {
            "name": "material", "font": False, "features": ["navigation.sections", "navigation.top", "content.code.copy",
                                                            "search.highlight"],
            "palette": [
                {"media": "(prefers-color-scheme: light)", "scheme": "default",
                 "toggle": {"icon": "material/brightness-7", "name": "Dark mode"}},
                {"media": "(prefers-color-scheme: dark)", "scheme": "slate",
                 "toggle": {"icon": "material/brightness-4", "name": "Light mode"}},
            ],
        },
        "plugins": ["search"],
        "markdown_extensions": [
            "tables", "attr_list", "md_in_html", "pymdownx.superfences", "sane_lists",
            # Anchors as GitHub makes them: the documents are read there as well.
            {"toc": {"permalink": True, "toc_depth": 3,
                     "slugify": "!!python/object/apply:pymdownx.slugs.slugify {kwds: {case: lower}}"}},
        ],
        "validation": {"links": {"not_found": "warn", "anchors": "warn", "absolute_links": "warn",
                                 "unrecognized_links": "warn"}, "nav": {"omitted_files": "warn"}},
        "nav": navigation,
    }
    # JSON is YAML; only the tag of the function that makes anchors is not.
    text = json.dumps(configuration, indent=2, ensure_ascii=False)
    text = re.sub(r'"(!!python[^"]*)"', r"\1", text)
    with open(os.path.join(folder, "mkdocs.yml"), "w", encoding="utf-8") as file:
        file.write(text)


main()
