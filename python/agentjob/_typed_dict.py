"""The TypedDict of this Python for which pydantic, and with it FastAPI, makes models."""

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from typing import TypedDict as TypedDict
else:
    # pydantic, and with it FastAPI, takes only this one below Python 3.12. It brings the package along; agentjob needs none.
    try:
        from typing_extensions import TypedDict as TypedDict
    except ImportError:
        from typing import TypedDict as TypedDict
