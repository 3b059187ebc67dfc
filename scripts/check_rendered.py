"""Checks rendered Kubernetes objects strictly: `python -m scripts.check_rendered FILE KUBERNETES_VERSION…`."""

import sys
from pathlib import Path
from typing import Any

import kubernetes_validate
import yaml

# Kinds that come with an operator: Kubernetes has no schema for them. Looked at by a person instead.
CUSTOM = {"monitoring.coreos.com/v1"}


def main(file: Path, versions: list[str]) -> int:
    objects: list[dict[str, Any]] = [object_ for object_ in yaml.safe_load_all(file.read_text()) if object_]
    for object_ in objects:
        what = f"  {object_['kind']} {object_['metadata']['name']}"
        if object_["apiVersion"] in CUSTOM:
            print(f"{what}: well-formed (a custom kind, without a schema)")
            continue
        for version in versions:
            try:
                kubernetes_validate.validate(object_, version, strict=True)
            except kubernetes_validate.ValidationError as error:
                print(
                    f"{what}, Kubernetes {version}: {'.'.join(map(str, error.path))}: {error.message}", file=sys.stderr
                )
                return 1
        print(f"{what}: valid")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
