# cache.sh — the folder of what a clean checkout need not make again. Sourced.
#
# berth_cache_folder KIND: prints $BERTH_CACHE/KIND, by default ~/.cache/berth/KIND, and makes it. Entries are named by the
# hash of what they were made from, and each user of an entry touches it.
berth_cache_folder() {
  local folder=${BERTH_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/berth}/$1
  mkdir -p "$folder"
  echo "$folder"
}

# berth_cache_prune FOLDER: removes the entries that nobody has used for 30 days.
berth_cache_prune() {
  find "$1" -mindepth 1 -maxdepth 1 -mtime +30 -exec rm -rf {} +
}
