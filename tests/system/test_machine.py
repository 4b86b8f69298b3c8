"""The machine the other tests stand on: what they take for granted, said where it fails first."""

import json
import uuid

import pytest
from conftest import run


def polkit_answer(as_user, user, action, **session):
    """yes, challenge or no, as polkit says of the calling process."""
    result = as_user(user, "sh", "-c", f"pkcheck --action-id {action} --process $$", check=False, **session)
    return {0: "yes", 2: "challenge", 3: "dismissed"}.get(result.returncode, "no")


def test_systemd_is_process_one_and_up():
    assert run("cat", "/proc/1/comm").stdout.strip() == "systemd"
    assert run("systemctl", "is-system-running", check=False).stdout.strip() in ("running", "degraded")
    assert run("systemctl", "--failed", "--no-legend", "--plain").stdout == ""


def test_systemd_is_new_enough():
    assert int(run("systemctl", "--version").stdout.split()[1]) >= 257


def test_user_at_the_seat_is_active(as_user):
    session = as_user("alice", "sh", "-c", "loginctl show-session $XDG_SESSION_ID -p Active -p Seat -p Remote").stdout
    assert "Active=yes" in session and "Seat=seat0" in session


def test_polkit_lets_the_active_session_do_what_it_challenges_the_other_for(as_user):
    action = "org.freedesktop.login1.reboot"
    assert polkit_answer(as_user, "alice", action, active=True) == "yes"
    assert polkit_answer(as_user, "alice", action, active=False) == "challenge"


def test_an_administrator_authenticates_on_a_terminal(as_admin):
    command = ("systemctl", "restart", "systemd-tmpfiles-clean.timer")
    granted = as_admin(*command)
    assert granted.returncode == 0 and "AUTHENTICATION COMPLETE" in granted.shown
    refused = as_admin(*command, password="wrong")
    assert refused.returncode != 0 and "AUTHENTICATION FAILED" in refused.shown


def test_users_are_who_they_are_said_to_be(as_user):
    assert as_user("alice", "id", "-un").stdout.strip() == "alice"
    assert as_user("bob", "id", "-u").stdout.strip() == "1001"
    assert "cofferdam" in as_user("carol", "id", "-Gn").stdout.split()
    assert "sudo" in as_user("admin", "id", "-Gn").stdout.split()
    assert "cofferdam" not in as_user("alice", "id", "-Gn").stdout.split()


def test_users_do_not_see_each_others_files(as_user, sample_repository):
    assert as_user("bob", "ls", sample_repository.directory, check=False).returncode != 0


def test_text_reaches_a_user_command_as_it_is(as_user):
    assert as_user("alice", "printf", "%s", "a $HOME 'b' ${LANG}").stdout == "a $HOME 'b' ${LANG}"
    assert as_user("alice", "cat", input="line\n").stdout == "line\n"


def test_names_of_dynamic_users_are_found():
    uid = 0x7A0FFFFF
    name = "coffer-machine-test"
    record = {"userName": name, "uid": uid, "gid": uid, "homeDirectory": "/", "shell": "/usr/sbin/nologin"}
    run("mkdir", "-p", "/run/userdb")
    for file, content in ((f"/run/userdb/{name}.user", record), (f"/run/userdb/{uid}.user", record)):
        with open(file, "w", encoding="utf-8") as stream:
            json.dump(content, stream)
    try:
        assert run("getent", "passwd", name).stdout.split(":")[2] == str(uid)
    finally:
        run("rm", f"/run/userdb/{name}.user", f"/run/userdb/{uid}.user")


@pytest.fixture
def namespace():
    name = f"t{uuid.uuid4().hex[:8]}"
    run("ip", "netns", "add", name)
    yield name
    run("ip", "netns", "delete", name)


def test_nftables_refuses_and_counts_in_a_new_network_namespace(namespace):
    inside = ("ip", "netns", "exec", namespace)
    run(*inside, "ip", "link", "set", "lo", "up")
    run(*inside, "nft", "-f", "-", input="""
        table inet t { chain output { type filter hook output priority 0;
          ip daddr 127.0.0.9 tcp dport 9 counter reject with tcp reset comment "refused"
          }
        }""")
    refused = run(*inside, "python3", "-c", "import socket; socket.create_connection(('127.0.0.9', 9), 5)", check=False)
    assert "ConnectionRefusedError" in refused.stderr
    assert "packets 1" in run(*inside, "nft", "list", "ruleset").stdout


def test_the_host_table_can_be_made():
    run("nft", "-f", "-", input="table inet coffer_machine_test {\n chain c { type filter hook output priority 0; meta skuid 7 drop; }\n}")
    run("nft", "delete", "table", "inet", "coffer_machine_test")


def test_disk_image_overlay_and_idmapped_mount(tmp_path):
    base = f"/var/lib/cofferdam/machine-test-{uuid.uuid4().hex[:8]}"
    script = f"""
        mkdir {base} && cd {base} && mkdir lower mapped image merged
        install -o 5000 -g 5000 -m 0644 /dev/stdin lower/file
        truncate -s 64M disk && mkfs.ext4 -q disk
        unshare --mount --propagation private sh -ec '
          mount -o loop,nosuid,nodev disk image
          mkdir image/upper image/work
          mount --bind -o ro,X-mount.idmap="u:5000:2046820353:1 g:5000:2046820353:1" lower mapped
          mount -t overlay -o lowerdir=mapped,upperdir=image/upper,workdir=image/work,nosuid overlay merged
          stat -c %u merged/file
          chown 2046820353:2046820353 merged
          setpriv --reuid 2046820353 --regid 2046820353 --clear-groups sh -c "echo changed >merged/file"
          cat merged/file lower/file'
    """
    try:
        lines = run("sh", "-ec", script, input="first\n").stdout.split()
    finally:
        run("rm", "-rf", base)
    assert lines == ["2046820353", "changed", "first"]


def test_state_is_on_a_real_file_system():
    assert run("stat", "-f", "-c", "%T", "/var/lib/cofferdam").stdout.strip() not in ("overlayfs", "tmpfs")


def test_pieces_of_agents_are_there():
    for agent in ("codex", "claude", "opencode"):
        assert run("test", "-x", f"/opt/agents/bin/{agent}", check=False).returncode == 0


def test_a_wait_ends_with_its_event(until_unit, journal, until_file, tmp_path):
    name = f"t{uuid.uuid4().hex[:8]}"
    run("systemd-run", f"--unit={name}", "--quiet", "sh", "-c", f"echo said {name}; sleep 0.2; touch {tmp_path}/there")
    assert journal.wait(f"said {name}", SYSLOG_IDENTIFIER="sh")["_SYSTEMD_UNIT"] == f"{name}.service"
    until_file(tmp_path / "there")
    assert until_unit(f"{name}.service", "inactive") == "inactive"


def test_bus_answers_are_plain_values(busctl_json):
    answer = busctl_json("call", "org.freedesktop.DBus", "/", "org.freedesktop.DBus", "GetNameOwner", "s", "org.freedesktop.systemd1",
                         user="bob")
    assert answer == [":1.0"] or answer[0].startswith(":")


def test_sample_repository_builds_and_its_test_passes(sample_repository):
    sample_repository.run("sh", "-c", f"{sample_repository.build} && {sample_repository.test}")
    assert sample_repository.git("status", "--porcelain") == ""
    assert sample_repository.git("log", "-1", "--format=%an <%ae>") == "Alice Example <alice@example.org>"


def test_the_scripted_model_answers_its_key_only(scripted_model):
    ask = ("curl", "--silent", "--output", "/dev/null", "--write-out", "%{http_code}", "--json", "{}", scripted_model.url + "/responses")
    assert run(*ask, "--header", "Authorization: Bearer wrong").stdout == "500"
    assert [request["unexpected"] for request in scripted_model.unexpected()] == ["the request does not carry exactly the real key"]
    scripted_model.log.write_text("", encoding="utf-8")
