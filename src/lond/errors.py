"""Errors and warnings caused by the user's input, each with a message that says what to do."""


class LondError(Exception):
    """Base class of all errors that a user can fix."""


class DataError(LondError, ValueError):
    """The data are missing, malformed or unusable for the request."""


class DamagedFileError(DataError):
    """A file that was written whole is not whole any more."""


class FullDiskError(DataError):
    """There is no room to write a file."""


class ConfigError(LondError, ValueError):
    """A setting is unknown, has the wrong type, or contradicts another."""


class CollapseError(LondError):
    """Training cannot continue because a required set is empty."""


class LostProcessError(LondError):
    """Another process of the run ended or does not answer."""


class MissingDependencyError(LondError, ImportError):
    """An optional package is needed for the request."""


class LeftOutWarning(UserWarning):
    """Images could not be used and are left out."""


def counted(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun, in the singular or the plural ("" = ``one`` with an s).

    Examples:
        >>> counted(1, "image"), counted(1200, "image"), counted(0, "class", "classes")
        ('1 image', '1,200 images', '0 classes')
    """
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
