"""Why a request was not carried out."""


class Failed(Exception):
    """The request makes no sense, or something that it names is missing."""


class Unsupported(Exception):
    """The stack cannot do what was asked; the driver can go on."""

    def __init__(self, what, reason):
        super().__init__(what)
        self.what, self.reason = what, reason
