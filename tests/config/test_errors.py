"""Every mistake in lessor.yaml names line, key, what is wrong and what is allowed; all of them at once."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from lessor.config import ConfigError, load, loads
from lessor.config.model import LeaseConfig
from tests.config.sample import VALID, changed, refusal

ID_HINT = "a Slack member id such as U0AAA1111 (in Slack: Profile, More, Copy member ID)"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            changed("grace: 7d", "grase: 7d"),
            "lessor.yaml:16: lease.grase: unknown key; did you mean 'grace'?; allowed here: "
            + ", ".join(LeaseConfig.model_fields),
        ),
        (
            changed("grace: 7d", "grace: 7 fortnights"),
            "lessor.yaml:16: lease.grace: is '7 fortnights'; allowed: a number with s, min, h, d or w, such as 20s, "
            "15min, 8h, 7d",
        ),
        (
            changed("grace: 7d", "grace: 7"),
            "lessor.yaml:16: lease.grace: is the number 7 without a unit; allowed: a number with s, min, h, d or w, "
            "such as 20s, 15min, 8h, 7d",
        ),
        (
            changed("warnings: [2d, 2h]", "warnings: [31d, 2h]"),
            "lessor.yaml:17: lease.warnings[0]: is 31 d; no lease is longer than max_total (30 d)",
        ),
        (
            changed("id: U0FINANCE,", "id: finance,"),
            f"lessor.yaml:6: organisation.people[2].id: is 'finance'; allowed: {ID_HINT}",
        ),
        (
            changed("tz: Europe/Berlin", "tz: berlin"),
            "lessor.yaml:4: organisation.people[0].tz: 'berlin' is no time zone; did you mean 'Europe/Berlin'?",
        ),
        (
            changed("tz: Europe/Berlin", "tz: CEST"),
            "lessor.yaml:4: organisation.people[0].tz: 'CEST' is no time zone; allowed: an IANA name such as "
            "Europe/Berlin, or UTC",
        ),
        (
            changed("{id: U0ADMIN, email: admin@example.com}", "{id: U0ADMIN, email: MANAGER@example.com}"),
            "lessor.yaml:7: organisation.people[3].email: 'MANAGER@example.com' belongs to the person on line 5 as "
            "well; one id or address means one person",
        ),
        (
            changed("finance: [U0FINANCE]", "finance: [U0FINANC]"),
            "lessor.yaml:11: organisation.groups.finance[0]: nobody is 'U0FINANC'; did you mean 'u0finance'?; add "
            "them to organisation.people",
        ),
        (
            changed("research: {all: 16", "reserch: {all: 16"),
            "lessor.yaml:14: organisation.quotas.reserch: there is no team 'reserch'; did you mean 'research'?; "
            "teams: research",
        ),
        (
            changed("A100-80GB: 8", "a100 80gb: 8"),
            "lessor.yaml:14: organisation.quotas.research.a100 80gb: 'a100 80gb' is no GPU model of the catalogue; "
            "write 'A100-80GB'",
        ),
        (
            changed("zones: [us-east-1a]", "zones: [us-east-2a]"),
            "lessor.yaml:21: places[0].zones[0]: 'us-east-2a' is no zone of us-east-1; a zone is a region and a letter",
        ),
        (
            changed("then: approve", "then: aprove"),
            "lessor.yaml:26: policy.rules[0].then: is 'aprove'; allowed: approve, {deny: reason}, {require: [steps]}, "
            "{suggest: {text: ...}} or {max: length}",
        ),
        (
            changed("then: approve", "then: {approve: true, deny: no}"),
            "lessor.yaml:26: policy.rules[0].then: has more than one of approve, deny and require; make a rule of each",
        ),
        (
            changed("then: approve", "then: {approve: false}"),
            "lessor.yaml:26: policy.rules[0].then: needs an outcome; allowed: approve, {deny: reason}, "
            "{require: [steps]}, {suggest: {text: ...}} or {max: length}",
        ),
        (
            changed("then: approve", "then: {max: 0s}"),
            "lessor.yaml:26: policy.rules[0].then: has a max of 0; deny instead, with the reason",
        ),
        (
            changed("then: approve", "then: {suggest: {text: a, market: spto}}"),
            "lessor.yaml:26: policy.rules[0].then.suggest.market: is 'spto'; allowed: on-demand, spot or "
            "capacity-block",
        ),
        (
            changed("quote.total > 2000", "quote.totl > 2000"),
            "lessor.yaml:28: policy.rules[1].when: unknown fact 'quote.totl'; did you mean 'quote.total'?; quote has: "
            "known, hourly, total, market_hourly, currency (column 1)",
        ),
        (
            changed("quote.total > 2000", "quote.total = 2000"),
            "lessor.yaml:28: policy.rules[1].when: is not valid at '= 2000': equality is written == (column 13)",
        ),
        (
            changed('"group:finance"', '"group:legal"'),
            "lessor.yaml:29: policy.rules[1].then.require[1]: 'group:legal' does not exist; there are: finance",
        ),
        (
            changed('"group:finance"', '"finance"'),
            "lessor.yaml:29: policy.rules[1].then.require[1]: 'finance' is no approver; allowed: lead, lead:TEAM, "
            "budget-owner, budget-owner:TEAM, group:NAME, slack-group:HANDLE, person:ID, admins",
        ),
        (
            changed('approvers: ["group:finance"]', 'approvers: ["group:finance"], quorum: 2'),
            "lessor.yaml:29: policy.rules[1].then.require[1]: asks for 2 approvals but only 1 active people could "
            "give one",
        ),
        (
            changed("lead: manager@example.com, ", ""),
            "lessor.yaml:29: policy.rules[1].then.require[0]: asks for the team's lead, but these teams have no "
            "active one: research",
        ),
        (changed("- name: big", "- name: small"), "lessor.yaml:27: policy.rules[1].name: 'small' is the name of the "
         "rule on line 24 too"),
        (changed("regions: [us-east-1]", "regions: us-east-1"), "lessor.yaml:20: places[0].regions: is 'us-east-1'; "
         "allowed: a list"),
        (changed("  name: Example\n", ""), "lessor.yaml:1: organisation.name: is missing; add it"),
        (changed("  grace: 7d\n", "  grace: 7d\n  grace: 8d\n"), "lessor.yaml:17: lease.grace: is given twice, first "
         "on line 16; keep one of them"),
        (changed("  grace: 7d\n", "\tgrace: 7d\n"), "lessor.yaml:16: has a tab where YAML wants spaces; replace each "
         "tab by two spaces"),
        (changed("name: Example\n", "name: Example: Research\n"), "lessor.yaml:2: is not valid YAML: mapping values "
         "are not allowed here; a value that contains ': ' needs quotes, and keys of one section need the same "
         "indentation"),
        (changed("name: Example\n", "name: !!python/name:os.system x\n"), "lessor.yaml:2: organisation.name: has the "
         "tag 'python/name:os.system'; tags are not allowed"),
        ("", "lessor.yaml: is empty; examples/lessor.yaml shows what belongs into it"),
        ("- a\n", "lessor.yaml:1: is a list with 1 entries; allowed: keys with values"),
        (VALID + "---\na: 1\n", "lessor.yaml:30: starts a second document; keep everything in one, remove the '---' "
         "line"),
    ],
)  # fmt: skip
def test_one_mistake_gives_one_exact_line(text: str, expected: str) -> None:
    assert expected in refusal(text)


def test_the_sample_itself_is_accepted() -> None:
    assert loads(VALID).organisation.name == "Example"


def test_a_condition_is_read_even_where_the_rest_has_no_valid_form() -> None:
    text = changed("grace: 7d", "grase: 7d").replace("quote.total > 2000", "quote.totl > 2000")
    assert [line.split(": ")[1] for line in refusal(text)] == ["lease.grase", "policy.rules[1].when"]


@pytest.mark.parametrize("policy", ["7", "{rules: 7}", "{rules: [7]}", "{rules: [{when: 7}]}", "{rules: [{when: ''}]}"])
def test_a_policy_without_a_valid_form_is_told_as_such(policy: str) -> None:
    lines = refusal(VALID[: VALID.index("policy:")] + f"policy: {policy}\n")
    assert all(line.startswith("lessor.yaml:22: policy") for line in lines)


def test_all_mistakes_are_told_at_once_in_the_order_of_the_file() -> None:
    text = changed("grace: 7d", "grace: never").replace("tz: Europe/Berlin", "zone: x").replace("regions:", "region:")
    lines = refusal(text)
    assert [line.split(": ")[0] for line in lines] == [f"lessor.yaml:{n}" for n in (4, 16, 20)]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("  token: xoxb-123456-abcdef", "a Slack token"),
        ("  # old: xapp-1-A0-1234-abcdef", "a Slack app token"),
        ("  note: AKIAABCDEFGHIJKLMNOP", "an AWS access key"),
        ("  url: postgresql://lessor:hunter2@db/lessor", "a password in a URL"),
        ("  signing_secret: hunter2", "a key that holds a secret"),
        ('  name: "-----BEGIN RSA PRIVATE KEY-----"', "a private key"),
    ],
)
def test_secrets_are_refused_and_never_repeated(line: str, what: str) -> None:
    lines = refusal(VALID + "slack:\n" + line + "\n")
    found = next(text for text in lines if "secrets are never kept" in text)
    assert found.startswith(f"lessor.yaml:31: contains {what}; secrets are never kept in this file: ")
    assert not any(word in "\n".join(lines) for word in ("123456", "1234-abc", "AKIA", "hunter2"))


def test_a_team_may_be_called_after_tokens() -> None:
    text = changed("finance: [U0FINANCE]", "tokens: [U0FINANCE]").replace("group:finance", "group:tokens")
    assert "tokens" in loads(text).organisation.groups


def test_a_missing_file_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path / "none.yaml")
    assert str(caught.value) == (
        f"{tmp_path}/none.yaml: does not exist; set LESSOR_CONFIG to your file or copy examples/lessor.yaml to "
        "begin with"
    )


def test_a_directory_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path)
    assert str(caught.value) == f"{tmp_path}: is a directory; give the path of the file in it"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (
            PermissionError(errno.EACCES, "Permission denied"),
            "may not be read by the user that lessor runs as; let it with chmod or chown, its directories included",
        ),
        (
            OSError(errno.EIO, "Input/output error"),
            "cannot be read: Input/output error; check that the path leads to a file",
        ),
    ],
)
def test_a_file_that_is_not_let_read_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError, expected: str
) -> None:
    def refused(_: Path) -> bytes:
        raise error

    monkeypatch.setattr(Path, "read_bytes", refused)
    with pytest.raises(ConfigError) as caught:
        load(tmp_path / "lessor.yaml")
    assert str(caught.value) == f"{tmp_path}/lessor.yaml: {expected}"


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"a: 1\nb: \xff\xfe\n", "x.yaml:2: is not UTF-8 text; save the file as UTF-8"),
        (b"#" * 1_000_001, "x.yaml: has 1,000,001 bytes; at most 1,000,000 are allowed"),
        (b"[" * 20_000, "x.yaml: is nested too deeply; lessor.yaml needs at most six levels"),
    ],
)
def test_files_that_are_no_configuration(tmp_path: Path, raw: bytes, expected: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(raw)
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert str(caught.value) == expected


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
        + "".join(f"{n}: &{n} [{', '.join(['*' + m] * 10)}]\n" for m, n in zip("abcdefgh", "bcdefghi", strict=True)),
        "a: &a\n  b: *a\n",
    ],
)
def test_aliases_cannot_blow_the_document_up(text: str) -> None:
    assert "grows beyond 100,000 values through its aliases; write them out" in refusal(text)[0]
