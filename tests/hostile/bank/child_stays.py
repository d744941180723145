# title: Leaves children behind
# kind: process
# tries: to go on running after its grading, in children that left its session, process group, and terminal.
# gets: bump_test passed
# stock: nbgrader 0.9.6: bump_test 2/2, honest_test 1/1, 3 processes left
# %% bump
import os
import signal
import subprocess
import time

subprocess.Popen(["sleep", "86399.25"], start_new_session=True)
subprocess.Popen("nohup sleep 86399.25 >/dev/null 2>&1 & disown; setsid sleep 86399.25 &", shell=True)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        os.execvp("sleep", ["sleep", "86399.25"])
    os._exit(0)
time.sleep(0.2)


def bump(x):
    return 3 * x + 1
