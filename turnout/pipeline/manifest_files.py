"""Manifests in the state directory: one in each pipeline's directory, beside its checkpoint."""

import os
import shutil
from pathlib import Path

from turnout.bus.topics import PIPELINE_ID
from turnout.errors import TurnoutError

_FILE = "manifest.json"


class ManifestFiles:
    def __init__(self, state_dir: Path) -> None:
        self._root = state_dir / "pipelines"

    def ids(self) -> list[str]:
        directories = sorted(self._root.glob("*"))
        return [it.name for it in directories if PIPELINE_ID.fullmatch(it.name) and it.is_dir()]

    def read(self, pipeline: str) -> bytes | None:
        path = self._file(pipeline)
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise TurnoutError(f"{path} cannot be read: {error.strerror}. Make it readable, or remove it.") from None

    def write(self, pipeline: str, manifest: bytes) -> None:
        path = self._file(pipeline)
        part = path.with_name(f"{_FILE}.part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with part.open("wb") as file:
                file.write(manifest)
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        except OSError as error:
            part.unlink(missing_ok=True) if path.is_file() else shutil.rmtree(path.parent, ignore_errors=True)
            raise TurnoutError(
                f"the state directory cannot be written: {path}: {error.strerror}. Make room or make it writable, or"
                " choose another `state_dir`."
            ) from None

    def delete(self, pipeline: str) -> None:
        """With its checkpoint."""
        shutil.rmtree(self._root / pipeline, ignore_errors=True)

    def place(self, pipeline: str) -> str:
        return str(self._file(pipeline))

    def checkpoint(self, pipeline: str) -> Path:
        return (self._root / pipeline / "checkpoint").absolute()

    def _file(self, pipeline: str) -> Path:
        return self._root / pipeline / _FILE
