"""Section: a frozen part of a policy; an unknown key or a value of another type is a fault."""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """Strict (true is no integer, "5" is no integer), frozen, nothing extra; no fault repeats its input."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", hide_input_in_errors=True)
