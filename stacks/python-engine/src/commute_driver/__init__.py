"""The step engine of the drivers written in Python (docs/driver-protocol.md, version 2).

`serve` holds the conversation with the lab. A session follows the steps of a run with `polling.Run`
where the library is polled from one thread, or with `tasks.Run` on an asyncio event loop; both use
the start rules of `schedule` and send rows by `rows`.
"""

from .conversation import serve
from .errors import Failed, Unsupported
from .seeded import seeded

__all__ = ["Failed", "Unsupported", "seeded", "serve"]
