"""The package's purge, as dpkg runs it, in a mount namespace with a /var/lib/cofferdam and a /run/cofferdam of its own.

    test_purge.py /build/daemon/walls/coffer-remover.static
"""

import subprocess
import sys
import unittest
from pathlib import Path

REMOVER = "/build/daemon/walls/coffer-remover.static"
POSTRM = Path(__file__).resolve().parents[3] / "packaging" / "debian" / "cofferdam.postrm"
# Somebody else's, which links in what is purged lead to.
BEFORE = """
set -e
mount -t tmpfs lib /var/lib
mount -t tmpfs run /run
mkdir -p /var/lib/cofferdam/tasks/1/deep/er /run/cofferdam/img /run/cofferdam/ws /var/lib/other
echo theirs >/var/lib/other/file
ln -s /var/lib/other /var/lib/cofferdam/tasks/1/link
ln -s /var/lib/other/file /var/lib/cofferdam/tasks/1/deep/link
echo ours >/var/lib/cofferdam/tasks/1/deep/er/file
"""
LEAVE = 'install -m 0700 "$REMOVER" /var/lib/cofferdam/coffer-remover\n'


def run(script):
    done = subprocess.run(["unshare", "--mount", "sh", "-c", script], capture_output=True, text=True, timeout=30,
                          env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "REMOVER": REMOVER, "POSTRM": str(POSTRM)})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


class Purge(unittest.TestCase):
    def test_takes_everything_of_ours_and_nothing_that_links_lead_to(self):
        said = run(BEFORE + LEAVE + """
        mkdir /run/cofferdam/img/t1 && mount -t tmpfs image /run/cofferdam/img/t1
        sh "$POSTRM" purge
        test ! -e /var/lib/cofferdam && test ! -e /run/cofferdam
        cat /var/lib/other/file
        """)
        self.assertIn("theirs", said)

    def test_keeps_what_has_something_mounted_in_it(self):
        said = run(BEFORE + LEAVE + """
        mkdir /var/lib/cofferdam/tasks/1/theirs
        mount --bind /var/lib/other /var/lib/cofferdam/tasks/1/theirs
        sh "$POSTRM" purge
        cat /var/lib/other/file /var/lib/cofferdam/tasks/1/deep/er/file
        """)
        self.assertIn("is kept: something is mounted in it", said)
        self.assertIn("theirs\nours", said)

    def test_the_remover_itself_enters_no_mount(self):
        said = run(BEFORE + """
        mkdir /var/lib/cofferdam/tasks/1/theirs
        mount --bind /var/lib/other /var/lib/cofferdam/tasks/1/theirs
        ! "$REMOVER" /var/lib/cofferdam
        cat /var/lib/other/file
        """)
        self.assertIn("is left", said)
        self.assertIn("theirs", said)

    def test_without_the_remover_everything_is_kept_and_told(self):
        said = run(BEFORE + 'sh "$POSTRM" purge; cat /var/lib/cofferdam/tasks/1/deep/er/file')
        self.assertIn("remove it by hand", said)
        self.assertIn("ours", said)

    def test_removing_the_package_keeps_the_tasks(self):
        self.assertIn("ours", run(BEFORE + LEAVE + 'sh "$POSTRM" remove; cat /var/lib/cofferdam/tasks/1/deep/er/file'))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        REMOVER = sys.argv.pop(1)
    unittest.main(verbosity=2)
