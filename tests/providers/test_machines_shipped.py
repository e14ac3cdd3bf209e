"""The executables that are shipped for pools of machines, called as lessor calls them."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.providers.pool_world import KEY, ROOT, shipped

LEASE = "gpu-00000001"
OTHER = "gpu-00000002"
MAIL = "requester@example.test"
RSA = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQDOnlyForTests"


@pytest.fixture
def room(tmp_path: Path) -> Path:
    (tmp_path / "keys").mkdir()
    (tmp_path / "dgx-1").mkdir()
    (tmp_path / "keys" / f"{MAIL}.pub").write_text(f"{KEY} laptop\n# old\nno-pty {RSA} desk top\n")
    return tmp_path


def call(room: Path, request: Any) -> subprocess.CompletedProcess[str]:
    script, keys = str(ROOT / "lessor-authorized-keys"), str(room / "keys")
    command = [sys.executable, "-I", "-S", script, "--keys", keys, "--file", f"{room}/{{machine}}/authorized_keys"]
    text = request if isinstance(request, str) else json.dumps(request)
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=30, check=False)


def asked(action: str, lease: str = LEASE, **changes: Any) -> dict[str, Any]:
    people = [{"id": "U0REQUESTER", "email": MAIL, "name": MAIL}]
    machine = {"name": "dgx-1", "address": "dgx-1", "gpus": 8}
    request = {"version": 1, "action": action, "lease": lease, "machine": machine, "ends": "2026-11-28T17:00:00Z"}
    return {**request, "people": people, **changes}


def verify(room: Path, *leases: str, machine: str = "dgx-1") -> Any:
    done = call(room, {"version": 1, "action": "verify", "machines": [{"name": machine, "leases": list(leases)}]})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def file_of(room: Path) -> Path:
    return room / "dgx-1" / "authorized_keys"


def test_a_grant_writes_each_key_with_the_end_and_can_be_repeated(room: Path) -> None:
    for _ in range(2):
        assert call(room, asked("grant")).returncode == 0
    assert file_of(room).read_text() == (
        f'expiry-time="20261128170000Z" {KEY} lessor:{LEASE}:{MAIL}\n'
        f'expiry-time="20261128170000Z" {RSA} lessor:{LEASE}:{MAIL}\n'
    )
    assert verify(room, LEASE, OTHER) == {"machines": {"dgx-1": {LEASE: [MAIL], OTHER: []}}}


def test_a_revoke_takes_the_lines_of_its_lease_and_no_other(room: Path) -> None:
    file_of(room).write_text("ssh-ed25519 AAAATheirs admin\n")
    file_of(room).chmod(0o600)
    for lease in (LEASE, OTHER):
        call(room, asked("grant", lease))
    for _ in range(2):
        assert call(room, asked("revoke")).returncode == 0
    assert verify(room, LEASE) == {"machines": {"dgx-1": {LEASE: [], OTHER: [MAIL]}}}
    assert file_of(room).read_text().startswith("ssh-ed25519 AAAATheirs admin\n")
    assert stat.S_IMODE(file_of(room).stat().st_mode) == 0o600
    assert sorted(path.name for path in (room / "dgx-1").iterdir()) == [".authorized_keys.lock", "authorized_keys"]


@pytest.mark.parametrize(
    "theirs", [b"# B\xfcro\n", b"# a \xe2\x80\xa8ssh-ed25519 AAAAevil\n", b"# dos\r\n# \x0c page\n"]
)
def test_lines_of_others_stay_as_they_are_in_any_encoding(room: Path, theirs: bytes) -> None:
    """None keeps people from being locked out, and none becomes a line of its own."""
    file_of(room).write_bytes(theirs)
    assert call(room, asked("grant")).returncode == 0
    assert file_of(room).read_bytes().startswith(theirs + b"expiry-time=")
    assert verify(room, LEASE)["machines"]["dgx-1"] == {LEASE: [MAIL]}
    assert call(room, asked("revoke")).returncode == 0
    assert file_of(room).read_bytes() == theirs


@pytest.mark.parametrize("end", [" \n", "\t\n", "\r\n", ""])
def test_a_line_of_ours_is_seen_whatever_an_editor_did_to_its_end(room: Path, end: str) -> None:
    file_of(room).write_bytes(f"{KEY} lessor:{LEASE}:{MAIL}{end}".encode())
    assert verify(room, LEASE)["machines"]["dgx-1"] == {LEASE: [MAIL]}
    assert call(room, asked("revoke")).returncode == 0
    assert file_of(room).read_bytes() == b""


def test_a_link_stays_one_and_one_that_leads_nowhere_is_unknown(room: Path) -> None:
    (room / "real").mkdir()
    file_of(room).symlink_to("../real/keys")
    assert call(room, asked("grant")).returncode == 0
    assert (file_of(room).is_symlink(), (room / "real" / "keys").read_text().count(LEASE)) == (True, 2)
    (room / "real").rename(room / "away")
    assert verify(room, LEASE) == {"machines": {}}
    assert call(room, asked("revoke")).returncode == 75


def test_a_file_stays_whose_it_was(room: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """sshd reads no keys of a file that is somebody else's."""
    file_of(room).write_text("")
    given: list[tuple[int, int]] = []
    monkeypatch.setattr("os.fchown", lambda _, owner, group: given.append((owner, group)))
    shipped().rewrite(file_of(room), LEASE, ["a"])
    was = file_of(room).stat()
    assert (given, file_of(room).read_text()) == ([(was.st_uid, was.st_gid)], "a\n")


def test_a_name_may_have_an_apostrophe(room: Path) -> None:
    name = "o'brien@example.test"
    (room / "keys" / f"{name}.pub").write_text(f"{KEY} laptop\n")
    assert call(room, asked("grant", people=[{"name": name}])).returncode == 0
    assert verify(room, LEASE)["machines"]["dgx-1"] == {LEASE: [name]}


def test_a_key_whose_comment_is_in_another_encoding_is_used(room: Path) -> None:
    (room / "keys" / f"{MAIL}.pub").write_bytes(f"{KEY} B".encode() + b"\xfcro\n")
    assert call(room, asked("grant")).returncode == 0
    assert file_of(room).read_text().count(KEY) == 1


def test_a_directory_that_is_not_there_is_unknown_and_not_closed(room: Path) -> None:
    assert verify(room, LEASE, machine="dgx-2") == {"machines": {}}
    assert verify(room, LEASE) == {"machines": {"dgx-1": {LEASE: []}}}
    assert call(room, asked("revoke", machine={"name": "dgx-2"})).returncode == 75


@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        ({"people": [{"name": "nobody@example.test"}]}, 66, "there is no public key of nobody@example.test"),
        ({"people": [{"name": "../../etc/shadow"}]}, 65, "cannot be that of a file"),
        ({"people": [{"name": ".hidden"}]}, 65, "cannot be that of a file"),
        ({"machine": {"name": "../x"}}, 65, "cannot be part of a path"),
        ({"lease": "x\nssh-rsa AAAA evil"}, 65, "that is no id of a lease"),
        ({"ends": "soon"}, 65, "the request makes no sense"),
        ({"action": "reboot"}, 65, "only grant, revoke and verify"),
    ],
)
def test_what_makes_no_sense_changes_nothing(room: Path, changes: dict[str, Any], code: int, words: str) -> None:
    call(room, asked("grant"))
    before = file_of(room).read_text()
    done = call(room, asked("grant") | changes)
    assert (done.returncode, words in done.stderr, file_of(room).read_text()) == (code, True, before)


@pytest.mark.parametrize("text", ["", "[]", "nonsense", '{"action": "grant"}'])
def test_a_request_that_is_none_is_refused(room: Path, text: str) -> None:
    assert call(room, text).returncode == 65


def test_many_at_once_lose_no_line(room: Path) -> None:
    leases = [f"gpu-{number:08d}" for number in range(8)]
    with ThreadPoolExecutor(4) as threads:
        done = list(threads.map(lambda lease: call(room, asked("grant", lease)).returncode, leases))
    assert done == [0] * 8
    assert verify(room) == {"machines": {"dgx-1": {lease: [MAIL] for lease in leases}}}


@pytest.mark.parametrize(
    ("says", "code", "words"),
    [
        ("echo '0, 0'; echo '1, [N/A]'", 0, ""),
        ("echo '0, 0'", 1, "1 of 2 GPUs are there"),
        ("echo '0, 0'; echo '1, 7'", 1, "uncorrected memory errors on GPU 1"),
        ("echo 'no route to host' >&2; exit 255", 1, "no route to host"),
        ("exit 9", 1, "ssh ended with 9"),
        ("exec sleep 20", 1, "it did not answer within 1 s"),
    ],
)
def test_a_health_check_says_what_is_wrong(tmp_path: Path, says: str, code: int, words: str) -> None:
    ssh = tmp_path / "ssh"
    ssh.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\n{says}\n')
    ssh.chmod(0o755)
    script = str(ROOT / "lessor-gpu-health")
    command = [sys.executable, "-I", "-S", script, "--ssh", str(ssh), "--seconds", "1"]
    text = json.dumps({"action": "health", "machine": {"name": "dgx-1", "address": "10.0.0.7", "gpus": 2}})
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stderr.strip()) == (code, words)
    assert "-l lessor -- 10.0.0.7 nvidia-smi" in (tmp_path / "asked").read_text()


def test_an_address_that_is_an_option_is_never_passed_on(tmp_path: Path) -> None:
    text = json.dumps({"machine": {"address": "-oProxyCommand=touch x", "gpus": 1}})
    command = [sys.executable, "-I", "-S", str(ROOT / "lessor-gpu-health"), "--ssh", "/no/such/program"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (1, "its address makes no sense\n")
