"""The file `environment` in the runtime directory: for EnvironmentFile=, --env-file and logins."""

from pathlib import Path

from agent.config.schema import Config
from agent.environment import variables
from agent.environment.variables import Variables
from agent.files import replace_file

NAME = "environment"


def write(runtime_dir: Path, config: Config) -> None:
    """Replace it in one step, readable for all. Raises OSError; the old one is then as it was."""
    content = variables.file_text(variables.of(config)).encode()
    replace_file(runtime_dir / NAME, content, 0o644, durable=False)


def read(runtime_dir: Path) -> Variables:
    """What the agent wrote last. Raises OSError; UnicodeDecodeError where it is not the agent's."""
    return variables.parse((runtime_dir / NAME).read_text(encoding="utf-8"))
