"""What many files say about the project is the same everywhere, and a release is made of what it should."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

import minimaxrisk

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
PACKAGES_OF_CONDA = {"matplotlib": "matplotlib-base"}  # without a graphical interface


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def bounds(lines):
    """Packages with their lower bounds; extras of packages have no names of their own on conda-forge."""
    return {PACKAGES_OF_CONDA.get(one.name, one.name): str(one.specifier) for one in map(Requirement, lines)}


JOBS = {
    f"{path.stem}-{name}": job
    for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    for name, job in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].items()
}


def test_one_version():
    assert minimaxrisk.__version__ == PROJECT["version"]
    assert yaml.safe_load(text_of("CITATION.cff"))["version"] == PROJECT["version"]
    assert yaml.safe_load(text_of("release/conda/recipe.yaml"))["context"]["version"] == PROJECT["version"]
    newest, *_ = re.findall(r"^## (\S+)", text_of("CHANGELOG.md"), flags=re.MULTILINE)
    assert newest == PROJECT["version"]
    written = [path for path in (ROOT / "src").rglob("*.py") if PROJECT["version"] in path.read_text("utf-8")]
    assert written == []


def test_one_address():
    home = PROJECT["urls"]["Homepage"]
    owner, name = home.removeprefix("https://github.com/").split("/")
    citation = yaml.safe_load(text_of("CITATION.cff"))
    about = yaml.safe_load(text_of("release/conda/recipe.yaml"))["about"]
    assert citation["repository-code"] == about["homepage"] == about["repository"] == home
    assert citation["url"] == about["documentation"] == PROJECT["urls"]["Documentation"]
    assert about["summary"] == PROJECT["description"]
    files = [*ROOT.glob("*.md"), ROOT / "pyproject.toml", *(ROOT / ".github").rglob("*.*")]
    mentions = [
        (file.name, found)
        for file in files
        for found in re.findall(
            r"(?:github\.com|githubusercontent\.com)/([\w-]+/minimaxrisk)\b", file.read_text(encoding="utf-8")
        )
    ]
    assert mentions
    assert {found for _, found in mentions} == {f"{owner}/{name}"}


def test_citation_is_that_of_the_readme():
    paper = yaml.safe_load(text_of("CITATION.cff"))["preferred-citation"]
    readme = text_of("README.md")
    assert f"*{paper['title']}*,\nUAI {paper['year']}" in readme
    assert all(author["family-names"] in readme for author in paper["authors"])


def test_the_recipe_asks_for_what_the_project_asks_for():
    recipe = yaml.safe_load(text_of("release/conda/recipe.yaml"))
    needs, extras = recipe["requirements"], PROJECT["optional-dependencies"]
    own = ("python", "pip")
    wanted = bounds([*PROJECT["dependencies"], *extras["app"]])
    assert bounds(one for one in needs["run"] if not one.startswith(own[0] + " ")) == wanted
    others = [one for name, lines in extras.items() if name not in {"app", "all"} for one in lines]
    assert bounds(needs["run_constraints"]) == bounds(others)
    assert bounds(needs["host"][len(own) :]) == bounds(PYPROJECT["build-system"]["requires"])
    assert f">={recipe['context']['python_min']}" == PROJECT["requires-python"]
    (entry,) = PROJECT["scripts"].items()
    assert recipe["build"]["python"]["entry_points"] == [" = ".join(entry)]
    assert recipe["about"]["license"] == PROJECT["license"]
    assert [recipe["about"]["license_file"]] == PROJECT["license-files"]
    assert all(find_spec(name) for name in recipe["tests"][0]["python"]["imports"])


def test_the_oldest_versions_are_the_lower_bounds():
    lines = [line for line in text_of("tests/oldest.txt").splitlines() if not line.startswith("#")]
    pinned = {one.name: next(iter(one.specifier)).version for one in map(Requirement, lines)}
    extras = PROJECT["optional-dependencies"]
    lines = [*PROJECT["dependencies"], *(one for name in extras if name != "all" for one in extras[name])]
    for one in map(Requirement, lines):
        (bound,) = one.specifier
        assert bound.operator == ">="
        # A patch of the lowest minor release may be taken.
        assert one.specifier.contains(pinned[one.name])
        assert pinned[one.name].startswith(bound.version), one


def test_all_extras_is_all_of_them():
    extras = PROJECT["optional-dependencies"]
    (every,) = map(Requirement, extras["all"])
    assert every.extras == set(extras) - {"all"}


def test_pythons_are_the_same_everywhere():
    listed = [
        one.rsplit(" ", 1)[1]
        for one in PROJECT["classifiers"]
        if re.fullmatch(r"Programming Language :: Python :: 3\.\d+", one)
    ]
    assert all(one in SpecifierSet(PROJECT["requires-python"]) for one in listed)
    matrix = yaml.safe_load(text_of(".github/workflows/ci.yml"))["jobs"]["test"]["strategy"]["matrix"]
    assert matrix["python"] == listed
    image = re.findall(
        r"^FROM docker\.io/library/python:(3\.\d+)-slim", text_of("Containerfile"), re.MULTILINE
    )
    assert len(set(image)) == 1
    assert image[0] in listed


@pytest.mark.parametrize("name", JOBS)
def test_workflows_run_targets_of_the_makefile_and_end(name):
    job = JOBS[name]
    targets = set(re.findall(r"^([a-z-]+):", text_of("Makefile"), flags=re.MULTILINE))
    assert job["timeout-minutes"] <= 240
    commands = "\n".join(step.get("run", "") for step in job["steps"])
    assert set(re.findall(r"\bmake (?:--silent )?([a-z][a-z-]*)", commands)) <= targets


def test_makefile_shows_its_targets():
    makefile = text_of("Makefile")
    phony = re.search(r"^\.PHONY: ((?:.*\\\n)*.*)$", makefile, flags=re.MULTILINE)[1]
    shown = re.findall(r"\bmake ([a-z-]+)", makefile.split("help:")[1].split("\n\n")[0])
    assert set(phony.replace("\\", "").split()) - {"help", "version"} == set(shown)


def test_the_list_for_a_release_names_what_there_is():
    said = text_of("docs/develop/releasing.md")
    targets = re.findall(r"^([a-z-]+):", text_of("Makefile"), flags=re.MULTILINE)
    named = [one for line in re.findall(r"`make ([a-z -]+)`", said) for one in line.split()]
    assert {"test", "check-dist"} <= set(named) <= set(targets)
    environments = [job["environment"]["name"] for job in JOBS.values() if "environment" in job]
    assert [one for one in environments if f"`{one}`" not in said] == []
    for file in re.findall(r"`([\w./]+\.(?:md|cff|toml|yaml|yml|py))`", said):
        assert (ROOT / file).exists() or (ROOT / ".github" / "workflows" / file).exists(), file


def test_changes_are_named_by_their_kind():
    """``NAME.KIND.md``, as towncrier takes them; with another name a change would be left out."""
    kinds = {one["directory"] for one in PYPROJECT["tool"]["towncrier"]["type"]}
    described = set(re.findall(r"^\| `(\w+)` \|", text_of("changelog.d/README.md"), flags=re.MULTILINE))
    assert described == kinds
    for path in (ROOT / "changelog.d").glob("*.md"):
        if path.name == "README.md":
            continue
        name, *kind = path.name.removesuffix(".md").split(".")
        assert kind in [[one] for one in kinds], f"rename {path.name} to {name}.KIND.md, KIND of {kinds}"
        text = path.read_text(encoding="utf-8")
        assert all(line.startswith(("- ", "  ")) for line in text.splitlines()), f"{path.name} is no list"
        for target in re.findall(r"\]\(([^)#:]+)\)", text):
            assert (ROOT / target).exists(), f"{path.name} links to {target}; links start at CHANGELOG.md"


def test_the_changelog_has_a_place_for_releases():
    assert PYPROJECT["tool"]["towncrier"]["start_string"] in text_of("CHANGELOG.md")


def readme_of_pypi():
    text = text_of("README.md")
    for rule in PYPROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        replacement = rule["replacement"].replace("$HFPR_VERSION", PROJECT["version"])
        text = re.sub(rule["pattern"], replacement, text)
    return text


def test_the_readme_leads_somewhere_away_from_the_repository():
    text, home = readme_of_pypi(), PROJECT["urls"]["Homepage"]
    targets = re.findall(r"\]\(([^)]+)\)", text)
    assert all(target.startswith("https://") for target in targets)
    below = [
        one.removeprefix(f"{home}/blob/v{PROJECT['version']}/") for one in targets if f"{home}/blob/" in one
    ]
    raw = home.replace("github.com", "raw.githubusercontent.com") + f"/v{PROJECT['version']}/"
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", text)
    assert pictures
    assert all(one.startswith(raw) for one in pictures)
    for target in [*below, *(one.removeprefix(raw) for one in pictures)]:
        path, _, section = target.partition("#")
        assert (ROOT / path).exists(), path
        headings = re.findall(r"^#+ (.+)$", text_of(path), flags=re.MULTILINE) if section else []
        assert section in ["", *(re.sub(r"[^\w -]", "", one).lower().replace(" ", "-") for one in headings)]


def test_the_public_packages_and_extras_are_documented():
    said = text_of("docs/stability.md")
    packages = [name for name in minimaxrisk.__all__ if hasattr(getattr(minimaxrisk, name), "__path__")]
    for name in [*packages, *PROJECT["optional-dependencies"]]:
        assert f"`{name}`" in said, name


def test_the_container_gets_what_the_wheel_is_built_of():
    # Docker does not read .containerignore, and podman would read it instead.
    assert not (ROOT / ".containerignore").exists()
    ignored = text_of(".dockerignore").splitlines()
    assert "*" in ignored
    assert {"!LICENSE", "!README.md", "!pyproject.toml", "!src"} <= set(ignored)
    lines = text_of("Containerfile").splitlines()
    (made,) = re.findall(r'python -c "(.+)"', text_of("Containerfile"))
    module, function = re.fullmatch(r"from ([\w.]+) import (\w+); \2\(\)", made).groups()
    assert callable(getattr(import_module(module), function))
    assert 'CMD ["demo"]' in lines
    assert 'ENTRYPOINT ["minimaxrisk"]' in lines
    assert lines.index("USER minimaxrisk") < lines.index("WORKDIR /data")


@pytest.mark.slow
def test_the_same_source_gives_the_same_bytes(tmp_path):
    """Built in two folders, with other times and permissions; and again from the source archive."""
    pytest.importorskip("hatch_fancy_pypi_readme")
    junk = shutil.ignore_patterns(".git", ".venv*", "__pycache__", ".*_cache", "dist", "build", ".hypothesis")
    environ = {key: value for key, value in os.environ.items() if key != "SOURCE_DATE_EPOCH"}

    def build(source, out):
        line = [sys.executable, "-m", "hatchling", "build", "--directory", str(out)]
        subprocess.run(line, cwd=source, env=environ, check=True, capture_output=True)
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in out.iterdir()}

    first, second = tmp_path / "first", tmp_path / "elsewhere" / "second"
    for place in (first, second):
        shutil.copytree(ROOT, place, ignore=junk)
    for path in second.rglob("*"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
        path.chmod(path.stat().st_mode & 0o700)  # as under another umask; what can be executed remains so
    expected = build(first, tmp_path / "out-1")
    assert len(expected) == 2
    assert build(second, tmp_path / "out-2") == expected
    (archive,) = (tmp_path / "out-1").glob("*.tar.gz")
    shutil.unpack_archive(archive, tmp_path / "unpacked", filter="data")
    (source,) = (tmp_path / "unpacked").iterdir()
    assert build(source, tmp_path / "out-3") == expected
