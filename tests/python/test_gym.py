"""sojourn.gym: Gymnasium's interface, threads, actions, and a small search."""

from __future__ import annotations

import subprocess
import sys
import types
import warnings
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import sojourn as sj
from sojourn import gym
from sojourn.base.core import SojournError
from sojourn.gym.search import play

TARGET = gym.parameters(target=(sj.ms(1), sj.ms(100)), log=["target"])


def small(duration: int = 2, rate: int = 10) -> sj.Network:
    """Two flows, after a second of warm-up."""
    return sj.dumbbell(flows=2, rate=sj.mbit_s(rate), duration=sj.s(duration), warm_up=sj.s(1))


def checked(env: gymnasium.Env[Any, Any]) -> None:
    """Run Gymnasium's own check; a warning is an error, but for bounds that are infinite."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Measurements have no upper bound that is known beforehand.
        warnings.filterwarnings("ignore", message=".*observation space (minimum|maximum) value is.*infinity.*")
        # The environment is made here and not by gymnasium.make.
        warnings.filterwarnings("ignore", message=".*not having a spec.*")
        warnings.filterwarnings("ignore", message=".*render modes.*")
        check_env(env, skip_render_check=True)


@pytest.mark.parametrize(
    ("action", "scheme"),
    [
        (TARGET, "pie"),
        (gym.probability(0.0001, 0.5, log=True), None),
        (gym.schemes("pfifo", "codel", "fq_pie"), "pie"),
    ],
)
def test_gymnasium_accepts_it(action: gym.Action, scheme: str | None) -> None:
    checked(gym.Environment(small(), action=action, scheme=scheme))


def test_the_end_is_truncated_and_never_terminated() -> None:
    env = gym.Environment(small(), action=TARGET, scheme="pie", step=sj.ms(50))
    env.reset(seed=1)
    # One second after the warm-up, in steps of 50 ms.
    ends = [env.step(np.zeros(1))[2:4] for _ in range(20)]
    assert ends == [(False, False)] * 19 + [(False, True)]
    with pytest.raises(SojournError, match="reset first"):
        env.step(np.zeros(1))
    assert env.report()["queues"]
    env.reset()
    assert env.step(np.zeros(1))[3] is False


def test_a_seed_repeats_episodes_and_another_gives_others() -> None:
    def played(seed: int) -> list[float]:
        env = gym.Environment([small(), small(rate=5)], action=TARGET, scheme="pie")
        found = [float(value) for value in env.reset(seed=seed)[0]]
        for _ in range(20):
            observation, reward, *_ = env.step(np.array([0.5]))
            found += [*map(float, observation), reward]
        return found

    assert played(1) == played(1) != played(2)


def test_vector_equals_single_environments_on_any_number_of_threads() -> None:
    single = []
    for number in range(3):
        env = gym.Environment(small(), action=TARGET, scheme="pie", step=sj.ms(50))
        # Environment k of a vector has the seed + k, and draws as a single environment does.
        seen = [env.reset(seed=5 + number)[0]]
        seen += [env.step(np.array([0.3]))[0] for _ in range(19)]
        single.append(np.stack(seen))
    for threads in (1, 2):
        vector = gym.Vector(small(), 3, action=TARGET, scheme="pie", step=sj.ms(50), threads=threads)
        seen = [vector.reset(seed=5)[0]]
        seen += [vector.step(np.full((3, 1), 0.3))[0] for _ in range(19)]
        assert np.array_equal(np.stack(seen, axis=1), np.stack(single))


def test_a_vector_begins_the_next_episode_in_the_same_step() -> None:
    vector = gym.Vector(small(), 2, action=TARGET, scheme="pie", step=sj.ms(50), threads=2)
    assert vector.metadata["autoreset_mode"] == gymnasium.vector.AutoresetMode.SAME_STEP
    _, first = vector.reset(seed=5)
    for _ in range(19):
        *_, truncated, info = vector.step(np.zeros((2, 1)))
        assert not truncated.any()
        assert info == {}
    observations, _, terminated, truncated, info = vector.step(np.zeros((2, 1)))
    assert truncated.all()
    assert not terminated.any()
    assert info["final_obs"][1].shape == (5,)
    assert not np.array_equal(observations[1], info["final_obs"][1])
    assert (info["seed"] != first["seed"]).all()
    # The next episode is another, and it goes on.
    assert not vector.step(np.zeros((2, 1)))[3].any()
    assert vector.report(1)["queues"]


def test_observations_and_reward_are_what_the_window_measures() -> None:
    names = ["arrivals_packets", "sojourn_ms_mean", "backlog_packets", "throughput_bit_s", "s0", "q1"]
    env = gym.Environment(small(3), action=TARGET, scheme="codel", observations=names, reward="0 - sojourn_ms_p95")
    env.reset(options={"seed": 3, "network": 0})
    simulation = sj.Simulation(small(3), "codel target 10ms", seed=3)
    simulation.advance(sj.s(1))
    simulation.window()
    # The middle of 1 and 100 ms by their ratio is 10 ms. The scheme of the other run is different until then.
    env = gym.Environment(
        small(3), action=TARGET, scheme="codel target 10ms", observations=names, reward="0 - sojourn_ms_p95"
    )
    env.reset(options={"seed": 3, "network": 0})
    for _ in range(50):
        seen, reward, *_ = env.step(np.zeros(1))
        simulation.advance(sj.ms(10))
        window = simulation.window()
        expected = [np.nan_to_num(getattr(window, name)) for name in names]
        assert np.array_equal(seen, np.array(expected, np.float32))
        assert reward == -np.nan_to_num(window.sojourn_ms_p95)


def test_a_probability_keeps_the_queue_short() -> None:
    def mean(action: float) -> float:
        env = gym.Environment(
            small(4), action=gym.probability(0.0, 0.2), observations=["sojourn_ms_mean"], step=sj.ms(100)
        )
        env.reset(seed=1)
        return float(np.mean([env.step(np.array([action]))[0] for _ in range(30)][-10:]))

    # 10 Mbit/s are 833 packets/s: without drops 1000 packets can wait, 1.2 s. With a tenth of the packets lost, a
    # flow has about 1.2 sqrt(10) = 4 packets under way. Two have 8, and the path of 40 ms holds 33: no queue. Here
    # it is a fifth.
    # The first two seconds empty the queue of the warm-up.
    assert mean(-1.0) > 100
    assert mean(1.0) < 5


def test_a_plan_gives_networks(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'name = "p"\nscenario = "dumbbell"\nreplications = 1\nschemes = ["pie", "codel"]\n'
        "[[vary]]\npoints = 4\nseed = 1\n"
        'latin_hypercube = [{ key = "links.bottleneck.rate", from = "5 Mbit/s", to = "50 Mbit/s", scale = "log" }]\n'
    )
    nets = gym.from_plan(plan)
    rates = {str(net.canonical()["links"][0]["rate"]) for net in nets}
    # One for each point, not for each scheme.
    assert len(nets) == len(rates) == 4
    gym.Episodes(nets, action=TARGET, scheme="pie")


def test_stable_baselines_adapter(monkeypatch: pytest.MonkeyPatch) -> None:
    # Stable-Baselines3 needs PyTorch, which tests do without: its abstract class has this constructor.
    class VecEnv:
        def __init__(self, num_envs: int, observation_space: Any, action_space: Any) -> None:
            self.num_envs, self.observation_space, self.action_space = num_envs, observation_space, action_space

        def step(self, actions: Any) -> Any:
            self.step_async(actions)  # type: ignore[attr-defined]
            return self.step_wait()  # type: ignore[attr-defined]

    for name in ("stable_baselines3", "stable_baselines3.common", "stable_baselines3.common.vec_env"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    sys.modules["stable_baselines3.common.vec_env"].VecEnv = VecEnv  # type: ignore[attr-defined]
    vector = gym.Vector(small(), 2, action=TARGET, scheme="pie", step=sj.ms(50))
    adapter = gym.stable_baselines(vector)
    adapter.seed(5)
    assert adapter.reset().shape == (2, 5)
    for _ in range(19):
        _, rewards, done, infos = adapter.step(np.zeros((2, 1)))
        assert not done.any()
        assert rewards.dtype == np.float32
    _, _, done, infos = adapter.step(np.zeros((2, 1)))
    assert done.all()
    assert infos[0]["TimeLimit.truncated"] is True
    assert infos[0]["terminal_observation"].shape == (5,)
    assert adapter.get_attr("num_envs") == [2, 2]


def test_search_improves_a_policy() -> None:
    # Delay only: the best policy sets the least target. A constant of 0 stands for 10 ms.
    episodes = gym.Episodes(
        small(3), action=TARGET, scheme="codel", reward="0 - sojourn_ms_mean", step=sj.ms(100), count=2, threads=2
    )
    policy = gym.search(episodes, rounds=3, candidates=8, seed=1)
    same = gym.search(episodes, rounds=3, candidates=8, seed=1)
    assert np.array_equal(policy.weights, same.weights)
    fixed = gym.Policy(np.zeros((1, 6)))
    begins = [(0, 11), (0, 12)]
    assert (play(episodes, [policy] * 2, begins) > play(episodes, [fixed] * 2, begins)).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reward": "sojourn_ms"}, r'reward: "sojourn_ms", column 1: "sojourn_ms" is unknown'),
        ({"observations": ["1", "1/0"]}, r'observation 1: "1/0", column 2: this constant is inf'),
        ({"action": gym.parameters(targt=(sj.ms(1), sj.ms(2)))}, r'did you mean "target"'),
        ({"action": gym.parameters(target=(sj.ms(2), sj.ms(1)))}, "allowed: a lower and a higher"),
        ({"queue": "nowhere"}, r'no queue "nowhere" is under test'),
        ({"step": sj.s(5)}, "longer than dumbbell lasts after its warm-up"),
        ({"count": 0}, "count"),
    ],
)
def test_bad_input_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(SojournError, match=message):
        gym.Episodes(small(), **{"action": TARGET, "scheme": "pie", **options})


def test_the_guides_agents_train() -> None:
    # Each study very small: its tables come from the same functions.
    script = Path(__file__).resolve().parents[2] / "docs" / "learning.py"
    done = subprocess.run([sys.executable, str(script), "--smoke"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("round 0") == 6


def test_without_gymnasium_the_error_names_the_extra() -> None:
    code = "import sys; sys.modules['gymnasium'] = None\nfrom sojourn import gym\ngym.Episodes\ngym.Environment"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip().endswith("ImportError: Gymnasium is not installed: python -m pip install gymnasium")
