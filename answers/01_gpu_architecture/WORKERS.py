# %% right: reference
WORKERS = {
    "augment": "processes",
    "chat": "coroutines",
    "checksums": "threads",
    "primes": "processes",
    "cameras": "threads",
    "sensors": "coroutines",
    "products": "threads",
    "plugins": "processes",
}

# %% right: built by kind
WORKERS = {task: "processes" for task in ("augment", "primes", "plugins")}
WORKERS.update(dict.fromkeys(["checksums", "cameras", "products"], "threads"))
WORKERS |= {"chat": "coroutines", "sensors": "coroutines"}

# %% wrong: threads for CPU-bound Python — says "6 of 8 entries are right" — earns 0.6666666666666666 — from "reference"
# -     "augment": "processes",
# +     "augment": "threads",

# -     "primes": "processes",
# +     "primes": "threads",

# %% wrong: coroutines for everything that waits or computes — says "2 of 8 entries are right"
WORKERS = dict.fromkeys(
    ["augment", "chat", "checksums", "primes", "cameras", "sensors", "products", "plugins"], "coroutines"
)

# %% wrong: processes for everything — says "3 of 8 entries are right"
WORKERS = dict.fromkeys(
    ["augment", "chat", "checksums", "primes", "cameras", "sensors", "products", "plugins"], "processes"
)

# %% wrong: threads for everything — says "3 of 8 entries are right" — from "processes for everything": "processes" → "threads"

# %% wrong: half of it left out — says "no entry for cameras"
WORKERS = {"augment": "processes", "chat": "coroutines", "checksums": "threads", "primes": "processes"}

# %% wrong: singular — says "not in the menu: augment: 'process'"
WORKERS = {
    "augment": "process",
    "chat": "coroutine",
    "checksums": "thread",
    "primes": "process",
    "cameras": "thread",
    "sensors": "coroutine",
    "products": "thread",
    "plugins": "process",
}

# %% wrong: capitals — says "not in the menu: augment: 'Processes'" — from "reference"
# -     "augment": "processes",
# +     "augment": "Processes",

# %% wrong: a list instead of a dict — says "is not a dict"
WORKERS = ["processes", "coroutines", "threads", "processes", "threads", "coroutines", "threads", "processes"]

# %% wrong: empty — says "no entry for augment"
WORKERS = {}

# %% wrong: the question kept as the value — says "not in the menu"
WORKERS = dict.fromkeys(
    ["augment", "chat", "checksums", "primes", "cameras", "sensors", "products", "plugins"],
    "processes, threads or coroutines",
)

# %% hostile: values that are equal to everything — earns 0
class Anything(str):
    def __eq__(self, other):
        return True

    def __hash__(self):
        return hash("processes")


WORKERS = dict.fromkeys(
    ["augment", "chat", "checksums", "primes", "cameras", "sensors", "products", "plugins"], Anything("x")
)

# %% hostile: a dict that agrees with whoever asks — earns 0
class Agreeable(dict):
    def get(self, key, default=None):
        return {"chat": "coroutines", "sensors": "coroutines"}.get(key, "processes")

    def __getitem__(self, key):
        return self.get(key)

    def __contains__(self, key):
        return True

    def __eq__(self, other):
        return True


WORKERS = Agreeable()

# %% hostile: check.menu replaced by one that gives all points — earns 0
import gpulab.check

gpulab.check.menu = lambda *arguments, **options: 2.0
WORKERS = {}
