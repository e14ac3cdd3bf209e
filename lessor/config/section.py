"""What every section of `lessor.yaml` has in common."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

KEY = r"^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$"
Key = Annotated[str, Field(pattern=KEY)]


class Section(BaseModel):
    """Frozen, strict, and nothing that is not in the documentation."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", use_attribute_docstrings=True)
