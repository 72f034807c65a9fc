"""A catalog on an object store, and the skills that are published into it."""

import os
import shutil
import subprocess
import urllib.request
from pathlib import Path

BUCKET = "replicas"
# The name of the catalog, and the namespace of its skills.
CATALOG = "acme"
SKILLS = 40
POLL_SECONDS = 5


def write_skill(root: Path, name: str, description: str, body: str) -> None:
    directory = root / name
    directory.mkdir(parents=True, exist_ok=True)
    # Written beside and renamed: a watcher never sees half of it.
    beside = directory / ".SKILL.md.new"
    beside.write_text(f"---\nname: {name}\ndescription: {description}\n---\n\n{body}", encoding="utf-8")
    beside.rename(directory / "SKILL.md")


class Store:
    """A catalog of one run: on an S3 server, or in a directory where there is none."""

    def __init__(self, binary: str, endpoint: str | None, directory: Path) -> None:
        self.binary, self.directory = binary, directory
        directory.mkdir()
        self.key, self.skills = directory / "publisher.key", directory / "published"
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": str(directory), "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
        }
        if endpoint:
            self.url = f"s3://{BUCKET}/{directory.name}/{CATALOG}"
            self.options = f'options = {{ endpoint = "{endpoint}", region = "us-east-1" }}\n'
            self.environment |= {"AWS_ENDPOINT": endpoint, "AWS_REGION": "us-east-1"}
            make_bucket(endpoint)
        else:
            self.url, self.options = f"file://{directory}/store/{CATALOG}", ""
        self.public = self.run("catalog", "keygen", str(self.key)).split("\n")[0]

    def run(self, *arguments: str) -> str:
        command = [self.binary, "--isolated", *arguments]
        done = subprocess.run(command, env=self.environment, cwd=self.directory, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    def publish(self, edition: str) -> str:
        """Publishes all skills in one edition, which every line of theirs names. Returns the last line that was said."""
        shutil.rmtree(self.skills, ignore_errors=True)
        for n in range(SKILLS):
            name = f"filler-{n:02}"
            description = f"Does thing number {n}, {edition} edition. Use it for nothing else."
            write_skill(self.skills, name, description, f"# Thing {n}\n\nThis is {name}, {edition} edition.\n")
        return self.run("publish", str(self.skills), self.url, "--key", str(self.key)).strip().split("\n")[-1]

    def configuration(self) -> str:
        """What a replica has in its skillcue.toml."""
        return (
            f'[[catalog]]\nname = "{CATALOG}"\nurl = "{self.url}"\nkeys = ["{self.public}"]\ntrust = "signed"\n'
            f"poll_s = {POLL_SECONDS}\n{self.options}"
        )


def make_bucket(endpoint: str) -> None:
    """Makes the bucket, unless it is there. The server does not look at signatures."""
    signed = "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"
    request = urllib.request.Request(f"{endpoint}/{BUCKET}", method="PUT", headers={"Authorization": signed})
    with urllib.request.urlopen(request, timeout=30) as answer:
        answer.read()
