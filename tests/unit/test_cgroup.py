import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.worker.cgroup import where

ID = "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"0::/system.slice/docker-{ID}.scope", "docker 0123456789ab"),
        (f"12:pids:/docker/{ID}\n0::/", "docker 0123456789ab"),
        (f"0::/system.slice/docker-{ID}.scope/init.scope", "docker 0123456789ab"),
        (
            f"0::/kubepods.slice/kubepods-burstable.slice/pod1.slice/cri-containerd-{ID}.scope",
            "containerd 0123456789ab",
        ),
        (f"0::/kubepods/burstable/pod1/{ID}", "container 0123456789ab"),
        (f"0::/kubepods.slice/x.slice/crio-{ID}.scope", "cri-o 0123456789ab"),
        (
            f"0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{ID}.scope",
            "podman 0123456789ab",
        ),
        ("0::/system.slice/slurmstepd.scope/job_77/step_0/user/task_0", "slurm job 77"),
        ("4:memory:/slurm/uid_1000/job_77/step_0", "slurm job 77"),
        ("4:memory:/slurm_node1/uid_1000/job_77/step_0", "slurm job 77"),
        ("0::/system.slice/ssh.service", "ssh.service"),
        ("0::/user.slice/user-0.slice/session-3.scope", "session-3.scope"),
        (
            "0::/user.slice/user-1000.slice/user@1000.service/app.slice/train.service",
            "train.service",
        ),
        ("0::/system.slice/a.service/payload", "a.service"),
        ("0::/", ""),
        ("", ""),
    ],
)
def test_where(text: str, expected: str) -> None:
    assert where(text) == expected


@given(st.text())
def test_any_text(text: str) -> None:
    where(text)
