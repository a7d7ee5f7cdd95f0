"""A real SIGINT, in a process of its own."""

import signal
import subprocess
import sys
import textwrap
import time

import pytest

ENGINE = """
    import numpy as np
    rng = np.random.default_rng(1)
    x = rng.normal(size=(20000, 60))
    y = (rng.random(20000) < .5).astype(int)
    print("ready", flush=True)
    fit = magva.fit_arrays(x, y, rule="adadelta", iterations=10**6, rank=4)
"""
DENSITY = """
    def density(theta):
        return -.5 * theta @ theta, -theta
    print("ready", flush=True)
    fit = magva.fit(density, 50, rule="adadelta", iterations=10**9)
"""


def start(body):
    # What a fit imports is there before the signal comes, however busy the machine.
    script = textwrap.dedent(
        "import magva, magva._tables, time, warnings\nmagva.fit, magva.fit_arrays\n"
        + textwrap.dedent(body)
        + "\nprint(fit.stopped, len(fit.mean))"
    )
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    time.sleep(1.5)
    return process


@pytest.mark.parametrize(("body", "size"), [(ENGINE, 61), (DENSITY, 50)])
def test_ctrl_c_returns_what_there_is(body, size):
    process = start(body)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert out == f"interrupted {size}\n", err
    assert "InterruptedWarning: the fit was interrupted" in err
    assert process.returncode == 0


# Each counts what happens after the signal, which it sends itself: a busy machine makes evaluations slower, not more.
SLOW_DENSITY = """
    import os, signal
    calls = []
    def density(theta):
        calls.append(1)
        if len(calls) == 60:
            os.kill(os.getpid(), signal.SIGINT)
        time.sleep(.02)
        return -.5 * theta @ theta, -theta
    print("ready", flush=True)
    fit = magva.fit(density, 40, rule="adadelta", iterations=10**6)
    after = len(calls) - 60
"""
ITERATIONS = """
    import os, signal
    import numpy as np
    rng = np.random.default_rng(1)
    x = rng.normal(size=(20000, 60))
    y = (rng.random(20000) < .5).astype(int)
    after = -1
    def callback(view):
        global after
        if view.phase == "iterations":
            if after >= 0:
                after += 1
            elif view.iteration == 30:
                after = 0
                os.kill(os.getpid(), signal.SIGINT)
    print("ready", flush=True)
    fit = magva.fit_arrays(x, y, rule="adadelta", iterations=10**6, rank=4, callback=callback)
"""


@pytest.mark.parametrize(("body", "most"), [(SLOW_DENSITY, 40), (ITERATIONS, 1)])
def test_a_fit_ends_soon_after_ctrl_c(body, most):
    process = start(body + "    print(after)\n")
    out, err = process.communicate(timeout=60)
    after, ending = out.splitlines()
    assert ending.startswith("interrupted"), err
    assert 0 <= int(after) <= most


def test_ctrl_c_twice_raises():
    process = start("""
    def density(theta):
        time.sleep(.8)
        return -.5 * theta @ theta, -theta
    print("ready", flush=True)
    fit = magva.fit(density, 3)
    """)
    process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in err
    assert process.returncode != 0


def test_the_handler_is_put_back():
    import magva

    before = signal.getsignal(signal.SIGINT)
    magva.fit(lambda t: (-0.5 * t @ t, -t), 2)
    assert signal.getsignal(signal.SIGINT) is before
