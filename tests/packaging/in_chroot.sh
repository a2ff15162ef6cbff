# Runs in the bare Debian that check_packages.sh makes: installs the packages, uses them, and removes them.
set -eu
cd /check
fail() {
    echo "FAILED  $*" >&2
    exit 1
}

dpkg --install ./*.deb >log 2>&1 || { cat log; fail "dpkg --install"; }
echo "ok      dpkg installs the packages with nothing but what they depend on"

mkfifo alive says
echo '{"work_ms": 300, "jobs": [{"id": "job_123", "status": "completed"}]}' >emulator.json
agentjob-emulator --config emulator.json --until-stdin-closes <alive >says &
exec 3>alive
read -r line <says
field() { printf '%s' "$line" | sed 's/.*"'"$1"'":"\([^"]*\)".*/\1/'; }
AGENTJOB_BASE_URL=$(field base_url) AGENTJOB_API_KEY=$(field api_key) AGENTJOB_PROJECT_ID=$(field project_id) NO_PROXY='*'
export AGENTJOB_BASE_URL AGENTJOB_API_KEY AGENTJOB_PROJECT_ID NO_PROXY

for package in agentjob agentjob-static; do
    cc -std=c11 -Wall -Wextra -Werror follow_up.c $(pkg-config --cflags --libs $package) -o "with-$package"
    "./with-$package" job_123 "Also cover the error cases" >out 2>log || { cat log; fail "the C program with $package"; }
    grep -q '"status":"completed"' out || fail "the C program with $package printed $(cat out)"
    echo "ok      a C program with pkg-config $package"
done

agentjob send job_123 "Also cover the error cases" --wait --min-interval 0.05 >out 2>log || { cat log; fail "agentjob send"; }
grep -q '"status": *"completed"' out || fail "agentjob send printed $(cat out)"
python3 -c 'import agentjob; print(agentjob.__version__)' >/dev/null
for page in agentjob agentjob-batch-run agentjob-emulator; do
    zcat "/usr/share/man/man1/$page.1.gz" | grep -q '^\.SH SYNOPSIS' || fail "there is no manual page $page"
done
echo "ok      the command line, and its manual pages"

for package in libagentjob0 libagentjob-dev agentjob; do
    for file in copyright changelog.gz; do
        [ -s "/usr/share/doc/$package/$file" ] || fail "$package has no $file"
    done
done
grep -q '^ring 0' /usr/share/doc/libagentjob0/copyright || fail "the licences of the linked crates are missing"
grep -q '^pyo3 0' /usr/share/doc/agentjob/copyright || fail "the licences of the linked crates are missing"
echo "ok      the licences"

exec 3>&-
dpkg --purge agentjob libagentjob-dev libagentjob0 >log 2>&1 || { cat log; fail "dpkg --purge"; }
left=$(find / -xdev -path /proc -prune -o -path /sys -prune -o -path /check -prune -o -iname '*agentjob*' -not -name '*.deb' -print)
[ -z "$left" ] || fail "after dpkg --purge there is still $left"
echo "ok      dpkg removes them without a trace"
