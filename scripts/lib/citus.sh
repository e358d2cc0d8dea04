# Owns throw-away nodes of Citus: a coordinator and two workers, each a private cluster below one directory DIR. What
# they hold is made by the tests, which have a database of their own on every node. Every local connection is trusted,
# since the nodes ask each other without a password. Roles stay as they are, since databases that begin at once would
# change them at once.
# shellcheck shell=bash
# `here` is the folder of the scripts, as the script that sources this has it; it reads what start_citus sets.
# shellcheck disable=SC2154,SC2034

# offers_citus URL: whether the server has the extension.
offers_citus() {
    [[ $(psql --no-psqlrc -qAt "$1" -c "select count(*) from pg_available_extensions where name = 'citus'") == 1 ]]
}

# start_citus DIR [OPTION…]: starts the nodes, by further options of scripts/postgres, and sets `citus_coordinator` and
# `citus_workers` to their URLs; the workers' have a comma between them.
start_citus() {
    local dir=$1 node url
    shift
    citus_coordinator='' citus_workers=''
    for node in coordinator worker1 worker2; do
        "$here/postgres" start "$dir/$node" "$@" --owner $$ --set shared_preload_libraries=citus \
            --set wal_level=logical --set citus.node_conninfo=sslmode=disable \
            --set citus.enable_create_role_propagation=off --set citus.enable_alter_role_propagation=off
        url=$("$here/postgres" url "$dir/$node")
        psql --no-psqlrc -qAt --set ON_ERROR_STOP=1 "$url" >/dev/null <<SQL
select current_setting('hba_file') as hba \\gset
copy (select 'host all all 127.0.0.1/32 trust') to :'hba';
select pg_reload_conf();
SQL
        if [[ $node == coordinator ]]; then
            citus_coordinator=$url
        else
            citus_workers+=${citus_workers:+,}$url
        fi
    done
}

# delete_citus DIR: stops them and removes all their files.
delete_citus() {
    local node
    for node in coordinator worker1 worker2; do "$here/postgres" delete "$1/$node"; done
    rmdir --ignore-fail-on-non-empty "$1" 2>/dev/null || true
}
