"""Why the native module cannot be imported, in one sentence. Loaded only then."""

import os


def explained(error: ImportError, file: str) -> ImportError:
    """An error for one that the import of the native module raised, or that error. `file`: the package's `__file__`."""
    text, folder = str(error), os.path.dirname(file)
    if "interpreter" in text:
        text = (
            "agentjob works in one interpreter of a process, because its native module does (a rule of PyO3): import it in the "
            "main interpreter, and use threads or processes instead of sub-interpreters"
        )
    elif not os.path.isdir(folder):
        text = (
            f"agentjob cannot be imported from inside a zip file ({folder}), because Python loads a native module only from a file "
            "of its own: install agentjob beside the zip file, or build it with a tool that unpacks it, such as shiv or pex"
        )
    else:
        return error
    return ImportError(text, name="agentjob", path=file)
