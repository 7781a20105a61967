#!/bin/sh
# A whole study from a shell: make it, take history in, decide four days, lose one result, correct another, report.
# Usage: examples/shop.sh [FOLDER], with `windward` on the path. Exits with the first error.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-.}
WINDWARD_JOURNAL="sqlite:///$folder/shop.db"
export WINDWARD_JOURNAL

windward new "$here/shop.toml"
windward import shop "$here/shop_history.csv"

profit() { # order, demand: price 9, salvage 1, cost 5
    awk -v x="$1" -v c="$2" 'BEGIN { sold = x < c ? x : c; print 9 * sold + (x - sold) - 5 * x }'
}

for day in 1 2 3 4; do
    # The morning: decide. The key makes a repeated run of this line harmless.
    answer=$(windward ask shop --json --key "day-$day")
    id=$(printf '%s' "$answer" | sed -n 's/.*"id": \([0-9]*\).*/\1/p')
    order=$(printf '%s' "$answer" | sed -n 's/.*"order": \([0-9.e+-]*\).*/\1/p')
    demand=$((15 + 17 * day % 40))
    weather=dry
    [ $((day % 2)) -eq 0 ] && weather=wet
    if [ "$day" -eq 3 ]; then
        windward lose shop "$id" "the till was broken"
    else
        # The day: the world shows the context. Later: the profit.
        windward reveal shop "$id" "demand=$demand" "weather=$weather"
        windward tell shop "$id" "$(profit "$order" "$demand")" --key "profit-$day"
    fi
done

windward amend shop 0 --value 81.5
windward status shop
windward recommend shop
windward trials shop --csv > "$folder/trials.csv"
windward report shop --output "$folder/report.html"
