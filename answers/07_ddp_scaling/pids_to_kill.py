# %% right: reference
def pids_to_kill(processes, user):
    subreapers = ("systemd --user", "containerd-shim")
    alive = {one["pid"] for one in processes if one["pid"] != 1 and not one["name"].startswith(subreapers)}
    return [one["pid"] for one in processes if one["user"] == user and one["gpu_bytes"] > 0 and one["ppid"] not in alive]

# %% right: by pid, in a loop
def pids_to_kill(processes, user):
    by_pid, found = {process["pid"]: process for process in processes}, []
    for pid in sorted(by_pid, reverse=True):
        process = by_pid[pid]
        if process["user"] != user or not process["gpu_bytes"]:
            continue
        parent = by_pid.get(process["ppid"])
        if process["ppid"] == 1 or parent is None:
            found.append(pid)
        elif parent["name"][:14] == "systemd --user" or parent["name"][:15] == "containerd-shim":
            found.append(pid)
    return found

# %% wrong: knows process 1 and missing parents only — says "given to a subreaper"
def pids_to_kill(processes, user):
    alive = {process["pid"] for process in processes} - {1}
    return [one["pid"] for one in processes if one["user"] == user and one["gpu_bytes"] > 0 and one["ppid"] not in alive]

# %% wrong: fuser -k — says "fuser -k would kill"
def pids_to_kill(processes, user):
    return [process["pid"] for process in processes if process["gpu_bytes"] > 0]

# %% wrong: everything of the user's on the GPU — says "belongs to a living run" — from "fuser -k": "0" → `0 and process["user"] == user`

# %% wrong: everybody's ghosts — says "fuser -k"
def pids_to_kill(processes, user):
    pids = {process["pid"] for process in processes}
    return [one["pid"] for one in processes if one["gpu_bytes"] > 0 and (one["ppid"] == 1 or one["ppid"] not in pids)]

# %% wrong: tmux, too — says "leave tmux alone" — from "everybody's ghosts": `gpu_bytes"] > 0` → `user"] == user`

# %% wrong: only children of process 1 — says "then no row has its pid"
def pids_to_kill(processes, user):
    return [one["pid"] for one in processes if one["user"] == user and one["gpu_bytes"] > 0 and one["ppid"] == 1]

# %% wrong: process 1 counts as a parent — says "expected [50]"
def pids_to_kill(processes, user):
    pids = {process["pid"] for process in processes} | {1}
    return [one["pid"] for one in processes if one["user"] == user and one["gpu_bytes"] > 0 and one["ppid"] not in pids]

# %% wrong: looks for parents among the user's own — says "a daemon of root's"
def pids_to_kill(processes, user):
    own = {process["pid"] for process in processes if process["user"] == user}
    return [one["pid"] for one in processes if one["user"] == user and one["gpu_bytes"] > 0 and one["ppid"] not in own]

# %% hostile: pids that equal all others — earns 0
class Pid(int):
    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


def pids_to_kill(processes, user):
    return [Pid(50)]

# %% wrong: a name that begins with the user's — says "compare whole names" — from "reference": `one["user"] == user` → `one["user"].startswith(user)`

# %% wrong: a name that holds the user's — says "compare whole names" — from "reference": `one["user"] == user` → `user in one["user"]`

# %% wrong: no return — says "return statement" — from "reference": "return [" → "["

# %% wrong: every systemd and containerd is a subreaper — says "only resemble it" — from "reference": `"systemd --user", "containerd-shim"` → `"systemd", "containerd"`

# %% wrong: containerd itself counts as a subreaper — says "only resemble it" — from "reference": `"containerd-shim")` → `"containerd")`

# %% wrong: the parents' other children, too — says "Only the ghosts" — from "reference"
# -     return [one["pid"] for one in processes if one["user"] == user and one["gpu_bytes"] > 0 and one["ppid"] not in alive]
# +     ghosts = [one["pid"] for one in processes if one["user"] == user and one["gpu_bytes"] > 0 and one["ppid"] not in alive]
# +     return ghosts + [one["pid"] for one in processes if one["ppid"] in ghosts]

# %% wrong: the names of subreapers anywhere — says "only resemble it" — from "by pid, in a loop"
# -         elif parent["name"][:14] == "systemd --user" or parent["name"][:15] == "containerd-shim":
# +         elif "systemd --user" in parent["name"] or "containerd-shim" in parent["name"]:

# %% wrong: ghosts and what they started — says "the parents of their children are still alive" — from "reference"
# -     return [one["pid"] for one in processes if one["user"] == user and one["gpu_bytes"] > 0 and one["ppid"] not in alive]
# +     mine = [one for one in processes if one["user"] == user and one["gpu_bytes"] > 0]
# +     ghosts = {one["pid"] for one in mine if one["ppid"] not in alive}
# +     return [one["pid"] for one in mine if one["pid"] in ghosts or one["ppid"] in ghosts]

# %% wrong: a parent of a third user's is gone — says "belong to a third user" — from "by pid, in a loop": "parent is None:" → `parent is None or parent["user"] not in (user, "root"):`

# %% wrong: the whole name of systemd — says "name may go on" — from "by pid, in a loop": `["name"][:14] ==` → `["name"] ==`

# %% wrong: less than a MiB is nothing — says "however little" — from "by pid, in a loop": `not process["gpu_bytes"]` → `process["gpu_bytes"] < 2**20`

# %% wrong: pids as text — says "A pid is an int" — from "reference": `[one["pid"] for one in processes if one["user"]` → `[str(one["pid"]) for one in processes if one["user"]`

# %% wrong: capitals and small letters alike — says "ada are two users" — from "reference": `one["user"] == user` → `one["user"].lower() == user.lower()`

# %% wrong: whole names of both subreapers — says "name may go on" — from "reference": `not one["name"].startswith(subreapers)` → `one["name"] not in subreapers`

# %% wrong: any systemd — says "only resemble it" — from "reference": `not one["name"].startswith(subreapers)` → `"systemd" not in one["name"] and "containerd-shim" not in one["name"]`

# %% wrong: process 1 is alive if it has a row — says "ppid 1 means that the parent is gone" — from "reference": `one["pid"] != 1 and ` → ""

# %% wrong: only train.py — says "any name" — from "reference": `one["gpu_bytes"] > 0 and` → `one["gpu_bytes"] > 0 and one["name"].startswith("train.py") and`

# %% wrong: rows — says "not rows" — from "reference": `[one["pid"] for` → `[one for`

# %% wrong: the first ghost — says "only the first ghost" — from "reference": `one["ppid"] not in alive]` → `one["ppid"] not in alive][:1]`

# %% wrong: the parents — says "pids of the parents" — from "reference": `[one["pid"] for` → `[one["ppid"] for`

# %% wrong: parents that come later are not known — says "collect all pids first"
def pids_to_kill(processes, user):
    alive, found = set(), []
    for one in processes:
        if one["user"] == user and one["gpu_bytes"] > 0 and one["ppid"] not in alive:
            found.append(one["pid"])
        if one["pid"] != 1 and not one["name"].startswith(("systemd --user", "containerd-shim")):
            alive.add(one["pid"])
    return found

# %% wrong: a subreaper must be the user's own — says "A subreaper may belong to another user" — from "reference": `not one["name"].startswith(subreapers)` → `not (one["name"].startswith(subreapers) and one["user"] == user)`

# %% wrong: a pid for each way in which a parent is gone — says "return each pid once"
def pids_to_kill(processes, user):
    subreapers = ("systemd --user", "containerd-shim")
    names = {one["pid"]: one["name"] for one in processes}
    found = []
    for one in processes:
        if one["user"] == user and one["gpu_bytes"] > 0:
            if one["ppid"] == 1:
                found.append(one["pid"])
            if one["ppid"] not in names:
                found.append(one["pid"])
            elif names[one["ppid"]].startswith(subreapers):
                found.append(one["pid"])
    return found

# %% wrong: the process's own name is a subreaper's — says "its parent's name begins with" — from "reference"
# -     alive = {one["pid"] for one in processes if one["pid"] != 1 and not one["name"].startswith(subreapers)}
# -     return [one["pid"] for one in processes if one["user"] == user and one["gpu_bytes"] > 0 and one["ppid"] not in alive]
# +     alive = {one["pid"] for one in processes if one["pid"] != 1}
# +     mine = [one for one in processes if one["user"] == user and one["gpu_bytes"] > 0]
# +     return [one["pid"] for one in mine if one["ppid"] not in alive or one["name"].startswith(subreapers)]

# %% wrong: one of two conditions — says "All three conditions must hold" — from "reference": `one["gpu_bytes"] > 0 and one["ppid"] not in alive` → `(one["gpu_bytes"] > 0 or one["ppid"] not in alive)`

# %% wrong: names — says "not names" — from "reference": `[one["pid"] for one in processes if one["user"]` → `[one["name"] for one in processes if one["user"]`

# %% wrong: every parent has a row — says "No row has this pid"
def pids_to_kill(processes, user):
    names = {one["pid"]: one["name"] for one in processes}
    found = []
    for one in processes:
        gone = one["ppid"] == 1 or names[one["ppid"]].startswith(("systemd --user", "containerd-shim"))
        if gone and one["user"] == user and one["gpu_bytes"] > 0:
            found.append(one["pid"])
    return found

# %% wrong: all of the user's — says "all processes of ada's" — from "reference": ` and one["gpu_bytes"] > 0 and one["ppid"] not in alive]` → "]"

# %% wrong: the parent's parent — says "not the parent's parent" — from "every parent has a row"
#       names = {one["pid"]: one["name"] for one in processes}
# +     above = {one["pid"]: one["ppid"] for one in processes}

# -         gone = one["ppid"] == 1 or names[one["ppid"]].startswith(("systemd --user", "containerd-shim"))
# +         above_it = above.get(one["ppid"], 1)
# +         gone = above_it == 1 or names.get(above_it, "systemd --user").startswith(("systemd --user", "containerd-shim"))

# %% wrong: containerd-shim is a whole name, systemd --user a beginning — says "name may go on, as in" — from "by pid, in a loop": `parent["name"][:15] == "containerd-shim"` → `parent["name"] == "containerd-shim"`

# %% wrong: more than a GiB — says "Process 50 holds 10**9 bytes" — from "reference": `one["gpu_bytes"] > 0` → `one["gpu_bytes"] > 2**30`

# %% wrong: those whose parent is alive — says "its parent is process 1" — from "reference": `one["ppid"] not in alive` → `one["ppid"] in alive`

# %% wrong: systemd with any option — says "others, such as containerd, only resemble it" — from "reference": `"systemd --user"` → `"systemd "`

# %% wrong: capitals do not matter — says "Capitals matter" — from "reference": `one["name"].startswith` → `one["name"].lower().startswith`

# %% wrong: a ghost that is named like a subreaper is spared — says "The name of the parent counts" — from "reference": `one["gpu_bytes"] > 0 and` → `one["gpu_bytes"] > 0 and not one["name"].startswith(subreapers) and`

# %% wrong: process 0 is alive — says "No row has pid 0" — from "reference": `not in alive]` → `not in alive | {0}]`

# %% wrong: another user's systemd is alive — says "A subreaper may belong to another user" — from "reference"
#       alive = {one["pid"] for one in processes if one["pid"] != 1 and not one["name"].startswith(subreapers)}
# +     alive |= {one["pid"] for one in processes if one["name"].startswith(subreapers[0]) and one["user"] != user}
