#!/usr/bin/env bash
# zig as a C compiler for another platform: prints a folder with the commands cc, c++, ar and zig.
#
#   zig.sh TARGET       as zig says it: aarch64-macos, x86_64-linux-musl, …
#
# They are those that make the wheels. The exit status is 3 where they cannot be fetched.
set -euo pipefail
cd "$(dirname "$0")/../.."
target=$1
tools=$PWD/build/packaging/venv
make --silent "$PWD/build/packaging.stamp" >&2 || {
    echo "zig and maturin cannot be fetched from the Python package index"
    exit 3
}
folder=$PWD/build/platforms/zig/$target
mkdir -p "$folder"
zig=$(echo "$tools"/lib/python3*/site-packages/ziglang/zig)
for command in cc c++; do
    # Rust's name for the platform, which the crate cc adds, is not zig's.
    cat >"$folder/$command" <<END
#!/usr/bin/env bash
for word in "\$@"; do case \$word in --target=*) ;; *) words+=("\$word") ;; esac; done
exec "$zig" $command -target $target "\${words[@]}"
END
done
printf '#!/bin/sh\nexec "%s" ar "$@"\n' "$zig" >"$folder/ar"
ln -sf "$zig" "$folder"
chmod +x "$folder"/{cc,c++,ar}
echo "$folder"
