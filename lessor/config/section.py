"""What every section of `lessor.yaml` has in common."""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """Frozen, strict, and nothing that is not in the documentation."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", use_attribute_docstrings=True)
