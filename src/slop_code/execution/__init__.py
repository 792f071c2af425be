"""Running commands over files: environments, images, workspaces, processes. Knows nothing of problems or verdicts."""

from typing import TYPE_CHECKING

from slop_code._lazy import lazy_exports

if TYPE_CHECKING:
    from slop_code.execution import file_ops as file_ops
    from slop_code.execution.environment import DockerEnvironmentSpec as DockerEnvironmentSpec
    from slop_code.execution.environment import EnvironmentSpec as EnvironmentSpec
    from slop_code.execution.environment import LocalEnvironmentSpec as LocalEnvironmentSpec
    from slop_code.execution.environment import SandboxEnvironmentSpec as SandboxEnvironmentSpec
    from slop_code.execution.errors import ExecutionError as ExecutionError

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        f"{__name__}.environment": [
            "DockerEnvironmentSpec",
            "EnvironmentSpec",
            "LocalEnvironmentSpec",
            "SandboxEnvironmentSpec",
        ],
        f"{__name__}.errors": ["ExecutionError"],
    },
    submodules=["environment", "file_ops"],
)
