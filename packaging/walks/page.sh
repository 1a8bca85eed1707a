#!/usr/bin/env bash
# The page of the browser guide, built and opened, from an empty root of Debian's unstable distribution, whose Rust is new
# enough: packaging/walks/page.sh. Chromium of this machine opens the page from disk. packaging/walks/page.txt is the output
# of a run.
SUITE=${SUITE:-sid}
. "$(dirname "$0")/root.sh"
empty ca-certificates
mkdir "$root/root/sojourn"
git -C "$sources" archive HEAD | tar -C "$root/root/sojourn" -x
page docs/guides/browser.md
LINES_KEPT=3 walk "apt-get update && apt-get install -y --no-install-recommends cargo make"
page
walk "cd sojourn && make web"
end
built=$root/root/sojourn/out/web/sojourn.html
echo
echo "\$ chromium out/web/sojourn.html    (this machine's)"
"${PYTHON:-$sources/.venv/bin/python}" "$sources/benches/web.py" --once "$built"
