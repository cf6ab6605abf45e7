"""Why a request is not done."""


class Failed(Exception):
    """The request makes no sense, or what it names is not there."""


class Unsupported(Exception):
    """This stack cannot do it; the driver is well."""

    def __init__(self, what, reason):
        super().__init__(what)
        self.what, self.reason = what, reason
